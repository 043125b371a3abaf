"""What stands in a table, before it is written in any format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from experiments.analysis.statistics import Interval, mean_and_interval, over_tasks, overlap
from experiments.analysis.verdicts import Judgement, Verdict, judge
from experiments.published import STAND_INS, PublishedCell, has_published, published
from experiments.published.anomalies import Anomaly, anomalies
from experiments.store.records import Outcome, Record

Lookup = Callable[[str, str], Record | None]
"""From a task's and a method's name to the record of that cell; None where there is none."""

REPETITIONS = 5
SHARE = 0.9
"""Of the training rows that each repetition draws."""
REFERENCES = ("source_only", "target_only")


@dataclass(frozen=True)
class TaskColumn:
    """A task and the head of its column."""

    name: str
    label: str


@dataclass(frozen=True)
class MethodRow:
    """A method and the head of its row.

    Attributes
    ----------
    name, label : str
    published : bool
        Whether to show the published values and the difference.
    ours : bool
        Whether the method is not in the paper; such rows stand below the others.
    """

    name: str
    label: str
    published: bool = True
    ours: bool = False

    def __post_init__(self) -> None:
        if self.published and self.ours:
            raise ValueError(
                f"method {self.name!r} cannot have published values and not be in the paper; set "
                "one of published and ours to False."
            )


@dataclass(frozen=True)
class TableSpec:
    """What a table shows.

    Attributes
    ----------
    dataset, title : str
    tasks : tuple of TaskColumn
        In the order of the columns.
    methods : tuple of MethodRow
        In the order of the rows; those that are ``ours`` are moved below the others.
    test_rows : int
        Test rows behind each accuracy, for the verdicts.
    notes : tuple of str
        Sentences for the end of the caption, plain text.
    repetitions : int
        How many a cell needs to be complete.
    references : tuple of str
        Methods that are no competitors: never bold, never the best.
    part : {'main', 'appendix'} or None
        Which of the paper's two tables of the data set it stands for; None for both in one. Bold
        print of published values is that of the table named.
    tasks_in_rows : bool
        Whether tasks stand in rows and methods in columns, as the paper prints them.
    glossary : str
        What the names of methods and tasks mean, plain text; empty tells nothing.
    aside : tuple of str
        Tasks that a second mean leaves out; empty for no second mean.
    aside_why : str
        Why, for the caption.
    share : float
        Of the training rows that each repetition draws, for the corrected intervals.
    test_shares : mapping of (task, method) to float
        Measured variance over the test rows as a share of the binomial one; 1 for all others.

    Raises
    ------
    ValueError
        No tasks or methods, a name twice, a count below 1, or a stand-in for a data set of the
        paper whose title does not say that it is simulated.
    """

    dataset: str
    title: str
    tasks: tuple[TaskColumn, ...]
    methods: tuple[MethodRow, ...]
    test_rows: int
    notes: tuple[str, ...] = ()
    repetitions: int = REPETITIONS
    references: tuple[str, ...] = REFERENCES
    part: str | None = None
    tasks_in_rows: bool = False
    glossary: str = ""
    aside: tuple[str, ...] = ()
    aside_why: str = ""
    share: float = SHARE
    test_shares: Mapping[tuple[str, str], float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.dataset in STAND_INS and "simulated" not in self.title.lower():
            raise ValueError(
                f"the title of a table of {self.dataset!r} must say 'simulated', got "
                f"{self.title!r}: its rows are not those of {STAND_INS[self.dataset]}."
            )
        for kind, names in (
            ("tasks", [task.name for task in self.tasks]),
            ("methods", [method.name for method in self.methods]),
        ):
            if not names or len(set(names)) < len(names):
                raise ValueError(f"{kind} must be at least one, each once, got {names}.")
        for kind, count in (("test_rows", self.test_rows), ("repetitions", self.repetitions)):
            if count < 1:
                raise ValueError(f"{kind} must be at least 1, got {count}.")

    @property
    def rows(self) -> tuple[MethodRow, ...]:
        """Methods in the order of the rows: the paper's, then those that are ours."""
        return tuple(sorted(self.methods, key=lambda method: method.ours))

    @property
    def kept(self) -> tuple[TaskColumn, ...]:
        """Tasks of the second mean; none without one."""
        kept = tuple(task for task in self.tasks if task.name not in self.aside)
        return kept if len(kept) < len(self.tasks) else ()

    @property
    def kept_label(self) -> str:
        """How the second mean is called, such as '10° to 80°' or 'mean without B-D'."""
        place = [task in self.kept for task in self.tasks]
        if len(self.kept) > 1 and place == sorted(place, reverse=True):
            return f"mean, {self.kept[0].label} to {self.kept[-1].label}"
        out = [task.label for task in self.tasks if task not in self.kept]
        return f"mean without {', '.join(out)}"


