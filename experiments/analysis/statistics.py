"""The former name of :mod:`experiments.analysis.intervals`."""

from experiments.analysis.intervals import (
    correction_of_shared_rows as correction_of_shared_rows,
)
from experiments.analysis.intervals import (
    correction_of_splits as correction_of_splits,
)
from experiments.analysis.intervals import (
    mean_and_interval as mean_and_interval,
)
