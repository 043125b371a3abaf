r"""The rotation that brings one whitened sample closest to another.

Samples of equal means and covariances can still differ by a rotation. It is chosen from the whole
distribution: R minimises

    energy distance(Z_s R, Z_t) + penalty E|z - z R|^2 .

Without the penalty, which prefers small rotations, R would fit the noise of small samples. In the
plane all angles are tried. Beyond, sweeps over the planes of two axes look for large rotations. A
local search then refines the best, over R cayley(A) with A skew-symmetric.

Half a turn more in the plane of two axes can leave a sample nearly as it is. If it leaves no more
than chance would, the smaller of the two rotations is taken: nothing else can tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist

from krda.validation import FloatArray

_PLANE = 2 * np.pi * np.arange(1, 24) / 24
_SWEEP = np.pi * np.array([-3, -2, -1, 1, 2, 3, 4]) / 4

#: Rows of each sample that sweeps look at, and the most sweeps.
_SWEEP_ROWS, _SWEEPS = 100, 2

#: Axes between which half turns are tried.
_MOST_AXES = 10

#: Steps of the local search at most: from the best of the global search, and near a rotation.
_STEPS, _FEW_STEPS = 50, 10


class RotationProblem(NamedTuple):
    """Whitened source rows, their weights of sum one, whitened target rows, and the penalty."""

    source: FloatArray
    weights: FloatArray
    target: FloatArray
    penalty: float

    def value(self, R: FloatArray) -> tuple[float, FloatArray]:
        """Objective at R, without the terms that no rotation changes, and its derivative in R."""
        X, w, Y, penalty = self
        turned = X @ R
        distances = cdist(turned, Y)
        pull = w[:, np.newaxis] / (np.maximum(distances, 1e-12) * len(Y))
        moved = turned - X
        value = 2 * w @ distances.mean(axis=1) + penalty * w @ (moved**2).sum(axis=1)
        by_row = pull.sum(axis=1)[:, np.newaxis] * turned - pull @ Y
        return float(value), 2 * X.T @ (by_row + penalty * w[:, np.newaxis] * moved)

    def moved(self, R: FloatArray) -> float:
        """Penalty of R: how far it moves the rows, on average."""
        turned = self.source @ R
        return float(self.penalty * self.weights @ ((turned - self.source) ** 2).sum(axis=1))


def closest_rotation(problem: RotationProblem, start: FloatArray | None = None) -> FloatArray:
    """Find the rotation R of least objective; near ``start``, if it is given."""
    d = problem.source.shape[1]
    if d == 1:
        return np.eye(1)
    if start is not None:
        return _refined(problem, start, _FEW_STEPS)
    starts = [np.eye(d)]
    starts += [_turn(2, 0, 1, angle) for angle in _PLANE] if d == 2 else [_swept(problem)]
    values = [problem.value(R)[0] for R in starts]
    best = _refined(problem, starts[int(np.argmin(values))], _STEPS)
    return _smallest_turn(problem, best)


def half_turns(d: int) -> Iterator[FloatArray]:
    """Signs (d,) of the axes after half a turn in the plane of each two of the first ten."""
    for axes in combinations(range(min(d, _MOST_AXES)), 2):
        yield np.where(np.isin(np.arange(d), axes), -1.0, 1.0)


def chance(n_source: float, n_target: int, distance: float) -> float:
    """Energy distance, rows with themselves counted, of two samples of one distribution.

    ``distance`` is the mean distance of two of its rows.
    """
    return (1 / n_source + 1 / n_target) * distance


def _smallest_turn(problem: RotationProblem, best: FloatArray) -> FloatArray:
    """Take half a turn more if it moves rows less and leaves no more than chance would."""
    n_effective = 1 / float(problem.weights @ problem.weights)
    bound = chance(n_effective, len(problem.target), float(pdist(problem.target).mean()))
    least, smallest = problem.value(best)[0] - problem.moved(best), problem.moved(best)
    found = best
    for signs in half_turns(len(best)):
        turned = best * signs
        moved = problem.moved(turned)
        if moved < smallest and problem.value(turned)[0] - moved <= least + bound:
            found, smallest = turned, moved
    return found if found is best else _refined(problem, found, _STEPS)


def _refined(problem: RotationProblem, start: FloatArray, steps: int) -> FloatArray:
    d = len(start)
    upper, unit = np.triu_indices(d, 1), np.eye(d)

    def cayley(a: FloatArray) -> tuple[Any, Any]:
        """Give the rotation of the entries above the diagonal, and the inverse in it."""
        half = np.zeros((d, d))
        half[upper] = a / 2
        half -= half.T
        inverse = np.linalg.inv(unit - half)
        return inverse @ (unit + half), inverse

    def value_and_derivative(a: FloatArray) -> tuple[float, FloatArray]:
        turn, inverse = cayley(a)
        value, by_R = problem.value(start @ turn)
        by_half = inverse.T @ start.T @ by_R @ (unit + turn).T
        return value, (by_half - by_half.T)[upper] / 2

    origin, options = np.zeros(len(upper[0])), {"maxiter": steps}
    found = minimize(value_and_derivative, origin, jac=True, method="L-BFGS-B", options=options)
    return start @ cayley(found.x)[0]


def _swept(problem: RotationProblem) -> FloatArray:
    """Turn the plane of each two axes by the best of a few angles, until no turn helps."""
    X, w = _some_rows(problem.source), _some_rows(problem.weights)
    Y, w = _some_rows(problem.target), w / w.sum()
    squares = np.add.outer((X**2).sum(axis=1), (Y**2).sum(axis=1))
    cosines, sines = np.cos(_SWEEP) - 1, np.sin(_SWEEP)
    d = X.shape[1]
    R, turned, inner = np.eye(d), X, X @ Y.T
    agreement = (X * w[:, np.newaxis]).T @ X  # its trace with R is what the penalty depends on

    def values(inner: FloatArray, traces: FloatArray) -> FloatArray:
        distances = np.sqrt(np.maximum(squares - 2 * inner, 0))
        return 2 * distances.mean(axis=-1) @ w - 2 * problem.penalty * traces

    least = float(values(inner, np.trace(agreement)))
    for _ in range(_SWEEPS):
        before = least
        for i, j in combinations(range(d), 2):
            even = np.outer(turned[:, i], Y[:, i]) + np.outer(turned[:, j], Y[:, j])
            odd = np.outer(turned[:, i], Y[:, j]) - np.outer(turned[:, j], Y[:, i])
            candidates = inner + np.multiply.outer(cosines, even) + np.multiply.outer(sines, odd)
            by = agreement @ R
            traces = np.trace(by) + cosines * (by[i, i] + by[j, j]) + sines * (by[j, i] - by[i, j])
            found = values(candidates, traces)
            best = int(np.argmin(found))
            if found[best] < least - 1e-12:
                turn = _turn(d, i, j, _SWEEP[best])
                R, turned = R @ turn, turned @ turn
                inner, least = candidates[best], float(found[best])
        if least == before:
            break
    return R


def _some_rows(rows: FloatArray) -> FloatArray:
    """Evenly spaced rows, a bounded number of them."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), _SWEEP_ROWS)).astype(int)]


def _turn(d: int, i: int, j: int, angle: float) -> FloatArray:
    """Rotate row vectors by an angle from axis i towards axis j."""
    R = np.eye(d)
    R[i, i] = R[j, j] = np.cos(angle)
    R[i, j], R[j, i] = np.sin(angle), -np.sin(angle)
    return R
