"""Figures inside the page: which belong where, what they show, and their bytes."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from experiments.cells.curves import curves_of
from experiments.cells.plan import TablePlan
from experiments.reading.figures.training import TASKS
from experiments.reading.summary import DatasetSummary

WIDTH = 1400
"""Pixels; wider figures are made smaller."""

_COLOURS = 256


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes
    ----------
    name : str
        Of its files, without suffix.
    caption, alt : str
    source : str or None
        A data URI; None where there is no such file.
    width, height : int
        Pixels.
    """

    name: str
    caption: str
    alt: str
    source: str | None
    width: int = 0
    height: int = 0


def dataset_pictures(
    plan: TablePlan, found: DatasetSummary, directory: Path
) -> tuple[Picture, ...]:
    """Collect the figures of one table.

    Parameters
    ----------
    plan : TablePlan
    found : DatasetSummary
        Of the plan.
    directory : Path
        Holds the figures.

    Returns
    -------
    pictures : tuple of Picture
        Those that a table has, without a source where the file is missing.
    """
    name = plan.name
    shown = f" {found.table.spec.title}." if found.simulated else ""
    of_what = (
        "Accuracy of each of the paper's methods by task, ours with the 95 % interval and the "
        "published values as open markers."
        if found.table.has_published
        else "Accuracy of each method by task, with the 95 % interval."
    )
    wanted = [
        (
            f"accuracy_{name}",
            of_what,
            "One panel a method with accuracy by task; the same numbers stand in the table.",
        )
    ]
    if found.table.has_published:
        wanted.append(
            (
                f"differences_{name}",
                "Ours minus the published value, task by method.",
                "A heat map with a number in each field; the same differences stand in the table.",
            )
        )
    if found.comparison.ranks[0].nemenyi_p is not None:
        wanted.append(
            (
                f"ranks_{name}",
                "Average ranks over the tasks, the best at the left; a bar joins methods that "
                "Nemenyi's test does not tell apart.",
                "Critical-difference diagram; the same ranks stand in the table of comparisons.",
            )
        )
    wanted.append(
        (
            f"runtime_{name}",
            "Mean accuracy against the median seconds of a fit.",
            "A marker for each method, accuracy above time; the seconds stand under Environment.",
        )
    )
    if "krda" in plan.methods:
        wanted.append(
            (
                f"marginals_{name}",
                "Single columns before and after KRDA's transport, beside the target's.",
                "Distributions of the columns of each task; after the transport they lie on the "
                "target's if the densities fit.",
            )
        )
    if plan.dataset in TASKS:
        wanted.append(
            (
                f"training_{name}",
                "Training of KRDA's density: held-out and training negative log-likelihood of "
                "both domains, step by step.",
                "Falling curves of the negative log-likelihood against the training step.",
            )
        )
    optional = [
        (
            f"marginals_{name}_quantiles",
            "Quantiles of all columns before and after KRDA's transport, against the target's.",
            "A line for each column; after the transport they lie on the diagonal if the "
            "densities fit.",
        ),
        (
            f"{name}_fidelity",
            "The simulated data beside the published statistics of the real ones.",
            "Statistics of the simulated columns against published ones.",
        ),
    ]
    wanted += [item for item in optional if (directory / f"{item[0]}.png").is_file()]
    return tuple(load(directory, which, told + shown, alt) for which, told, alt in wanted)


def transport_pictures(plans: Sequence[TablePlan], directory: Path) -> tuple[Picture, ...]:
    """Collect the figures that belong to no table: transports and learning curves.

    Parameters
    ----------
    plans : sequence of TablePlan
    directory : Path
        Holds the figures.

    Returns
    -------
    pictures : tuple of Picture
        Empty without the moons, which the figures come with.
    """
    datasets = {plan.dataset for plan in plans}
    wanted = []
    if "moons" in datasets:
        wanted += [
            (
                "moons_40",
                "KRDA on the moons: source, target, and the source carried to the target.",
                "Three panels of points; in the last the carried source lies on the target.",
            ),
            (
                "moons_components",
                "The transport of the moons with more and fewer components of the density.",
                "One panel for each number of components, with the same rows followed in all.",
            ),
            (
                "gaussians",
                "KRDA from one mixture of Gaussians to another.",
                "One panel for each pair of mixtures: source, target and carried rows.",
            ),
        ]
    for curve in curves_of(plans):
        wanted.append(
            (
                f"learning_curve_{curve.name}",
                f"{curve.title}: mean accuracy with its 95 % band.",
                "Lines of accuracy against the number of training rows, one a method.",
            )
        )
    return tuple(load(directory, *item) for item in wanted)


def load(directory: Path, name: str, caption: str, alt: str) -> Picture:
    """Read a figure's PNG, make it small and write it as a data URI.

    Parameters
    ----------
    directory : Path
    name : str
        Without suffix.
    caption, alt : str

    Returns
    -------
    picture : Picture
        Without a source where there is no such file; the same file gives the same text.
    """
    path = directory / f"{name}.png"
    if not path.is_file():
        return Picture(name, caption, alt, None)
    with Image.open(path) as opened:
        image = Image.new("RGB", opened.size, "white")
        layer = opened.convert("RGBA")
        image.paste(layer, mask=layer.getchannel("A"))
    if image.width > WIDTH:
        image = image.resize(
            (WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS
        )
    # Few colours fill a diagram: a palette takes a fraction of the bytes.
    image = image.quantize(_COLOURS, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    text = base64.b64encode(buffer.getvalue()).decode("ascii")
    return Picture(name, caption, alt, f"data:image/png;base64,{text}", *image.size)
