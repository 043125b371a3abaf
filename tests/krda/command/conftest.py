import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder to work in, with source.csv and target.csv of 80 rows."""
    monkeypatch.chdir(tmp_path)
    for name, seed in (("source", 1), ("target", 2)):
        X, y = make_moons(80, noise=0.05, random_state=seed)
        table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1] + seed})
        if name == "source":
            table["moon"] = np.where(y == 0, "upper", "lower")
        table.to_csv(f"{name}.csv", index=False)
    return tmp_path
