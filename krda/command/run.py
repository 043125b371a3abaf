"""What ``python -m krda`` does once its arguments are read: tables, fit, predictions, check."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

from krda.command.console import Console
from krda.command.predictions import check_output, write_predictions
from krda.command.tables import listed, read_tables


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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(tables.Xs, tables.ys, tables.Xt)
        columns: dict[str, Any] = {}
        if tables.identifiers is not None:
            columns[options.id] = tables.identifiers
        columns["prediction"] = model.predict(tables.Xt)
        if hasattr(model, "predict_proba"):
            names = [f"probability_{label}" for label in model.classes_]
            columns |= dict(zip(names, model.predict_proba(tables.Xt).T, strict=True))
    write_predictions(options.output, columns, force=options.force)
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        console.say(f"warning: {message}")
    predicted = columns["prediction"]
    shares = [f"{listed([label])} {np.mean(predicted == label):.1%}" for label in model.classes_]
    console.say(f"predictions: {options.output} ({listed(shares)})")
    if not options.assess:
        return
    console.say("checking the fit\n")
    try:
        found = assess(model, tables.Xs, tables.ys, tables.Xt,
                       n_refits=options.refits, random_state=options.seed)  # fmt: skip
    except BaseException:
        console.say(f"the check did not end; {options.output} holds the predictions alone")
        raise
    console.say(str(found))
    more: dict[str, Any] = {"refits_agree": found.refits_agree.round(4)} if options.refits else {}
    more |= {"source_only": found.source_only, "standardised": found.standardized}
    write_predictions(options.output, columns | more, force=True)
    console.say(f"\n{options.output} has these columns now, too: {', '.join(more)}")
