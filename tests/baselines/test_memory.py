"""Tables whose matrices cannot be held are refused at once, and with what to do."""

from __future__ import annotations

import numpy as np
import pytest

from baselines import memory, transfer_components
from baselines.kernel_mean_matching import KernelMeanMatching
from baselines.memory import check_matrix_size, memory_limit
from baselines.optimal_transport import OptimalTransport
from baselines.transfer_components import TransferComponentAnalysis

QUADRATIC = {
    "emd": OptimalTransport,
    "sinkhorn": lambda: OptimalTransport("sinkhorn"),
    "sinkhorn_lpl1": lambda: OptimalTransport("sinkhorn_lpl1"),
    "tca": TransferComponentAnalysis,
    "tca_dense": lambda: TransferComponentAnalysis(40),
    "kmm": KernelMeanMatching,
}


def limit_to(monkeypatch, n_bytes):
    monkeypatch.setattr(memory, "memory_limit", lambda: float(n_bytes))


def test_the_message_says_what_is_held_what_there_is_and_what_would_fit(monkeypatch):
    limit_to(monkeypatch, 16e9)
    about = {"what": "rows by rows", "method": "A method", "copies": 8}
    with pytest.raises(MemoryError) as caught:
        check_matrix_size(50_000, 20_000, **about)
    for part in (
        "A method holds 8 matrices of rows by rows, 50,000 x 20,000",
        "64.0 GB",
        "16.0 GB",
        "25,000 x 10,000 would fit",
        "OptimalTransport(transport='linear')",
    ):
        assert part in str(caught.value)
    check_matrix_size(25_000, 10_000, **about)


@pytest.mark.parametrize("name", QUADRATIC)
def test_a_method_of_quadratic_memory_refuses_before_it_works(name, blobs, monkeypatch):
    limit_to(monkeypatch, 1000)

    def work(*args, **kwargs):
        raise AssertionError("began to work")

    for module, function in (
        ("baselines.transfer_components", "bandwidth"),
        ("baselines.kernel_mean_matching", "bandwidth"),
        ("baselines.optimal_transport", "OptimalTransport._solver"),
    ):
        monkeypatch.setattr(f"{module}.{function}", work)
    with pytest.raises(MemoryError, match="Draw subsamples"):
        QUADRATIC[name]().fit(blobs.Xs, blobs.ys, blobs.Xt)


def test_transfer_components_ask_again_where_a_share_turns_out_to_take_the_dense_solver(
    blobs, monkeypatch
):
    # So narrow a kernel that nearly all components are needed for the share.
    method = transfer_components.TransferComponentAnalysis(gamma=1e4, n_components=0.95)
    n = len(blobs.Xs) + len(blobs.Xt)
    assert n > transfer_components._DENSE_UP_TO
    limit_to(monkeypatch, 8 * (transfer_components._DENSE_COPIES - 1) * n**2)
    with pytest.raises(MemoryError, match="all training rows"):
        method.fit(blobs.Xs, blobs.ys, blobs.Xt)


def test_linear_transport_needs_no_matrix_of_rows(blobs, monkeypatch):
    limit_to(monkeypatch, 1000)
    OptimalTransport("linear").fit(blobs.Xs, blobs.ys, blobs.Xt)


def test_limits_of_control_groups_around_the_own_one_count(tmp_path, monkeypatch):
    (tmp_path / "job" / "step").mkdir(parents=True)
    (tmp_path / "job" / "step" / "memory.max").write_text("max\n")
    (tmp_path / "job" / "memory.max").write_text("3000000\n")
    own = tmp_path / "cgroup"
    own.write_text("1:cpu:/other\n0::/job/step\n")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "_OWN_CGROUP", own)
    assert memory_limit() == 3_000_000


def test_many_rows_are_projected_in_parts_to_the_same_place(blobs, monkeypatch):
    method = TransferComponentAnalysis().fit(blobs.Xs, blobs.ys, blobs.Xt)
    whole = method.transform(blobs.Xt)
    monkeypatch.setattr(transfer_components, "_PREDICTION_ROWS", 10)
    np.testing.assert_allclose(method.transform(blobs.Xt), whole, rtol=1e-10, atol=1e-12)
