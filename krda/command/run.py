"""What the commands do once their arguments are read."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from krda.adaptation.saving import load, read_saved, save
from krda.command.console import Console
from krda.command.output import check_outputs, identifiers, refuse_formulas, write_predictions
from krda.tables.errors import TableError, listed
from krda.tables.read import read_table

Status = int

#: Exit status if the verdict is not to use the predictions.
UNUSABLE = 4


def adapt(options: argparse.Namespace, console: Console) -> Status:
    """Adapt, predict, and write what is asked for."""
    inputs = [options.source, options.target, options.target_labels]
    outputs = [path for path in (options.output, options.save, options.report) if path]
    check_outputs(outputs, [path for path in inputs if path], force=options.force)
    if options.save:
        import skops  # noqa: F401 - first: it must not be missing after a long fit
    if options.report:
        import jinja2  # noqa: F401
    source, target, labelled = _tables(options, console)
    pair, names = _pair(source, target, options, console)
    from krda.adaptation.labelled import adapt_by_labels

    if labelled is not None or options.method == "krda":
        _one_torch_thread()
    if labelled is None:
        found = pair.adapt(options.method)
    else:
        found = adapt_by_labels(pair, labelled, options.label)
    predicted = found.predict(target)
    write_predictions(options.output, predicted, options.id, names)
    verdict = found.verdict
    lines = [str(verdict), "", _columns(found.encoder), ""]
    abstained = predicted["abstain"].mean()
    lines.append(
        f"Predictions, by the method {found.method}: {options.output} ({abstained:.0%} of the rows "
        "are marked 'abstain')"
    )
    if options.save:
        save(found, options.save)
        lines.append(f"Model: {options.save}")
    if options.report:
        from krda.command.page import write_report

        write_report(options.report, found, source, target, predicted, options.label)
        lines.append(f"Report: {options.report}")
    written = {"method": found.method, "predictions": str(options.output)}
    console.result("\n".join(lines), _as_json(found) | written)
    return 0 if found.advised else UNUSABLE


def check(options: argparse.Namespace, console: Console) -> Status:
    """Say which shift it is, and what would help."""
    source, target, _ = _tables(options, console)
    pair, _ = _pair(source, target, options, console)
    found = pair.adapt()
    text = f"{found.verdict}\n\n{_candidates(found.verdict)}\n\n{_columns(found.encoder)}"
    console.result(text, _as_json(found))
    return 0 if found.advised else UNUSABLE


def compare(options: argparse.Namespace, console: Console) -> Status:
    """Predict by all methods; say where they disagree, and which labels they get right."""
    source, target, labelled = _tables(options, console)
    pair, _ = _pair(source, target, options, console)
    from krda.adaptation.labelled import compare_methods

    _one_torch_thread()
    table = compare_methods(pair, labelled, options.label)
    text = (
        f"{table.round(3).to_string()}\n\n"
        "same: the share of the target rows that get the label that auto, the choice of 'krda "
        "adapt', gives them.\nshare_...: of each class among the predictions.\n"
    )
    if labelled is None:
        text += "Which method is right cannot be seen from this: --target-labels FILE shows it."
    else:
        text += (
            "accuracy: on the labelled target rows, with a 95 % interval from low to high.\n"
            "better, worse: labelled rows that only this method, or only auto, gets right."
        )
    console.result(text, table.reset_index().to_dict("records"))
    return 0


def predict(options: argparse.Namespace, console: Console) -> Status:
    """Predict the rows of a new file by a saved model."""
    check_outputs([options.output], [options.model, options.new], force=options.force)
    read_saved(options.model)  # first: a wrong file must not cost the time that libraries take
    new = _read(options.new, options, console)
    names = identifiers(new, options.id, None)
    found = load(options.model)
    if not found.advised:
        console.note(f"The verdict was not to use this model. {found.verdict.line}")
    try:
        predicted = found.predict(new if names is None else new.drop(columns=options.id))
    except TableError as error:
        raise TableError(f"{options.new}: {error}") from None
    write_predictions(options.output, predicted, options.id, names)
    counts = predicted["prediction"].value_counts(normalize=True)
    shares = {str(label): round(share, 4) for label, share in counts.items()}
    abstained = round(float(predicted["abstain"].mean()), 4)
    text = listed(f"{label} {share:.0%}" for label, share in shares.items())
    console.result(
        f"{len(predicted)} rows: {text}; {abstained:.0%} abstained from.\n"
        f"Predictions: {options.output}",
        {"rows": len(predicted), "shares": shares, "abstained": abstained,
         "predictions": str(options.output)},
    )  # fmt: skip
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace, Console], Status]] = {
    "adapt": adapt,
    "check": check,
    "compare": compare,
    "predict": predict,
}


def _tables(
    options: argparse.Namespace, console: Console
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None]:
    """Read source, target without labels, and labelled target rows if there are any."""
    source, target = (_read(path, options, console) for path in (options.source, options.target))
    if options.label in target:
        console.note(
            f"{options.target} has the label column {options.label!r}, too: left out, never used."
        )
        target = target.drop(columns=[options.label])
    given = getattr(options, "target_labels", None)
    labelled = None if given is None else _read(given, options, console)
    console.progress(f"{len(source)} source rows, {len(target)} target rows")
    return source, target, labelled


def _read(path: Path, options: argparse.Namespace, console: Console) -> pd.DataFrame:
    names = (getattr(options, name, None) for name in ("label", "id"))
    table = read_table(
        path,
        separator=options.separator,
        decimal=options.decimal,
        encoding=options.encoding,
        as_text=[name for name in names if name],
    )
    for note in table.notes:
        console.note(note)
    return table.frame


def _pair(
    source: pd.DataFrame, target: pd.DataFrame, options: argparse.Namespace, console: Console
) -> tuple[Any, pd.Series | None]:
    """Check and encode the tables; give them, and the target's column that names its rows."""
    from krda.adaptation.adapt import Pair

    names = identifiers(target, options.id, options.label)
    drop = options.drop if options.id in (None, *options.drop) else [*options.drop, options.id]
    pair = Pair.of(
        source, target, options.label, classifier=options.classifier, drop=drop,
        categories=options.categories, random_state=options.seed, progress=console.progress,
    )  # fmt: skip
    refuse_formulas(map(str, np.unique(pair.ys)), "The source has labels")
    return pair, names


