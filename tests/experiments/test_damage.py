"""Damaged records: each is noticed and named, none is rendered."""

from dataclasses import replace

import pytest
from made_up import ENVIRONMENT, write_records
from record_factory import NO_ACCURACY, stored

from experiments.cells.plan import load_table
from experiments.cells.repetitions import describe_error
from experiments.cells.state import cell_state
from experiments.reading.pages import provenance_page
from experiments.reading.render import render_tables
from experiments.reading.results import table_of
from experiments.store.frame import to_frame
from experiments.store.records import RecordStore


def truncate(path, other):
    path.write_bytes(path.read_bytes()[:-40])


def swap(path, other):
    path.write_bytes(other.read_bytes())


def edited(path, other):
    path.write_bytes(path.read_bytes().replace(b'"accuracy": 0.', b'"accuracy": 0.1', 1))


def directory(path, other):
    path.unlink()
    path.mkdir()


def dangling(path, other):
    path.unlink()
    path.symlink_to("nowhere")


DAMAGES = (truncate, swap, edited, directory, dangling)


@pytest.fixture(scope="module")
def plan():
    plan = load_table("moons", ("protocol=smoke",))
    return replace(plan, paper=("source_only", "krda"), ours=("sa_linear",))


def tables(plan, store, directory):
    paths = render_tables([table_of(plan, to_frame(store.root.parent))], directory)
    return [*(path.read_bytes() for path in paths), provenance(store)]


def provenance(store):
    return provenance_page(store.scan())


def test_damages_of_every_kind_are_noticed_and_none_is_rendered(plan, tmp_path):
    cells = list(plan.cells.values())
    store, nothing = (RecordStore(tmp_path / name / "records") for name in ("store", "nothing"))
    write_records(store, [plan])
    expected = tables(plan, nothing, tmp_path / "tables")
    assert tables(plan, store, tmp_path / "tables") != expected
    paths = [store.path_of(stored(cell, store)) for cell in cells]
    for number, (cell, path) in enumerate(zip(cells, paths, strict=True)):
        DAMAGES[number % len(DAMAGES)](path, paths[number - len(cells) + 1])
        found = cell_state(cell, store)
        assert found.state == "damaged"
        assert str(path) in found.reason
        assert stored(cell, store) is None
    assert len(store.scan()) == 0
    assert len(store.scan().damaged) == len(cells) == 6
    assert tables(plan, store, tmp_path / "tables") == expected


@pytest.fixture
def store(plan, tmp_path):
    store = RecordStore(tmp_path / "records")
    write_records(store, [plan])
    return store


def test_provenance_shows_what_machines_say_of_themselves_as_plain_text(plan, store):
    cpu = "<img src=x> | *bold* [a](b)\n# head \x1b[31m \udce9"
    store.write(replace(store.scan().records[0], environment=ENVIRONMENT | {"cpu": cpu}))
    text = provenance(store)
    assert r"- \<img src=x\> \| \*bold\* \[a\](b) \# head \\x1b\[31m \\udce9, 2 cores" in text
    assert "revision c0ffee, as committed: 5 cells" in text


def test_an_error_of_any_characters_is_rendered_and_ends_no_rendering(plan, store, tmp_path):
    error = describe_error(OSError("x\udce9.csv \x1b[31m <b>|" + "y" * 100_000))
    record = store.scan().records[0]
    store.path_of(record).unlink()  # else the complete one would stay
    lost = replace(record.outcomes[0], status="failed", **NO_ACCURACY, error=error)
    store.write(replace(record, outcomes=(lost, *record.outcomes[1:])))
    for path in render_tables([table_of(plan, to_frame(store.root.parent))], tmp_path / "tables"):
        text = path.read_text("utf-8")
        assert "\x1b" not in text
        assert "<b>" not in text.replace("\\<b", "") or path.suffix != ".md"
        assert len(text) < 50_000
