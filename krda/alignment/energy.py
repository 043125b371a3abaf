r"""The energy distance of a sample with classes to another, and the shares that make it least.

With independent rows x, x' of one distribution and y, y' of another,

    E = 2 E|x - y| - E|x - x'| - E|y - y'|

is zero exactly if the two are equal (Szekely and Rizzo 2013). All estimates here leave out the
distance of a row to itself: they are unbiased, and can be below zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.optimize import nnls
from scipy.spatial.distance import cdist, pdist, squareform

from krda.validation import FloatArray


@dataclass(frozen=True)
class ClassDistances:
    """Mean distances among the classes of a source, and to the rows of a target.

    Attributes
    ----------
    within : ndarray of shape (n_classes, n_classes)
        Of two different rows of the source, by their classes.
    across : ndarray of shape (n_classes,)
        Of a source row of a class and a target row.
    target : float
        Of two different target rows.
    """

    within: FloatArray
    across: FloatArray
    target: float

    @classmethod
    def of(
        cls, Xs: FloatArray, codes: NDArray[Any], Xt: FloatArray, target: float | None = None
    ) -> ClassDistances:
        """Average distances by the classes 0, 1, ... of the source rows.

        ``target`` is the mean distance of two target rows, if it is known already.
        """
        counts = np.bincount(codes)
        member = (codes == np.arange(len(counts))[:, np.newaxis]) * 1.0
        pairs = np.outer(counts, counts) - np.diag(counts)
        within = member @ squareform(pdist(Xs)) @ member.T / np.maximum(pairs, 1)
        across = member @ cdist(Xs, Xt).mean(axis=1) / counts
        return cls(within, across, float(pdist(Xt).mean()) if target is None else target)

    def energy(self, shares: FloatArray) -> float:
        """Energy distance of the source, its classes in these shares, to the target."""
        return float(2 * shares @ self.across - shares @ self.within @ shares - self.target)

    def best_shares(self, penalty: FloatArray | float = 0.0) -> FloatArray:
        r"""Find the shares s, at least zero and of sum one, of least energy distance.

        ``penalty`` adds :math:`\sum_a p_a s_a^2`. On the simplex the energy is a constant plus
        :math:`s^T G s` with :math:`G_{ab} = u_a + u_b - d_{ab}`, u the distances to the target and
        d those within the source. The point of least norm in a simplex is what non-negative least
        squares finds.
        """
        gram = np.add.outer(self.across, self.across) - self.within
        gram += np.diag(np.broadcast_to(penalty, len(gram)))
        scale = np.abs(gram).max()
        floor = max(0.0, -np.linalg.eigvalsh(gram)[0]) + 1e-9 * scale
        root = cholesky(gram + floor * np.eye(len(gram)))
        # A row that asks for the sum one scales a solution and does not turn it.
        rows = np.vstack([root, np.full(len(gram), np.sqrt(scale))])
        shares, _ = nnls(rows, np.append(np.zeros(len(gram)), np.sqrt(scale)))
        return shares / shares.sum()
