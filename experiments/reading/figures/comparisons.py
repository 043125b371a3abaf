"""Methods beside each other: differences from the paper, and average ranks."""

from __future__ import annotations

from typing import Any

import pandas as pd
import scikit_posthocs

from experiments.analysis.comparisons import ALPHA, average_ranks, families, nemenyi, rank_tests
from experiments.analysis.rounding import signed
from experiments.analysis.table import Table
from experiments.catalogue import method_label
from experiments.reading.figures.accuracy import gap, task_name
from experiments.reading.figures.style import PAGE_WIDTH, new_figure


def draw_differences(table: Table) -> Any:
    """Ours minus the published value, task by method, as a heat map with numbers; None if none."""
    plan = table.plan
    cells = table.cells[table.cells.published_mean.notna()]
    if cells["mean"].isna().all():
        return None
    labels = list(cells.label.unique())
    wide = cells.pivot(index="task", columns="label", values="difference")
    wide = wide.reindex(index=plan.tasks, columns=labels)
    with new_figure(PAGE_WIDTH, 0.24 * len(plan.tasks) + 1.5) as figure:
        axis = figure.subplots()
        # Orange to violet, distinct for the colour-blind; the ends, too dark for text, are unused.
        image = axis.imshow(wide, cmap="PuOr_r", vmin=-90, vmax=90, aspect="auto")
        for cell in cells.itertuples():
            number = signed(cell.difference) + "†" * cell.suspect if cell.mean == cell.mean else ""
            text = f"{number} {gap(cell)}".strip()
            place = labels.index(cell.label), plan.tasks.index(cell.task)
            axis.text(*place, text, ha="center", va="center", fontsize=6 if len(text) < 9 else 4)
        axis.set_xticks(range(len(labels)), labels, rotation=35)
        axis.set_yticks(range(len(plan.tasks)), [task_name(plan, task) for task in plan.tasks])
        figure.colorbar(image, label="Points of accuracy, ours − published")
        figure.suptitle(f"{plan.title}: ours minus the published accuracy († suspect)")
        return figure


def draw_ranks(table: Table) -> Any:
    """Critical-difference diagram (Demsar, 2006); None if there is no test.

    It has the paper's methods, or all if the paper has no values of these data. They are at their
    average ranks, the best at the left; a bar joins those that Nemenyi's test does not tell apart
    at level 0.05.
    """
    wanted = "paper" if table.published else "all"
    means = next((means for _, family, means in families(table.cells) if family == wanted), None)
    if means is None or (p := nemenyi(means)).empty:
        return None
    ranks, test = average_ranks(means), rank_tests(means)
    names = [f"{method_label(method)} ({rank:.2f})" for method, rank in ranks.items()]
    # Whole numbers for names, whose order no hash seed changes.
    p = pd.DataFrame(p.to_numpy())
    with new_figure(9, 1.6 + 0.14 * len(names)) as figure:
        axis = figure.subplots()
        drawn = scikit_posthocs.critical_difference_diagram(
            dict(enumerate(ranks)), p, alpha=ALPHA, ax=axis, label_fmt_left="{label}",
            label_fmt_right="{label}", text_h_margin=0.05,
            color_palette=dict.fromkeys(range(len(names)), "0.2"),
        )  # fmt: skip
        for text in drawn["labels"]:
            text.set_text(names[int(text.get_text())])
        figure.suptitle(
            f"{table.title}: average ranks over {test['n_tasks']} tasks; critical difference "
            f"{test['critical_difference']:.2f}"
        )
        return figure
