"""The gallery: every example runs, and says what its docstring promises."""

import re
import runpy

import numpy as np
import pytest
import sklearn
from programs import ROOT
from sklearn.base import clone
from sklearn.svm import SVC

EXAMPLES = ROOT / "examples"
# Those that need other input have tests of their own.
RUN = sorted(p.name for p in EXAMPLES.glob("*.py") if not p.stem.endswith("_blocks"))


@pytest.mark.parametrize("name", RUN)
@pytest.mark.filterwarnings("default")  # of the libraries that examples join
def test_an_example_runs_and_prints_numbers(name, capsys):
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    text = capsys.readouterr().out
    assert re.search(r"\d", text)
    if name == "adapt.py":
        before, after = map(float, re.findall(r"([\d.]+) %", text))
        assert before < 75
        assert after > 90


def test_the_skada_adapter_moves_the_source_and_nothing_else():
    from examples.skada_adapter import KnotheRosenblattAdapter

    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(150, 2)), 3 * rng.normal(size=(150, 2)) + 5
    X, domain = np.vstack([Xs, Xt]), np.repeat([1, -2], 150)
    adapter = KnotheRosenblattAdapter(max_steps=200, random_state=0)
    moved = adapter.fit_transform(X, sample_domain=domain)
    np.testing.assert_array_equal(moved[150:], Xt)
    np.testing.assert_allclose(moved[:150].mean(axis=0), Xt.mean(axis=0), atol=0.6)
    np.testing.assert_array_equal(adapter.transform(Xt, sample_domain=domain[150:]), Xt)


def test_the_skada_adapter_works_in_a_pipeline_and_never_sees_labels():
    from skada import make_da_pipeline

    from examples.skada_adapter import KnotheRosenblattAdapter

    sklearn.set_config(enable_metadata_routing=True)  # skada does so once, when it is imported
    rng = np.random.default_rng(0)
    ys = np.arange(120) % 2
    Xs = rng.normal(size=(120, 2)) + 4 * ys[:, None]
    X, y = np.vstack([Xs, Xs + 20]), np.concatenate([ys, ys])
    domain = np.repeat([1, -2], 120)
    pipeline = make_da_pipeline(KnotheRosenblattAdapter(max_steps=200, random_state=0), SVC())
    predicted = [
        clone(pipeline).fit(X, labels, sample_domain=domain).predict(X[120:])
        for labels in (y, np.concatenate([ys, 1 - ys]))
    ]
    assert np.mean(predicted[0] == ys) > 0.9
    np.testing.assert_array_equal(*predicted)
