"""The measurements as CSV files, a page, and what the documents say of speed.

README.md and docs/performance.md say how fast things are between marks only, by text that is made
from the files, so that no number outlives the measurement.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pandas as pd
from joblib import cpu_count

from experiments.reading.markdown import grid, page
from experiments.store.provenance import environment
from experiments.whole_files import write_text
from speed.measure import Row

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "numba", "zuko")
_INTRODUCTION = """# Speed and memory

Made by `{}` from the CSV files beside this page. Times are medians, in seconds, of interleaved \
repetitions, with the smallest and the largest; if a case takes long, of one run. Peak memory is \
that of one run in a process of its own, beyond data and libraries. A ratio is a case's time over \
that of the case that it is compared to: above 1 means slower. How: docs/performance.md."""


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows, each with the columns that it has; floats to four digits."""
    texts = [
        {name: f"{v:.4g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows
    ]
    write_text(path, pd.DataFrame(texts, dtype=object).to_csv(index=False, lineterminator="\n"))


def read(directory: Path, section: str) -> pd.DataFrame:
    """Read a section's rows as text."""
    return pd.read_csv(directory / f"{section}.csv", dtype=str, keep_default_na=False)


def write_machine(path: Path) -> None:
    """Describe this machine and its libraries; ``load`` above 1 means that others used it."""
    installed = {one.metadata["Name"]: one.version for one in metadata.distributions()}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = environment() | {
        "load": round(os.getloadavg()[1], 1),
        "memory_gb": round(memory / 1e9, 1),
        "packages": {name: installed.get(name) for name in _PACKAGES},
        "usable_cores": cpu_count(),
    }
    write_text(path, json.dumps(found, indent=1) + "\n")


def benchmarks_page(directory: Path, command: str) -> str:
    """Write README.md of a run: its machine, and all its tables."""
    found = json.loads((directory / "machine.json").read_text(encoding="utf-8"))
    versions = ", ".join(f"{k} {v or 'not installed'}" for k, v in found["packages"].items())
    parts = [
        f"**Machine.** {found['cpu']}, {found['usable_cores']} cores, {found['memory_gb']:g} GB, "
        f"{found['system']} on {found['machine']}; Python {found['python']}, {versions}. System "
        f"load at the end of the run: {found['load']:g}."
    ]
    for path in sorted(directory.glob("*.csv")):
        frame = read(directory, path.stem)
        parts += [f"## {path.stem.capitalize()}", grid(list(frame), frame.to_numpy().tolist())]
    return page(_INTRODUCTION.format(command), *parts)


def documents(directory: Path) -> dict[str, str]:
    """What is between the marks of which document."""
    return {"README.md": three_lines(directory), "docs/performance.md": largest(directory)}


def _largest(directory: Path) -> pd.DataFrame:
    """Each case with 27 columns, at its largest size."""
    rows = pd.concat([read(directory, "transport"), read(directory, "scale")]).fillna("")
    rows = rows[(rows["status"] == "done") & (rows["d"] == "27")]
    return rows.groupby("case", sort=False, as_index=False).last()


def largest(directory: Path) -> str:
    """Write them as a table."""
    cells = _largest(directory)[["case", "n", "seconds", "peak_mb", "ratio"]].to_numpy().tolist()
    return grid(["", "Rows", "Seconds", "MB beyond the data", "Ratio"], cells)


def three_lines(directory: Path) -> str:
    """Write those of KRDA in a line each, and all peers' in another."""
    rows = _largest(directory)
    lines = [
        f"- `{row.case}` of {int(row.n):,} rows and 27 columns takes {float(row.seconds):.0f} "
        f"seconds, and {float(row.peak_mb):.0f} MB beyond the data."
        for row in rows.itertuples()
        if row.case in ("KRDA.fit", "KRDA.transform")
    ]
    peers = rows[~rows["case"].str.startswith("KR")]
    times = (f"{row.case} ({float(row.ratio):.1f})" for row in peers.itertuples())
    lines.append(f"- Other maps take this many times as long as KRDA's: {', '.join(times)}.")
    return "\n".join(lines)
