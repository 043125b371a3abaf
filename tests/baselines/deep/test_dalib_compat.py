"""What is broken in dalib is repaired here, and importing it leaves no trace."""

import importlib
import runpy
import sys

import numpy as np
import pytest
import torch

from baselines.deep import dalib_compat


def test_reversal_follows_dalibs_schedule_step_by_step(monkeypatch):
    monkeypatch.setattr(np, "float", float, raising=False)
    original = dalib_compat.WarmStartGradientReverseLayer(max_iters=50, auto_step=True)
    ours = dalib_compat.GradientReversal(warmup_steps=50)
    for step in range(120):
        expected = 2 / (1 + np.exp(-step / 50)) - 1
        for layer in (ours, original):
            x = torch.ones(3, requires_grad=True)
            y = layer(x)
            assert torch.equal(y, x)
            y.sum().backward()
            assert -x.grad[0].item() == pytest.approx(expected, abs=1e-6)


@pytest.fixture
def without_dalib(monkeypatch):
    """As in a process that has not loaded dalib, nor what its own packages ask for."""
    for name in list(sys.modules):
        if name.split(".")[0] in ("dalib", "qpsolvers", "torchvision"):
            monkeypatch.delitem(sys.modules, name)
    # So that what a test imports under this name is removed when it ends.
    monkeypatch.setitem(sys.modules, "qpsolvers", None)
    monkeypatch.delitem(sys.modules, "qpsolvers")


def test_importing_it_is_silent_and_leaves_the_real_qpsolvers_alone(
    without_dalib, tmp_path, monkeypatch, capfd
):
    (tmp_path / "qpsolvers.py").write_text("real = True")
    monkeypatch.syspath_prepend(tmp_path)
    runpy.run_path(dalib_compat.__file__)
    assert capfd.readouterr() == ("", "")
    for name in sys.modules:
        assert name.split(".")[0] not in ("qpsolvers", "torchvision"), name
        assert not name.startswith("dalib.vision"), name
    assert importlib.import_module("qpsolvers").real


def test_a_missing_dalib_is_named_with_the_way_to_install_it(without_dalib, monkeypatch):
    monkeypatch.setitem(sys.modules, "dalib", None)
    with pytest.raises(ModuleNotFoundError, match=r"--no-deps dalib==0\.2"):
        runpy.run_path(dalib_compat.__file__)
    assert "qpsolvers" not in sys.modules
