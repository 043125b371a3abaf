"""Saved adaptations predict again as they did; other files are refused."""

import io
import zipfile
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from krda import adapt, load, save
from krda.adaptation.classifiers import CLASSIFIERS
from krda.adaptation.methods import METHODS
from krda.adaptation.saving import _is_sound, _trees
from krda.tables import TableError

skops_io = pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    source = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(["x", "y"], 90)})
    target = pd.DataFrame({"b": rng.choice(["x", "y"], 60), "a": rng.normal(2, 1, size=60)})
    return source.assign(label=np.where(source["a"] > 0, "big", "small")), target


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore")
def test_every_method_predicts_again_as_it_did(tables, tmp_path, method):
    found = adapt(*tables, "label", method=method, classifier="logistic")
    save(found, tmp_path / "model")
    again = load(tmp_path / "model")
    pd.testing.assert_frame_equal(again.predict(tables[1]), found.predict(tables[1]))
    assert again.verdict == found.verdict
    assert again.encoder.columns_ == found.encoder.columns_


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_every_classifier_is_saved(tables, tmp_path, classifier):
    found = adapt(*tables, "label", classifier=classifier)
    save(found, tmp_path / "model")
    again = load(tmp_path / "model").predict(tables[1][:1])
    pd.testing.assert_frame_equal(again, found.predict(tables[1][:1]))


def test_foreign_and_damaged_files_are_refused(tables, tmp_path):
    path = tmp_path / "model"
    found = adapt(*tables, "label", classifier="logistic")
    save(found, path)
    whole = path.read_bytes()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.txt", "text")
    foreign = {
        "half": whole[: len(whole) // 2],
        "text": b"text",
        "archive": archive.getvalue(),
        "other": skops_io.dumps([1, 2]),
        "later": skops_io.dumps({"format": 99, "krda": "9.9"}),
        "types": skops_io.dumps({"format": 1, "verdict": HTMLParser()}),
    }
    for content in foreign.values():
        path.write_bytes(content)
        with pytest.raises(TableError, match=str(path)):
            load(path)


def test_a_write_that_fails_keeps_the_old_file(tables, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_text("old")
    monkeypatch.setattr(skops_io, "dumps", lambda state: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(adapt(*tables, "label", classifier="logistic"), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("classifier", ["forest", "boosting"])
def test_trees_that_lead_out_of_themselves_are_found(tables, classifier):
    trees = list(_trees(adapt(*tables, "label", classifier=classifier).model))
    assert len(trees) > 100
    assert all(map(_is_sound, trees))
    for outside in (-2, trees[0].n_nodes):
        assert not _is_sound(trees[0]._replace(children=np.array([outside])))
    assert not _is_sound(trees[0]._replace(columns=np.array([trees[0].n_columns])))
