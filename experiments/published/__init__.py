"""The numbers that the paper prints, under the names that this repository uses.

``moons.csv``, ``hepmass.csv`` and ``amazon.csv`` hold every cell of the six accuracy tables of
"Knothe-Rosenblatt transport for Unsupervised Domain Adaptation" (arXiv:2110.02716), three in its
main part and three in its appendix: accuracy in percent, half-width of the 95 % interval as
printed, and whether the paper prints the cell bold. ``anomalies.yaml`` lists what is odd about
them; :mod:`experiments.published.anomalies` reads it. The tests check the files themselves: names,
ranges, and that main part and appendix agree on every value that both print.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

DATASETS = ("moons", "hepmass", "amazon")
"""Data sets that the paper has tables of."""

STAND_INS = {"hepmass_sim": "hepmass"}
"""Data sets without published numbers that are shown beside those of another one, for orientation:
their rows are other data, so no number of theirs can reproduce a published one."""

METHODS = {
    "Source": "source_only", "Target": "target_only", "DANN": "dann", "SA": "sa", "KMM": "kmm",
    "OT": "ot", "SHOT": "shot", "CDAN": "cdan", "DAN": "dan", "JAN": "jan", "TCA": "tca",
    "KRDA": "krda",
}  # fmt: skip
"""The paper's method names and ours."""


class PublishedCell(NamedTuple):
    """What the paper says of one method on one task: percent as printed, and whether it is bold."""

    mean: float
    ci95: float
    bold: bool


def has_published(dataset: str) -> bool:
    """Whether there are published numbers to show beside a data set's own."""
    return dataset in DATASETS or dataset in STAND_INS


@functools.cache
def published(dataset: str, part: str | None = None) -> Mapping[tuple[str, str], PublishedCell]:
    """Look up a data set's published cells by task and method, in the order of the tables.

    ``part`` leaves those of one of the paper's two tables, "main" or "appendix". If both have a
    cell, the bold print is the main table's. ``'hepmass_sim'`` gives the values for the real
    HEPMASS, for orientation only.
    """
    rows = pd.read_csv(Path(__file__).with_name(f"{STAND_INS.get(dataset, dataset)}.csv"))
    rows["task"] = rows.task.astype(str).str.replace("->", "-")
    # The main part is first in the file.
    rows = rows[rows.part == part] if part else rows.drop_duplicates(["task", "method"])
    return {
        (row.task, METHODS[row.method]): PublishedCell(row.mean, row.ci95, bool(row.bold))
        for row in rows.itertuples()
    }
