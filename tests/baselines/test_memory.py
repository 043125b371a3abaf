"""Tables whose matrices cannot be held are refused at once, and with what to do."""

from __future__ import annotations

import resource
import subprocess
import sys

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


def check(n, m, copies):
    check_matrix_size(n, m, what="rows by rows", method="A method", copies=copies)


def test_as_much_as_the_limit_passes_and_one_row_more_does_not(monkeypatch):
    limit_to(monkeypatch, 8 * 3 * 100 * 50)
    check(100, 50, 3)
    with pytest.raises(MemoryError):
        check(101, 50, 3)


def test_the_message_says_what_is_held_what_there_is_and_what_would_fit(monkeypatch):
    limit_to(monkeypatch, 16e9)
    with pytest.raises(MemoryError) as caught:
        check(50_000, 20_000, 8)
    for part in (
        "A method holds 8 matrices of rows by rows, 50,000 x 20,000",
        "64.0 GB",
        "16.0 GB",
        "25,000 x 10,000 would fit",
        "OptimalTransport(transport='linear')",
    ):
        assert part in str(caught.value)
    check(25_000, 10_000, 8)


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


def test_a_large_target_is_refused_by_kernel_mean_matching_too(blobs, monkeypatch):
    Xt = np.tile(blobs.Xt, (10, 1))
    limit_to(monkeypatch, 8 * len(blobs.Xs) * (len(Xt) - 1))
    with pytest.raises(MemoryError, match="source by target rows"):
        KernelMeanMatching().fit(blobs.Xs, blobs.ys, Xt)


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


def test_a_limit_of_the_address_space_counts():
    if resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY:
        pytest.skip("the address space is limited already")
    limit = int(min(memory_limit() // 2, 2**40))
    code = f"""
import resource
from baselines.memory import memory_limit
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
assert memory_limit() == {limit}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_limits_of_control_groups_around_the_own_one_count(tmp_path, monkeypatch):
    (tmp_path / "job" / "step").mkdir(parents=True)
    (tmp_path / "job" / "step" / "memory.max").write_text("max\n")
    (tmp_path / "job" / "memory.max").write_text("3000000\n")
    own = tmp_path / "cgroup"
    own.write_text("1:cpu:/other\n0::/job/step\n")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "_OWN_CGROUP", own)
    assert memory_limit() == 3_000_000


def test_a_system_that_tells_no_limit_has_none(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_OWN_CGROUP", tmp_path / "missing")
    monkeypatch.delattr("os.sysconf")
    monkeypatch.setitem(sys.modules, "resource", None)
    assert memory_limit() == np.inf


def test_many_rows_are_projected_in_parts_to_the_same_place(blobs, monkeypatch):
    method = TransferComponentAnalysis().fit(blobs.Xs, blobs.ys, blobs.Xt)
    whole = method.transform(blobs.Xt)
    monkeypatch.setattr(transfer_components, "_PREDICTION_ROWS", 10)
    np.testing.assert_allclose(method.transform(blobs.Xt), whole, rtol=1e-10, atol=1e-12)
