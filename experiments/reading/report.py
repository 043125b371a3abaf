"""``report.html``: one page that holds everything a run has to say, and needs no network.

All numbers on the page are computed from the records and the figures beside them; the template,
``template/report.html``, holds none.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from experiments.analysis.claims import claims
from experiments.analysis.rounding import MISSING, number, signed
from experiments.analysis.table import Table
from experiments.published import STAND_INS
from experiments.published.anomalies import Anomaly, anomalies
from experiments.reading import pages, wording
from experiments.reading.figures import Figure, figures_beside, figures_of
from experiments.reading.headline import headline_of
from experiments.reading.results import Results
from experiments.reading.tables import PLACEBO_HEAD, placebo_rows
from experiments.store.records import Record
from experiments.whole_files import write_text

if TYPE_CHECKING:
    from experiments.cells.plan import TablePlan

NAME = "report.html"
WIDTH = 1400
"""Pixels; wider figures are made smaller."""

_TEMPLATE = Path(__file__).with_name("template")
_DATA = {
    "moons": "Synthetic: two half-circles; the target is another draw of them, rotated.",
    "amazon": "Real product reviews, encoded by a network that is trained on the source labels.",
    "hepmass": "The published HEPMASS data.",
    "hepmass_sim": "Simulated by this repository; these are not the HEPMASS data. The published "
    "values beside them are of the real data and are shown for orientation alone.",
}
"""What the rows of a data set are."""


def render_report(results: Results, records: Sequence[Record], directory: Path) -> Path:
    """Write the page below ``directory``, whose ``figures`` it holds.

    The same records and figures give the same bytes. A figure that is not there, and a cell
    without a record, is named in its place.
    """
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATE, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    figures = directory / "figures"
    names = [table.name for table in results.tables]
    plans = [table.plan for table in results.tables]
    text = environment.get_template("report.html").render(
        # These two files are part of this package, not of the data, and go in as they are.
        style=Markup((_TEMPLATE / "style.css").read_text(encoding="utf-8")),
        script=Markup((_TEMPLATE / "sort.js").read_text(encoding="utf-8")),
        notes=results.notes,
        paper=wording.PAPER,
        datasets=[_dataset(table, results, figures) for table in results.tables],
        transports=_pictures(figures_beside(results), figures),
        reading=pages.READING,
        warning=pages.WARNING,
        claims_head=pages.CLAIMS_HEAD,
        claim_rows=pages.claim_rows(results.claims),
        claims=[(claim, pages.judgements(claim, results.claims)) for claim in claims()],
        anomalies={kind: list(_anomalies(kind, results)) for kind in ("fact", "inference")},
        origin=[*pages.origins(records).itertuples()],
        seconds_note=pages.SECONDS,
        seconds_head=[table.title for table in results.tables],
        seconds=pages.seconds_rows(results.seconds, names),
        commands=_commands(plans),
    )
    write_text(directory / NAME, text)
    return directory / NAME


def _dataset(table: Table, results: Results, figures: Path) -> dict[str, Any]:
    """What the page says of one data set."""
    head, rows = pages.comparison_rows(table, results.comparison)
    recorded = bool(table.cells.recorded.any())
    unfinished = table.cells[table.cells.recorded & ~table.cells.complete]
    dataset = table.plan.dataset
    note = wording.corrected_note(table)
    pictures = list(figures_of(table)) if recorded else []
    if dataset in STAND_INS:
        pictures = [p._replace(caption=f"{p.caption} {table.title}.") for p in pictures]
    return {
        "anchor": table.name,
        "title": table.title,
        "simulated": dataset in STAND_INS,
        "data": _DATA.get(dataset, f"Data set {dataset}."),
        "parameters": _parameters(table.plan),
        "published": table.published,
        "n_tasks": len(table.plan.tasks),
        "n_methods": len(table.labels),
        "n_cells": len(table.cells),
        "headline": headline_of(table),
        "columns": [*table.cells.task_label.unique(), *table.means],
        "rows": list(_rows(table)) if recorded else [],
        "caption": [
            *wording.reading(table),
            f"{wording.CORRECTED_TITLE}, beside the single accuracies of a cell: {note}",
        ],
        "failures": list(wording.failures(table)),
        "missing": list(wording.missing(table)),
        "placebo_head": PLACEBO_HEAD,
        "placebo_rows": placebo_rows(table),
        "look": [
            f"python -m experiments.explain {dataset}/{cell.task} {cell.method}"
            for cell in unfinished.itertuples()
        ],
        "run": f"make reproduce-tables TABLE={table.name}",
        "remarks": pages.remarks(table),
        "comparison_head": head,
        "comparison_rows": rows,
        "comparison_tests": pages.rank_sentences(table, results) if rows else [],
        "pictures": _pictures(pictures, figures),
    }


def _parameters(plan: TablePlan) -> list[str]:
    """Plain values of the data's config, which is the same in all cells of a table."""
    data = next(iter(plan.cells.values())).config["dataset"]["data"]
    return [
        f"{key} {value}"
        for key, value in sorted(data.items())
        if not key.startswith("_") and isinstance(value, bool | int | float | str)
    ]


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    """A method each: label, note, whether it is not in the paper, and its cells."""
    letters = {odd.id: mark for odd, mark in table.anomalies if mark}
    for method, cells in table.cells.groupby("method", sort=False):
        first = cells.iloc[0]
        outside = table.published and not first.in_paper
        means = [mean for by in table.means.values() for mean in by.loc[[method]].itertuples()]
        yield {
            "label": first.label,
            "note": wording.NOT_IN_PAPER if outside else "reference" if first.reference else "",
            "ours": outside,
            "cells": [_cell(cell, letters) for cell in cells.itertuples()]
            + [_mean(mean) for mean in means],
        }


