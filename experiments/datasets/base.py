"""What a data set gives to the benchmark: named tasks with their target labels locked away."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

#: Rows and their labels.
Rows = tuple[NDArray[Any], NDArray[Any]]


class LockedLabels:
    """Target labels that no adaptation method can reach.

    The labels are no attribute and no item; the one way to them is :func:`unlock`, which only the
    protocol calls: to score predictions, and for the reference method 'Target only'. A task hands
    methods plain arrays and never this object.
    """

    __slots__ = ("__labels",)

    def __init__(self, labels: NDArray[Any]) -> None:
        self.__labels = np.array(labels, copy=True)
        self.__labels.setflags(write=False)

    def __len__(self) -> int:
        return len(self.__labels)

    def __repr__(self) -> str:
        return f"LockedLabels({len(self)} labels)"


def unlock(labels: LockedLabels) -> NDArray[Any]:
    """Open target labels, read-only: for scoring and for 'Target only', nowhere else."""
    return labels._LockedLabels__labels  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Task:
    """One transfer task. Its arrays are read-only, because several methods get the same task.

    :meth:`lock` makes one from plain arrays.

    Attributes
    ----------
    dataset, name : str
        Together the task's name in the benchmark: ``moons`` and ``40``, ``amazon`` and ``B-D``.
    Xs : ndarray of shape (n_source, d)
        Source rows.
    ys : ndarray of shape (n_source,)
        Source labels.
    Xt : ndarray of shape (n_target, d)
        Target rows for training.
    yt : LockedLabels of length n_target
        Their labels: for 'Target only' alone.
    X_test : ndarray of shape (n_test, d)
        Target rows that no method sees in training.
    y_test : LockedLabels of length n_test
        Their labels: for scoring alone.

    Raises
    ------
    ValueError
        Rows and labels of different lengths, or parts with different numbers of columns.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    >>> task = Task.lock("toy", "first", source=(X, y), target=(X + 1, y), test=(X + 1, y))
    >>> task.label, task.yt
    ('toy/first', LockedLabels(4 labels))
    """

    dataset: str
    name: str
    Xs: NDArray[np.float64]
    ys: NDArray[Any]
    Xt: NDArray[np.float64]
    yt: LockedLabels
    X_test: NDArray[np.float64]
    y_test: LockedLabels

    @classmethod
    def lock(cls, dataset: str, name: str, *, source: Rows, target: Rows, test: Rows) -> Self:
        """Make a task from rows and labels, and lock the labels of target and test rows."""
        (Xs, ys), (Xt, yt), (X_test, y_test) = source, target, test
        return cls(dataset, name, Xs, ys, Xt, LockedLabels(yt), X_test, LockedLabels(y_test))

    def __post_init__(self) -> None:
        for part, X, y in (
            ("source", self.Xs, self.ys),
            ("target", self.Xt, self.yt),
            ("test", self.X_test, self.y_test),
        ):
            shape = (len(y), self.Xs.shape[1])
            if X.shape != shape:
                raise ValueError(
                    f"{self.label}: the {part} rows must have the shape {shape}, by their labels "
                    f"and the source's columns; got {X.shape}."
                )
        for name in ("Xs", "ys", "Xt", "X_test"):
            copy = np.array(getattr(self, name))  # in the order of its memory: last digits
            copy.setflags(write=False)
            object.__setattr__(self, name, copy)

    @property
    def label(self) -> str:
        """The task's full name, ``moons/40``."""
        return f"{self.dataset}/{self.name}"

    @cached_property
    def sha256(self) -> str:
        """Checksum over every number of the task, rows and labels."""
        digest = hashlib.sha256()
        yt, y_test = unlock(self.yt), unlock(self.y_test)
        for array in (self.Xs, self.ys, self.Xt, yt, self.X_test, y_test):
            contiguous = np.ascontiguousarray(array)
            digest.update(f"{contiguous.dtype.str}{contiguous.shape}".encode())
            digest.update(contiguous.tobytes())
        return digest.hexdigest()


class Dataset(Protocol):
    """A named family of tasks; what a dataset config instantiates.

    Attributes
    ----------
    name : str
        That of the config.
    task_names : tuple of str
        All tasks in the order of the tables; asking for them loads nothing.
    """

    name: str

    @property
    def task_names(self) -> tuple[str, ...]:
        """Names of all tasks, in the order of the tables."""
        ...

    def task(self, name: str) -> Task:
        """Load or draw one task; ValueError if there is none of this name."""
        ...


def require_task(dataset: Dataset, name: str) -> None:
    """Raise ValueError, with the tasks that there are, unless the data set has this one."""
    if name not in dataset.task_names:
        raise ValueError(
            f"There is no task {name!r} in {dataset.name}; expected one of "
            f"{', '.join(dataset.task_names)}."
        )
