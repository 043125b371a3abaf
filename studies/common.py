"""What the studies share: their command line, and single fits."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.cells.cell import Cell
from experiments.cells.repetitions import run_repetitions

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
