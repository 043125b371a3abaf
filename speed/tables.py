"""The measurements as tidy CSV files, one row a case, and as a page for people."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pandas as pd
from joblib import cpu_count

from experiments.reading.markdown import grid
from experiments.store.provenance import environment
from experiments.whole_files import write_text
from speed.measure import Row
from speed.sections import SECTIONS

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "numba", "POT", "zuko")
_HIDDEN = ["cpu_seconds", "compared_to"]


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows, each with the columns that it has; floats to four digits."""
    texts = [
        {name: f"{v:.4g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows
    ]
    write_text(path, pd.DataFrame(texts, dtype=object).to_csv(index=False, lineterminator="\n"))


def number(value: float) -> str:
    """Write a number for a person, with two digits that count."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def duration(seconds: float) -> str:
    """Write a time for a person, with three digits."""
    if seconds < 1e-3:
        return f"{1e6 * seconds:.3g} µs"
    if seconds < 1:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def markdown(path: Path) -> str:
    """Write a file as a table, its numbers as they are."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    frame = frame.drop(columns=_HIDDEN, errors="ignore")
    return grid([name.replace("_", " ") for name in frame], frame.to_numpy().tolist())


def page(directory: Path, command: str) -> str:
    """Write README.md of a run: all its tables, with what can be compared with what."""
    parts = [
        "# Speed and memory",
        f"Made by `{command}` from the CSV files beside this page. Times are medians, in seconds, "
        "of interleaved repetitions, with the smallest and the largest; if a case takes long, of "
        "one run. Peak memory is that of one run in a process of its own, beyond data and "
        "libraries. A ratio is a case's time over that of the case that the section names: above "
        "1 means slower. How: docs/performance.md.",
        f"**Machine.** {machine(directory)}",
    ]
    for section in SECTIONS:
        if (directory / f"{section.name}.csv").is_file():
            parts.append(f"## {section.title}")
            parts.append(markdown(directory / f"{section.name}.csv"))
    return "\n\n".join(parts) + "\n"


def write_machine(path: Path) -> None:
    """Describe this machine and its libraries; ``load`` above 1 means that others used it."""
    installed = {one.metadata["Name"]: one.version for one in metadata.distributions()}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = {
        **{name: environment()[name] for name in ("cpu", "machine", "python")},
        "load": round(os.getloadavg()[1], 1),
        "memory_gb": round(memory / 1e9, 1),
        "packages": {name: installed.get(name) for name in _PACKAGES},
        "system": os.uname().sysname,
        "usable_cores": cpu_count(),
    }
    write_text(path, json.dumps(found, indent=1) + "\n")


def machine(directory: Path) -> str:
    """Describe the machine of a run, and how far others kept its processor from the cases."""
    found = json.loads((directory / "machine.json").read_text(encoding="utf-8"))
    versions = ", ".join(f"{k} {v or 'not installed'}" for k, v in found["packages"].items())
    frames = [pd.read_csv(path) for path in sorted(directory.glob("*.csv"))]
    timed = pd.concat([frame for frame in frames if "cpu_seconds" in frame])
    timed = timed[(timed["threads"] == 1) & (timed["seconds"] > 0.01)]
    shares = timed["seconds"] / timed["cpu_seconds"]
    return (
        f"{found['cpu']}, {found['usable_cores']} cores, {found['memory_gb']:g} GB, "
        f"{found['system']} on {found['machine']}; Python {found['python']}, {versions}. System "
        f"load at the end of the run: {found['load']:g}. Wall time of a one-thread case over its "
        f"processor time: median {shares.median():.2f}, largest {shares.max():.2f}; 1 on a machine "
        "that is otherwise idle."
    )
