"""What torch computes on, and how a processor treats denormal numbers (below 1e-38 in float32)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def find_device(name: str) -> torch.device:
    """Give the device of a name such as ``cpu`` or ``cuda:1``; raise ValueError without one."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError, ImportError) as error:
        raise ValueError(f"device={name!r} cannot be used here ({error}). Use 'cpu'.") from error
    return device


@contextmanager
def denormals_as_zero() -> Iterator[None]:
    """Count denormal numbers as 0 in this thread, if the processor can.

    Processors are many times slower with them, and training meets them: the shares of components
    far from a row, and Adam's running mean of the gradient of a unit that relu has switched off,
    which shrinks by 0.9 a step. Nothing that small moves a weight.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
