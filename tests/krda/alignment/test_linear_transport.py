"""Linear optimal transport against its closed form, where covariances have no inverse, too."""

import numpy as np
import pytest
from scipy.linalg import sqrtm

from krda import LinearOT


def test_linear_transport_is_the_map_between_gaussians(domains):
    method = LinearOT().fit(domains.Xs, domains.ys, domains.Xt)
    Cs, Ct = (np.cov(X.T, ddof=0) for X in (domains.Xs, domains.Xt))
    root = sqrtm(Cs)
    A = np.linalg.solve(root, sqrtm(root @ Ct @ root)) @ np.linalg.inv(root)
    expected = (domains.Xs - domains.Xs.mean(axis=0)) @ A + domains.Xt.mean(axis=0)
    moved = method.transform(domains.Xs)
    np.testing.assert_allclose(moved, expected, atol=1e-9)
    np.testing.assert_allclose(moved.mean(axis=0), domains.Xt.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(np.cov(moved.T, ddof=0), Ct, atol=1e-9)


def degenerate(blobs, kind):
    """Domains whose covariances have no inverse, or nearly none."""
    rng = np.random.default_rng(4)
    Xs, Xt = blobs.Xs.copy(), blobs.Xt.copy()
    if kind == "collinear":
        for X in (Xs, Xt):
            X[:, 4] = X[:, 0] - 2 * X[:, 1] + 7
    elif kind == "constant in the source":
        Xs[:, 2] = 1e6 / 3
    elif kind == "constant in the target":
        Xt[:, 2] = 0.1
    elif kind == "more columns than rows":
        Xs, Xt = (
            X @ rng.normal(size=(5, 100)) + 0.1 * rng.normal(size=(len(X), 100)) for X in (Xs, Xt)
        )
    else:
        units = np.array([1e-3, 1e3, 1.0, 1e-2, 1e2])
        Xs, Xt = Xs * units, Xt * units
    return Xs, Xt


@pytest.mark.parametrize(
    "kind",
    [
        "collinear", "constant in the source", "constant in the target", "more columns than rows",
        "other units",
    ],
)  # fmt: skip
def test_linear_transport_matches_the_moments_without_inverse_covariances(blobs, kind):
    Xs, Xt = degenerate(blobs, kind)
    method = LinearOT().fit(Xs, np.arange(len(Xs)) % 2, Xt)
    moved = method.transform(Xs)
    np.testing.assert_allclose(moved.mean(axis=0), Xt.mean(axis=0), rtol=1e-9, atol=1e-9)
    Cs, Ct, C = (np.cov(X.T, ddof=0) for X in (Xs, Xt, moved))
    # On the source's directions the covariance is the target's.
    values, axes = np.linalg.eigh(Cs)
    span = np.eye(len(Cs)) if "units" in kind else axes[:, values > 1e-12 * values[-1]]
    scale = span.T @ Ct @ span
    largest = np.sqrt(np.outer(np.diag(scale), np.diag(scale)))
    np.testing.assert_array_less(np.abs(span.T @ C @ span - scale), 1e-8 * largest + 1e-9)
    # Where the target varies in no more directions than the source, everywhere.
    if kind not in ("constant in the source", "more columns than rows"):
        np.testing.assert_allclose(C, Ct, rtol=1e-6, atol=1e-8)
    # It is the optimal map: symmetric and positive semi-definite on the source's directions.
    inner = span.T @ method.map_.matrix @ span
    size = np.sqrt(np.outer(np.diag(inner), np.diag(inner)))
    np.testing.assert_array_less(np.abs(inner - inner.T), 1e-6 * size + 1e-9)
    assert np.linalg.eigvalsh(inner + inner.T).min() > -1e-6 * size.max()


def test_linear_transport_gives_the_right_spread_or_refuses_columns_of_far_apart_scales(blobs):
    refused = []
    for ratio in (1e3, 1e6, 1e9, 1e12):
        units = np.array([1.0, 1 / ratio])
        Xs, Xt = blobs.Xs[:, :2] * units, blobs.Xt[:, :2] * units
        try:
            moved = LinearOT().fit(Xs, blobs.ys, Xt).transform(Xs)
        except FloatingPointError:
            refused.append(ratio)
        else:
            np.testing.assert_allclose(moved.std(axis=0), Xt.std(axis=0), rtol=1e-5)
    assert 1e3 not in refused
