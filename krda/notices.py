"""The old name of :mod:`krda.validation` and :mod:`krda.console`."""

from krda.console import printable
from krda.validation import warn_user

__all__ = ["printable", "warn_user"]