def _as_json(found: Any) -> dict[str, Any]:
    columns = [vars(column) for column in found.encoder.columns_]
    return {"verdict": found.verdict.to_dict(), "columns": columns}


def _one_torch_thread() -> None:
    """Let torch use one thread: more gain nothing on small networks, and lose on a busy machine."""
    import torch

    torch.set_num_threads(1)


def _candidates(verdict: Any) -> str:
    from krda.alignment.choice import DEVIATIONS, SHARES_DEVIATIONS

    found = pd.DataFrame(verdict.numbers["candidates"])
    table = pd.DataFrame(
        found.deviations.tolist(), found.name.rename(None), ["all columns", "between the classes"]
    )
    table = table.fillna(np.inf).clip(lower=0)  # noise that is zero; less than nothing left
    table["used?"] = np.where(found.chosen, "yes", "")
    return (
        "What each candidate leaves of the shift, in deviations of the noise. Up to "
        f"{DEVIATIONS:g} may be chance, or up to {SHARES_DEVIATIONS:g} with other class shares. "
        "The simplest that explains the shift is used; if none does, those that come nearest, and "
        "other class shares only if they explain what the others leave. If several are used, they "
        f"vote.\n{table.round(1).to_string()}"
    )


def _columns(encoder: Any) -> str:
    width = max(len(column.name) for column in encoder.columns_)
    lines = ["What was done to each column:"]
    for column in encoder.columns_:
        note = f" ({column.note})" if column.note else ""
        lines.append(f"  {column.name:<{width}}  {column.kind:<10}  {column.done}{note}")
    return "\n".join(lines)
