"""The figures: functions of the results' frames and of stored numbers, drawn as SVG and PDF.

What a figure shows beyond the records, such as transported rows, is stored as CSV beside it
(:mod:`experiments.fits`).
"""

from __future__ import annotations

import importlib.metadata
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
from experiments.reading.figures.style import read_words, save_figure
from experiments.reading.figures.transport import draw_components, draw_gaussians, draw_moons
from experiments.store.fingerprint import code_fingerprint
from experiments.store.text import sha256_of

if TYPE_CHECKING:
    from experiments.reading.results import Results

OVERVIEW, BESIDE = "overview", "transports"
"""Sections of the figures that are seen first, and of those that belong to no table."""


class Figure(NamedTuple):
    """A figure: its section, the name of its files, and how it is drawn.

    ``draw`` returns None if there is nothing to draw. ``made_of`` is what it depends on, beside the
    stored numbers.
    """

    section: str
    name: str
    draw: Callable[[], Any]
    made_of: tuple[str, ...] = ()


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
    made_of = repr(plan), table.plan.title, table.cells.to_csv(), table.runs.to_csv()
    for kind, draw in of_table.items():
        section = OVERVIEW if kind == "means" and table.published else name
        yield Figure(section, f"{kind}_{name}", partial(draw, table), made_of)
    for kind, draw_stored in {"marginals": draw_marginals, "training": draw_training}.items():
        yield Figure(name, f"{kind}_{name}", partial(draw_stored, plan, directory), (repr(plan),))
    yield Figure(name, f"{name}_fidelity", lambda: None)  # drawn by studies/hepmass_sim.py


def figures_beside(results: Results, directory: Path) -> Iterator[Figure]:
    """Figures that belong to no table: transports, which come with the moons, and curves."""
    if any(table.plan.dataset == "moons" for table in results.tables):
        yield Figure(BESIDE, "moons_40", partial(draw_moons, directory))
        yield Figure(BESIDE, "gaussians", partial(draw_gaussians, directory))
        yield Figure(BESIDE, "moons_components", partial(draw_components, directory))
    for plan, cells in results.curves.values():
        draw_curve = partial(draw_learning_curve, plan, cells)
        made_of = repr(plan), cells.to_csv()
        yield Figure(BESIDE, f"learning_curve_{plan.name}", draw_curve, made_of)


def render_figures(
    results: Results, directory: Path, say: Callable[[str], None]
) -> tuple[dict[str, list[Path]], list[str]]:
    """Draw all figures; returns the files that are there by section, and a line for each failure.

    One that fails costs no other one. The same records and stored numbers give the same bytes. A
    figure whose file names the same numbers and code is not drawn again.
    """
    paths: dict[str, list[Path]] = {}
    failures = []
    every = [figure for table in results.tables for figure in figures_of(table, directory)]
    every += figures_beside(results, directory)
    stored = [path.read_text("ascii", "replace") for path in sorted(directory.glob("*.csv"))]
    code = code_fingerprint((__name__,)), importlib.metadata.version("matplotlib")
    for number, figure in enumerate(every, 1):
        say(f"drawing {number}/{len(every)}")
        path = directory / f"{figure.name}.svg"
        identity = sha256_of([code, stored, figure.name, figure.made_of])
        try:
            same = path.is_file() and read_words(path)[-1] == identity
            if not same and (drawn := figure.draw()) is not None:
                save_figure(drawn, directory / figure.name, identity)
        except OSError:  # a disk that takes no more concerns all figures
            raise
        except Exception as error:
            failures.append(f"{figure.name}: {type(error).__name__}: {error}")
        if path.is_file():
            paths.setdefault(figure.section, []).append(path)
    return paths, failures
