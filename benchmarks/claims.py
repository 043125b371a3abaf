"""What may be said of speed, each sentence made from the files and naming the one it is from.

The README and docs/performance.md say how fast things are between marks only, and what stands there
is made here. So no sentence outlives the measurement that it was made from.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import machine, tables
from benchmarks.adaptation import KRDA_FIT
from benchmarks.quantile import KINDS
from benchmarks.scale import FIT, TRANSFORM
from benchmarks.tables import Row, duration, matching, number, select
from benchmarks.together import ONE
from benchmarks.transport import BISECTION, NEWTON, NOT_COMPILED
from experiments.reading.markdown import table

MISSING = "No full run is stored: `make bench` makes one."


#: How many sentences of each file, from the first on, the README repeats.
HEADLINES = {"transport": 4, "quantile": 1, "scale": 3, "deep_baselines": 1}


@dataclass(frozen=True)
class Claim:
    """A sentence and where it is from.

    Attributes
    ----------
    text : str
    file : str
        Name of the CSV file that holds its numbers.
    """

    text: str
    file: str


def claims(directory: Path) -> list[Claim]:
    """Make every sentence that the files of a run have the numbers for.

    Parameters
    ----------
    directory : Path
        Of the CSV files.

    Returns
    -------
    claims : list of Claim
    """
    makers: dict[str, Callable[[list[Row]], list[str]]] = {
        "transport": _transport,
        "quantile": _quantile,
        "density": _density,
        "scale": _scale,
        "adaptation": _adaptation,
        "together": _together,
        "deep_baselines": _deep_baselines,
    }
    found = []
    for name, make in makers.items():
        path = directory / f"{name}.csv"
        if path.is_file():
            found += [Claim(text, path.name) for text in make(tables.read(path))]
    return found


def _largest(rows: list[Row], **wanted: Any) -> Row | None:
    """Of the rows that are done and wanted, the one with the most columns, then rows."""
    return max(
        matching(rows, **wanted), key=lambda row: (row.get("d", 0), row.get("n", 0)), default=None
    )


def _transport(rows: list[Row]) -> list[str]:
    found = []
    # One number of columns, the largest with the largest table.
    most = max((row["n"] for row in matching(rows)), default=0)
    own = _largest(rows, case=NEWTON, n=most)
    if own is None:
        return []
    size = {"d": own["d"]}
    found.append(
        f"On one thread, the KR transport carries {number(own['rows_per_second'])} rows of "
        f"{own['d']} columns a second."
    )
    for case, name in (
        (BISECTION, "With the paper's bisection it"),
        (NOT_COMPILED, "Where numba is not installed it"),
        ("zuko, mixture of normal CDFs", "zuko's autoregressive mixture of normal CDFs"),
        ("zuko, affine", "zuko's affine transform, one Gaussian a conditional,"),
        ("nflows, affine", "nflows' affine transform, one Gaussian a conditional,"),
        (f"{NEWTON}, 2 threads", "On two threads it"),
    ):
        other = _largest(rows, case=case, **size)
        if other is not None and "ratio" in other:
            found.append(
                f"{name} takes {number(other['ratio'])} times as long ({other['n']:,} rows of "
                f"{other['d']} columns)."
            )
    return found


def _quantile(rows: list[Row]) -> list[str]:
    found = []
    for kind in KINDS:
        newton = _largest(rows, case="newton", kind=kind)
        if newton is None:
            continue
        other = select(rows, case="bisection", kind=kind, n=newton["n"])
        text = (
            f"The fast method inverts {newton['n']:,} mixtures of the kind *{kind}* in "
            f"{duration(newton['seconds'])} with |F(z) - u| at most {newton['max_error']:.1e}"
        )
        if other is not None:
            text += (
                f"; bisection takes {number(other['ratio'])} times as long and reaches "
                f"{other['max_error']:.1e}"
            )
        found.append(f"{text}.")
    return found


def _density(rows: list[Row]) -> list[str]:
    found = []
    for d in dict.fromkeys(row["d"] for row in rows):
        most = _largest(rows, d=d)
        if most is not None:
            found.append(
                f"Fitting the densities of both domains to {most['n']:,} rows each of {d} columns "
                f"takes {duration(most['seconds'])}, {most['steps']:,} steps."
            )
    return found


def _scale(rows: list[Row]) -> list[str]:
    found = []
    for case, name in (
        (FIT, "`KRDA.fit`"),
        (TRANSFORM, "`KRDA.transform`"),
    ):
        most = _largest(rows, case=case)
        if most is not None:
            found.append(
                f"{name}: {most['n']:,} rows of {most['d']} columns in {duration(most['seconds'])} "
                f"with {number(most['peak_mb'])} MB beyond the data."
            )
    return found


def _adaptation(rows: list[Row]) -> list[str]:
    found = []
    for case in ("POT, exact (EMD)", "POT, Sinkhorn"):
        most = _largest(rows, case=case)
        if most is not None and "ratio" in most:
            found.append(
                f"{case}, {most['n']:,} rows in each domain: {duration(most['seconds'])} and "
                f"{number(most['peak_mb'])} MB, {number(most['ratio'])} times as long as KRDA's "
                "fit and transport."
            )
    own = _largest(rows, case=KRDA_FIT)
    if own is not None:
        found.append(
            f"KRDA's fit and transport of {own['n']:,} rows in each domain: "
            f"{duration(own['seconds'])} and {number(own['peak_mb'])} MB."
        )
    return found


def _together(rows: list[Row]) -> list[str]:
    found = []
    for row in rows:
        if row.get("status") == "done" and row["case"] != ONE and "ratio" in row:
            fits = row["repetitions_fitted"]
            each = f": {duration(row['seconds'] / fits)} a fit" if fits > 1 else ""
            found.append(
                f"{row['case']}: {number(row['ratio'])} times as long as {ONE}, with transport and "
                f"SVM{each}."
            )
    return found


def _deep_baselines(rows: list[Row]) -> list[str]:
    if not rows:
        return []
    least, most = (pick(row["ratio"] for row in rows) for pick in (min, max))
    found = [
        "A straightforward training loop over dalib's losses takes "
        f"{number(least)} to {number(most)} times as long as ours for the five repetitions of a "
        "moons cell, to equal results."
    ]
    found += [
        f"{row['method'].upper()}: {duration(row['straightforward'])} straightforward, "
        f"{duration(row['alone'])} one model after another, {duration(row['stacked'])} together."
        for row in rows
    ]
    return found


def headlines(directory: Path, link: str) -> str:
    """Write the sentences that the README repeats; see :data:`HEADLINES`.

    Parameters
    ----------
    directory : Path
        Of the CSV files.
    link : str
        The directory as the document's links name it.

    Returns
    -------
    text : str
    """
    found = claims(directory)
    chosen = [
        claim
        for name, count in HEADLINES.items()
        for claim in [c for c in found if c.file == f"{name}.csv"][:count]
    ]
    return _as_list(chosen, link)


def _as_list(found: list[Claim], link: str) -> str:
    lines = [f"- {claim.text} ([{claim.file}]({link}/{claim.file}))" for claim in found]
    return "\n".join(lines) if lines else MISSING


def speed(directory: Path, link: str) -> str:
    """Write all sentences as a list.

    Parameters
    ----------
    directory : Path
        Of the CSV files.
    link : str
        The directory as the document's links name it.

    Returns
    -------
    text : str
    """
    return _as_list(claims(directory), link)


def machine_text(directory: Path) -> str:
    """Describe the machine of a run in two sentences."""
    path = directory / "machine.json"
    if not path.is_file():
        return MISSING
    found = machine.read(path)
    versions = ", ".join(
        f"{name} {version or 'not installed'}" for name, version in found["packages"].items()
    )
    return (
        f"{found['cpu']}, {found['usable_cores']} cores, {found['memory_gb']:g} GB, "
        f"{found['system']} on {found['machine']}; Python {found['python']}, {versions}. System "
        f"load at the end of the run: {found['load']:g}.{_quietness(directory)}"
    )


def _quietness(directory: Path) -> str:
    """Say how far others kept the processor from the cases, from wall and processor times."""
    shares = [
        row["seconds"] / row["cpu_seconds"]
        for path in sorted(directory.glob("*.csv"))
        for row in tables.read(path)
        if row.get("threads") == 1 and row.get("seconds", 0.0) > 0.01 and row.get("cpu_seconds")
    ]
    if not shares:
        return ""
    return (
        f" Wall time of a one-thread case over its processor time: median {median(shares):.2f}, "
        f"largest {max(shares):.2f}; 1 on a machine that is otherwise idle."
    )


#: What the arithmetic of docs/performance.md is for.
ROWS_ON_PAPER = 10**8


def arithmetic(directory: Path) -> str:
    """Work out what 1e8 rows would need, from the rate measured for `KRDA.transform`."""
    path = directory / "scale.csv"
    row = _largest(tables.read(path), case=TRANSFORM) if path.is_file() else None
    if row is None:
        return MISSING
    n, d, rate = ROWS_ON_PAPER, row["d"], row["rows_per_second"]
    block = select(tables.read(path), case=TRANSFORM, n=min(100_000, row["n"]))
    lines = [
        ["what", "arithmetic", "needs"],
        [":--", ":--", "--:"],
        ["time on one core", f"{n:,} / {number(rate)} rows a second", _hours(n / rate)],
        *(
            [f"on {cores:,} cores", f"the same / {cores}", _hours(n / rate / cores)]
            for cores in (16, 128, 1024)
        ),
        ["input, and the same again as output", f"{n:,} x {d} x 8 bytes",
         f"{n * d * 8 / 1e9:.3g} GB"],
        ["rate of input and of output a core", f"{number(rate)} x {d} x 8 bytes a second",
         f"{rate * d * 8 / 1e6:.2g} MB/s"],
    ]  # fmt: skip
    if block is not None:
        lines.append(
            ["memory of a worker, beyond libraries",
             f"a block of {block['n']:,} rows, {block['n'] * d * 8 / 1e6:.3g} MB, and what its "
             "transport took at the peak",
             f"{block['n'] * d * 8 / 1e6 + block['peak_mb']:.0f} MB"]
        )  # fmt: skip
    return table(lines)


def _hours(seconds: float) -> str:
    return duration(seconds) if seconds < 3600 else f"{number(seconds / 3600)} h"


# Words that state a speed: a number and a unit of it.
_SPEED = re.compile(
    r"\b\d[\d,.]*\s*(?:x|×|times)\s+(?:as (?:fast|long|slow)|faster|slower)"
    r"|\brows (?:a|per) second|\brows/s\b"
    r"|\b\d[\d,.]*\s*(?:µs|ms|s|seconds|minutes)\s+(?:a|per|for|on|with)\b",
    re.IGNORECASE,
)


def untraced(text: str) -> list[str]:
    """Find the lines of a document that state a speed outside the marks.

    Parameters
    ----------
    text : str
        Markdown.

    Returns
    -------
    lines : list of str
    """
    outside = re.sub(r"<!-- benchmarks (\S+): begin -->.*?<!-- benchmarks \1: end -->", "", text,
                     flags=re.DOTALL)  # fmt: skip
    return [line for line in outside.splitlines() if _SPEED.search(line)]
