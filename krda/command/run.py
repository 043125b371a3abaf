"""What ``python -m krda`` does once its arguments are read: tables, fit, predictions, check."""

from __future__ import annotations

import argparse
import os
import secrets
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from krda.command.console import Console
from krda.command.tables import TableError, listed, read_tables


def make_classifier(name: str, seed: int) -> Any:
    """Make one of the command's classifiers, with its columns at one scale if it needs that."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return {
        "svm": make_pipeline(StandardScaler(), SVC(random_state=seed)),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "forest": RandomForestClassifier(random_state=seed),
        "boosting": HistGradientBoostingClassifier(random_state=seed),
    }[name]


def check_output(path: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Raise a TableError if predictions could not, or should not, be written."""
    folder = path.resolve().parent
    if path.exists() and not path.is_file():
        raise TableError(f"--output names a folder, a device or a pipe, expected a file: {path}.")
    if not os.access(folder, os.W_OK):
        raise TableError(f"The folder of --output does not exist or is read-only: {folder}.")
    if path.resolve() in [p.resolve() for p in inputs]:
        raise TableError(f"--output names an input: {path}.")
    if path.exists() and not force:
        raise TableError(
            f"{path} exists. Name another file with --output, or overwrite it with --force."
        )


def write_predictions(path: Path, columns: Mapping[str, Any]) -> None:
    """Write one line for each target row, its number first; the file is the old or the new one."""
    path = path.resolve()  # a link stays a link
    temporary = path.with_name(f".krda-{secrets.token_hex(4)}.part")
    try:
        pd.DataFrame(columns).rename_axis("row").to_csv(temporary, lineterminator="\n")
        temporary.replace(path)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def run(options: argparse.Namespace, console: Console) -> None:
    """Read, fit, write the predictions, check the fit, and write what the check says of each row.

    Tables are read before the libraries that a fit needs are loaded.
    """
    check_output(options.output, (options.source, options.target), force=options.force)
    tables = read_tables(
        options.source,
        options.target,
        options.label,
        drop=options.drop,
        identifier=options.id,
        separator=options.separator,
        encoding=options.encoding,
    )
    for note in tables.notes:
        console.say(f"note: {note}")
    console.say(
        f"{len(tables.Xs)} source rows (Xs), {len(tables.Xt)} target rows (Xt), "
        f"{len(tables.Xs.columns)} columns; fitting"
    )
    from krda import KRDA
    from krda.trust.check import assess

    model = KRDA(
        hidden_size=options.hidden_size,
        max_steps=options.max_steps,
        column_order=options.column_order,
        classifier=make_classifier(options.classifier, options.seed),
        random_state=options.seed,
    )
    data = tables.Xs, tables.ys, tables.Xt
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predicted = model.fit(*data).predict(tables.Xt)
        columns = {} if tables.identifiers is None else {options.id: tables.identifiers}
        columns["prediction"] = predicted
        if hasattr(model, "predict_proba"):
            names = [f"probability_{label}" for label in model.classes_]
            columns |= dict(zip(names, model.predict_proba(tables.Xt).T, strict=True))
    write_predictions(options.output, columns)
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        console.say(f"warning: {message}")
    shares = [f"{listed([label])} {np.mean(predicted == label):.1%}" for label in model.classes_]
    console.say(f"predictions: {options.output} ({listed(shares)})")
    if not options.assess:
        return
    console.say("checking the fit\n")
    found = assess(model, *data, n_refits=options.refits, random_state=options.seed)
    console.say(str(found))
    more: dict[str, Any] = {"refits_agree": found.refits_agree.round(4)} if options.refits else {}
    more |= {"source_only": found.source_only, "standardised": found.standardized}
    write_predictions(options.output, columns | more)
    console.say(f"\n{options.output} has these columns now, too: {', '.join(more)}")
