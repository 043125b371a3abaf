"""Everything that is told of the benchmark, as data: what a report of any form can be made from.

:func:`summarise` reads the records once. Nothing here knows of Markdown, LaTeX or HTML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.analysis.comparisons import Comparison, compare
from experiments.analysis.paper_claims import CheckedClaim, check_claims, curve_side, timed_side
from experiments.cells.curves import curves_of
from experiments.cells.plan import TablePlan
from experiments.published import has_published, published
from experiments.reading.render import lookup_of
from experiments.reading.table_specs import table_parts, table_spec
from experiments.reading.tables.model import Table, build_table
from experiments.store.records import RecordStore


@dataclass(frozen=True)
class DatasetSummary:
    """One data set.

    Attributes
    ----------
    name : str
        Of its table.
    simulated : bool
        Whether its rows stand in for another data set's, so that nothing is judged by them.
    table : Table
        The wide one: all methods.
    parts : mapping of {'main', 'appendix'} to Table
        The paper's two, of its methods alone; empty where the paper has none.
    comparison : Comparison
    """

    name: str
    simulated: bool
    table: Table
    parts: Mapping[str, Table]
    comparison: Comparison


@dataclass(frozen=True)
class Summary:
    """All data sets, and the paper's claims.

    Attributes
    ----------
    datasets : tuple of DatasetSummary
    claims : tuple of CheckedClaim
    notes : tuple of str
        What holds for all of it, such as that it is a trial run.
    """

    datasets: tuple[DatasetSummary, ...]
    claims: tuple[CheckedClaim, ...]
    notes: tuple[str, ...]


def summarise(plans: Sequence[TablePlan], store: RecordStore) -> Summary:
    """Summarise the planned tables from their records.

    Parameters
    ----------
    plans : sequence of TablePlan
    store : RecordStore

    Returns
    -------
    summary : Summary
        The same records give equal numbers.
    """
    datasets = []
    for plan in plans:
        lookup = lookup_of(plan, store)
        tables = {part: build_table(table_spec(plan, part), lookup) for part in table_parts(plan)}
        wide = tables[None]
        values = published(plan.dataset) if has_published(plan.dataset) else {}
        datasets.append(
            DatasetSummary(
                plan.name,
                wide.stands_in_for is not None,
                wide,
                {part: table for part, table in tables.items() if part is not None},
                compare(plan.name, wide, values),
            )
        )
    notes = dict.fromkeys(note for found in datasets for note in found.table.spec.notes)
    curves = {
        curve.name: (curve, curve_side(curve, lookup_of(curve, store)))
        for curve in curves_of(plans)
    }
    claims = check_claims([found.table for found in datasets], curves, timed_side())
    return Summary(tuple(datasets), claims, tuple(notes))
