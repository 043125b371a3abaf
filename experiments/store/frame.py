"""The stored records as one tidy table: a row for each repetition."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.store.records import RecordStore

COLUMNS = (
    "dataset", "task", "method", "repetition", "accuracy", "fit_seconds", "predict_seconds",
    "status", "seed", "identity", "error", "config_sha256",
)  # fmt: skip
"""``config_sha256`` tells the cells of a learning curve from those of the tables."""


def to_frame(directory: Path) -> pd.DataFrame:
    """Read all valid records below a directory; accuracies are in [0, 1], NaN if not done."""
    rows = [
        (
            record.dataset, record.task, record.method, outcome.repetition, outcome.accuracy,
            outcome.fit_seconds, outcome.predict_seconds, outcome.status, outcome.seed,
            record.identity, outcome.error, record.config_sha256,
        )
        for record in RecordStore(directory).scan()
        for outcome in record.outcomes
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"accuracy": float, "fit_seconds": float, "predict_seconds": float})
