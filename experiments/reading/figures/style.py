"""How all figures look and how they are saved: the same data gives the same bytes.

Colours are Okabe and Ito's, which the colour-blind tell apart. No figure relies on colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from experiments.whole_files import written_whole

# The paper's source blue, target green, transported orange, mappings red.
SOURCE, TARGET, TRANSPORTED, MAPPING = "#0072B2", "#009E73", "#E69F00", "#D55E00"
KRDA_COLOUR, OTHER, FAINT = MAPPING, "#333333", "#8a8a8a"
"""KRDA; other methods of the paper; what is not in the paper, or only for orientation."""
PAPER: Any = {"marker": "D", "mfc": "none", "mec": OTHER, "mew": 0.7, "ls": "", "ms": 4}
"""The paper's values are open diamonds, ours are filled circles."""
PAGE_WIDTH, HALF_WIDTH = 7.0, 3.5
"""Inches: both columns of a paper's page, and one."""

DC = "{http://purl.org/dc/elements/1.1/}"
SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so the same everywhere
    "font.size": 8,
    "axes.titlesize": 8,
    "figure.titlesize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",  # text stays text, which can be found and read aloud
    "svg.hashsalt": "krda",
    "savefig.dpi": 200,
}


def _settings() -> Any:
    from matplotlib import style

    # After a reset: a person's own matplotlibrc must not change the figures.
    return style.context(SETTINGS, after_reset=True)


@contextmanager
def new_figure(width: float, height: float, title: str, seen: str, finding: str) -> Iterator[Any]:
    """Make an empty figure, in the style of all figures while it is being drawn.

    ``seen`` says what one who does not see it would miss, ``finding`` what it shows.
    """
    from matplotlib.figure import Figure

    with _settings():
        figure: Any = Figure(figsize=(width, height), layout="constrained")
        figure.suptitle(title)
        figure.words = {"Title": seen, "Description": finding}
        yield figure


def save_figure(figure: Any, path: Path, identity: str = "") -> list[Path]:
    """Save a figure as PDF and SVG, without the time of day; the SVG holds words and identity."""
    svg = {**figure.words, "Date": None, "Identifier": identity or None}
    paths = []
    for kind, metadata in {"pdf": {"CreationDate": None}, "svg": svg}.items():
        paths.append(path.with_name(f"{path.name}.{kind}"))
        with _settings(), written_whole(paths[-1]) as file:
            figure.savefig(file, format=kind, metadata=metadata)
    return paths


def read_words(path: Path) -> tuple[str, str, str]:
    """What is seen on a saved figure, its finding, and its identity; "" if one is not there."""
    root = ElementTree.parse(path).getroot()
    tags = ("{http://www.w3.org/2000/svg}title", f"{DC}description", f"{DC}identifier")
    seen, finding, identity = (root.findtext(f".//{tag}", "") for tag in tags)
    return seen, finding, identity
