from functools import partial

import pytest

from krda.adaptation import classifiers


@pytest.fixture(autouse=True)
def small_forests(monkeypatch):
    """Few trees: no test here is about how good they are."""
    for name, options in (
        ("RandomForestClassifier", {"n_estimators": 10}),
        ("HistGradientBoostingClassifier", {"max_iter": 10}),
    ):
        monkeypatch.setattr(classifiers, name, partial(getattr(classifiers, name), **options))
