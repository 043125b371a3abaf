import numpy as np
import pytest
from hydra.utils import instantiate

from experiments.cells.configuration import compose_config
from experiments.datasets.base import unlock
from experiments.datasets.gaussians import Gaussians


def test_the_tasks_are_the_papers():
    tasks = [Gaussians().task(name) for name in Gaussians().task_names]
    assert [task.label for task in tasks] == [f"gaussians/{name}" for name in ("2-3", "3-2", "4-8")]
    for task, (m, n) in zip(tasks, ((2, 3), (3, 2), (4, 8)), strict=True):
        assert task.Xs.shape == task.Xt.shape == task.X_test.shape == (1000, 2)
        assert np.unique(task.ys).tolist() == list(range(m))
        assert np.unique(unlock(task.yt)).tolist() == list(range(n))


def test_each_component_has_its_mixtures_mean_and_covariance():
    data = Gaussians(n_source=40_000)
    source = data.mixture("4-8", "source", 4, 0.0)
    task = data.task("4-8")
    for j in range(4):
        rows = task.Xs[task.ys == j]
        assert len(rows) == pytest.approx(10_000, rel=0.05)
        np.testing.assert_allclose(rows.mean(0), source.means[j], atol=0.04)
        covariance = source.factors[j] @ source.factors[j].T
        np.testing.assert_allclose(np.cov(rows.T), covariance, atol=0.04)


def test_the_same_draw_gives_the_same_rows_and_another_one_others():
    assert Gaussians().task("2-3").sha256 == Gaussians().task("2-3").sha256
    assert Gaussians().task("2-3").sha256 != Gaussians(draw=1).task("2-3").sha256
    assert Gaussians().task("2-3").sha256 != Gaussians().task("3-2").sha256


def test_the_config_gives_the_classes_defaults():
    data = instantiate(compose_config(("dataset=gaussians",)).dataset.data, _convert_="all")
    assert data.task("2-3").sha256 == Gaussians().task("2-3").sha256
    assert data.task_names == Gaussians().task_names


@pytest.mark.parametrize("name", ["2", "2-", "0-3", "2-3-4", "a-b", "100-2", ""])
def test_a_name_that_is_no_pair_of_counts_is_refused(name):
    with pytest.raises(ValueError, match="named by its components"):
        Gaussians().task(name)
