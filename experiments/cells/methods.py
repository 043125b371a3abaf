"""How a method is made from its config: with which arguments, and with which seed.

A change here can change every number, so this module counts in every cell's fingerprint.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hydra.utils import instantiate

if TYPE_CHECKING:
    from experiments.cells.protocol import Method


def make_method(config: Mapping[str, Any], seed: int) -> Method:
    """Make an unfitted method of its config: a class by name, its arguments, a seed if it has one.

    ``name``, the config's own name, is no argument.
    """
    arguments = {key: value for key, value in config.items() if key != "name"}
    module, _, name = arguments["_target_"].rpartition(".")
    if takes_random_state(getattr(importlib.import_module(module), name)):
        arguments["random_state"] = seed
    method: Method = instantiate(arguments, _convert_="all")
    return method


def takes_random_state(target: Callable[..., Any]) -> bool:
    """Whether a method's constructor has a ``random_state``."""
    return "random_state" in inspect.signature(target).parameters
