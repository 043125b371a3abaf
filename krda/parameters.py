"""The old name of :mod:`krda.validation`."""

from krda.validation import find_device, require_integer, require_number, require_truth

__all__ = ["find_device", "require_integer", "require_number", "require_truth"]
