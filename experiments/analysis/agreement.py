"""How two runs of the same cells agree: to the digit, within the mean's interval, or beyond it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.analysis.intervals import mean_and_interval
from experiments.store.provenance import kernels_line
from experiments.store.records import Record, RecordStore

Records = Mapping[tuple[str, ...], Record]


def records_by_cell(results: Path) -> Records:
    """Read all records of a directory of results, by what must be equal to compare them."""
    return {
        (r.dataset, r.task, r.method, r.config_sha256, r.data_sha256): r
        for r in RecordStore(results / "records").scan()
    }


def agreement(first: Records, second: Records) -> pd.DataFrame:
    """Compare the accuracies of two runs: a row for each cell in which both did the same.

    ``identical``: all are the same to the last digit. In percentage points: ``points``, the second
    mean less the first; ``half_width`` of the wider of the two 95 % intervals, 0 without one.
    ``beyond``: the means differ by more than that.
    """
    rows = []
    for key in common_cells(first, second):
        before, now = (
            {o.repetition: 100 * o.accuracy for o in run[key].outcomes if o.accuracy is not None}
            for run in (first, second)
        )
        if before and before.keys() == now.keys():
            old, new = (mean_and_interval(list(values.values())) for values in (before, now))
            width = np.nan_to_num(np.fmax(old.half_width, new.half_width))
            rows.append((*key[:3], before == now, new.mean - old.mean, width))
    columns = ["dataset", "task", "method", "identical", "points", "half_width"]
    found = pd.DataFrame(rows, columns=columns).astype({"identical": bool})
    return found.assign(beyond=~found.identical & (found.points.abs() > found.half_width))


def common_cells(first: Records, second: Records) -> list[tuple[str, ...]]:
    """Keys of the cells that both runs have."""
    return [key for key in first if key in second]


def agreement_lines(committed: Records, here: Records) -> list[str]:
    """Say how accuracies agree with the committed ones, and why they may not."""
    found = agreement(committed, here)
    return [
        f"{found.identical.sum()} cells identical to the last digit",
        f"{(~found.identical & ~found.beyond).sum()} with another mean within its interval",
        f"{found.beyond.sum()} with a mean beyond its interval",
        *(
            f"beyond: {row.dataset}/{row.task} {row.method}: {row.points:+.2f} points, interval of "
            f"± {row.half_width:.2f}"
            for row in found[found.beyond].itertuples()
        ),
        *(
            f"environments differ (committed / here): {line}"
            for line in common_differences(committed, here)
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


def common_differences(first: Records, second: Records) -> list[str]:
    """Name the differences of the environments of two runs, the commonest first."""
    found = Counter(
        environment_difference(first[key].environment, second[key].environment)
        for key in common_cells(first, second)
    )
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
