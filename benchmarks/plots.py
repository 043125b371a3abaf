"""Time, and where it matters memory, against the number of rows, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.tables import Row
from experiments.reading.figures.style import (
    BLACK,
    GREY,
    MAPPING,
    PAGE_WIDTH,
    PURPLE,
    SKY,
    SOURCE,
    TARGET,
    TRANSPORTED,
    LineStyle,
    figure_legend,
    footnote,
    new_figure,
    save_figure,
)

_STYLES = (
    LineStyle(MAPPING, "-", "o"),
    LineStyle(SOURCE, "--", "s"),
    LineStyle(TARGET, "-.", "^"),
    LineStyle(PURPLE, (0, (4, 1, 1, 1, 1, 1)), "v"),
    LineStyle(SKY, (0, (1, 1)), "D"),
    LineStyle(TRANSPORTED, (0, (8, 1)), "P"),
    LineStyle(GREY, (0, (6, 2)), "h"),
    LineStyle(BLACK, ":", "x"),
    LineStyle(PURPLE, (0, (2, 2)), "*"),
    LineStyle(BLACK, (0, (5, 1)), "<"),
)

#: For each section that is drawn: what tells its panels apart, what its lines, and what is drawn.
_LAYOUTS: dict[str, tuple[str | None, str, tuple[str, ...]]] = {
    "density": (None, "d", ("seconds", "peak_mb")),
    "transport": ("d", "case", ("seconds",)),
    "adaptation": (None, "case", ("seconds", "peak_mb")),
    "quantile": ("kind", "case", ("seconds",)),
    "scale": (None, "case", ("seconds", "peak_mb")),
}
_AXES = {"seconds": "Seconds", "peak_mb": "Peak memory beyond the data (MB)"}


def draw(section: str, rows: Sequence[Row], path: Path) -> list[Path]:
    """Draw a section's rows against n, where there are several n.

    Parameters
    ----------
    section : str
    rows : sequence of dict
    path : Path
        Of the files, without suffix.

    Returns
    -------
    paths : list of Path
        PNG and PDF; none where there is nothing to draw.
    """
    done = [row for row in rows if row.get("status") == "done"]
    if section not in _LAYOUTS or len({row["n"] for row in done}) < 2:
        return []
    by, line_by, values = _LAYOUTS[section]
    panels = list(dict.fromkeys(row[by] for row in done)) if by else [None]
    panels = [p for p in panels if by is None or len({r["n"] for r in done if r[by] == p}) > 1]
    lines = list(dict.fromkeys(row[line_by] for row in done))
    assert len(lines) <= len(_STYLES), "each line needs a style of its own"
    with new_figure(PAGE_WIDTH, 3.4) as figure:
        shown = [(panel, value) for panel in panels for value in values]
        axes = figure.subplots(1, len(shown), sharey=len(values) == 1, squeeze=False)[0]
        for axis, (panel, value) in zip(axes, shown, strict=True):
            own = [row for row in done if by is None or row[by] == panel]
            for line, style in zip(lines, _STYLES, strict=False):
                _draw_line(axis, [row for row in own if row[line_by] == line], value, style,
                           f"d = {line}" if line_by == "d" else str(line))  # fmt: skip
            if panel is not None:
                axis.set_title(f"d = {panel}" if by == "d" else str(panel))
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xlabel("Rows")
            axis.grid(color="0.9", lw=0.5)
            if value != values[0] or axis is axes[0]:
                axis.set_ylabel(_AXES[value])
        figure_legend(figure, axes, 3)
        notes = ["Bars: least and largest of the repetitions. Lines end where a case was not run."]
        footnote(figure, notes)
        return save_figure(figure, path)


def _draw_line(axis: Any, rows: Sequence[Row], value: str, style: LineStyle, label: str) -> None:
    rows = sorted(rows, key=lambda row: row["n"])
    if value == "peak_mb":  # Less than a page is no point on a logarithmic axis.
        rows = [row for row in rows if row[value] > 0.01]
    if not rows:
        return
    typical = [row[value] for row in rows]
    bars = None
    if value == "seconds":
        bars = [
            [row["seconds"] - row["seconds_min"] for row in rows],
            [row["seconds_max"] - row["seconds"] for row in rows],
        ]
    axis.errorbar([row["n"] for row in rows], typical, yerr=bars, color=style.colour,
                  ls=style.dashes, marker=style.marker, ms=4, lw=1.3, elinewidth=0.8, capsize=2,
                  label=label)  # fmt: skip
