"""The parameters of the Knothe-Rosenblatt map, which KRDA has in common with it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from sklearn.base import BaseEstimator

from krda.density.mixture import QuantileMethod
from krda.density.options import TrainingOptions
from krda.density.processor import find_device
from krda.preprocessing import ColumnOrder, Scaling
from krda.validation import require_integer, require_number, require_truth

Domain = Literal["source", "target"]

DOMAINS: tuple[Domain, Domain] = ("source", "target")


@dataclass(eq=False, repr=False)
class MapParameters(BaseEstimator):
    """The parameters of the map, described at :class:`krda.KnotheRosenblatt`."""

    n_components: int = 5
    hidden_size: int = 50
    _: KW_ONLY
    column_order: ColumnOrder = "given"
    scaling: Scaling = "domain"
    spread_atoms: bool = True
    learning_rate: float = 1e-2
    max_steps: int = 1000
    batch_size: int | None = 128
    validation_fraction: float = 0.1
    patience: int = 250
    sigma_floor: float = 0.01
    eps: float = 1e-8
    quantile_method: QuantileMethod = "newton"
    device: str = "cpu"
    random_state: Any = None

    def training_options(self) -> TrainingOptions:
        """Give the parameters of the training; raise ValueError for those that cannot work."""
        names = ("learning_rate", "max_steps", "batch_size", "validation_fraction", "patience")
        return TrainingOptions(**{name: getattr(self, name) for name in names})

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot work before any long work starts."""
        require_integer("n_components", self.n_components, 1)
        require_integer("hidden_size", self.hidden_size, 1)
        require_truth("spread_atoms", self.spread_atoms)
        require_number("sigma_floor", self.sigma_floor, positive=False)
        require_number("eps", self.eps, positive=True)
        if not 0.5 < 1.0 - self.eps < 1.0:
            raise ValueError(
                "eps must lie below 0.5, and above 1e-16, so that 1 - eps is below 1 in double "
                f"precision; got {self.eps!r}."
            )
        if self.quantile_method not in ("newton", "bisection"):
            raise ValueError(
                f"quantile_method must be 'newton' or 'bisection', got {self.quantile_method!r}."
            )
        self.training_options()
        find_device(self.device)
