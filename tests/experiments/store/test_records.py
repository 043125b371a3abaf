"""The store of records: what it writes comes back, and what it did not write is noticed."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.store.records import (
    SCHEMA,
    Outcome,
    Record,
    RecordError,
    RecordStore,
    dumps,
    loads,
)
from experiments.store.text import canonical_json, one_line, sha256_of

ROOT = Path(__file__).resolve().parents[3]


def done(repetition: int, accuracy: float = 0.75) -> Outcome:
    return Outcome(repetition, 10 + repetition, "done", accuracy, 1.5, 0.25, None)


def failed(repetition: int, error: str = "RuntimeError: no convergence") -> Outcome:
    return Outcome(repetition, 10 + repetition, "failed", None, 0.5, None, error)


def make_record(**changes: object) -> Record:
    config = changes.pop("config", {"method": {"name": "krda", "steps": 400, "lr": 0.01}})
    digest = changes.pop("config_sha256", None)
    values: dict[str, object] = {
        "dataset": "moons",
        "task": "40",
        "method": "krda",
        "identity": "1d" * 32,
        "config_sha256": sha256_of(config) if digest is None else digest,
        "config": config,
        "data_sha256": "da" * 32,
        "code_fingerprint": "c0de" * 16,
        "outcomes": tuple(done(i, 0.7 + i / 50) for i in range(5)),
        "environment": {"python": "3.11", "threads": 1},
    }
    return Record(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    return RecordStore(tmp_path / "records")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
seconds = st.none() | st.floats(0, 1e6)
errors = st.text(st.characters(), min_size=1).filter(lambda text: text.strip() != "")


@st.composite
def outcome_lists(draw: st.DrawFn) -> tuple[Outcome, ...]:
    outcomes = []
    for repetition in range(draw(st.integers(1, 6))):
        seed = draw(st.integers(0, 2**64))
        if draw(st.booleans()):
            numbers = draw(st.tuples(st.floats(0, 1), st.floats(0, 1e6), st.floats(0, 1e6)))
            outcomes.append(Outcome(repetition, seed, "done", *numbers, None))
        else:
            status = draw(st.sampled_from(["failed", "diverged", "timeout"]))
            times = draw(st.tuples(seconds, seconds))
            outcomes.append(Outcome(repetition, seed, status, None, *times, draw(errors)))
    own = st.none() | st.dictionaries(st.text(), json_values, max_size=2)
    outcomes = [dataclasses.replace(o, environment=draw(own)) for o in outcomes]
    return tuple(draw(st.permutations(outcomes)))


@st.composite
def any_records(draw: st.DrawFn) -> Record:
    config = draw(st.dictionaries(st.text(), json_values, max_size=3))
    return make_record(
        dataset=draw(names),
        task=draw(names),
        method=draw(names),
        config=config,
        outcomes=draw(outcome_lists()),
        environment=draw(st.dictionaries(st.text(), json_values, max_size=3)),
    )


class TestRoundTrip:
    @given(any_records())
    @settings(max_examples=60, deadline=None)
    def test_any_valid_record_comes_back_equal(self, record: Record) -> None:
        with tempfile.TemporaryDirectory() as directory:
            store = RecordStore(Path(directory))
            path = store.write(record)
            assert store.read(path) == record
            assert store.get(record.dataset, record.task, record.method, record.config_sha256) == (
                record
            )
            assert list(store.scan()) == [record]
            assert store.scan().damaged == ()

    @given(any_records())
    @settings(max_examples=60, deadline=None)
    def test_text_is_a_function_of_the_record(self, record: Record) -> None:
        text = dumps(record)
        assert dumps(loads(text.encode("ascii"))) == text
        assert text.endswith("}\n")

    def test_file_name_is_method_and_twelve_digits_of_the_config(self, store: RecordStore) -> None:
        record = make_record()
        path = store.write(record)
        expected = store.root / "moons" / "40" / f"krda-{record.config_sha256[:12]}.json"
        assert path == expected
        assert [p for p in store.root.rglob("*") if p.is_file()] == [expected]

    def test_file_is_canonical_json_with_its_checksum(self, store: RecordStore) -> None:
        text = store.write(make_record()).read_text("ascii")
        content = json.loads(text)
        checksum = content.pop("sha256")
        assert checksum == sha256_of(content)
        assert text == json.dumps(content | {"sha256": checksum}, sort_keys=True, indent=1) + "\n"

    def test_an_environment_of_its_own_is_kept_and_costs_no_key_elsewhere(
        self, store: RecordStore
    ) -> None:
        own = dataclasses.replace(done(0), environment={"cpu": "old"})
        record = make_record(outcomes=(own, done(1)), environment={"cpu": "new"})
        path = store.write(record)
        assert store.read(path) == record
        assert record.environments == ({"cpu": "old"}, {"cpu": "new"})
        outcomes = json.loads(path.read_text("ascii"))["outcomes"]
        assert [("environment" in outcome) for outcome in outcomes] == [True, False]

    def test_outcomes_are_kept_in_the_order_of_repetitions(self) -> None:
        outcomes = (done(2), done(0), failed(1))
        assert [o.repetition for o in make_record(outcomes=outcomes).outcomes] == [0, 1, 2]

    def test_record_does_not_change_with_the_callers_config(self) -> None:
        config = {"steps": [1, 2]}
        record = make_record(config=config)
        config["steps"].append(3)
        assert record.config == {"steps": [1, 2]}

    def test_relative_and_absolute_paths_name_the_same_record(
        self, store: RecordStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = store.write(make_record())
        monkeypatch.chdir(store.root)
        assert store.read(path.relative_to(store.root)) == make_record()


class TestSuperseding:
    def test_same_config_is_replaced_even_with_another_identity(self, store: RecordStore) -> None:
        store.write(make_record())
        newer = make_record(identity="2e" * 32, outcomes=(failed(0),))
        store.write(newer)
        assert list(store.scan()) == [newer]

    def test_another_config_is_another_file(self, store: RecordStore) -> None:
        store.write(make_record())
        store.write(make_record(config={"steps": 1}))
        assert len(store.scan()) == 2

    def test_complete_record_survives_a_failed_one_of_the_same_identity(
        self, store: RecordStore
    ) -> None:
        complete = make_record()
        path = store.write(complete)
        assert store.write(make_record(outcomes=(failed(0),))) == path
        assert store.read(path) == complete

    def test_failed_record_gives_way_to_a_complete_one(self, store: RecordStore) -> None:
        store.write(make_record(outcomes=(failed(0),)))
        store.write(make_record())
        assert list(store.scan()) == [make_record()]

    def test_damaged_record_gives_way_to_any(self, store: RecordStore) -> None:
        path = store.write(make_record())
        path.write_bytes(b"{")
        incomplete = make_record(outcomes=(failed(0),))
        store.write(incomplete)
        assert store.read(path) == incomplete


class TestComplete:
    def test_all_done(self) -> None:
        assert make_record().complete

    @pytest.mark.parametrize("status", ["failed", "diverged", "timeout"])
    def test_one_not_done_is_not_complete(self, status: str) -> None:
        other = dataclasses.replace(failed(4), status=status)
        record = make_record(outcomes=(*(done(i) for i in range(4)), other))
        assert not record.complete
        assert record.unfinished == (other,)
        assert record.accuracies == (0.75,) * 4


INVALID_OUTCOMES = {
    "accuracy missing": {"accuracy": None},
    "accuracy above 1": {"accuracy": 1.0000001},
    "accuracy NaN": {"accuracy": math.nan},
    "accuracy a bool": {"accuracy": True},
    "accuracy a huge integer": {"accuracy": 10**400},
    "environment no dict": {"environment": ["cpu"]},
    "accuracy though failed": {"status": "failed", "error": "x"},
    "failed without an error": {"status": "failed", "accuracy": None},
    "done with an error": {"error": "x"},
    "unknown status": {"status": "ok"},
    "negative seconds": {"fit_seconds": -1.0},
    "no seconds though done": {"predict_seconds": None},
    "seed a float": {"seed": 1.0},
    "negative seed": {"seed": -1},
    "repetition a bool": {"repetition": True},
}

INVALID_RECORDS = {
    "climbing data set": {"dataset": ".."},
    "climbing task": {"task": "../../etc"},
    "hidden": {"task": ".hidden"},
    "newline at the end": {"task": "40\n"},
    "letter outside ASCII": {"task": "40°"},
    "empty name": {"method": ""},
    "long name": {"method": "a" * 101},
    "no outcomes": {"outcomes": ()},
    "repetition twice": {"outcomes": (done(0), done(0))},
    "repetitions from 1": {"outcomes": (done(1), done(2))},
    "short checksum": {"data_sha256": "da"},
    "upper-case checksum": {"config_sha256": "DA" * 32},
    "identity no hex": {"identity": "krda"},
    "schema of the future": {"schema": SCHEMA + 1},
    "schema a bool": {"schema": True},
    "config no dict": {"config": [1]},
    "NaN in the config": {"config": {"a": [1, {"b": math.nan}]}, "config_sha256": "aa" * 32},
    "object in the config": {"config": {"a": object()}, "config_sha256": "aa" * 32},
}


class TestRefusal:
    @pytest.mark.parametrize("changes", INVALID_OUTCOMES.values(), ids=INVALID_OUTCOMES.keys())
    def test_invalid_outcome(self, changes: dict[str, object]) -> None:
        with pytest.raises(ValueError, match="must be"):
            dataclasses.replace(done(0), **changes)  # type: ignore[arg-type]

    @pytest.mark.parametrize("changes", INVALID_RECORDS.values(), ids=INVALID_RECORDS.keys())
    def test_invalid_record(self, changes: dict[str, object]) -> None:
        with pytest.raises(ValueError, match="must be"):
            make_record(**({"config_sha256": "aa" * 32} | changes))

    def test_path_traversal_has_no_path(self, store: RecordStore) -> None:
        with pytest.raises(ValueError, match="task must be"):
            store.path("moons", "..", "krda", "aa" * 32)

    def test_canonical_json_refuses_nan(self) -> None:
        with pytest.raises(ValueError, match="JSON compliant"):
            canonical_json({"a": math.nan})


def resigned(record: Record, **changes: object) -> bytes:
    """The record's text with fields changed behind the back of Record, the checksum made anew."""
    content = json.loads(dumps(record))
    del content["sha256"]
    content |= changes
    return canonical_json(content | {"sha256": sha256_of(content)}).encode("ascii")


