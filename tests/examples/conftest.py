import pickle

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from krda import KRDA


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """The path of a fitted model, the model, and source rows (20,000, 3) to transport."""
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(20_000, 3)), 2 * rng.normal(size=(200, 3)) + 1
    model = KRDA(classifier=DummyClassifier(), max_steps=20, random_state=0)
    model.fit(Xs[:200], np.arange(200) % 2, Xt)
    path = tmp_path_factory.mktemp("saved") / "model.pickle"
    path.write_bytes(pickle.dumps(model))
    return path, model, Xs
