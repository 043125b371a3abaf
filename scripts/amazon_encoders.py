"""Run methods on Amazon over five encoder seeds and two activations: what one encoder cannot show.

::

    python scripts/amazon_encoders.py

makes the encodings that are not in the cache yet (the committed ones serve for tanh and seed 0),
runs the methods on all of them, writes every accuracy to ``results/studies/amazon_encoders.csv``
and the tables of docs/amazon.md from that file. ``--methods`` runs some methods only and keeps the
others' rows; ``--render`` runs nothing. The raw files are looked for as scripts/fetch_data.py does.

Finished cells are kept below ``outputs``: a run that was ended goes on from there, and one with
other code starts anew. Subsamples and methods' seeds are the same for all encoders.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from experiments.threads import limit_threads

limit_threads()

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.analysis.intervals import mean_and_interval
from experiments.analysis.rounding import MISSING, number, signed
from experiments.cells.cell import Cell, run_cell
from experiments.cells.configuration import cells_of, config_names
from experiments.cells.plan import method_label
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
from experiments.reading.markdown import between, table
from experiments.store.records import Record, RecordStore
from experiments.whole_files import write_text

_ROOT = Path(__file__).resolve().parents[1]
RESULTS = _ROOT / "results/studies/amazon_encoders.csv"
PAGE = _ROOT / "docs/amazon.md"
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


def measured(cell: Cell, store: RecordStore) -> Record:
    """Run a cell, except for what an earlier run of the same code has finished."""
    previous = store.get(cell.dataset, cell.task, cell.method, cell.config_sha256)
    if previous is not None and previous.identity != cell.identity(cell.data_sha256()):
        previous = None
    record = run_cell(cell, previous)
    store.write(record)
    return record


def measure(
    methods: Sequence[str], n_repetitions: int, path: Path | None, store: RecordStore
) -> pd.DataFrame:
    """Measure methods on one file of encodings: one row a repetition, accuracy in percent."""
    rows = []
    overrides = [f"protocol.n_repetitions={n_repetitions}"]
    if path is not None:
        overrides.append(f"dataset.data.path='{path}'")
    for cell in cells_of("amazon", Amazon().task_names, methods, overrides):
        for outcome in measured(cell, store).outcomes:
            if outcome.accuracy is None:
                raise RuntimeError(f"{cell.label}: {outcome.error}")
            accuracy = float(f"{100 * outcome.accuracy:.10g}")
            rows.append((cell.method, cell.task, outcome.repetition, accuracy))
    return pd.DataFrame(rows, columns=["method", "task", "repetition", "accuracy"])


def section(accuracies: pd.DataFrame) -> str:
    """Write the tables of docs/amazon.md: means over tasks, and differences to Source only."""
    means = accuracies.groupby(["activation", "method", "encoder_seed"])["accuracy"].mean()
    n_repetitions = accuracies.groupby("method")["repetition"].nunique()
    methods = [*METHODS, *sorted(set(n_repetitions.index) - set(METHODS))]
    head = ["Mean over 12 tasks, %"]
    for name in ACTIVATIONS.values():
        head += [f"{name}, seed {SEEDS[0]}", *map(str, SEEDS[1:]), "mean"]
    values = [head, [":--", *["--:"] * (len(head) - 1)]]
    head = ["Minus Source only, points"]
    for name in ACTIVATIONS.values():
        head += [f"{name}: mean", "lowest to highest", "above"]
    gains = [head, [":--", *["--:"] * (len(head) - 1)]]
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
    parser = argparse.ArgumentParser(description="Run methods on Amazon over ten encodings.")
    parser.add_argument("--methods", nargs="+", choices=config_names("method"), default=METHODS)
    parser.add_argument("--repetitions", type=int, default=5, help="5 is the protocol's")
    parser.add_argument("--encodings", type=Path, help="a folder in place of the user's cache")
    parser.add_argument("--records", type=Path, default=_ROOT / "outputs/amazon-encoders")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the CSV file")
    parser.add_argument("--page", type=Path, default=PAGE, help="whose marked part to write")
    parser.add_argument("--render", action="store_true", help="write the page only")
    options = parser.parse_args(arguments)
    if not options.render:
        folder = options.encodings or cache_directory() / "amazon_encodings"
        store = RecordStore(options.records)
        for activation, seed in product(ACTIVATIONS, SEEDS):
            path = encodings(folder, activation, seed)
            found = measure(options.methods, options.repetitions, path, store)
            found = found.assign(activation=activation, encoder_seed=seed)[[*_KEYS, "accuracy"]]
            if options.output.is_file():
                old = pd.read_csv(options.output)
                same = (old["activation"] == activation) & (old["encoder_seed"] == seed)
                found = pd.concat([old[~(same & old["method"].isin(options.methods))], found])
            text = found.sort_values(_KEYS).to_csv(index=False, lineterminator="\n")
            write_text(options.output, text)
            print(f"{activation}, seed {seed}: done", flush=True)
    text = section(pd.read_csv(options.output))
    page = options.page.read_text(encoding="utf-8")
    write_text(options.page, between(page, BEGIN, END, text))


if __name__ == "__main__":
    main()
