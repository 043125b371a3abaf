import re
import subprocess
import sys
import warnings
from itertools import product

import numpy as np
import pytest
from cell_factory import make_cell
from figure_store import CURVE, MOONS, fill, renamed, store_at

from experiments.cells.curves import load_curve
from experiments.published import PublishedCell, published
from experiments.reading import figures
from experiments.reading.figures import (
    FIGURES,
    Request,
    accuracy,
    components,
    differences,
    gaussians,
    learning_curve,
    marginals,
    moons,
    moons_figure,
    render_figures,
    runtime,
)
from experiments.reading.figures.clouds import spread
from experiments.reading.figures.quantiles import (
    LEVELS,
    Marginals,
    load_marginals,
    marginals_identity,
    save_marginals,
)
from experiments.reading.figures.rows import (
    TransportRows,
    load_rows,
    obtain_rows,
    rows_identity,
    save_rows,
    transport_rows,
)
from experiments.reading.figures.style import METHOD_STYLES, footnote, save_figure
from experiments.reading.figures.values import cell_values


def made_up_rows(seed=0, n=40, n_labels=2):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_labels
    source = rng.normal(size=(n, 2)) + 4 * labels[:, None]
    return TransportRows(source, source + np.array([7, 0]), rng.normal(size=(n, 2)), labels, labels)


def made_up_marginals(d=2, seed=0):
    rng = np.random.default_rng(seed)
    source, transported, target = np.sort(rng.normal(size=(3, d, len(LEVELS))), axis=-1)
    return Marginals("0" * 12, source, transported, target, np.full(d, 0.5), np.full(d, 0.1))


@pytest.fixture(scope="module")
def cells():
    """Cells of the made-up table and curve; composing them takes most of the tests' time."""
    return MOONS.cells, CURVE.cells


@pytest.fixture
def store(cells, tmp_path):
    return fill(store_at(tmp_path), cells[0])


def texts(figure):
    from matplotlib.text import Text

    return [found.get_text() for found in figure.findobj(Text)]


def is_arrow(text):
    return getattr(text, "arrow_patch", None) is not None


