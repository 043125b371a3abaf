"""Where the time of the whole benchmark goes: seconds of each method on each data set."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.cells.plan import method_label
from experiments.reading.markdown import table
from experiments.store.records import Record


def seconds_by_method(records: Iterable[Record]) -> dict[tuple[str, str], float]:
    """Add up what fits and predictions took.

    Parameters
    ----------
    records : iterable of Record

    Returns
    -------
    seconds : dict
        By method and data set, over all tasks and repetitions that are done, each on one core.
    """
    seconds: dict[tuple[str, str], float] = {}
    for record in records:
        key = record.method, record.dataset
        took = sum(
            outcome.fit_seconds + outcome.predict_seconds
            for outcome in record.outcomes
            if outcome.fit_seconds is not None and outcome.predict_seconds is not None
        )
        seconds[key] = seconds.get(key, 0.0) + took
    return seconds


def time_table(records: Iterable[Record]) -> str:
    """Write the seconds as Markdown, a row a method, the longest first.

    Parameters
    ----------
    records : iterable of Record

    Returns
    -------
    text : str
    """
    seconds = seconds_by_method(records)
    datasets = sorted({dataset for _, dataset in seconds})
    totals: dict[str, float] = {}
    for (method, _), took in seconds.items():
        totals[method] = totals.get(method, 0.0) + took
    lines = [
        ["Seconds on one core", *datasets, "all"],
        [":--", *["--:"] * (len(datasets) + 1)],
    ]
    for method in sorted(totals, key=lambda name: (-totals[name], name)):
        parts = [seconds.get((method, dataset)) for dataset in datasets]
        own = [_seconds(part) for part in parts]
        lines.append([method_label(method), *own, _seconds(totals[method])])
    sums = [sum(s for (_, d), s in seconds.items() if d == dataset) for dataset in datasets]
    lines.append(["**all**", *(_seconds(s) for s in (*sums, sum(sums)))])
    return table(lines)


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}" if value >= 10 else f"{value:.1f}"
