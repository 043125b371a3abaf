"""Two runs of the same cells: their table, in the page that shows it."""

from dataclasses import replace

import pytest
from record_factory import make_record

from experiments.store.records import RecordStore
from studies import kernels

FIRST = (0.5, 0.6, 0.7)  # 60 ± 24.8 %


@pytest.fixture
def run(tmp_path):
    """Write records of KRDA on moons, from task to accuracies, as those of a run on a processor."""

    def write(name, cells, cpu="A"):
        store = RecordStore(tmp_path / name / "records")
        for task, values in cells.items():
            record = make_record("moons", task, "krda", *values)
            store.write(replace(record, environment={"cpu": cpu}))
        return str(tmp_path / name)

    return write


def test_the_table_of_two_runs_is_written_between_the_marks(run, tmp_path, capsys):
    first = run("first", {"10": FIRST, "20": FIRST, "30": FIRST, "40": FIRST})
    lost = (0.5, "failed: no luck", 0.7)
    second = run("second", {"10": FIRST, "20": (0.9, 0.9, 0.9), "40": lost}, cpu="B")
    document = tmp_path / "page.md"
    document.write_text("# A\n<!-- kernels: begin -->\nold\n<!-- kernels: end -->\nend\n")
    kernels.main([first, second])
    text = capsys.readouterr().out
    assert "| KRDA | 2 | 1 | 1 | 30.00 | 1.21 | 1 |" in text
    assert "processor A / B (3 cells)" in text
    assert "1 cells of only one of the runs" in text
    assert "1 with other repetitions done" in text
    kernels.main([first, second, "--write", str(document)])
    page = document.read_text()
    assert text.strip() in page
    assert "old" not in page
    assert page.endswith("end\n")


def test_runs_that_share_no_cell_are_refused_by_name(run, tmp_path, capsys):
    first = run("first", {"10": FIRST})
    for other in (run("second", {"20": FIRST}), str(tmp_path / "none")):
        with pytest.raises(SystemExit):
            kernels.main([first, other])
        assert other in capsys.readouterr().err
