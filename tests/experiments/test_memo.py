import json

import pytest

from experiments.cells import configuration
from experiments.cells.configuration import cells_of
from experiments.store import memo


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv(memo.DIRECTORY_VARIABLE, str(tmp_path / "memo"))
    return tmp_path / "memo"


def test_a_value_comes_back_for_its_key_alone(directory):
    assert memo.recall("kind", {"a": 1}) is None
    memo.remember("kind", {"a": 1}, [1.5, None, "x"])
    assert memo.recall("kind", {"a": 1}) == [1.5, None, "x"]
    assert memo.recall("kind", {"a": 2}) is None
    assert memo.recall("other", {"a": 1}) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"value": 1}', '{"value": 2, "sha256": "ab"}'])
def test_a_damaged_entry_is_none(directory, text):
    memo.remember("kind", 1, 1)
    (path,) = directory.iterdir()
    path.write_text(text)
    assert memo.recall("kind", 1) is None
    memo.remember("kind", 1, 3)
    assert memo.recall("kind", 1) == 3


def test_an_edited_entry_is_none(directory):
    memo.remember("kind", 1, {"accuracy": 0.5})
    (path,) = directory.iterdir()
    entry = json.loads(path.read_text())
    path.write_text(json.dumps(entry | {"value": {"accuracy": 0.9}}))
    assert memo.recall("kind", 1) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv(memo.DIRECTORY_VARIABLE, str(tmp_path / "file" / "memo"))
    memo.remember("kind", 1, 1)
    assert memo.recall("kind", 1) is None


def test_remembered_cells_are_those_that_hydra_composes(directory, monkeypatch):
    arguments = ("amazon", ["B-D", "K-E"], ["krda", "ot"], ["protocol=smoke"])
    composed = cells_of(*arguments)

    def unwanted(overrides):
        raise AssertionError("composed again")

    configuration._compose_cached.cache_clear()
    monkeypatch.setattr(configuration, "compose_config", unwanted)
    remembered = cells_of(*arguments)
    assert remembered == composed
    assert [c.config_sha256 for c in remembered] == [c.config_sha256 for c in composed]
    assert [c.timeout_seconds for c in remembered] == [3600] * 4
    with pytest.raises(AssertionError, match="composed again"):
        cells_of(*arguments[:3])
    monkeypatch.setattr(configuration, "_configs_sha256", lambda: "other")
    with pytest.raises(AssertionError, match="composed again"):
        cells_of(*arguments)
