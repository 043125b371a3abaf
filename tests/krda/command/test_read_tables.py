"""Two CSV files are read as they are meant, or refused with what to do."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from csv_files import change, column, set_column

from krda.command.run import write_predictions
from krda.command.tables import TableError, read_tables

SOURCE, TARGET = Path("source.csv"), Path("target.csv")
pytestmark = pytest.mark.usefixtures("files")


def read(**options):
    return read_tables(SOURCE, TARGET, "moon", **options)


def assert_same(tables, others):
    for X, other in ((tables.Xs, others.Xs), (tables.Xt, others.Xt)):
        pd.testing.assert_frame_equal(X, other)
    np.testing.assert_array_equal(tables.ys, others.ys)


@pytest.mark.parametrize(
    ("name", "function", "expected"),
    [
        ("target.csv", lambda t: t.drop(columns="y"), "but only one of them has y"),
        ("target.csv", lambda t: t.assign(z=1.0), "but only one of them has z"),
        ("source.csv", lambda t: t.drop(columns="moon"), "source.csv has no column 'moon'"),
        ("target.csv", lambda t: t.assign(x="a"), r"no finite numbers in x \('a' in 80"),
        ("target.csv", lambda t: t.assign(x=t.x.where(t.x > 0)), "no finite numbers in x"),
        ("source.csv", lambda t: t.assign(y=np.inf), r"no finite numbers in y \('inf'"),
        ("source.csv", lambda t: t.assign(moon=t.x), "numbers with fractions for labels"),
        ("source.csv", lambda t: t.assign(moon=(["a", "NA", ""] * 27)[:80]),
         r"'' for a label in 26 rows \(first: row 2, from 0"),
        ("source.csv", lambda t: t.assign(moon=(["1", "2", "NA"] * 27)[:80]),
         r"'NA' for a label in 26 rows"),
        ("target.csv", lambda t: t.reset_index(names=""), "only one of them has Unnamed: 0"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_are_refused(name, function, expected):
    change(name, function)
    with pytest.raises(TableError, match=expected):
        read()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "cannot be read as CSV"),
        ("x,y\n", "no rows"),
        ("x,y,x\n1,2,3\n", "several columns of one name: x"),
        ("x,y\n1,2,3\n4,5,6\n", "cannot be read as CSV"),
        ("x,y\n1,2\n3\n4,5\n", "line 3: 1 values"),
        ("x\ty\n1\t2\n", "--separator"),
        ("x;y\n1,5;2,5\n", "decimal comma"),
        ("x,y\n1,5,2,5\n", "decimal comma"),
        ('x,y\n"1,5","2,5"\n3,4\n', "decimal comma"),
        ("x,y\n1,2\n1_0,3\n", r"no finite numbers in x \('1_0'"),
        ("x,y\n1,2\n1e400,3\n", r"no finite numbers in x \('1e400'"),
        ("x\n1\n\n3\n", r"no finite numbers in x \('' in 1 of 3 rows\)"),
        ("x,y\n1,2\n3,4\0\n", "bytes that are 0"),
        ("x,y\n1,2\n3,4\n".encode("utf-16-le"), "utf-16-le"),
        ("x,y,é\n1,2,3\n3,4,5\n".encode("latin-1"), "--encoding cp1252"),
        (b"PAR1" + bytes(9), "Parquet file as CSV"),
        (b"\x1f\x8b\x08" + bytes(9), "Unpack an archive"),
    ],
)
def test_files_that_are_no_tables_are_refused(text, expected):
    TARGET.write_bytes(text if isinstance(text, bytes) else text.encode())
    if text == "x\n1\n\n3\n":
        change("source.csv", lambda t: t.drop(columns="y"))
    with pytest.raises(TableError, match=expected):
        read()


def test_wrong_names_of_columns_to_drop_are_refused():
    with pytest.raises(TableError, match="neither file has: z"):
        read(drop=["z"])


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_line_ends_and_blank_lines_change_nothing(separator):
    first = read()
    plain = {path: path.read_text().replace(",", separator) for path in (SOURCE, TARGET)}
    for end in ("\n", "\r\n", "\r"):
        for path, text in plain.items():
            lines = [*text.splitlines(), "", "  ", ""]
            path.write_bytes(end.join(lines).encode("utf-8-sig"))
        assert_same(read(separator=separator), first)


def test_columns_are_dropped_from_either_table():
    first = read()
    change("target.csv", lambda t: t.assign(id=range(80)))
    change("source.csv", lambda t: t.assign(day="monday"))
    assert_same(read(drop=["id", "day"]), first)


def test_columns_that_number_the_rows_are_noted():
    for name in ("source.csv", "target.csv"):
        change(name, lambda t: t.assign(number=np.arange(len(t))))
    (note,) = read().notes
    assert "another whole number in every row of number" in note


# Rows


def with_trailing(text, where):
    header, *lines = text.splitlines()
    marks = {"first": (",", ""), "data": (",", ","), "all": (",", ",")}[where]
    lines = [line + marks[0 if i == 0 else 1] for i, line in enumerate(lines)]
    return "\n".join([header + ("," if where == "all" else ""), *lines, ""])


@pytest.mark.parametrize("where", ["first", "data"])
def test_a_separator_at_the_end_of_lines_never_shifts_labels(where):
    # As a reader that takes the first column for an index would.
    rows = "".join(f"{'pos' if i % 2 else 'neg'},{i % 3},{i / 7},{i / 9}\n" for i in range(60))
    SOURCE.write_text(with_trailing("moon,visits,a,b\n" + rows, where))
    TARGET.write_text("visits,a,b\n1,2,3\n4,5,6\n")
    with pytest.raises(TableError, match="line 2: 5 values"):
        read()


def test_a_separator_at_the_end_of_every_line_is_a_column_without_values():
    first = read()
    for path in (SOURCE, TARGET):
        path.write_text(with_trailing(path.read_text(), "all"))
    assert_same(read(), first)


@pytest.mark.parametrize(
    ("opening", "closing"), [('"5 inch', '"5 inch'), ('"5 inch', '5 inch"'), ('"5 inch', "5 inch")]
)
def test_rows_never_vanish_at_stray_quotes(opening, closing):
    lines = TARGET.read_text().splitlines()
    lines = [line + ("," + ("note" if i == 0 else "text")) for i, line in enumerate(lines)]
    lines[10] = lines[10].removesuffix("text") + opening
    lines[20] = lines[20].removesuffix("text") + closing
    lines[15] += "\n"
    TARGET.write_text("\n".join(lines) + "\n")
    with pytest.raises(TableError, match="line 11"):
        read(drop=["note"])


def test_texts_with_quotes_and_line_ends_are_read_as_they_are_meant():
    first = read()
    set_column("target.csv", "note", ['5 " inch', "two\nlines, and\nmore", "a, b", '"'] * 20)
    assert_same(read(drop=["note"]), first)


def test_an_encoding_that_is_named_is_read():
    set_column("source.csv", "moon", ["café", "thé"] * 40)
    for path in (SOURCE, TARGET):
        path.write_bytes(path.read_text(encoding="utf-8").encode("utf-16"))
    assert set(read(encoding="utf-16").ys) == {"café", "thé"}
    with pytest.raises(TableError, match="unknown encoding: utf-9"):
        read(encoding="utf-9")


def test_numbers_are_read_to_the_last_digit_and_truth_values_as_numbers():
    values = [0.1 + i * 1e-17 + i / 3e5 for i in range(80)]
    set_column("target.csv", "y", list(map(repr, values)))
    for name in ("source.csv", "target.csv"):
        change(name, lambda t: t.assign(flag=t.x > 0))
    tables = read(drop=["x"])
    assert tables.Xt["y"].tolist() == values
    assert set(tables.Xt["flag"]) == {0.0, 1.0}


# Labels and identifiers


@pytest.mark.parametrize(
    "labels",
    [
        ("01", "1", "1E5", "NA", "1.0"),
        ("1E5", "2E5"),
        ("10", "9", "-3"),
        ("+1", "-1"),
        ("12345678901234567890", "12345678901234567891"),
        ("1", "b", "None", "null", "nan", "N/A", "<NA>"),
        ("inf", "1"),
        ("true", "TRUE"),
        (" a", "a", "b, c"),
        ('say "a"', "b\nc"),
        ("+", "-"),
    ],
)
def test_labels_come_out_as_they_went_in(labels):
    values = [labels[k % len(labels)] for k in range(80)]
    set_column("source.csv", "moon", values)
    tables = read()
    write_predictions(Path("out.csv"), {"prediction": tables.ys})
    assert column("out.csv", "prediction") == values
    assert len(np.unique(tables.ys)) == len(labels)


def test_identifiers_come_out_as_they_went_in_and_are_no_feature():
    first = read()
    values = ["00001", "NA", "2E10", "2.10", "", " x ", "1e400", "+44", "n", "ä,b"] * 8
    set_column("target.csv", "customer", values)
    tables = read(identifier="customer")
    assert_same(tables, first)
    write_predictions(Path("out.csv"), {"customer": tables.identifiers})
    assert column("out.csv", "customer") == values


@pytest.mark.parametrize("name", ["absent", "prediction", "row", "probability_lower"])
def test_an_identifier_that_is_absent_or_has_the_name_of_a_written_column_is_refused(name):
    if name != "absent":
        set_column("target.csv", name, ["a"] * 80)
    with pytest.raises(TableError, match=f"--id names '{name}'"):
        read(identifier=name)


@pytest.mark.parametrize(
    "cell",
    ['=HYPERLINK("http://a.b","c")', "+cmd|'/C calc'!A0", "-1+1", "@SUM(A1)", "\t=1+1", " =1"],
)
def test_formulas_are_refused_as_labels_and_identifiers(cell):
    set_column("target.csv", "customer", ["a", cell] * 40)
    with pytest.raises(TableError, match="would run as formulas"):
        read(identifier="customer")
    set_column("source.csv", "moon", ["a", cell] * 40)
    with pytest.raises(TableError, match=r"source\.csv has labels that a spreadsheet would run"):
        read(drop=["customer"])
