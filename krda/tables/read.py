"""One file as a table: text as text, and the typed columns of Parquet, Feather and spreadsheets."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from krda.tables.errors import TableError, listed
from krda.tables.text import parse_text

# The libraries that pandas reads these files with.
_LIBRARIES = {
    ".parquet": "pyarrow",
    ".feather": "pyarrow",
    ".xlsx": "openpyxl",
    ".xls": "xlrd",
    ".ods": "odfpy",
}


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
    sheet: str | int = 0,
    as_text: Sequence[str] = (),
) -> Table:
    r"""Read a table from a file.

    The suffix says what the file is: .parquet, .feather, .xlsx, .xls or .ods, and text otherwise
    (.csv, .tsv, .txt). A second suffix says that it is packed: .gz, .bz2, .xz or .zip.

    In text files every cell stays its text: `01`, `1E5` and `NA` are not interpreted. Columns of
    other files keep their types. An index that is no range becomes columns.

    Parameters
    ----------
    path : str or Path
        The file.
    separator : str, default=None
        The character between the columns of a text file. If None, it is detected among comma,
        semicolon, tab and vertical bar.
    decimal : {".", ","}, default=None
        The decimal mark of a text file. With a comma, points are written for it in columns of
        numbers. If None, it is detected, in files whose columns are not separated by commas.
    encoding : str, default=None
        The encoding of a text file, such as "cp1252". If None, it is detected.
    sheet : str or int, default=0
        The sheet of a spreadsheet: its name, or its number from 0.
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
    >>> from krda.tables import read_table
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
    if suffixes and suffixes[-1] in _PACKED:
        content = _unpack(content, path, suffixes.pop())
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in _LIBRARIES:
        return Table(
            *parse_text(
                content,
                str(path),
                separator=separator,
                decimal=decimal,
                encoding=encoding,
                as_text=as_text,
                tabs=suffix == ".tsv",
            )
        )
    try:
        frame, notes = _typed(content, suffix, sheet, path)
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
    return Table(_checked(frame, path), notes)


def _unpack(content: bytes, path: Path, suffix: str) -> bytes:
    """Unpack a file."""
    try:
        return _PACKED[suffix](content)
    except TableError as error:
        raise TableError(f"{path} {error}") from error
    except (OSError, EOFError, RuntimeError, lzma.LZMAError, zipfile.BadZipFile, zlib.error) as e:
        raise TableError(
            f"{path} is no complete {suffix} archive ({e}). Copy it again, or give it the suffix "
            "of what it is."
        ) from e


def _only_member(content: bytes) -> bytes:
    """Unpack a .zip archive of one file; folders and what macOS adds are no files."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [n for n in archive.namelist() if not n.endswith("/") and "__MACOSX/" not in n]
        if len(names) != 1:
            raise TableError(
                f"holds {len(names)} files ({listed(names)}); expected one. Unpack it, and name "
                "the file that is meant."
            )
        return archive.read(names[0])


_PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
    ".zip": _only_member,
}


# Files with types


def _typed(
    content: bytes, suffix: str, sheet: str | int, path: Path
) -> tuple[pd.DataFrame, list[str]]:
    """Read columns with their types."""
    if suffix in (".xlsx", ".xls", ".ods"):
        return _sheet(content, sheet, path)
    read = pd.read_parquet if suffix == ".parquet" else pd.read_feather
    frame = read(io.BytesIO(content))
    if isinstance(frame.index, pd.RangeIndex):
        return frame, []
    names = [name or f"index_{i}" for i, name in enumerate(frame.index.names)]
    clash = [name for name in names if name in frame.columns]
    if clash:
        raise TableError(
            f"{path} has an index and a column of one name: {listed(clash)}. Rename one of them."
        )
    frame = frame.reset_index(names=names)
    return frame, [f"{path}: the index is used as columns: {listed(names)}."]


def _sheet(content: bytes, sheet: str | int, path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read a sheet: the first row holds the names, cells keep their types, empty rows go."""
    notes = []
    with pd.ExcelFile(io.BytesIO(content)) as book:
        sheets = [str(name) for name in book.sheet_names]
        known = sheet in sheets if isinstance(sheet, str) else 0 <= sheet < len(sheets)
        if not known:
            raise TableError(
                f"{path} has no sheet {sheet!r}; its sheets are {listed(sheets)}. Name one, or "
                "give its number from 0."
            )
        cells = pd.read_excel(
            book,
            sheet_name=sheet,
            header=None,
            dtype=object,
            keep_default_na=False,
            na_values=[""],
        )
    if len(sheets) > 1 and sheet == 0:
        notes.append(f"{path}: of {len(sheets)} sheets, the first, {listed(sheets[:1])}, was read.")
    if not len(cells):
        raise TableError(f"{path} has an empty sheet; expected names in its first row, and rows.")
    frame = cells.iloc[1:]
    frame.columns = ["" if pd.isna(name) else name for name in cells.iloc[0]]
    full = frame.notna().any(axis=1)
    if not full.all():
        notes.append(f"{path}: {int((~full).sum())} empty rows were left out.")
    return frame[full].reset_index(drop=True).infer_objects(), notes


def _checked(frame: Any, path: Path) -> pd.DataFrame:
    """Refuse a table without rows or with names that are empty or not unique."""
    names = [str(name).strip() for name in frame.columns]
    frame.columns = names
    kept = [bool(name) or bool(frame.iloc[:, i].notna().any()) for i, name in enumerate(names)]
    frame = frame.loc[:, kept]
    names = list(frame.columns)
    if "" in names:
        raise TableError(
            f"{path} has no name for column {names.index('') + 1}. Write a name into the first "
            "row, and delete what is above the names, such as a title."
        )
    twice = list(dict.fromkeys(name for name in names if names.count(name) > 1))
    if twice:
        raise TableError(f"{path} has several columns of one name: {listed(twice)}. Rename them.")
    if not len(frame) or not names:
        raise TableError(f"{path} has no rows below its header.")
    return frame
