"""What a benchmark ran on: processor, cores, memory, versions."""

from __future__ import annotations

import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.timing import available_cores
from experiments.store.provenance import environment
from experiments.whole_files import text_written_whole

PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "numba", "POT", "zuko", "nflows", "mpart")


def describe() -> dict[str, Any]:
    """Describe this machine and the libraries installed.

    Returns
    -------
    description : dict
        Of :func:`experiments.store.provenance.environment`, without threads, which are each
        case's own;
        ``usable_cores``, ``memory_gb``, ``packages`` (None where not installed) and ``load``, the
        system's load when the run ended: more than about 1 means that others used the machine.
    """
    found = {key: value for key, value in environment().items() if key != "threads"}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        **found,
        "usable_cores": len(available_cores()),
        "memory_gb": round(memory / 1e9, 1),
        "load": round(os.getloadavg()[1], 1),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def write(path: Path) -> None:
    """Write the description as JSON."""
    with text_written_whole(path, "ascii") as file:
        json.dump(describe(), file, indent=1, sort_keys=True)
        file.write("\n")


def read(path: Path) -> dict[str, Any]:
    """Read a description that was written."""
    description: dict[str, Any] = json.loads(path.read_text(encoding="ascii"))
    return description
