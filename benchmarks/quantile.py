"""The quantile of Gaussian mixtures alone: Newton's, compiled and not, and the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.compiled import set_compiled
from benchmarks.sizes import Sizes
from benchmarks.timing import Case, Prepared

COMPONENTS = 5
NOT_COMPILED = "newton, not compiled"
KINDS = ("ordinary", "far tail", "nearly degenerate")


def mixtures(kind: str, n: int) -> tuple[Any, Any, Any, Any]:
    """Draw n probabilities and mixtures.

    Parameters
    ----------
    kind : {"ordinary", "far tail", "nearly degenerate"}
        "far tail": probabilities from 1e-12 to 1e-4, and one less those, half of each. "nearly
        degenerate": standard deviations from 1e-6 to 100, weights down to 1e-12, means apart.
    n : int

    Returns
    -------
    u : Tensor of shape (n,), float64
    weights, means, stds : Tensor of shape (n, N)
    """
    import torch

    generator = torch.Generator().manual_seed(0)
    shape = (n, COMPONENTS)

    def normal() -> Any:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def uniform(*size: int) -> Any:
        return torch.rand(*size, generator=generator, dtype=torch.float64)

    u = uniform(n).clamp(1e-8, 1 - 1e-8)
    if kind == "nearly degenerate":
        stds, means = 10.0 ** (-6 + 8 * uniform(*shape)), 20 * normal()
        weights = 10.0 ** (-12 * uniform(*shape))
    else:
        stds, means = torch.exp(0.5 * normal()), 2 * normal()
        weights = torch.exp(normal())
    if kind == "far tail":
        tail = 10.0 ** (-12 + 8 * uniform(n))
        u = torch.where(uniform(n) < 0.5, tail, 1 - tail)
    return u, weights / weights.sum(1, keepdim=True), means, stds


def prepare(kind: str, n: int, method: Any, compiled: bool) -> Prepared:
    """Prepare the inversion of n mixtures."""
    import torch

    from krda.mixture import cdf, log_prob, quantile

    set_compiled(compiled)
    u, weights, means, stds = mixtures(kind, n)
    quantile(u[:64], weights[:64], means[:64], stds[:64], method=method)

    def describe(z: Any) -> Mapping[str, Any]:
        error = (cdf(z, weights, means, stds) - u).abs()
        # The best that a double z can do: F moves by this much from one double to the next.
        density = torch.exp(log_prob(z, torch.log(weights), means, stds))
        eps = torch.finfo(torch.float64).eps
        unavoidable = density * z.abs() * eps + eps
        return {
            "max_error": float(error.max()),
            "max_error_in_spacings": float((error / unavoidable).max()),
        }

    return Prepared(lambda: quantile(u, weights, means, stds, method=method), describe)


def groups(sizes: Sizes, workspace: Path) -> list[list[Case]]:
    """One group a kind and number of rows; ratios are to Newton."""
    return [
        [
            Case(
                name,
                prepare,
                {"kind": kind, "n": n, "method": method, "compiled": compiled},
                {"kind": kind, "n": n},
                compared_to="newton",
            )
            for name, method, compiled in (
                ("newton", "newton", True),
                (NOT_COMPILED, "newton", False),
                ("bisection", "bisection", False),
            )
        ]
        for kind in KINDS
        for n in sizes.quantile
    ]
