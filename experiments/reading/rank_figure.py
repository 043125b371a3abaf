"""The critical-difference diagram: average ranks, and which of them no test tells apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import scikit_posthocs

from experiments.analysis.comparisons import ALPHA, RankComparison, nemenyi_frame
from experiments.reading.figures.style import new_figure, save_figure


def draw_ranks(
    ranks: RankComparison, labels: Mapping[str, str], path: Path, *, title: str
) -> list[Path]:
    """Draw a critical-difference diagram (Demsar, 2006), the same bytes each time.

    Methods stand at their average ranks, the best at the left; a bar joins those that Nemenyi's
    test does not tell apart at level 0.05.

    Parameters
    ----------
    ranks : RankComparison
        With Nemenyi's p-values.
    labels : mapping of method to str
    path : Path
        Without suffix.
    title : str

    Returns
    -------
    paths : list of Path
        A PNG and a PDF.

    Raises
    ------
    ValueError
        The comparison has no p-values: fewer than three methods or two tasks.
    """
    frame = nemenyi_frame(ranks)
    names = [
        f"{labels[method]} ({rank:.2f})"
        for method, rank in zip(ranks.methods, ranks.average_ranks, strict=True)
    ]
    with new_figure(9, 1.6 + 0.14 * len(names)) as figure:
        axes = figure.subplots()
        drawn = scikit_posthocs.critical_difference_diagram(
            dict(enumerate(ranks.average_ranks)),
            frame,
            alpha=ALPHA,
            ax=axes,
            label_fmt_left="{label}",
            label_fmt_right="{label}",
            text_h_margin=0.05,
            color_palette=dict.fromkeys(range(len(names)), "0.2"),
            elbow_props={"linewidth": 0.8},
            crossbar_props={"color": "#0072B2", "linewidth": 2.5},
        )
        for text in drawn["labels"]:
            text.set_text(names[int(text.get_text())])
        told = f"critical difference {ranks.critical_difference:.2f}"
        axes.set_title(f"{title}; {told}", fontsize=10, pad=24)
        return save_figure(figure, path)
