"""The measurements as CSV files and a page, and what may be said of speed.

README.md and docs/performance.md say how fast things are between marks only. Each sentence there is
made from a row of a file and names the file, so that none outlives the measurement.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from joblib import cpu_count

from experiments.reading.markdown import between, grid
from experiments.store.provenance import environment
from experiments.whole_files import write_text
from speed.measure import Row

DOCUMENTS = ("README.md", "docs/performance.md")
_COLUMNS = 27  # of the tables that sentences are about
_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "numba", "POT", "zuko")
_HIDDEN = ["cpu_seconds", "compared_to"]


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows, each with the columns that it has; floats to four digits."""
    texts = [
        {name: f"{v:.4g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows
    ]
    write_text(path, pd.DataFrame(texts, dtype=object).to_csv(index=False, lineterminator="\n"))


def number(value: float) -> str:
    """Write a number for a person, with two digits that count."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def duration(seconds: float) -> str:
    """Write a time for a person, with three digits."""
    return f"{seconds:.3g} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def page(directory: Path, titles: Mapping[str, str], command: str) -> str:
    """Write README.md of a run: all its tables."""
    parts = [
        "# Speed and memory",
        f"Made by `{command}` from the CSV files beside this page. Times are medians, in seconds, "
        "of interleaved repetitions, with the smallest and the largest; if a case takes long, of "
        "one run. Peak memory is that of one run in a process of its own, beyond data and "
        "libraries. A ratio is a case's time over that of the case that the section names: above "
        "1 means slower. How: docs/performance.md.",
        f"**Machine.** {machine(directory)}",
    ]
    for name, title in titles.items():
        path = directory / f"{name}.csv"
        if path.is_file():
            frame = pd.read_csv(path, dtype=str, keep_default_na=False)
            frame = frame.drop(columns=_HIDDEN, errors="ignore")
            head = [column.replace("_", " ") for column in frame]
            parts += [f"## {title}", grid(head, frame.to_numpy().tolist())]
    return "\n\n".join(parts) + "\n"


def write_machine(path: Path) -> None:
    """Describe this machine and its libraries; ``load`` above 1 means that others used it."""
    installed = {one.metadata["Name"]: one.version for one in metadata.distributions()}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = environment() | {
        "load": round(os.getloadavg()[1], 1),
        "memory_gb": round(memory / 1e9, 1),
        "packages": {name: installed.get(name) for name in _PACKAGES},
        "usable_cores": cpu_count(),
    }
    write_text(path, json.dumps(found, indent=1) + "\n")


def machine(directory: Path) -> str:
    """Describe the machine of a run, and how far others kept its processor from the cases."""
    found = json.loads((directory / "machine.json").read_text(encoding="utf-8"))
    versions = ", ".join(f"{k} {v or 'not installed'}" for k, v in found["packages"].items())
    frames = [pd.read_csv(path) for path in sorted(directory.glob("*.csv"))]
    timed = pd.concat([frame for frame in frames if "cpu_seconds" in frame])
    timed = timed[(timed["threads"] == 1) & (timed["seconds"] > 0.01)]
    shares = timed["seconds"] / timed["cpu_seconds"]
    return (
        f"{found['cpu']}, {found['usable_cores']} cores, {found['memory_gb']:g} GB, "
        f"{found['system']} on {found['machine']}; Python {found['python']}, {versions}. System "
        f"load at the end of the run: {found['load']:g}. Wall time of a one-thread case over its "
        f"processor time: median {shares.median():.2f}, largest {shares.max():.2f}; 1 on a machine "
        "that is otherwise idle."
    )


class Sentence(NamedTuple):
    """A sentence on the row of a case with the most rows; its blanks are the row's columns.

    The README repeats the headlines.
    """

    file: str
    case: str
    text: str
    headline: bool = False


_TIMES = "takes {ratio} times as long ({n} rows of {d} columns)."
_AMOUNT = "{n} rows of {d} columns in {seconds} with {peak_mb} MB beyond the data."
_LONGER = (
    "{n} rows in each domain: {seconds} and {peak_mb} MB, {ratio} times as long as KRDA's fit and "
    "transport."
)
SENTENCES = (
    Sentence("transport", "KR transport", "On one thread, the KR transport maps {rows_per_second} "
             "rows of {d} columns a second. 100,000,000 rows take {hundred_million} at that rate.",
             True),
    Sentence("transport", "KR transport, bisection", f"With the paper's bisection it {_TIMES}",
             True),
    Sentence("transport", "KR transport, not compiled", f"Without numba it {_TIMES}", True),
    Sentence("transport", "KR transport, 2 threads", f"On two threads it {_TIMES}"),
    Sentence("transport", "zuko, mixture of normal CDFs",
             f"zuko's autoregressive mixture of normal CDFs {_TIMES}", True),
    Sentence("transport", "zuko, affine",
             f"zuko's affine transform, one Gaussian a conditional, {_TIMES}"),
    Sentence("scale", "KRDA.fit", f"`KRDA.fit`: {_AMOUNT}", True),
    Sentence("scale", "KRDA.transform", f"`KRDA.transform`: {_AMOUNT}", True),
    Sentence("adaptation", "POT, exact (EMD)", f"POT, exact (EMD), {_LONGER}"),
    Sentence("adaptation", "POT, Sinkhorn", f"POT, Sinkhorn, {_LONGER}"),
    Sentence("together", "KRDA, 5 repetitions together", "Five fits to moons as one program take "
             "{ratio} times as long as one, with transport and SVM."),
    Sentence("together", "Plain training of one repetition's network, without transport and SVM",
             "Plain training of one network with torch's autograd and Adam takes {ratio} times as "
             "long as the whole fit of KRDA, with transport and SVM."),
)  # fmt: skip

_FORMATS = {"ratio": number, "rows_per_second": number, "peak_mb": number, "seconds": duration,
            "n": "{:,}".format}  # fmt: skip


def say(sentence: Sentence, directory: Path) -> str | None:
    """Fill the blanks of a sentence; None if the file has no such row."""
    rows = pd.read_csv(directory / f"{sentence.file}.csv")
    rows = rows[(rows["case"] == sentence.case) & (rows["status"] == "done")]
    if "n" in rows:
        rows = rows[rows["d"] == _COLUMNS].sort_values("n")
    if rows.empty:
        return None
    row = rows.iloc[-1]
    found = {str(name): _FORMATS.get(str(name), str)(value) for name, value in row.items()}
    if "rows_per_second" in row:
        found["hundred_million"] = duration(1e8 / row["rows_per_second"])
    return sentence.text.format_map(found)


def filled(text: str, directory: Path, link: str) -> str:
    """Put what the files say between the marks ``<!-- speed NAME: begin -->`` and ``end``.

    NAME is "headlines", "sentences" or "machine"; ``link`` is the directory as links name it.
    """

    def bullets(headlines: bool) -> str:
        chosen = (one for one in SENTENCES if one.headline or not headlines)
        said = ((say(one, directory), f"{one.file}.csv") for one in chosen)
        return "\n".join(f"- {text} ([{file}]({link}/{file}))" for text, file in said if text)

    contents = {
        "headlines": bullets(True), "sentences": bullets(False), "machine": machine(directory)
    }  # fmt: skip
    for name, content in contents.items():
        begin, end = (f"<!-- speed {name}: {edge} -->" for edge in ("begin", "end"))
        if begin in text or end in text:
            text = between(text, begin, end, content)
    return text
