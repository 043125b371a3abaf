"""Pairs of tables with a column to encode."""

import numpy as np
import pandas as pd
import pytest

from krda.tables.encode import TableEncoder
from krda.tables.errors import TableError

N = 60
SIZES = np.random.default_rng(0).normal(size=N)


def frame(**columns):
    """A table with a column of numbers, so that one column is always used."""
    return pd.DataFrame({"size": SIZES, **columns})


def encode(source, target=None, **options):
    """Encode a column `x` of both tables; give its report and its output columns by name."""
    target = source if target is None else target
    S, T = frame(x=source), pd.DataFrame({"x": target})
    T = T.assign(size=np.linspace(0, 1, len(T)))
    encoder = TableEncoder(**options).fit(S, T)
    (report,) = [report for report in encoder.columns_ if report.name == "x"]
    outputs = [
        dict(zip(encoder.get_feature_names_out().tolist(), encoder.transform(X).T, strict=True))
        for X in (S, T)
    ]
    return report, *[
        {name: values.tolist() for name, values in X.items() if name != "size"} for X in outputs
    ]


def repeat(*values, n=N):
    """Repeat values until they are n."""
    return [values[i % len(values)] for i in range(n)]


def refusal(source, target=None, **options):
    """Give the error of a column `x` that is refused."""
    with pytest.raises(TableError) as error:
        encode(source, target, **options)
    message = str(error.value)
    assert "'x'" in message
    return message


ISO = repeat("2024-01-31", "2024-02-01T12:00")


def as_unit(unit):
    """Give the dates of ISO in a unit of pandas."""
    return pd.Series(pd.to_datetime(ISO, format="ISO8601")).dt.as_unit(unit)
