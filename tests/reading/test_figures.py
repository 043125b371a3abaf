"""Figures show what the frames and stored numbers say, and mark what is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up import plan_of, random_values, runs_of

from experiments.analysis.cells import summarise
from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.cells.plan import load_curve
from experiments.reading.figures import Figure, render_figures
from experiments.reading.figures.accuracy import draw_accuracy, draw_learning_curve
from experiments.reading.figures.comparisons import (
    costs,
    draw_differences,
    draw_ranks,
    draw_runtime,
)
from experiments.reading.figures.densities import draw_marginals
from experiments.reading.figures.numbers import MARGINALS, ROWS, load, save
from experiments.reading.figures.style import LINES
from experiments.reading.figures.transport import draw_components, draw_gaussians, draw_moons

PLAN = replace(
    plan_of(ours=("standardize",)), tasks=("10", "40", "90"), aside=(),
    paper=("source_only", "target_only", "sa", "krda"),
)  # fmt: skip


def table_of(**changes) -> Table:
    values = random_values(PLAN, 1) | changes.pop("values", {})
    for key in changes.pop("without", ()):
        del values[key]
    return Table(PLAN, runs_of(values))


def texts(figure) -> str:
    return " ".join(text.get_text() for axis in figure.axes for text in axis.texts)


def test_accuracies_are_where_the_cells_put_them() -> None:
    table = table_of()
    figure = draw_accuracy(table)
    for axis, (label, own) in zip(
        figure.axes, table.cells[table.cells.in_paper].groupby("label", sort=False), strict=False
    ):
        assert axis.get_title() == label
        ours, published = (line.get_ydata() for line in axis.lines)
        assert np.allclose(ours, own["mean"])
        assert np.allclose(published, own.published_mean)


def test_missing_and_unfinished_cells_are_marked() -> None:
    values = {("40", "krda"): [0.9, 0.9, 0.9, 0.9, "failed: made up"]}
    table = table_of(values=values, without=[("10", "sa")])
    for draw in (draw_accuracy, draw_differences):
        assert "missing" in texts(draw(table))
        assert "4/5" in texts(draw(table))
    assert costs(table).isna().all(axis=1)[["SA"]].all()


def test_differences_are_ours_minus_published_and_suspect_values_marked() -> None:
    table = table_of()
    figure = draw_differences(table)
    image = figure.axes[0].images[0].get_array()
    krda = table.cells[table.cells.method == "krda"].difference
    assert np.allclose(np.asarray(image)[:, 3], krda)
    assert "†" in texts(figure)  # SA's column


def test_costs_are_medians_of_seconds_and_means_over_the_tasks() -> None:
    table = table_of()
    found = costs(table)
    assert list(found.index) == list(table.labels.values())
    assert found.seconds.eq(0.1).all()
    krda = table.cells["mean"][table.cells.method == "krda"].mean()
    assert found.accuracy["KRDA"] == pytest.approx(krda)
    assert draw_runtime(table) is not None


def test_nothing_is_drawn_of_nothing() -> None:
    empty = Table(PLAN, runs_of({}))
    for draw in (draw_accuracy, draw_differences, draw_runtime, draw_ranks):
        assert draw(empty) is None
    assert draw_ranks(table_of()) is not None


def test_a_learning_curve_has_a_gap_where_a_record_is_missing() -> None:
    plan = load_curve("moons_rows")
    keys = [(str(rows), method) for rows in plan.values for method in plan.methods]
    values = {key: [0.7, 0.8, 0.9, 0.8, 0.7] for key in keys if key != ("600", "sa")}
    cells = summarise(runs_of(values), keys, 5)
    figure = draw_learning_curve(plan, cells.assign(label=cells.method.map(method_label)))
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == "SA"]
    assert np.isnan(line.get_ydata()).tolist() == [False, False, True, False, False]
    assert "missing" in texts(figure)
    # All methods of a panel differ in colour, dashes and marker.
    most = len(plan.everywhere) + max(map(len, plan.panels.values()))
    for looks in zip(*LINES, strict=True):
        assert len(set(map(str, looks[:most]))) == most


def rows() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    parts = [
        pd.DataFrame(generator.normal(size=(30, 2)), columns=["x", "y"]).assign(kind=kind)
        for kind in ("source", "transported", "target")
    ]
    found = pd.concat(parts, ignore_index=True)
    return found.assign(label=found.index % 2)[["kind", "label", "x", "y"]]


def test_panels_of_rows_show_mappings_and_say_what_is_missing(tmp_path: Path) -> None:
    assert draw_moons(tmp_path) is None
    assert draw_gaussians(tmp_path) is None
    for name in ("moons_40", "moons_components_2", "gaussians_3-2"):
        save(rows(), tmp_path / f"{name}.csv")
    assert len(draw_moons(tmp_path).axes[1].texts) == 12
    assert [len(axis.texts) for axis in draw_gaussians(tmp_path).axes] == [0, 12, 0]
    assert "missing" in draw_components(tmp_path).axes[1].get_title()


def test_marginals_are_heat_maps_with_an_empty_line_for_a_missing_task(tmp_path: Path) -> None:
    assert draw_marginals(PLAN, tmp_path) is None
    lines = [(task, "abc", column, 0.2, 0.1) for task in ("10", "40") for column in range(2)]
    found = pd.DataFrame(lines, columns=list(MARGINALS))
    save(found, tmp_path / "marginals_moons.csv")
    after = draw_marginals(PLAN, tmp_path).axes[1].images[0].get_array()
    assert np.allclose(after[:2], 0.1)
    assert after.mask[2].all()


def test_stored_numbers_come_back_and_damaged_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    save(rows(), path, "abc", 7)
    found, identity = load(path, ROWS)
    assert identity == "abc"
    assert np.allclose(found.x, rows().x, rtol=1e-6)
    for damage in ("", "# abc\n", "kind,label\n1,2\n", "# x\nkind,label,x,y\nsource,0,1\n"):
        path.write_text(damage)
        with pytest.raises(ValueError, match="delete it"):
            load(path, ROWS)


def test_a_figure_that_fails_costs_no_other_one(rendered, tmp_path: Path, monkeypatch) -> None:
    def broken(table):
        yield Figure("broken", "", lambda _: 1 / 0)
        yield Figure(f"accuracy_{table.name}", "", lambda _: draw_accuracy(table))

    monkeypatch.setattr("experiments.reading.figures.figures_of", broken)
    _, failures = render_figures(rendered.results, tmp_path, lambda line: None)
    assert failures == ["broken: ZeroDivisionError: division by zero"] * 2
    assert (tmp_path / "accuracy_moons.png").is_file()
    assert b"/Type3" not in (tmp_path / "accuracy_moons.pdf").read_bytes()  # fonts are embedded
