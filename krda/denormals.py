"""How the processor treats denormal numbers, those below 1e-38 in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def denormals_as_zero() -> Iterator[None]:
    """Count denormal numbers as 0 in this thread, and leave the processor as it was.

    Processors are many times slower with them, and training meets them: the shares of components
    far from a row, and Adam's running mean of the gradient of a unit that relu has switched off,
    which shrinks by 0.9 a step. Nothing that small moves a weight.
    """
    smallest = torch.tensor(
        torch.finfo(torch.float32).smallest_normal, dtype=torch.float32, device="cpu"
    )
    already = (smallest * 0.5).item() == 0.0
    # False where the processor has no such mode.
    changed = not already and torch.set_flush_denormal(True)
    try:
        yield
    finally:
        if changed:
            torch.set_flush_denormal(False)