def assert_same_bytes_and_embedded_fonts(draw, tmp_path):
    first = save_figure(draw(), tmp_path / "a")
    second = save_figure(draw(), tmp_path / "b")
    assert [path.suffix for path in first] == [".png", ".pdf"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")
    pdf = first[1].read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert b"CreationDate" not in pdf


TABLE_FIGURES = {
    "accuracy": lambda v: accuracy.draw(MOONS, v, published("moons")),
    "differences": lambda v: differences.draw(MOONS, v, published("moons")),
    "runtime": lambda v: runtime.draw(MOONS, v),
}
ROW_FIGURES = {
    "moons": lambda: moons.draw(made_up_rows(), title="t"),
    "gaussians": lambda: gaussians.draw({"2-3": made_up_rows(), "3-2": None}),
    "components": lambda: components.draw({"2": made_up_rows(), "5": None}),
    "columns": lambda: marginals.draw_columns(MOONS, {"10": made_up_marginals()}),
    "statistics": lambda: marginals.draw_statistics(MOONS, {"10": made_up_marginals(27)}),
    "quantiles": lambda: marginals.draw_quantiles(MOONS, {"10": made_up_marginals(27)}),
}


@pytest.mark.parametrize("name", TABLE_FIGURES)
def test_the_same_records_give_the_same_bytes(name, store, cells, tmp_path):
    values = cell_values(cells[0], store)
    assert_same_bytes_and_embedded_fonts(lambda: TABLE_FIGURES[name](values), tmp_path)


def test_the_same_curve_gives_the_same_bytes(cells, tmp_path):
    values = cell_values(cells[1], fill(store_at(tmp_path), cells[1], skip=[(20, "sa")]))
    assert_same_bytes_and_embedded_fonts(lambda: learning_curve.draw(CURVE, values), tmp_path)


@pytest.mark.parametrize("name", ROW_FIGURES)
def test_the_same_rows_give_the_same_bytes(name, tmp_path):
    assert_same_bytes_and_embedded_fonts(ROW_FIGURES[name], tmp_path)


def test_a_footnote_adds_a_strip_below_and_moves_nothing(tmp_path):
    def height(path):
        return int.from_bytes(path.read_bytes()[20:24], "big")

    plain, noted = ROW_FIGURES["moons"](), ROW_FIGURES["moons"]()
    footnote(noted, ["one line", "another line"])
    (before, _), (after, _) = save_figure(plain, tmp_path / "a"), save_figure(noted, tmp_path / "b")
    assert height(after) > height(before)
    for one, other in zip(plain.axes, noted.axes, strict=True):
        np.testing.assert_allclose(
            one.get_position().bounds, other.get_position().bounds, atol=0.01
        )


def test_a_persons_own_matplotlib_settings_change_no_figure(tmp_path):
    import matplotlib

    (plain, _) = save_figure(ROW_FIGURES["moons"](), tmp_path / "plain")
    with matplotlib.rc_context({"font.size": 20, "savefig.bbox": "tight", "lines.linewidth": 9}):
        (other, _) = save_figure(ROW_FIGURES["moons"](), tmp_path / "other")
    assert plain.read_bytes() == other.read_bytes()


def test_names_with_dots_stay_whole(tmp_path):
    paths = save_figure(ROW_FIGURES["moons"](), tmp_path / "moons_22.5")
    assert [path.name for path in paths] == ["moons_22.5.png", "moons_22.5.pdf"]


class TestTransports:
    def test_stored_rows_come_back(self, tmp_path):
        rows = made_up_rows()
        save_rows(rows, tmp_path / "rows.csv", "abc")
        loaded, identity = load_rows(tmp_path / "rows.csv")
        assert identity == "abc"
        for name in ("source", "transported", "target"):
            np.testing.assert_allclose(getattr(loaded, name), getattr(rows, name), rtol=1e-6)
        for name in ("source_labels", "target_labels"):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(rows, name))

    def test_rows_of_the_same_cell_are_not_computed_again_and_others_are(self, tmp_path):
        cell, path = make_cell(method="krda"), tmp_path / "rows.csv"
        assert obtain_rows(cell, path, compute=False) is None
        obtain_rows(cell, path, compute=True)
        marked = made_up_rows()
        save_rows(marked, path, rows_identity(cell))
        assert len(obtain_rows(cell, path, compute=True).source) == len(marked.source)
        save_rows(marked, path, "another")
        assert len(obtain_rows(cell, path, compute=False).source) == len(marked.source)
        assert len(obtain_rows(cell, path, compute=True).source) == 300

    def test_a_damaged_file_is_named(self, tmp_path):
        (tmp_path / "rows.csv").write_text("kind,label,x,y\nsource,0,1,2\n")
        with pytest.raises(ValueError, match=r"rows\.csv does not hold rows"):
            load_rows(tmp_path / "rows.csv")
        save_rows(made_up_rows(), tmp_path / "rows.csv", "abc")
        lines = (tmp_path / "rows.csv").read_text().splitlines(keepends=True)
        (tmp_path / "rows.csv").write_text("".join(lines[:50]))
        with pytest.raises(ValueError, match="40 source and 8 transported"):
            load_rows(tmp_path / "rows.csv")

    def test_nothing_is_drawn_where_nothing_was_stored(self, tmp_path):
        cell = make_cell(method="krda")
        assert moons_figure(cell, tmp_path, compute=False) == []
        paths = moons_figure(cell, tmp_path, compute=True)
        assert [path.name for path in paths] == ["moons_40.png", "moons_40.pdf"]

    def test_a_method_that_transports_nothing_has_no_such_figure(self):
        with pytest.raises(ValueError, match="not KRDA"):
            transport_rows(make_cell(method="source_only"))

    def test_panels_show_all_rows_and_the_asked_number_of_mappings(self):
        figure = gaussians.draw({"2-3": made_up_rows(n=40), "3-2": made_up_rows()}, n_mappings=5)
        for axis in figure.axes:
            assert [len(c.get_offsets()) for c in axis.collections] == [40, 40, 40]
            assert len([t for t in axis.texts if is_arrow(t)]) == 5
        assert [axis.get_title() for axis in figure.axes] == [
            "2 → 3 components",
            "3 → 2 components",
        ]

    def test_the_same_source_rows_are_followed_in_all_panels(self):
        first = made_up_rows()
        second = TransportRows(
            first.source, first.source - 3, first.target, first.source_labels, first.target_labels
        )
        figure = components.draw({"2": first, "5": second}, n_mappings=4)
        starts = []
        for axis in figure.axes:
            arrows = [t for t in axis.texts if is_arrow(t)]
            starts.append([tuple(t.xyann) for t in arrows])
            numbers = [t.get_text() for t in axis.texts if not is_arrow(t)]
            assert numbers == ["1", "1", "2", "2", "3", "3", "4", "4"]
        assert starts[0] == starts[1]

    def test_a_panel_without_rows_says_so(self):
        figure = components.draw({"2": made_up_rows(), "5": None})
        assert [t.get_text() for t in figure.axes[1].texts] == ["missing"]

    def test_spread_points_lie_apart(self):
        points = np.repeat(np.array([[0.0, 0], [10, 0], [0, 10], [10, 10]]), 20, axis=0)
        assert len({tuple(points[i]) for i in spread(points, 4)}) == 4
        assert len(spread(points[:3], 9)) == 3