@dataclass(frozen=True)
class Cell:
    """One method on one task.

    Attributes
    ----------
    recorded : bool
        Whether there is a record.
    accuracies : tuple of float
        Percent, of the repetitions that are done.
    n_repetitions : int
        How many should be.
    interval : Interval or None
        Percent; None where none is done.
    unfinished : tuple of Outcome
        The repetitions that failed.
    bold : bool
    published : PublishedCell or None
    judgement : Judgement
    anomalies : tuple of Anomaly
        Those about the published values of certain cells, this one among them.
    """

    recorded: bool
    accuracies: tuple[float, ...]
    n_repetitions: int
    interval: Interval | None
    unfinished: tuple[Outcome, ...]
    bold: bool
    published: PublishedCell | None
    judgement: Judgement
    anomalies: tuple[Anomaly, ...]

    @property
    def n_done(self) -> int:
        """How many repetitions are done."""
        return len(self.accuracies)

    @property
    def complete(self) -> bool:
        """Whether all of them are."""
        return self.n_done >= self.n_repetitions


class Mean(NamedTuple):
    """A method's mean over the tasks.

    Attributes
    ----------
    value : float or None
        Over the tasks that have a value; None where none has.
    n_tasks : int
        How many have.
    incomplete : bool
        Whether one of them lacks repetitions.
    half_width : float or None
        Of Student's interval over the repetitions' means over the tasks; None where a cell lacks
        repetitions, and of published means.
    """

    value: float | None
    n_tasks: int
    incomplete: bool = False
    half_width: float | None = None


@dataclass(frozen=True)
class Summary:
    """A method's last column, and how far it lies from the published one.

    Attributes
    ----------
    ours, published, difference : Mean
        The difference is over the tasks that have both.
    absolute : Mean
        Mean absolute difference over the same tasks.
    verdicts : Counter of Verdict
    """

    ours: Mean
    published: Mean
    difference: Mean
    absolute: Mean
    verdicts: Counter[Verdict]


@dataclass(frozen=True)
class Table:
    """Everything that a table shows.

    Attributes
    ----------
    spec : TableSpec
    cells : mapping of (task, method) to Cell
    summaries : mapping of method to Summary
    kept : mapping of method to Summary
        The same without the tasks that stand aside; empty if none does.
    anomalies : tuple of Anomaly
        Those that concern a published value shown.
    stands_in_for : str or None
        The data set that the published values belong to, where it is another one.
    """

    spec: TableSpec
    cells: Mapping[tuple[str, str], Cell]
    summaries: Mapping[str, Summary]
    kept: Mapping[str, Summary]
    anomalies: tuple[Anomaly, ...]
    stands_in_for: str | None

    @property
    def marks(self) -> dict[str, str]:
        """Letters for the anomalies that make a published value suspect, by their ids."""
        suspects = [anomaly.id for anomaly in self.anomalies if anomaly.suspect]
        return {name: _letters(number) for number, name in enumerate(suspects)}

    @property
    def has_published(self) -> bool:
        """Whether any published value is shown."""
        return any(cell.published is not None for cell in self.cells.values())

    @property
    def means(self) -> tuple[tuple[str, int, Mapping[str, Summary]], ...]:
        """Label of each mean over tasks, how many they are, and each method's."""
        spec = self.spec
        every = (("mean", len(spec.tasks), self.summaries),)
        return (*every, (spec.kept_label, len(spec.kept), self.kept)) if spec.kept else every


