import numpy as np
import pytest
from figure_store import MOONS, store_at

from experiments.cells.configuration import cell_from_config, compose_config
from experiments.reading.figures import Request, training
from experiments.reading.figures.training import Curves, load_curves, save_curves, training_curves


def made_up_curves():
    steps = np.arange(5.0, 55.0, 5.0)
    falling = 30 + 10 * np.exp(-steps / 10)
    rising = falling + 0.02 * (steps - 20).clip(0) ** 2
    return Curves(steps, np.column_stack([falling, rising, falling, rising + 1]), 20)


def test_curves_come_back_as_they_were_stored(tmp_path):
    path = tmp_path / "training.csv"
    save_curves(made_up_curves(), path, "0123456789ab")
    found, identity = load_curves(path)
    assert identity == "0123456789ab"
    assert found.kept == 20
    np.testing.assert_array_equal(found.steps, made_up_curves().steps)
    np.testing.assert_allclose(found.nll, made_up_curves().nll, rtol=1e-4)


@pytest.mark.parametrize("damage", [lambda t: t[20:], lambda t: t.replace(",1\n", ",0\n")])
def test_a_damaged_file_of_curves_is_refused(damage, tmp_path):
    path = tmp_path / "training.csv"
    save_curves(made_up_curves(), path, "0123456789ab")
    path.write_text(damage(path.read_text()))
    with pytest.raises(ValueError, match="does not hold training curves"):
        load_curves(path)


def test_both_domains_are_drawn_with_the_step_that_was_kept():
    figure = training.draw(made_up_curves(), title="Made up")
    assert [axis.get_title() for axis in figure.axes] == ["source", "target"]
    for axis in figure.axes:
        train, held_out, kept = axis.get_lines()
        assert len(train.get_xdata()) == len(held_out.get_xdata()) == 10
        assert set(kept.get_xdata()) == {20}
        # The minimum of the held-out curve is in sight.
        low, high = axis.get_ylim()
        assert low < min(held_out.get_ydata()) < high


def test_what_is_kept_is_the_step_of_the_lowest_held_out_nll():
    overrides = ("dataset=moons", "method=krda", "protocol=smoke", "method.max_steps=60")
    cell = cell_from_config(compose_config(overrides))
    curves = training_curves(cell)
    both = curves.nll[:, 1] + curves.nll[:, 3]
    assert curves.kept == curves.steps[np.argmin(both)]


def test_only_krda_has_a_density_to_show():
    cell = cell_from_config(compose_config(("dataset=moons", "method=sa", "protocol=smoke")))
    with pytest.raises(ValueError, match="sa is not KRDA"):
        training_curves(cell)


def test_without_stored_curves_the_figure_is_left_out_and_said_so(tmp_path):
    told = []
    request = Request(store_at(tmp_path), tmp_path, False, [MOONS], told.append)
    assert training.render(request) == []
    assert any("no curves are stored" in line for line in told)


def test_the_files_are_made_from_the_stored_curves(tmp_path):
    save_curves(made_up_curves(), tmp_path / f"training_{MOONS.name}.csv", "0" * 12)
    request = Request(store_at(tmp_path), tmp_path, False, [MOONS], lambda line: None)
    first = [path.read_bytes() for path in training.render(request)]
    assert len(first) == 2
    assert [path.read_bytes() for path in training.render(request)] == first