CELL_CONFIG: dict[str, object] = {
    "dataset": {"name": "moons"},
    "task": "40",
    "method": {"name": "krda"},
    "protocol": {"n_repetitions": 5},
}


@pytest.mark.parametrize(
    "changes",
    [
        {"task": "50"},
        {"dataset": {"name": "amazon"}},
        {"method": {"name": "ot"}},
        {"protocol": {"n_repetitions": 4}},
        {"protocol": {"n_repetitions": 6}},
        {"protocol": {}},
        {},
    ],
)
def test_a_record_that_contradicts_its_config_is_damaged(
    changes: dict[str, object], store: RecordStore
) -> None:
    right = make_record(config=CELL_CONFIG)
    path = store.write(right)
    assert store.read(path) == right
    config = CELL_CONFIG | changes
    # Only the checksum of the config is wrong where nothing else is.
    digest = sha256_of(config) if changes else "ab" * 32
    path = store.path("moons", "40", "krda", digest)
    path.write_bytes(resigned(right, config=config, config_sha256=digest))
    with pytest.raises(RecordError, match="config"):
        store.read(path)
    assert [damage.path for damage in store.scan().damaged] == [path]


@given(st.text(st.characters()))
def test_any_error_becomes_one_line_that_can_be_printed_and_stays_as_it_is(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert one_line(line) == line
    line.encode("utf-8")


def test_a_long_error_is_cut_with_a_word_on_how_much_is_left_out() -> None:
    record = make_record(outcomes=(failed(0, "x\x1b[31m" * 500_000),))
    assert len(dumps(record)) < 6000
    assert "more characters" in str(record.outcomes[0].error)
    assert loads(dumps(record).encode("ascii")) == record


def edited_outcome(**changes: object) -> bytes:
    outcomes = json.loads(dumps(make_record()))["outcomes"]
    outcomes[2] |= changes
    return resigned(make_record(), outcomes=outcomes)


TEXT = dumps(make_record()).encode("ascii")
DAMAGE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "zeros": (bytes(len(TEXT)), "not JSON"),
    "a list": (b"[]\n", "JSON object"),
    "written twice": (TEXT + TEXT, "not JSON"),
    "newline lost": (TEXT[:-1], "checksum"),
    "hand-edited accuracy": (TEXT.replace(b'"accuracy": 0.74', b'"accuracy": 0.94'), "checksum"),
    "checksum removed": (TEXT.replace(b'"sha256"', b'"sha255"'), "keys"),
    "NaN": (TEXT.replace(b'"accuracy": 0.74', b'"accuracy": NaN'), "checksum"),
    "nested deeply": (b'{"schema":' * 100_000, "recursion"),
    "schema of the future": (resigned(make_record(), schema=SCHEMA + 1), "schema"),
    "schema true": (resigned(make_record(), schema=True), "schema"),
    "unknown key": (resigned(make_record(), note="x"), "unknown"),
    "task that climbs": (resigned(make_record(), task="../40"), "task must be"),
    "outcomes no list": (resigned(make_record(), outcomes={}), "outcomes must be"),
    "outcome no object": (resigned(make_record(), outcomes=[1]), r"\w"),
    "no outcome": (resigned(make_record(), outcomes=[]), "outcomes must be"),
    "unknown key in an outcome": (edited_outcome(note="x"), "unknown"),
    "accuracy gone": (edited_outcome(accuracy=None), "accuracy must be"),
    "repetition twice": (edited_outcome(repetition=1), "outcomes must be"),
    "seconds beyond a float": (edited_outcome(fit_seconds=10**400), "fit_seconds must be"),
    "another task, signed": (resigned(make_record(), task="50"), "belongs to"),
    "another config, signed": (resigned(make_record(), config_sha256="ab" * 32), "config_sha256"),
}


