"""Measure speed and peak memory, and write what is said of them.

::

    python -m speed                        everything, into results/benchmarks
    python -m speed --sizes quick          a sample in under a minute, into outputs/speed
    python -m speed --section transport    a part
    python -m speed --render               pages from the files that are there
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from experiments.threads import limit_threads

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "benchmarks"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, or render only, as the command line says."""
    from experiments.reading.markdown import fill
    from experiments.whole_files import write_text
    from speed import claims
    from speed.cases import SECTIONS, SIZES
    from speed.measure import measure

    parser = argparse.ArgumentParser(
        "python -m speed", description="Measure speed and memory beside named peers."
    )
    parser.add_argument("--sizes", choices=sorted(SIZES), default="full")
    parser.add_argument("--section", nargs="+", default=list(SECTIONS), choices=SECTIONS)
    parser.add_argument("--output", type=Path, help="directory of the files")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    full, sizes = options.sizes == "full", SIZES[options.sizes]
    directory: Path = options.output or (RESULTS if full else ROOT / "outputs" / "speed")
    failed = 0
    for name in () if options.render else options.section:
        rows = []
        for group in SECTIONS[name](sizes):
            for row in measure(group, sizes.limits):
                print(name, *row.values(), flush=True)
                rows.append(row)
        claims.write(directory / f"{name}.csv", rows)
        failed += sum(row["status"].startswith("failed") for row in rows)
    if not options.render:
        claims.write_machine(directory / "machine.json")
    command = "make bench" if full else f"python -m speed --sizes {options.sizes}"
    write_text(directory / "README.md", claims.benchmarks_page(directory, command))
    if directory.resolve() == RESULTS:
        for name, claim in claims.documents(directory).items():
            fill(ROOT / name, "speed", claim)
    print(f"{directory / 'README.md'}")
    if failed:
        raise SystemExit(f"{failed} cases failed; the tables hold their errors.")


if __name__ == "__main__":
    limit_threads(kernels=False)  # Speed is that of a user's kernels.
    main()
