"""What a person reads of a run: a page with all tables, plots, and the marked parts of documents.

All of it is made from the CSV files and the machine's description alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks import claims, plots, tables
from benchmarks.sections import SECTIONS
from experiments.reading.markdown import between
from experiments.whole_files import write_text

DOCUMENTS = ("README.md", "docs/performance.md")


def render(directory: Path, command: str) -> list[Path]:
    """Write README.md and the plots of a run.

    Parameters
    ----------
    directory : Path
        Of the CSV files.
    command : str
        What repeats the run.

    Returns
    -------
    paths : list of Path
    """
    paths = []
    parts = [
        "# Benchmarks",
        f"Made by `{command}`, tables and plots from the CSV files beside this page. "
        "Times are medians of interleaved repetitions, with the least and the largest; where a "
        "case takes long, one run. Peak memory is that of one run in a process of its own, beyond "
        "data and libraries. A ratio is a case's time over that of the case that the section "
        "names: above 1 means slower. How: docs/performance.md.",
        f"**Machine.** {claims.machine_text(directory)}",
    ]
    for section in SECTIONS:
        path = directory / f"{section.name}.csv"
        if not path.is_file():
            continue
        rows = tables.read(path)
        parts += [f"## {section.title}", *section.notes]
        drawn = plots.draw(section.name, rows, directory / section.name)
        paths += drawn
        if drawn:
            parts.append(f"![{section.title}: time against size]({section.name}.png)")
        parts.append(tables.markdown(rows))
    deep = directory / "deep_baselines.csv"
    if deep.is_file():
        parts += [
            "## Deep baselines",
            "A cell of moons, five repetitions, one thread, processor time in seconds: a "
            "straightforward loop over dalib's own losses (`straightforward`; with its index "
            "matrix rebuilt in each step, `rebuilt`), our training of one model after another "
            "(`alone`), and of all five as one program (`stacked`).",
            tables.markdown(tables.read(deep)),
        ]
    page = directory / "README.md"
    write_text(page, "\n\n".join(parts) + "\n")
    return [page, *paths]


def filled(text: str, results: Path, link: str) -> str:
    """Put what the files say between the marks of a document.

    Parameters
    ----------
    text : str
        Markdown with ``<!-- benchmarks NAME: begin -->`` and ``end`` marks; NAME is "speed",
        "headlines", "machine" or "arithmetic".
    results : Path
        Directory of the files.
    link : str
        The same as the document's links name it.

    Returns
    -------
    text : str

    Raises
    ------
    ValueError
        A name that does not exist, or a mark without its partner.
    """
    contents: dict[str, Callable[[], str]] = {
        "speed": lambda: claims.speed(results, link),
        "headlines": lambda: claims.headlines(results, link),
        "machine": lambda: claims.machine_text(results),
        "arithmetic": lambda: claims.arithmetic(results),
    }
    names = re.findall(r"<!-- benchmarks (\S+): begin -->", text)
    if names != re.findall(r"<!-- benchmarks (\S+): end -->", text):
        raise ValueError("Each mark 'benchmarks NAME: begin' needs its 'benchmarks NAME: end'.")
    for name in names:
        if name not in contents:
            raise ValueError(f"Marks may be named {', '.join(contents)}; got {name!r}.")
        begin, end = (f"<!-- benchmarks {name}: {edge} -->" for edge in ("begin", "end"))
        text = between(text, begin, end, contents[name]())
    return text


def fill_documents(root: Path, results: Path) -> None:
    """Fill the marked parts of the README and of docs/performance.md."""
    for name in DOCUMENTS:
        path = root / name
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            write_text(path, filled(text, results, link_from(name)))


def link_from(document: str) -> str:
    """How a document of the repository names the directory of the results."""
    return "../" * document.count("/") + "results/benchmarks"
