"""How all figures look and how they are saved.

Colours are Okabe and Ito's, which the colour-blind tell apart. No figure relies on colour alone:
markers, dashes, hatches or numbers say the same in grey. Files hold their fonts and nothing that
changes by the day, so the same data gives the same bytes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from experiments.whole_files import written_whole

# The paper's source blue, target green, transported orange, mappings red.
SOURCE, TARGET, TRANSPORTED, MAPPING = "#0072B2", "#009E73", "#E69F00", "#D55E00"
BLACK, SKY, PURPLE, GREY = "#000000", "#56B4E9", "#CC79A7", "#666666"

PAGE_WIDTH = 7.0
"""Inches, both columns of a paper's page."""

SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so the same everywhere
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "figure.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "pdf.fonttype": 42,
    "hatch.linewidth": 0.5,
}


class LineStyle(NamedTuple):
    """How a method's line is drawn."""

    colour: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str


METHOD_STYLES = {
    "source_only": LineStyle(BLACK, ":", "x"),
    "target_only": LineStyle(GREY, (0, (6, 2)), "+"),
    "krda": LineStyle(MAPPING, "-", "o"),
    # Shallow and deep methods never share a panel, so they share colours.
    "sa": LineStyle(SOURCE, "--", "s"),
    "tca": LineStyle(TARGET, "-.", "^"),
    "kmm": LineStyle(SKY, (0, (1, 1)), "D"),
    "ot": LineStyle(PURPLE, (0, (4, 1, 1, 1, 1, 1)), "v"),
    "dann": LineStyle(SOURCE, "--", "s"),
    "cdan": LineStyle(TARGET, "-.", "^"),
    "dan": LineStyle(SKY, (0, (1, 1)), "D"),
    "jan": LineStyle(PURPLE, (0, (4, 1, 1, 1, 1, 1)), "v"),
    "shot": LineStyle(TRANSPORTED, (0, (8, 1)), "P"),
}
OTHER_STYLE = LineStyle(GREY, "-", "h")


def method_style(method: str) -> LineStyle:
    """How a method is drawn; methods that are not the paper's all look alike."""
    return METHOD_STYLES.get(method, OTHER_STYLE)


@contextmanager
def _settings() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context():
        # A person's own matplotlibrc must not change the figures.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


@contextmanager
def new_figure(
    width: float, height: float, layout: Literal["constrained"] | None = "constrained"
) -> Iterator[Any]:
    """Make an empty figure, in the style of all figures while it is being drawn."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with _settings():
        figure = Figure(figsize=(width, height), layout=layout)
        FigureCanvasAgg(figure)
        yield figure


def save_figure(figure: Any, path: Path) -> list[Path]:
    """Save a figure as PNG and PDF, the same bytes each time."""
    png, pdf = path.with_name(f"{path.name}.png"), path.with_name(f"{path.name}.pdf")
    with _settings():
        _settle(figure)
        area = _saved_area(figure)
        with written_whole(png) as file:
            metadata = {"Software": None}
            figure.savefig(file, format="png", dpi=200, metadata=metadata, bbox_inches=area)
        with written_whole(pdf) as file:
            metadata = {"CreationDate": None}
            figure.savefig(file, format="pdf", metadata=metadata, bbox_inches=area)
    return [png, pdf]


def _settle(figure: Any) -> None:
    """Lay the figure out for good: one layout serves both files, and no file asks for another."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def figure_legend(figure: Any, axes: Sequence[Any], n_columns: int, title: str = "") -> None:
    """Put one legend below a figure, each label once, in the order of appearance."""
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=n_columns,
        frameon=False,
        markerscale=1.3,
        title=title or None,
        title_fontsize=8,
    )


_NOTE_SIZE = 6.5  # points
_NOTE = "footnote"


def footnote(figure: Any, lines: Sequence[str]) -> None:
    """Write small lines below everything else, the legend too.

    They stand below the figure's lower edge, where they take no room from the layout;
    :func:`save_figure` saves that strip too.
    """
    if not lines:
        return
    width, height = figure.get_size_inches()
    wrapped = [part for line in lines for part in textwrap.wrap(line, int(width * 21))]
    strip = 1.4 * _NOTE_SIZE / 72 * len(wrapped) + 0.08  # inches
    figure.text(0.01, -strip / height, "\n".join(wrapped), fontsize=_NOTE_SIZE, va="bottom",
                ha="left", in_layout=False, gid=_NOTE)  # fmt: skip


def _saved_area(figure: Any) -> Any:
    """The figure and the strip of its footnote, in inches."""
    from matplotlib.transforms import Bbox

    width, height = figure.get_size_inches()
    notes = [text for text in figure.texts if text.get_gid() == _NOTE]
    if not notes:
        return Bbox.from_extents(0, 0, width, height)
    # A legend stands at the lower edge of what is saved. Fix it where it is without the strip.
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0, 0, 1, 1), transform=figure.transFigure)
    lowest = min(text.get_position()[1] for text in notes)
    return Bbox.from_extents(0, lowest * height - 0.04, width, height)


def percent_limits(axis: Any) -> None:
    """Cut an axis of accuracies where intervals leave what an accuracy can be."""
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, -3), min(high, 103))


def mark_missing(axis: Any) -> None:
    """Say in a panel that nothing is stored for it."""
    axis.text(0.5, 0.5, "missing", transform=axis.transAxes, ha="center", va="center")


def hatch(axis: Any, x: float, y: float, width: float) -> None:
    """Hatch a field of a heat map that has no value; one row high."""
    from matplotlib.patches import Rectangle

    axis.add_patch(Rectangle((x, y), width, 1, fc="0.93", ec="0.7", hatch="////", lw=0))
