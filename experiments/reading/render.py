"""From stored records to the files that a person reads; nothing is computed anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from rich.console import Console

from experiments.cells.cell import Cell
from experiments.cells.curves import CurvePlan
from experiments.cells.plan import METHOD_LABELS, TablePlan, method_label
from experiments.reading.table_specs import table_parts, table_spec
from experiments.reading.tables import Lookup, render_csv, render_latex, render_markdown
from experiments.reading.tables.markdown import escape
from experiments.store.agreement import agreement, common_differences
from experiments.store.provenance import kernels_line
from experiments.store.records import Record, RecordError, RecordStore, one_line
from experiments.whole_files import write_text

# Worker processes import this module, and need no statistics.
if TYPE_CHECKING:
    from experiments.reading.summary import Summary

SECONDS = (
    "Median and largest wall-clock seconds of a fit, over the tasks and repetitions of a table. "
    "The largest is often a process's first fit, which loads libraries."
)
_FORMATS = {"md": render_markdown, "tex": render_latex, "csv": render_csv}


class ReadOnce(RecordStore):
    """A store to render from: each file is read once, however many tables and figures show it.

    Parameters
    ----------
    root : Path
        What is written there later is not seen.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._found: dict[Path, Record | RecordError] = {}

    def read(self, path: Path) -> Record:
        """Read one file, as the store does, or tell what was found the first time."""
        if path not in self._found:
            try:
                self._found[path] = super().read(path)
            except RecordError as error:
                self._found[path] = error
        found = self._found[path]
        if isinstance(found, RecordError):
            raise found
        return found


def stored(cell: Cell, store: RecordStore) -> Record | None:
    """Read the record of a cell's config; None where there is none or it is damaged.

    Data, code and library versions are not compared: a table shows what was measured, wherever it
    is rendered. ``python -m experiments.reproduce --status`` tells which records are stale.
    """
    try:
        return store.get(cell.dataset, cell.task, cell.method, cell.config_sha256)
    except RecordError:
        return None


def lookup_of(plan: TablePlan | CurvePlan, store: RecordStore) -> Lookup:
    """Read the records of a plan's cells, each once.

    Parameters
    ----------
    plan : TablePlan or CurvePlan
    store : RecordStore
        Records of other configs than the plan's are not looked at.

    Returns
    -------
    lookup : callable
        From task, or the value of a learning curve as text, and method to a record or None.
    """
    records = {
        (str(key), method): stored(cell, store) for (key, method), cell in plan.cells.items()
    }
    return lambda task, method: records.get((task, method))


def render_table(plan: TablePlan, store: RecordStore, directory: Path) -> list[Path]:
    """Write a wide table, and the paper's two where it has them, as Markdown, LaTeX and CSV.

    Parameters
    ----------
    plan : TablePlan
    store : RecordStore
    directory : Path
        Made if it is not there.

    Returns
    -------
    paths : list of Path
        The files written, ``NAME``, ``NAME-main`` and ``NAME-appendix``; the same records give the
        same bytes.
    """
    lookup = lookup_of(plan, store)
    paths = []
    for part in table_parts(plan):
        spec = table_spec(plan, part)
        name = plan.name if part is None else f"{plan.name}-{part}"
        for suffix, render in _FORMATS.items():
            paths.append(_write(directory / f"{name}.{suffix}", render(spec, lookup)))
    return paths


def render_summary(summary: Summary, results: Path) -> list[Path]:
    """Write what is told across tasks and tables: comparisons, claims, diagrams of ranks.

    Parameters
    ----------
    summary : Summary
        Of all tables: the claims are about all data sets.
    results : Path
        Its ``tables`` and ``figures`` are written to, and made if they are not there.

    Returns
    -------
    paths : list of Path
        The same records give the same bytes.
    """
    from experiments.analysis.comparisons import (
        comparison_csv,
        comparison_markdown,
        omnibus_csv,
        pairs_csv,
    )
    from experiments.analysis.paper_claims import claims_markdown
    from experiments.reading.rank_figure import draw_ranks
    from experiments.reading.tables.comma_separated import placebo_csv

    comparisons = [found.comparison for found in summary.datasets]
    paths = [
        _write(results / "tables" / name, text)
        for name, text in (
            ("comparison.md", comparison_markdown(comparisons)),
            ("comparison.csv", comparison_csv(comparisons)),
            ("comparison-tests.csv", omnibus_csv(comparisons)),
            ("comparison-pairs.csv", pairs_csv(comparisons)),
            ("placebo.csv", placebo_csv({d.name: d.table for d in summary.datasets})),
            ("claims.md", claims_markdown(summary.claims, summary.notes)),
        )
    ]
    for comparison in comparisons:
        ranks = comparison.ranks[0]
        if ranks.nemenyi_p is not None:
            title = f"{comparison.title}: average ranks over {ranks.n_tasks} tasks"
            path = results / "figures" / f"ranks_{comparison.name}"
            paths += draw_ranks(ranks, comparison.labels, path, title=title)
    return paths


def _write(path: Path, text: str) -> Path:
    write_text(path, text)
    return path


@dataclass(frozen=True)
class Provenance:
    """Where the numbers of some tables come from, and what they cost.

    Attributes
    ----------
    machines, code : mapping of str to int
        What cells ran on, and of which revision, in words; to the number of cells. A cell whose
        repetitions ran in different places counts in each of them.
    libraries : mapping of str to tuple of str
        Versions.
    seconds : mapping of method to mapping of table to tuple of float
        Wall-clock seconds of every fit.
    """

    machines: Mapping[str, int]
    code: Mapping[str, int]
    libraries: Mapping[str, tuple[str, ...]]
    seconds: Mapping[str, Mapping[str, tuple[float, ...]]]


