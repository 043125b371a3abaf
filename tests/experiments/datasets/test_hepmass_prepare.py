"""Preparing HEPMASS: what is written, and that nothing half-written is ever read."""

import gzip
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hepmass_files import checksums, expected_arrays, table, text_of, write, write_both

from experiments.datasets import hepmass_prepare, hepmass_raw
from experiments.datasets.collisions import MASSES
from experiments.datasets.hepmass_cache import PreparedDataError, load_rows, read_manifest
from experiments.datasets.hepmass_prepare import check_official_counts, prepare
from experiments.datasets.hepmass_raw import NAMES, RawSource
from experiments.datasets.raw import RawDataError

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, RawSource]:
    return write_both(tmp_path / "raw")


def assert_holds_the_files(folder: Path) -> None:
    manifest = read_manifest(folder)
    for split in NAMES:
        for mass, (X_expected, y_expected) in expected_arrays(split).items():
            X, y = load_rows(folder, manifest, split, mass)
            np.testing.assert_array_equal(X, X_expected)
            np.testing.assert_array_equal(y, y_expected)


@pytest.mark.parametrize("block_bytes", [5000, 1 << 23])
def test_every_mass_gets_its_rows_in_the_order_of_the_files(
    block_bytes: int,
    sources: dict[str, RawSource],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hepmass_raw, "BLOCK_BYTES", block_bytes)
    manifest = prepare(sources, tmp_path / "prepared", checksums(sources))
    assert_holds_the_files(tmp_path / "prepared")
    assert read_manifest(tmp_path / "prepared") == manifest
    assert {NAMES[split]: digest for split, digest in manifest.raw_sha256.items()} == checksums(
        sources
    )
    assert manifest.counts["test"] == {str(mass): [25, 25] for mass in MASSES}
    X, _ = load_rows(tmp_path / "prepared", manifest, "train", 500)
    assert isinstance(X, np.memmap)
    assert not X.flags.writeable


@pytest.mark.parametrize("split", NAMES)
def test_a_wrong_checksum_leaves_what_was_there(
    split: str, sources: dict[str, RawSource], tmp_path: Path
) -> None:
    good = checksums(sources)
    folder = tmp_path / "prepared"
    rows = table(split)
    rows[3, 4] += 1.0  # still a good table, but another
    write(tmp_path / "raw", split, text_of(rows))
    for _ in range(2):  # without an earlier folder, and with one
        before = sorted(tmp_path.rglob("*.npy"))
        with pytest.raises(RawDataError) as caught:
            prepare(sources, folder, good)
        for expected in ("wrong checksum", NAMES[split], good[NAMES[split]], "fetch_data.py"):
            assert expected in str(caught.value)
        assert checksums(sources)[NAMES[split]] in str(caught.value)
        assert sorted(tmp_path.rglob("*.npy")) == before
        prepare(write_both(tmp_path / "good"), folder, good)
    assert_holds_the_files(folder)


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        (lambda rows: np.rint(rows[:, -1]) == 500, "none of background of mass 500, resonance of"),
        (
            lambda rows: (rows[:, -1] == 1250) & (rows[:, 0] == 1),
            "none of resonance of mass 1250 in 225 rows",
        ),
    ],
)
def test_a_file_without_some_mass_or_label_is_refused(
    drop, message: str, sources: dict[str, RawSource], tmp_path: Path
) -> None:
    rows = table("test")
    write(tmp_path / "raw", "test", text_of(rows[~drop(rows)]))
    with pytest.raises(RawDataError, match=message):
        prepare(sources, tmp_path / "prepared", checksums(sources))
    assert not list(tmp_path.rglob("*.npy"))


def test_the_numbers_of_rows_are_compared_only_with_official_checksums(
    sources: dict[str, RawSource], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hepmass_prepare, "official_checksums", lambda: checksums(sources))
    with pytest.raises(RawDataError, match=r"train rows: expected 7000000, got 250") as caught:
        prepare(sources, tmp_path / "prepared", checksums(sources))
    assert "resonance rows of mass 1500: expected 1049471, got 50" in str(caught.value)
    assert not list(tmp_path.rglob("*.npy"))


