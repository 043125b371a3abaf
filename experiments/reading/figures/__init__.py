"""The figures: functions of the results' frames and of stored numbers, drawn as SVG and PDF.

What a figure shows beyond the records, such as transported rows, is stored as CSV beside it
(:mod:`experiments.fits`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.analysis.table import Table
from experiments.reading.figures.accuracy import (
    draw_accuracy,
    draw_learning_curve,
    draw_strengths,
    has_strengths,
    is_ordered,
)
from experiments.reading.figures.comparisons import (
    draw_differences,
    draw_gains,
    draw_means,
    draw_ranks,
)
from experiments.reading.figures.densities import draw_marginals, draw_training
from experiments.reading.figures.style import save_figure
from experiments.reading.figures.transport import draw_components, draw_gaussians, draw_moons

if TYPE_CHECKING:
    from experiments.reading.results import Results

OVERVIEW, BESIDE = "overview", "transports"
"""Sections of the figures that are seen first, and of those that belong to no table."""


class Figure(NamedTuple):
    """A figure: its section, the name of its files, and how it is drawn.

    ``draw`` returns None if there is nothing to draw.
    """

    section: str
    name: str
    draw: Callable[[], Any]


def figures_of(table: Table, directory: Path) -> Iterator[Figure]:
    """The figures of one table, the most important first; ``directory`` has the stored numbers."""
    plan, name = table.plan, table.plan.name
    by_task = draw_accuracy if is_ordered(plan) else draw_gains
    of_table = {
        "accuracy": draw_strengths if has_strengths(plan) else by_task,
        "ranks": draw_ranks,
        "means": draw_means,
        "differences": draw_differences,
    }
    for kind, draw in of_table.items():
        section = OVERVIEW if kind == "means" and table.published else name
        yield Figure(section, f"{kind}_{name}", partial(draw, table))
    yield Figure(name, f"marginals_{name}", partial(draw_marginals, plan, directory))
    yield Figure(name, f"training_{name}", partial(draw_training, plan, directory))
    yield Figure(name, f"{name}_fidelity", lambda: None)  # drawn by studies/hepmass_sim.py


def figures_beside(results: Results, directory: Path) -> Iterator[Figure]:
    """Figures that belong to no table: transports, which come with the moons, and curves."""
    if any(table.plan.dataset == "moons" for table in results.tables):
        yield Figure(BESIDE, "moons_40", partial(draw_moons, directory))
        yield Figure(BESIDE, "gaussians", partial(draw_gaussians, directory))
        yield Figure(BESIDE, "moons_components", partial(draw_components, directory))
    for plan, cells in results.curves.values():
        draw = partial(draw_learning_curve, plan, cells)
        yield Figure(BESIDE, f"learning_curve_{plan.name}", draw)


def render_figures(
    results: Results, directory: Path, say: Callable[[str], None]
) -> tuple[dict[str, list[Path]], list[str]]:
    """Draw all figures; returns the files that are there by section, and a line for each failure.

    One that fails costs no other one. The same records and stored numbers give the same bytes.
    """
    paths: dict[str, list[Path]] = {}
    failures = []
    every = [figure for table in results.tables for figure in figures_of(table, directory)]
    every += figures_beside(results, directory)
    for number, figure in enumerate(every, 1):
        say(f"drawing {number}/{len(every)}")
        path = directory / f"{figure.name}.svg"
        try:
            if (drawn := figure.draw()) is not None:
                save_figure(drawn, directory / figure.name)
        except OSError:  # a disk that takes no more concerns all figures
            raise
        except Exception as error:
            failures.append(f"{figure.name}: {type(error).__name__}: {error}")
        if path.is_file():
            paths.setdefault(figure.section, []).append(path)
    return paths, failures