def _cell(cell: Any, letters: dict[str, str]) -> dict[str, Any]:
    known = not math.isnan(cell.published_mean)
    return {
        "text": wording.ours_text(cell),
        "value": _sort_value(cell.mean),
        "bold": cell.bold,
        "published": wording.published_text(cell) if known else "",
        "published_bold": cell.published_bold,
        "marks": [(letters[name], name) for name in cell.anomalies if name in letters],
        "difference": "" if math.isnan(cell.difference) else signed(cell.difference),
        "sign": wording.SIGNS.get(cell.verdict, ""),
        "verdict": cell.verdict if known and cell.recorded else "",
        "title": _title(cell),
        "state": "missing" if not cell.recorded else "done" if cell.complete else "partial",
    }


def _title(cell: Any) -> str:
    """The single accuracies and the tolerance, for whoever points at the cell."""
    if not cell.accuracies:
        return ""
    text = "Repetitions: " + "; ".join(f"{accuracy:.2f}" for accuracy in cell.accuracies)
    if not math.isnan(cell.tolerance):
        text += f". Tolerance: {number(cell.tolerance)}"
    return f"{text}. Corrected half-widths: {wording.corrected_text(cell)}"


def _mean(means: Any) -> dict[str, Any]:
    text = {what: wording.mean_text(means, what) for what in ("ours", "published", "difference")}
    return {
        **dict.fromkeys(("bold", "published_bold", "sign", "verdict", "title", "marks"), ""),
        "text": text["ours"],
        "value": _sort_value(means.ours),
        "published": text["published"].replace(MISSING, ""),
        "difference": text["difference"].replace(MISSING, ""),
        "state": "missing" if math.isnan(means.ours) else "done",
    }


def _sort_value(value: float) -> str:
    """A number to sort by, in full precision; empty for none."""
    return "" if math.isnan(value) else repr(round(value, 8) + 0.0)


def _anomalies(kind: str, results: Results) -> Iterator[tuple[Anomaly, list[str]]]:
    """Each anomaly with where it is shown: title, its letter there, what it concerns."""
    for anomaly in (each for each in anomalies() if each.kind == kind):
        places = [
            f"{table.title}{f', marked {mark}' if mark else ''}: "
            f"{wording.concerned(table, anomaly)}"
            for table in results.tables
            for other, mark in table.anomalies
            if other.id == anomaly.id
        ]
        yield anomaly, places


def _pictures(figures: Iterable[Figure], directory: Path) -> list[dict[str, Any]]:
    found = [picture(figure, directory) for figure in figures]
    return [each for each in found if each["source"] or not each["optional"]]


def picture(figure: Figure, directory: Path) -> dict[str, Any]:
    """A figure's PNG made small, as a data URI; without a source if there is no such file."""
    path = directory / f"{figure.name}.png"
    found = {**figure._asdict(), "alt": figure.caption, "source": None}
    if not path.is_file():
        return found
    with Image.open(path) as opened:
        image = Image.new("RGB", opened.size, "white")
        layer = opened.convert("RGBA")
        image.paste(layer, mask=layer.getchannel("A"))
    if image.width > WIDTH:
        size = WIDTH, round(image.height * WIDTH / image.width)
        image = image.resize(size, Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    # Few colours fill a diagram: a palette takes a fraction of the bytes.
    image.quantize(256, dither=Image.Dither.NONE).save(buffer, "PNG")
    text = base64.b64encode(buffer.getvalue()).decode("ascii")
    size_ = {"width": image.width, "height": image.height}
    return found | size_ | {"source": f"data:image/png;base64,{text}"}


def _commands(plans: Sequence[TablePlan]) -> list[tuple[str, str]]:
    plan = plans[0]
    task, method = next(iter(plan.cells))
    protocol = [o.removeprefix("protocol=") for o in plan.overrides if o.startswith("protocol=")]
    everything = "make reproduce-tables"
    if protocol:
        everything = f"python -m experiments.reproduce --protocol {protocol[0]}"
    return [
        (everything, "run what is not done, and write tables, figures and this page"),
        (f"make reproduce-tables TABLE={plan.name}", "one table alone"),
        ("make results", "bring the committed results up to date"),
        ("make tables", "render everything again from the records, offline"),
        ("make status", "which cells are done, stale, failed or missing"),
        (
            f"python -m experiments.explain {plan.dataset}/{task} {method} --verify",
            "one cell: accuracies, seeds, config, checksums; run it again and compare",
        ),
    ]
