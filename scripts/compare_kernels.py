"""Compare the records of two runs, such as of two processors or of two choices of kernels.

::

    python scripts/compare_kernels.py results elsewhere/results
    python scripts/compare_kernels.py results first second --write docs/protocol.md

For each method: how many cells agree to the last digit, and how far the others are apart. A mean
counts as beyond its interval if it differs by more than the wider half-width of the two. The first
directory is compared with each further one. ``--write`` puts the tables between the marks of a
document. Nothing is run.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.threads import set_thread_variables

set_thread_variables()

from experiments.agreement import Agreement, agreement, common_differences
from experiments.markdown import between, table
from experiments.plan import method_label
from experiments.records import Record, RecordStore
from experiments.tables.markdown import escape
from experiments.whole_files import write_text

BEGIN, END = "<!-- kernels: begin -->", "<!-- kernels: end -->"

Key = tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparisons, or write them into a document."""
    parser = argparse.ArgumentParser(description="Compare the records of runs.")
    parser.add_argument("first", type=Path, help="directory of results")
    parser.add_argument("others", type=Path, nargs="+", help="those to compare it with")
    parser.add_argument("--write", type=Path, metavar="DOCUMENT", help="put it between its marks")
    options = parser.parse_args(arguments)
    runs = {path: records_by_cell(path) for path in (options.first, *options.others)}
    empty = [str(path) for path, found in runs.items() if not found]
    if empty:
        parser.error(f"no records in {', '.join(empty)}; expected directories like results/")
    first = runs[options.first]
    apart = [str(path) for path in options.others if not first.keys() & runs[path].keys()]
    if apart:
        parser.error(f"no cell of {options.first} is in {', '.join(apart)}, of the same config")
    text = "\n\n".join(
        f"**`{options.first}` and `{path}`.** {comparison(first, runs[path])}"
        for path in options.others
    )
    if options.write is None:
        print(text)
        return 0
    document = options.write.read_text(encoding="utf-8")
    write_text(options.write, between(document, BEGIN, END, text))
    return 0


def records_by_cell(results: Path) -> dict[Key, Record]:
    """Read all records of a directory of results, by what must be equal to compare them."""
    return {
        (r.dataset, r.task, r.method, r.config_sha256): r
        for r in RecordStore(results / "records").scan()
    }


def comparison(first: Mapping[Key, Record], second: Mapping[Key, Record]) -> str:
    """Write a comparison as Markdown: what differs between the environments, then the table.

    Parameters
    ----------
    first, second : mapping of key to Record

    Returns
    -------
    text : str
    """
    common = [key for key in first if key in second]
    found = {key: agreement(first[key], second[key]) for key in common}
    by_method: dict[str, list[Agreement]] = {}
    for key in common:
        one = found[key]
        if one is not None:
            by_method.setdefault(key[2], []).append(one)
    unmatched = len(first) + len(second) - 2 * len(common)
    incomparable = Counter(found.values())[None]
    pairs = [(first[key], second[key]) for key in common]
    lines = [escape(line) for line in common_differences(pairs)]
    head = "Environments, as far as they differ (first / second): "
    text = head + ("they do not." if not lines else "; ".join(lines) + ".")
    if unmatched or incomparable:
        text += (
            f" Not compared: {unmatched} cells of only one of the runs (or of another config), "
            f"{incomparable} with other repetitions done."
        )
    other_data = sum(a.data_sha256 != b.data_sha256 for a, b in pairs)
    if other_data:
        text += f" {other_data} of the cells compared have data with another checksum."
    rows = [row(method_label(method), by_method[method]) for method in sorted(by_method)]
    if rows:  # none if all that both have done are other repetitions
        rows.append(row("all", [a for found_ in by_method.values() for a in found_]))
    titles = [
        "Method", "Cells", "Identical to the digit", "With another accuracy",
        "Largest difference of a mean, points", "The same in half-widths", "Means beyond",
    ]  # fmt: skip
    return text + "\n\n" + table([titles, [":--", *["--:"] * (len(titles) - 1)], *rows])


def row(name: str, found: Sequence[Agreement]) -> list[str]:
    """Write the line of a method."""
    same = sum(a.identical for a in found)
    ratio = max(a.in_half_widths for a in found)
    return [
        escape(name),
        str(len(found)),
        str(same),
        str(len(found) - same),
        f"{max(abs(a.points) for a in found):.2f}",
        "no width" if ratio == float("inf") else f"{ratio:.2f}",
        str(sum(a.beyond for a in found)),
    ]


if __name__ == "__main__":
    sys.exit(main())
