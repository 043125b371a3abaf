"""Checks of parameters, worded alike for all methods: they come before any long work."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import torch


def require_integer(name: str, value: Any, least: int) -> None:
    """Raise unless a parameter is an integer of at least some size.

    Parameters
    ----------
    name : str
        As the user knows it.
    value : object
    least : int

    Raises
    ------
    ValueError
        It is not; truth values are no integers.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")


def require_truth(name: str, value: Any) -> None:
    """Raise unless a parameter is True or False.

    Parameters
    ----------
    name : str
        As the user knows it.
    value : object

    Raises
    ------
    ValueError
        It is neither.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def require_number(name: str, value: Any, *, positive: bool) -> None:
    """Raise unless a parameter is finite and positive, or at least not negative.

    Parameters
    ----------
    name : str
        As the user knows it.
    value : object
    positive : bool
        Whether zero is refused, too.

    Raises
    ------
    ValueError
        It is not; truth values are no numbers.
    """
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0 or (positive and value == 0):
        kind = "a positive" if positive else "zero or a positive"
        raise ValueError(f"{name} must be {kind} finite number, got {value!r}.")


def find_device(name: str) -> torch.device:
    """Give the device of a name, or raise.

    Parameters
    ----------
    name : str
        ``cpu``, ``cuda``, ``cuda:1``, ...

    Returns
    -------
    device : torch.device

    Raises
    ------
    ValueError
        No such device here.
    """
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError, ImportError) as error:
        raise ValueError(f"device={name!r} cannot be used here ({error}). Use 'cpu'.") from error
    return device
