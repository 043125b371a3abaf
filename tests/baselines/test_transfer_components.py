"""Transfer components against the literal eigenproblem of the paper."""

import numpy as np
import pytest
from scipy.linalg import eig

from baselines.transfer_components import TransferComponentAnalysis, transfer_components


def problem(domains, gamma):
    rows = np.concatenate([domains.Xs, domains.Xt])
    ns, nt = len(domains.Xs), len(domains.Xt)
    K = np.exp(-gamma * ((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    e = np.concatenate([np.full(ns, 1 / ns), np.full(nt, -1 / nt)])
    return K, e, np.eye(ns + nt) - 1 / (ns + nt)


def literal_solution(K, e, H, mu, k):
    """Leading eigenpairs of the matrix in the paper, by a solver for general matrices."""
    n = len(K)
    matrix = np.linalg.inv(K @ np.outer(e, e) @ K + mu * np.eye(n)) @ K @ H @ K
    values, vectors = eig(matrix)
    order = np.argsort(-values.real)[:k]
    return values[order].real, vectors[:, order].real


@pytest.mark.parametrize("mu", [0.1, 1.0, 10.0])
def test_it_solves_the_literal_eigenproblem(domains, mu):
    method = TransferComponentAnalysis(3, mu=mu).fit(domains.Xs, domains.ys, domains.Xt)
    K, e, H = problem(domains, method.gamma_)
    values, vectors = literal_solution(K, e, H, mu, 3)
    np.testing.assert_allclose(method.eigenvalues_, values, rtol=1e-6)
    # Eigenvectors are free in length and sign.
    ours = method.coefficients_ / np.linalg.norm(method.coefficients_, axis=0)
    theirs = vectors / np.linalg.norm(vectors, axis=0)
    theirs *= np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_lanczos_and_the_dense_solver_agree(domains, k, monkeypatch):
    K, e, _ = problem(domains, 0.1)
    values, W = transfer_components(K, e, 0.5, k)  # these tables are above the limit
    monkeypatch.setattr("baselines.transfer_components._DENSE_UP_TO", len(K))
    dense_values, dense_W = transfer_components(K, e, 0.5, k)
    np.testing.assert_allclose(values, dense_values, rtol=1e-9)
    np.testing.assert_allclose(K @ W, K @ dense_W, atol=1e-6)


def test_a_share_takes_as_many_components_as_hold_it(domains):
    method = TransferComponentAnalysis(0.9, mu=0.5).fit(domains.Xs, domains.ys, domains.Xt)
    K, e, H = problem(domains, method.gamma_)
    values = literal_solution(K, e, H, 0.5, len(K))[0]
    shares = np.cumsum(values) / values.sum()
    k = method.n_components_
    assert shares[k - 1] >= 0.9
    assert k == 1 or shares[k - 2] < 0.9
    same = TransferComponentAnalysis(k, mu=0.5).fit(domains.Xs, domains.ys, domains.Xt)
    np.testing.assert_allclose(method.transform(domains.Xs), same.transform(domains.Xs), atol=1e-6)


def test_new_rows_are_projected_by_the_kernel(moons):
    method = TransferComponentAnalysis(3, gamma=0.7).fit(moons.Xs, moons.ys, moons.Xt)
    new = moons.Xt[:4] + 0.01
    rows = np.concatenate([moons.Xs, moons.Xt])
    K = np.exp(-0.7 * ((new[:, None] - rows[None]) ** 2).sum(axis=2))
    source = method._map_target(moons.Xs) + method.offset_
    expected = K @ method.coefficients_ - source.mean(axis=0)
    np.testing.assert_allclose(method.transform(new), expected, atol=1e-10)


def test_signs_and_offsets_of_the_components_change_no_prediction(domains, monkeypatch):
    # Eigenvectors are free in sign, and the problem determines no offset: SVC(gamma="scale") would
    # see both in components that are not centred.
    plain = TransferComponentAnalysis().fit(domains.Xs, domains.ys, domains.Xt)
    decision, found = plain.decision_function(domains.Xt), transfer_components
    shift = 3 * np.random.default_rng(0).normal(size=plain.n_components_)

    def flipped(K, *args, **kwargs):
        values, W = found(K, *args, **kwargs)
        # A constant function of the rows, up to rounding, as a further freedom of the solution.
        constant = np.linalg.lstsq(K, np.ones(len(K)))[0]
        signs = np.where(np.arange(len(values)) % 2, 1, -1)
        shifts = np.resize(shift, len(values))
        return values, W * signs + constant[:, None] * shifts

    monkeypatch.setattr("baselines.transfer_components.transfer_components", flipped)
    method = TransferComponentAnalysis().fit(domains.Xs, domains.ys, domains.Xt)
    assert method.n_components_ == plain.n_components_
    np.testing.assert_allclose(
        np.abs(method.transform(domains.Xt)), np.abs(plain.transform(domains.Xt)), atol=1e-5
    )
    np.testing.assert_allclose(method.decision_function(domains.Xt), decision, atol=1e-2)
    # The bandwidth of the classifier, to which the fault went.
    assert method.classifier_._gamma == pytest.approx(plain.classifier_._gamma, rel=1e-6)


@pytest.mark.parametrize("wrong", [0, 110, 0.0, 1.0, True, None, "all"])
def test_an_impossible_number_of_components_is_refused(moons, wrong):
    with pytest.raises(ValueError, match=r"n_components must be an integer from 1 to 109"):
        TransferComponentAnalysis(wrong).fit(moons.Xs, moons.ys, moons.Xt)


def test_more_components_than_directions_are_refused(moons):
    with pytest.raises(ValueError, match=r"Only 2 directions .* n_components=3"):
        TransferComponentAnalysis(3, kernel="linear").fit(moons.Xs, moons.ys, moons.Xt)
    Xs, Xt = np.ones_like(moons.Xs), np.ones_like(moons.Xt)
    with pytest.raises(ValueError, match="Only 0 directions of the kernel space"):
        TransferComponentAnalysis(kernel="linear").fit(Xs, moons.ys, Xt)
