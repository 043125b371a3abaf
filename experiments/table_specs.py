"""From a planned table to what the renderers need to know of it; no other way leads there."""

from __future__ import annotations

from experiments.plan import METHOD_LABELS, TablePlan
from experiments.published import PARTS, has_published, published
from experiments.tables.model import MethodRow, TableSpec, TaskColumn


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
    if repetitions is None:
        (repetitions,) = {cell.config["protocol"]["n_repetitions"] for cell in plan.cells.values()}
    notes = ("This is a trial run; its accuracies mean nothing.",) if plan.overrides else ()
    title = plan.title
    methods = [MethodRow(name, METHOD_LABELS[name]) for name in plan.paper]
    if part is not None:
        wanted = {method for _, method in published(plan.dataset, part)}
        methods = [method for method in methods if method.name in wanted]
        where = "main table" if part == "main" else "table in the appendix"
        title = f"{title}: methods of the paper's {where}"
    else:
        methods += [
            MethodRow(name, METHOD_LABELS[name], published=False, ours=True) for name in plan.ours
        ]
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
    )


def table_parts(plan: TablePlan) -> tuple[str | None, ...]:
    """Which tables a plan gives: the wide one, and the paper's two where it has them."""
    return (None, *PARTS) if has_published(plan.dataset) else (None,)
