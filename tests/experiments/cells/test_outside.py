import numpy as np
import pytest
from cell_factory import make_cell

from experiments.cells.outside import Outside
from experiments.cells.repetitions import run_cell


class Recorder:
    def fit(self, X, y, sample_domain):
        self.fitted = X, y, sample_domain

    def predict(self, X, sample_domain):
        self.domain = sample_domain
        return np.ones(len(X))


def test_an_estimator_gets_both_domains_and_no_target_label():
    source, target = np.zeros((3, 2)), np.ones((2, 2))
    method = Outside(Recorder()).fit(source, np.array(["a", "b", "a"]), target)
    X, y, domain = method.estimator.fitted
    assert (np.concatenate([source, target]) == X).all()
    assert y.tolist() == [0, 1, 0, -1, -1]
    assert domain.tolist() == [1, 1, 1, -2, -2]
    assert method.predict(target).tolist() == ["b", "b"]
    assert set(method.estimator.domain) == {-2}


@pytest.mark.slow
def test_a_config_runs_an_estimator_by_its_dotted_name():
    pytest.importorskip("skada")
    cell = make_cell(
        "method._target_=experiments.cells.outside.Outside",
        "~method.classifier",
        "+method.estimator._target_=skada.CORAL",
    )
    record = run_cell(cell)
    assert record.complete, record.outcomes
    assert "skada" in record.environment["libraries"]
