"""How long cells take, from the seconds of those that were run before."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.cells.cell import Cell
from experiments.store.records import Outcome, RecordStore, sha256_of


class Estimates:
    """Seconds of a repetition, by what is known of cells like it.

    Parameters
    ----------
    stores : sequence of RecordStore
        Of records that tell, stale ones too.

    Attributes
    ----------
    factor : float
        Seconds of this run for one estimated: 1 at first, then as observed. It makes up for
        another machine, and for cores that others use.
    """

    def __init__(self, stores: Sequence[RecordStore]) -> None:
        times: dict[tuple[str, ...], list[float]] = {}
        for store in stores:
            for record in store.scan():
                protocol = sha256_of(record.config["protocol"])
                seconds = [s for o in record.outcomes if (s := _seconds(o)) is not None]
                data = sha256_of(record.config["dataset"])
                for key in _keys(record.dataset, record.method, protocol, data):
                    times.setdefault(key, []).extend(seconds)
        self._means = {key: sum(t) / len(t) for key, t in times.items() if t}
        # Of the repetitions that this run has done.
        self._estimated, self._measured, self._n = 0.0, 0.0, 0

    def repetition(self, cell: Cell) -> float | None:
        """Estimate the seconds of a repetition of a cell.

        Parameters
        ----------
        cell : Cell

        Returns
        -------
        seconds : float or None
            The mean over the method's repetitions on the same data set of the same size, else of
            any size, else on all of them; None where no record tells.
        """
        protocol, data = sha256_of(cell.config["protocol"]), sha256_of(cell.config["dataset"])
        for key in _keys(cell.dataset, cell.method, protocol, data):
            if key in self._means:
                return self._means[key]
        return None

    def observe(self, estimated: float | None, outcome: Outcome) -> None:
        """Take note of how long a repetition took.

        Parameters
        ----------
        estimated : float or None
            What :meth:`repetition` had said.
        outcome : Outcome
        """
        seconds = _seconds(outcome)
        if estimated is not None and seconds is not None:
            self._estimated += estimated
            self._measured += seconds
            self._n += 1

    @property
    def factor(self) -> float:
        """Seconds measured for each one estimated."""
        # A few repetitions tell little: the first of a process also load libraries.
        if self._n < 10 or self._estimated <= 0:
            return 1.0
        return self._measured / self._estimated


def _keys(dataset: str, method: str, protocol: str, data: str) -> tuple[tuple[str, ...], ...]:
    return (dataset, method, protocol, data), (dataset, method, protocol), (method, protocol)


def _seconds(outcome: Outcome) -> float | None:
    if outcome.fit_seconds is None or outcome.predict_seconds is None:
        return None
    return outcome.fit_seconds + outcome.predict_seconds
