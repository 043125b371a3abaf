"""Small derived values that take long to make, kept between processes in the user's cache folder.

A value's key is everything that it depends on, so an entry is never wrong, only unused. Nothing
that decides what is run or rendered rests on it without a check: see where it is used. A folder
that cannot be written, or a damaged entry, costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from experiments.store.records import sha256_of
from experiments.whole_files import write_text

DIRECTORY_VARIABLE = "KRDA_MEMO_DIR"


def memo_directory() -> Path:
    """Where entries lie: ``$KRDA_MEMO_DIR``, or a folder in the user's cache."""
    if os.environ.get(DIRECTORY_VARIABLE):
        return Path(os.environ[DIRECTORY_VARIABLE])
    if os.environ.get("XDG_CACHE_HOME"):
        base = Path(os.environ["XDG_CACHE_HOME"])
    else:
        base = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return base / "krda" / "memo"


def recall(kind: str, key: Any) -> Any | None:
    """Look up a value; None where there is none.

    Parameters
    ----------
    kind : str
        What the value is, part of its file's name.
    key : JSON value
        Everything that the value depends on.

    Returns
    -------
    value : JSON value or None
    """
    try:
        entry = json.loads(_path(kind, key).read_text(encoding="ascii"))
    except (OSError, ValueError, RuntimeError):
        return None
    # Whole or not at all: the value carries its checksum.
    if not isinstance(entry, dict) or entry.get("sha256") != sha256_of(entry.get("value")):
        return None
    return entry["value"]


def remember(kind: str, key: Any, value: Any) -> None:
    """Keep a value for the next process.

    Parameters
    ----------
    kind, key
        As for :func:`recall`.
    value : JSON value
        Not None.
    """
    entry = json.dumps({"sha256": sha256_of(value), "value": value}, sort_keys=True)
    with contextlib.suppress(OSError, RuntimeError):
        write_text(_path(kind, key), entry)


def _path(kind: str, key: Any) -> Path:
    return memo_directory() / f"{kind}-{sha256_of(key)[:32]}.json"