class TestTableFigures:
    def test_accuracies_stand_where_the_records_put_them(self, store, cells):
        values = cell_values(cells[0], store)
        figure = accuracy.draw(MOONS, values, published("moons"))
        assert [axis.get_title() for axis in figure.axes] == [
            "Source only", "Target only", "SA", "KRDA",
        ]  # fmt: skip
        ours = {c.get_label(): c for c in figure.axes[3].containers}
        assert set(ours) == {"ours", "published"}
        assert list(ours["ours"].lines[0].get_xdata()) == [10, 40, 90]
        np.testing.assert_allclose(
            ours["ours"].lines[0].get_ydata(orig=False),
            [values[task, "krda"].interval.mean for task in MOONS.tasks],
        )
        np.testing.assert_allclose(
            ours["published"].lines[0].get_ydata(orig=False),
            [published("moons")[task, "krda"].mean for task in MOONS.tasks],
        )

    def test_tasks_without_order_are_not_joined(self, store, cells):
        plan = renamed(MOONS, tasks=("B-D", "B-E", "B-K"), task_label="{}")
        values = {
            (plan.tasks[MOONS.tasks.index(task)], method): value
            for (task, method), value in cell_values(cells[0], store).items()
        }
        figure = accuracy.draw(plan, values, {})
        for container in figure.axes[3].containers:
            assert container.lines[0].get_linestyle() == "None"
        assert "B→D" in texts(figure)

    def test_differences_are_ours_minus_published(self, store, cells):
        values = cell_values(cells[0], store)
        figure = differences.draw(MOONS, values, published("moons"))
        image = figure.axes[0].images[0].get_array()
        assert image.shape == (3, 4)
        ours = values["40", "sa"].interval.mean
        assert image[1, 2] == pytest.approx(ours - published("moons")["40", "sa"].mean)
        assert len(figure.axes[0].texts) == 12
        numbers = [t.get_text() for t in figure.axes[0].texts]
        assert all(re.fullmatch(r"(0\.0|[+−]\d+\.\d)†?", number) for number in numbers)

    def test_a_suspect_published_value_is_marked(self, store, cells):
        figure = differences.draw(MOONS, cell_values(cells[0], store), published("moons"))
        assert figure.axes[0].texts[2].get_text().endswith("†")  # SA
        assert not figure.axes[0].texts[0].get_text().endswith("†")
        assert any("anomalies.yaml" in text for text in texts(figure))

    def test_a_cell_without_record_and_one_without_all_repetitions_are_marked(
        self, cells, tmp_path
    ):
        store = fill(store_at(tmp_path), cells[0], skip=[("40", "sa")], partial=[("90", "krda")])
        values = cell_values(cells[0], store)
        figure = differences.draw(MOONS, values, published("moons"))
        numbers = [t.get_text() for t in figure.axes[0].texts]
        assert numbers[1 * 4 + 2] == "missing"
        assert numbers[2 * 4 + 3].endswith("(1/2)")
        assert np.isnan(figure.axes[0].images[0].get_array().filled(np.nan)[1, 2])
        figure = accuracy.draw(MOONS, values, published("moons"))
        assert np.isnan(figure.axes[2].containers[0].lines[0].get_ydata(orig=False)[1])
        assert [t.get_text() for t in figure.axes[2].texts] == ["missing"]
        assert [t.get_text() for t in figure.axes[3].texts] == ["1/2"]
        said = " ".join(texts(figure))
        assert "No record: SA (40°)." in said
        assert "Only 1/2 repetitions: KRDA (90°)." in said

    def test_a_cell_without_published_value_is_a_dash(self, store, cells):
        theirs = {("40", "krda"): PublishedCell(90.0, 1.0, False, "main")}
        figure = differences.draw(MOONS, cell_values(cells[0], store), theirs)
        assert [t.get_text() for t in figure.axes[0].texts][::2] == ["–", "–"]
        assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["KRDA"]

    def test_costs_are_medians_and_means_over_the_tasks(self, store, cells):
        values = cell_values(cells[0], store)
        found, left_out = runtime.costs(MOONS, values)
        own = [values[task, "krda"] for task in MOONS.tasks]
        assert found["krda"].accuracy == pytest.approx(np.mean([v.interval.mean for v in own]))
        assert found["krda"].seconds == np.median([s for v in own for s in v.fit_seconds])
        assert left_out == []

    def test_every_method_is_a_marker_with_its_name(self, store, cells):
        figure = runtime.draw(MOONS, cell_values(cells[0], store))
        (axis,) = figure.axes
        assert axis.get_xscale() == "log"
        assert sum(len(c.get_offsets()) for c in axis.collections) == 5
        assert {t.get_text() for t in axis.texts} == {
            "Source only", "Target only", "SA", "KRDA", "Each domain standardised",
        }  # fmt: skip

    def test_a_method_that_lacks_a_task_is_left_out_of_the_costs_and_named(self, cells, tmp_path):
        store = fill(store_at(tmp_path), cells[0], skip=[("40", "sa")])
        figure = runtime.draw(MOONS, cell_values(cells[0], store))
        assert sum(len(c.get_offsets()) for c in figure.axes[0].collections) == 4
        assert any("Not shown" in text and "SA" in text for text in texts(figure))

    def test_simulated_data_is_called_so_and_the_published_values_theirs(self, store, cells):
        plan = renamed(MOONS, dataset="hepmass_sim", title="HEPMASS")
        values = cell_values(cells[0], store)
        for figure in (
            accuracy.draw(plan, values, published("moons")),
            differences.draw(plan, values, published("moons")),
            runtime.draw(plan, values),
            marginals.draw_columns(plan, {"10": made_up_marginals()}),
            marginals.draw_statistics(plan, {"10": made_up_marginals()}),
            marginals.draw_quantiles(plan, {"10": made_up_marginals()}),
        ):
            assert "simulated" in figure.get_suptitle()
        said = texts(accuracy.draw(plan, values, published("moons")))
        assert any("real HEPMASS" in text for text in said)


