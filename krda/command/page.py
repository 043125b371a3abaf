"""The report of an adaptation: one page of HTML that needs no other file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader

from krda.adaptation.adapt import Adaptation, far_outside
from krda.adaptation.classifiers import ValidCategories
from krda.adaptation.files import write_whole
from krda.diagnostics import column_distances
from krda.tables.errors import listed
from krda.validation import FloatArray

_MOST_COLUMNS, _MOST_ROWS, _BINS = 40, 20, 24


def write_report(
    path: Path,
    found: Adaptation,
    source: pd.DataFrame,
    target: pd.DataFrame,
    predicted: pd.DataFrame,
    label: str,
) -> None:
    """Write the verdict, the columns before and after, the classes, and the rows to look at."""
    environment = Environment(
        loader=PackageLoader("krda.command", "."), autoescape=True, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    page = environment.get_template("report.html.jinja").render(
        found=found,
        verdict=found.verdict,
        numbers=found.verdict.numbers,
        n_source=len(source),
        n_target=len(target),
        label=label,
        columns=_columns(found, source.drop(columns=[label]), target),
        outside=_outside(found, target),
        agreement=predicted["agreement"].value_counts(normalize=True).sort_index(ascending=False),
        abstained=float(predicted["abstain"].mean()),
        unsure=_unsure(predicted),
    )
    write_whole(path, page.encode())


def _columns(found: Adaptation, source: pd.DataFrame, target: pd.DataFrame) -> list[dict[str, Any]]:
    """Histograms and distances of the encoded columns, the furthest first."""
    names = found.encoder.get_feature_names_out()
    Xs, Xt = (found.encoder.transform(frame) for frame in (source, target))
    mapped = ValidCategories(found.encoder.groups_).transform(found.model.transform(Xs))
    before, after = column_distances(Xs, Xt), column_distances(mapped, Xt)
    order = np.argsort(-before, kind="stable")[:_MOST_COLUMNS]
    return [
        {
            "name": names[j],
            "before": before[j],
            "after": after[j],
            "lines": _lines([Xs[:, j], mapped[:, j], Xt[:, j]]),
        }
        for j in order
    ]


def _lines(columns: list[FloatArray]) -> list[str]:
    """Outlines of histograms over common bins, as points of SVG in a box of 240 times 60."""
    both = np.concatenate(columns)
    low, high = np.quantile(both, [0.005, 0.995])
    edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    shares = [np.histogram(np.clip(x, low, high), edges)[0] / len(x) for x in columns]
    top = max(float(share.max()) for share in shares)
    lines = []
    for share in shares:
        heights = 58 - 56 * np.repeat(share, 2) / top
        places = 240 * np.repeat(np.arange(_BINS + 1), 2)[1:-1] / _BINS
        lines.append(" ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True)))
    return lines


def _outside(found: Adaptation, target: pd.DataFrame) -> list[dict[str, Any]]:
    """Give the rows that are far outside, and in which columns."""
    names = found.encoder.get_feature_names_out()
    far = far_outside(found.encoder.transform(target), found.encoder.groups_)
    rows = np.flatnonzero(far.any(axis=1))[:_MOST_ROWS]
    return [{"row": int(i), "columns": listed(names[far[i]])} for i in rows]


def _unsure(predicted: pd.DataFrame) -> list[dict[str, Any]]:
    """Give the rows of the least probable predictions."""
    probabilities = predicted.filter(regex="^probability_")
    sure = probabilities.max(axis=1).to_numpy()
    rows = np.argsort(sure, kind="stable")[:_MOST_ROWS]
    return [
        {"row": int(i), "prediction": predicted["prediction"].iloc[i], "probability": sure[i]}
        for i in rows
    ]
