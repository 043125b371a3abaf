"""Where the time of the benchmark goes."""

from __future__ import annotations

import pandas as pd


def seconds_by_method(runs: pd.DataFrame) -> pd.DataFrame:
    """Seconds of fits and predictions, methods in rows, the longest first, data sets in columns.

    Over all repetitions that have both times, each on one core; NaN if a method has no record.
    """
    runs = runs.assign(seconds=(runs.fit_seconds + runs.predict_seconds).fillna(0.0))
    wide = runs.pivot_table("seconds", "method", "dataset", aggfunc="sum")
    order = wide.sum(axis=1).sort_index().sort_values(ascending=False, kind="stable")
    return wide.loc[order.index]


def seconds_of_fits(runs: pd.DataFrame) -> pd.DataFrame:
    """Median and largest seconds of a fit, by method and ``table``."""
    fits = runs.dropna(subset="fit_seconds").groupby(["method", "table"], sort=False).fit_seconds
    return fits.agg(["median", "max"]).unstack("table")
