"""All methods side by side, and what a few labelled target rows say of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binomtest

from krda.adaptation.adapt import METHODS, Adaptation, Pair
from krda.adaptation.verdict import Advice, advice_for
from krda.tables.errors import TableError, listed

#: Chance of a false alarm at which another method replaces the one that was chosen without labels.
LEVEL = 0.05

_N_METHODS = 4  # that a sentence names


def compare_methods(
    pair: Pair, labelled: pd.DataFrame | None = None, label: str | None = None
) -> pd.DataFrame:
    """Fit every method, and say how each predicts the target: a row a method.

    ``same`` is the share of target rows with the prediction of "auto", ``share_...`` that of each
    class among the predictions. With labelled target rows, which no fit is given, there are also
    ``rows``, ``right``, ``accuracy`` and its 95 % interval (Wilson's), ``low`` and ``high``;
    ``better`` and ``worse`` count the rows that this method gets right and "auto" does not, and the
    other way round. TableError: labels that cannot be read, or that the source has not.
    """
    truth = rows = None
    if labelled is not None:
        truth = _truth(pair, labelled, label)
        try:
            rows = pair.encoder.transform(labelled.drop(columns=[label]))
        except TableError as error:
            raise TableError(f"The labelled target rows: {error}") from None
    counts = {method: f"{i} of {len(METHODS)}, " for i, method in enumerate(METHODS, 1)}
    auto = pair.fit("auto", counts["auto"])
    by_auto = auto.predict(pair.Xt)
    right = None if rows is None else auto.predict(rows) == truth
    table = {}
    for method, count in counts.items():
        model = pair.fit(method, count)
        predicted = model.predict(pair.Xt)
        table[method] = {"same": (predicted == by_auto).mean()}
        table[method] |= {f"share_{c}": (predicted == c).mean() for c in model.classes_}
        if right is not None:
            table[method] |= _of_labels(model.predict(rows) == truth, right)
    return pd.DataFrame.from_dict(table, orient="index").rename_axis("method")


def adapt_by_labels(pair: Pair, labelled: pd.DataFrame, label: str) -> Adaptation:
    """Adapt by the method that labelled target rows choose: another than "auto" only if surely.

    It has most labels right among those that beat "auto" by a sign test, one-sided at 5 % for all
    methods together; without any it is "auto". The verdict names the accuracies. If the method
    surely beats the most frequent class, its predictions are advised. No fit is given the labels.
    """
    table = compare_methods(pair, labelled, label)
    level = LEVEL / (len(table) - 1)
    ranked = table.sort_values("right", ascending=False, kind="stable")
    better = [str(name) for name, row in ranked.iterrows() if _chance(row) < level]
    method = better[0] if better else "auto"
    others = [name for name in ranked.index if name != method][: _N_METHODS - 1]
    named = [_accuracy(name, table.loc[name]) for name in [method, *others]]
    sentence = f"Of {int(table['rows'].iloc[0])} labelled target rows, {'; '.join(named)}."
    found = pair.adapt(method)
    majority = labelled[label].value_counts(normalize=True).iloc[0]
    advice: Advice | None = None
    if table.loc[method, "low"] > majority:
        advice = advice_for(found.verdict.numbers["shift"], method)
    else:
        sentence += (
            f" The most frequent class has {majority:.0%} of them: more rows are needed to confirm "
            "that the classifier beats it."
        )
    why = "Labelled target rows confirm it."
    return replace(found, verdict=found.verdict.with_evidence(sentence, advice, why))


def _chance(row: Any) -> float:
    """Probability of being better than "auto" on as many rows by chance."""
    n = int(row.better + row.worse)
    return float(binomtest(int(row.better), n, alternative="greater").pvalue) if n else 1.0


def _accuracy(name: str, row: Any) -> str:
    interval = f"{row.low:.0%} to {row.high:.0%}"
    return f"{name} gets {int(row.right)} right ({row.accuracy:.0%}, {interval})"


def _of_labels(hits: NDArray[np.bool_], hits_of_auto: NDArray[np.bool_]) -> dict[str, Any]:
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


def _truth(pair: Pair, labelled: pd.DataFrame, label: str | None) -> NDArray[Any]:
    if label not in labelled:
        raise TableError(
            f"The labelled target rows have no column {label!r}; their columns are "
            f"{listed(labelled.columns)}."
        )
    truth, known = np.asarray(labelled[label]), set(pair.ys)
    new = [value for value in pd.unique(truth) if value not in known]
    if new:
        raise TableError(
            f"The labelled target rows have labels that the source has not: {listed(new)}. Write "
            "them as the source does, or leave these rows out."
        )
    return truth
