"""All results as one table: a row for each repetition of each record."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.store.records import RecordStore
from experiments.whole_files import write_text

COLUMNS = {
    "dataset": "str",
    "task": "str",
    "method": "str",
    "config": "str",
    "repetition": "int64",
    "accuracy": "float64",
    "balanced_accuracy": "float64",
    "fit_seconds": "float64",
    "predict_seconds": "float64",
    "status": "str",
    "seed": "int64",
    "identity": "str",
    "error": "str",
}
"""Columns of the frame and their types.

``config``: the first 12 digits of the config's checksum, as in the file's name. It separates
cells that share data set, task and method, such as the points of a learning curve.
"""


def to_frame(results: Path) -> pd.DataFrame:
    """Read ``results/records``: one row a repetition; damaged files are left out.

    The columns are :data:`COLUMNS`; what is missing is NaN, or empty text.
    """
    rows = [
        (r.dataset, r.task, r.method, r.config_sha256[:12], o.repetition, o.accuracy,
         o.balanced_accuracy, o.fit_seconds, o.predict_seconds, o.status, o.seed, r.identity,
         o.error or "")
        for r in RecordStore(Path(results) / "records").scan()
        for o in r.outcomes
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def write_csv(frame: pd.DataFrame, path: Path) -> Path:
    """Write a frame as CSV without its index, whole or not at all; floats with all their digits."""
    write_text(path, frame.to_csv(index=False, lineterminator="\n"))
    return path


def write_all_csv(frame: pd.DataFrame, results: Path) -> Path:
    """Write the frame of all results as ``results/all.csv``, without the errors' texts."""
    return write_csv(frame.drop(columns="error"), results / "all.csv")
