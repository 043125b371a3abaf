r"""The Gaussian as an autoregressive density: the case with a closed form.

With mean m and covariance ``Sigma = L L^T`` (Cholesky), ``x^i | x^{<i}`` is Gaussian with a mean
that is linear in ``x^{<i}``; all conditionals together are ``x = m + L z``, z standard normal.
The Knothe-Rosenblatt map between two Gaussians is ``T(x) = m_T + L_T L_S^{-1} (x - m_S)``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from krda.density.mixture import normal_cdf
from krda.density.saving import SavedAsArrays


class LinearGaussianDensity(SavedAsArrays):
    """Multivariate normal density: see :class:`krda.transport.Density`.

    Parameters
    ----------
    mean : Tensor of shape (d,)
    covariance : Tensor of shape (d, d)
        Symmetric and positive definite.

    Raises
    ------
    ValueError
        A covariance that is not a symmetric positive definite d x d matrix.

    Examples
    --------
    >>> import torch
    >>> from krda import LinearGaussianDensity
    >>> density = LinearGaussianDensity(torch.zeros(2), torch.eye(2))
    >>> density.rosenblatt(torch.zeros(1, 2))
    tensor([[0.5000, 0.5000]], dtype=torch.float64)
    """

    def __init__(self, mean: Tensor, covariance: Tensor) -> None:
        self.mean = mean.to(torch.float64)
        covariance = covariance.to(torch.float64)
        d = len(self.mean)
        if covariance.shape != (d, d) or not torch.allclose(covariance, covariance.mT):
            raise ValueError(
                f"covariance must be a symmetric ({d}, {d}) matrix, as the mean has {d} entries; "
                f"got shape {tuple(covariance.shape)}."
            )
        self.cholesky, failed = torch.linalg.cholesky_ex(covariance)
        if int(failed):
            raise ValueError("covariance must be positive definite; its Cholesky factor fails.")

    @property
    def n_features(self) -> int:
        """Dimension d."""
        return len(self.mean)

    def _whiten(self, x: Tensor) -> Tensor:
        """Solve ``L z = x - m`` for rows."""
        return torch.linalg.solve_triangular(self.cholesky, (x - self.mean).mT, upper=False).mT

    def log_prob(self, x: Tensor) -> Tensor:
        """Log-density of rows (n, d), as (n,)."""
        z = self._whiten(x)
        log_volume = torch.log(torch.diagonal(self.cholesky)).sum()
        return -0.5 * (z * z).sum(1) - log_volume - 0.5 * self.n_features * math.log(2 * math.pi)

    def rosenblatt(self, x: Tensor) -> Tensor:
        """Map rows to quantiles, ``u = Phi(L^{-1}(x - m))``."""
        return normal_cdf(self._whiten(x))

    def inverse_rosenblatt(self, u: Tensor) -> Tensor:
        """Map quantiles to rows, ``x = m + L Phi^{-1}(u)``."""
        return self.mean + torch.special.ndtri(u) @ self.cholesky.mT

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw n rows."""
        z = torch.randn(n, self.n_features, generator=generator, dtype=torch.float64, device="cpu")
        return self.mean + z @ self.cholesky.mT
