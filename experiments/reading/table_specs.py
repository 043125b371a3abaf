"""From a planned table to what the renderers need to know of it; no other way leads there."""

from __future__ import annotations

from experiments.analysis.verdicts import measured_shares
from experiments.cells.plan import TablePlan, method_label
from experiments.published import METHODS, PARTS, has_published, published
from experiments.reading.glossary import glossary
from experiments.reading.tables.model import SHARE, MethodRow, TableSpec, TaskColumn


def table_spec(
    plan: TablePlan, part: str | None = None, *, repetitions: int | None = None
) -> TableSpec:
    """Describe a planned table.

    Parameters
    ----------
    plan : TablePlan
    part : {'main', 'appendix'} or None
        One of the paper's two tables, with its methods alone and its tasks in rows; None for the
        wide table of all methods.
    repetitions : int or None
        How many a cell needs; None takes the number of the plan's protocol.

    Returns
    -------
    spec : TableSpec

    Raises
    ------
    KeyError
        A part is asked for and the paper has no table of the data set.
    """
    share = SHARE
    if repetitions is None:
        protocols = [cell.config["protocol"] for cell in plan.cells.values()]
        (repetitions,) = {protocol["n_repetitions"] for protocol in protocols}
        (share,) = {protocol.get("source_fraction", SHARE) for protocol in protocols}
    notes = ("This is a trial run; its accuracies mean nothing.",) if plan.overrides else ()
    title = plan.title
    if has_published(plan.dataset):
        methods = [MethodRow(name, method_label(name)) for name in plan.paper]
        methods += [
            MethodRow(name, method_label(name), published=False, ours=True) for name in plan.ours
        ]
    else:
        # No column of the paper's is there to be shown. Which methods it has is known all the same.
        methods = [
            MethodRow(name, method_label(name), published=False, ours=name not in METHODS.values())
            for name in plan.methods
        ]
    if part is not None:
        wanted = {method for _, method in published(plan.dataset, part)}
        methods = [method for method in methods if method.name in wanted]
        where = "main table" if part == "main" else "table in the appendix"
        title = f"{title}: methods of the paper's {where}"
    return TableSpec(
        dataset=plan.dataset,
        title=title,
        tasks=tuple(TaskColumn(task, plan.task_label.format(task)) for task in plan.tasks),
        methods=tuple(methods),
        test_rows=plan.test_rows,
        repetitions=repetitions,
        notes=notes,
        part=part,
        tasks_in_rows=part is not None,
        glossary=glossary(plan.dataset, [method.name for method in methods]),
        aside=plan.aside,
        aside_why=plan.aside_why,
        share=share,
        test_shares=measured_shares(plan.dataset),
    )


def table_parts(plan: TablePlan) -> tuple[str | None, ...]:
    """Which tables a plan gives: the wide one, and the paper's two where it has them."""
    return (None, *PARTS) if has_published(plan.dataset) else (None,)
