"""The one switch between the plain code and its accelerators (:mod:`krda._fast`).

A plain function marked :func:`accelerated` is the definition of what is computed. A fast function
of the same signature registers with :func:`accelerates` and is called in its place. It returns
``NotImplemented`` for arguments that it leaves to the plain one, wrong arguments among them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_REGISTERED: dict[str, Callable[..., Any]] = {}


def fast_functions() -> dict[str, Callable[..., Any]]:
    """Give the fast functions in use, by the module and the name of the plain ones.

    The accelerators, which take long to load, are loaded when they are first asked for.
    """
    import_module("krda._fast")
    return _REGISTERED


def _name(plain: Callable[..., Any]) -> str:
    return f"{plain.__module__}.{plain.__qualname__}"


def accelerated(plain: _Function) -> _Function:
    """Mark a plain function, which a fast one may replace; it is kept as ``__wrapped__``."""

    @functools.wraps(plain)
    def chosen(*arguments: Any, **options: Any) -> Any:
        fast = fast_functions().get(_name(plain))
        result = NotImplemented if fast is None else fast(*arguments, **options)
        return plain(*arguments, **options) if result is NotImplemented else result

    return chosen  # type: ignore[return-value]


def accelerates(plain: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Mark the fast function that is called in place of a plain one."""

    def register(fast: _Function) -> _Function:
        _REGISTERED[_name(plain)] = fast
        return fast

    return register


@contextmanager
def plain_only() -> Iterator[None]:
    """Run the plain code alone within a block, in all threads of the process."""
    fast = fast_functions()
    kept = dict(fast)
    fast.clear()
    try:
        yield
    finally:
        fast.update(kept)
