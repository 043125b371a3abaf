"""Records damaged in two hundred ways: each is noticed and named, none is rendered."""

import json
import os
import random
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from experiments.cells.plan import load_table
from experiments.cells.state import cell_state
from experiments.reading.pages import origins, provenance_page
from experiments.reading.render import render_tables
from experiments.reading.results import records_of, stored, tables_of
from experiments.store.frame import to_frame
from experiments.store.records import (
    SCHEMA,
    Outcome,
    Record,
    RecordError,
    RecordStore,
)
from experiments.store.text import canonical_json, sha256_of

ENVIRONMENT = {
    "cores": 2, "cpu": "c", "git_clean": True, "git_revision": "ab", "krda": "1", "machine": "m",
    "python": "3", "system": "s", "threads": 1, "libraries": {"numpy": "2"},
}  # fmt: skip


def fabricated(cell, n):
    outcomes = tuple(
        Outcome(r, r, "done", (700 + n + r / 10) / 1000, 1.0, 0.1, None)
        for r in range(cell.n_repetitions)
    )
    return Record(
        dataset=cell.dataset, task=cell.task, method=cell.method, identity="1d" * 32,
        config_sha256=cell.config_sha256, config=cell.config, data_sha256="da" * 32,
        code_fingerprint="c0de", outcomes=outcomes, environment=ENVIRONMENT,
    )  # fmt: skip


def truncate(path, other, dice):
    path.write_bytes(path.read_bytes()[: dice.randrange(1, path.stat().st_size)])


def empty(path, other, dice):
    path.write_bytes(b"")


def flip(path, other, dice):
    text = bytearray(path.read_bytes())
    text[dice.randrange(len(text))] ^= 1 << dice.randrange(8)
    path.write_bytes(text)


def swap(path, other, dice):
    path.write_bytes(other.read_bytes())


def zeros(path, other, dice):
    text = path.read_bytes()
    start = dice.randrange(len(text) - 1)
    length = dice.randrange(1, len(text) - start)
    path.write_bytes(text[:start] + bytes(length) + text[start + length :])


def lines_lost(path, other, dice):
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[dice.randrange(len(lines))]
    path.write_bytes(b"".join(lines))


def appended(path, other, dice):
    path.write_bytes(path.read_bytes() + dice.choice([b" ", b"\n", b"{}", other.read_bytes()]))


def mixed(path, other, dice):
    one, two = path.read_bytes(), other.read_bytes()
    cut = dice.randrange(1, min(len(one), len(two)) - 1)
    path.write_bytes(one[:cut] + two[cut:])
    if path.read_bytes() == one:
        path.write_bytes(two[:cut])


def edited(path, other, dice):
    content = json.loads(path.read_bytes())
    dice.choice(content["outcomes"])["accuracy"] = dice.random()
    path.write_bytes(canonical_json(content).encode())


def schema(path, other, dice):
    content = json.loads(path.read_bytes())
    del content["sha256"]
    content["schema"] = dice.choice([SCHEMA + 1, 0, -1, str(SCHEMA), None, True])
    path.write_bytes(canonical_json(content | {"sha256": sha256_of(content)}).encode())


def other_format(path, other, dice):
    path.write_bytes(dice.choice([b"accuracy: 0.9\n", b"0.9,0.8\n", b"\x80\x04", b"null\n", b"1"]))


def directory(path, other, dice):
    path.unlink()
    path.mkdir()


def dangling(path, other, dice):
    path.unlink()
    path.symlink_to(dice.choice(["nowhere", path.name]))


def unreadable(path, other, dice):
    path.chmod(0)
    if os.access(path, os.R_OK):
        # Root reads all the same, and then nothing is wrong with what is read.
        path.chmod(0o644)
        dangling(path, other, dice)


DAMAGES = (truncate, empty, flip, swap, zeros, lines_lost, appended, mixed, edited, schema,
           other_format, directory, dangling, unreadable)  # fmt: skip


@pytest.fixture(scope="module")
def plan():
    plan = load_table("moons", ("protocol=smoke",))
    return replace(plan, paper=("source_only", "krda"), ours=("sa_linear",))


def tables(plan, store, directory):
    paths = render_tables(tables_of(plan, to_frame(store.root.parent)), directory)
    return [*(path.read_bytes() for path in paths), provenance(plan, store)]


