"""The protocol of the paper's section 6: repetitions, subsamples, seeds, and the label firewall.

This module decides the numbers: a change here makes every record stale. What a run costs, where
records are and how failures are reported belong to other modules.

The label firewall. A task holds its target labels in :class:`LockedLabels`. A method gets plain
arrays of source rows, source labels and target rows, in a call that has no place for anything
else. Labels are opened twice, both here: to train 'Target only', which is a type of its own, and
to score predictions once they are made.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hydra.utils import get_class, instantiate
from numpy.typing import NDArray

from baselines.reference import TargetOnly
from experiments.datasets.base import LockedLabels, Task, unlock
from experiments.seeds import derive_seed
from experiments.settings import check_protocol
from krda.base import DomainAdaptationClassifier, Domains, fit_together

Method = DomainAdaptationClassifier | TargetOnly
MethodFactory = Callable[[int], Method]


@dataclass(frozen=True)
class Protocol:
    """How a method is measured on a task.

    Each repetition draws the fractions of the training rows without replacement. For trial runs,
    ``max_rows`` bounds the rows of each domain and of the test.
    """

    n_repetitions: int = 5
    source_fraction: float = 0.9
    target_fraction: float = 0.9
    max_rows: int | None = None

    def __post_init__(self) -> None:
        check_protocol(vars(self))


@dataclass(frozen=True)
class Measurement:
    """How well the labels of the test rows were predicted, and wall-clock seconds.

    ``accuracy`` is the share of the rows that are right, ``balanced_accuracy`` the mean of the
    shares within each class of the test rows; both are in [0, 1].
    """

    accuracy: float
    balanced_accuracy: float
    fit_seconds: float
    predict_seconds: float


def draw_repetition(task: Task, repetition: int, protocol: Protocol) -> Task:
    """Draw the rows of one repetition, counted from 0, as a smaller task.

    The draw depends only on data set, task and number of the repetition: every method sees the same
    rows, so that comparisons are paired. Its arrays are copies: a method that changes them changes
    its own numbers and no other's.
    """
    rng = np.random.default_rng(derive_seed(task.dataset, task.name, "subsample", repetition))
    source = _subsample(len(task.Xs), protocol.source_fraction, protocol.max_rows, rng)
    target = _subsample(len(task.Xt), protocol.target_fraction, protocol.max_rows, rng)
    test = slice(protocol.max_rows)
    return replace(
        task,
        Xs=task.Xs[source],
        ys=task.ys[source],
        Xt=task.Xt[target],
        yt=LockedLabels(unlock(task.yt)[target]),
        X_test=task.X_test[test],
        y_test=LockedLabels(unlock(task.y_test)[test]),
    )


def _subsample(
    n: int, fraction: float, max_rows: int | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    size = round(fraction * n)
    # Permute first, cut later: the bound for trial runs leaves the draw of other rows alone.
    return np.sort(rng.permutation(n)[: size if max_rows is None else min(size, max_rows)])


def make_method(config: Mapping[str, Any], seed: int) -> Method:
    """Make an unfitted method of its config: a class, its arguments, and a seed if it takes one."""
    arguments = {key: value for key, value in config.items() if key != "name"}
    if "random_state" in inspect.signature(get_class(config["_target_"])).parameters:
        arguments["random_state"] = seed
    method: Method = instantiate(arguments, _convert_="all")
    return method


def measure(factory: MethodFactory, data: Task, seed: int) -> Measurement:
    """Fit the method that ``factory`` makes from a seed on one repetition, and score it.

    ValueError: predictions of the wrong shape, or that are no labels of the training rows.
    """
    method = factory(seed)
    labels = unlock(data.yt) if isinstance(method, TargetOnly) else data.ys
    classes = frozenset(labels.tolist())
    start = time.perf_counter()
    if isinstance(method, TargetOnly):
        method.fit(data.Xt, labels)
    else:
        method.fit(data.Xs, labels, data.Xt)
    return _score(method, data, classes, time.perf_counter() - start)


def measure_together(
    factory: MethodFactory, data: Sequence[Task], seeds: Sequence[int]
) -> list[Measurement | Exception]:
    """Measure several repetitions of a method whose models train as one program.

    With pinned kernels the accuracies are those of :func:`measure`, one repetition after another;
    see :func:`krda.base.fit_together`. The time of the common fit is divided evenly. For
    each repetition, the list has what its fit or its prediction raised in place of a measurement.
    """
    methods = [factory(seed) for seed in seeds]
    classes = [frozenset(d.ys.tolist()) for d in data]
    start = time.perf_counter()
    errors = fit_together(methods, [Domains(d.Xs, d.ys, d.Xt) for d in data])
    seconds = (time.perf_counter() - start) / len(methods)
    outcomes: list[Measurement | Exception] = []
    for method, repetition, own, error in zip(methods, data, classes, errors, strict=True):
        try:
            if error is not None:
                raise error
            outcomes.append(_score(method, repetition, own, seconds))
        except Exception as raised:
            outcomes.append(raised)
    return outcomes


def _score(method: Method, data: Task, classes: frozenset[Any], fit_seconds: float) -> Measurement:
    """Let a fitted method predict the test rows, check that it gives classes, and compare."""
    start = time.perf_counter()
    predictions = np.asarray(method.predict(data.X_test))
    seconds = time.perf_counter() - start
    labels = unlock(data.y_test)
    if predictions.shape != labels.shape:
        raise ValueError(
            f"{type(method).__name__}.predict must return one label a row, shape {labels.shape}; "
            f"got shape {predictions.shape}."
        )
    unknown = [p for p in predictions.tolist() if not isinstance(p, Hashable) or p not in classes]
    if unknown:
        label, got = next(iter(classes)), unknown[0]
        raise ValueError(
            f"{type(method).__name__}.predict must return labels of its training rows, such as "
            f"{label!r} ({type(label).__name__}); got {got!r} ({type(got).__name__}) and the like "
            f"in {len(unknown)} of {len(predictions)} rows."
        )
    right = predictions == labels
    by_class = [np.mean(right[labels == label]) for label in np.unique(labels)]
    return Measurement(float(np.mean(right)), float(np.mean(by_class)), fit_seconds, seconds)