def test_the_official_numbers_agree_with_each_other() -> None:
    signal_rows = hepmass_prepare.OFFICIAL_SIGNAL
    total = hepmass_prepare.OFFICIAL_BACKGROUND + sum(signal_rows.values())
    assert total == sum(hepmass_prepare.OFFICIAL_ROWS.values())
    background = {str(mass): [0, 0] for mass in MASSES}
    background["500"][0] = hepmass_prepare.OFFICIAL_BACKGROUND
    test = {mass: list(n) for mass, n in background.items()}
    train = {str(mass): [0, signal_rows[mass]] for mass in MASSES}
    n_moved = hepmass_prepare.OFFICIAL_ROWS["train"] - sum(signal_rows.values())
    train["500"][0] = n_moved
    test["500"][0] -= n_moved
    check_official_counts({"train": train, "test": test})
    train["750"][1] -= 1
    train["1000"][1] += 1
    with pytest.raises(RawDataError, match=r"mass 750: .*; resonance rows of mass 1000: "):
        check_official_counts({"train": train, "test": test})


# A program that kills itself at a point of the preparation, as a user or a batch system would.
KILLED = """
import json, os, signal, sys
from pathlib import Path
from experiments.datasets import hepmass_prepare, hepmass_raw

def die(*arguments, **keywords):
    os.kill(os.getpid(), signal.SIGKILL)

class Die(hepmass_prepare._ArrayWriter):
    calls = 0
    def append(self, rows):
        Die.calls += 1
        if Die.calls == n_appends:
            die()
        super().append(rows)

raw, folder, where = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
hepmass_raw.BLOCK_BYTES = 20_000
if where.isdigit():
    n_appends = int(where)
    hepmass_prepare._ArrayWriter = Die
elif where == "manifest":
    hepmass_prepare.Manifest = die
elif where == "rename":
    rename = Path.rename
    def first_rename_only(self, target):
        if self.name.endswith(".partial"):
            die()
        return rename(self, target)
    Path.rename = first_rename_only
sources = {s: hepmass_raw.RawSource(s, raw / n) for s, n in hepmass_raw.NAMES.items()}
hepmass_prepare.prepare(sources, folder, json.loads(sys.argv[4]))
"""


@pytest.mark.parametrize("earlier", [False, True], ids=["first run", "data of an earlier layout"])
@pytest.mark.parametrize("where", ["3", "30", "120", "manifest", "rename"])
def test_a_killed_run_is_never_read_and_the_next_one_starts_again(
    where: str, earlier: bool, sources: dict[str, RawSource], tmp_path: Path
) -> None:
    folder = tmp_path / "cache" / "prepared"
    if earlier:
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text('{"schema": 0}')
    expected = json.dumps(checksums(sources))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "raw", folder, where, expected],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (folder.parent / "prepared.partial").is_dir()  # it died in the middle
    with pytest.raises(PreparedDataError):
        read_manifest(folder)
    prepare(sources, folder, checksums(sources))
    assert_holds_the_files(folder)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["prepared", "prepared.lock"]


def test_a_run_that_fails_leaves_nothing(sources: dict[str, RawSource], tmp_path: Path) -> None:
    sources["test"].path.write_bytes(sources["test"].path.read_bytes()[:-100])
    with pytest.raises(RawDataError, match="ended before"):
        prepare(sources, tmp_path / "cache" / "prepared", checksums(sources))
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["prepared.lock"]


