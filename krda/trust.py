r"""Is a fitted KRDA to be trusted? What can be said without target labels, in numbers.

:func:`assess` asks four questions. Do the densities describe the rows, at least as well as a plain
Gaussian? Does the transport bring the source to the target? How many predictions hang on choices
that mean nothing, the seed and the order of the columns? And do the predictions differ from those
of methods that need no density? Where an answer speaks against the result, it says so, and what
to do.

The first two are asked of rows that a fit has not seen, since a fit to rows looks better on these
than it is: both tables are halved at random, KRDA is fitted to one half and judged by the other,
and the other way round, several times over.

Nothing here shows that a result is right: whether the classes end up where they belong cannot be
seen in unlabelled rows.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.covariance import LedoitWolf
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from krda.adaptation import Domains, FloatArray, fit_together, seed_from
from krda.assessment import (
    MIN_HALF,
    Assessment,
    ColumnGap,
    DensityCheck,
    Difference,
    LeftOut,
    RefitCheck,
    TransportCheck,
    objections,
)
from krda.diagnostics import column_distances, unit_scale
from krda.estimator import KRDA, Domain
from krda.extrapolation import describe_far_rows
from krda.inputs import check_labels
from krda.linear_gaussian import LinearGaussianDensity
from krda.training import hold_out

#: A distance counts as noise up to what it stays below in this share of cases without a difference.
NOISE_QUANTILE = 0.95

#: Rows of each table that fits on halves are judged by at most, drawn at random: the time of energy
#: distances grows with the square.
MAX_JUDGED_ROWS = 2000

# Random halvings of the target that NOISE_QUANTILE is taken of.
_N_HALVINGS = 400
# Numbers in both tables up to which the fits of all splits are made together. Beyond, the halves of
# one split are held at a time: as much as the tables.
_TOGETHER = 2**22
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
        Refits with other seeds, as many with other column orders (fewer where there are fewer
        orders), and as many random splits of both tables, with a fit on each half. What takes the
        time: each fit costs up to as much as the model's own. 0 leaves them out, and with them
        what is said of the densities and the transport.
    random_state : int, RandomState or None, default=0
        Decides the refits' seeds and column orders, the splits, and the rows that fits are judged
        by.
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
    source = model._check_target(Xs, name="Xs", min_rows=2)
    labels, _ = check_labels(ys, source, "ys")
    target = model._check_target(Xt, name="Xt", min_rows=2)
    data = Domains(source, labels, target)
    with _silence():
        _require_rows_of_the_fit(model, source, target)
    rng = np.random.default_rng(seed_from(random_state))
    # Drawn first, so that one part of the answer does not depend on how much of another is asked.
    order_rng, half_rng, seed_rng = rng.spawn(3)
    with _silence():
        # As an array whatever the model's set_output: its columns may have no names.
        carried = model._transport(source)
        predicted = model.predict(target)
        seeds = _check_seeds(model, data, predicted, n_refits, seed_rng)
        orders = _check_orders(model, data, predicted, n_refits, order_rng)
        densities, transport = _check_halves(model, source, target, n_refits, half_rng)
        source_only, standardized = _agreements(model, data, predicted)
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


def _require_rows_of_the_fit(model: KRDA, source: FloatArray, target: FloatArray) -> None:
    """Raise unless the rows that training held out have the likelihood that it found for them."""
    # Training draws the held-out rows of one domain after another from this generator.
    generator = torch.Generator().manual_seed(model.seed_)
    for domain, X in _by_domain(source, target):
        rows = X[:, model.column_order_]
        Z = torch.from_numpy(model.column_maps_[domain].forward(rows, model.seed_))
        _, held_out = hold_out(len(Z), model.validation_fraction, generator)
        with torch.no_grad():
            found = -float(model.densities_[domain].log_prob(Z[held_out]).mean())
        found -= float(model.column_maps_[domain].log_volume(rows).mean())
        nll = model.held_out_nll_[domain]
        if not abs(found - nll) <= _SAME_ROWS * (1 + abs(nll)):
            raise ValueError(
                f"The {domain} rows are not those that the model was fitted to, in their order: "
                f"its held-out rows had a negative log-likelihood of {nll:.4f}, these have "
                f"{found:.4f}. Pass the tables of the fit, or fit again."
            )


def _by_domain(source: FloatArray, target: FloatArray) -> tuple[tuple[Domain, FloatArray], ...]:
    return ("source", source), ("target", target)


@dataclass(frozen=True)
class _Half:
    """Numbers of the rows of one table that a fit sees, and of those that it is judged by."""

    fitted: NDArray[np.intp]
    judged: NDArray[np.intp]


@dataclass(frozen=True)
class _Likelihoods:
    """Negative log-likelihoods of the judged rows of a domain.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
    excess : ndarray of shape (n,)
        Of KRDA's density minus the Gaussian's.
    nll, gaussian_nll : float
        Means, in the input's units.
    """

    rows: NDArray[np.intp]
    excess: FloatArray
    nll: float
    gaussian_nll: float


@dataclass(frozen=True)
class _Judgement:
    """What the rows that a fit has not seen say of it.

    Attributes
    ----------
    likelihoods : tuple of _Likelihoods
        Source, target.
    before, after, standardized : float
        Energy distances.
    gaps : ndarray of shape (2, d)
        Kolmogorov-Smirnov distances of columns before and after.
    """

    likelihoods: tuple[_Likelihoods, _Likelihoods]
    before: float
    after: float
    standardized: float
    gaps: FloatArray


def _check_halves(
    model: KRDA,
    source: FloatArray,
    target: FloatArray,
    n_splits: int,
    rng: np.random.Generator,
) -> tuple[tuple[DensityCheck, DensityCheck], TransportCheck]:
    """Judge fits to halves of both tables by the other halves."""
    if n_splits == 0:
        return _nothing_compared("no refits")
    if min(len(source), len(target)) < 2 * MIN_HALF:
        return _nothing_compared("too few rows")
    source_rng, target_rng, seed_rng, noise_rng = rng.spawn(4)
    splits = list(
        zip(
            _halve(len(source), n_splits, source_rng),
            _halve(len(target), n_splits, target_rng),
            strict=True,
        )
    )
    seeds = seed_rng.choice(2**31 - 1, size=(n_splits, 2), replace=False).tolist()
    unit = unit_scale(target)
    size = n_splits if source.size + target.size <= _TOGETHER else 1
    pairs: list[tuple[_Judgement, ...]] = []
    failures: list[str] = []
    for start in range(0, n_splits, size):
        some = slice(start, start + size)
        found = _judge_splits(model, source, target, splits[some], seeds[some], unit)
        for pair in found:
            failures += [outcome for outcome in pair if isinstance(outcome, str)]
            judged = tuple(outcome for outcome in pair if not isinstance(outcome, str))
            if len(judged) == 2:
                pairs.append(judged)
    if not pairs:
        return _nothing_compared("failed fits", failures)
    densities = tuple(
        _summarize_density(d, len(X), [j.likelihoods[i] for p in pairs for j in p])
        for i, (d, X) in enumerate(_by_domain(source, target))
    )
    # The sizes of the halves, and as many splits as counted.
    n, m = (len(half[0].judged) for half in splits[0])
    used = model.column_order_  # the others are constants
    chosen = np.sort(np.concatenate([half.judged for half in splits[0][1]]))
    noise = _energy_noise((target / unit)[chosen][:, used], n, m, len(pairs), noise_rng)
    transport = _summarize_transport(model, pairs, noise, n, m, failures)
    return (densities[0], densities[1]), transport


def _nothing_compared(
    why: LeftOut, failures: Sequence[str] = ()
) -> tuple[tuple[DensityCheck, DensityCheck], TransportCheck]:
    nan, none = math.nan, Difference.of([])
    return (
        (
            DensityCheck("source", 0, nan, nan, nan, nan),
            DensityCheck("target", 0, nan, nan, nan, nan),
        ),
        TransportCheck(nan, nan, nan, none, none, nan, (), nan, why, tuple(failures)),
    )


def _halve(n: int, n_splits: int, rng: np.random.Generator) -> Iterator[tuple[_Half, _Half]]:
    """Split the rows of a table at random, several times; of an odd number one is left out.

    The rows that fits are judged by are the same in all splits.
    """
    order = rng.permutation(n)
    judged, others = order[:MAX_JUDGED_ROWS], order[MAX_JUDGED_ROWS:]
    for _ in range(n_splits):
        first, second = _random_halves(judged, rng)
        more = _random_halves(others, rng)
        fitted = [
            np.sort(np.concatenate(parts)) for parts in zip((first, second), more, strict=True)
        ]
        yield _Half(fitted[0], np.sort(second)), _Half(fitted[1], np.sort(first))


def _random_halves(
    rows: NDArray[np.intp], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    mixed, half = rng.permutation(rows), len(rows) // 2
    return mixed[:half], mixed[half : 2 * half]


def _judge_splits(
    model: KRDA,
    source: FloatArray,
    target: FloatArray,
    splits: Sequence[tuple[tuple[_Half, _Half], tuple[_Half, _Half]]],
    seeds: Sequence[Sequence[int]],
    unit: FloatArray,
) -> list[list[_Judgement | str]]:
    """Fit to both halves of every split, and judge; text where a fit failed."""
    halves = [pair for split in splits for pair in zip(*split, strict=True)]
    order = _whole_order(model, model.column_order_)
    # No label takes part in a transport, and none is needed: half of them may hold one class only.
    fits = [
        _variant(model, random_state=seed, column_order=order, classifier=DummyClassifier())
        for pair in seeds
        for seed in pair
    ]
    domains = [
        Domains(source[s.fitted], np.arange(len(s.fitted)) % 2, target[t.fitted]) for s, t in halves
    ]
    outcomes: list[_Judgement | str] = []
    for fit, (s, t), error in zip(fits, halves, fit_together(fits, domains), strict=True):
        if error is not None:
            outcomes.append(_describe(error))
            continue
        try:
            outcomes.append(_judge(fit, source, target, s, t, unit, model.column_order_))
        except ArithmeticError as failure:  # a row that is carried nowhere
            outcomes.append(_describe(failure))
    return [outcomes[i : i + 2] for i in range(0, len(outcomes), 2)]


def _judge(
    fit: KRDA,
    source: FloatArray,
    target: FloatArray,
    s: _Half,
    t: _Half,
    unit: FloatArray,
    used: NDArray[np.intp],
) -> _Judgement:
    X_s, X_t = source[s.judged], target[t.judged]
    carried = fit._transport(X_s)
    scalers = [StandardScaler().fit(X[h.fitted]) for X, h in ((source, s), (target, t))]
    standardized = scalers[1].inverse_transform(scalers[0].transform(X_s))
    goal = (X_t / unit)[:, used]
    before, after, standard = (
        _energy_distance((X / unit)[:, used], goal) for X in (X_s, carried, standardized)
    )
    gaps = [column_distances(X[:, used], X_t[:, used]).kolmogorov_smirnov for X in (X_s, carried)]
    return _Judgement(
        (_likelihoods(fit, "source", source, s), _likelihoods(fit, "target", target, t)),
        before,
        after,
        standard,
        np.array(gaps),
    )


def _energy_distance(X: FloatArray, Y: FloatArray) -> float:
    """:func:`krda.diagnostics.energy_distance` in the given units: those of no half."""
    within = [cdist(Z, Z).sum() / (len(Z) * (len(Z) - 1)) for Z in (X, Y)]
    return float(2 * cdist(X, Y).mean() - sum(within))


def _likelihoods(fit: KRDA, domain: Domain, X: FloatArray, half: _Half) -> _Likelihoods:
    columns = fit.column_maps_[domain]
    fitted, rows = (X[numbers][:, fit.column_order_] for numbers in (half.fitted, half.judged))
    # Both densities are compared where KRDA's is fitted: columns at unit scale, atoms spread.
    Z = torch.from_numpy(columns.forward(rows, fit.seed_))
    gaussian = _gaussian(columns.forward(fitted, fit.seed_), fit.sigma_floor)
    with torch.no_grad():
        ours = -fit.densities_[domain].log_prob(Z).numpy()
        theirs = -gaussian.log_prob(Z).numpy()
    volume = float(columns.log_volume(rows).mean())
    return _Likelihoods(
        half.judged, ours - theirs, float(ours.mean()) - volume, float(theirs.mean()) - volume
    )


def _summarize_density(domain: Domain, n: int, found: Sequence[_Likelihoods]) -> DensityCheck:
    total, count = np.zeros(n), np.zeros(n)
    for one in found:
        total[one.rows] += one.excess
        count[one.rows] += 1
    # One number a row: what several fits say of the same row is no further evidence.
    excess = total[count > 0] / count[count > 0]
    return DensityCheck(
        domain,
        len(excess),
        float(np.mean([one.nll for one in found])),
        float(np.mean([one.gaussian_nll for one in found])),
        float(excess.mean()),
        float(excess.std(ddof=1) / math.sqrt(len(excess))),
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


def _summarize_transport(
    model: KRDA,
    pairs: Sequence[Sequence[_Judgement]],
    noise: float,
    n: int,
    m: int,
    failures: Sequence[str],
) -> TransportCheck:
    # before, after, standardized of shape (3, n_pairs, 2)
    distances = np.array(
        [
            [[getattr(j, name) for j in pair] for pair in pairs]
            for name in ("before", "after", "standardized")
        ]
    )
    before, after, standardized = distances
    gaps = np.mean([j.gaps for pair in pairs for j in pair], axis=0)
    worst = np.argsort(-gaps[1], kind="stable")[:_N_COLUMNS]
    names, used = _column_names(model), model.column_order_
    # Kolmogorov's limit, P(sup > c sqrt(1/n + 1/m)) < 2 exp(-2 c^2), for each of the columns.
    c = math.sqrt(math.log(2 * len(used) / 0.05) / 2)
    return TransportCheck(
        before=float(before.mean()),
        after=float(after.mean()),
        standardized=float(standardized.mean()),
        change=Difference.of(after - before),
        lead=Difference.of(standardized - after),
        noise=noise,
        columns=tuple(
            ColumnGap(names[used[j]], float(gaps[0][j]), float(gaps[1][j])) for j in worst
        ),
        column_noise=min(c * math.sqrt(1 / n + 1 / m), 1.0),
        failures=tuple(failures),
    )


def _energy_noise(Y: FloatArray, n: int, m: int, n_splits: int, rng: np.random.Generator) -> float:
    """What the mean energy distance of halves stays below without a difference.

    Parameters
    ----------
    Y : ndarray of shape (n_rows, d)
        Target rows, in units that distances are computed in; eight at least.
    n, m : int
        Rows of the two halves that are compared.
    n_splits : int
        The mean is over two pairs of halves for each.
    rng : Generator

    Returns
    -------
    noise : float

    Notes
    -----
    Random halves of the rows play source and target, and are halved and compared as the tables
    are: so the mean varies as theirs does, whose splits overlap. Under equal distributions
    nm / (n + m) times the energy distance has a limit law whatever the sizes (Szekely and Rizzo
    2004), so that few rows tell of other sizes.
    """
    quarter = len(Y) // 4
    # All draws at once from one matrix of distances: a column of `sides` marks a draw's rows.
    distances = cdist(Y, Y)
    orders = np.argsort(rng.random((len(Y), _N_HALVINGS)), axis=0)[: 4 * quarter]
    sides = [_marks(len(Y), half) for half in np.split(orders, 2)]
    to_sides = [distances @ side for side in sides]
    total = np.zeros(_N_HALVINGS)
    for _ in range(n_splits):
        # Quarters of each side: two and what they leave, the complements.
        first = [
            _marks(len(Y), rng.permuted(half, axis=0)[:quarter]) for half in np.split(orders, 2)
        ]
        to_first = [distances @ marks for marks in first]
        second = [side - marks for side, marks in zip(sides, first, strict=True)]
        to_second = [to - part for to, part in zip(to_sides, to_first, strict=True)]
        for marks, to in ((first, to_first), (second, to_second)):
            within = sum((t * k).sum(0) for k, t in zip(marks, to, strict=True))
            between = (to[0] * marks[1]).sum(0)
            total += 2 * between / quarter**2 - within / (quarter * (quarter - 1))
    scale = (1 / n + 1 / m) / (2 / quarter)
    return float(np.quantile(total / (2 * n_splits), NOISE_QUANTILE) * scale)


def _marks(n: int, rows: NDArray[np.intp]) -> FloatArray:
    """Mark the rows whose numbers a column holds: (k, draws) to (n, draws) of 0 and 1."""
    marks = np.zeros((n, rows.shape[1]))
    np.put_along_axis(marks, rows, 1.0, axis=0)
    return marks


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
        tuple(_describe(error) for error in errors if error is not None),
    )


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


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
