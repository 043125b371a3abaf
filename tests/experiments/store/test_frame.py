import pandas as pd
from record_factory import make_record

from experiments.store.frame import COLUMNS, to_frame, write_all_csv
from experiments.store.records import RecordStore


def test_a_row_is_a_repetition_and_failed_ones_are_rows(tmp_path):
    store = RecordStore(tmp_path / "records")
    store.write(make_record("moons", "40", "krda", 0.1 + 0.2, "failed: no numbers"))
    store.write(make_record("moons", "40", "krda", 0.5, config=1))
    store.path("moons", "40", "sa", "ab" * 32).write_text("{}")  # damaged: left out
    frame = to_frame(tmp_path)
    assert list(frame.columns) == list(COLUMNS)
    assert sorted(frame.groupby("config").size()) == [1, 2]
    done = frame[frame.status == "done"]
    assert sorted(done.accuracy) == [0.1 + 0.2, 0.5]
    failed = frame[frame.status == "failed"].iloc[0]
    assert (failed.repetition, failed.seed, failed.error) == (1, 101, "no numbers")
    assert pd.isna(failed.accuracy)


def test_an_empty_store_gives_a_frame_of_the_same_columns(tmp_path):
    frame = to_frame(tmp_path)
    assert len(frame) == 0
    RecordStore(tmp_path / "records").write(make_record("d", "t", "m", 0.5))
    assert frame.dtypes.equals(to_frame(tmp_path).dtypes)


def test_the_csv_holds_every_digit_and_no_error(tmp_path):
    store = RecordStore(tmp_path / "records")
    store.write(make_record("moons", "40", "krda", 0.1 + 0.2, "failed: no, \n numbers"))
    read = pd.read_csv(
        write_all_csv(to_frame(tmp_path), tmp_path), dtype={"task": str, "config": str}
    )
    assert list(read.columns) == [name for name in COLUMNS if name != "error"]
    assert read.accuracy[0] == 0.1 + 0.2
    assert pd.isna(read.accuracy[1])
