"""What settings may be, and the one form in which equal numbers are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def canonical(value: Any) -> Any:
    """Write whole numbers as int, also within lists and dicts: 40.0 and 4e1 are 40."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if isinstance(value, dict):
        return {key: canonical(item) for key, item in value.items()}
    return value


def check_whole(name: str, value: Any) -> None:
    """Raise ValueError unless the value is a whole number of at least 1."""
    if type(value) is not int or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")


def check_seconds(name: str, value: Any) -> None:
    """Raise ValueError unless the value is a positive number or None, which is no limit."""
    if value is not None and (type(value) not in (int, float) or not value > 0):
        raise ValueError(f"{name} must be a positive number of seconds or null, got {value!r}.")


def check_protocol(settings: Mapping[str, Any]) -> None:
    """Raise ValueError unless a protocol can be run with these settings."""
    check_whole("n_repetitions", settings["n_repetitions"])
    if settings["max_rows"] is not None:
        check_whole("max_rows", settings["max_rows"])
    for name in ("source_fraction", "target_fraction"):
        value = settings[name]
        if type(value) not in (int, float) or not 0 < value <= 1:
            raise ValueError(f"{name} must be a number in (0, 1], got {value!r}.")
