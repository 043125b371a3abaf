"""KRDA's densities: their training, and every column before and after the transport."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.reading.figures.accuracy import task_name
from experiments.reading.figures.numbers import TRAINED, read_stored
from experiments.reading.figures.style import FAINT, OTHER, PAGE_WIDTH, SOURCE, new_figure

if TYPE_CHECKING:
    from experiments.cells.plan import TablePlan


def draw_training(plan: TablePlan, directory: Path) -> Any:
    """Training and held-out negative log-likelihood, a panel a domain; None without numbers."""
    curves = read_stored(directory, f"training_{plan.name}")
    if curves is None:
        return None
    task, kept = plan.task_label.format(TRAINED[plan.dataset]), curves.loc[curves.kept.idxmax()]
    title = f"{plan.title}, {task}: training of the density"
    seen = "Two panels, source and target: negative log-likelihood against the step of training."
    finding = (
        f"Step {kept.step:.0f} of {curves.step.max():.0f} is kept. Held-out against training rows "
        f"there: {kept.source_held_out:.2f} against {kept.source_train:.2f} nats (source), "
        f"{kept.target_held_out:.2f} against {kept.target_train:.2f} nats (target)."
    )
    with new_figure(PAGE_WIDTH, 2.7, title, seen, finding) as figure:
        axes = figure.subplots(1, 2)
        for axis, domain in zip(axes, ("source", "target"), strict=True):
            train, held_out = curves[f"{domain}_train"], curves[f"{domain}_held_out"]
            axis.plot(curves.step, train, "--", color=FAINT, label="training rows")
            axis.plot(curves.step, held_out, color=SOURCE, label="held-out rows")
            axis.axvline(kept.step, ls=":", color=OTHER, label="parameters kept")
            # What diverges later must not hide where the minimum is.
            rise = max(held_out[0] - held_out.min(), 1.0)
            axis.set_ylim(min(train.min(), held_out.min()) - 0.1 * rise, held_out.min() + 2 * rise)
            axis.set(title=domain, xlabel="Step")
        axes[0].set_ylabel("Negative log-likelihood (nats)")
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return figure


def draw_marginals(plan: TablePlan, directory: Path) -> Any:
    """How far each column is from the target's, before and after; None without numbers.

    A task that has none is an empty line.
    """
    found = read_stored(directory, f"marginals_{plan.name}")
    if found is None:
        return None
    highest = found[["before", "after"]].max(axis=None)
    title = f"{plan.title}: how far single columns are from the target's"
    seen = "Two heat maps, before and after the transport: tasks in rows, columns of the data."
    finding = (
        "The transport takes the mean Kolmogorov-Smirnov statistic of single columns from "
        f"{found.before.mean():.2f} to {found.after.mean():.2f}; "
        f"{(found.after > found.before).sum()} of {len(found)} are further away than before."
    )
    with new_figure(PAGE_WIDTH, 0.17 * len(plan.tasks) + 1.2, title, seen, finding) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, when in zip(axes, ("before", "after"), strict=True):
            wide = found.pivot(index="task", columns="column", values=when).reindex(plan.tasks)
            # Its lightness falls all the way, so it reads in grey.
            image = axis.imshow(wide, cmap="Blues", vmin=0, vmax=highest, aspect="auto")
            ticks = wide.columns[:: len(wide.columns) // 10 + 1]
            axis.set(title=f"{when} the transport", xlabel="Column", xticks=ticks)
        axes[0].set_yticks(range(len(plan.tasks)), [task_name(plan, t) for t in plan.tasks])
        figure.colorbar(image, ax=axes, label="Kolmogorov-Smirnov statistic")
        return figure