class TestLearningCurve:
    def test_the_committed_plan_is_the_papers(self):
        plan = load_curve("moons_rows")
        assert plan.values == (200, 400, 600, 800, 1000)
        assert len(plan.methods) == 12
        assert set(plan.methods) == set(METHOD_STYLES)

    def test_its_cells_are_the_benchmarks_own(self, cells):
        cell = cells[1][40, "krda"]
        config = make_cell(
            "dataset.angle=40", "dataset.data.n_source=40", "dataset.data.n_target=40",
            method="krda",
        )  # fmt: skip
        assert cell.config_sha256 == config.config_sha256
        assert len(cell.load().Xs) == len(cell.load().Xt) == 40
        assert len(cells[1]) == 3 * 5

    def test_an_unknown_curve_is_refused(self):
        with pytest.raises(ValueError, match="moons_rows"):
            load_curve("nothing")

    def test_every_panel_has_its_lines_and_bands(self, cells, tmp_path):
        values = cell_values(cells[1], fill(store_at(tmp_path), cells[1]))
        figure = learning_curve.draw(CURVE, values)
        assert [len(axis.lines) for axis in figure.axes] == [3, 4]
        assert [len(axis.collections) for axis in figure.axes] == [3, 4]
        line = next(ln for ln in figure.axes[0].lines if ln.get_label() == "SA")
        np.testing.assert_allclose(
            line.get_ydata(), [values[x, "sa"].interval.mean for x in CURVE.values]
        )

    def test_a_missing_record_is_a_gap_and_named(self, cells, tmp_path):
        store = fill(store_at(tmp_path), cells[1], skip=[(40, "sa")], partial=[(60, "krda")])
        figure = learning_curve.draw(CURVE, cell_values(cells[1], store))
        line = next(ln for ln in figure.axes[0].lines if ln.get_label() == "SA")
        assert np.isnan(line.get_ydata()).tolist() == [False, True, False]
        assert "1/2" in [t.get_text() for t in figure.axes[0].texts]
        assert any("No record: SA (40 rows)" in text for text in texts(figure))

    def test_methods_of_a_panel_differ_in_colour_dashes_and_marker(self):
        plan = load_curve("moons_rows")
        for own in plan.panels.values():
            styles = [METHOD_STYLES[method] for method in (*own, *plan.everywhere)]
            for attribute in ("colour", "dashes", "marker"):
                found = [getattr(style, attribute) for style in styles]
                assert len(set(found)) == len(found)


