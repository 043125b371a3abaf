"""How two runs of the same cells agree: to the digit, within the mean's interval, or beyond it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.analysis.intervals import mean_and_interval
from experiments.store.provenance import kernels_line
from experiments.store.records import Record, RecordStore

Records = Mapping[tuple[str, ...], Record]


@dataclass(frozen=True)
class Agreement:
    """How far the accuracies of two records of one cell are apart.

    ``identical``: all are the same to the last digit. In percentage points: ``points``, the second
    mean less the first; ``half_width`` of the wider of the two 95 % intervals, 0 without one.
    """

    identical: bool
    points: float
    half_width: float

    @property
    def beyond(self) -> bool:
        """Whether the means differ by more than the half-width."""
        return not self.identical and abs(self.points) > self.half_width

    @property
    def in_half_widths(self) -> float:
        """Difference of the means in half-widths; infinite if they differ and have no width."""
        if self.half_width:
            return abs(self.points) / self.half_width
        return float("inf") if self.points else 0.0


def records_by_cell(results: Path) -> Records:
    """Read all records of a directory of results, by what must be equal to compare them."""
    return {
        (r.dataset, r.task, r.method, r.config_sha256, r.data_sha256): r
        for r in RecordStore(results / "records").scan()
    }


def agreement(first: Record, second: Record) -> Agreement | None:
    """Compare two records; None if they have not done the same repetitions."""
    before, now = (
        {o.repetition: 100 * o.accuracy for o in record.outcomes if o.accuracy is not None}
        for record in (first, second)
    )
    if before.keys() != now.keys() or not before:
        return None
    old, new = (mean_and_interval(list(values.values())) for values in (before, now))
    return Agreement(
        identical=first.accuracies == second.accuracies,
        points=new.mean - old.mean,
        half_width=max(old.half_width or 0.0, new.half_width or 0.0),
    )


def agreement_lines(committed: Records, here: Records) -> list[str]:
    """Say how accuracies agree with the committed ones, and why they may not."""
    common = [key for key in committed if key in here]
    found = [(key, agreement(committed[key], here[key])) for key in common]
    compared = [(key, one) for key, one in found if one is not None]
    n_identical = sum(one.identical for _, one in compared)
    beyond = [(key, one) for key, one in compared if one.beyond]
    return [
        f"{n_identical} cells identical to the last digit",
        f"{len(compared) - n_identical - len(beyond)} with another mean within its interval",
        f"{len(beyond)} with a mean beyond its interval",
        *(
            f"beyond: {dataset}/{task} {method}: {one.points:+.2f} points, interval of "
            f"± {one.half_width:.2f}"
            for (dataset, task, method, *_), one in beyond
        ),
        *(
            f"environments differ (committed / here): {line}"
            for line in common_differences((committed[key], here[key]) for key in common)
        ),
    ]


def environment_difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Name in a line what can move digits between two environments (before / now)."""
    was, is_now = _what_counts(before), _what_counts(now)
    return "; ".join(
        f"{name} {was.get(name, 'not recorded')} / {is_now.get(name, 'not recorded')}"
        for name in {**was, **is_now}
        if was.get(name) != is_now.get(name)
    )


def common_differences(pairs: Iterable[tuple[Record, Record]]) -> list[str]:
    """Name the differences of the environments of pairs of records, the commonest first."""
    found = Counter(environment_difference(a.environment, b.environment) for a, b in pairs)
    return [f"{line} ({n} cells)" for line, n in found.most_common() if line]


def _what_counts(environment: Mapping[str, Any]) -> dict[str, str]:
    facts = {
        "processor": environment.get("cpu"),
        "kernels": kernels_line(environment).removeprefix("kernels "),
        "C library": environment.get("libc"),
        "machine": environment.get("machine"),
        "Python": environment.get("python"),
        **(environment.get("libraries") or {}),
    }
    return {name: str(value) for name, value in facts.items() if value is not None}
