import pickle

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from krda import KRDA


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with model.pickle and source.npy, the model, and the rows (80,000, 3)."""
    directory = tmp_path_factory.mktemp("blocks")
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(80_000, 3)), 2 * rng.normal(size=(200, 3)) + 1
    model = KRDA(classifier=DummyClassifier(), max_steps=20, random_state=0)
    model.fit(Xs[:200], np.arange(200) % 2, Xt)
    (directory / "model.pickle").write_bytes(pickle.dumps(model))
    np.save(directory / "source.npy", Xs)
    return directory, model, Xs
