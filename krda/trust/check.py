"""Is a fitted KRDA to be trusted? What can be said without target labels.

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
from collections.abc import Sequence
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
from krda.fitting import DOMAINS, Domain
from krda.scikit import checksum, seed_from
from krda.trust.report import Assessment, ClassShare
from krda.trust.statistics import (
    MIN_ROWS,
    N_PARTS,
    ColumnGap,
    DensityCheck,
    Difference,
    RefitCheck,
    TransportCheck,
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
        seeds = _compare(data, predicted, _other_seeds(model, n_refits, seed_rng))
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
        names=_names(model),
    )
    shares = (labels, predicted, source_only, standardized)
    return Assessment(
        n_source=len(source),
        n_target=len(target),
        densities=densities,
        transport=transport,
        seeds=seeds,
        orders=orders,
        agreement_source_only=float(np.mean(source_only == predicted)),
        agreement_standardized=float(np.mean(standardized == predicted)),
        classes=tuple(
            ClassShare(str(label), *(float(np.mean(y == label)) for y in shares))
            for label in model.classes_
        ),
        source_only=tuple(source_only.tolist()),
        standardized=tuple(standardized.tolist()),
        far_rows=far_rows or "",
    )


def _names(model: KRDA) -> Sequence[Any] | None:
    return getattr(model, "feature_names_in_", getattr(model, "_columns_", None))


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# Refits


def _variant(model: KRDA, seed: int, used: NDArray[np.intp], **changes: Any) -> KRDA:
    """Make an unfitted model with another seed and order of the columns that are transported."""
    order = np.concatenate([used, model.constant_columns_])
    changes |= {"random_state": seed, "column_order": order}
    return type(model)(**(model.get_params(deep=False) | changes))


def _other_seeds(model: KRDA, n: int, rng: np.random.Generator) -> list[KRDA]:
    drawn = rng.choice(2**31 - 1, size=n + 1, replace=False).tolist()
    seeds = [seed for seed in drawn if seed != model.seed_][:n]
    return [_variant(model, seed, model.column_order_) for seed in seeds]


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
        tuple(np.mean(same, axis=0).tolist()) if same else None,
    )


# Rows left out


class _Folds:
    """A table with random splits of its rows into N_PARTS equal parts.

    A fit sees all rows but those of a part. Of large tables, fits are judged by the same
    ``MAX_JUDGED_ROWS`` rows in all splits.
    """

    def __init__(self, X: FloatArray, n_splits: int, rng: np.random.Generator) -> None:
        # In one layout, whatever the table's: sums depend on it in the last digits.
        self.X = np.ascontiguousarray(X)
        order = rng.permutation(len(X))
        self.judges = np.isin(np.arange(len(X)), order[:MAX_JUDGED_ROWS])
        # A small number for each row: lists of the rows of all fits would outgrow the table.
        self._parts = np.full((n_splits, len(X)), -1, dtype=np.int8)
        for parts in self._parts:
            for rows in (order[:MAX_JUDGED_ROWS], order[MAX_JUDGED_ROWS:]):
                size = len(rows) // N_PARTS
                parts[rng.permutation(rows)[: N_PARTS * size]] = np.repeat(np.arange(N_PARTS), size)

    def seen(self, split: int, part: int) -> FloatArray:
        """Give the rows that the fit without a part sees."""
        return self.X[self._parts[split] != part]

    def judged(self, split: int, part: int) -> NDArray[np.intp]:
        """Give the numbers of the rows that the fit without a part is judged by."""
        return np.flatnonzero((self._parts[split] == part) & self.judges)


class _Judgement(NamedTuple):
    """What the rows that a fit has not seen say of it."""

    distances: FloatArray  # energy distances before, after, standardised
    gaps: FloatArray  # Kolmogorov-Smirnov distances of columns before and after, (2, d)
    judged: list[NDArray[np.intp]]  # which rows of source and target
    nll: list[FloatArray]  # their negative log-likelihoods: KRDA's and a Gaussian's, (2, n)


def _check_left_out(
    model: KRDA, source: FloatArray, target: FloatArray, n_splits: int, rng: np.random.Generator
) -> tuple[tuple[DensityCheck, DensityCheck], TransportCheck]:
    """Judge fits by the parts of both tables that they did not see."""
    nothing = DensityCheck("source"), DensityCheck("target")
    if n_splits == 0:
        return nothing, TransportCheck(left_out="no refits were asked for")
    if min(len(source), len(target)) < MIN_ROWS:
        return nothing, TransportCheck(left_out=f"a table has fewer than {MIN_ROWS} rows")
    *split_rngs, seed_rng, noise_rng = rng.spawn(4)
    folds = [_Folds(X, n_splits, r) for X, r in zip((source, target), split_rngs, strict=True)]
    seeds = seed_rng.choice(2**31 - 1, size=(n_splits, N_PARTS), replace=False).tolist()
    used = model.column_order_  # the other columns are constant
    goal = folds[1].X[folds[1].judges]
    unit = unit_scale(goal)[used]
    found: list[_Judgement] = []
    failures: list[str] = []
    for split in range(n_splits):
        # No label takes part in a transport, and none is needed: a part may hold one class only.
        fits = [_variant(model, s, used, classifier=DummyClassifier()) for s in seeds[split]]
        tables = [[table.seen(split, part) for table in folds] for part in range(N_PARTS)]
        domains = [Domains(Xs, np.arange(len(Xs)) % 2, Xt) for Xs, Xt in tables]
        errors = [error for error in fit_together(fits, domains) if error is not None]
        failures += map(_describe, errors)
        if not errors:
            try:
                found += [_judge(fit, folds, split, part, unit) for part, fit in enumerate(fits)]
            except ArithmeticError as error:  # a row that is transported nowhere
                failures.append(_describe(error))
    if not found:
        why = "the fits to parts of the tables failed"
        return nothing, TransportCheck(left_out=why, failures=tuple(failures))
    before, after, standardized = np.array([fit.distances for fit in found]).T
    names = _names(model)
    called = [f"column {j}" if names is None else str(names[j]) for j in used]
    gaps = np.mean([fit.gaps for fit in found], axis=0).tolist()
    columns = [ColumnGap(*column) for column in zip(called, *gaps, strict=True)]
    n, m = map(len, found[0].judged)
    # Kolmogorov's limit, P(sup > c sqrt(1/n + 1/m)) < 2 exp(-2 c^2), for each of the columns.
    c = math.sqrt(math.log(2 * len(used) / 0.05) / 2)
    transport = TransportCheck(
        before=float(before.mean()),
        after=float(after.mean()),
        standardized=float(standardized.mean()),
        change=Difference.of(after - before),
        lead=Difference.of(standardized - after),
        noise=_energy_noise(goal[:, used] / unit, n, m, len(found) // N_PARTS, noise_rng),
        columns=tuple(sorted(columns, key=lambda column: -column.after)[:_N_COLUMNS]),
        column_noise=min(c * math.sqrt(1 / n + 1 / m), 1.0),
        failures=tuple(failures),
    )
    return (_check_density("source", found), _check_density("target", found)), transport


def _judge(
    fit: KRDA, folds: Sequence[_Folds], split: int, part: int, unit: FloatArray
) -> _Judgement:
    """Judge a fit by the part that it did not see; ``unit`` is of the transported columns."""
    used = fit.column_order_
    seen = [table.seen(split, part) for table in folds]
    judged = [table.judged(split, part) for table in folds]
    Xs, Xt = (table.X[rows] for table, rows in zip(folds, judged, strict=True))
    scalers = [StandardScaler().fit(X) for X in seen]
    standardized = scalers[1].inverse_transform(scalers[0].transform(Xs))
    goal = Xt[:, used]
    candidates = [X[:, used] for X in (Xs, fit._transport(Xs), standardized)]
    return _Judgement(
        np.array([energy_distance(X / unit, goal / unit, unit=1.0) for X in candidates]),
        np.array([column_distances(X, goal).kolmogorov_smirnov for X in candidates[:2]]),
        judged,
        [_likelihoods(fit, *of) for of in zip(DOMAINS, seen, (Xs, Xt), strict=True)],
    )


def _likelihoods(fit: KRDA, domain: Domain, seen: FloatArray, judged: FloatArray) -> FloatArray:
    """Give negative log-likelihoods of rows under KRDA's density and a Gaussian, (2, n).

    The Gaussian has nothing to tune. It is fitted where KRDA's density is, with columns at unit
    scale and atoms spread, and has the floor of KRDA's conditionals, without which columns that
    follow from others have no density. Its covariance is shrunk after Ledoit and Wolf (2004), since
    there may be fewer rows than columns.
    """
    columns = fit.column_maps_[domain]
    seen, judged = seen[:, fit.column_order_], judged[:, fit.column_order_]
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
    rows = np.concatenate([fit.judged[i] for fit in found])
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
