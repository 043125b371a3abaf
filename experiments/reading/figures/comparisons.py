"""Methods below each other, the best on top: means, gains, ranks; differences from the paper."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from experiments.analysis.cells import KRDA, REFERENCES
from experiments.analysis.comparisons import average_ranks, families, rank_tests
from experiments.analysis.rounding import number, signed
from experiments.analysis.table import Table
from experiments.published import STAND_INS
from experiments.reading.figures.accuracy import gap, shown, task_name
from experiments.reading.figures.style import (
    FAINT,
    HALF_WIDTH,
    KRDA_COLOUR,
    OTHER,
    PAGE_WIDTH,
    PAPER,
    new_figure,
)

MOST_OUTSIDE = 6
"""Methods that the paper does not have, beside its own in an overview: the best ones."""
_ROW = 0.165
"""Inches a method."""


def _rows(axis: Any, rows: pd.DataFrame, texts: Iterable[str], paper: str, ours: str) -> None:
    """A line for each row of ``ours`` and ``published``, the first on top; KRDA's is tinted."""
    places = range(len(rows))
    colours = [OTHER if inside else FAINT for inside in rows.in_paper]
    axis.plot(rows.published, places, **PAPER, label=paper)
    axis.scatter(rows.ours, places, s=18, color=colours, label=ours, zorder=3)
    axis.set_yticks(places, rows.label)
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.grid(axis="x", lw=0.3)
    for place, (method, text) in enumerate(zip(rows.index, texts, strict=True)):
        axis.text(1.02, place, text, va="center", transform=axis.get_yaxis_transform())
        if method == KRDA:
            axis.plot(rows.ours[KRDA], place, "o", ms=4.5, color=KRDA_COLOUR, zorder=4)
            axis.axhspan(place - 0.5, place + 0.5, color=KRDA_COLOUR, alpha=0.14, lw=0)
            axis.get_yticklabels()[place].set_fontweight("bold")


def draw_means(table: Table) -> Any:
    """Mean accuracy over the tasks, of the paper's methods and the best others; None without."""
    means = table.means["mean"].sort_values("ours", ascending=False, kind="stable")
    if means.ours.isna().all():
        return None
    outside = means[~means.in_paper & means.ours.notna()].index[:MOST_OUTSIDE]
    rows = means[means.in_paper | means.index.isin(outside)]
    seen = "Dot plot, a row a method, the best on top: our mean filled, the paper's open."
    finding = _krda_and_best(means.dropna(subset="ours"))
    with new_figure(HALF_WIDTH, _ROW * len(rows) + 0.8, table.plan.title, seen, finding) as figure:
        axis = figure.subplots()
        texts = (
            number(row.ours) + "†" * (row.incomplete and row.ours == row.ours)
            for row in rows.itertuples()
        )
        _rows(axis, rows, texts, "", "")
        axis.set_xlabel("Mean accuracy (%)")
        return figure


def _krda_and_best(means: pd.DataFrame) -> str:
    """KRDA's mean beside the paper's and the best others, in descending order."""
    if KRDA not in means.index:
        return ""
    krda, others = means.loc[KRDA], means.drop([KRDA, *REFERENCES], errors="ignore")
    paper = f" (paper: {number(krda.published)})" if krda.published == krda.published else ""
    bests = {
        "the paper's best other method": others[others.in_paper],
        "the best one outside it": others[~others.in_paper],
    }
    said = [
        f"{what} {number(own.ours.iloc[0])} % ({own.label.iloc[0]})"
        for what, own in bests.items()
        if len(own)
    ]
    return f"{', '.join([f'KRDA has {number(krda.ours)} %{paper}', *said])}."


def draw_gains(table: Table) -> Any:
    """Points gained over Source only, a row a method and a point a task; None without any."""
    cells = shown(table)
    source = cells[cells.method == "source_only"].set_index("task")
    cells = cells[cells.method != "source_only"].assign(
        ours=lambda own: own["mean"] - own.task.map(source["mean"]),
        published=lambda own: own.published_mean - own.task.map(source.published_mean),
    )
    if cells.ours.isna().all():
        return None
    groups = cells.groupby("method", sort=False)
    rows = groups[["label", "in_paper"]].first().join(groups[["ours", "published"]].mean())
    rows = rows.sort_values("ours", ascending=False)
    title = f"{table.plan.title}:\ngain over Source only, a faint point a task"
    seen = "Dot plot, a row a method: points gained over Source only, by task and in the mean."
    krda = cells.ours[cells.method == KRDA].dropna()
    finding = (
        f"KRDA's mean gain over Source only is {signed(krda.mean())} points; it is below Source "
        f"only on {(krda < 0).sum()} of {len(krda)} tasks."
        if len(krda)
        else ""
    )
    with new_figure(HALF_WIDTH, _ROW * len(rows) + 1.2, title, seen, finding) as figure:
        axis = figure.subplots()
        axis.axvline(0, color=OTHER, lw=0.8)
        places = cells.method.map({method: place for place, method in enumerate(rows.index)})
        axis.scatter(cells.ours, places, s=9, color=FAINT, alpha=0.45, lw=0)
        texts = map(signed, rows.ours)
        real = STAND_INS.get(table.plan.dataset, "").upper()
        paper = f"paper's mean{f', {real}' if real else ''}" if table.published else ""
        _rows(axis, rows, texts, paper, "mean of ours")
        axis.set_xlabel("Points of accuracy")
        figure.legend(loc="outside lower center", ncols=2)
        return figure


