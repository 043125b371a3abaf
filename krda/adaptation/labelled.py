"""All methods side by side, and what a few labelled target rows say of them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from krda.adaptation.adapt import Pair
from krda.adaptation.methods import METHODS
from krda.tables.read import TableError

#: Chance of a false alarm at which another method replaces the one that was chosen without labels.
LEVEL = 0.05

_N_METHODS = 4  # that a sentence names


def compare_methods(
    source: pd.DataFrame,
    target: pd.DataFrame,
    labelled: pd.DataFrame | None,
    label: str,
    **settings: Any,
) -> pd.DataFrame:
    """Fit every method, and say how each predicts the target.

    Parameters
    ----------
    source, target : DataFrame
        As those of :func:`krda.adapt`.
    labelled : DataFrame or None
        Target rows with labels, which no fit is given.
    label : str
        The column of labels.
    **settings
        Further ones of :func:`krda.adapt`, except ``method``.

    Returns
    -------
    table : DataFrame
        A row for each method: ``same``, the share of target rows with the prediction of "auto";
        ``share_...``, of each class among the predictions; ``seconds``; and with labelled rows
        ``rows``, ``right``, ``accuracy`` and its 95 % interval (Wilson's), ``low`` and ``high``;
        ``better`` and ``worse``, the rows that this method gets right and "auto" does not, and
        the other way round.

    Raises
    ------
    TableError
        Tables that cannot be worked with, or labelled rows whose labels the source has not.
    """
    truth = None if labelled is None else _truth(source, labelled, label)
    pair = Pair.of(source, target, label, **settings)
    rows: dict[str, dict[str, Any]] = {}
    of_auto: Any = None
    hits_of_auto: Any = None
    for method in METHODS:
        start = time.monotonic()
        model = pair.fit(method)
        predicted = model.predict(pair.Xt)
        of_auto = predicted if of_auto is None else of_auto
        row: dict[str, Any] = {"same": float((predicted == of_auto).mean())}
        row |= {f"share_{c}": float((predicted == c).mean()) for c in model.classes_}
        row["seconds"] = round(time.monotonic() - start, 1)
        if labelled is not None and truth is not None:
            hits = model.predict(pair.encoder.transform(labelled)) == truth
            hits_of_auto = hits if hits_of_auto is None else hits_of_auto
            row |= _of_labels(hits, hits_of_auto)
        rows[method] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def choose_by_labels(
    source: pd.DataFrame, target: pd.DataFrame, labelled: pd.DataFrame, label: str, **settings: Any
) -> tuple[str, list[str]]:
    """Choose a method by labelled target rows: another than "auto" only if it is surely better.

    Parameters
    ----------
    source, target, labelled, label, **settings
        As those of :func:`compare_methods`.

    Returns
    -------
    method : str
        The one with most labels right among those that beat "auto" by a sign test, one-sided at
        5 % over all methods; else "auto".
    evidence : list of str
        A sentence with the accuracies of the best methods.
    """
    table = compare_methods(source, target, labelled, label, **settings)
    level = LEVEL / (len(table) - 1)
    ranked = table.sort_values("right", ascending=False, kind="stable")
    better = [name for name, row in ranked.iterrows() if _chance(row) < level]
    method = str(better[0]) if better else "auto"
    first = [name for name in ranked.index if name != method][: _N_METHODS - 1]
    named = [_accuracy(name, table.loc[name]) for name in [method, *first]]
    return method, [f"Of {int(table['rows'].iloc[0])} labelled target rows, {'; '.join(named)}."]


def _chance(row: Any) -> float:
    """Probability of being better than "auto" on as many rows by chance."""
    n = int(row.better + row.worse)
    return binomtest(int(row.better), n, alternative="greater").pvalue if n else 1.0


def _accuracy(name: str, row: Any) -> str:
    interval = f"{row.low:.0%} to {row.high:.0%}"
    return f"{name} gets {int(row.right)} right ({row.accuracy:.0%}, {interval})"


def _of_labels(hits: Any, hits_of_auto: Any) -> dict[str, Any]:
    right, n = int(hits.sum()), len(hits)
    interval = binomtest(right, n).proportion_ci(method="wilson")
    return {
        "rows": n,
        "right": right,
        "accuracy": right / n,
        "low": float(interval.low),
        "high": float(interval.high),
        "better": int((hits & ~hits_of_auto).sum()),
        "worse": int((~hits & hits_of_auto).sum()),
    }


def _truth(source: pd.DataFrame, labelled: pd.DataFrame, label: str) -> Any:
    if label not in labelled:
        raise TableError(f"The labelled target rows have no column {label!r}.")
    if not len(labelled):
        raise TableError("There are no labelled target rows.")
    truth, known = labelled[label], set(source[label])
    new = [value for value in truth.unique() if value not in known]
    if new:
        raise TableError(
            f"The labelled target rows have labels that the source has not: {new[:5]}. Write them "
            "as the source does, or leave these rows out."
        )
    return np.asarray(truth)
