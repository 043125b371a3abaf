import numpy as np
import pytest
from cell_factory import make_cell

from experiments.figures import draw_transport, load_rows, moons_figure, save_rows, transport_rows


@pytest.fixture(scope="module")
def rows():
    return transport_rows(make_cell(method="krda"))


def test_stored_rows_come_back_to_the_last_digit(rows, tmp_path):
    save_rows(rows, tmp_path / "rows.csv")
    loaded = load_rows(tmp_path / "rows.csv")
    for name in ("source", "transported", "target", "source_labels", "target_labels"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(rows, name))


def test_the_same_rows_give_the_same_bytes(rows, tmp_path):
    first = draw_transport(rows, tmp_path / "a", title="t")
    second = draw_transport(rows, tmp_path / "b", title="t")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert first[1].read_bytes().startswith(b"%PDF")


def test_nothing_is_drawn_where_nothing_was_stored(tmp_path):
    cell = make_cell(method="krda")
    assert moons_figure(cell, tmp_path, compute=False) == []
    assert [p.suffix for p in moons_figure(cell, tmp_path, compute=True)] == [".png", ".pdf"]


def test_a_method_that_transports_nothing_has_no_such_figure():
    with pytest.raises(ValueError, match="not KRDA"):
        transport_rows(make_cell(method="source_only"))
