"""What may be said of speed: each sentence is made from a row of a file, and names the file.

README.md and docs/performance.md say how fast things are between marks only, and the text between
them is made here. So no sentence outlives the measurement that it was made from.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from experiments.reading.markdown import between
from speed.tables import duration, machine, number

DOCUMENTS = ("README.md", "docs/performance.md")
_COLUMNS = 27  # of the tables that sentences are about


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


def bullets(directory: Path, link: str, headlines: bool) -> str:
    """Write the sentences, or the headlines alone, as a list with links to the files."""
    return "\n".join(
        f"- {text} ([{sentence.file}.csv]({link}/{sentence.file}.csv))"
        for sentence in SENTENCES
        if (sentence.headline or not headlines) and (text := say(sentence, directory))
    )


def filled(text: str, directory: Path, link: str) -> str:
    """Put what the files say between the marks ``<!-- speed NAME: begin -->`` and ``end``.

    NAME is "headlines", "sentences" or "machine"; ``link`` is the directory as links name it.
    """
    contents = {
        "headlines": bullets(directory, link, True),
        "sentences": bullets(directory, link, False),
        "machine": machine(directory),
    }
    for name, content in contents.items():
        begin, end = (f"<!-- speed {name}: {edge} -->" for edge in ("begin", "end"))
        if begin in text or end in text:
            text = between(text, begin, end, content)
    return text
