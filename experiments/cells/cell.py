"""A cell: one data set, one task, one method under one resolved config, and its run.

A cell's *config* is everything a person can set that changes its numbers; its *identity* adds what
cannot be set: the data's checksum, the code, the versions of the numerical libraries. Neither
holds launcher, paths or verbosity.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from experiments.seeds import method_seed_of
from experiments.store import memo
from experiments.store.fingerprint import code_fingerprint, library_versions
from experiments.store.records import (
    ERROR_LENGTH,
    Damage,
    Outcome,
    Record,
    RecordError,
    RecordStore,
    Status,
    one_line,
    sha256_of,
)

# To say where cells stand must be quick, so this module loads numerical libraries, and what needs
# them, where they are used.
if TYPE_CHECKING:
    from experiments.cells.protocol import Measurement, Method, Protocol
    from experiments.datasets.base import Dataset, Task

_ROOT = Path(__file__).resolve().parents[2]

_NOT_RUN = "not run yet: the run ended before"

TOGETHER_ERROR = "together_error"
"""Key of an outcome's environment: why its cell's repetitions were not trained as one program."""


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes
    ----------
    config : dict
        ``dataset`` (``name``, ``data``), ``task``, ``method`` (``name``, its class and
        parameters) and ``protocol``, all resolved to plain values.
    timeout_seconds : float or None
        Time limit for a repetition; it changes no number and is no part of the identity.
    overrides : tuple of str
        How its config differs from what the names of data set, task and method stand for, in
        Hydra's grammar. For its label and the command that runs it; the config says it all.
    """

    config: dict[str, Any]
    timeout_seconds: float | None = field(default=None, compare=False)
    overrides: tuple[str, ...] = field(default=(), compare=False)

    @property
    def dataset(self) -> str:
        """Config name of the data set."""
        return str(self.config["dataset"]["name"])

    @property
    def task(self) -> str:
        """Name of the task, such as "40" or "B-D"."""
        return str(self.config["task"])

    @property
    def method(self) -> str:
        """Config name of the method."""
        return str(self.config["method"]["name"])

    @property
    def label(self) -> str:
        """``moons/40 krda``, and the overrides where there are any."""
        return " ".join((f"{self.dataset}/{self.task}", self.method, *self.overrides))

    @cached_property
    def config_sha256(self) -> str:
        """Checksum of the config; names the record's file."""
        return sha256_of(self.config)

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules of this repository that the numbers depend on, but for what these import."""
        targets = (self.config["method"]["_target_"], self.config["dataset"]["data"]["_target_"])
        own = (target.rpartition(".")[0] for target in targets)
        return (*own, "experiments.cells.protocol", "experiments.cells.methods")

    @cached_property
    def code(self) -> str:
        """Fingerprint of the code that the numbers depend on."""
        # The limit on threads counts as code, but as no dependency on torch: see `libraries`.
        return _code((*self.modules, "experiments.threads"))

    @cached_property
    def libraries(self) -> dict[str, str]:
        """Versions of the numerical libraries that the numbers depend on."""
        return dict(_libraries(self.modules))

    @property
    def n_repetitions(self) -> int:
        """How many repetitions make the cell complete."""
        return int(self.config["protocol"]["n_repetitions"])

    def load(self) -> Task:
        """Load or draw the task."""
        return _task(self.dataset, self.task, _Frozen(self.config["dataset"]["data"]))

    def data_sha256(self) -> str:
        """Checksum of the task, which is loaded for it."""
        return _data_sha256(self.dataset, self.task, _Frozen(self.config["dataset"]["data"]))

    def remembered_data_sha256(self) -> str:
        """Checksum of the task as an earlier process found it, else as it is.

        What the task depends on is compared: its config, its code and libraries, size and time of
        the files beside the code or named in the config. Good enough to show where cells stand,
        without loading any data; a run computes it.
        """
        data = self.config["dataset"]["data"]
        return _remembered_data_sha256(self.dataset, self.task, _Frozen(data))

    def identity(self, data_sha256: str) -> str:
        """Hash of everything that can change the cell's numbers.

        Parameters
        ----------
        data_sha256 : str
            The task's checksum.

        Returns
        -------
        identity : str
        """
        return sha256_of(
            {
                "config": self.config,
                "data_sha256": data_sha256,
                "code_fingerprint": self.code,
                "libraries": self.libraries,
            }
        )

    def make_method(self, seed: int) -> Method:
        """Make the unfitted method, seeded if it takes a seed."""
        from experiments.cells.methods import make_method

        return make_method(self.config["method"], seed)

    @property
    def trains_together(self) -> bool:
        """Whether the method's class says that several fits are worth training as one program."""
        from hydra.utils import get_object

        try:
            made_by = get_object(str(self.config["method"]["_target_"]))
        except Exception:
            # Each repetition will tell what is wrong.
            return False
        return bool(getattr(made_by, "trains_together", False))


