"""Can a fitted KRDA be trusted? What can be said without target labels.

:func:`assess` asks four questions. Do the densities describe the rows, at least as well as a plain
Gaussian? Does the transport bring the source to the target? How many predictions depend on choices
without meaning, the seed and the order of the columns? And do the predictions differ from those of
methods that need no density?

The first two are asked of rows that a fit has not seen: both tables are split into fifths at
random, and KRDA is fitted without one of them and judged by it, in turn, several times over.

Nothing here shows that a result is right: whether the classes end up where they belong cannot be
seen in unlabelled rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.covariance import LedoitWolf
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from krda.base import Domains, fit_together
from krda.density.gaussian import LinearGaussianDensity
from krda.diagnostics import column_distances, energy_distance, unit_scale
from krda.estimator import KRDA
from krda.extrapolation import describe_far_rows
from krda.parameters import DOMAINS, Domain
from krda.scikit import checksum, seed_from
from krda.trust.report import Assessment
from krda.trust.statistics import (
    MIN_ROWS,
    N_PARTS,
    DensityCheck,
    RefitCheck,
    TransportCheck,
    mean_interval,
)
from krda.validation import FloatArray, check_labels, check_same_columns, require_integer

#: A distance counts as noise up to what it stays below in this share of cases without a difference.
NOISE_QUANTILE = 0.95

#: Rows of each table that fits are judged by at most, drawn at random: the time of energy distances
#: grows with the square.
MAX_JUDGED_ROWS = 2000

_N_DRAWS = 400  # of the target's rows, for NOISE_QUANTILE
_N_COLUMNS = 3  # that a report names


def assess(
    model: KRDA,
    Xs: ArrayLike,
    ys: ArrayLike,
    Xt: ArrayLike,
    *,
    n_refits: int = 3,
    random_state: Any = 0,
) -> Assessment:
    """Say what speaks for and against trusting a fitted KRDA; no target label is read.

    Parameters
    ----------
    model : KRDA
        Fitted to these rows; unchanged.
    Xs : array-like of shape (n_source, d)
    ys : array-like of shape (n_source,)
    Xt : array-like of shape (n_target, d)
    n_refits : int, default=3
        Refits with other seeds, as many with other column orders (fewer if there are fewer orders),
        and as many random splits of both tables, with five fits each. Each fit takes up to as long
        as the model's own. With 0 nothing is said of the densities and the transport.
    random_state : int, RandomState or None, default=0
        Decides the refits' seeds and column orders, and the splits. With an integer the outcome is
        the same again, if the classifier's is.

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
        Invalid tables, labels or ``n_refits``, or other rows than those of the fit.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Xs, Xt = rng.normal(size=(2, 60, 2))
    >>> ys = Xs[:, 0] > 0
    >>> found = assess(KRDA(max_steps=20, random_state=0).fit(Xs, ys, Xt), Xs, ys, Xt, n_refits=1)
    >>> found.transport.n_fits
    5
    """
    if not isinstance(model, KRDA):
        raise TypeError(f"model must be a fitted krda.KRDA, got {type(model).__name__}.")
    require_integer("n_refits", n_refits, 0)
    check_is_fitted(model)
    source = check_same_columns(model, Xs, name="Xs", fitted="Xs", min_rows=2)
    labels, _ = check_labels(ys, source, "ys")
    target = check_same_columns(model, Xt, name="Xt", fitted="Xs", min_rows=2)
    data = Domains(source, labels, target)
    for domain, X, known in zip(DOMAINS, (source, target), model._checksums_, strict=True):
        if checksum(X) != known:
            raise ValueError(
                f"The {domain} rows are not those that the model was fitted to, in their order. "
                "Pass the tables of the fit, or fit again."
            )
    # One part of the answer does not depend on how much of another is asked.
    order_rng, split_rng, seed_rng = np.random.default_rng(seed_from(random_state)).spawn(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model's own fit gave them, or they are counted here
        predicted = model.predict(target)
        transported = model._transport(source)
        drawn = seed_rng.choice(2**31 - 1, size=n_refits + 1, replace=False).tolist()
        others = [_variant(model, seed, model.column_order_) for seed in drawn[:n_refits]]
        seeds = _compare(data, predicted, others)
        others = _other_orders(model, n_refits, order_rng)
        orders = _compare(data, predicted, *([other] for other in others))
        densities, transport = _check_left_out(model, source, target, n_refits, split_rng)
        source_only = model._new_classifier().fit(source, labels).predict(target)
        scaled = [StandardScaler().fit_transform(X) for X in (source, target)]
        standardized = model._new_classifier().fit(scaled[0], labels).predict(scaled[1])
    far_rows = describe_far_rows(
        transported,
        model.ranges_["target"],
        model.column_order_,
        training=True,
        names=model.map_.names(np.arange(model.n_features_in_)),
    )
    labelled = {"source": labels, "krda": predicted,
                "source_only": source_only, "standardized": standardized}  # fmt: skip
    return Assessment(
        n_source=len(source),
        n_target=len(target),
        densities=densities,
        transport=transport,
        seeds=seeds,
        orders=orders,
        agreement_source_only=float(np.mean(source_only == predicted)),
        agreement_standardized=float(np.mean(standardized == predicted)),
        classes={
            str(label): {name: float(np.mean(y == label)) for name, y in labelled.items()}
            for label in model.classes_
        },
        source_only=tuple(source_only.tolist()),
        standardized=tuple(standardized.tolist()),
        far_rows=far_rows or "",
    )


# Refits


def _variant(model: KRDA, seed: int, used: NDArray[np.intp], **changes: Any) -> KRDA:
    """Make an unfitted model with another seed and order of the columns that are transported."""
    order = np.concatenate([used, model.constant_columns_])
    changes |= {"random_state": seed, "column_order": order}
    return type(model)(**(model.get_params(deep=False) | changes))


def _other_orders(model: KRDA, n: int, rng: np.random.Generator) -> list[KRDA]:
    """Make models with the columns reversed, then in random orders, all different."""
    own = model.column_order_
    orders, proposed = {tuple(own): own}, own[::-1]
    while len(orders) < 1 + min(n, math.factorial(min(len(own), 20)) - 1):
        orders.setdefault(tuple(proposed), proposed)
        proposed = rng.permutation(own)
    return [_variant(model, model.seed_, order) for order in list(orders.values())[1:]]


def _compare(data: Domains, predicted: NDArray[Any], *groups: Sequence[KRDA]) -> RefitCheck:
    """Fit the models of each group together, and compare their predictions."""
    same, failures = [], []
    for models in groups:
        for model, error in zip(models, fit_together(models, [data] * len(models)), strict=True):
            if error is None:
                same.append(model.predict(data.Xt) == predicted)
            else:
                failures.append(_describe(error))
    return RefitCheck(
        tuple(float(np.mean(~rows)) for rows in same),
        tuple(failures),
        tuple(np.mean(same, axis=0).tolist()) if same else (),
    )


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# Rows left out


class _Fold(NamedTuple):
    """A part of a table that a fit does not see, and the other rows."""

    seen: FloatArray
    judged: FloatArray  # rows of the part that the fit is judged by
    numbers: NDArray[np.intp]  # of these rows in the table


def _folds(
    X: FloatArray, order: NDArray[np.intp], n_splits: int, rng: np.random.Generator
) -> Iterator[list[_Fold]]:
    """Split a table at random into N_PARTS equal parts, several times.

    Of large tables, fits are judged by the same rows in all splits: the first of ``order``.
    """
    judges = np.isin(np.arange(len(X)), order[:MAX_JUDGED_ROWS])
    for _ in range(n_splits):
        part_of = np.full(len(X), -1)
        for rows in (order[:MAX_JUDGED_ROWS], order[MAX_JUDGED_ROWS:]):
            size = len(rows) // N_PARTS
            part_of[rng.permutation(rows)[: N_PARTS * size]] = np.repeat(np.arange(N_PARTS), size)
        numbers = [np.flatnonzero((part_of == part) & judges) for part in range(N_PARTS)]
        yield [_Fold(X[part_of != part], X[rows], rows) for part, rows in enumerate(numbers)]


class _Judgement(NamedTuple):
    """What the rows that a fit has not seen say of it."""

    distances: FloatArray  # energy distances before, after, standardised
    gaps: FloatArray  # Kolmogorov-Smirnov distances of columns before and after, (2, d)
    nll: list[FloatArray]  # of source and target rows, by KRDA's density and a Gaussian, (2, n)
    numbers: list[NDArray[np.intp]]  # of these rows


def _check_left_out(
    model: KRDA, source: FloatArray, target: FloatArray, n_splits: int, rng: np.random.Generator
) -> tuple[tuple[DensityCheck, DensityCheck], TransportCheck]:
    """Judge fits by the parts of both tables that they did not see."""
    nothing = DensityCheck("source"), DensityCheck("target")
    if n_splits == 0 or min(len(source), len(target)) < MIN_ROWS:
        return nothing, TransportCheck()
    *split_rngs, seed_rng, noise_rng = rng.spawn(4)
    # In one layout, whatever the tables': sums depend on it in the last digits.
    tables = [np.ascontiguousarray(X) for X in (source, target)]
    orders = [r.permutation(len(X)) for X, r in zip(tables, split_rngs, strict=True)]
    splits = [_folds(X, order, n_splits, r)
              for X, order, r in zip(tables, orders, split_rngs, strict=True)]  # fmt: skip
    seeds = seed_rng.choice(2**31 - 1, size=(n_splits, N_PARTS), replace=False).tolist()
    used = model.column_order_  # the other columns are constant
    goal = tables[1][np.sort(orders[1][:MAX_JUDGED_ROWS])]
    unit = unit_scale(goal)[used]
    found: list[_Judgement] = []
    failures: list[str] = []
    for own_seeds, *both in zip(seeds, *splits, strict=True):
        folds = list(zip(*both, strict=True))
        # No label takes part in a transport, and none is needed: a part may hold one class only.
        fits = [_variant(model, seed, used, classifier=DummyClassifier()) for seed in own_seeds]
        domains = [Domains(s.seen, np.arange(len(s.seen)) % 2, t.seen) for s, t in folds]
        errors = [error for error in fit_together(fits, domains) if error is not None]
        failures += map(_describe, errors)
        if not errors:
            try:
                pairs = zip(fits, folds, strict=True)
                found += [_judge(fit, s, t, unit) for fit, (s, t) in pairs]
            except ArithmeticError as error:  # a row that is transported nowhere
                failures.append(_describe(error))
    if not found:
        return nothing, TransportCheck(failures=tuple(failures))
    before, after, standardized = np.array([fit.distances for fit in found]).T
    names = [f"column {x}" if isinstance(x, int) else str(x) for x in model.map_.names(used)]
    gaps = zip(names, *np.mean([fit.gaps for fit in found], axis=0).tolist(), strict=True)
    furthest = sorted(gaps, key=lambda gap: -gap[2])[:_N_COLUMNS]
    n, m = map(len, found[0].numbers)
    # Kolmogorov's limit, P(sup > c sqrt(1/n + 1/m)) < 2 exp(-2 c^2), for each of the columns.
    c = math.sqrt(math.log(2 * len(used) / 0.05) / 2)
    transport = TransportCheck(
        before=float(before.mean()),
        after=float(after.mean()),
        standardized=float(standardized.mean()),
        change=mean_interval(after - before),
        lead=mean_interval(standardized - after),
        noise=_energy_noise(goal[:, used] / unit, n, m, len(found) // N_PARTS, noise_rng),
        columns={name: (before, after) for name, before, after in furthest},
        column_noise=min(c * math.sqrt(1 / n + 1 / m), 1.0),
        n_fits=len(found),
        failures=tuple(failures),
    )
    return (_check_density("source", found), _check_density("target", found)), transport


def _judge(fit: KRDA, source: _Fold, target: _Fold, unit: FloatArray) -> _Judgement:
    """Judge a fit by the parts that it did not see; ``unit`` is of the transported columns."""
    used = fit.column_order_
    scalers = [StandardScaler().fit(fold.seen) for fold in (source, target)]
    standardized = scalers[1].inverse_transform(scalers[0].transform(source.judged))
    goal = target.judged[:, used]
    candidates = [X[:, used] for X in (source.judged, fit._transport(source.judged), standardized)]
    return _Judgement(
        np.array([energy_distance(X / unit, goal / unit, unit=1.0) for X in candidates]),
        np.array([column_distances(X, goal) for X in candidates[:2]]),
        [_likelihoods(fit, "source", source), _likelihoods(fit, "target", target)],
        [source.numbers, target.numbers],
    )


def _likelihoods(fit: KRDA, domain: Domain, fold: _Fold) -> FloatArray:
    """Give negative log-likelihoods of rows under KRDA's density and a Gaussian, (2, n).

    The Gaussian has nothing to tune. It is fitted where KRDA's density is, with columns at unit
    scale and atoms spread, and has the floor of KRDA's conditionals, without which columns that
    follow from others have no density. Its covariance is shrunk after Ledoit and Wolf (2004), since
    there may be fewer rows than columns.
    """
    columns = fit.column_maps_[domain]
    seen, judged = fold.seen[:, fit.column_order_], fold.judged[:, fit.column_order_]
    Z = torch.from_numpy(columns.forward(judged, fit.seed_))
    estimate = LedoitWolf().fit(columns.forward(seen, fit.seed_))
    floor = max(fit.sigma_floor, 1e-6) ** 2 * np.eye(Z.shape[1])
    gaussian = LinearGaussianDensity(
        torch.from_numpy(estimate.location_), torch.from_numpy(estimate.covariance_ + floor)
    )
    with torch.no_grad():
        mapped = [density.log_prob(Z).numpy() for density in (fit.densities_[domain], gaussian)]
    return -np.array(mapped) - columns.log_volume(judged)


def _check_density(domain: Domain, found: Sequence[_Judgement]) -> DensityCheck:
    i = DOMAINS.index(domain)
    # One number a row: what several fits say of the same row is no further evidence.
    rows = np.concatenate([fit.numbers[i] for fit in found])
    differences = np.concatenate([fit.nll[i][0] - fit.nll[i][1] for fit in found])
    count = np.bincount(rows)
    excess = np.bincount(rows, differences)[count > 0] / count[count > 0]
    nll, gaussian_nll = np.mean([fit.nll[i].mean(axis=1) for fit in found], axis=0).tolist()
    error = float(excess.std(ddof=1) / math.sqrt(len(excess)))
    return DensityCheck(domain, len(excess), nll, gaussian_nll, float(excess.mean()), error)


def _energy_noise(Y: FloatArray, n: int, m: int, n_splits: int, rng: np.random.Generator) -> float:
    """Give what the mean energy distance of parts of n and m rows stays below without a difference.

    Random halves of the target rows Y play source and target, and are split ``n_splits`` times and
    compared as the tables are: so the mean varies as theirs does, whose splits overlap. Under equal
    distributions nm / (n + m) times the energy distance has a limit law whatever the sizes (Szekely
    and Rizzo 2004), so that few rows are enough to know other sizes.
    """
    size = len(Y) // (2 * N_PARTS)
    # All draws at once from one matrix of distances: a column of `sides` holds the rows of a draw.
    distances = cdist(Y, Y)
    orders = np.argsort(rng.random((len(Y), _N_DRAWS)), axis=0)
    sides = np.split(orders[: 2 * N_PARTS * size], 2)
    total = np.zeros(_N_DRAWS)
    for _ in range(n_splits):
        parts = [np.split(rng.permuted(side, axis=0), N_PARTS) for side in sides]
        for pair in zip(*parts, strict=True):
            first, second = np.zeros((2, len(Y), _N_DRAWS))  # marks of the rows of each draw
            np.put_along_axis(first, pair[0], 1.0, axis=0)
            np.put_along_axis(second, pair[1], 1.0, axis=0)
            to_first, to_second = distances @ first, distances @ second
            within = (to_first * first).sum(0) + (to_second * second).sum(0)
            between = (to_first * second).sum(0)
            total += 2 * between / size**2 - within / (size * (size - 1))
    scale = (1 / n + 1 / m) / (2 / size)
    return float(np.quantile(total / (N_PARTS * n_splits), NOISE_QUANTILE) * scale)
