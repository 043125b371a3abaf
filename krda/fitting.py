"""Fitting a Knothe-Rosenblatt map to two tables: columns, densities, and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from krda.density import training
from krda.density.mixture import QuantileMethod
from krda.density.processor import find_device
from krda.density.rnade import RNADE
from krda.density.training import TrainingHistory, TrainingOptions, raise_if_diverged
from krda.extrapolation import column_ranges, describe_far_rows
from krda.preprocessing import (
    ColumnMap,
    ColumnOrder,
    Scaling,
    column_maps,
    constant_columns,
    resolve_column_order,
    squeezed_columns,
)
from krda.scikit import seed_from
from krda.validation import FloatArray, require_integer, require_number, require_truth, warn_user

Domain = Literal["source", "target"]

DOMAINS: tuple[Domain, Domain] = ("source", "target")
_Tensors = list[torch.Tensor]


def _cell_centres(columns: ColumnMap, i: int, z: torch.Tensor) -> torch.Tensor:
    """What the conditionals of a density are given of coordinate i: its cells' centres."""
    return torch.from_numpy(columns.centres(i, z.numpy()))


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


class MapFit(MapParameters):
    """What fits :class:`krda.KnotheRosenblatt`, whose docstring has the attributes."""

    def _prepare(self, Xs: FloatArray, Xt: FloatArray) -> tuple[RNADE, _Tensors, _Tensors]:
        """Set the attributes that say how columns are mapped; give what a training needs.

        That is the untrained network, the mapped rows of each domain, and those rows as the
        conditionals are given them.
        """
        self._check_parameters()
        self.seed_ = seed = seed_from(self.random_state)
        constant = constant_columns(Xs) | constant_columns(Xt)
        if constant.all():
            raise ValueError(
                "Every column is constant in the source or in the target; there is no "
                "distribution to transport. Check that the tables hold features."
            )
        if constant.any():
            warn_user(
                f"Columns {self.names(np.flatnonzero(constant))} are constant in the source or in "
                "the target: they take no part in the adaptation and are set to the target's mean."
            )
        order = resolve_column_order(self.column_order, Xs.shape[1], seed)
        self.column_order_ = order = order[~constant[order]]
        self.constant_columns_ = np.flatnonzero(constant)
        self.means_ = {"source": Xs.mean(axis=0), "target": Xt.mean(axis=0)}
        self.ranges_ = {"source": column_ranges(Xs), "target": column_ranges(Xt)}
        source, target = _in_order(Xs, order), _in_order(Xt, order)
        maps = column_maps(source, target, self.scaling, seed, spread=self.spread_atoms)
        self.column_maps_ = dict(zip(DOMAINS, maps, strict=True))
        rows, given = [], []
        for domain, columns, X in zip(DOMAINS, maps, (Xs, Xt), strict=True):
            tables = np.empty((1 + columns.has_atoms, len(X), len(order)), np.float32)
            for block, Z in columns.forward_blocks(X, order, seed):
                tables[0, block] = Z
                if columns.has_atoms:
                    tables[1, block] = columns.all_centres(Z)
            squeezed = order[squeezed_columns(tables[0], self.sigma_floor)]
            if len(squeezed):
                warn_user(
                    f"Columns {self.names(squeezed)} of the {domain} have outliers so far out that "
                    "the other rows lie within a few times sigma_floor of each other, too close "
                    "for the density to tell apart. Clip the outliers or take a logarithm first."
                )
            tensors = [torch.from_numpy(table).to(self.device) for table in tables]
            rows.append(tensors[0])
            given.append(tensors[-1])
        sizes = {"n_components": self.n_components, "hidden_size": self.hidden_size}
        model = RNADE(len(order), **sizes, sigma_floor=self.sigma_floor, seed=seed)
        return model.to(self.device), rows, given

    def fit_rows(self, Xs: FloatArray, Xt: FloatArray) -> None:
        """Fit to checked rows."""
        (error,) = fit_maps([self], [(Xs, Xt)])
        if error is not None:
            raise error

    def _finish(
        self, model: RNADE, history: TrainingHistory, Xs: FloatArray, Xt: FloatArray
    ) -> None:
        """Set the attributes that hold the trained densities."""
        self.history_ = history
        raise_if_diverged(history)
        best = history.steps.tolist().index(history.best_step)
        self.densities_, self.held_out_nll_ = {}, {}
        for i, (domain, X) in enumerate(zip(DOMAINS, (Xs, Xt), strict=True)):
            columns = self.column_maps_[domain]
            self.densities_[domain] = model.density(
                i, quantile_method=self.quantile_method, given=partial(_cell_centres, columns)
            )
            log_volume = columns.log_volume(_in_order(X, self.column_order_)).mean()
            self.held_out_nll_[domain] = float(history.held_out_nll[best, i] - log_volume)

    def warn_of_far_rows(self, mapped: FloatArray, goal: Domain, *, training: bool) -> None:
        """Warn of rows mapped to the goal that are far outside its rows of the fit."""
        names = self.names(np.arange(mapped.shape[1]))
        message = describe_far_rows(
            mapped, self.ranges_[goal], self.column_order_, training=training, names=names
        )
        if message is not None:
            warn_user(message)

    def names(self, columns: NDArray[np.intp]) -> list[Any]:
        """What columns are called in messages: their names, or their numbers without names."""
        names = getattr(self, "feature_names_in_", getattr(self, "_columns_", None))
        return [j if names is None else names[j] for j in columns.tolist()]

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


def _in_order(X: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """Give some columns of a table; the table itself if these are all, as they are."""
    return X if np.array_equal(order, np.arange(X.shape[1])) else X[:, order]


def fit_maps(
    maps: Sequence[MapFit], domains: Sequence[tuple[FloatArray, FloatArray]]
) -> list[Exception | None]:
    """Fit maps with the same training options to checked rows; give what each raised."""
    errors: list[Exception | None] = [None] * len(maps)
    prepared = {}
    for i, (one, tables) in enumerate(zip(maps, domains, strict=True)):
        try:
            prepared[i] = one._prepare(*tables)
        except Exception as error:
            errors[i] = error
    if not prepared:
        return errors
    models, rows, given = zip(*prepared.values(), strict=True)
    histories = training.fit_all(models, rows, maps[0].training_options(), given)
    for i, model, history in zip(prepared, models, histories, strict=True):
        try:
            maps[i]._finish(model, history, *domains[i])
        except Exception as error:
            errors[i] = error
    return errors