class TestMarginals:
    def test_stored_quantiles_come_back(self, tmp_path):
        found = {"10": made_up_marginals(3, seed=1), "40": made_up_marginals(3, seed=2)}
        save_marginals(found, tmp_path / "m.csv")
        loaded = load_marginals(tmp_path / "m.csv")
        assert list(loaded) == ["10", "40"]
        for task, m in found.items():
            assert loaded[task].identity == m.identity
            for name in ("source", "transported", "target", "before", "after"):
                np.testing.assert_allclose(getattr(loaded[task], name), getattr(m, name), rtol=1e-4)

    def test_a_damaged_file_is_told_and_computed_again(self, cells, tmp_path):
        (tmp_path / "marginals_moons.csv").write_text("task\n10\n")
        told = []
        plan = renamed(MOONS, tasks=("40",))
        request = Request(store_at(tmp_path), tmp_path, False, [plan], told.append)
        assert marginals.render(request) == []
        assert "does not hold marginals" in told[0]
        assert "left out" in told[1]

    def test_they_are_those_of_repetition_0_computed_once(self, tmp_path, monkeypatch):
        plan = renamed(MOONS, tasks=("40",))
        told = []
        request = Request(store_at(tmp_path), tmp_path, True, [plan], told.append)
        assert len(marginals.render(request)) == 2
        path = tmp_path / "marginals_moons.csv"
        found = load_marginals(path)["40"]
        assert found.identity == marginals_identity(plan.cells["40", "krda"])
        assert np.all(np.diff(found.source) >= 0)
        assert found.source.shape == (2, len(LEVELS))
        before = path.read_bytes()
        monkeypatch.setattr(marginals, "marginals", None)  # to call it would fail
        assert len(marginals.render(request)) == 2
        assert path.read_bytes() == before
        assert told == []

    def test_a_task_that_fails_is_told_and_the_others_are_drawn(self, cells, tmp_path, monkeypatch):
        def one_fails(cell):
            if cell.task == "40":
                raise OSError("no such file")
            return made_up_marginals()

        monkeypatch.setattr(marginals, "marginals", one_fails)
        told = []
        request = Request(store_at(tmp_path), tmp_path, True, [MOONS], told.append)
        assert len(marginals.render(request)) == 2
        assert any("moons/40 krda failed, OSError: no such file" in line for line in told)
        assert list(load_marginals(tmp_path / "marginals_moons.csv")) == ["10", "90"]

    def test_a_panel_a_task_and_column_with_three_lines(self):
        figure = marginals.draw_columns(
            MOONS, {"10": made_up_marginals(), "90": made_up_marginals()}
        )
        assert len(figure.axes) == 6
        assert [len(axis.lines) for axis in figure.axes] == [3, 3, 0, 0, 3, 3]
        assert [t.get_text() for t in figure.axes[2].texts] == ["missing"]
        assert figure.axes[0].texts[0].get_text() == "KS 0.50 → 0.10"

    def test_wide_tables_get_heat_maps_and_quantiles(self, tmp_path):
        save_marginals({"10": made_up_marginals(27)}, tmp_path / "marginals_moons.csv")
        told = []
        request = Request(store_at(tmp_path), tmp_path, False, [MOONS], told.append)
        assert [path.name for path in marginals.render(request)] == [
            "marginals_moons.png", "marginals_moons.pdf",
            "marginals_moons_quantiles.png", "marginals_moons_quantiles.pdf",
        ]  # fmt: skip
        assert len(told) == 2  # the two tasks that are not there

    def test_the_heat_maps_hold_the_statistics(self):
        figure = marginals.draw_statistics(MOONS, {"10": made_up_marginals(27)})
        for axis, value in zip(figure.axes[:2], (0.5, 0.1), strict=True):
            image = axis.images[0].get_array().filled(np.nan)
            np.testing.assert_allclose(image[0], value)
            assert np.isnan(image[1:]).all()
            assert [t.get_text() for t in axis.texts] == [f"{value:.2f}", "missing", "missing"]

    def test_constant_columns_are_drawn(self):
        m = made_up_marginals()
        flat = Marginals(m.identity, *np.ones((3, 2, len(LEVELS))), m.before, m.after)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            marginals.draw_columns(MOONS, {"10": flat})
            figure = marginals.draw_quantiles(MOONS, {"10": flat})
        assert np.isfinite(figure.axes[0].lines[0].get_ydata()).all()


