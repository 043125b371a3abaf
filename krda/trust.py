r"""Is a fitted KRDA to be trusted? What can be said without target labels, in numbers.

:func:`assess` asks four questions. Do the densities describe the rows, at least as well as a plain
Gaussian? Does the transport bring the source to the target? How many predictions hang on choices
that mean nothing, the seed and the order of the columns? And do the predictions differ from those
of methods that need no density? Where an answer speaks against the result, it says so, and what
to do.

Nothing here shows that a result is right: whether the classes end up where they belong cannot be
seen in unlabelled rows.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.covariance import LedoitWolf
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from krda.adaptation import Domains, FloatArray, check_same_columns, fit_together, seed_from
from krda.assessment import (
    Assessment,
    ColumnGap,
    DensityCheck,
    RefitCheck,
    TransportCheck,
    objections,
)
from krda.diagnostics import column_distances, energy_distance, unit_scale
from krda.estimator import KRDA, Domain
from krda.extrapolation import describe_far_rows
from krda.inputs import check_labels
from krda.linear_gaussian import LinearGaussianDensity
from krda.training import hold_out

#: The energy distance that is left counts as noise up to this share of what random halves of the
#: target differ by, the halves' sizes allowed for: the usual test at 5 %.
NOISE_QUANTILE = 0.95

#: Rows of each domain that energy distances are computed of at most, drawn at random: their time
#: grows with the square.
MAX_ENERGY_ROWS = 2000

# Random halvings of the target that NOISE_QUANTILE is taken of.
_N_HALVINGS = 400
# Columns that are named in a report.
_N_COLUMNS = 3
# Up to this distance of the likelihood of the held-out rows from that of the training's own
# (float32 there, float64 here), relative to 1 + |likelihood|, the rows are those of the fit.
_SAME_ROWS = 1e-3


def assess(
    model: KRDA,
    Xs: ArrayLike,
    ys: ArrayLike,
    Xt: ArrayLike,
    *,
    n_refits: int = 3,
    random_state: Any = 0,
) -> Assessment:
    """Say what speaks for and against trusting a fitted KRDA; reads no target label.

    Parameters
    ----------
    model : KRDA
        Fitted to the rows given; left as it is.
    Xs : array-like of shape (n_source, d)
    ys : array-like of shape (n_source,)
    Xt : array-like of shape (n_target, d)
    n_refits : int, default=3
        Refits with other seeds, and as many with other column orders (fewer where there are fewer
        orders). What takes the time: each costs as much as the model's own fit. 0 leaves them
        out.
    random_state : int, RandomState or None, default=0
        Decides the refits' seeds and column orders, and the rows that distances are computed of.
        With an integer the outcome is the same again, if the classifier's is.

    Returns
    -------
    assessment : Assessment

    Raises
    ------
    TypeError
        A model that is no KRDA.
    sklearn.exceptions.NotFittedError
        A model that is not fitted.
    ValueError
        Tables or labels that KRDA would not take, other rows than those of the fit, or a number of
        refits that is no integer of at least 0.
    """
    if not isinstance(model, KRDA):
        raise TypeError(f"model must be a fitted krda.KRDA, got {type(model).__name__}.")
    if isinstance(n_refits, bool) or not isinstance(n_refits, numbers.Integral) or n_refits < 0:
        raise ValueError(f"n_refits must be an integer of at least 0, got {n_refits!r}.")
    check_is_fitted(model)
    source = check_same_columns(model, Xs, name="Xs", fitted="Xs", min_rows=2)
    labels, _ = check_labels(ys, source, "ys")
    target = check_same_columns(model, Xt, name="Xt", fitted="Xs", min_rows=2)
    data = Domains(source, labels, target)
    with _silence():
        densities = _check_densities(model, source, target)
    rng = np.random.default_rng(seed_from(random_state))
    # Drawn first, so that one part of the answer does not depend on how much of another is asked.
    order_rng, energy_rng, seed_rng = rng.spawn(3)
    with _silence():
        # As an array whatever the model's set_output: its columns may have no names.
        carried = model._transport(source)
        predicted = model.predict(target)
        seeds = _check_seeds(model, data, predicted, n_refits, seed_rng)
        orders = _check_orders(model, data, predicted, n_refits, order_rng)
        source_only, standardized = _agreements(model, data, predicted)
    transport = _check_transport(model, source, carried, target, energy_rng)
    far_rows = describe_far_rows(carried, model.target_range_, model.column_order_, training=True)
    sentences = [
        *objections(densities, transport, seeds, orders, standardized),
        *([] if far_rows is None else [far_rows]),
        *_class_warnings(model, predicted),
    ]
    return Assessment(
        len(source),
        len(target),
        densities,
        transport,
        seeds,
        orders,
        source_only,
        standardized,
        tuple(sentences),
    )


@contextmanager
def _silence() -> Iterator[None]:
    """Keep warnings of refits to ourselves: the model's own fit gave them, or they are counted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _check_densities(
    model: KRDA, source: FloatArray, target: FloatArray
) -> tuple[DensityCheck, DensityCheck]:
    # Training draws the held-out rows of one domain after another from this generator.
    generator = torch.Generator().manual_seed(model.seed_)
    first = _check_density(model, "source", source, generator)
    return first, _check_density(model, "target", target, generator)


