r"""Is a fitted KRDA to be trusted? What can be said without target labels, in numbers.

:func:`assess` asks four questions. Do the densities describe the rows, at least as well as a plain
Gaussian? Does the transport bring the source to the target? How many predictions hang on choices
that mean nothing, the seed and the order of the columns? And do the predictions differ from those
of methods that need no density? Where an answer speaks against the result, it says so, and what
to do.

The first two are asked of rows that a fit has not seen, since a fit to rows looks better on these
than it is: both tables are split into fifths at random, and KRDA is fitted without one of them
and judged by it, in turn; several times over.

Nothing here shows that a result is right: whether the classes end up where they belong cannot be
seen in unlabelled rows.
"""

from __future__ import annotations

import math
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

from krda.adaptation import Domains, FloatArray, check_same_columns, fit_together, seed_from
from krda.assessment import (
    MIN_ROWS,
    N_PARTS,
    Assessment,
    ClassShare,
    ColumnGap,
    DensityCheck,
    Difference,
    LeftOut,
    RefitCheck,
    TransportCheck,
    objections,
)
from krda.diagnostics import column_distances, energy_distance, unit_scale
from krda.estimator import KRDA
from krda.extrapolation import describe_far_rows
from krda.fitting import Domain
from krda.gaussian import LinearGaussianDensity
from krda.inputs import check_labels
from krda.notices import printable
from krda.parameters import require_integer
from krda.training import hold_out

#: A distance counts as noise up to what it stays below in this share of cases without a difference.
NOISE_QUANTILE = 0.95

#: Rows of each table that fits are judged by at most, drawn at random: the time of energy distances
#: grows with the square.
MAX_JUDGED_ROWS = 2000

