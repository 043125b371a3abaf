"""Measure the methods of a table on several draws of moons: what the tables' intervals do not show.

::

    python scripts/tabulate_draws.py

runs all methods of the table of moons on draws 0 to 9 of the usual moons and of those with random
positions, writes their accuracies to ``results/draws/moons.csv``, and what can be told from them to
``summary.csv`` and ``README.md`` beside it. ``python -m experiments.reading.readme``
takes the numbers over into docs/statistics.md; ``make draws`` does both. ``--methods`` measures
some alone and keeps the
others' accuracies; ``--render`` writes the page from the accuracies that are there.

Draw k is measured by repetition k of the protocol alone, so that no random number is shared between
draws: rows, 90 % subsamples and the methods' own seeds are others. What is finished is kept in a
file below ``outputs``, by the identity of each cell: a run that was ended goes on where it was, and
one with other code starts anew. Remove that file to compute everything again; the results hold no
times and are the same bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.threads import limit_threads

limit_threads()

from experiments.analysis import draws
from experiments.cells.cell import Cell, run_repetitions
from experiments.cells.configuration import cells_of
from experiments.cells.plan import load_table
from experiments.reading.draws import draws_page
from experiments.reading.tables import public
from experiments.store.frame import write_csv
from experiments.store.records import sha256_of
from experiments.whole_files import write_text

_ROOT = Path(__file__).resolve().parents[1]


class Progress:
    """What is finished, one line of a file each.

    Parameters
    ----------
    path : Path
        Made where it is missing. A last line that was cut off counts as not written.
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
        """Accuracy in percent, or how the fit was lost; measured where it is not there yet.

        Parameters
        ----------
        cell : Cell
        repetition : int

        Returns
        -------
        result : str
        """
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


def main(arguments: list[str] | None = None) -> None:
    """Run the command.

    Parameters
    ----------
    arguments : list of str or None
        None takes those of the command line.
    """
    plan = load_table("moons")
    parser = argparse.ArgumentParser(description="Measure methods on several draws of moons.")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--output", type=Path, default=_ROOT / "results/draws", metavar="FOLDER")
    parser.add_argument("--progress", type=Path, default=_ROOT / "outputs/draws-moons.jsonl")
    parser.add_argument("--methods", nargs="+", choices=plan.methods, default=plan.methods)
    parser.add_argument("--render", action="store_true", help="write the page only")
    options = parser.parse_args(arguments)
    if options.draws < 2:
        parser.error(f"--draws must be at least 2, got {options.draws}")
    path = options.output / "moons.csv"
    if not options.render:
        progress = Progress(options.progress)
        # What is not measured anew stays as it is, if it is there.
        kept = {}
        if path.exists():
            for key, row in draws.read_results(path).iterrows():
                kept |= {(*key, task): result for task, result in row.items()}
        results = {}
        for positions, dataset in draws.POSITIONS.items():
            for draw in range(options.draws):
                overrides = (f"dataset.data.draw={draw}",)
                for cell in cells_of(dataset, plan.tasks, plan.methods, overrides):
                    key = positions, draw, cell.method, cell.task
                    if cell.method in options.methods:
                        results[key] = progress.result(cell, draw)
                    elif key in kept:
                        results[key] = kept[key]
                print(f"{positions} positions, draw {draw}: done", flush=True)
        write_csv(draws.table_of(results), path)
    found = draws.accuracies(draws.read_results(path))
    write_text(path.with_name("README.md"), draws_page(found))
    write_csv(public(draws.summary(found), 8), path.with_name("summary.csv"))


if __name__ == "__main__":
    main()
