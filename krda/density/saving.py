"""Objects that hold tensors while they are used, and arrays when they are saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


class SavedAsArrays:
    """Gives tensors as arrays to pickle, copy and skops, which cannot hold a tensor."""

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value.numpy() if isinstance(value, torch.Tensor) else value
            for name, value in vars(self).items()
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            array = isinstance(value, np.ndarray)
            # A frozen dataclass cannot be assigned to.
            object.__setattr__(self, name, torch.from_numpy(value) if array else value)