def test_a_second_process_waits_and_uses_what_the_first_prepared(
    sources: dict[str, RawSource], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache" / "prepared"
    monkeypatch.setattr(hepmass_prepare, "prepared_folder", lambda: folder)
    monkeypatch.setattr(hepmass_prepare, "locate_both", lambda: sources)
    expected = checksums(sources)
    monkeypatch.setattr(hepmass_prepare, "official_checksums", lambda: expected)
    monkeypatch.setattr(hepmass_prepare, "check_official_counts", lambda counts: None)
    preparations = []
    second = threading.Thread(target=lambda: preparations.append(hepmass_prepare.ensure_prepared()))
    with hepmass_prepare._lock(folder):
        second.start()
        second.join(0.2)
        assert second.is_alive()
        hepmass_prepare._prepare(sources, folder, expected)
    second.join()
    assert [p.fresh for p in preparations] == [False]
    assert_holds_the_files(folder)


def damage_size(folder: Path) -> None:
    path = folder / "test_750_X.npy"
    path.write_bytes(path.read_bytes()[:-4])


def change_manifest(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_size, r"test_750_X\.npy: expected \d+ bytes, got \d+ bytes"),
        (lambda f: (f / "train_500_y.npy").unlink(), r"train_500_y\.npy: expected .*, got none"),
        (lambda f: (f / "manifest.json").unlink(), "holds no prepared HEPMASS data"),
        (lambda f: (f / "manifest.json").write_text('{"schema": 1'), "manifest.json is damaged"),
        (lambda f: (f / "manifest.json").write_text("[]"), "manifest.json is damaged"),
        (lambda f: change_manifest(f, schema=2), "has layout 2; expected layout 1"),
        (lambda f: change_manifest(f, counts={}), "manifest.json is damaged"),
        (lambda f: change_manifest(f, sizes={}), "manifest.json is damaged"),
        (lambda f: change_manifest(f, extra=1), "manifest.json is damaged"),
    ],
)
def test_damaged_prepared_data_is_not_read(
    damage, message: str, sources: dict[str, RawSource], tmp_path: Path
) -> None:
    prepare(sources, tmp_path / "prepared", checksums(sources))
    damage(tmp_path / "prepared")
    with pytest.raises(PreparedDataError, match=message):
        read_manifest(tmp_path / "prepared")


def test_an_array_of_another_kind_is_refused(sources: dict[str, RawSource], tmp_path: Path) -> None:
    folder = tmp_path / "prepared"
    manifest = prepare(sources, folder, checksums(sources))
    np.save(folder / "train_500_X.npy", np.zeros((27, 50), np.float32))
    with pytest.raises(PreparedDataError, match=r"expected \('<f4', \(50, 27\)\), got .*\(27, 50"):
        load_rows(folder, manifest, "train", 500)
    (folder / "train_500_X.npy").write_bytes(b"no array")
    with pytest.raises(PreparedDataError, match="cannot be read"):
        load_rows(folder, manifest, "train", 500)


# VmHWM and not ru_maxrss, which counts what the parent process had at the start.
MEASURED = """
import json, sys
from pathlib import Path
from experiments.datasets import hepmass_prepare, hepmass_raw

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

raw = Path(sys.argv[1])
sources = {s: hepmass_raw.RawSource(s, raw / n) for s, n in hepmass_raw.NAMES.items()}
before = peak()
manifest = hepmass_prepare.prepare(sources, raw / "prepared", json.loads(sys.argv[2]))
print(peak() - before, sum(manifest.n_rows("train", mass) for mass in hepmass_prepare.MASSES))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_a_million_rows_are_prepared_in_bounded_memory(tmp_path: Path) -> None:
    n_repeats = 20
    header, _, rows = text_of(table("train", n_each=5000)).partition(b"\n")
    sources = write_both(tmp_path)
    # A gzip file may have several parts: the text is 740 MB, as doubles the numbers are 230 MB.
    part = gzip.compress(rows, compresslevel=1)
    with sources["train"].path.open("wb") as stream:
        stream.write(gzip.compress(header + b"\n"))
        for _ in range(n_repeats):
            stream.write(part)
    measured = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path), json.dumps(checksums(sources))],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    kibibytes, n_rows = map(int, measured.stdout.split())
    assert n_rows == 50_000 * n_repeats
    assert kibibytes < 150 * 1024
