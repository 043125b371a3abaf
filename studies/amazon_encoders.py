"""Amazon over five encoder seeds and two activations (docs/amazon.md).

``python -m studies.amazon_encoders`` makes the encodings that are not in the cache yet (the
committed ones serve for tanh and seed 0), runs the methods on all of them, and writes every
accuracy to ``results/studies/amazon_encoders.csv`` and the tables of the page. Subsamples and
methods' seeds are the same for all encoders. The raw files are looked for as scripts/fetch_data.py
does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.catalogue import config_names
from experiments.cells.configuration import cells_of
from experiments.datasets.amazon import Amazon, read_metadata
from experiments.datasets.amazon_encoder import (
    DEFAULT_SEED,
    SourceEncoder,
    describe_run,
    encode_domains,
    write_encodings,
)
from experiments.datasets.amazon_raw import load_reviews, raw_files
from experiments.datasets.raw import cache_directory
from studies.common import (
    MISSING,
    ROOT,
    Finished,
    between,
    command,
    mean_and_interval,
    method_label,
    number,
    signed,
    table,
    write_csv,
    write_text,
)

RESULTS = ROOT / "results/studies/amazon_encoders.csv"
PAGE = ROOT / "docs/amazon.md"
BEGIN, END = "<!-- encoders: begin -->", "<!-- encoders: end -->"

# Fixed before any result was seen.
SEEDS = (0, 1, 2, 3, 4)
ACTIVATIONS = {"tanh": "tanh", "relu": "ReLU"}
METHODS = (
    "source_only", "target_only", "sa", "ot", "krda",
    "standardize", "quantiles", "ot_linear", "krda_reversed",
)  # fmt: skip
_KEYS = ["activation", "encoder_seed", "method", "task", "repetition"]


def encodings(folder: Path, activation: str, seed: int) -> Path | None:
    """Find or make a file of encodings; None is the committed one."""
    encoder = SourceEncoder(activation=activation)
    if (activation, seed) == (SourceEncoder().activation, DEFAULT_SEED):
        return None
    path = folder / f"{activation}-{seed}.npz"
    checksums = {file.name: file.sha256 for file in raw_files()}
    description = describe_run(checksums, encoder, seed)
    if not path.is_file() or read_metadata(path) != json.loads(description):
        print(f"Encoding with {activation}, seed {seed}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        write_encodings(path, encode_domains(load_reviews(), encoder, seed), description)
    return path


def measure(
    methods: Sequence[str], n_repetitions: int, path: Path | None, finished: Finished
) -> pd.DataFrame:
    """Measure methods on one file of encodings: one row a repetition, accuracy in percent."""
    overrides = [] if path is None else [f"dataset.data.path='{path}'"]
    return pd.DataFrame(
        [
            (cell.method, cell.task, repetition, finished.accuracy(cell, repetition))
            for cell in cells_of("amazon", Amazon().task_names, methods, overrides)
            for repetition in range(n_repetitions)
        ],
        columns=["method", "task", "repetition", "accuracy"],
    )


def section(accuracies: pd.DataFrame) -> str:
    """Write the tables of docs/amazon.md: means over tasks, and differences to Source only."""
    means = accuracies.groupby(["activation", "method", "encoder_seed"])["accuracy"].mean()
    n_repetitions = accuracies.groupby("method")["repetition"].nunique()
    methods = [*METHODS, *sorted(set(n_repetitions.index) - set(METHODS))]
    values, gains = [["Mean over 12 tasks, %"]], [["Minus Source only, points"]]
    for name in ACTIVATIONS.values():
        values[0] += [f"{name}, seed {SEEDS[0]}", *map(str, SEEDS[1:]), "mean"]
        gains[0] += [f"{name}: mean", "lowest to highest", "above"]
    for lines in (values, gains):
        lines.append([":--", *["--:"] * (len(lines[0]) - 1)])
    for method in [name for name in methods if name in n_repetitions.index]:
        line, gain = [method_label(method)], [method_label(method)]
        for activation in ACTIVATIONS:
            own = means.reindex(_index(activation, method)).to_numpy()
            line += [_number(value) for value in (*own, np.mean(own))]
            gain += _gain(own - means.reindex(_index(activation, "source_only")).to_numpy())
        values.append(line)
        if method != "source_only":
            gains.append(gain)
    fewer = n_repetitions[n_repetitions < n_repetitions.max()].items()
    return (
        f"Repetitions a task: {n_repetitions.max()}"
        f"{''.join(f', {method_label(str(name))} {n}' for name, n in fewer)}; {len(accuracies)} "
        "fits. Intervals are Student's, 95 %, over the encoder seeds; 'above' counts the seeds in "
        f"which the method is above Source only.\n\n{table(values)}\n\n{table(gains)}"
    )


def _index(activation: str, method: str) -> pd.MultiIndex:
    return pd.MultiIndex.from_product([[activation], [method], SEEDS])


def _number(value: float) -> str:
    return number(value) if np.isfinite(value) else MISSING


def _gain(differences: NDArray[np.float64]) -> list[str]:
    if not np.isfinite(differences).all():
        return [MISSING] * 3
    interval = mean_and_interval(differences.tolist())
    width = "" if interval.half_width is None else f" ± {number(interval.half_width)}"
    return [
        f"{signed(interval.mean)}{width}",
        f"{signed(differences.min())} to {signed(differences.max())}",
        f"{np.sum(differences > 0)} of {len(differences)}",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command("amazon_encoders", "Run methods on Amazon over ten encodings.")
    parser.add_argument("--methods", nargs="+", choices=config_names("method"), default=METHODS,
                        help="the others' rows are kept")  # fmt: skip
    parser.add_argument("--repetitions", type=int, default=5, help="5 is the protocol's")
    parser.add_argument("--encodings", type=Path, help="a folder in place of the user's cache")
    parser.add_argument("--progress", type=Path, default=ROOT / "outputs/amazon-encoders.jsonl")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the CSV file")
    parser.add_argument("--page", type=Path, default=PAGE, help="whose marked part to write")
    parser.add_argument("--render", action="store_true", help="write the page only")
    options = parser.parse_args(arguments)
    if not options.render:
        folder = options.encodings or cache_directory() / "amazon_encodings"
        finished = Finished(options.progress)
        for activation, seed in product(ACTIVATIONS, SEEDS):
            path = encodings(folder, activation, seed)
            found = measure(options.methods, options.repetitions, path, finished)
            found = found.assign(activation=activation, encoder_seed=seed)[[*_KEYS, "accuracy"]]
            if options.output.is_file():
                old = pd.read_csv(options.output)
                same = (old["activation"] == activation) & (old["encoder_seed"] == seed)
                found = pd.concat([old[~(same & old["method"].isin(options.methods))], found])
            write_csv(options.output, found.sort_values(_KEYS))
            print(f"{activation}, seed {seed}: done", flush=True)
    text = section(pd.read_csv(options.output))
    page = options.page.read_text(encoding="utf-8")
    write_text(options.page, between(page, BEGIN, END, text))


if __name__ == "__main__":
    main()
