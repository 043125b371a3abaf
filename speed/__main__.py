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
    from speed.measure import measure
    from speed.plan import SIZES
    from speed.sections import SECTIONS
    from speed.tables import write, write_machine

    parser = argparse.ArgumentParser(
        "python -m speed", description="Measure speed and memory beside named peers."
    )
    names = [section.name for section in SECTIONS]
    parser.add_argument("--sizes", choices=sorted(SIZES), default="full")
    parser.add_argument("--section", nargs="+", default=names, choices=names)
    parser.add_argument("--output", type=Path, help="directory of the files")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    full = options.sizes == "full"
    directory: Path = options.output or (RESULTS if full else ROOT / "outputs" / "speed")
    failed = 0
    if not options.render:
        for section in SECTIONS:
            if section.name not in options.section:
                continue
            rows = []
            for group in section.groups(SIZES[options.sizes]):
                rows += measure(group, SIZES[options.sizes].limits)
                for row in rows[-len(group) :]:
                    print(section.name, *row.values(), flush=True)
            write(directory / f"{section.name}.csv", rows)
            failed += sum(row["status"].startswith("failed") for row in rows)
        write_machine(directory / "machine.json")
    render(directory, "make bench" if full else f"python -m speed --sizes {options.sizes}")
    print(f"{directory / 'README.md'}")
    if failed:
        raise SystemExit(f"{failed} cases failed; the tables hold their errors.")


def render(directory: Path, command: str) -> None:
    """Write the page and the marked parts of documents from the files of a run."""
    from experiments.whole_files import write_text
    from speed.claims import DOCUMENTS, filled
    from speed.tables import page

    write_text(directory / "README.md", page(directory, command))
    if directory.resolve() == RESULTS:
        for name in DOCUMENTS:
            link = "../" * name.count("/") + "results/benchmarks"
            text = (ROOT / name).read_text(encoding="utf-8")
            write_text(ROOT / name, filled(text, directory, link))


if __name__ == "__main__":
    limit_threads(kernels=False)  # Speed is that of a user's kernels.
    main()
