"""Time and memory against the number of rows, on logarithmic axes."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.reading.figures.style import (
    PAGE_WIDTH,
    figure_legend,
    footnote,
    new_figure,
    save_figure,
)
from speed.plan import Section
from speed.tables import done

_MARKERS = "os^vDPhx*<"
_DASHES = ("-", "--", "-.", ":", (0, (4, 1, 1, 1, 1, 1)))
_AXES = {"seconds": "Seconds", "peak_mb": "Peak memory beyond the data (MB)"}


def draw(section: Section, frame: pd.DataFrame, path: Path) -> list[Path]:
    """Draw a section as PNG and PDF; nothing if it has no figure or no two numbers of rows."""
    if section.drawn is None:
        return []
    by, values = section.drawn
    frame = done(frame).sort_values("n", kind="stable")
    panels = [
        (title, part)
        for title, part in (frame.groupby(by, sort=False) if by else [(None, frame)])
        if part["n"].nunique() > 1
    ]
    if not panels:
        return []
    lines = list(dict.fromkeys(frame["case"]))
    with new_figure(PAGE_WIDTH, 3.4) as figure:
        shown = list(product(panels, values))
        axes = figure.subplots(1, len(shown), sharey=len(values) == 1, squeeze=False)[0]
        for axis, ((title, part), value) in zip(axes, shown, strict=True):
            for k, line in enumerate(lines):
                _draw_line(axis, part[part["case"] == line], value, k, line)
            if title is not None:
                axis.set_title(f"d = {title!s}" if by == "d" else str(title))
            axis.set(xscale="log", yscale="log", xlabel="Rows")
            axis.grid(color="0.9", lw=0.5)
            if value != values[0] or axis is axes[0]:
                axis.set_ylabel(_AXES[value])
        figure_legend(figure, axes, 3)
        footnote(figure, ["Bars: smallest and largest of the repetitions. Lines end if a case was "
                          "not run."])  # fmt: skip
        return save_figure(figure, path)


def _draw_line(axis: Any, rows: pd.DataFrame, value: str, k: int, label: str) -> None:
    # Less memory than a page is no point on a logarithmic axis.
    rows = rows[rows[value] > 0.01] if value == "peak_mb" else rows
    if rows.empty:
        return
    bars = None
    if value == "seconds":
        bars = [rows[value] - rows["seconds_min"], rows["seconds_max"] - rows[value]]
    axis.errorbar(rows["n"], rows[value], yerr=bars, color=f"C{k}", ls=_DASHES[k % 5],
                  marker=_MARKERS[k % 10], ms=4, lw=1.3, elinewidth=0.8, capsize=2,
                  label=label)  # fmt: skip
