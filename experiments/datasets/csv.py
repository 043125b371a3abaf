"""Two files of one's own as a task of the benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments.datasets.base import Task
from experiments.seeds import derive_seed
from krda.tables.encode import TableEncoder
from krda.tables.labels import labels_of
from krda.tables.read import read_table


@dataclass
class Csv:
    """One task of any name: a labelled source table and a target table with the same columns.

    Both tables are encoded together, and columns are centred and scaled by the rows of both. The
    target rows are also the rows that are scored, as in :mod:`experiments.datasets.tables`, in
    random order: ``protocol.max_rows`` leaves a random part of them.

    Parameters
    ----------
    source, target : str
        Files that ``krda adapt`` can read.
    label : str
        Column with the labels.
    score : {"labels", "agreement"}, default="labels"
        "labels" compares predictions with the target's labels. "agreement" needs none: it compares
        them with the predictions of a classifier that is trained on the source as it is.
    drop : str or list of str, default=()
        Columns to leave out.

    Raises
    ------
    TableError
        By :meth:`task`: a file cannot be read, or the tables do not fit together.
    """

    source: str
    target: str
    label: str
    score: str = "labels"
    drop: str | tuple[str, ...] = ()

    name = "csv"

    task_names = ("labels", "agreement")

    def task(self, name: str) -> Task:
        """Read the two files."""
        if self.score not in ("labels", "agreement"):
            raise ValueError(f"dataset.data.score must be labels or agreement, got {self.score!r}.")
        for role, path in (("source", self.source), ("target", self.target)):
            if not Path(path).is_file():
                raise ValueError(f"dataset.data.{role} must be a file, got {str(path)!r}.")
        source, target = (
            read_table(path, as_text=[self.label]).frame for path in (self.source, self.target)
        )
        ys = labels_of(source, self.label).astype(str)  # text has a checksum, objects have not
        yt = self._target_labels(target, ys) if self.score == "labels" else None
        features = [X.drop(columns=self.label, errors="ignore") for X in (source, target)]
        drop = (self.drop,) if isinstance(self.drop, str) else tuple(self.drop)
        encoder = TableEncoder(drop=drop).fit(*features)
        scaler = StandardScaler().fit(np.concatenate([encoder.transform(X) for X in features]))
        Xs, Xt = (scaler.transform(encoder.transform(X)) for X in features)
        if yt is None:
            yt = make_pipeline(StandardScaler(), SVC()).fit(Xs, ys).predict(Xt)
        order = np.random.default_rng(derive_seed("csv", "order")).permutation(len(Xt))
        Xt, yt = Xt[order], yt[order]
        return Task.lock("csv", name, source=(Xs, ys), target=(Xt, yt), test=(Xt, yt))

    def _target_labels(self, target: pd.DataFrame, ys: NDArray[Any]) -> NDArray[Any]:
        if self.label not in target:
            raise ValueError(
                f"The target has no column {self.label!r} to score predictions by. Add it, or set "
                "dataset.data.score=agreement: it measures how often a method and a classifier "
                "trained on the source as it is agree."
            )
        labels = target[self.label].fillna("").astype(str).to_numpy(dtype=str)
        known = np.isin(labels, ys)
        if not known.all():
            row = int(known.argmin())
            raise ValueError(
                f"The target's label in row {row + 1} is {str(labels[row])!r}; "
                f"expected a label of the source: {', '.join(np.unique(ys)[:10])}."
            )
        return labels
