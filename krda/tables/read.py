"""One file as a table: text as text, and the typed columns of Parquet, Feather and spreadsheets."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from krda.tables.errors import LINE, TableError, listed
from krda.tables.text import checked, parse_text

# The libraries that pandas reads these files with.
_LIBRARIES = {".parquet": "pyarrow", ".feather": "pyarrow", ".xlsx": "openpyxl"}


class Table(NamedTuple):
    """A file's table, and notes on what was detected or left out."""

    frame: pd.DataFrame
    notes: list[str]


def read_table(
    path: str | Path,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    as_text: Sequence[str] = (),
) -> Table:
    r"""Read a table from a file.

    The suffix says what the file is: .parquet, .feather or .xlsx (its first sheet), and text
    otherwise (.csv, .tsv, .txt). A second suffix says that it is packed: .gz or .zip.

    In text files every cell stays its text: `01`, `1E5` and `NA` are not interpreted. Columns of
    other files keep their types. An index that is no range becomes columns. The index of what is
    read says in which line of the file a row begins, in text and spreadsheets.

    Parameters
    ----------
    path : str or Path
        The file.
    separator : str, default=None
        The character between the columns of a text file. If None, it is detected among comma,
        semicolon, tab and vertical bar; it is a tab in .tsv.
    decimal : {".", ","}, default=None
        The decimal mark of a text file. With a comma, points are written for it in columns of
        numbers. If None, it is detected, in files whose columns are not separated by commas.
    encoding : str, default=None
        The encoding of a text file, such as "cp850". If None, it is UTF-8, UTF-16 with its mark, or
        else cp1252.
    as_text : sequence of str, default=()
        Columns of a text file whose decimal commas stay: labels and names of rows.

    Returns
    -------
    Table
        The ``frame``, and ``notes``: sentences on what was detected or left out.

    Raises
    ------
    TableError
        If the file is no table, or only part of it could be read. The message names the line or
        column and says what to do. Also if a library is missing.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from krda.tables.read import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rooms.csv"
    ...     _ = path.write_text("room;size\n01;12,5\n02;9\n")
    ...     frame, notes = read_table(path)
    >>> frame.values.tolist()
    [['01', '12.5'], ['02', '9']]
    >>> len(notes)
    2
    """
    path = Path(path)
    content = path.read_bytes()
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zip"):
        content = _unpack(content, path, suffixes.pop())
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in _LIBRARIES:
        separator = "\t" if separator is None and suffix == ".tsv" else separator
        return Table(*parse_text(content, str(path), separator, decimal, encoding, as_text))
    try:
        frame, notes = _typed(content, suffix, path)
    except ImportError as error:
        raise TableError(
            f"{path} needs a library that is not installed: pip install {_LIBRARIES[suffix]}."
        ) from error
    except TableError:
        raise
    except Exception as error:  # each library has errors of its own
        raise TableError(
            f"{path} cannot be read as {suffix} ({listed([error])}). Give it the suffix of what it "
            "is, such as .csv for text, or write it again."
        ) from error
    return Table(checked(frame, str(path)), notes)


def _unpack(content: bytes, path: Path, suffix: str) -> bytes:
    """Unpack a file; folders in a .zip archive and what macOS adds to it are no files."""
    try:
        if suffix == ".gz":
            return gzip.decompress(content)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [n for n in archive.namelist() if not n.endswith("/") and "__MACOSX/" not in n]
            if len(names) == 1:
                return archive.read(names[0])
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise TableError(
            f"{path} is no complete {suffix} archive ({error}). Copy it again, or give it the "
            "suffix of what it is."
        ) from error
    raise TableError(
        f"{path} holds {len(names)} files ({listed(names)}); expected one. Unpack it, and name the "
        "file that is meant."
    )


# Files with types


def _typed(content: bytes, suffix: str, path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read columns with their types."""
    if suffix == ".xlsx":
        return _sheet(content, path)
    read = pd.read_parquet if suffix == ".parquet" else pd.read_feather
    frame = read(io.BytesIO(content))
    return (frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()), []


def _sheet(content: bytes, path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read the first sheet: its first row holds names, cells keep their types, empty rows go."""
    with pd.ExcelFile(io.BytesIO(content)) as book:
        first, *others = book.sheet_names
        cells = pd.read_excel(
            book, header=None, dtype=object, keep_default_na=False, na_values=[""]
        )
    notes = (
        [f"{path}: of {1 + len(others)} sheets, the first, {first}, was read."] if others else []
    )
    if not len(cells):
        raise TableError(f"{path} has no rows in its first sheet; expected names and rows.")
    cells.index = pd.RangeIndex(1, len(cells) + 1, name=LINE)
    frame = cells.iloc[1:]
    frame.columns = ["" if pd.isna(name) else name for name in cells.iloc[0]]
    full = frame.notna().any(axis=1)
    if not full.all():
        notes.append(f"{path}: {int((~full).sum())} empty rows were left out.")
    return frame[full].infer_objects(), notes
