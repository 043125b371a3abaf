"""Saved adaptations predict again as they did; other files are refused."""

import hashlib
import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from krda import adapt, load, save
from krda.adaptation.adapt import METHODS
from krda.adaptation.classifiers import CLASSIFIERS
from krda.tables.errors import TableError

skops_io = pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    source = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(["x", "y"], 90)})
    target = pd.DataFrame({"b": rng.choice(["x", "y"], 60), "a": rng.normal(2, 1, size=60)})
    source = source.assign(label=np.where(source["a"] > 0, "big", "small"))
    source.loc[:5, "a"] = np.nan
    return source, target


@pytest.mark.parametrize(
    ("method", "classifier"),
    [*((method, "logistic") for method in METHODS), *(("auto", each) for each in CLASSIFIERS)],
)
@pytest.mark.filterwarnings("ignore")
def test_every_method_and_classifier_predicts_again_as_it_did(tables, tmp_path, method, classifier):
    found = adapt(*tables, "label", method=method, classifier=classifier)
    save(found, tmp_path / "model")
    again = load(tmp_path / "model")
    pd.testing.assert_frame_equal(again.predict(tables[1]), found.predict(tables[1]))
    assert again.verdict == found.verdict
    assert again.encoder.columns_ == found.encoder.columns_


def test_foreign_and_damaged_files_are_refused(tables, tmp_path):
    path = tmp_path / "model"
    save(adapt(*tables, "label", classifier="logistic"), path)
    whole = path.read_bytes()
    line, content = whole.split(b"\n", 1)
    head = json.loads(line)
    changed = bytearray(content)
    changed[len(content) // 2] ^= 1

    def with_head(content, **changes):
        sha = hashlib.sha256(content).hexdigest()
        return json.dumps(head | {"sha256": sha} | changes).encode() + b"\n" + content

    foreign = {
        "is damaged": [whole[: len(whole) // 2], line + b"\n" + bytes(changed)],
        "no file that krda": [b"", b"text", b"3\n", content, b"\xff\xfe\n"],
        "has format 99": [with_head(content, format=99)],
        "saved with scikit-learn 0.1.2": [with_head(content, **{"scikit-learn": "0.1.2"})],
        "more than a model": [with_head(skops_io.dumps({"model": HTMLParser()}))],
    }
    for message, contents in foreign.items():
        for content in contents:
            path.write_bytes(content)
            with pytest.raises(TableError, match=f"{path}.*{message}"):
                load(path)


def test_a_write_that_fails_keeps_the_old_file(tables, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_text("old")
    monkeypatch.setattr(skops_io, "dumps", lambda state: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(adapt(*tables, "label", classifier="logistic"), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
