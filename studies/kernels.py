"""Records of two runs compared, such as of two processors or of two choices of kernels.

::

    python -m studies.kernels results elsewhere/results
    python -m studies.kernels results first second --write docs/protocol.md

For each method: how many cells agree to the last digit, and how far the others are apart. A mean
counts as beyond its interval if it differs by more than the wider half-width of the two. The first
directory is compared with each further one. Nothing is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.analysis.agreement import (
    Records,
    agreement,
    common_cells,
    common_differences,
    records_by_cell,
)
from experiments.catalogue import method_label
from experiments.reading.markdown import escape, fill, grid
from studies.common import command

_HEAD = (
    "Method", "Cells", "Identical to the digit", "With another accuracy",
    "Largest difference of a mean, points", "The same in half-widths", "Means beyond",
)  # fmt: skip


def comparison(first: Records, second: Records) -> str:
    """Write what differs between the environments of two runs, then the table."""
    found, common = agreement(first, second), common_cells(first, second)
    lines = [escape(line) for line in common_differences(first, second)]
    text = "Environments, as far as they differ (first / second): "
    text += "; ".join(lines) + "." if lines else "they do not."
    unmatched = len(first) + len(second) - 2 * len(common)
    if unmatched or len(found) < len(common):
        text += (
            f" Not compared: {unmatched} cells of only one of the runs (or of another config or "
            f"data), {len(common) - len(found)} with other repetitions done."
        )
    rows = [_row(method_label(str(method)), own) for method, own in found.groupby("method")]
    return f"{text}\n\n{grid(_HEAD, [*rows, _row('all', found)] if rows else [])}"


def _row(name: str, own: pd.DataFrame) -> list[str]:
    points, same = own.points.abs(), own.identical.sum()
    ratio = (points / own.half_width).fillna(0.0).max()  # infinite if none has a width
    numbers = len(own), same, len(own) - same, f"{points.max():.2f}", f"{ratio:.2f}"
    return [escape(name), *map(str, numbers), str(own.beyond.sum())]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the comparisons, or write them into a document."""
    parser = command("kernels", "Compare the records of runs.")
    parser.add_argument("first", type=Path, help="directory of results")
    parser.add_argument("others", type=Path, nargs="+", help="those to compare it with")
    parser.add_argument("--write", type=Path, metavar="DOCUMENT", help="put it between its marks")
    options = parser.parse_args(arguments)
    first = records_by_cell(options.first)
    parts = []
    for path in options.others:
        other = records_by_cell(path)
        if not first.keys() & other.keys():
            parser.error(f"no cell of {options.first} is in {path}, of the same config")
        parts.append(f"**`{options.first}` and `{path}`.** {comparison(first, other)}")
    text = "\n\n".join(parts)
    if options.write is None:
        print(text)
    else:
        fill(options.write, "kernels", text)


if __name__ == "__main__":
    main()
