"""What docs/amazon.md says of the raw files and of other encoders.

::

    python -m studies.amazon raw           repeated and empty rows
    python -m studies.amazon encoders      the methods over five encoder seeds and two activations

The last writes every accuracy to ``results/studies/amazon_encoders.csv`` and its tables to the
page; subsamples and methods' seeds are the same for all encoders. ``render`` writes the page alone.
The raw files are looked for as scripts/fetch_data.py does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.analysis.intervals import mean_and_interval
from experiments.analysis.rounding import number, signed
from experiments.catalogue import method_label
from experiments.cells.configuration import cells_of
from experiments.datasets.amazon import Amazon
from experiments.datasets.raw import RawDataError, cache_directory
from experiments.encoding.encoder import (
    DEFAULT_SEED,
    SourceEncoder,
    encode_domains,
    write_encodings,
)
from experiments.encoding.reviews import Reviews, load_reviews
from experiments.published import published
from experiments.reading.markdown import fill, grid
from experiments.store.frame import write_csv
from studies.common import ROOT, command, result

AllReviews = Mapping[tuple[str, str], Reviews]

RESULTS = ROOT / "results/studies/amazon_encoders.csv"
PAGE = ROOT / "docs/amazon.md"

# Of the study of encoders; fixed before any result was seen.
SEEDS = (0, 1, 2, 3, 4)
STUDIED = {"tanh": "tanh", "relu": "ReLU"}
METHODS = (
    "source_only", "target_only", "sa", "ot", "krda",
    "standardize", "quantiles", "ot_linear", "krda_reversed",
)  # fmt: skip
_KEYS = ["activation", "encoder_seed", "method", "task", "repetition"]
_AWAY_HEAD = ("Minus the published value", "absolute: mean", "lowest to highest", "signed: mean")


def count_raw(reviews: AllReviews) -> pd.DataFrame:
    """Count rows of each file: all, empty, equal to an earlier one, and in the training file."""

    def keys(own: Reviews) -> pd.Series:
        X = own.X
        return pd.Series(
            [X.indices[i:j].tobytes() + X.data[i:j].tobytes() for i, j in pairwise(X.indptr)]
        )

    counts = {}
    for (domain, split), own in reviews.items():
        counts[domain, split] = {
            "rows": len(own.y),
            "of label +1": (own.y == 1).sum(),
            "without any term": (np.diff(own.X.indptr) == 0).sum(),
            "repeat an earlier one": keys(own).duplicated().sum(),
            "in train": keys(own).isin(keys(reviews[domain, "train"])).sum(),
        }
    return pd.DataFrame(counts)


def measure_encoders(reviews: AllReviews, folder: Path) -> pd.DataFrame:
    """Run the methods on the encodings of each encoder: one row a task, in percent."""
    rows = []
    for activation, seed in product(STUDIED, SEEDS):
        overrides = []
        if (activation, seed) != (SourceEncoder().activation, DEFAULT_SEED):  # the committed file
            path = folder / f"{activation}-{seed}.npz"
            arrays = encode_domains(reviews, SourceEncoder(activation=activation), seed)
            write_encodings(path, arrays, "{}")
            overrides = [f"dataset.data.path='{path}'"]
        for cell in cells_of("amazon", Amazon().task_names, METHODS, overrides):
            rows.append((activation, seed, cell.method, cell.task, 0, float(result(cell, 0))))
    return pd.DataFrame(rows, columns=[*_KEYS, "accuracy"]).sort_values(_KEYS)


def section(accuracies: pd.DataFrame) -> str:
    """Write the tables of docs/amazon.md: means, gains, and distance to the published values."""
    means = accuracies.pivot_table(
        index="encoder_seed", columns=["method", "activation"], values="accuracy"
    )
    value_head, gain_head = ["Mean over 12 tasks, %"], ["Minus Source only, points"]
    for name in STUDIED.values():
        value_head += [f"{name}, seed {SEEDS[0]}", *map(str, SEEDS[1:]), "mean"]
        gain_head += [f"{name}: mean", "lowest to highest", "above"]
    values, gains = [], []
    for method in METHODS:
        values.append([method_label(method)])
        gains.append([method_label(method)])
        for activation in STUDIED:
            own = means[method, activation]
            values[-1] += [number(value) for value in (*own, own.mean())]
            gain = own - means["source_only", activation]
            interval = mean_and_interval(gain.tolist())
            gains[-1] += [
                f"{signed(interval.mean)} ± {number(interval.half_width)}",
                f"{signed(gain.min())} to {signed(gain.max())}",
                f"{(gain > 0).sum()} of {len(gain)}",
            ]
    return (
        f"Repetitions a task: 1; {len(accuracies)} fits. Intervals are Student's, 95 %, over the "
        "encoder seeds; 'above' counts the seeds in which the method is above Source only.\n\n"
        f"{grid(value_head, values)}\n\n{grid(gain_head, gains[1:])}\n\n"
        f"{grid(_AWAY_HEAD, _away(accuracies))}"
    )


def _away(accuracies: pd.DataFrame) -> Iterator[list[str]]:
    """How far Source and Target are from their published values, over the encoder seeds."""
    theirs = {key: cell.mean for key, cell in published("amazon").items()}
    for method, (activation, name) in product(("source_only", "target_only"), STUDIED.items()):
        own = accuracies[(accuracies.method == method) & (accuracies.activation == activation)]
        away = own.accuracy - [theirs[task, method] for task in own.task]
        mean, absolute = (x.groupby(own.encoder_seed).mean() for x in (away, away.abs()))
        spread = f"{absolute.min():.2f} to {absolute.max():.2f}"
        yield [f"{method_label(method)}, {name}", f"{absolute.mean():.2f}", spread,
               f"{mean.mean():+.2f}"]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the counts of the raw files, or write the measurement of the encoders."""
    parser = command("amazon", "Measure what docs/amazon.md says.")
    parser.add_argument("what", choices=("raw", "encoders", "render"))
    what = parser.parse_args(arguments).what
    try:
        reviews = {} if what == "render" else load_reviews()
    except RawDataError as error:
        raise SystemExit(str(error)) from None
    if what == "raw":
        print(count_raw(reviews).to_string())
        return
    if what == "encoders":
        write_csv(measure_encoders(reviews, cache_directory() / "amazon_encodings"), RESULTS)
    fill(PAGE, "encoders", section(pd.read_csv(RESULTS)))


if __name__ == "__main__":
    main()
