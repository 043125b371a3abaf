"""The store of records: what it writes comes back, and what it did not write is noticed."""

import json
import os
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import record_factory
from hypothesis import given, settings
from hypothesis import strategies as st
from record_factory import make_outcome

from experiments.store.records import SCHEMA, RecordError, RecordStore, dumps, loads
from experiments.store.text import canonical_json, one_line, sha256_of


def make_record(**changes):
    if "config" in changes:
        changes = {"config_sha256": sha256_of(changes["config"])} | changes
    record = record_factory.make_record("moons", "40", "krda", 0.7, 0.72, 0.74, 0.76, 0.78)
    return replace(record, **changes)


DONE = make_outcome(0, 0.75)
INCOMPLETE = (make_outcome(0, "failed: RuntimeError: no convergence"),)


@pytest.fixture
def store(tmp_path):
    return RecordStore(tmp_path / "records")


values = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
errors = st.text(st.characters(), min_size=1).filter(lambda text: text.strip() != "")


@settings(max_examples=100)
@given(st.dictionaries(st.text(), st.lists(values)), st.floats(0, 1), st.integers(0, 2**64), errors)
def test_any_valid_record_comes_back_equal(config, accuracy, seed, error):
    outcomes = (replace(make_outcome(0, accuracy), seed=seed), make_outcome(1, f"failed: {error}"))
    record = make_record(config=config, outcomes=outcomes, environment=config)
    with tempfile.TemporaryDirectory() as directory:
        store = RecordStore(Path(directory))
        path = store.write(record)
        assert store.read(path) == record
        assert store.get("moons", "40", "krda", record.config_sha256) == record
        assert list(store.scan()) == [record]


def test_a_file_is_canonical_json_with_its_checksum_and_named_by_method_and_config(store):
    record = make_record()
    path = store.write(record)
    assert path == store.root / "moons" / "40" / f"krda-{record.config_sha256[:12]}.json"
    assert [p for p in store.root.rglob("*") if p.is_file()] == [path]
    content = json.loads(path.read_text("ascii"))
    checksum = content.pop("sha256")
    assert checksum == sha256_of(content)
    canonical = json.dumps(content | {"sha256": checksum}, sort_keys=True, indent=1) + "\n"
    assert path.read_text("ascii") == canonical


def test_same_config_is_replaced_even_with_another_identity(store):
    store.write(make_record())
    newer = make_record(identity="2e" * 32, outcomes=INCOMPLETE)
    store.write(newer)
    assert list(store.scan()) == [newer]


def test_complete_record_survives_a_failed_one_of_the_same_identity(store):
    path = store.write(make_record())
    assert store.write(make_record(outcomes=INCOMPLETE)) == path
    assert store.read(path) == make_record()


def test_damaged_record_gives_way_to_any(store):
    path = store.write(make_record())
    path.write_bytes(b"{")
    incomplete = make_record(outcomes=INCOMPLETE)
    store.write(incomplete)
    assert store.read(path) == incomplete


@pytest.mark.parametrize("name", ["..", "../../etc", ".hidden", "40\n", "40°", "", "a" * 101])
def test_a_name_that_is_no_place_in_the_store_is_refused(name, store):
    with pytest.raises(ValueError, match="must be 1 to 100 letters"):
        store.write(make_record(task=name))


def resigned(record, **changes):
    """The record's text with fields changed behind the back of Record, the checksum made anew."""
    content = json.loads(dumps(record))
    del content["sha256"]
    content |= changes
    return canonical_json(content | {"sha256": sha256_of(content)}).encode("ascii")


@settings(max_examples=100)
@given(st.text(st.characters()))
def test_any_error_becomes_one_line_that_can_be_printed_and_stays_as_it_is(text):
    line = one_line(text)
    assert line.isprintable()
    assert one_line(line) == line
    line.encode("utf-8")


TEXT = dumps(make_record()).encode("ascii")
DAMAGE = {
    "empty": (b"", "no valid record"),
    "a list": (b"[]\n", "no valid record"),
    "newline lost": (TEXT[:-1], "checksum"),
    "edited by hand": (TEXT.replace(b'"accuracy": 0.74', b'"accuracy": 0.94'), "checksum"),
    "checksum removed": (TEXT.replace(b'"sha256"', b'"sha255"'), "checksum"),
    "nested deeply": (b'{"schema":' * 100_000, "recursion"),
    "schema of the future": (resigned(make_record(), schema=SCHEMA + 1), "schema"),
    "unknown key": (resigned(make_record(), note="x"), "note"),
    "task that climbs": (resigned(make_record(), task="../40"), "task must be"),
    "outcome no object": (resigned(make_record(), outcomes=[1]), r"\w"),
    "another task, signed": (resigned(make_record(), task="50"), "belongs to"),
    "another method, signed": (resigned(make_record(), method="ot"), "belongs to"),
    "another config, signed": (resigned(make_record(), config_sha256="ab" * 32), "belongs to"),
}


@pytest.mark.parametrize(("text", "reason"), DAMAGE.values(), ids=DAMAGE.keys())
def test_every_kind_of_damage_is_an_error_and_named_by_a_scan(store, text, reason):
    assert text != TEXT
    path = store.write(make_record())
    other = make_record(task="50")
    store.write(other)
    path.write_bytes(text)
    with pytest.raises(RecordError, match=reason) as caught:
        store.read(path)
    assert caught.value.path == path
    with pytest.raises(RecordError):
        store.get("moons", "40", "krda", make_record().config_sha256)
    scan = store.scan()
    assert list(scan) == [other]
    reason = caught.value.reason
    assert [(damage.path, damage.reason) for damage in scan.damaged] == [(path, reason)]
    assert reason in str(caught.value)


def test_every_single_flipped_bit_is_noticed():
    generator = random.Random(0)
    for position in range(len(TEXT)):
        flipped = bytearray(TEXT)
        flipped[position] ^= 1 << generator.randrange(8)
        with pytest.raises(ValueError, match=r"\w"):
            loads(bytes(flipped))


def test_data_reach_the_disk_before_the_name(store, monkeypatch):
    steps = []
    fsync, rename = os.fsync, Path.replace

    def watch_rename(path, target):
        assert path.parent == target.parent
        steps.append("rename")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", lambda descriptor: steps.append("sync") or fsync(descriptor))
    monkeypatch.setattr(Path, "replace", watch_rename)
    store.write(make_record())
    assert steps == ["sync", "rename"]
