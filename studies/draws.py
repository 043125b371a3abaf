"""All methods on several draws of moons (docs/statistics.md): ``python -m studies.draws``.

Runs the methods of the table of moons on draws of the usual moons and of those with random
positions; writes their accuracies to ``results/draws/moons.csv``, and ``summary.csv`` and
``README.md`` from them. Draw k is measured by repetition k of the protocol alone, so that draws
share no random number: rows, 90 % subsamples and the methods' seeds differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.analysis.draws import KEYS, POSITIONS, accuracies, read_results, summary
from experiments.cells.configuration import cells_of
from experiments.cells.plan import load_table
from experiments.reading.draws import draws_page
from experiments.reading.tables import public
from studies.common import ROOT, Finished, command, write_csv, write_text


def measured(n_draws: int, methods: Sequence[str], finished: Finished) -> pd.DataFrame:
    """Measure methods: one row for positions, draw and method, one column a task."""
    plan = load_table("moons")
    rows = []
    for positions, dataset in POSITIONS.items():
        for draw in range(n_draws):
            found: dict[str, dict[str, str]] = {}
            for cell in cells_of(dataset, plan.tasks, methods, (f"dataset.data.draw={draw}",)):
                found.setdefault(cell.method, {})[cell.task] = finished.result(cell, draw)
            for method, results in found.items():
                rows.append({"positions": positions, "draw": draw, "method": method, **results})
            print(f"{positions} positions, draw {draw}: done", flush=True)
    return pd.DataFrame(rows)


def merged(old: pd.DataFrame, new: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Put new rows in place of old ones of the same draws, in the order of the methods."""
    both = pd.concat([new, old]).drop_duplicates(KEYS)
    both = both[both["method"].isin(methods) & (both["draw"] <= new["draw"].max())]
    order = {name: number for number, name in enumerate(methods)}
    return both.sort_values(
        KEYS, key=lambda column: column.map(order) if column.name == "method" else column
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    plan = load_table("moons")
    parser = command("draws", "Measure methods on several draws of moons.")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--output", type=Path, default=ROOT / "results/draws", metavar="FOLDER")
    parser.add_argument("--progress", type=Path, default=ROOT / "outputs/draws-moons.jsonl")
    parser.add_argument("--methods", nargs="+", choices=plan.methods, default=plan.methods,
                        help="measure some alone; the others' accuracies are kept")  # fmt: skip
    parser.add_argument("--render", action="store_true", help="write the page only")
    options = parser.parse_args(arguments)
    if options.draws < 2:
        parser.error(f"--draws must be at least 2, got {options.draws}")
    path = options.output / "moons.csv"
    if not options.render:
        new = measured(options.draws, options.methods, Finished(options.progress))
        old = new[:0]
        if path.exists():
            old = read_results(path).reset_index()
        write_csv(path, merged(old, new, plan.methods))
    found = accuracies(read_results(path))
    write_text(path.with_name("README.md"), draws_page(found))
    write_csv(path.with_name("summary.csv"), public(summary(found), 8))


if __name__ == "__main__":
    main()