def build_table(
    spec: TableSpec,
    lookup: Lookup,
    *,
    values: Mapping[tuple[str, str], PublishedCell] | None = None,
    oddities: tuple[Anomaly, ...] | None = None,
) -> Table:
    """Collect what a table shows.

    Parameters
    ----------
    spec : TableSpec
    lookup : callable
        From task and method to a record or None; called once a cell.
    values : mapping of (task, method) to PublishedCell, or None
        Published values; by default those of the paper for ``spec.dataset``.
    oddities : tuple of Anomaly or None
        Likewise.

    Returns
    -------
    table : Table

    Raises
    ------
    ValueError
        The lookup gave the record of another cell.
    """
    if values is None:
        values = published(spec.dataset, spec.part) if has_published(spec.dataset) else {}
    if oddities is None:
        oddities = anomalies(spec.dataset)
    comparable = spec.dataset not in STAND_INS
    cells: dict[tuple[str, str], Cell] = {}
    for task in spec.tasks:
        records = {m.name: _checked(spec, task.name, m.name, lookup) for m in spec.rows}
        bold = _bold(spec, records)
        for method in spec.rows:
            cells[task.name, method.name] = _cell(
                spec,
                spec.test_shares.get((task.name, method.name), 1.0),
                records[method.name],
                values.get((task.name, method.name)) if method.published else None,
                tuple(
                    oddity
                    for oddity in oddities
                    if not oddity.general and oddity.concerns(spec.dataset, task.name, method.name)
                ),
                method.name in bold,
                comparable,
            )
    shown = [key for key, cell in cells.items() if cell.published is not None]
    summaries, kept = (
        {m.name: _summary([cells[task.name, m.name] for task in tasks]) for m in spec.rows if tasks}
        for tasks in (spec.tasks, spec.kept)
    )
    return Table(
        spec,
        cells,
        summaries,
        kept,
        tuple(o for o in oddities if any(o.concerns(spec.dataset, *key) for key in shown)),
        STAND_INS.get(spec.dataset),
    )


def _checked(spec: TableSpec, task: str, method: str, lookup: Lookup) -> Record | None:
    record = lookup(task, method)
    if record is not None and (record.dataset, record.task, record.method) != (
        spec.dataset, task, method,
    ):  # fmt: skip
        raise ValueError(
            f"asked for {spec.dataset}/{task}, {method}, the lookup gave "
            f"{record.dataset}/{record.task}, {record.method}."
        )
    return record


def _repetitions(spec: TableSpec, record: Record | None) -> int:
    """How many a cell should have: a record that never held all of them is not complete."""
    return max(spec.repetitions, len(record.outcomes) if record is not None else 0)


def _interval(record: Record | None) -> Interval | None:
    if record is None or not record.accuracies:
        return None
    return mean_and_interval([100 * accuracy for accuracy in record.accuracies])


def _bold(spec: TableSpec, records: Mapping[str, Record | None]) -> set[str]:
    """Methods whose interval overlaps that of the best, among competitors that are complete."""
    intervals = {
        method: interval
        for method, record in records.items()
        if method not in spec.references
        and (interval := _interval(record)) is not None
        and interval.n >= _repetitions(spec, record)
    }
    if not intervals:
        return set()
    highest = max(interval.mean for interval in intervals.values())
    best = [interval for interval in intervals.values() if interval.mean == highest]
    return {m for m, interval in intervals.items() if any(overlap(interval, b) for b in best)}


def _cell(
    spec: TableSpec,
    test_share: float,
    record: Record | None,
    value: PublishedCell | None,
    concerned: tuple[Anomaly, ...],
    bold: bool,
    comparable: bool,
) -> Cell:
    interval = _interval(record)
    accuracies = () if record is None else tuple(100 * a for a in record.accuracies)
    n_repetitions = _repetitions(spec, record)
    judgement = judge(
        interval,
        None if value is None else (value.mean, value.ci95),
        recorded=record is not None,
        complete=len(accuracies) >= n_repetitions,
        comparable=comparable,
        suspect=any(anomaly.suspect for anomaly in concerned),
        test_rows=spec.test_rows,
        test_share=test_share,
    )
    return Cell(
        record is not None,
        accuracies,
        n_repetitions,
        interval,
        () if record is None else record.unfinished,
        bold,
        value,
        judgement,
        concerned if value is not None else (),
    )


def _summary(cells: list[Cell]) -> Summary:
    ours = [cell for cell in cells if cell.interval is not None]
    both = [cell for cell in ours if cell.judgement.difference is not None]
    differences = [c.judgement.difference for c in both if c.judgement.difference is not None]
    incomplete = any(not cell.complete for cell in both)
    own = _mean(
        [cell.interval.mean for cell in ours if cell.interval is not None],
        any(not cell.complete for cell in ours),
    )
    if len(ours) == len(cells) and not own.incomplete and len({cell.n_done for cell in ours}) == 1:
        half_width = over_tasks([cell.accuracies for cell in ours]).half_width
        own = own._replace(half_width=half_width)
    return Summary(
        own,
        _mean([cell.published.mean for cell in cells if cell.published is not None]),
        _mean(differences, incomplete),
        _mean([abs(difference) for difference in differences], incomplete),
        Counter(cell.judgement.verdict for cell in cells),
    )


def _mean(values: list[float], incomplete: bool = False) -> Mean:
    return Mean(math.fsum(values) / len(values) if values else None, len(values), incomplete)


def _letters(number: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    rest, last = divmod(number, 26)
    return (_letters(rest - 1) if rest else "") + chr(ord("a") + last)