def provenance(plan, store):
    return provenance_page(origins(records_of([plan], store)), pd.DataFrame(), [])


def test_two_hundred_damages_are_noticed_and_none_is_rendered(plan, tmp_path):
    dice = random.Random(0)
    cells = list(plan.cells.values())
    clean, nothing = (
        RecordStore(tmp_path / "clean/records"),
        RecordStore(tmp_path / "nothing/records"),
    )
    for n, cell in enumerate(cells):
        clean.write(fabricated(cell, n))
    assert len(clean.scan()) == len(cells) == 27
    expected = tables(plan, nothing, tmp_path / "tables")
    assert tables(plan, clean, tmp_path / "tables") != expected
    n_damages = 0
    for turn in range(8):
        store = RecordStore(tmp_path / f"damaged-{turn}/records")
        shutil.copytree(clean.root, store.root)
        for number, cell in enumerate(cells):
            path = store.path_of(stored(cell, clean))
            other = clean.path_of(stored(cells[number - 1], clean))
            DAMAGES[(n_damages) % len(DAMAGES)](path, other, dice)
            n_damages += 1
            with pytest.raises(RecordError) as caught:
                store.read(path)
            assert caught.value.path == path
            assert cell_state(cell, store).state == "damaged"
            assert str(path) in cell_state(cell, store).reason
            assert stored(cell, store) is None
        scan = store.scan()
        assert len(scan) == 0
        assert len(scan.damaged) == len(cells)
        assert tables(plan, store, tmp_path / "tables") == expected
        for cell in cells:
            store.write(stored(cell, clean))
        assert len(store.scan()) == len(cells), "each can be written anew"
    assert n_damages >= 200


def test_what_is_no_record_is_named_and_never_read(plan, tmp_path):
    store = RecordStore(tmp_path)
    path = store.write(fabricated(next(iter(plan.cells.values())), 0))
    copy = path.with_name(f"{path.name}.bak")
    shutil.copy(path, copy)
    (tmp_path / "notes.txt").write_text("x")
    (path.parent / ".hidden").write_text("x")
    scan = store.scan()
    assert (len(scan), scan.damaged) == (1, ())


def test_provenance_shows_what_machines_say_of_themselves_as_plain_text(plan, tmp_path):
    store, cell = RecordStore(tmp_path / "records"), next(iter(plan.cells.values()))
    cpu = "<img src=x> | *bold* [a](b)\n# head \x1b[31m \udce9"
    store.write(replace(fabricated(cell, 0), environment=ENVIRONMENT | {"cpu": cpu}))
    text = provenance(plan, store)
    assert r"- \<img src=x\> \| \*bold\* \[a\](b) \# head \\x1b\[31m \\udce9, 2 cores" in text


def test_an_error_of_any_characters_is_rendered_and_ends_no_rendering(plan, tmp_path):
    store, cell = RecordStore(tmp_path / "records"), next(iter(plan.cells.values()))
    record = fabricated(cell, 0)
    lost = replace(record.outcomes[0], status="failed", accuracy=None,
                   error="x\udce9.csv \x1b[31m <b>|" + "y" * 100_000)  # fmt: skip
    store.write(replace(record, outcomes=(lost, *record.outcomes[1:])))
    for path in render_tables(tables_of(plan, to_frame(store.root.parent)), tmp_path / "tables"):
        text = path.read_text("utf-8")
        assert "\x1b" not in text
        assert "<b>" not in text.replace("\\<b", "") or path.suffix != ".md"
        assert len(text) < 50_000


def test_provenance_counts_a_cell_in_each_place_that_its_repetitions_ran_in(plan, tmp_path):
    store, cell = RecordStore(tmp_path / "records"), next(iter(plan.cells.values()))
    record = fabricated(cell, 0)
    elsewhere = replace(record.outcomes[0], environment=ENVIRONMENT | {"cpu": "another"})
    store.write(replace(record, outcomes=(elsewhere, *record.outcomes[1:])))
    text = provenance(plan, store)
    assert "- another, 2 cores" in text
    assert "- c, 2 cores" in text
    assert "- revision ab, as committed: 1 cells" in text
