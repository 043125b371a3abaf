"""A file is read as it is meant, with notes on what was detected, or refused with what to do."""

import datetime
import gzip
import io
import sys
import zipfile
from functools import partial

import pandas as pd
import pytest

from krda.tables.errors import TableError
from krda.tables.read import read_table

PLAIN = "plan,size\n01,1.5\nNA,1E5\n"
CELLS = [["01", "1.5"], ["NA", "1E5"]]


@pytest.fixture
def read(tmp_path):
    """Write content to a file and read it as a table."""

    def read(content, name="table.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return read


def cells(table):
    return table.frame.to_numpy().tolist()


# Text


def test_cells_of_text_files_stay_their_text(read):
    frame, notes = read("plan,size,note\n01,1E5, x \nNA,1.50,\n")
    assert frame.columns.tolist() == ["plan", "size", "note"]
    assert frame.to_numpy().tolist() == [["01", "1E5", " x "], ["NA", "1.50", ""]]
    assert notes == []


def zipped(content, *names):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("table.CSV", bytes),
        ("table.txt", bytes),
        ("table.data", bytes),
        ("table", bytes),
        ("table.csv.gz", gzip.compress),
        ("table.zip", lambda content: zipped(content, "a/b.csv", "__MACOSX/a/._b.csv")),
    ],
)
def test_text_is_read_whatever_its_suffix_and_packing(read, name, pack):
    table = read(pack(PLAIN.encode()), name)
    assert cells(table) == CELLS
    assert table.notes == []


@pytest.mark.parametrize(
    ("separator", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")]
)
def test_separators_are_detected_and_noted(read, separator, word):
    table = read(PLAIN.replace(",", separator))
    assert cells(table) == CELLS
    (note,) = table.notes
    assert word in note


def test_the_separator_can_be_named(read):
    assert cells(read("a b\n1 2\n", separator=" ")) == [["1", "2"]]
    assert read("a;b\n1;2\n", separator=",").frame.columns.tolist() == ["a;b"]
    for separator in ("", ";;", '"', "\n"):
        with pytest.raises(TableError, match="one character"):
            read(PLAIN, separator=separator)


def test_quoted_separators_do_not_count(read):
    table = read('name;text\n"a, b, c";x\n"d, e, f";y\n')
    assert cells(table) == [["a, b, c", "x"], ["d, e, f", "y"]]


def test_two_possible_separators_have_to_be_decided_except_in_tsv_files(read):
    content = "a|b\tc\n1|2\t3\n"
    with pytest.raises(TableError, match=r"tabs or vertical bars .*separator"):
        read(content)
    assert read(content, "table.tsv").frame.columns.tolist() == ["a|b", "c"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_blank_lines_change_nothing(read, end):
    content = end.join(["", *PLAIN.splitlines(), "", "  ", ""])
    assert cells(read(content.encode("utf-8-sig"))) == CELLS


def test_the_index_says_in_which_line_of_the_file_a_row_begins(read):
    frame = read('a,b\n1,"two\nlines"\n\n2,x\n').frame
    assert frame.index.tolist() == [2, 5]
    assert frame.index.name == "line"


def test_a_blank_line_of_a_single_column_lacks_a_value(read):
    assert cells(read("x\n1\n\n3\n")) == [["1"], [""], ["3"]]


def test_a_separator_at_the_end_of_every_line_makes_no_column(read):
    assert cells(read(PLAIN.replace("\n", ",\n"))) == CELLS


def test_texts_with_quotes_and_line_ends_are_read_as_they_are_meant(read):
    table = read('a,b\n1,"two\nlines, and\nmore"\n2,"5 "" inch"\n')
    assert cells(table) == [["1", "two\nlines, and\nmore"], ["2", '5 " inch']]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "no rows"),
        ("a,b\n", "no rows"),
        ("a,b\n1,2\n3\n", "line 3: 1 values"),
        ("a,b\n1,2,\n3,4,\n", "line 2: 3 values"),
        ("a,b\n1,5,2\n", "decimal commas"),
        ("a,b,a\n1,2,3\n", "several columns of one name: a"),
        ("a,b, a\n1,2,3\n", "several columns of one name"),
        (",a\n0,1\n1,2\n", "no name for column 1, which begins with 0, 1"),
        ('a,b\n1,"5 inch\n2,x\n3,"5 inch\n', "line 2"),
        ('a,b\n1,"open\n', "line 2"),
        ('a,b\n1,"5" inch\n', "line 2.*Quotes"),
        (b"PAR1" + bytes(9), r"\.parquet"),
        (b"PK\3\4" + bytes(9), r"\.xlsx"),
        (gzip.compress(PLAIN.encode(), mtime=0), r"\.gz"),
        (b"a,b\n1,2\0\n", "bytes that are 0"),
        ('"a,b"\n"1,2"\n', "single column, called 'a,b'.*whole lines"),
        ('"a;b\n1;2\n"\n', "line 1.*Quotes"),
        ("\x1b[31m,\x1b[31m\n1,2\n", r"\\x1b\[31m"),  # names are escaped
    ],
)
def test_files_that_are_no_tables_are_refused(read, content, expected):
    with pytest.raises(TableError, match=expected):
        read(content)


