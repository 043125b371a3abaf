"""What the studies share: command line, CSV files, and fits of cells that are not done twice."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pandas as pd

from experiments.analysis.intervals import mean_and_interval
from experiments.analysis.rounding import MISSING, number, signed
from experiments.catalogue import method_label
from experiments.cells.cell import Cell
from experiments.cells.repetitions import run_repetitions
from experiments.reading.markdown import between, table
from experiments.store.text import sha256_of
from experiments.whole_files import write_text

__all__ = [
    "MISSING",
    "ROOT",
    "Finished",
    "between",
    "command",
    "mean_and_interval",
    "method_label",
    "number",
    "signed",
    "table",
    "task_names",
    "write_csv",
    "write_text",
]

ROOT = Path(__file__).resolve().parents[1]


def command(name: str, description: str) -> argparse.ArgumentParser:
    """Make the parser of ``python -m studies.NAME``."""
    return argparse.ArgumentParser(f"python -m studies.{name}", description=description)


def write_csv(path: Path, rows: pd.DataFrame | list[dict[str, object]]) -> None:
    """Write a table as CSV, whole or not at all."""
    write_text(path, pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))


def task_names(dataset: str) -> tuple[str, ...]:
    """Names of a data set's tasks."""
    from hydra.utils import instantiate

    from experiments.cells.configuration import compose_config

    names: tuple[str, ...] = instantiate(
        compose_config((f"dataset={dataset}",)).dataset.data
    ).task_names
    return names


class Finished:
    """Results of fits, one line of a file each, by the identity of the cell.

    A study that was ended goes on where it was; one with other code or data starts anew. A last
    line that was cut off counts as not written. Remove the file to compute everything again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[str, str] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="ascii") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            path.write_text(whole, encoding="ascii")
        for line in whole.splitlines():
            entry = json.loads(line)
            self._found[entry["key"]] = entry["result"]

    def result(self, cell: Cell, repetition: int) -> str:
        """Give the accuracy in percent, or how the fit was lost; measure it if it is not there."""
        key = sha256_of([cell.identity(cell.data_sha256()), repetition])
        if key not in self._found:
            (outcome,) = run_repetitions(cell, [repetition])
            accuracy = outcome.accuracy
            if accuracy is None:
                print(f"{cell.label}: {outcome.error}", file=sys.stderr, flush=True)
            result = outcome.status if accuracy is None else f"{100 * accuracy:.10g}"
            with self._path.open("a", encoding="ascii") as file:
                file.write(json.dumps({"key": key, "result": result}) + "\n")
            self._found[key] = result
        return self._found[key]

    def accuracy(self, cell: Cell, repetition: int) -> float:
        """Give the accuracy in percent; raise RuntimeError if the fit was lost."""
        result = self.result(cell, repetition)
        try:
            return float(result)
        except ValueError:
            raise RuntimeError(f"{cell.label}, repetition {repetition}: {result}") from None
