"""The measurements as tidy CSV files, one row a case, and as a page for people."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.whole_files import write_text
from speed.measure import Row, available_cores
from speed.plan import Section

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "numba", "POT", "zuko", "nflows")
_HIDDEN = ("status", "seconds_min", "seconds_max", "cpu_seconds", "compared_to")


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows, each with the columns that it has; floats to four digits."""
    texts = [
        {name: f"{v:.4g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows
    ]
    write_text(path, pd.DataFrame(texts, dtype=object).to_csv(index=False, lineterminator="\n"))


def done(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the rows of cases that were measured."""
    return frame[frame["status"] == "done"]


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


_COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "case": ("", str),
    "n": ("rows", "{:,}".format),
    "seconds": ("time", duration),
    "min_max": ("min – max", str),
    "rows_per_second": ("rows/s", number),
    "peak_mb": ("peak memory, MB", "{:,.0f}".format),
    "ratio": ("ratio", number),
    "steps": ("steps", "{:,.0f}".format),
    "steps_kept": ("steps kept", "{:,.0f}".format),
    "repetitions": ("runs", "{:.0f}".format),
    "repetitions_fitted": ("repetitions fitted", "{:.0f}".format),
}


def markdown(frame: pd.DataFrame) -> str:
    """Write a table; a case that was not measured gives its status instead of a time."""
    frame = frame.copy()
    if {"seconds_min", "seconds_max"} <= set(frame):
        texts = [
            "" if pd.isna(low) else f"{duration(low)} – {duration(high)}"
            for low, high in zip(frame["seconds_min"], frame["seconds_max"], strict=True)
        ]
        frame.insert(list(frame).index("seconds_max"), "min_max", texts)
    names = [str(name) for name in frame if name not in _HIDDEN]
    lines = [
        [_COLUMNS[name][0] if name in _COLUMNS else name.replace("_", " ") for name in names],
        [":--" if name in ("case", "warning") else "--:" for name in names],
    ]
    lines += [[_text(row, name) for name in names] for _, row in frame.iterrows()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _text(row: pd.Series[Any], name: str) -> str:
    value = row[name]
    if name == "seconds" and pd.isna(value):
        return str(row["status"])
    if pd.isna(value):
        return ""
    if name in _COLUMNS:
        return _COLUMNS[name][1](value)
    return f"{value:.2g}" if isinstance(value, float) else str(value)


def page(directory: Path, sections: Sequence[Section], command: str) -> str:
    """Write README.md of a run: all its tables, with what can be compared with what."""
    parts = [
        "# Speed and memory",
        f"Made by `{command}`, tables and figures from the CSV files beside this page. Times are "
        "medians of interleaved repetitions, with the smallest and the largest; if a case takes "
        "long, one run. Peak memory is that of one run in a process of its own, beyond data and "
        "libraries. A ratio is a case's time over that of the case that the section names: above "
        "1 means slower. How: docs/performance.md.",
        f"**Machine.** {machine(directory)}",
    ]
    for section in sections:
        if (directory / f"{section.name}.csv").is_file():
            parts.append(f"## {section.title}")
            if (directory / f"{section.name}.png").is_file():
                parts.append(f"![{section.title}: time against size]({section.name}.png)")
            parts.append(markdown(pd.read_csv(directory / f"{section.name}.csv")))
    return "\n\n".join(parts) + "\n"


def write_machine(path: Path) -> None:
    """Describe this machine and its libraries; ``load`` above 1 means that others used it."""
    info = Path("/proc/cpuinfo")
    models = info.read_text(errors="replace").split("\nmodel name") if info.is_file() else []
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = {
        "cpu": models[1].partition(":")[2].partition("\n")[0].strip() if models[1:] else "unknown",
        "load": round(os.getloadavg()[1], 1),
        "machine": platform.machine(),
        "memory_gb": round(memory / 1e9, 1),
        "packages": {name: _version(name) for name in _PACKAGES},
        "python": platform.python_version(),
        "system": platform.system(),
        "usable_cores": len(available_cores()),
    }
    write_text(path, json.dumps(found, indent=1) + "\n")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


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
