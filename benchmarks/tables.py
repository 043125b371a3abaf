"""The measurements as tidy CSV files, one row a case, and as Markdown."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.reading.markdown import table
from experiments.whole_files import text_written_whole

Row = dict[str, Any]

# The columns that come first, where there are any; others follow as they appear.
_FIRST = (
    "case", "kind", "d", "n", "threads", "status", "seconds", "seconds_min", "seconds_max",
    "cpu_seconds", "repetitions", "rows_per_second", "peak_mb", "ratio", "compared_to",
)  # fmt: skip
_TEXT = {"case", "kind", "status", "compared_to", "warning"}


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows, each with the columns that it has; times to four digits."""
    present = {name for row in rows for name in row}
    columns = [name for name in _FIRST if name in present]
    columns += list(dict.fromkeys(n for row in rows for n in row if n not in _FIRST))
    with text_written_whole(path, "ascii") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({n: _text(v) for n, v in row.items() if v is not None})


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).encode("ascii", "replace").decode("ascii")


def read(path: Path) -> list[Row]:
    """Read rows; a value that a row lacks is left out of it.

    Returns
    -------
    rows : list of dict
        Whole numbers as int, other numbers as float.
    """
    with path.open(newline="", encoding="ascii") as file:
        return [
            {name: _value(name, text) for name, text in row.items() if text != ""}
            for row in csv.DictReader(file)
        ]


def _value(name: str, text: str) -> Any:
    if name in _TEXT:
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text  # A column of a module that writes its own rows.


def matching(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    """Give the rows that are done and have the wanted values."""
    return [
        row
        for row in rows
        if row.get("status") == "done" and all(row.get(k) == v for k, v in wanted.items())
    ]


def select(rows: Sequence[Row], **wanted: Any) -> Row | None:
    """Give the one row that is done and has the wanted values; None where there is none.

    Raises
    ------
    ValueError
        Several rows do.
    """
    found = matching(rows, **wanted)
    if len(found) > 1:
        raise ValueError(f"{len(found)} rows have {wanted}: name more columns.")
    return found[0] if found else None


_HEADS = {
    "case": "", "kind": "mixtures", "d": "d", "n": "rows", "threads": "threads",
    "seconds": "time", "spread": "min – max", "repetitions": "runs",
    "rows_per_second": "rows/s", "peak_mb": "peak memory, MB", "ratio": "ratio",
}  # fmt: skip
_HIDDEN = {"status", "seconds_min", "seconds_max", "cpu_seconds", "compared_to"}


def markdown(rows: Sequence[Row]) -> str:
    """Write rows as a table; a case that was not run gives its reason instead of a time."""
    present = {name for row in rows for name in row}
    if "seconds" in present:
        present |= {"spread"}
    columns = [name for name in _HEADS if name in present]
    columns += [n for row in rows for n in row if n not in _HEADS and n not in _HIDDEN]
    columns = list(dict.fromkeys(columns))
    lines = [
        [_HEADS.get(name, name.replace("_", " ")) for name in columns],
        [":--" if name in ("case", "kind", "warning") else "--:" for name in columns],
        *([_cell(row, name) for name in columns] for row in rows),
    ]
    return table(lines)


def _cell(row: Row, name: str) -> str:
    if name == "seconds" and row.get("status", "done") != "done":
        return str(row["status"])
    if name == "spread":
        if "seconds_min" not in row:
            return ""
        return f"{duration(row['seconds_min'])} – {duration(row['seconds_max'])}"
    value = row.get(name)
    if value is None:
        return ""
    match name:
        case "seconds":
            return duration(value)
        case "n" | "rows_per_second":
            return f"{value:,}" if name == "n" else number(value)
        case "peak_mb":
            return f"{value:,.0f}"
        case "ratio":
            return number(value)
    return f"{value:.2g}" if isinstance(value, float) else str(value)


def round_to_digits(value: float, digits: int = 2) -> float:
    """Round to a number of significant digits."""
    return float(f"{value:.{digits}g}")


def number(value: float) -> str:
    """Write a number for a person, with two digits that count."""
    rounded = round_to_digits(value)
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def duration(seconds: float) -> str:
    """Write a time for a person, three digits."""
    if seconds < 1e-3:
        return f"{1e6 * seconds:.3g} µs"
    if seconds < 1:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 600 else f"{seconds / 60:.0f} min"
