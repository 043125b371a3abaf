"""Two runs of the same cells: their table, in the page that shows it."""

import pytest

from experiments.store.records import Outcome, Record, RecordStore
from experiments.store.text import sha256_of
from studies import kernels

FIRST = (0.5, 0.6, 0.7)  # 60 ± 24.8 %


def record(*values, task="40", environment=None):
    """A record of KRDA on moons; a text is the status and error of a lost repetition."""
    outcomes = []
    for k, value in enumerate(values):
        status, error = ("failed", value) if isinstance(value, str) else ("done", None)
        outcomes.append(Outcome(k, k, status, None if error else value, 0.1, 0.1, error))
    return Record(
        dataset="moons", task=task, method="krda", identity="1d" * 32,
        config_sha256=sha256_of({}), config={}, data_sha256="da" * 32,
        code_fingerprint="c0de" * 16, outcomes=tuple(outcomes), environment=environment or {},
    )  # fmt: skip


def stores(tmp_path, *runs):
    for number, records in enumerate(runs):
        store = RecordStore(tmp_path / str(number) / "records")
        for one in records:
            store.write(one)


def test_the_table_of_two_runs_is_written_between_the_marks(tmp_path, capsys):
    first = [record(*FIRST, task=task, environment={"cpu": "A"}) for task in ("10", "20", "30")]
    second = [
        record(*values, task=task, environment={"cpu": "B"})
        for task, values in (("10", FIRST), ("20", (0.9, 0.9, 0.9)))
    ]
    stores(tmp_path, first, second)
    document = tmp_path / "page.md"
    document.write_text(f"# A\n{kernels.BEGIN}\nold\n{kernels.END}\nend\n")
    directories = [str(tmp_path / name) for name in "01"]
    kernels.main(directories)
    text = capsys.readouterr().out
    assert "| KRDA | 2 | 1 | 1 | 30.00 | 1.21 | 1 |" in text
    assert "processor A / B (2 cells)" in text
    assert "1 cells of only one of the runs" in text
    kernels.main([*directories, "--write", str(document)])
    page = document.read_text()
    assert text.strip() in page
    assert "old" not in page
    assert page.endswith("end\n")
    with pytest.raises(SystemExit):
        kernels.main([directories[0], str(tmp_path / "none")])


def test_runs_that_share_no_cell_are_refused_by_name(tmp_path, capsys):
    stores(tmp_path, [record(*FIRST, task="10")], [record(*FIRST, task="20")])
    with pytest.raises(SystemExit):
        kernels.main([str(tmp_path / name) for name in "01"])
    assert "no cell of" in capsys.readouterr().err


def test_cells_with_other_repetitions_done_make_a_table_without_rows():
    one, other = record(*FIRST), record(0.5, "failed: no luck", 0.7)
    text = kernels.comparison({("k",): one}, {("k",): other})
    assert "1 with other repetitions done" in text
