"""Figures show what the frames and stored numbers say, and mark what is missing."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from made_up import plan_of, random_values, runs_of

from experiments.analysis.cells import summarise
from experiments.analysis.comparisons import families, rank_tests
from experiments.analysis.rounding import number
from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.cells.plan import load_curve, load_table
from experiments.reading.figures import Figure, render_figures
from experiments.reading.figures.accuracy import draw_accuracy, draw_learning_curve, draw_strengths
from experiments.reading.figures.comparisons import (
    draw_differences,
    draw_gains,
    draw_means,
    draw_ranks,
)
from experiments.reading.figures.densities import draw_marginals
from experiments.reading.figures.numbers import load, save
from experiments.reading.figures.style import read_words
from experiments.reading.figures.transport import draw_components, draw_gaussians, draw_moons

PLAN = replace(
    plan_of(ours=("standardize",)), tasks=("10", "40", "90"), aside=(),
    paper=("source_only", "target_only", "sa", "krda"),
)  # fmt: skip


def table_of(**changes):
    values = random_values(PLAN, 1) | changes.pop("values", {})
    for key in changes.pop("without", ()):
        del values[key]
    return Table(PLAN, runs_of(values))


def texts(figure):
    return " ".join(text.get_text() for axis in figure.axes for text in axis.texts)


def test_accuracies_are_where_the_cells_put_them():
    table = table_of()
    figure = draw_accuracy(table)
    for axis, (label, own) in zip(
        figure.axes, table.cells[table.cells.in_paper].groupby("label", sort=False), strict=False
    ):
        assert axis.get_title() == label
        _, ours, published = (line.get_ydata() for line in axis.lines)
        assert np.allclose(ours, own["mean"])
        assert np.allclose(published, own.published_mean)


def test_missing_and_unfinished_cells_are_marked():
    values = {("40", "krda"): [0.9, 0.9, 0.9, 0.9, "failed: made up"]}
    table = table_of(values=values, without=[("10", "sa")])
    for draw in (draw_accuracy, draw_differences):
        assert "missing" in texts(draw(table))
        assert "4/5" in texts(draw(table))


def test_differences_are_ours_minus_published_and_suspect_values_marked():
    table = table_of()
    figure = draw_differences(table)
    image = figure.axes[0].images[0].get_array()
    krda = table.cells[table.cells.method == "krda"].difference
    assert np.allclose(np.asarray(image)[:, 3], krda)
    assert "†" in texts(figure)  # SA's column


def test_nothing_is_drawn_of_nothing():
    empty = Table(PLAN, runs_of({}))
    for draw in (draw_accuracy, draw_gains, draw_means, draw_differences, draw_ranks):
        assert draw(empty) is None


def test_methods_are_below_each_other_the_best_on_top_each_with_its_value():
    table = table_of()
    means = table.means["mean"].ours
    figure = draw_means(table)
    (axis,) = figure.axes
    places = axis.collections[0].get_offsets()
    assert np.allclose(places[:, 0], means.sort_values(ascending=False))
    assert texts(figure).split() == [number(m) for m in sorted(means, reverse=True)]
    assert number(means["krda"]) in figure.words["Description"]


def test_gains_are_points_over_source_only():
    table = table_of()
    means = table.means["mean"].ours
    (axis,) = draw_gains(table).axes
    gains = (means - means["source_only"]).drop(["source_only", "standardize"])
    assert np.allclose(axis.collections[1].get_offsets()[:, 0], gains.sort_values()[::-1])


def test_the_bar_of_the_ranks_is_as_long_as_the_critical_difference():
    table = table_of()
    means = next(means for _, family, means in families(table.cells) if family == "paper")
    (axis,) = draw_ranks(table).axes
    (left, _), (right, _) = axis.collections[1].get_segments()[0]
    assert right - left == pytest.approx(rank_tests(means)["critical_difference"])


def test_strengths_have_a_panel_a_kind_and_name_what_is_gained_at_full_strength():
    plan = replace(load_table("dialled"), paper=("source_only", "krda", "ot"), ours=())
    values = {
        (task, method): [0.9 - 0.3 * float(task[-4:]) * (method == "source_only")] * 3
        for task in plan.tasks
        for method in plan.methods
        if (task, method) != ("warp-0.50", "ot")
    }
    table = Table(plan, runs_of(values, "dialled"), repetitions=3)
    figure = draw_strengths(table)
    assert [axis.get_title() for axis in figure.axes] == ["rotation", "warp", "shares"]
    assert "missing" in texts(figure)
    assert "KRDA +30.0 (rotation), +30.0 (warp), +30.0 (shares)" in figure.words["Description"]


def test_a_learning_curve_has_a_gap_where_a_record_is_missing():
    plan = load_curve("moons_rows")
    keys = [(str(rows), method) for rows in plan.values for method in plan.methods]
    values = {key: [0.7, 0.8, 0.9, 0.8, 0.7] for key in keys if key != ("600", "sa")}
    cells = summarise(runs_of(values), keys, 5)
    figure = draw_learning_curve(plan, cells.assign(label=cells.method.map(method_label)))
    (axis,) = [axis for axis in figure.axes if axis.get_title() == "SA"]
    _, line, *_ = axis.lines
    assert np.isnan(line.get_ydata().astype(float)).tolist() == [False, False, True, False, False]
    assert "missing" in texts(figure)


def rows():
    generator = np.random.default_rng(0)
    parts = [
        pd.DataFrame(generator.normal(size=(30, 2)), columns=["x", "y"]).assign(kind=kind)
        for kind in ("source", "transported", "target")
    ]
    found = pd.concat(parts, ignore_index=True)
    return found.assign(label=found.index % 2)[["kind", "label", "x", "y"]]


def test_panels_of_rows_show_mappings_and_say_what_is_missing(tmp_path):
    assert draw_moons(tmp_path) is None
    assert draw_gaussians(tmp_path) is None
    for name in ("moons_40", "moons_components_2", "gaussians_3-2"):
        save(rows(), tmp_path / f"{name}.csv")
    figure = draw_moons(tmp_path)
    assert len(figure.axes[1].texts) == 12
    assert "nearest target row" in figure.words["Description"]
    assert [len(axis.texts) for axis in draw_gaussians(tmp_path).axes] == [0, 12, 0]
    assert "missing" in draw_components(tmp_path).axes[1].get_title()


def test_marginals_are_heat_maps_with_an_empty_line_for_a_missing_task(tmp_path):
    assert draw_marginals(PLAN, tmp_path) is None
    lines = [(task, "abc", column, 0.2, 0.1) for task in ("10", "40") for column in range(2)]
    found = pd.DataFrame(lines, columns=["task", "identity", "column", "before", "after"])
    save(found, tmp_path / "marginals_moons.csv")
    after = draw_marginals(PLAN, tmp_path).axes[1].images[0].get_array()
    assert np.allclose(after[:2], 0.1)
    assert after.mask[2].all()


def test_stored_numbers_come_back(tmp_path):
    path = tmp_path / "rows.csv"
    save(rows(), path, "abc", 7)
    found, identity = load(path)
    assert identity == "abc"
    assert np.allclose(found.x, rows().x, rtol=1e-6)


def test_a_figure_that_fails_costs_no_other_one(recorded, tmp_path, monkeypatch):
    def broken(table, directory):
        yield Figure("", "broken", lambda: 1 / 0)
        yield Figure("", f"accuracy_{table.plan.name}", partial(draw_gains, table))

    monkeypatch.setattr("experiments.reading.figures.figures_of", broken)
    _, failures = render_figures(recorded.results, tmp_path, str)
    assert failures == ["broken: ZeroDivisionError: division by zero"] * 2
    seen, finding, identity = read_words(tmp_path / "accuracy_moons.svg")
    assert all((seen, finding, identity))
    assert b"/Type3" not in (tmp_path / "accuracy_moons.pdf").read_bytes()  # fonts are embedded


def test_a_figure_is_drawn_again_only_if_its_content_has_changed(recorded, tmp_path, monkeypatch):
    drawn = []

    def counted(table, directory):
        made_of = (contents[table.plan.name],)
        yield Figure(
            "", table.plan.name, lambda: drawn.append(table.plan.name) or draw_gains(table), made_of
        )

    monkeypatch.setattr("experiments.reading.figures.figures_of", counted)
    contents = {"moons": "a", "hepmass_sim": "b"}
    render_figures(recorded.results, tmp_path, str)
    contents["moons"] = "c"
    render_figures(recorded.results, tmp_path, str)
    (tmp_path / "numbers.csv").write_text("new")
    render_figures(recorded.results, tmp_path, str)
    assert drawn == ["moons", "hepmass_sim", "moons", "moons", "hepmass_sim"]
