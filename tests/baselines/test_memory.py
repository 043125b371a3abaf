"""Tables whose matrices cannot be held are refused at once, and with what to do."""

import os

import pytest

from baselines.kernel_mean_matching import KernelMeanMatching
from baselines.optimal_transport import OptimalTransport
from baselines.transfer_components import TransferComponentAnalysis
from krda import LinearOT

QUADRATIC = {
    "emd": OptimalTransport,
    "sinkhorn": lambda: OptimalTransport("sinkhorn"),
    "sinkhorn_lpl1": lambda: OptimalTransport("sinkhorn_lpl1"),
    "tca": TransferComponentAnalysis,
    "kmm": KernelMeanMatching,
}


@pytest.mark.parametrize("name", QUADRATIC)
def test_a_method_of_quadratic_memory_refuses_before_it_works(name, blobs, monkeypatch):
    def work(*args, **kwargs):
        raise AssertionError("began to work")

    for place in (
        "transfer_components.make_kernel",
        "kernel_mean_matching.make_kernel",
        "optimal_transport.OptimalTransport._solver",
    ):
        monkeypatch.setattr(f"baselines.{place}", work)
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    with pytest.raises(MemoryError, match=r"GB of this machine. Draw subsamples"):
        QUADRATIC[name]().fit(blobs.Xs, blobs.ys, blobs.Xt)
    LinearOT().fit(blobs.Xs, blobs.ys, blobs.Xt)