class _Frozen(dict[str, Any]):
    """A dict that can be a cache's key: equal contents, equal hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(sha256_of(self))


@cache
def _code(modules: tuple[str, ...]) -> str:
    return code_fingerprint(modules)


@cache
def _libraries(modules: tuple[str, ...]) -> dict[str, str]:
    return library_versions(modules)


@cache
def _dataset(name: str, data: _Frozen) -> Dataset:
    from hydra.utils import instantiate

    del name
    dataset: Dataset = instantiate(dict(data), _convert_="all")
    return dataset


@cache
def _task(name: str, task: str, data: _Frozen) -> Task:
    loaded = _dataset(name, data).task(task)
    # Seeds are derived from these names; two names of one task would be two cells.
    if (loaded.dataset, loaded.name) != (name, task):
        raise ValueError(
            f"Expected the task {name}/{task} by its own name, got {loaded.label}. Name the task "
            "as its data set does, or let both names in the data set's code and config agree."
        )
    return loaded


@cache
def _data_sha256(name: str, task: str, data: _Frozen) -> str:
    return _task(name, task, data).sha256


@cache
def _remembered_data_sha256(name: str, task: str, data: _Frozen) -> str:
    modules = (data["_target_"].rpartition(".")[0],)
    paths = [Path(value) for value in data.values() if isinstance(value, str)]
    # Of a folder, its manifest tells.
    named = [*paths, *(path / "manifest.json" for path in paths)]
    key = {
        "data": dict(data),
        "task": [name, task],
        "code": _code(modules),
        "libraries": _libraries(modules),
        "files": [*_files_beside_the_code(), *(_stamp(path) for path in named if path.is_file())],
    }
    found = memo.recall("data", key)
    if not isinstance(found, str):
        found = _data_sha256(name, task, data)
        memo.remember("data", key, found)
    return found


@cache
def _files_beside_the_code() -> tuple[list[Any], ...]:
    folder = _ROOT / "experiments" / "datasets"
    files = sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return tuple(_stamp(path) for path in files if path.suffix != ".py")


def _stamp(path: Path) -> list[Any]:
    status = path.stat()
    return [str(path), status.st_size, status.st_mtime_ns]


@dataclass(frozen=True)
class CellState:
    """Where a cell stands.

    Attributes
    ----------
    state : {"done", "failed", "interrupted", "stale", "damaged", "missing", "unavailable"}
        "failed": every repetition was run, and some are not done. "interrupted": some are still to
        run. "stale": the record is of other data, code or library versions. "damaged": the file
        is no valid record. "unavailable": the data cannot be loaded, so nothing can be said.
    record : Record or None
        The record where it is valid, stale or not.
    reason : str or None
        What is wrong with a damaged file, or with the data.
    """

    state: Literal["done", "failed", "interrupted", "stale", "damaged", "missing", "unavailable"]
    record: Record | None = None
    reason: str | None = None

    @property
    def resumable(self) -> Record | None:
        """The record whose finished repetitions a run takes over; None where there is none."""
        return self.record if self.state in ("failed", "interrupted") else None


def cell_state(
    cell: Cell,
    store: RecordStore,
    *,
    read: Callable[[Path], Record | Damage | None] | None = None,
    data_sha256: Callable[[Cell], str] = Cell.data_sha256,
) -> CellState:
    """Look up where a cell stands, without running anything.

    Parameters
    ----------
    cell : Cell
    store : RecordStore
    read : callable or None
        Gives what a scan of the store found at a path; None reads the file.
    data_sha256 : callable
        Gives the checksum of a cell's data.

    Returns
    -------
    state : CellState
    """
    try:
        record = store.get(cell.dataset, cell.task, cell.method, cell.config_sha256, read=read)
    except RecordError as error:
        return CellState("damaged", reason=str(error))
    if record is None:
        return CellState("missing")
    try:
        found_sha256 = data_sha256(cell)
        identity = cell.identity(found_sha256)
    except (Exception, SystemExit) as error:
        # Loading data can fail in as many ways as there are data sets.
        return CellState("unavailable", record, reason=describe_error(error))
    if record.identity != identity:
        return CellState("stale", record)
    seeds = [seed_of(cell, outcome.repetition) for outcome in record.outcomes]
    for what, agree in (
        ("checksum of the data", record.data_sha256 == found_sha256),
        ("fingerprint of the code", record.code_fingerprint == cell.code),
        ("seeds", [outcome.seed for outcome in record.outcomes] == seeds),
    ):
        if not agree:
            path = store.path_of(record)
            return CellState("damaged", reason=f"{path}: {what} and identity contradict each other")
    if record.pending:
        return CellState("interrupted", record)
    return CellState("done" if record.complete else "failed", record)


def run_cell(
    cell: Cell,
    previous: Record | None = None,
    checkpoint: Callable[[Record], object] | None = None,
) -> Record:
    """Run a cell's repetitions; what fails is recorded, and the others go on.

    Parameters
    ----------
    cell : Cell
    previous : Record or None
        A record of the same identity; its finished repetitions are taken over.
    checkpoint : callable or None
        Called after each repetition but the last with the record so far, such as a store's
        ``write``: then a kill costs the repetition at work and none before it.

    Returns
    -------
    record : Record
    """
    outcomes = kept_outcomes(previous)
    todo = [r for r in range(cell.n_repetitions) if r not in outcomes]
    for outcome in run_repetitions(cell, todo):
        outcomes[outcome.repetition] = outcome
        if checkpoint is not None and len(outcomes) < cell.n_repetitions:
            checkpoint(record_of(cell, cell.data_sha256(), outcomes))
    return record_of(cell, cell.data_sha256(), outcomes)


def kept_outcomes(previous: Record | None) -> dict[int, Outcome]:
    """Finished repetitions of an earlier record by their number, each with its own environment.

    Parameters
    ----------
    previous : Record or None

    Returns
    -------
    outcomes : dict of int to Outcome
    """
    if previous is None:
        return {}
    return {
        outcome.repetition: replace(outcome, environment=environment)
        for outcome, environment in zip(previous.outcomes, previous.environments, strict=True)
        if outcome.status == "done"
    }


def run_repetitions(
    cell: Cell,
    repetitions: Sequence[int],
    begin: Callable[[tuple[int, ...]], object] | None = None,
    *,
    together: bool = True,
) -> Iterator[Outcome]:
    """Run some of a cell's repetitions: one after another, or as one program where that is faster.

    Parameters
    ----------
    cell : Cell
    repetitions : sequence of int
    begin : callable or None
        Called with the numbers of the repetitions that are run next: with each number alone, or
        with all of them where the method trains them together.
    together : bool
        False runs them one after another in any case. Both ways give the same accuracies.

    Yields
    ------
    outcome : Outcome
        With the environment it ran in; where it was to be trained with others, and that failed as
        a whole, ``together_error`` there says why.
    """
    from hydra.utils import instantiate

    from experiments.store.provenance import environment

    task = cell.load()
    protocol: Protocol = instantiate(cell.config["protocol"])
    groups: list[tuple[int, ...]] = [(repetition,) for repetition in repetitions]
    if together and len(groups) > 1 and cell.trains_together:
        groups = [tuple(repetitions)]
    for group in groups:
        if begin is not None:
            begin(group)
        for outcome in _run_group(cell, task, protocol, group):
            # Asked for afterwards: a library that is loaded by then can tell its threads.
            where = {**environment(), "libraries": cell.libraries, **(outcome.environment or {})}
            yield replace(outcome, environment=where)


def _run_group(
    cell: Cell, task: Task, protocol: Protocol, group: tuple[int, ...]
) -> Iterator[Outcome]:
    from experiments.cells.protocol import draw_repetition, measure, measure_together

    def factory(seed: int) -> Method:
        return _refusing_nan(cell.make_method(seed))

    seeds = {repetition: seed_of(cell, repetition) for repetition in group}
    note: dict[str, Any] | None = None
    if len(group) > 1:
        try:
            with _one_process():
                found = measure_together(
                    factory,
                    [draw_repetition(task, repetition, protocol) for repetition in group],
                    list(seeds.values()),
                )
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a call of sys.exit included
            # Of a failure of the whole it cannot be said whose it is: each is run alone below. It
            # may be a bug of the common training, so the record tells.
            note = {TOGETHER_ERROR: describe_error(error)}
        else:
            for (repetition, seed), measured in zip(seeds.items(), found, strict=True):
                yield _outcome(repetition, seed, measured)
            return
    for repetition, seed in seeds.items():
        alone: Measurement | BaseException
        try:
            with _one_process():
                alone = measure(factory, draw_repetition(task, repetition, protocol), seed)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            alone = error
        yield replace(_outcome(repetition, seed, alone), environment=note)


@contextmanager
def _one_process() -> Iterator[None]:
    """End a child process that a method has forked and that comes back from it.

    It would do all that is left to do a second time, and answer in its parent's name.
    """
    own = os.getpid()
    status = 0
    try:
        yield
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        raise
    except BaseException:
        status = 1
        raise
    finally:
        if os.getpid() != own:
            os._exit(status)


def _outcome(repetition: int, seed: int, measured: Measurement | BaseException) -> Outcome:
    try:
        if isinstance(measured, BaseException):
            raise measured
        # Within the 'try': an accuracy that is none, as of no test rows, is refused here.
        return Outcome(
            repetition=repetition,
            seed=seed,
            status="done",
            accuracy=measured.accuracy,
            fit_seconds=measured.fit_seconds,
            predict_seconds=measured.predict_seconds,
            error=None,
        )
    except BaseException as error:
        # What methods raise where numbers went out of range, as against a wrong parameter or a bug.
        diverged = isinstance(error, FloatingPointError)
        return _lost(repetition, seed, "diverged" if diverged else "failed", describe_error(error))


def _refusing_nan(method: Method) -> Method:
    """Let a method's ``predict`` raise where a prediction is NaN or infinite.

    Compared with the labels it would count as a wrong prediction, and the accuracy as a result.
    """
    import numpy as np

    predict = method.predict

    def finite_predict(X: Any) -> Any:
        predictions = predict(X)
        values = np.asarray(predictions)
        # NaN is what does not equal itself, also among objects.
        bad = values != values
        if values.dtype.kind in "fc":
            bad = bad | np.isinf(values)
        if np.any(bad):
            raise FloatingPointError(
                f"{type(method).__name__}.predict gave NaN or infinity for {int(np.sum(bad))} of "
                f"{values.size} rows"
            )
        return predictions

    # On the object, not on its class; the protocol asks for the method's type.
    method.__dict__["predict"] = finite_predict
    return method


def _lost(repetition: int, seed: int, status: Status, error: str) -> Outcome:
    return Outcome(
        repetition=repetition,
        seed=seed,
        status=status,
        accuracy=None,
        fit_seconds=None,
        predict_seconds=None,
        error=error,
    )


def describe_error(error: BaseException) -> str:
    """One line: what was raised, and where in this repository, without absolute paths.

    All errors become text here: the line can be printed, written and shown anywhere.

    Parameters
    ----------
    error : BaseException

    Returns
    -------
    line : str
    """
    from hydra.errors import InstantiationException

    frames = traceback.extract_tb(error.__traceback__)
    calls = [(Path(frame.filename), frame.lineno) for frame in frames]
    own = [(p, n) for p, n in calls if p.is_relative_to(_ROOT) and ".venv" not in p.parts]
    where = f" [{own[-1][0].relative_to(_ROOT)}:{own[-1][1]}]" if own else ""
    # Hydra wraps what a constructor raises.
    wrapped = isinstance(error, InstantiationException) and error.__cause__ is not None
    cause = error.__cause__ if wrapped else error
    try:
        text = str(cause)
    except Exception:
        text = "(an error whose text cannot be made)"
    if isinstance(cause, SystemExit):
        text = f"the process was asked to exit ({text})"
    # The place stays, however long the text is.
    return one_line(f"{type(cause).__name__}: {text}", ERROR_LENGTH - len(where)) + where


def lost_outcome(cell: Cell, repetition: int, status: Status, error: str) -> Outcome:
    """Outcome of a repetition that did not come back.

    Parameters
    ----------
    cell : Cell
    repetition : int
    status : {"failed", "timeout", "pending"}
    error : str

    Returns
    -------
    outcome : Outcome
    """
    return _lost(repetition, seed_of(cell, repetition), status, error)


def seed_of(cell: Cell, repetition: int) -> int:
    """Seed of a cell's method in a repetition, by the names of the cell alone."""
    return method_seed_of(cell.dataset, cell.task, cell.method, repetition)


def record_of(cell: Cell, data_sha256: str, outcomes: dict[int, Outcome]) -> Record:
    """Put a cell's outcomes and provenance together.

    Parameters
    ----------
    cell : Cell
    data_sha256 : str
    outcomes : dict of int to Outcome
        By repetition, in the order in which they came; those that are not there yet go into the
        record as pending.

    Returns
    -------
    record : Record
        Its environment is that of the last outcome; an outcome holds its own where it differs.
    """
    from experiments.store.provenance import environment

    own = [outcome.environment for outcome in outcomes.values() if outcome.environment]
    common = own[-1] if own else {**environment(), "libraries": cell.libraries}
    complete = [
        outcomes[r] if r in outcomes else lost_outcome(cell, r, "pending", _NOT_RUN)
        for r in range(cell.n_repetitions)
    ]
    return Record(
        dataset=cell.dataset,
        task=cell.task,
        method=cell.method,
        identity=cell.identity(data_sha256),
        config_sha256=cell.config_sha256,
        config=cell.config,
        data_sha256=data_sha256,
        code_fingerprint=cell.code,
        outcomes=tuple(
            replace(outcome, environment=None) if outcome.environment == common else outcome
            for outcome in complete
        ),
        environment=common,
    )
