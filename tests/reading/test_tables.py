"""Tables in all formats show the same cells, escape every text, and never look better than done."""

import re
import shutil
import subprocess
from dataclasses import replace

import pandas as pd
import pytest
from made_up import OURS, one_decimal, plan_of, random_values, runs_of

from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.reading.markdown import escape, filled
from experiments.reading.results import paper_shaped
from experiments.reading.tables import (
    latex_escape,
    main_grids,
    public,
    sections,
    to_latex,
    to_markdown,
)

NASTY = r"LinAlgError: 50% of x_{1} & \alpha <b>|`y`|</b> #1 $2 ^~ [a] -- é ∞ 'q' \"r\""


def table_of(values=None, dataset="moons", ours=OURS, part=None):
    plan = plan_of(dataset, ours)
    if part:
        (plan,) = (one for one in paper_shaped(plan) if one.part == part)
    values = random_values(plan, 7) if values is None else values
    return Table(plan, runs_of(values, dataset))


@pytest.mark.parametrize(
    ("dataset", "part"), [("moons", None), ("moons", "main"), ("hepmass_sim", "appendix")]
)
def test_markdown_and_latex_show_every_row_of_the_grids(dataset, part):
    table = table_of(dataset=dataset, part=part)
    tex = re.sub(r"\\textbf\{\\boldmath (.*?)\}", r"\1", to_latex(table))
    markdown = to_markdown(table)
    for grid in main_grids(table):
        for row in [grid.columns, *grid.to_numpy()]:
            assert " & ".join(latex_escape(text.strip("*")) for text in row) in tex
            assert "| " + " | ".join(escape(text.strip("*")) for text in row) + " |" in (
                markdown.replace("**", "")
            )


@pytest.mark.parametrize("dataset", ["moons", "hepmass_sim"])
def test_every_number_of_the_wide_table_is_that_of_its_cell(dataset):
    table = table_of(dataset=dataset)
    grids = main_grids(table)
    assert len(grids) == (2 if dataset == "hepmass_sim" else 1)
    wide = pd.concat([g.iloc[:, 2:] for g in grids], axis=1)
    for cell in table.cells.itertuples():
        row = list(grids[0]["Method"]).index(cell.label)
        texts = [text.strip("*") for text in wide[cell.task_label].iloc[row : row + 3]]
        assert texts[0] == f"{one_decimal(cell.mean)} ± {one_decimal(cell.ci95)}"
        if cell.in_paper:
            printed = f"{one_decimal(cell.published_mean)} ± {one_decimal(cell.published_ci95)}"
            assert re.fullmatch(re.escape(printed) + r"( \([a-z]\))?", texts[1])
            number = texts[2].split(" ")[0].lstrip("+").replace("−", "-")
            assert number == one_decimal(cell.difference).replace("-0.0", "0.0")


def test_a_public_frame_has_no_negative_zero_and_as_many_digits_as_asked_for():
    short = public(pd.DataFrame({"a": [1 / 3, -0.0], "b": [True, False]}), significant=3)
    assert short.to_csv(index=False) == "a,b\n0.333,true\n0.0,false\n"


def test_counts_of_verdicts_and_distances_are_those_of_the_cells():
    table = table_of()
    grid = dict(sections(table))["Distances from the published values, and verdicts"]
    assert isinstance(grid, pd.DataFrame)
    grid = grid.set_index("Method")
    krda = table.cells[table.cells.method == "krda"]
    for verdict, n in krda.verdict.value_counts().items():
        assert grid.loc["KRDA", verdict] == n
    assert grid.loc["all"].iloc[2:].sum() == 12 * 9
    gaps = krda.difference.abs()
    assert grid.loc["KRDA", "mean absolute difference"] == one_decimal(gaps.mean())


def test_a_lost_repetition_shows_in_its_cell_in_its_means_and_with_its_error():
    values = random_values(plan_of(), 1)
    values["40", "ot"][2] = f"failed: {NASTY}"
    values["50", "ot"] = ["diverged: NaN"] * 5
    del values["70", "tca"]
    table = table_of(values, ours=())
    for text in (to_markdown(table), to_latex(table)):
        assert "(4/5)" in text
        assert "failed (0/5)" in text
        assert "(8/9 tasks)" in text
    found = dict(sections(table))
    lost = found["Repetitions that are not done"]
    assert any("OT, 40°, repetition 3 (seed 102): failed: LinAlgError" in item for item in lost)


def test_texts_of_errors_mean_themselves():
    assert "<b>" not in escape(NASTY).replace(r"\<b", "")
    assert escape("- a") == r"\- a"
    assert escape("1. a") == r"1\. a"
    assert re.search(r"(?<!\\)[&%#_]", latex_escape(NASTY)) is None
    assert latex_escape("a--b") == "a-{}-b"


def test_rows_that_are_not_in_the_paper_are_below_a_line_of_their_own():
    labels = [name for name in main_grids(table_of())[0]["Method"] if name]
    assert labels.index("not in the paper") == 12
    assert labels[13:] == [method_label(method) for method in OURS]


def test_simulated_data_are_never_judged_and_must_be_called_so():
    table = table_of(dataset="hepmass_sim")
    for text in (to_markdown(table), to_latex(table)):
        assert "simulated" in text
        assert not re.search(r"[+−0]\d*\.\d [=~↑↓?] ", text)
    plan = replace(plan_of("hepmass_sim"), title="HEPMASS")
    with pytest.raises(ValueError, match="must say 'simulated'"):
        Table(plan, runs_of({}))


def test_a_trial_run_says_so():
    plan = replace(plan_of(), overrides=("protocol=smoke",))
    for write in (to_markdown, to_latex):
        assert "trial run" in write(Table(plan, runs_of({})))


def test_data_without_published_values_show_ours_alone():
    plan = replace(
        plan_of(), dataset="gaussians", paper=(), ours=("quantiles", "krda", "my_method")
    )
    table = Table(plan, runs_of(random_values(plan, 2), "gaussians"))
    (grid,) = main_grids(table)
    assert list(grid[""]) == ["ours"] * 3
    assert "Distances" not in to_markdown(table)
    assert "my\\_method" in to_markdown(table)
    means = dict(sections(table))["Means over the tasks, and mean ranks"].set_index("Method")
    krda = table.cells[table.cells.method == "krda"]
    # In made-up repetitions the two measures are equal.
    assert means.loc["KRDA", "balanced accuracy"] == one_decimal(krda["mean"].mean())
    assert means["rank"].astype(float).sum() == pytest.approx(1 + 2 + 3, abs=0.02)
    assert (means["rank"] == means["rank by it"]).all()
    balanced = dict(sections(table))["Balanced accuracy"].set_index("Method")
    assert balanced.loc["KRDA", "40°"] == one_decimal(krda["mean"][krda.task == "40"].item())


HEAD = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[a3paper, landscape]{geometry}
\usepackage{booktabs,graphicx,textcomp}
\begin{document}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.parametrize("part", [None, "main"])
def test_latex_compiles(tmp_path, part):
    body = to_latex(table_of(dataset="hepmass_sim", part=part))
    (tmp_path / "a.tex").write_text(HEAD + body + r"\end{document}")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "a.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_part_of_a_document_is_replaced_between_its_marks_alone():
    marked = "a <!-- x: begin -->{}<!-- x: end --> b"
    assert filled(marked.format(" old "), "x", "new") == marked.format("\nnew\n")
    with pytest.raises(ValueError, match="once each"):
        filled("a", "x", "new")
