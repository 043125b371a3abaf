"""The page itself: everything collected, then put into the template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from experiments.analysis.comparisons import READING, WARNING, method_rows, rank_tests, remarks
from experiments.analysis.paper_claims import (
    CLAIMS_HEAD,
    CheckedClaim,
    Claim,
    judgements,
    our_verdicts,
    told_once,
)
from experiments.cells.plan import TablePlan, method_label
from experiments.published.anomalies import Anomaly, anomalies
from experiments.reading.render import SECONDS, Provenance, provenance
from experiments.reading.report.headline import Headline, headline_of
from experiments.reading.report.pictures import Picture, dataset_pictures, transport_pictures
from experiments.reading.report.rows import RowView, row_views, sort_value
from experiments.reading.summary import DatasetSummary, Summary
from experiments.reading.tables import wording
from experiments.reading.tables.model import Table
from experiments.reading.tables.placebo import placebo_of
from experiments.store.records import RecordStore
from experiments.whole_files import write_text

NAME = "report.html"

_DIRECTORY = Path(__file__).parent

_DATA = {
    "moons": "Synthetic: two half-circles; the target is another draw of them, rotated.",
    "amazon": "Real product reviews, encoded by a network that is trained on the source labels.",
    "hepmass": "The published HEPMASS data.",
    "hepmass_sim": "Simulated by this repository; these are not the HEPMASS data. The published "
    "values beside them are of the real data and stand there for orientation alone.",
}
"""What the rows of a data set are, in words."""


@dataclass(frozen=True)
class DatasetView:
    """One data set's section.

    Attributes
    ----------
    anchor : str
    title : str
    simulated : bool
    data : str
        What its rows are.
    parameters : tuple of str
        Of the data, from the config.
    published : bool
        Whether the table shows published values.
    n_tasks, n_methods : int
    headline : Headline
    columns : tuple of str
        Tasks, then the means over them.
    rows : tuple of RowView
        Empty where nothing was recorded.
    caption, failures, missing : tuple of str
    placebo_head : tuple of str
    placebo_rows : tuple of tuple of str
        Every row judged by every published column; empty where nothing is judged.
    look : tuple of str
        Commands that show the cells which are not complete.
    run : str
        Command that runs the table.
    comparison_remarks, comparison_tests : tuple of str
    comparison_head : tuple of str
    comparison_rows : tuple of tuple of str
    pictures : tuple of Picture
    """

    anchor: str
    title: str
    simulated: bool
    data: str
    parameters: tuple[str, ...]
    published: bool
    n_tasks: int
    n_methods: int
    headline: Headline
    columns: tuple[str, ...]
    rows: tuple[RowView, ...]
    caption: tuple[str, ...]
    failures: tuple[str, ...]
    missing: tuple[str, ...]
    placebo_head: tuple[str, ...]
    placebo_rows: tuple[tuple[str, ...], ...]
    look: tuple[str, ...]
    run: str
    comparison_remarks: tuple[str, ...]
    comparison_head: tuple[str, ...]
    comparison_rows: tuple[tuple[str, ...], ...]
    comparison_tests: tuple[str, ...]
    pictures: tuple[Picture, ...]


def render_report(
    tables: Sequence[TablePlan], summary: Summary, store: RecordStore, results: Path
) -> Path:
    """Write ``report.html``: one page with everything, which needs no other file and no network.

    Parameters
    ----------
    tables : sequence of TablePlan
        All of them.
    summary : Summary
        Of these tables.
    store : RecordStore
    results : Path
        Its ``figures`` are read, and the page is written to it.

    Returns
    -------
    path : Path
        The same records and figures give the same bytes. A figure that is not there, and a cell
        without a record, is told in its place.
    """
    origin = provenance(tables, store)
    figures = results / "figures"
    views = [
        _dataset_view(plan, found, figures)
        for plan, found in zip(tables, summary.datasets, strict=True)
    ]
    environment = Environment(
        loader=FileSystemLoader(_DIRECTORY, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = environment.get_template("template.html").render(
        # These two files are part of this package, not of the data, and go in as they are.
        style=Markup((_DIRECTORY / "style.css").read_text(encoding="utf-8")),
        script=Markup((_DIRECTORY / "sort.js").read_text(encoding="utf-8")),
        notes=summary.notes,
        paper=wording.PAPER,
        not_in_paper=wording.NOT_IN_PAPER,
        datasets=views,
        transports=transport_pictures(tables, figures),
        reading=READING,
        warning=WARNING,
        claims_head=CLAIMS_HEAD,
        claim_rows=_claim_rows(summary),
        claims=_claims(summary),
        anomalies=_anomalies(summary),
        environment=origin,
        seconds_note=SECONDS,
        seconds=_seconds(origin, views, tables),
        commands=_commands(tables),
    )
    path = results / NAME
    write_text(path, text)
    return path


def _dataset_view(plan: TablePlan, found: DatasetSummary, figures: Path) -> DatasetView:
    table = found.table
    spec = table.spec
    recorded = any(cell.recorded for cell in table.cells.values())
    head, rows = method_rows(found.comparison)
    placebo = placebo_of(table)
    return DatasetView(
        anchor=plan.name,
        title=spec.title,
        simulated=found.simulated,
        data=_DATA.get(plan.dataset, f"Data set {plan.dataset}."),
        parameters=_parameters(plan),
        published=table.has_published,
        n_tasks=len(spec.tasks),
        n_methods=len(spec.rows),
        headline=headline_of(found),
        columns=(*(task.label for task in spec.tasks), *(label for label, *_ in table.means)),
        rows=row_views(table) if recorded else (),
        caption=(
            *wording.reading(table),
            f"{wording.CORRECTED_TITLE}, beside the single accuracies of a cell: "
            f"{wording.corrected_note(table)}",
        ),
        failures=tuple(wording.failures(table)),
        missing=tuple(wording.missing(table)),
        placebo_head=wording.PLACEBO_HEAD,
        placebo_rows=()
        if placebo is None
        else tuple(tuple(row) for row in wording.placebo_rows(table, placebo)),
        look=_look(table),
        run=f"make reproduce-tables TABLE={plan.name}",
        comparison_remarks=tuple(remarks(found.comparison)),
        comparison_head=tuple(head),
        comparison_rows=tuple(tuple(row) for row in rows),
        comparison_tests=tuple(rank_tests(found.comparison)) if rows else (),
        pictures=dataset_pictures(plan, found, figures) if recorded else (),
    )


def _parameters(plan: TablePlan) -> tuple[str, ...]:
    """Plain values of the data's config; those of a table's cells are the same in all of them."""
    first = next(iter(plan.cells.values()))
    data: Mapping[str, Any] = first.config.get("dataset", {}).get("data", {})
    return tuple(
        f"{key} {value}"
        for key, value in sorted(data.items())
        if not key.startswith("_") and isinstance(value, bool | int | float | str)
    )


def _look(table: Table) -> tuple[str, ...]:
    spec = table.spec
    return tuple(
        f"python -m experiments.explain {spec.dataset}/{task.name} {method.name}"
        for method in spec.rows
        for task in spec.tasks
        if table.cells[task.name, method.name].recorded
        and not table.cells[task.name, method.name].complete
    )


def _title(found: CheckedClaim) -> str:
    """A data set of the paper that no table has is known by its name alone."""
    return found.title if found.title != found.dataset else f"{found.dataset}, no table of ours"


def _claim_rows(summary: Summary) -> list[tuple[str, str, str, str, str]]:
    return [
        (
            found.claim.id,
            wording.MISSING if found.claim.check is None else _title(found),
            found.published.short,
            *our_verdicts(found),
        )
        for found in told_once(summary.claims)
    ]


def _claims(summary: Summary) -> list[tuple[Claim, list[dict[str, str]]]]:
    """Each claim with what was found, one entry a data set and side."""
    shown = told_once(summary.claims)
    out: list[tuple[Claim, list[dict[str, str]]]] = []
    for claim in dict.fromkeys(found.claim for found in shown):
        if claim.check is None:
            verdict = next(f.ours.verdict.value for f in shown if f.claim is claim)
            whose = {"about": "paper and ours", "verdict": verdict, "numbers": claim.why_not}
            out.append((claim, [whose]))
            continue
        entries = [
            {"about": about, "verdict": verdict, "numbers": numbers}
            for found in shown
            if found.claim is claim
            for about, verdict, numbers in judgements(replace(found, title=_title(found)))
        ]
        out.append((claim, entries))
    return out


def _anomalies(summary: Summary) -> dict[str, list[tuple[Anomaly, list[str]]]]:
    """By kind, each with where it is shown: title, what it concerns, and its letter there."""
    out: dict[str, list[tuple[Anomaly, list[str]]]] = {"fact": [], "inference": []}
    for anomaly in anomalies():
        places = []
        for found in summary.datasets:
            if all(anomaly.id != other.id for other in found.table.anomalies):
                continue
            letter = found.table.marks.get(anomaly.id)
            mark = "" if letter is None else f", marked {letter}"
            about = wording.concerned(found.table, anomaly)
            places.append(f"{found.table.spec.title}{mark}: {about}")
        out[anomaly.kind].append((anomaly, places))
    return out


def _seconds(
    origin: Provenance, views: Sequence[DatasetView], tables: Sequence[TablePlan]
) -> tuple[tuple[str, ...], list[tuple[str, list[tuple[str, str]]]]]:
    """Titles, then for each method median and largest of each table: text and sort value."""
    rows = []
    for method, seconds in origin.seconds.items():
        cells = []
        for plan in tables:
            times = seconds.get(plan.name)
            for number in (median(times), max(times)) if times else (None, None):
                text = wording.MISSING if number is None else f"{number:.3f}"
                cells.append((text, sort_value(number)))
        rows.append((method_label(method), cells))
    return tuple(view.title for view in views), rows


def _commands(tables: Sequence[TablePlan]) -> list[tuple[str, str]]:
    plan = tables[0]
    task, method = next(iter(plan.cells))
    protocol = [o.removeprefix("protocol=") for o in plan.overrides if o.startswith("protocol=")]
    everything = (
        f"python -m experiments.reproduce --protocol {protocol[0]}"
        if protocol
        else "make reproduce-tables"
    )
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
