"""The forms of text in the store: JSON with one spelling, and errors in one printable line."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from krda.printing import printable

ERROR_LENGTH = 2000
"""Most characters of an error that a record keeps."""


def canonical_json(value: Any) -> str:
    """Write a value as JSON in the store's one form: sorted keys, indent 1, ASCII, no NaN."""
    return json.dumps(value, sort_keys=True, indent=1, allow_nan=False, ensure_ascii=True) + "\n"


def sha256_of(value: Any) -> str:
    """Hex SHA-256 of a value's :func:`canonical_json`."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()


def one_line(text: str, length: int = ERROR_LENGTH) -> str:
    """Make a text one printable line; a longer one ends with how many characters are left out."""
    line = printable(" ".join(text.split()))
    if len(line) <= length:
        return line
    kept = line[: length - 40].rstrip()
    return f"{kept} ... [{len(line) - len(kept)} more characters]"
