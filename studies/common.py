"""What the studies share: their command line, the CSV files they write, and single fits."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.cells.cell import Cell
from experiments.cells.repetitions import run_repetitions
from experiments.whole_files import write_text

ROOT = Path(__file__).resolve().parents[1]


def command(name: str, description: str) -> argparse.ArgumentParser:
    """Make the parser of ``python -m studies.NAME``."""
    return argparse.ArgumentParser(f"python -m studies.{name}", description=description)


def write_csv(path: Path, rows: pd.DataFrame | Iterable[Mapping[str, Any]]) -> None:
    """Write a table as CSV, whole or not at all."""
    write_text(path, pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))


def result(cell: Cell, repetition: int) -> str:
    """Run one repetition of a cell: its accuracy in percent, or in a word how it was lost."""
    (outcome,) = run_repetitions(cell, [repetition])
    if outcome.accuracy is None:
        print(f"{cell.label}: {outcome.error}", flush=True)
        return outcome.status
    text = f"{100 * outcome.accuracy:.10g}"
    print(f"{cell.label}: {text}", flush=True)
    return text