def assert_noticed(store: RecordStore, path: Path, reason: str = "") -> None:
    """The file raises when read, and a scan names it, with the reason, and nothing else."""
    with pytest.raises(RecordError, match=reason) as caught:
        store.read(path)
    assert caught.value.path == path
    scan = store.scan()
    assert [damage.path for damage in scan.damaged] == [path]
    assert scan.damaged[0].reason == caught.value.reason
    assert caught.value.reason in str(caught.value)


class TestDamage:
    @pytest.mark.parametrize(("text", "reason"), DAMAGE.values(), ids=DAMAGE.keys())
    def test_each_kind_is_noticed(self, store: RecordStore, text: bytes, reason: str) -> None:
        assert text != TEXT
        path = store.write(make_record())
        other = make_record(task="50")
        store.write(other)
        path.write_bytes(text)
        assert_noticed(store, path, reason)
        assert list(store.scan()) == [other]
        with pytest.raises(RecordError):
            store.get("moons", "40", "krda", make_record().config_sha256)

    def test_every_truncation_is_noticed(self) -> None:
        for length in range(len(TEXT)):
            with pytest.raises(ValueError, match=r"\w"):
                loads(TEXT[:length])

    def test_every_single_flipped_bit_is_noticed(self) -> None:
        generator = random.Random(0)
        for position in range(len(TEXT)):
            flipped = bytearray(TEXT)
            flipped[position] ^= 1 << generator.randrange(8)
            with pytest.raises(ValueError, match=r"\w"):
                loads(bytes(flipped))

    def test_copy_under_another_name_is_noticed(self, store: RecordStore) -> None:
        path = store.write(make_record())
        copy = path.with_name(path.name.replace("krda", "ot"))
        copy.write_bytes(path.read_bytes())
        assert_noticed(store, copy, "belongs to")
        assert list(store.scan()) == [make_record()]

    def test_config_that_shares_twelve_digits_is_not_taken_for_another(
        self, store: RecordStore
    ) -> None:
        digest = make_record().config_sha256
        store.write(make_record())
        other = digest[:-1] + ("0" if digest[-1] != "0" else "1")
        with pytest.raises(RecordError, match="another config"):
            store.get("moons", "40", "krda", other)

    def test_record_outside_of_its_place_is_noticed(self, store: RecordStore) -> None:
        store.write(make_record())
        stray = store.root / "stray.json"
        stray.write_bytes(TEXT)
        scan = store.scan()
        assert [damage.path for damage in scan.damaged] == [stray]
        assert len(scan) == 1

    def test_directory_in_place_of_a_record_is_noticed(self, store: RecordStore) -> None:
        path = store.path_of(make_record())
        path.mkdir(parents=True)
        assert_noticed(store, path, "regular file")

    def test_pipe_is_noticed_and_not_waited_for(self, store: RecordStore) -> None:
        path = store.path_of(make_record())
        path.parent.mkdir(parents=True)
        os.mkfifo(path)
        assert_noticed(store, path, "regular file")

    def test_link_to_nowhere_is_noticed(self, store: RecordStore) -> None:
        path = store.path_of(make_record())
        path.parent.mkdir(parents=True)
        path.symlink_to("nowhere.json")
        assert_noticed(store, path, "cannot be read")
        with pytest.raises(RecordError):
            store.get("moons", "40", "krda", make_record().config_sha256)

    def test_refused_permission_is_damage(
        self, store: RecordStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = store.write(make_record())

        def refuse(self: Path) -> bytes:
            raise PermissionError(13, "Permission denied", str(self))

        # The mode bits do not bind root, who runs many a test suite.
        monkeypatch.setattr(Path, "read_bytes", refuse)
        assert_noticed(store, path, "Permission denied")


class TestEmptyStore:
    def test_no_directory_holds_nothing(self, store: RecordStore) -> None:
        scan = store.scan()
        assert (scan.records, scan.damaged) == ((), ())
        assert store.get("moons", "40", "krda", "aa" * 32) is None


class TestTemporaryFiles:
    def leftover(self, store: RecordStore, age: float) -> Path:
        path = store.path_of(make_record())
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.4711-00ff{age:.0f}.tmp")
        temporary.write_bytes(TEXT[:100])
        os.utime(temporary, (time.time() - age,) * 2)
        return temporary

    def test_readers_ignore_them(self, store: RecordStore) -> None:
        self.leftover(store, 0)
        scan = store.scan()
        assert (scan.records, scan.damaged) == ((), ())

    def test_failed_write_leaves_none_and_keeps_the_old_record(
        self, store: RecordStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = store.write(make_record())

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            store.write(make_record(identity="2e" * 32))
        assert list(path.parent.iterdir()) == [path]
        assert store.read(path) == make_record()

    def test_data_reach_the_disk_before_the_name(
        self, store: RecordStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        steps = []
        fsync, replace = os.fsync, Path.replace

        def watch_fsync(descriptor: int) -> None:
            steps.append("sync")
            fsync(descriptor)

        def watch_replace(self: Path, target: Path) -> Path:
            assert self.parent == target.parent
            steps.append("rename")
            return replace(self, target)

        monkeypatch.setattr(os, "fsync", watch_fsync)
        monkeypatch.setattr(Path, "replace", watch_replace)
        store.write(make_record())
        assert steps == ["sync", "rename"]


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from experiments.store.records import *

store, who = RecordStore(Path(sys.argv[1])), sys.argv[2]
config = {{"padding": ["x" * 50] * 2000}}
print("ready", flush=True)
for turn in range(10**9):
    outcomes = tuple(
        Outcome(i, turn, "done", (turn % 100) / 100, 0.0, 0.0, None) for i in range(5)
    )
    store.write(Record(
        dataset="d", task=str(turn % 3), method="m", identity="1d", config_sha256=sha256_of(config),
        config=config, data_sha256="da" * 32, code_fingerprint="c0de", outcomes=outcomes,
        environment={{"writer": who}},
    ))
"""


class TestKill:
    def test_killed_writers_leave_only_whole_records(self, tmp_path: Path) -> None:
        root = str(ROOT)
        store = RecordStore(tmp_path / "records")
        generator = random.Random(1)
        seen_turns = set()
        for _ in range(3):
            writers = [
                subprocess.Popen(
                    [sys.executable, "-c", WRITER.format(root=root), str(store.root), str(who)],
                    stdout=subprocess.PIPE,
                )
                for who in range(2)
            ]
            for writer in writers:
                assert writer.stdout is not None
                assert writer.stdout.readline() == b"ready\n"
            while not list(store.root.rglob("*.json")):
                time.sleep(0.01)
            time.sleep(generator.uniform(0.0, 0.1))
            for writer in writers:
                # A reader beside the writers sees whole records, too.
                assert store.scan().damaged == ()
                writer.kill()
                writer.wait()
                writer.stdout.close()  # type: ignore[union-attr]
            scan = store.scan()
            assert scan.damaged == ()
            for record in scan:
                turns = {outcome.seed for outcome in record.outcomes}
                assert len(turns) == 1  # all from one writing
                seen_turns |= turns
        assert seen_turns
