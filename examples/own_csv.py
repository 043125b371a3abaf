"""Two CSV files of your own: predictions, and whether to use them.

    python examples/own_csv.py

writes the two files that you would bring, and runs the command
``krda adapt source.csv target.csv --label sold``.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
source = pd.DataFrame(rng.normal(size=(200, 2)), columns=["price", "weight"])
source["sold"] = np.where(source["price"] + source["weight"] > 0, "yes", "no")
target = pd.DataFrame({"weight": rng.normal(5, 2, 200), "price": rng.normal(-1, 3, 200)})
for name, table in (("source", source), ("target", target)):
    table.to_csv(folder / f"{name}.csv", index=False)

command = [sys.executable, "-m", "krda", "adapt", folder / "source.csv", folder / "target.csv",
           "--label", "sold", "--output", folder / "predictions.csv"]  # fmt: skip
subprocess.run(command, check=True)

print(pd.read_csv(folder / "predictions.csv").head())
