"""Measure all sections and write their files.

::

    python -m benchmarks                 everything, into results/benchmarks
    python -m benchmarks --quick         a sample in under a minute, into outputs/benchmarks
    python -m benchmarks --render        tables, plots and docs anew from the files that are there
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.threads import limit_threads

limit_threads(kernels=False)  # Speed is that of a user's kernels.

from benchmarks import machine, pages, tables  # noqa: E402
from benchmarks.sections import SECTIONS  # noqa: E402
from benchmarks.sizes import SIZES, Sizes  # noqa: E402
from benchmarks.timing import Measurer  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "benchmarks"
COMMAND = "make bench"


def measure_all(
    sizes: Sizes,
    directory: Path,
    sections: Sequence[str] = (),
    tell: Callable[[str], None] = print,
) -> int:
    """Measure sections and write a CSV file for each, and the machine's description.

    Parameters
    ----------
    sizes : Sizes
    directory : Path
    sections : sequence of str
        Names; all where there are none.
    tell : callable
        Given a line for each case.

    Returns
    -------
    failed : int
        Cases that raised; their rows hold the error.
    """
    failed = 0
    begin = time.perf_counter()
    measurer = Measurer(sizes.limits, tell)
    with tempfile.TemporaryDirectory() as workspace:
        for section in SECTIONS:
            if sections and section.name not in sections:
                continue
            tell(f"== {section.title}")
            groups = section.groups(sizes, Path(workspace))
            rows = [row for group in groups for row in measurer.measure(group)]
            tables.write(directory / f"{section.name}.csv", rows)
            failed += sum(row["status"].startswith("failed") for row in rows)
    if sizes is SIZES["full"] and not sections:
        _measure_deep(directory, tell)
    machine.write(directory / "machine.json")
    tell(f"== {time.perf_counter() - begin:.0f} s")
    return failed


def _measure_deep(directory: Path, tell: Callable[[str], None]) -> None:
    """Let the deep baselines' comparison measure itself, where its module is there."""
    if importlib.util.find_spec("benchmarks.deep_baselines") is None:
        return
    tell("== Deep baselines")
    module: Any = importlib.import_module("benchmarks.deep_baselines")
    rows: Iterable[Mapping[str, Any]] = module.measure()
    tables.write(directory / "deep_baselines.csv", [dict(row) for row in rows])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, or render only, as the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, in under a minute")
    parser.add_argument("--sizes", choices=sorted(SIZES), help="instead of --quick")
    parser.add_argument("--section", nargs="+", default=[], choices=[s.name for s in SECTIONS])
    parser.add_argument("--output", type=Path, help="directory of the files")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    name = options.sizes or ("quick" if options.quick else "full")
    default = RESULTS if name == "full" else ROOT / "outputs" / "benchmarks"
    directory: Path = options.output or default
    failed = 0
    if not options.render:
        failed = measure_all(SIZES[name], directory, options.section)
    pages.render(directory, COMMAND if name == "full" else f"python -m benchmarks --sizes {name}")
    if directory.resolve() == RESULTS:
        pages.fill_documents(ROOT, RESULTS)
    print(f"{directory / 'README.md'}")
    if failed:
        raise SystemExit(f"{failed} cases failed; the tables hold their errors.")
