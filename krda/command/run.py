"""What the commands do once their arguments are read."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from krda.command.console import Console
from krda.command.output import check_outputs, identifiers, refuse_formulas, write_predictions
from krda.tables.read import listed, read_table

Status = int

#: Exit status if the verdict is to use none of the predictions.
UNUSABLE = 4


def adapt(options: argparse.Namespace, console: Console) -> Status:
    """Adapt, predict, and write what is asked for."""
    outputs = [path for path in (options.output, options.save, options.report) if path]
    check_outputs(outputs, [options.source, options.target], force=options.force)
    source, target = _tables(options, console)
    names = identifiers(target, options.id, options.label)
    source, target = (t.drop(columns=options.id or [], errors="ignore") for t in (source, target))
    from krda.adaptation.adapt import adapt as adapt_tables
    from krda.adaptation.labelled import choose_by_labels

    with _warnings_as_notes(console):
        if options.target_labels:
            labelled = _read(options.target_labels, options, console)
            method, evidence = choose_by_labels(
                source, target, labelled, options.label, **_settings(options, console)
            )
        else:
            method, evidence = options.method, []
        found = adapt_tables(
            source, target, options.label, method=method, **_settings(options, console)
        )
        predicted = found.predict(target)
    refuse_formulas([str(label) for label in found.model.classes_], "The source has labels")
    write_predictions(options.output, predicted, options.id, names)
    verdict = found.verdict.with_evidence(evidence)
    result = {
        "verdict": verdict.to_dict(),
        "columns": [vars(column) for column in found.encoder.columns_],
        "predictions": str(options.output),
    }
    text = f"{verdict}\n\n{_columns(found.encoder)}\n\nPredictions: {options.output}"
    if options.save:
        from krda.adaptation.saving import save

        save(found, options.save)
        text += f"\nModel: {options.save}"
    if options.report:
        from krda.command.page import write_report

        write_report(options.report, found, source, target, predicted, options.label)
        text += f"\nReport: {options.report}"
    console.result(text, result)
    return UNUSABLE if verdict.advice == "none" else 0


def check(options: argparse.Namespace, console: Console) -> Status:
    """Say which shift it is, and what would help."""
    source, target = _tables(options, console)
    from krda.adaptation.adapt import adapt as adapt_tables

    with _warnings_as_notes(console):
        found = adapt_tables(source, target, options.label, **_settings(options, console))
    verdict = found.verdict
    result = {
        "verdict": verdict.to_dict(),
        "columns": [vars(column) for column in found.encoder.columns_],
    }
    console.result(f"{verdict}\n\n{found.model.why()}\n\n{_columns(found.encoder)}", result)
    return UNUSABLE if verdict.advice == "none" else 0


def compare(options: argparse.Namespace, console: Console) -> Status:
    """Predict by all methods; say where they disagree, and which labels they get right."""
    source, target = _tables(options, console)
    from krda.adaptation.labelled import compare_methods

    labelled = None
    if options.target_labels:
        labelled = _read(options.target_labels, options, console)
    with _warnings_as_notes(console):
        table = compare_methods(
            source, target, labelled, options.label, **_settings(options, console)
        )
    data = table.reset_index().replace({np.nan: None}).to_dict("records")
    console.result(table.round(3).to_string(), data)
    return 0


def predict(options: argparse.Namespace, console: Console) -> Status:
    """Predict the rows of a new file by a saved model."""
    check_outputs([options.output], [options.model, options.new], force=options.force)
    from krda.adaptation.saving import load

    found = load(options.model)
    new = _read(options.new, options, console)
    names = identifiers(new, options.id, None)
    with _warnings_as_notes(console):
        predicted = found.predict(new)
    write_predictions(options.output, predicted, options.id, names)
    shares = predicted["prediction"].value_counts(normalize=True)
    text = listed(f"{label} {share:.0%}" for label, share in shares.items())
    console.result(
        f"{len(predicted)} rows: {text}. Predictions: {options.output}",
        {"rows": len(predicted), "predictions": str(options.output)},
    )
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace, Console], Status]] = {
    "adapt": adapt,
    "check": check,
    "compare": compare,
    "predict": predict,
}


def _tables(options: argparse.Namespace, console: Console) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read both tables; leave labels and the names of rows out of the target."""
    source, target = (_read(path, options, console) for path in (options.source, options.target))
    if options.label in target:
        console.note(
            f"{options.target} has the label column {options.label!r}, too: left out, never used."
        )
        target = target.drop(columns=[options.label])
    console.progress(f"{len(source)} source rows, {len(target)} target rows")
    return source, target


def _read(path: Path, options: argparse.Namespace, console: Console) -> pd.DataFrame:
    table = read_table(
        path, separator=options.separator, decimal=options.decimal, encoding=options.encoding
    )
    for note in table.notes:
        console.note(note)
    return table.frame


def _settings(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    return {
        "classifier": options.classifier,
        "drop": options.drop,
        "categories": options.categories,
        "random_state": options.seed,
        "progress": console.progress,
    }


def _columns(encoder: Any) -> str:
    width = max(len(column.name) for column in encoder.columns_)
    lines = ["What was done to each column:"]
    for column in encoder.columns_:
        note = f" ({column.note})" if column.note else ""
        lines.append(f"  {column.name:<{width}}  {column.kind:<10}  {column.done}{note}")
    return "\n".join(lines)


@contextmanager
def _warnings_as_notes(console: Console) -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        console.note(message)
