"""What ``krda adapt`` costs on tables of 50,000 rows and 20 columns (docs/own_tables.md).

``python -m studies.adapt_cost`` writes two such files into a folder that it removes again, runs
``krda adapt`` with boosting on them, in a process of its own and on one thread, and prints the
verdict, the processor time and the peak of the memory (Linux).
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from studies.common import ROOT, command

N_NUMBERS = 16  # and four more columns: two categories, a date, and numbers with gaps


def draw(n: int, shift: float, seed: int) -> pd.DataFrame:
    """Draw rows of two classes."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    place = np.linspace(0, 1, N_NUMBERS)
    X = rng.normal(size=(n, N_NUMBERS)) + 0.5 * y[:, None] * (place < 0.4)
    X = X @ (np.eye(N_NUMBERS) + 0.1 * np.triu(np.ones((N_NUMBERS, N_NUMBERS)), 1))
    table = pd.DataFrame(X * (1 + shift * place) + shift).round(4).add_prefix("x")
    age = 40 + 5 * y + 8 * rng.normal(size=n)
    return table.assign(
        age=np.where(rng.random(n) < 0.05, np.nan, age.round(1)),
        plan=np.where(rng.random(n) < 0.3 + 0.4 * y, "gold", "basic"),
        city=rng.choice([f"city {i}" for i in range(12)], n),
        since=pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        status=np.where(y, "stayed", "left"),
    )


def main() -> None:
    """Run the command."""
    parser = command("adapt_cost", "Processor time and memory of krda adapt.")
    parser.add_argument("--rows", type=int, default=50_000, help="of each table")
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        for seed, name in enumerate(("source.csv", "target.csv")):
            draw(rows, float(seed), seed).to_csv(Path(folder) / name, index=False)
        subprocess.run(
            [sys.executable, "-m", "krda", "adapt", "source.csv", "target.csv", "--label", "status",
             "--classifier", "boosting"],
            cwd=folder, env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
            check=True,
        )  # fmt: skip
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} s of CPU, {used.ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
