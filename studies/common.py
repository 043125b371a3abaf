"""What the studies share: their command line, single fits, and scores."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.cells.cell import Cell
from experiments.cells.protocol import Method
from experiments.cells.repetitions import run_repetitions
from experiments.datasets.base import Task, unlock

ROOT = Path(__file__).resolve().parents[1]


def command(name: str, description: str) -> argparse.ArgumentParser:
    """Make the parser of ``python -m studies.NAME``."""
    return argparse.ArgumentParser(f"python -m studies.{name}", description=description)


def result(cell: Cell, repetition: int) -> str:
    """Run one repetition of a cell: its accuracy in percent, or in a word how it was lost."""
    (outcome,) = run_repetitions(cell, [repetition])
    text = outcome.status if outcome.accuracy is None else f"{100 * outcome.accuracy:.10g}"
    print(f"{cell.label}: {text} {outcome.error or ''}", flush=True)
    return text


def scores(models: Sequence[Method], tasks: Sequence[Task]) -> NDArray[np.float64]:
    """Accuracy of each model on the test rows of each task in percent, (n_models, n_tasks)."""
    right = [[m.predict(t.X_test) == unlock(t.y_test) for t in tasks] for m in models]
    return 100 * np.mean(right, axis=2)
