"""What docs/amazon.md says of the raw files, the encodings, and other encoders.

::

    python -m studies.amazon raw           repeated, empty and contradictory rows
    python -m studies.amazon encodings     rank, constant columns and point masses
    python -m studies.amazon columns       distance of Source and Target to the published ones
    python -m studies.amazon encoders      the methods over five encoder seeds and two activations

The last writes every accuracy to ``results/studies/amazon_encoders.csv`` and its tables to the
page; subsamples and methods' seeds are the same for all encoders. ``render`` writes the page alone.
The raw files are looked for as scripts/fetch_data.py does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.svm import SVC

from experiments.analysis.intervals import mean_and_interval
from experiments.analysis.rounding import number, signed
from experiments.catalogue import method_label
from experiments.cells.configuration import cells_of
from experiments.datasets.amazon import DOMAINS, SPLITS, Amazon, Arrays, encoding_key, label_key
from experiments.datasets.amazon_encoder import (
    ACTIVATIONS,
    DEFAULT_SEED,
    SourceEncoder,
    encode_domains,
    write_encodings,
)
from experiments.datasets.amazon_raw import Reviews, load_reviews
from experiments.datasets.raw import RawDataError, cache_directory
from experiments.published import published
from experiments.reading.markdown import between, grid
from experiments.store.frame import write_csv
from experiments.whole_files import write_text
from studies.common import ROOT, command, result

AllReviews = Mapping[tuple[str, str], Reviews]

RESULTS = ROOT / "results/studies/amazon_encoders.csv"
PAGE = ROOT / "docs/amazon.md"
BEGIN, END = "<!-- encoders: begin -->", "<!-- encoders: end -->"

# Of the study of encoders; fixed before any result was seen.
SEEDS = (0, 1, 2, 3, 4)
STUDIED = {"tanh": "tanh", "relu": "ReLU"}
METHODS = (
    "source_only", "target_only", "sa", "ot", "krda",
    "standardize", "quantiles", "ot_linear", "krda_reversed",
)  # fmt: skip
_KEYS = ["activation", "encoder_seed", "method", "task", "repetition"]


def raw_rows(reviews: AllReviews) -> pd.DataFrame:
    """Give all rows, with what is to be counted of them and a key that equal rows share."""
    found = []
    for (domain, split), own in reviews.items():
        for i, j, label in zip(own.X.indptr[:-1], own.X.indptr[1:], own.y, strict=True):
            key = own.X.indices[i:j].tobytes() + own.X.data[i:j].tobytes()
            found.append((domain, split, key, label, 1, label == 1, i == j))
    names = ["domain", "split", "key", "label", "rows", "of label +1", "without any term"]
    rows = pd.DataFrame(found, columns=names)
    rows["repeat an earlier one"] = rows.duplicated(["domain", "split", "key"])
    keys = pd.MultiIndex.from_frame(rows[["domain", "key"]])
    rows["in train"] = keys.isin(keys[rows["split"] == "train"])
    return rows


def count_raw(rows: pd.DataFrame) -> pd.DataFrame:
    """Count repeated, empty and shared rows, and keys of several products or with both labels."""
    counts = rows.drop(columns=["key", "label"]).groupby(["domain", "split"]).sum()
    in_train = rows[rows["key"].isin(rows.loc[rows["split"] == "train", "key"])]
    for name, column in (("domain", "keys of train in several domains"), ("label", "both labels")):
        counts[column] = (in_train.groupby("key")[name].nunique() > 1).sum()
    return counts


def examine_encodings(arrays: Arrays, source: str) -> dict[str, float]:
    """Measure what a density has to cope with: all rows of all domains by one encoder."""
    keys = [encoding_key(source, domain, split) for domain in DOMAINS for split in SPLITS]
    files = [arrays[key].astype(np.float64) for key in keys]
    rows, spreads = np.vstack(files), np.array([file.std(axis=0) for file in files])
    variances = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2
    shares = 100 * variances / variances.sum()
    largest = max(np.unique(column, return_counts=True)[1].max() for column in rows.T)
    return {f"variance along axis {i}, %": x for i, x in enumerate(shares.tolist(), start=1)} | {
        "smallest deviation of a column in a file": float(spreads.min()),
        "columns that are constant in some file": int((spreads < 1e-6).any(axis=0).sum()),
        "largest share of rows with one number, %": 100 * largest / len(rows),
        "numbers beyond 0.999, %": 100 * float((np.abs(rows) > 0.999).mean()),
        "numbers that are -1 or 1, %": 100 * float((np.abs(rows) == 1).mean()),
    }


def reference_accuracies(arrays: Arrays, unseen: Mapping[str, NDArray[np.bool_]]) -> pd.DataFrame:
    """Score Source and Target on all tasks, in percent: SVC with its defaults, all training rows.

    Also on the test rows of the target alone that ``unseen`` marks.
    """
    scores: dict[str, dict[str, float]] = {}
    for source, target in permutations(DOMAINS, 2):
        row = scores.setdefault(f"{source}-{target}", {})
        for domain, name in ((source, "Source"), (target, "Target")):
            X, y = arrays[encoding_key(source, domain, "train")], arrays[label_key(domain, "train")]
            predicted = SVC().fit(X, y).predict(arrays[encoding_key(source, target, "test")])
            right = predicted == arrays[label_key(target, "test")]
            row[name] = 100 * float(right.mean())
            row[f"{name}, unseen rows"] = 100 * float(right[unseen[target]].mean())
    return pd.DataFrame(scores).T


def encoded(reviews: AllReviews, activation: str, seed: int) -> Arrays:
    """Train the encoders and encode all rows."""
    print(f"\n{activation}, seed {seed}", flush=True)
    return encode_domains(reviews, SourceEncoder(activation=activation), seed)


def measure_encoders(reviews: AllReviews, folder: Path) -> pd.DataFrame:
    """Run the methods on the encodings of each encoder: one row a task, in percent."""
    rows = []
    for activation, seed in product(STUDIED, SEEDS):
        overrides = []
        if (activation, seed) != (SourceEncoder().activation, DEFAULT_SEED):  # the committed file
            path = folder / f"{activation}-{seed}.npz"
            write_encodings(path, encoded(reviews, activation, seed), "{}")
            overrides = [f"dataset.data.path='{path}'"]
        for cell in cells_of("amazon", Amazon().task_names, METHODS, overrides):
            rows.append((activation, seed, cell.method, cell.task, 0, float(result(cell, 0))))
    return pd.DataFrame(rows, columns=[*_KEYS, "accuracy"]).sort_values(_KEYS)


def section(accuracies: pd.DataFrame) -> str:
    """Write the tables of docs/amazon.md: means over tasks, and differences to Source only."""
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
                f"{signed(interval.mean)} ± {number(interval.half_width or 0.0)}",
                f"{signed(gain.min())} to {signed(gain.max())}",
                f"{(gain > 0).sum()} of {len(gain)}",
            ]
    return (
        f"Repetitions a task: 1; {len(accuracies)} fits. Intervals are Student's, 95 %, over the "
        "encoder seeds; 'above' counts the seeds in which the method is above Source only.\n\n"
        f"{grid(value_head, values)}\n\n{grid(gain_head, gains[1:])}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one of the measurements, or write that of the encoders."""
    parser = command("amazon", "Measure what docs/amazon.md says.")
    parser.add_argument("what", choices=("raw", "encodings", "columns", "encoders", "render"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the encoder")
    parser.add_argument("--activations", nargs="+", choices=list(ACTIVATIONS), default=["tanh"])
    options = parser.parse_args(arguments)
    try:
        reviews = {} if options.what == "render" else load_reviews()
    except RawDataError as error:
        raise SystemExit(str(error)) from None
    if options.what == "encoders":
        write_csv(measure_encoders(reviews, cache_directory() / "amazon_encodings"), RESULTS)
    if options.what in ("encoders", "render"):
        page = PAGE.read_text(encoding="utf-8")
        write_text(PAGE, between(page, BEGIN, END, section(pd.read_csv(RESULTS))))
        return
    rows = raw_rows(reviews)
    if options.what == "raw":
        print(count_raw(rows).T.to_string())
        return
    tests = rows[rows["split"] == "test"].groupby("domain")
    unseen = {domain: ~own["in train"].to_numpy() for domain, own in tests}
    cells = published("amazon")
    theirs = pd.DataFrame({
        name: {task: cells[task, method].mean for task in Amazon().task_names}
        for name, method in (("Source", "source_only"), ("Target", "target_only"))
    })  # fmt: skip
    for activation, seed in product(options.activations, options.seeds):
        arrays = encoded(reviews, activation, seed)
        if options.what == "encodings":
            facts = {DOMAINS[source]: examine_encodings(arrays, source) for source in DOMAINS}
            print(pd.DataFrame(facts).round(2).to_string())
            continue
        ours = reference_accuracies(arrays, unseen)
        print(ours.join(theirs, rsuffix=", published").round(1).to_string())
        away = ours - theirs
        summary = {"accuracy": ours.mean(), "mean deviation": away.mean(),
                   "mean absolute deviation": away.abs().mean()}  # fmt: skip
        print(pd.DataFrame(summary).round(2).to_string())


if __name__ == "__main__":
    main()