class TestRenderFigures:
    def test_an_empty_store_gives_no_figure_and_a_line_for_each(self, tmp_path):
        told = []
        store = store_at(tmp_path)
        assert render_figures(
            store, tmp_path, compute=False, tables=[MOONS], tell=told.append
        ) == ([], [])  # fmt: skip
        assert len([line for line in told if "left out" in line]) == len(FIGURES)

    def test_figures_of_data_that_is_not_asked_for_are_not_made(self, tmp_path):
        told = []
        table = renamed(MOONS, name="amazon", dataset="amazon", tasks=("B-D",))
        render_figures(store_at(tmp_path), tmp_path, compute=False, tables=[table],
                       tell=told.append)  # fmt: skip
        assert told
        assert all("amazon" in line for line in told)

    def test_all_that_is_stored_is_drawn(self, cells, tmp_path, monkeypatch):
        monkeypatch.setattr(learning_curve, "curves_of", lambda tables: [CURVE])
        store = fill(fill(store_at(tmp_path), cells[0]), cells[1])
        for name in ("moons_40", "gaussians_2-3", "moons_components_2"):
            save_rows(made_up_rows(), tmp_path / f"{name}.csv", "0")
        save_marginals({"10": made_up_marginals()}, tmp_path / "marginals_moons.csv")
        paths, failures = render_figures(store, tmp_path, compute=False, tables=[MOONS])
        assert failures == []
        assert [path.name for path in paths if path.suffix == ".png"] == [
            "marginals_moons.png", "accuracy_moons.png", "differences_moons.png",
            "runtime_moons.png", "gaussians.png", "moons_40.png", "moons_components.png",
            "learning_curve_rows.png",
        ]  # fmt: skip
        assert all(path.is_file() for path in paths)

    def test_several_processes_draw_the_same_bytes_and_tell_the_same(self, cells, tmp_path):
        store = fill(store_at(tmp_path), cells[0])
        save_rows(made_up_rows(), tmp_path / "moons_40.csv", "0")
        found = []
        for n_workers in (1, 2):
            told = []
            paths, _ = render_figures(
                store, tmp_path, compute=False, tables=[MOONS], tell=told.append,
                n_workers=n_workers,
            )  # fmt: skip
            found.append((told, {path: path.read_bytes() for path in paths}))
            for path in paths:
                path.unlink()
        assert found[0] == found[1]
        assert len(found[0][1]) == 8
        assert found[0][0]

    def test_a_figure_that_fails_costs_no_other_one_and_is_told(self, cells, tmp_path, monkeypatch):
        def broken(table, *arguments, **keywords):
            if table.name == "broken":
                raise KeyError("made up")
            return draw(table, *arguments, **keywords)

        draw = accuracy.draw
        monkeypatch.setattr(accuracy, "draw", broken)
        monkeypatch.setitem(FIGURES, "moons", lambda request: 1 / 0)
        store = fill(store_at(tmp_path), cells[0])
        tables = [renamed(MOONS, name="broken"), MOONS]
        paths, failures = render_figures(store, tmp_path, compute=False, tables=tables)
        assert failures == [
            "accuracy_broken: KeyError: 'made up'", "moons: ZeroDivisionError: division by zero",
        ]  # fmt: skip
        assert {path.name for path in paths if path.suffix == ".png"} == {
            "accuracy_moons.png", "differences_broken.png", "differences_moons.png",
            "runtime_broken.png", "runtime_moons.png",
        }  # fmt: skip

    @pytest.mark.parametrize("n_paper", [0, 2])
    def test_without_published_values_all_methods_are_drawn(self, tmp_path, n_paper):
        methods = (*MOONS.methods, "my_method")
        table = renamed(
            MOONS, name="mine", dataset="gaussians", tasks=("2-3",), task_label="{}",
            paper=methods[:n_paper], ours=methods[n_paper:],
        )  # fmt: skip
        cells = {key: make_cell(f"dataset.task={key[0]}", dataset="gaussians", method="krda")
                 for key in product(table.tasks, methods)}  # fmt: skip
        figure = accuracy.draw(table, cell_values(cells, store_at(tmp_path)), {})
        labels = ["Source only", "Target only", "SA", "KRDA", "Each domain standardised",
                  "my_method"]  # fmt: skip
        assert [axis.get_title() for axis in figure.axes] == labels

    def test_what_is_stored_is_drawn_without_the_libraries_that_a_fit_needs(self):
        code = (
            "import sys, experiments.reading.figures, experiments.reading.report\n"
            "import experiments.reading.summary\n"
            "assert not {'torch', 'sklearn'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_the_learning_curves_cells_follow_the_protocol(self):
        found = figures.learning_curve_cells(("protocol=smoke",))
        assert len(found) == 60
        assert len({cell.config_sha256 for cell in found}) == 60
        assert {cell.config["protocol"]["n_repetitions"] for cell in found} == {2}
