"""How RNADE is trained: step sizes, batches, held-out rows, patience."""

from __future__ import annotations

import math
from dataclasses import dataclass

from krda.validation import require_integer, require_number

#: Rows of a domain that are held out at most: enough to rank states of one training; with more,
#: evaluation would dominate a fit.
MAX_HELD_OUT = 2000

#: Steps from one evaluation on the held-out rows to the next.
EVALUATION_INTERVAL = 5


@dataclass(frozen=True)
class TrainingOptions:
    """How RNADE is trained.

    Attributes
    ----------
    learning_rate : float, default=0.01
        First step size of Adam; it decays to zero as a half cosine over ``max_steps``.
    max_steps : int, default=1000
        Upper bound on the number of steps; 0 keeps the initial parameters.
    batch_size : int or None, default=128
        Rows of each domain in a step, at most: a pass over a domain is cut into batches of equal
        size, up to one row. None, or more than a domain has, takes all of them.
    validation_fraction : float, default=0.1
        Share of each domain's rows that is held out, in (0, 1); :data:`MAX_HELD_OUT` rows at most.
    patience : int, default=250
        Steps without a lower held-out NLL after which training stops.

    Raises
    ------
    ValueError
        An option that cannot work; the message names it.

    Examples
    --------
    >>> from krda import TrainingOptions
    >>> TrainingOptions(max_steps=100).batch_size
    128
    """

    learning_rate: float = 1e-2
    max_steps: int = 1000
    batch_size: int | None = 128
    validation_fraction: float = 0.1
    patience: int = 250

    def __post_init__(self) -> None:
        require_number("learning_rate", self.learning_rate, positive=True)
        require_number("validation_fraction", self.validation_fraction, positive=True)
        if self.validation_fraction >= 1:
            raise ValueError(
                "validation_fraction is the held-out share of the rows and must lie strictly "
                f"between 0 and 1, got {self.validation_fraction!r}."
            )
        require_integer("max_steps", self.max_steps, 0)
        require_integer("patience", self.patience, 1)
        if self.batch_size is not None:
            require_integer("batch_size", self.batch_size, 1)

    def learning_rate_at(self, step: int, first: float) -> float:
        """Learning rate of a step (from 0): a half cosine from the first one to zero."""
        return first * (0.5 * (1 + math.cos(math.pi * step / self.max_steps)))

    def evaluates_after(self, n_steps: int) -> bool:
        """Whether the held-out rows are looked at after this number of steps, at least one."""
        return n_steps % EVALUATION_INTERVAL == 0 or n_steps == self.max_steps
