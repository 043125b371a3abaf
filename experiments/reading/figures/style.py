"""How all figures look and how they are saved: the same data gives the same bytes.

Colours are Okabe and Ito's, which the colour-blind tell apart. No figure relies on colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments.whole_files import written_whole

# The paper's source blue, target green, transported orange, mappings red.
SOURCE, TARGET, TRANSPORTED, MAPPING = "#0072B2", "#009E73", "#E69F00", "#D55E00"
PAGE_WIDTH = 7.0
"""Inches, both columns of a paper's page."""

LINES: Any = (
    ("#000000", ":", "x"), ("#666666", (0, (6, 2)), "+"), (MAPPING, "-", "o"), (SOURCE, "--", "s"),
    (TARGET, "-.", "^"), ("#56B4E9", (0, (1, 1)), "D"), ("#CC79A7", (0, (4, 1, 1, 1, 1, 1)), "v"),
    (TRANSPORTED, (0, (8, 1)), "P"),
)  # fmt: skip
"""Colours, dashes and markers of methods beside each other; the third is KRDA's."""

SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so the same everywhere
    "font.size": 8,
    "axes.titlesize": 8,
    "figure.titlesize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,
}


@contextmanager
def _settings() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context():
        # A person's own matplotlibrc must not change the figures.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


@contextmanager
def new_figure(width: float, height: float) -> Iterator[Any]:
    """Make an empty figure, in the style of all figures while it is being drawn."""
    from matplotlib.figure import Figure

    with _settings():
        yield Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: Path) -> list[Path]:
    """Save a figure as PNG and PDF, without the time of day."""
    paths = []
    for kind, day in (("png", "Software"), ("pdf", "CreationDate")):
        paths.append(path.with_name(f"{path.name}.{kind}"))
        with _settings(), written_whole(paths[-1]) as file:
            figure.savefig(file, format=kind, dpi=200, metadata={day: None})
    return paths
