"""A file in results is whole or not there, whoever else writes it and whatever ends it."""

import resource
from contextlib import contextmanager

import pytest

from experiments.whole_files import write_text, written_whole


@contextmanager
def no_file_may_be_larger(n_bytes):
    """As on a full disk: what exceeds the limit is an OSError in the middle of the file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def contents(directory):
    return {path.name: path.read_text() for path in directory.rglob("*") if path.is_file()}


def test_a_writer_that_is_cut_off_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "new" / "a"
    with no_file_may_be_larger(500), pytest.raises(OSError, match="File too large"):
        write_text(path, "x" * 1000)
    assert contents(tmp_path) == {}
    write_text(path, "old")
    with no_file_may_be_larger(500), pytest.raises(OSError, match="File too large"):
        write_text(path, "x" * 1000)
    assert contents(tmp_path) == {"a": "old"}


def test_an_error_in_the_middle_of_a_file_leaves_the_old_one(tmp_path):
    write_text(tmp_path / "a", "old")

    def write():
        with written_whole(tmp_path / "a") as file:
            file.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert contents(tmp_path) == {"a": "old"}


def test_a_lone_surrogate_is_written_as_an_escape(tmp_path):
    write_text(tmp_path / "a", "x\udce9")
    assert contents(tmp_path) == {"a": r"x\udce9"}