def _check_density(
    model: KRDA, domain: Domain, X: FloatArray, generator: torch.Generator
) -> DensityCheck:
    columns, density = model.column_maps_[domain], model.densities_[domain]
    rows = X[:, model.column_order_]
    # Both densities are compared where the model's is fitted: columns at unit scale, atoms spread.
    Z = torch.from_numpy(columns.forward(rows, model.seed_))
    volume = float(columns.log_volume(rows).mean())
    train, held_out = hold_out(len(Z), model.validation_fraction, generator)
    with torch.no_grad():
        ours = -density.log_prob(Z[held_out]).numpy()
        theirs = -_gaussian(Z[train].numpy(), model.sigma_floor).log_prob(Z[held_out]).numpy()
    nll = model.held_out_nll_[domain]
    if not abs(ours.mean() - volume - nll) <= _SAME_ROWS * (1 + abs(nll)):
        raise ValueError(
            f"The {domain} rows are not those that the model was fitted to, in their order: its "
            f"held-out rows had a negative log-likelihood of {nll:.4f}, these have "
            f"{ours.mean() - volume:.4f}. Pass the tables of the fit, or fit again."
        )
    difference = ours - theirs
    n = len(difference)
    error = float(difference.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return DensityCheck(
        domain, n, nll, float(theirs.mean() - volume), float(difference.mean()), error
    )


def _gaussian(Z: FloatArray, sigma_floor: float) -> LinearGaussianDensity:
    """Fit a Gaussian without anything to tune, with the floor that KRDA's conditionals have.

    The covariance is shrunk after Ledoit and Wolf (2004), since there may be fewer rows than
    columns. Columns that follow from others have no density without the floor.
    """
    estimate = LedoitWolf().fit(Z)
    floor = max(sigma_floor, 1e-6) ** 2 * np.eye(Z.shape[1])
    return LinearGaussianDensity(
        torch.from_numpy(estimate.location_), torch.from_numpy(estimate.covariance_ + floor)
    )


def _check_transport(
    model: KRDA,
    source: FloatArray,
    carried: FloatArray,
    target: FloatArray,
    rng: np.random.Generator,
) -> TransportCheck:
    used = model.column_order_  # the others are constants
    all_before, all_after, all_of_target = source[:, used], carried[:, used], target[:, used]
    chosen, X_t = _some(len(source), rng), all_of_target[_some(len(target), rng)]
    before, after = all_before[chosen], all_after[chosen]
    standardized = StandardScaler().fit_transform(all_before)[chosen]
    naive = StandardScaler().fit(all_of_target).inverse_transform(standardized)
    gaps = [column_distances(X, all_of_target).kolmogorov_smirnov for X in (all_before, all_after)]
    worst = np.argsort(-gaps[1], kind="stable")[:_N_COLUMNS]
    names = _column_names(model)
    # Kolmogorov's limit, P(sup > c sqrt(1/n + 1/m)) < 2 exp(-2 c^2), for each of the columns.
    c = math.sqrt(math.log(2 * len(used) / 0.05) / 2)
    return TransportCheck(
        before=energy_distance(before, X_t),
        after=energy_distance(after, X_t),
        standardized=energy_distance(naive, X_t),
        noise=_energy_noise(X_t, len(chosen), rng),
        columns=tuple(
            ColumnGap(names[used[j]], float(gaps[0][j]), float(gaps[1][j])) for j in worst
        ),
        column_noise=min(c * math.sqrt(1 / len(source) + 1 / len(target)), 1.0),
    )


def _some(n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw numbers of rows, at most MAX_ENERGY_ROWS of them."""
    return np.sort(rng.permutation(n)[:MAX_ENERGY_ROWS])


def _energy_noise(Xt: FloatArray, n: int, rng: np.random.Generator) -> float:
    """What samples of n and len(Xt) rows of the target's distribution would differ by.

    Under equal distributions nm / (n + m) times the energy distance has a limit law whatever the
    sizes (Szekely and Rizzo 2004), so that halves of a sample tell of other sizes.
    """
    m = len(Xt)
    half = m // 2
    if half < 2:
        return math.nan
    # All halvings at once from one matrix of distances: column k of `chosen` marks a half's rows.
    unit = Xt / unit_scale(Xt)
    distances = cdist(unit, unit)
    chosen = np.zeros((m, _N_HALVINGS))
    for k in range(_N_HALVINGS):
        chosen[rng.permutation(m)[:half], k] = 1.0
    rest = 1.0 - chosen
    to_chosen, to_rest = distances @ chosen, distances @ rest
    between = (to_chosen * rest).sum(0) / (half * (m - half))
    within = (to_chosen * chosen).sum(0) / (half * (half - 1))
    within_rest = (to_rest * rest).sum(0) / ((m - half) * (m - half - 1))
    scale = (1 / n + 1 / m) / (1 / half + 1 / (m - half))
    return float(np.quantile(2 * between - within - within_rest, NOISE_QUANTILE) * scale)


def _column_names(model: KRDA) -> list[str]:
    names = getattr(model, "feature_names_in_", getattr(model, "_columns_", None))
    if names is None:
        return [f"column {j}" for j in range(model.n_features_in_)]
    return [str(name) for name in names]


def _variant(model: KRDA, **changes: Any) -> KRDA:
    """Make an unfitted model with the same classifier: fitting clones it."""
    return type(model)(**(model.get_params(deep=False) | changes))


def _check_seeds(
    model: KRDA,
    data: Domains,
    predicted: NDArray[Any],
    n_refits: int,
    rng: np.random.Generator,
) -> RefitCheck:
    drawn = rng.choice(2**31 - 1, size=n_refits + 1, replace=False).tolist()
    seeds = [seed for seed in drawn if seed != model.seed_][:n_refits]
    # The order is that of the model even where it was drawn: one choice at a time.
    order = _whole_order(model, model.column_order_)
    return _refit(
        [_variant(model, random_state=s, column_order=order) for s in seeds], data, predicted
    )


def _check_orders(
    model: KRDA,
    data: Domains,
    predicted: NDArray[Any],
    n_refits: int,
    rng: np.random.Generator,
) -> RefitCheck:
    own = model.column_order_
    others: list[NDArray[np.intp]] = []
    seen = {tuple(own)}
    proposed = own[::-1]
    # Orders of so few columns may all be seen already; of four or more there is no lack.
    wanted = min(n_refits, math.factorial(min(len(own), 20)) - 1)
    while len(others) < wanted:
        if tuple(proposed) not in seen:
            seen.add(tuple(proposed))
            others.append(_whole_order(model, proposed))
        proposed = rng.permutation(own)
    changed = [_variant(model, random_state=model.seed_, column_order=order) for order in others]
    checks = [_refit([one], data, predicted) for one in changed]
    return RefitCheck(
        tuple(share for check in checks for share in check.disagreement),
        tuple(failure for check in checks for failure in check.failures),
    )


def _whole_order(model: KRDA, carried: NDArray[np.intp]) -> NDArray[np.intp]:
    """Order of all columns in which those that are carried come as given."""
    return np.concatenate([carried, model.constant_columns_])


def _refit(models: Sequence[KRDA], data: Domains, predicted: NDArray[Any]) -> RefitCheck:
    """Fit models that differ in their seed alone, and compare their predictions."""
    if not models:
        return RefitCheck(())
    errors = fit_together(models, [data] * len(models))
    fitted = [m for m, error in zip(models, errors, strict=True) if error is None]
    return RefitCheck(
        tuple(float(np.mean(m.predict(data.Xt) != predicted)) for m in fitted),
        tuple(f"{type(error).__name__}: {error}" for error in errors if error is not None),
    )


def _agreements(model: KRDA, data: Domains, predicted: NDArray[Any]) -> tuple[float, float]:
    """Compare with the classifier on the source as it is, and on standardised domains."""
    Xs, ys, Xt = data
    shares = []
    for train, rows in ((Xs, Xt), tuple(StandardScaler().fit_transform(X) for X in (Xs, Xt))):
        other = model._new_classifier().fit(train, ys).predict(rows)
        shares.append(float(np.mean(other == predicted)))
    return shares[0], shares[1]


def _class_warnings(model: KRDA, predicted: NDArray[Any]) -> Iterator[str]:
    missing = [str(label) for label in model.classes_ if not np.any(predicted == label)]
    if missing:
        yield (
            f"No target row is predicted to be {' or '.join(missing)}. If the target has such "
            "rows, the classes were not kept apart: look at the classifier and its settings first."
        )