@pytest.mark.parametrize("closing", ['"5 inch', '5 inch"', "5 inch"])
def test_rows_never_vanish_at_stray_quotes(read, closing):
    lines = ["a,b,note", *[f"{i},{i},text" for i in range(30)]]
    lines[10] = '1,2,"5 inch'
    lines[20] = f"1,2,{closing}"
    with pytest.raises(TableError, match="line 11"):
        read("\n".join(lines) + "\n")


# Encodings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_is_read_without_a_note(read, encoding):
    table = read("städte,x\nKöln,1\n".encode(encoding))
    assert table.frame.columns.tolist() == ["städte", "x"]
    assert cells(table) == [["Köln", "1"]]
    assert table.notes == []


def test_all_other_text_is_taken_for_cp1252_with_a_note(read):
    table = read("name;x\nEspaña;1\n10 €;2\n".encode("cp1252"))
    assert cells(table) == [["España", "1"], ["10 €", "2"]]
    assert "cp1252" in table.notes[0]


def test_an_encoding_that_is_named_is_used(read):
    assert cells(read("x,y\né,1\n".encode("cp850"), encoding="cp850")) == [["é", "1"]]
    with pytest.raises(TableError, match="utf-9"):
        read(PLAIN, encoding="utf-9")
    with pytest.raises(TableError, match=r"no ascii text.*encoding"):
        read("x,y\né,1\n", encoding="ascii")


# Decimal commas


def test_decimal_commas_become_points_in_columns_of_numbers_alone(read):
    table = read("a;b;c;d\n1,5;x,y;1.234,5;\n-2;1,5;12;0,25\nNA;3;-;1\n")
    assert table.frame["a"].tolist() == ["1.5", "-2", "NA"]
    assert table.frame["b"].tolist() == ["x,y", "1,5", "3"]
    assert table.frame["c"].tolist() == ["1234.5", "12", "-"]
    assert table.frame["d"].tolist() == ["", "0.25", "1"]
    assert "a, c, d" in table.notes[-1]


def test_commas_that_may_separate_thousands_have_to_be_decided(read):
    content = "a;b\n1,234;x\n5,678;y\n"
    with pytest.raises(TableError, match=r"1,234 in column 'a'.* decimal"):
        read(content)
    assert read(content, decimal=",").frame["a"].tolist() == ["1.234", "5.678"]
    assert read(content, decimal=".").frame["a"].tolist() == ["1,234", "5,678"]
    # Another column shows what commas are in this file.
    assert read(content.replace(";y", ";0,5").replace(";x", ";1")).frame["a"].iloc[0] == "1.234"


def test_decimal_commas_in_quotes_are_read_if_they_are_named(read):
    content = 'a,b\n"1,5",2\n'
    assert cells(read(content)) == [["1,5", "2"]]
    assert cells(read(content, decimal=",")) == [["1.5", "2"]]
    with pytest.raises(TableError, match="decimal"):
        read(content, decimal=";")


