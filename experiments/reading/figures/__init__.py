"""The figures: functions of the results' frames and of stored numbers, drawn as PNG and PDF.

What a figure shows beyond the records, such as transported rows, is stored as CSV beside it
(:mod:`experiments.fits`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.analysis.table import Table
from experiments.reading.figures.accuracy import draw_accuracy, draw_learning_curve
from experiments.reading.figures.comparisons import draw_differences, draw_ranks
from experiments.reading.figures.densities import draw_marginals, draw_training
from experiments.reading.figures.numbers import TRAINED
from experiments.reading.figures.style import save_figure
from experiments.reading.figures.transport import draw_components, draw_gaussians, draw_moons

if TYPE_CHECKING:
    from experiments.reading.results import Results


class Figure(NamedTuple):
    """A figure: name of its files, caption, and how it is drawn.

    ``draw`` takes the directory of stored numbers and returns None if there is nothing to draw.
    """

    name: str
    caption: str
    draw: Callable[[Path], Any]


def figures_of(table: Table) -> Iterator[Figure]:
    """The figures of one table."""
    plan, name = table.plan, table.name
    yield Figure(
        f"accuracy_{name}",
        "Accuracy of each method by task, with the 95 % interval, beside the published values.",
        lambda _: draw_accuracy(table),
    )
    if table.published:
        yield Figure(
            f"differences_{name}",
            "Ours minus the published value, task by method.",
            lambda _: draw_differences(table),
        )
    yield Figure(
        f"ranks_{name}",
        "Average ranks over the tasks, the best at the left; a bar joins methods that Nemenyi's "
        "test does not tell apart.",
        lambda _: draw_ranks(table),
    )
    if "krda" in plan.methods:
        yield Figure(
            f"marginals_{name}",
            "How far single columns are from the target's, before and after KRDA's transport.",
            lambda directory: draw_marginals(plan, directory),
        )
    if plan.dataset in TRAINED:
        yield Figure(
            f"training_{name}",
            "Training of KRDA's density: held-out and training negative log-likelihood of both "
            "domains, step by step.",
            lambda directory: draw_training(plan, directory),
        )
    yield Figure(
        f"{name}_fidelity",
        "Accuracies on the simulated data against the published ones of the real data.",
        lambda _: None,  # drawn by studies/hepmass_sim.py
    )


def figures_beside(results: Results) -> Iterator[Figure]:
    """Figures that belong to no table: transports, which come with the moons, and curves."""
    if any(table.plan.dataset == "moons" for table in results.tables):
        yield Figure(
            "moons_40",
            "KRDA on the moons: source, target, and the source transported to the target.",
            draw_moons,
        )
        yield Figure(
            "moons_components",
            "The transport of the moons with more and fewer components of the density.",
            draw_components,
        )
        yield Figure(
            "gaussians",
            "KRDA from one mixture of Gaussians to another.",
            draw_gaussians,
        )
    for plan, cells in results.curves.values():
        yield Figure(
            f"learning_curve_{plan.name}",
            f"{plan.title}: mean accuracy with its 95 % band.",
            partial(lambda plan, cells, _: draw_learning_curve(plan, cells), plan, cells),
        )


def render_figures(results: Results, directory: Path) -> tuple[list[Path], list[str]]:
    """Draw all figures; returns the files, and a line for each figure that could not be made.

    One that fails costs no other one. The same records and stored numbers give the same bytes.
    """
    paths, failures = [], []
    every = [figure for table in results.tables for figure in figures_of(table)]
    for figure in [*every, *figures_beside(results)]:
        try:
            if (drawn := figure.draw(directory)) is not None:
                paths += save_figure(drawn, directory / figure.name)
        except OSError:  # a disk that takes no more concerns all figures
            raise
        except Exception as error:
            failures.append(f"{figure.name}: {type(error).__name__}: {error}")
    return paths, failures
