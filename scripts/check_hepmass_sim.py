"""Measure what docs/hepmass_sim.md says: ``python scripts/check_hepmass_sim.py``.

Writes results/hepmass_sim_fidelity.json, the figure results/figures/hepmass_sim_fidelity and the
tables of the page, and prints the tables. About two minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))

from experiments.threads import limit_threads

limit_threads()

from experiments.datasets.collider.normalisation import measure_reference
from experiments.reading.hepmass_fidelity import draw, fill_page, measure, tables


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, write and print.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; by default the command line's.

    Returns
    -------
    status : int
        0.
    """
    parser = argparse.ArgumentParser(description="Compare simulated and real HEPMASS.")
    parser.add_argument(
        "--render", action="store_true", help="page and figure from the stored numbers alone"
    )
    parser.add_argument(
        "--normalisation",
        action="store_true",
        help="print the constants of experiments/datasets/collider/normalisation.py and stop",
    )
    arguments = parser.parse_args(argv)
    if arguments.normalisation:
        for feature, (mean, sd) in measure_reference().items():
            print(f'    "{feature}": ({mean:.4f}, {sd:.4f}),')
        return 0
    stored = _ROOT / "results" / "hepmass_sim_fidelity.json"
    if not arguments.render:
        stored.write_text(json.dumps(measure(), separators=(",", ":")) + "\n", encoding="ascii")
    numbers = json.loads(stored.read_text(encoding="ascii"))
    page = _ROOT / "docs" / "hepmass_sim.md"
    page.write_text(fill_page(page.read_text(encoding="utf-8"), numbers), encoding="utf-8")
    draw(numbers, _ROOT / "results" / "figures" / "hepmass_sim_fidelity")
    print("\n\n".join(tables(numbers).values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
