"""The kernels of numerical libraries: pinned in every process of the benchmark, nowhere else."""

import ast
import json
import os
import sys
from pathlib import Path

import piqp
import pytest
from programs import ROOT, WITH_HELPERS, run_python

from experiments import threads
from experiments.running.engine import Engine
from experiments.store.provenance import kernels_in_use
from experiments.store.records import RecordStore
from experiments.threads import KERNELS, SWITCH

PRESET = {
    "OPENBLAS_CORETYPE": "Nehalem", "ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "AUTO",
    "NPY_ENABLE_CPU_FEATURES": "X86_V3", "NUMBA_CPU_NAME": "generic",
}  # fmt: skip
OTHER = {
    SWITCH: "unpinned", "OPENBLAS_CORETYPE": "Nehalem", "ATEN_CPU_CAPABILITY": "default",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3", "NUMBA_DISABLE_JIT": "1",
}  # fmt: skip
PINNED = {"pinned": True, "torch": "AVX2", "blas": ["openblas Haswell"]}

needs_avx2 = pytest.mark.skipif(not threads._has_avx2(), reason="nothing is pinned without AVX2")


def run(code, **variables):
    """What code prints in a fresh process with these variables and none of the pinned ones."""
    chosen = {k: v for k, v in os.environ.items() if k not in {*KERNELS, SWITCH}}
    return json.loads(run_python("-c", code, env=chosen | variables, check=True).stdout)


def kernels_of_a_worker():
    engine = Engine(RecordStore(Path("nowhere")))
    try:
        return engine.call(kernels_in_use)
    finally:
        engine.stop()


def assert_pinned(kernels):
    assert {name: kernels[name] for name in PINNED} == PINNED
    assert kernels["mkl"] in ("COMPATIBLE", None)


@pytest.fixture(scope="module")
def of_a_command():
    """Kernels of a command and of its worker, and the modules that deep methods leave loaded."""
    code = (
        "from experiments.threads import limit_threads; limit_threads()\n"
        "import json, sys; from test_pinned_kernels import kernels_in_use, kernels_of_a_worker\n"
        "import baselines.deep.adversarial, baselines.deep.discrepancy\n"
        "import baselines.deep.source_hypothesis\n"
        "kernels = [kernels_in_use(), kernels_of_a_worker()]\n"
        "print(json.dumps([kernels, list(sys.modules)]))"
    )
    path = os.pathsep.join([WITH_HELPERS, *sys.path])
    return run(code, **PRESET, PYTHONPATH=path)


@needs_avx2
def test_a_command_and_its_workers_have_the_pinned_kernels_in_any_environment(of_a_command):
    for kernels in of_a_command[0]:
        assert_pinned(kernels)


def test_deep_methods_load_nothing_for_images_and_leave_no_stand_in_behind(of_a_command):
    for name in of_a_command[1]:
        assert name.split(".")[0] not in ("qpsolvers", "torchvision", "PIL"), name
        assert not name.startswith("dalib.vision"), name


@needs_avx2
def test_the_switch_lets_preset_variables_through():
    code = (
        "from experiments.threads import limit_threads; limit_threads()\n"
        "import json; from experiments.store.provenance import kernels_in_use\n"
        "print(json.dumps(kernels_in_use()))"
    )
    unpinned = run(code, **OTHER)
    assert not unpinned["pinned"]
    assert (unpinned["torch"], unpinned["blas"]) == ("DEFAULT", ["openblas Nehalem"])


@needs_avx2
@pytest.mark.skipif(os.environ.get(SWITCH) == "unpinned", reason="asked for other kernels")
def test_these_tests_run_with_the_pinned_kernels():
    assert_pinned(kernels_in_use())
    assert piqp.DenseSolver.__module__.endswith("avx2")


def test_a_processor_without_avx2_is_left_alone_with_one_warning(monkeypatch, capsys):
    monkeypatch.setattr(threads, "_has_avx2", lambda: False)
    for variable in (*KERNELS, SWITCH):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(SWITCH, "pinned")
    threads.set_thread_variables()
    threads.set_thread_variables()
    assert not any(variable in os.environ for variable in KERNELS)
    assert capsys.readouterr().err.count("AVX2") == 1


@pytest.mark.parametrize(
    "path",
    [*(p for p in sorted((ROOT / "scripts").glob("*.py")) if "__main__" in p.read_text()),
     ROOT / "studies" / "__init__.py",
     *(ROOT / "experiments" / f"{name}.py" for name in ("run", "reproduce", "explain"))],
    ids=lambda path: path.stem,
)  # fmt: skip
def test_a_command_pins_before_it_imports_anything_numerical(path):
    for statement in ast.parse(path.read_text()).body:
        if ast.unparse(statement) in ("limit_threads()", "set_thread_variables()"):
            return
        names = [alias.name for alias in getattr(statement, "names", [])]
        module = getattr(statement, "module", None)
        for name in [module] if module else names:
            allowed = name.partition(".")[0] in {*sys.stdlib_module_names, "hydra", "omegaconf"}
            assert allowed or name == "experiments.threads", f"{name} is imported first"
    pytest.fail("it pins nothing")