# Packed and typed files


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (PLAIN.encode(), "table.csv.gz", "no complete .gz"),
        (gzip.compress(PLAIN.encode(), mtime=0)[:-9], "table.csv.gz", "no complete .gz"),
        (PLAIN.encode(), "table.zip", "no complete .zip"),
        (zipped(PLAIN, "a.csv", "b.csv"), "table.zip", r"2 files \(a.csv, b.csv\).*Unpack"),
        (PLAIN.encode(), "table.parquet", r"\.csv"),
        (PLAIN.encode(), "table.feather", r"\.csv"),
        (PLAIN.encode(), "table.xlsx", r"\.csv"),
    ],
)
def test_damaged_files_are_refused(read, content, name, expected):
    with pytest.raises(TableError, match=expected):
        read(content, name)


FRAME = pd.DataFrame(
    {
        "number": [1.5, None, 3.0],
        "count": [1, 2, 3],
        "text": ["01", "NA", None],
        "date": pd.to_datetime(["2024-01-31", None, "2024-02-01"]),
        "flag": [True, False, True],
    }
)


def parquet(frame):
    pytest.importorskip("pyarrow")
    return frame.to_parquet()


@pytest.mark.parametrize(
    ("suffix", "write"),
    [("parquet", FRAME.to_parquet), ("feather", FRAME.to_feather),
     ("xlsx", partial(FRAME.to_excel, index=False))],
)  # fmt: skip
def test_typed_columns_keep_their_types(read, suffix, write):
    pytest.importorskip("openpyxl" if suffix == "xlsx" else "pyarrow")
    stream = io.BytesIO()
    write(stream)
    frame, notes = read(stream.getvalue(), f"table.{suffix}")
    assert frame.columns.tolist() == FRAME.columns.tolist()
    assert [frame[name].dtype.kind for name in ("number", "date", "flag")] == ["f", "M", "b"]
    assert pd.api.types.is_numeric_dtype(frame["count"])
    assert frame["text"].tolist()[:2] == ["01", "NA"]
    assert frame["text"].isna().tolist() == [False, False, True]
    assert notes == []


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (pd.Index(["a", "b", "c"], name="id"), ["id"]),
        (pd.Index(["a", "b", "c"]), ["index"]),
        (pd.MultiIndex.from_product([["a"], [1, 2, 3]], names=["x", "y"]), ["x", "y"]),
    ],
)
def test_an_index_that_is_no_range_becomes_columns(read, index, names):
    frame, _ = read(parquet(FRAME.set_index(index)), "table.parquet")
    assert frame.columns.tolist() == [*names, *FRAME.columns]


def test_a_parquet_file_without_rows_is_refused(read):
    with pytest.raises(TableError, match="no rows"):
        read(parquet(FRAME.iloc[:0]), "table.parquet")


def workbook(**sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_the_first_sheet_is_read_with_a_note_of_others(read):
    table = read(workbook(first=[["a"], [1]], second=[["b"], [2]]), "table.xlsx")
    assert table.frame["a"].tolist() == [1]
    assert "first" in table.notes[0]


def test_empty_rows_and_columns_of_a_sheet_are_left_out(read):
    content = workbook(first=[["a", "", "b"], [1, None, "x"], [None, None, None], [2, None, "y"]])
    table = read(content, "table.xlsx")
    assert cells(table) == [[1, "x"], [2, "y"]]
    assert "1 empty rows" in table.notes[0]
    assert table.frame.index.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["Title", None], ["a", "b"], [1, 2]], "no name for column 2.*title"),
        ([["a", "a"], [1, 2]], "several columns of one name: a"),
        ([["a", "b"]], "no rows"),
        ([], "no rows"),
    ],
)
def test_sheets_that_are_no_tables_are_refused(read, rows, expected):
    with pytest.raises(TableError, match=expected):
        read(workbook(first=rows), "table.xlsx")


def test_a_column_of_several_types_keeps_each_cell(read):
    day = datetime.datetime(2024, 1, 31)
    frame = read(workbook(first=[["a"], [1], ["x"], [True], [day]]), "table.xlsx").frame
    assert frame["a"].tolist() == [1, "x", True, day]


def test_a_missing_library_is_named(read, monkeypatch):
    content = workbook(first=[["a"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(TableError, match="pip install openpyxl"):
        read(content, "table.xlsx")


def test_a_file_that_is_absent_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "absent.csv")