def provenance(plans: Sequence[TablePlan], store: RecordStore) -> Provenance:
    """Collect where the numbers of some tables come from.

    Parameters
    ----------
    plans : sequence of TablePlan
    store : RecordStore

    Returns
    -------
    provenance : Provenance
        Sorted by name; methods in the order of the tables.
    """
    seconds: dict[str, dict[str, tuple[float, ...]]] = {}
    machines: Counter[str] = Counter()
    code: Counter[str] = Counter()
    libraries: dict[str, set[str]] = {}
    for plan in plans:
        for (_, method), cell in plan.cells.items():
            record = stored(cell, store)
            if record is None:
                continue
            places, revisions = set(), set()
            for where in record.environments:
                places.add(
                    f"{where['cpu']}, {where['cores']} cores, {where['threads']} thread a cell, "
                    f"{where['system']} {where['machine']}, Python {where['python']}, "
                    f"{kernels_line(where)}"
                )
                revisions.add(_revision(where["git_revision"], where["git_clean"]))
                for name, version in where["libraries"].items():
                    libraries.setdefault(name, set()).add(version)
            machines.update(places)
            code.update(revisions)
            times = [o.fit_seconds for o in record.outcomes if o.fit_seconds is not None]
            own = seconds.setdefault(method, {})
            own[plan.name] = (*own.get(plan.name, ()), *times)
    unlabelled = [method for method in seconds if method not in METHOD_LABELS]
    return Provenance(
        dict(sorted(machines.items())),
        dict(sorted(code.items())),
        {name: tuple(sorted(found)) for name, found in sorted(libraries.items())},
        {method: seconds[method] for method in (*METHOD_LABELS, *unlabelled) if method in seconds},
    )


def _revision(revision: str | None, clean: bool | None) -> str:
    if revision is None:
        return "revision unknown, for git told none of a checkout"
    states: dict[bool | None, str] = {True: "as committed", False: "with uncommitted changes"}
    return f"revision {revision}, {states.get(clean, 'not known whether as committed')}"


def render_provenance(plans: Sequence[TablePlan], store: RecordStore, directory: Path) -> Path:
    """Write where the tables' numbers come from, and what they cost, as Markdown.

    Parameters
    ----------
    plans : sequence of TablePlan
    store : RecordStore
    directory : Path
        Made if it is not there.

    Returns
    -------
    path : Path
    """
    origin = provenance(plans, store)
    names = [plan.name for plan in plans]
    lines = [
        "# Where the numbers come from",
        "",
        "Rendered from the records. The command is `make results`.",
        "",
        *(f"- {escape(one_line(text))}: {n} cells" for text, n in origin.machines.items()),
        *(f"- {escape(one_line(text))}: {n} cells" for text, n in origin.code.items()),
        *(
            f"- {escape(one_line(' '.join((name, ', '.join(found)))))}"
            for name, found in origin.libraries.items()
        ),
        "",
        "## Seconds per fit",
        "",
        SECONDS,
        "",
        "| Method | " + " | ".join(f"{name}: median | largest" for name in names) + " |",
        "| :-- |" + " --: | --: |" * len(names),
    ]
    for method, seconds in origin.seconds.items():
        found = [seconds.get(name) for name in names]
        told = [f"{median(t):.3f} | {max(t):.3f}" if t else "– | –" for t in found]
        lines.append(f"| {escape(method_label(method))} | " + " | ".join(told) + " |")
    return _write(directory / "provenance.md", "\n".join(lines) + "\n")


def compare_with_committed(
    console: Console, plans: Sequence[TablePlan], store: RecordStore, committed: RecordStore
) -> None:
    """Report how a run's accuracies agree with those that the repository holds, and why not.

    Means that differ beyond their interval are counted apart from those that differ in digits only.

    Parameters
    ----------
    console : rich.console.Console
    plans : sequence of TablePlan
    store : RecordStore
        Of the run.
    committed : RecordStore
        Of the repository.
    """
    if store.root.resolve() == committed.root.resolve():
        return
    pairs: dict[str, tuple[Record, Record]] = {}
    for plan in plans:
        for cell in plan.cells.values():
            theirs, ours = stored(cell, committed), stored(cell, store)
            if ours is not None and theirs is not None:
                pairs[cell.label] = theirs, ours
    found = {label: agreement(*pair) for label, pair in pairs.items()}
    comparable = {label: a for label, a in found.items() if a is not None}
    different = {label: a for label, a in comparable.items() if not a.identical}
    beyond = {label: a for label, a in different.items() if a.beyond}
    if not found:
        return
    console.print(
        f"Beside the committed results: {len(comparable) - len(different)} cells identical to the "
        f"last digit, {len(different) - len(beyond)} with another mean within its interval, "
        f"{len(beyond)} with a mean beyond its interval"
    )
    if len(comparable) < len(found):
        console.print(f"  not compared, as repetitions are missing: {len(found) - len(comparable)}")
    if different:
        largest = max(a.largest for a in different.values())
        console.print(f"  single accuracies differ by up to {largest:.1f} points")
    for label, a in beyond.items():
        console.print(
            f"  beyond: {label}: {a.points:+.2f} points, interval of ± {a.half_width:.2f}",
            markup=False,
        )
    for line in common_differences(pairs.values()):
        console.print(f"  environments differ (committed / here): {line}", markup=False)