# Random draws of the target's rows that NOISE_QUANTILE is taken of.
_N_DRAWS = 400
# Numbers in the tables of fits that are made together, at most: of large tables it is one fit.
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
        orders), and as many random splits of both tables, with five fits each. What takes the
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
    require_integer("n_refits", n_refits, 0)
    check_is_fitted(model)
    source = check_same_columns(model, Xs, name="Xs", fitted="Xs", min_rows=2)
    labels, _ = check_labels(ys, source, "ys")
    target = check_same_columns(model, Xt, name="Xt", fitted="Xs", min_rows=2)
    data = Domains(source, labels, target)
    with _silence():
        _require_rows_of_the_fit(model, source, target)
    rng = np.random.default_rng(seed_from(random_state))
    # Drawn first, so that one part of the answer does not depend on how much of another is asked.
    order_rng, split_rng, seed_rng = rng.spawn(3)
    with _silence():
        carried = model._transport(source)
        predicted = model.predict(target)
        seeds = _check_seeds(model, data, predicted, n_refits, seed_rng)
        orders = _check_orders(model, data, predicted, n_refits, order_rng)
        densities, transport = _check_left_out(model, source, target, n_refits, split_rng)
        source_only, standardized = _simple_predictions(model, data)
    agreements = [float(np.mean(other == predicted)) for other in (source_only, standardized)]
    far_rows = describe_far_rows(
        carried,
        model.ranges_["target"],
        model.column_order_,
        training=True,
        names=model.map_.names(np.arange(model.n_features_in_)),
    )
    sentences = [
        *objections(densities, transport, seeds, orders, agreements[1]),
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
        agreements[0],
        agreements[1],
        tuple(sentences),
        tuple(
            ClassShare(
                str(label),
                *(
                    float(np.mean(y == label))
                    for y in (labels, predicted, source_only, standardized)
                ),
            )
            for label in model.classes_
        ),
        tuple(source_only.tolist()),
        tuple(standardized.tolist()),
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
class _Part:
    """Numbers of the rows of one table that a fit sees, and of those that it is judged by."""

    fitted: NDArray[np.intp]
    judged: NDArray[np.intp]


class _Splits:
    """Random splits of a table's rows into N_PARTS equal parts; fits see what is left over, too.

    Parameters
    ----------
    n : int
        Rows.
    n_splits : int
    rng : Generator

    Attributes
    ----------
    chosen : ndarray of int
        The rows that fits are judged by, the same in all splits but for what is left over.
    """

    def __init__(self, n: int, n_splits: int, rng: np.random.Generator) -> None:
        order = rng.permutation(n)
        self.chosen = np.sort(order[:MAX_JUDGED_ROWS])
        self._judges = np.isin(np.arange(n), self.chosen)
        # A small number for each row: lists of the rows of all fits would outgrow the table.
        self._parts = np.full((n_splits, n), -1, dtype=np.int8)
        for parts in self._parts:
            for rows in (order[:MAX_JUDGED_ROWS], order[MAX_JUDGED_ROWS:]):
                size = len(rows) // N_PARTS
                mixed = rng.permutation(rows)[: N_PARTS * size]
                parts[mixed] = np.repeat(np.arange(N_PARTS), size)

    def part(self, fit: int) -> _Part:
        """Give the rows of one fit; those of a split follow one another."""
        parts = self._parts[fit // N_PARTS]
        left_out = parts == fit % N_PARTS
        return _Part(np.flatnonzero(~left_out), np.flatnonzero(left_out & self._judges))


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


def _check_left_out(
    model: KRDA,
    source: FloatArray,
    target: FloatArray,
    n_splits: int,
    rng: np.random.Generator,
) -> tuple[tuple[DensityCheck, DensityCheck], TransportCheck]:
    """Judge fits by the parts of both tables that they did not see."""
    if n_splits == 0:
        return _nothing_compared("no refits")
    if min(len(source), len(target)) < MIN_ROWS:
        return _nothing_compared("too few rows")
    source_rng, target_rng, seed_rng, noise_rng = rng.spawn(4)
    of_source = _Splits(len(source), n_splits, source_rng)
    of_target = _Splits(len(target), n_splits, target_rng)
    seeds = seed_rng.choice(2**31 - 1, size=n_splits * N_PARTS, replace=False).tolist()
    unit = unit_scale(_rows(target, of_target.chosen))
    size = max(_TOGETHER // (source.size + target.size), 1)
    outcomes: list[_Judgement | str] = []
    for start in range(0, len(seeds), size):
        some = range(start, min(start + size, len(seeds)))
        parts = [(of_source.part(fit), of_target.part(fit)) for fit in some]
        outcomes += _judge_parts(model, source, target, parts, [seeds[k] for k in some], unit)
    splits = [outcomes[k : k + N_PARTS] for k in range(0, len(outcomes), N_PARTS)]
    judged = [[fit for fit in split if not isinstance(fit, str)] for split in splits]
    judged = [split for split in judged if len(split) == N_PARTS]
    failures = [outcome for outcome in outcomes if isinstance(outcome, str)]
    if not judged:
        return _nothing_compared("failed fits", len(seeds), failures)
    fits = [judgement for split in judged for judgement in split]
    densities = [
        _summarize_density(domain, len(X), [fit.likelihoods[i] for fit in fits])
        for i, (domain, X) in enumerate(_by_domain(source, target))
    ]
    used = model.column_order_  # the others are constants
    goal = (_rows(target, of_target.chosen) / unit)[:, used]
    n, m = (len(splits.part(0).judged) for splits in (of_source, of_target))
    noise = _energy_noise(goal, n, m, len(judged), noise_rng)
    transport = _summarize_transport(model, judged, noise, n, m, len(seeds), failures)
    return (densities[0], densities[1]), transport


def _nothing_compared(
    why: LeftOut, n_tried: int = 0, failures: Sequence[str] = ()
) -> tuple[tuple[DensityCheck, DensityCheck], TransportCheck]:
    nan, none = math.nan, Difference.of([])
    return (
        (
            DensityCheck("source", 0, nan, nan, nan, nan),
            DensityCheck("target", 0, nan, nan, nan, nan),
        ),
        TransportCheck(nan, nan, nan, none, none, nan, (), nan, why, n_tried, tuple(failures)),
    )


def _judge_parts(
    model: KRDA,
    source: FloatArray,
    target: FloatArray,
    parts: Sequence[tuple[_Part, _Part]],
    seeds: Sequence[int],
    unit: FloatArray,
) -> Iterator[_Judgement | str]:
    """Fit without each part, and judge by it; text where a fit failed."""
    order = _whole_order(model, model.column_order_)
    # No label takes part in a transport, and none is needed: a part may hold one class only.
    fits = [
        _variant(model, random_state=seed, column_order=order, classifier=DummyClassifier())
        for seed in seeds
    ]
    domains = [
        Domains(_rows(source, s.fitted), np.arange(len(s.fitted)) % 2, _rows(target, t.fitted))
        for s, t in parts
    ]
    for fit, (s, t), error in zip(fits, parts, fit_together(fits, domains), strict=True):
        if error is not None:
            yield _describe(error)
            continue
        try:
            yield _judge(fit, source, target, s, t, unit, model.column_order_)
        except ArithmeticError as failure:  # a row that is carried nowhere
            yield _describe(failure)


def _judge(
    fit: KRDA,
    source: FloatArray,
    target: FloatArray,
    s: _Part,
    t: _Part,
    unit: FloatArray,
    used: NDArray[np.intp],
) -> _Judgement:
    X_s, X_t = _rows(source, s.judged), _rows(target, t.judged)
    carried = fit._transport(X_s)
    scalers = [StandardScaler().fit(_rows(X, p.fitted)) for X, p in ((source, s), (target, t))]
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


def _rows(X: FloatArray, numbers: NDArray[np.intp]) -> FloatArray:
    """Give rows in one layout, whatever the table's: sums depend on it in the last digits."""
    return np.ascontiguousarray(X[numbers])


def _energy_distance(X: FloatArray, Y: FloatArray) -> float:
    """:func:`krda.diagnostics.energy_distance` in the units that rows come in."""
    return energy_distance(X, Y, unit=1.0)


def _likelihoods(fit: KRDA, domain: Domain, X: FloatArray, part: _Part) -> _Likelihoods:
    columns = fit.column_maps_[domain]
    fitted, rows = (_rows(X, k)[:, fit.column_order_] for k in (part.fitted, part.judged))
    # Both densities are compared where KRDA's is fitted: columns at unit scale, atoms spread.
    Z = torch.from_numpy(columns.forward(rows, fit.seed_))
    gaussian = _gaussian(columns.forward(fitted, fit.seed_), fit.sigma_floor)
    with torch.no_grad():
        ours = -fit.densities_[domain].log_prob(Z).numpy()
        theirs = -gaussian.log_prob(Z).numpy()
    volume = float(columns.log_volume(rows).mean())
    return _Likelihoods(
        part.judged, ours - theirs, float(ours.mean()) - volume, float(theirs.mean()) - volume
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
    judged: Sequence[Sequence[_Judgement]],
    noise: float,
    n: int,
    m: int,
    n_tried: int,
    failures: Sequence[str],
) -> TransportCheck:
    def distances(name: str) -> FloatArray:
        return np.array([[getattr(fit, name) for fit in split] for split in judged])

    before, after, standardized = map(distances, ("before", "after", "standardized"))
    gaps = np.mean([fit.gaps for split in judged for fit in split], axis=0)
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
        n_tried=n_tried,
        failures=tuple(failures),
    )


def _energy_noise(Y: FloatArray, n: int, m: int, n_splits: int, rng: np.random.Generator) -> float:
    """What the mean energy distance of the parts of two tables stays below without a difference.

    Parameters
    ----------
    Y : ndarray of shape (n_rows, d)
        Target rows, in units that distances are computed in; four for each part at least.
    n, m : int
        Rows of the two parts that are compared.
    n_splits : int
        How often each table is split.
    rng : Generator

    Returns
    -------
    noise : float

    Notes
    -----
    Random halves of the rows play source and target, and are split and compared as the tables are:
    so the mean varies as theirs does, whose splits overlap. Under equal distributions nm / (n + m)
    times the energy distance has a limit law whatever the sizes (Szekely and Rizzo 2004), so that
    few rows tell of other sizes.
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
            first, second = (_marks(len(Y), rows) for rows in pair)
            to_first, to_second = distances @ first, distances @ second
            within = (to_first * first).sum(0) + (to_second * second).sum(0)
            between = (to_first * second).sum(0)
            total += 2 * between / size**2 - within / (size * (size - 1))
    scale = (1 / n + 1 / m) / (2 / size)
    return float(np.quantile(total / (N_PARTS * n_splits), NOISE_QUANTILE) * scale)


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
    found = [check.agreement for check in checks if check.agreement is not None]
    return RefitCheck(
        tuple(share for check in checks for share in check.disagreement),
        tuple(failure for check in checks for failure in check.failures),
        _means(found),
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
    same = [m.predict(data.Xt) == predicted for m in fitted]
    return RefitCheck(
        tuple(float(np.mean(~rows)) for rows in same),
        tuple(_describe(error) for error in errors if error is not None),
        _means(same),
    )


def _means(found: Sequence[Any]) -> tuple[float, ...] | None:
    """Average the agreements of refits, row by row."""
    return tuple(np.mean(np.array(found), axis=0).tolist()) if found else None


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _simple_predictions(model: KRDA, data: Domains) -> tuple[NDArray[Any], NDArray[Any]]:
    """Predict by the classifier on the source as it is, and on standardised domains."""
    Xs, ys, Xt = data
    standardized = [StandardScaler().fit_transform(X) for X in (Xs, Xt)]
    return (
        model._new_classifier().fit(Xs, ys).predict(Xt),
        model._new_classifier().fit(standardized[0], ys).predict(standardized[1]),
    )


def _class_warnings(model: KRDA, predicted: NDArray[Any]) -> Iterator[str]:
    missing = [printable(str(c)) for c in model.classes_ if not np.any(predicted == c)]
    if missing:
        yield (
            f"No target row is predicted to be {' or '.join(missing)}. If the target has such "
            "rows, the classes were not kept apart: look at the classifier and its settings first."
        )
