"""What lies in results is whole or not there, whoever else writes it and whatever ends it."""

import os
import resource
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from experiments import reproduce
from experiments.cells.plan import load_table
from experiments.reading import render
from experiments.reading.figures.fits import save
from experiments.reading.figures.style import new_figure, save_figure
from experiments.reading.report import render_report
from experiments.reading.results import read_results
from experiments.store.frame import to_frame
from experiments.whole_files import text_written_whole, write_text


@contextmanager
def no_file_may_be_larger(n_bytes):
    """As on a disk that takes no more: what exceeds the limit is an OSError amid the file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@cache
def tables():
    return (load_table("moons", ("protocol=smoke",)),)


@cache
def results():
    return read_results(tables(), to_frame(Path("nothing")))


def write_tables(directory):
    render.render_tables(results().tables, directory)


def write_summary(directory):
    render.render_summary(results(), [], directory)


def write_report(directory):
    render_report(results(), [], directory)


def write_figure(directory):
    with new_figure(2, 2) as figure:
        figure.subplots().plot(range(100))
        save_figure(figure, directory / "line")


def write_numbers(directory):
    save(pd.DataFrame({"a": range(10_000)}), directory / "numbers.csv")


def contents(directory):
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


WRITERS = [write_tables, write_summary, write_report, write_figure, write_numbers]


@pytest.mark.parametrize("write", WRITERS)
def test_a_writer_that_is_cut_off_leaves_the_files_of_before_and_nothing_else(write, tmp_path):
    write(tmp_path)
    before = contents(tmp_path)
    assert max(map(len, before.values())) > 500
    with no_file_may_be_larger(500), pytest.raises(OSError, match="File too large"):
        write(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("write", WRITERS)
def test_a_writer_that_is_cut_off_at_its_first_file_leaves_none(write, tmp_path):
    with no_file_may_be_larger(0), pytest.raises(OSError, match="File too large"):
        write(tmp_path)
    assert contents(tmp_path) == {}


def test_two_writers_of_one_file_at_once_leave_the_whole_file_of_the_last_one(tmp_path):
    path = tmp_path / "numbers.csv"
    with text_written_whole(path) as file:
        file.write("1\n")
        # The other begins later and ends first.
        write_text(path, "other\n" * 10_000)
        assert path.read_text().count("other") == 10_000
        file.write("2\n")
    assert path.read_text() == "1\n2\n"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_amid_a_file_leaves_the_file_of_before(tmp_path):
    path = tmp_path / "numbers.csv"
    write_text(path, "1\n")
    with pytest.raises(TypeError), text_written_whole(path) as file:
        file.writelines(["2\n", 3])
    assert contents(tmp_path) == {path: b"1\n"}


def test_rendering_removes_what_killed_writers_left_and_nothing_that_may_be_at_work(tmp_path):
    folders = [tmp_path, tmp_path / "tables", tmp_path / "figures"]
    old = [folder / ".moons.csv.4711-00ff.tmp" for folder in folders]
    young = [folder / ".moons.csv.4711-00fe.tmp" for folder in folders]
    for path in (*old, *young):
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")
    for path in old:
        os.utime(path, (time.time() - 7200,) * 2)
    arguments = ["--render", "--protocol", "smoke", "--table", "moons", "--jobs", "1"]
    reproduce.main([*arguments, "--results", str(tmp_path)])
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in young)


def test_a_lone_surrogate_is_written_as_an_escape(tmp_path):
    write_text(tmp_path / "a", "x\udce9")
    with text_written_whole(tmp_path / "b") as file:
        file.write("x\udce9")
    assert [(tmp_path / name).read_text("utf-8") for name in "ab"] == [r"x\udce9"] * 2
