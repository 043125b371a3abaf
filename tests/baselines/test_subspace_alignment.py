"""Subspace Alignment against its formula written out with a singular value decomposition."""

import numpy as np
import pytest
from sklearn.svm import SVC

from baselines.subspace_alignment import SubspaceAlignment


def leading_axes(X, k):
    return np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:k].T


def written_out(Xs, Xt, k):
    """Aligned source and target, each domain about its own mean; signs of the axes are free."""
    Ps, Pt = leading_axes(Xs, k), leading_axes(Xt, k)
    return (Xs - Xs.mean(axis=0)) @ Ps @ Ps.T @ Pt, (Xt - Xt.mean(axis=0)) @ Pt


def z_scores(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_it_is_its_formula(domains, k, scale):
    k = min(k, domains.Xs.shape[1])
    method = SubspaceAlignment(k, scale=scale).fit(*domains[:3])
    seen = [z_scores(X) if scale else X for X in (domains.Xs, domains.Xt)]
    source, target = written_out(*seen, k)
    ours_source, ours_target = method.transform(domains.Xs), method._map_target(domains.Xt)
    signs = np.sign(np.sum(ours_target * target, axis=0))
    np.testing.assert_allclose(ours_source, source * signs, atol=1e-12)
    np.testing.assert_allclose(ours_target, target * signs, atol=1e-12)
    if k > 1 or not scale:  # the first axes of two scaled columns may be orthogonal
        plain = SVC().fit(source, domains.ys)
        np.testing.assert_array_equal(method.predict(domains.Xt), plain.predict(target))


@pytest.mark.parametrize("k", [0, 6, 2.0, True, "all"])
def test_an_impossible_number_of_components_is_refused(blobs, k):
    with pytest.raises(ValueError, match="n_components must be"):
        SubspaceAlignment(k).fit(blobs.Xs, blobs.ys, blobs.Xt)


@pytest.mark.parametrize("scale", [False, True])
def test_no_axis_is_taken_along_which_the_training_rows_do_not_vary(blobs, scale):
    # Three rows vary in two directions; the third axis of a basis would be an arbitrary one.
    with pytest.raises(ValueError, match=r"at most 2, .*target rows 3"):
        SubspaceAlignment(3, scale=scale).fit(blobs.Xs, blobs.ys, blobs.Xt[:3])
    few = SubspaceAlignment(scale=scale).fit(blobs.Xs, blobs.ys, blobs.Xt[:3])
    assert few.n_components_ == 2
    # A sum of other columns and a constant one leave three directions out of five; all five axes
    # together are a rotation all the same.
    Xs, Xt = blobs.Xs.copy(), blobs.Xt.copy()
    for X in (Xs, Xt):
        X[:, 3], X[:, 4] = X[:, 0] + X[:, 1], 0.1
    with pytest.raises(ValueError, match="at most 3, "):
        SubspaceAlignment(4, scale=scale).fit(Xs, blobs.ys, Xt)
    three, whole = (SubspaceAlignment(k, scale=scale).fit(Xs, blobs.ys, Xt) for k in (3, None))
    assert whole.n_components_ == 5
    seen, expected = three._map_target(Xt), whole._map_target(Xt)
    np.testing.assert_allclose(seen @ seen.T, expected @ expected.T, atol=1e-8)


def test_it_agrees_with_skada(domains):
    skada = pytest.importorskip("skada")
    theirs = skada.SubspaceAlignmentAdapter(n_components=2)
    X = np.concatenate([domains.Xs, domains.Xt])
    which = np.repeat([1, -2], [len(domains.Xs), len(domains.Xt)])
    moved = np.asarray(theirs.fit_transform(X, sample_domain=which))
    method = SubspaceAlignment(2).fit(domains.Xs, domains.ys, domains.Xt)
    ours = np.concatenate([method.transform(domains.Xs), method._map_target(domains.Xt)])
    np.testing.assert_allclose(np.abs(ours), np.abs(moved), atol=1e-12)
