"""What is broken in dalib is repaired here, and importing it leaves no trace."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from baselines.deep import dalib_compat

ROOT = Path(__file__).parents[3]


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


CHECK_IMPORTS = """
import sys
import baselines.deep.adversarial, baselines.deep.discrepancy, baselines.deep.source_hypothesis
for name in sys.modules:
    assert name.split(".")[0] not in ("qpsolvers", "torchvision", "PIL"), name
    assert not name.startswith("dalib.vision"), name
sys.path.insert(0, sys.argv[1])
import qpsolvers
assert qpsolvers.real, qpsolvers
print("clean")
"""


def test_importing_the_methods_is_silent_and_leaves_the_real_qpsolvers_alone(tmp_path):
    (tmp_path / "qpsolvers.py").write_text("real = True")
    command = [sys.executable, "-c", CHECK_IMPORTS, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "clean\n", done.stderr
    assert done.stderr == ""


def test_a_missing_dalib_is_named_with_the_way_to_install_it(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "dalib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dalib", None)
    before = sys.modules.get("qpsolvers")
    with pytest.raises(ModuleNotFoundError, match=r"--no-deps dalib==0\.2"):
        runpy.run_path(dalib_compat.__file__)
    assert sys.modules.get("qpsolvers") is before