def draw_ranks(table: Table) -> Any:
    """Average ranks (Demsar, 2006), a row a method, with the critical difference; None without.

    They are of the paper's methods, or of all if nothing is published. By Nemenyi's test at level
    0.05 two methods differ if their average ranks are further apart than the bar is long.
    """
    wanted = "paper" if table.published else "all"
    means = next((means for _, family, means in families(table.cells) if family == wanted), None)
    if means is None or (test := rank_tests(means))["p"] != test["p"]:
        return None
    ranks, bar = average_ranks(means).sort_values(), test["critical_difference"]
    rows = table.means["mean"].loc[ranks.index].assign(ours=ranks, published=float("nan"))
    first, best = rows.label.iloc[0], ranks.iloc[0]
    title = f"{table.plan.title}:\naverage ranks over {test['n_tasks']} tasks, 1 is the best"
    seen = "Dot plot of average ranks, a row a method; a bar as long as the critical difference."
    finding = (
        f"{first} has the best average rank, {best:.2f}; {(ranks - best <= bar).sum() - 1} of the "
        f"{len(ranks) - 1} others are within the critical difference of it (grey)."
    )
    if KRDA in ranks and ranks.index[0] != KRDA:
        finding += f" KRDA has {ranks[KRDA]:.2f}."
    with new_figure(HALF_WIDTH, _ROW * len(rows) + 1.1, title, seen, finding) as figure:
        axis = figure.subplots()
        _rows(axis, rows, (f"{rank:.2f}" for rank in ranks), "", "")
        axis.axvspan(best, best + bar, color=FAINT, alpha=0.15, lw=0)
        axis.errorbar(best + bar / 2, -1, xerr=bar / 2, fmt="none", ecolor=OTHER, capsize=3)
        axis.text(best, -1.35, f"critical difference {bar:.2f}", color=OTHER)
        axis.set(xlabel="Average rank", ylim=(len(rows) - 0.4, -2.3))
        return figure


def draw_differences(table: Table) -> Any:
    """Ours minus the published value, task by method, as a heat map with numbers; None if none."""
    plan = table.plan
    cells = table.cells[table.cells.published_mean.notna()]
    if cells["mean"].isna().all():
        return None
    labels = list(cells.label.unique())
    wide = cells.pivot(index="task", columns="label", values="difference")
    wide = wide.reindex(index=plan.tasks, columns=labels)
    sizes = cells.difference.abs()
    largest, krda = cells.loc[sizes.idxmax()], sizes[cells.method == KRDA].dropna()
    title = f"{plan.title}: ours minus the published accuracy († suspect)"
    seen = "Heat map with numbers: ours minus the published value, tasks in rows."
    finding = (
        f"Half of the differences are at most {number(sizes.median())} points; the largest is "
        f"{signed(largest.difference)} ({largest.label}, {largest.task_label})"
        + (f", and KRDA's are at most {number(krda.max())}." if len(krda) else ".")
    )
    with new_figure(PAGE_WIDTH, 0.22 * len(plan.tasks) + 1.3, title, seen, finding) as figure:
        axis = figure.subplots()
        # Orange to violet, distinct for the colour-blind; the ends, too dark for text, are unused.
        end = 1.8 * max(10.0, sizes.max())
        image = axis.imshow(wide, cmap="PuOr_r", vmin=-end, vmax=end, aspect="auto")
        for cell in cells.itertuples():
            value = signed(cell.difference) + "†" * cell.suspect if cell.mean == cell.mean else ""
            text = f"{value} {gap(cell)}".strip()
            place = labels.index(cell.label), plan.tasks.index(cell.task)
            axis.text(*place, text, ha="center", va="center", fontsize=6 if len(text) < 9 else 4)
        axis.set_xticks(range(len(labels)), labels, rotation=35)
        axis.set_yticks(range(len(plan.tasks)), [task_name(plan, task) for task in plan.tasks])
        figure.colorbar(image, label="Points of accuracy, ours − published")
        return figure
