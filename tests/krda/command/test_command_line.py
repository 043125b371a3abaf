"""`python -m krda`: two files in, predictions and an assessment out; errors come first."""

import csv
import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons

from krda import KRDA
from krda.__main__ import CLASSIFIERS, main
from krda.command.options import make_classifier
from krda.command.predictions import write_predictions
from krda.command.tables import TableError, read_tables

QUICK = ["--max-steps", "20", "--hidden-size", "8", "--refits", "1"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder to work in, with source.csv and target.csv."""
    monkeypatch.chdir(tmp_path)
    for name, seed in (("source", 1), ("target", 2)):
        X, y = make_moons(80, noise=0.05, random_state=seed)
        table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1] + seed})
        if name == "source":
            table["moon"] = np.where(y == 0, "upper", "lower")
        table.to_csv(f"{name}.csv", index=False)
    return tmp_path


def change(name, function):
    function(pd.read_csv(name)).to_csv(name, index=False)


def set_column(name, key, values):
    """Write a column of text, as a program would that quotes whatever is not plain."""
    with Path(name).open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    header = [*header, key] if key not in header else header
    rows = [[*row[: header.index(key)], value] for row, value in zip(rows, values, strict=True)]
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([header, *rows])


def column(name, key):
    with Path(name).open(newline="", encoding="utf-8") as stream:
        return [row[key] for row in csv.DictReader(stream)]


def run(*arguments):
    return main(["source.csv", "target.csv", "--label", "moon", *QUICK, *arguments])


def refused(capsys, monkeypatch, *arguments):
    """Run, demand an error before anything is fitted and no output; give the message."""

    def fit(*_):
        raise AssertionError("fitted although the tables are wrong")

    monkeypatch.setattr(KRDA, "fit", fit)
    assert run(*arguments) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    return printed.err


def test_predictions_are_those_of_the_library(files, capsys):
    assert run("--no-assess", "--seed", "3") == 0
    source, Xt = pd.read_csv("source.csv"), pd.read_csv("target.csv")
    model = KRDA(
        hidden_size=8, max_steps=20, classifier=make_classifier("svm", 3), random_state=3
    ).fit(source[["x", "y"]], source["moon"].to_numpy(), Xt)
    written = pd.read_csv("predictions.csv")
    assert list(written.columns) == ["row", "prediction"]
    np.testing.assert_array_equal(written["row"], np.arange(80))
    np.testing.assert_array_equal(written["prediction"], model.predict(Xt))
    assert "predictions: predictions.csv (lower " in capsys.readouterr().out


def test_the_assessment_is_printed_unless_it_is_not_wanted(files, capsys):
    assert run() == 0
    assert "arbitrary choices" in capsys.readouterr().out
    assert run("--no-assess", "--force") == 0
    assert "arbitrary choices" not in capsys.readouterr().out


def test_it_is_the_same_again(files, capsys):
    found = []
    for _ in range(2):
        run("--force", "--classifier", "forest")
        found.append(((files / "predictions.csv").read_bytes(), capsys.readouterr().out))
    assert found[0] == found[1]


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_probabilities_are_written_where_the_classifier_has_them(files, classifier):
    assert run("--no-assess", "--classifier", classifier) == 0
    written = pd.read_csv("predictions.csv")
    probabilities = [c for c in written.columns if c.startswith("probability_")]
    if classifier == "svm":
        assert probabilities == []
        return
    assert probabilities == ["probability_lower", "probability_upper"]
    np.testing.assert_allclose(written[probabilities].sum(axis=1), 1)
    largest = written[probabilities].to_numpy().argmax(axis=1)
    differ = written[probabilities[0]] != written[probabilities[1]]
    named = np.array(["lower", "upper"])[largest]
    np.testing.assert_array_equal(named[differ], written["prediction"][differ])


def test_labels_in_the_target_change_nothing_whatever_they_are(files, capsys):
    run()
    without = (files / "predictions.csv").read_bytes(), capsys.readouterr().out
    rng = np.random.default_rng(0)
    for labels in (rng.choice(["upper", "lower"], 80), [None] * 80, ["new"] * 80):
        change("target.csv", lambda t, y=labels: t.assign(moon=y))
        run("--force")
        printed = capsys.readouterr().out
        note, _, rest = printed.partition("\n")
        assert note == "note: target.csv has the label column 'moon', too: left out, never used."
        assert ((files / "predictions.csv").read_bytes(), rest) == without


def test_columns_in_another_order_are_sorted_and_noted(files, capsys):
    run("--no-assess")
    first = (files / "predictions.csv").read_bytes()
    capsys.readouterr()
    change("target.csv", lambda t: t[["y", "x"]])
    run("--no-assess", "--force")
    assert (files / "predictions.csv").read_bytes() == first
    assert "note: target.csv has its columns in another order" in capsys.readouterr().out


def test_another_separator_and_a_byte_order_mark_are_read(files):
    run("--no-assess")
    first = (files / "predictions.csv").read_bytes()
    for separator, written in ((";", ";"), ("\t", "\\t")):
        for name in ("source.csv", "target.csv"):
            table = pd.read_csv(name, sep=None, engine="python")
            table.to_csv(name, index=False, sep=separator, encoding="utf-8-sig")
        assert run("--no-assess", "--force", "--separator", written) == 0
        assert (files / "predictions.csv").read_bytes() == first


def test_an_output_is_not_overwritten_without_force(files, capsys, monkeypatch):
    (files / "predictions.csv").write_text("mine")
    message = refused(capsys, monkeypatch)
    assert "predictions.csv exists" in message
    assert "--force" in message
    assert (files / "predictions.csv").read_text() == "mine"


def test_a_read_only_output_is_not_overwritten_by_force(files, capsys, monkeypatch):
    (files / "predictions.csv").write_text("mine")
    (files / "predictions.csv").chmod(0o444)
    assert "read-only" in refused(capsys, monkeypatch, "--force")
    assert (files / "predictions.csv").read_text() == "mine"


def test_an_output_that_appears_meanwhile_is_not_overwritten(files):
    (files / "other.csv").write_text("mine")
    with pytest.raises(TableError, match="cannot be written"):
        write_predictions(files / "other.csv", {"prediction": [1]}, force=False)
    assert (files / "other.csv").read_text() == "mine"


def test_an_output_that_cannot_be_is_refused_first(files, capsys, monkeypatch):
    assert "folder of --output does not exist" in refused(
        capsys, monkeypatch, "--output", "no/such.csv"
    )
    for name in ("source.csv", "./target.csv"):
        assert "names an input" in refused(capsys, monkeypatch, "--output", name, "--force")


@pytest.mark.parametrize(
    ("name", "function", "expected"),
    [
        ("target.csv", lambda t: t.drop(columns="y"), "target.csv lacks columns that source.csv"),
        ("target.csv", lambda t: t.assign(z=1.0), "source.csv lacks columns that target.csv"),
        ("source.csv", lambda t: t.drop(columns="moon"), "source.csv has no column 'moon'"),
        ("target.csv", lambda t: t.assign(x="a"), "text in x ('a' in 80"),
        ("target.csv", lambda t: t.assign(x=t.x.where(t.x > 0)), "missing or infinite values in x"),
        ("source.csv", lambda t: t.assign(y=np.inf), "infinite values in y ('inf'"),
        ("source.csv", lambda t: t.assign(moon=t.moon.where(t.x > 0)), "'' for a label in"),
        ("source.csv", lambda t: t.iloc[:0], "source.csv has no rows"),
        ("target.csv", lambda t: t.reset_index(names=""), "without a name"),
    ],
)
def test_tables_that_do_not_fit_are_refused_before_any_fit(
    files, capsys, monkeypatch, name, function, expected
):
    if name == "target.csv" and expected.endswith("without a name"):
        change("source.csv", function)
    change(name, function)
    assert expected in refused(capsys, monkeypatch)
    assert not (files / "predictions.csv").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "target.csv does not exist"),
        ("", "cannot be read as CSV"),
        ("x,y,x\n1,2,3\n", "several columns of one name: x"),
        ("x,y\n1,2,3\n4,5,6\n", "cannot be read as CSV"),
        ("x,y\n1,2\n3,4,5\n", "cannot be read as CSV"),
        ("x;y\n1;2\n", "--separator"),
        ("x\ty\n1\t2\n", "--separator '\\t'"),
        ("x;y\n1,5;2,5\n", "decimal comma"),
        ("x,y\n1,5,2,5\n", "decimal comma"),
        ('x,y\n"1,5","2,5"\n3,4\n', "decimal comma"),
        ("x,y\n1,2\n", "target.csv has 1 row"),
        ("x,y\n", "target.csv has no rows"),
        ("x,y\n1,2\n3\n4,5\n", "line 3 has 1 values"),
        ("x,y\n1,2\n1_0,3\n", "text in x ('1_0'"),
        ("x,y\n1,2\n1e400,3\n", "infinite values in x ('1e400'"),
        ("x\n1\n\n3\n", "infinite values in x ('' in 1 of 3 rows)"),
        ("x,y\n1,2\n3,4\0\n", "bytes that are 0. Save it as UTF-8"),
        ("x,y\n1,2\n3,4\n".encode("utf-16"), "--encoding utf-16"),
        ("x,y\n1,2\n3,4\n".encode("utf-16-le"), "utf-16-le"),
        ("x,y,é\n1,2,3\n3,4,5\n".encode("latin-1"), "--encoding cp1252"),
        (b"PAR1" + bytes(9), "expected CSV"),
        (b"PK\3\4" + bytes(9), "expected CSV"),
        (gzip.compress(b"x,y\n1,2\n3,4\n", mtime=0)[:-12], "cannot be read"),
    ],
)
def test_files_that_are_no_tables_are_refused(files, capsys, monkeypatch, text, expected):
    (files / "target.csv").unlink()
    if text is not None:
        (files / "target.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    if text == "x\n1\n\n3\n":
        change("source.csv", lambda t: t.drop(columns="y"))
    assert expected in refused(capsys, monkeypatch)


def test_wrong_names_of_columns_to_drop_are_refused(files, capsys, monkeypatch):
    assert "neither file has: z" in refused(capsys, monkeypatch, "--drop", "z")
    assert "no column but the label" in refused(capsys, monkeypatch, "--drop", "x", "y")


def test_what_the_fit_refuses_is_an_error_without_a_traceback(files, capsys, monkeypatch):
    def fit(*_):
        raise ValueError("Xt cannot be fitted")

    monkeypatch.setattr(KRDA, "fit", fit)
    assert run() == 1
    message = capsys.readouterr().err
    assert "error: Xt cannot be fitted (Xs is source.csv" in message
    assert "Xt is target.csv" in message
    assert not (files / "predictions.csv").exists()


def test_warnings_of_the_fit_are_printed(files, capsys):
    for name in ("source.csv", "target.csv"):
        change(name, lambda t: t.assign(constant=1.0))
    assert run("--no-assess") == 0
    assert "warning: Columns ['constant'] are constant" in capsys.readouterr().out


def test_a_wrong_command_line_gives_the_usage(files, capsys):
    for wrong in (["--separator", ";;"], ["--refits", "-1"], ["--classifier", "none"]):
        with pytest.raises(SystemExit) as caught:
            run(*wrong)
        assert caught.value.code == 2
        assert "usage: python -m krda" in capsys.readouterr().err


def started(files, first, *arguments):
    """Run the command in a process of its own, after other code; give status and errors."""
    code = f"import sys\n{first}\nfrom krda.__main__ import main\nsys.exit(main(sys.argv[1:]))"
    arguments = ["source.csv", "target.csv", "--label", "moon", *arguments]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=files,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )
    return done.returncode, done.stderr


def test_without_pandas_the_extra_is_named(files):
    status, errors = started(files, "sys.modules['pandas'] = None")
    assert status == 1
    assert 'pip install "krda[cli]"' in errors


def test_an_interrupt_while_libraries_load_is_one_line(files):
    interrupt = """
class Interrupted:
    def find_spec(self, name, *_):
        if name == 'torch':
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
"""
    assert started(files, interrupt) == (130, "error: interrupted\n")


def test_no_numerical_library_is_loaded_before_the_arguments_are_read(files):
    blocked = "sys.modules.update(dict.fromkeys(['numpy', 'pandas', 'sklearn', 'torch']))"
    for arguments, expected in ((["--help"], 0), (["--seed", "x"], 2)):
        status, errors = started(files, blocked, *arguments)
        assert status == expected
        assert "Traceback" not in errors


def test_numbers_and_truth_values_are_read_as_they_are(files):
    change("source.csv", lambda t: t.assign(moon=(t.moon == "upper").astype(int), flag=t.x > 0))
    change("target.csv", lambda t: t.assign(flag=t.x > 0))
    tables = read_tables(files / "source.csv", files / "target.csv", "moon")
    assert set(tables.ys) == {0, 1}
    assert list(tables.Xs.columns) == list(tables.Xt.columns) == ["x", "y", "flag"]


@pytest.mark.parametrize("name", ["NA", "None", "null", "nan", "N/A", "NaN", "<NA>", "n/a"])
def test_a_class_may_be_named_as_files_elsewhere_mark_what_is_missing(files, name):
    change("source.csv", lambda t: t.assign(moon=t.moon.replace("upper", name)))
    assert run("--no-assess", "--classifier", "logistic") == 0
    text = pd.read_csv("predictions.csv", keep_default_na=False)
    assert set(text["prediction"]) == {"lower", name}
    assert {"probability_lower", f"probability_{name}"} < set(text.columns)


@pytest.mark.parametrize(
    "labels",
    [
        ("01", "1", "1E5", "NA", "1.0"),
        ("01", "1", "02"),
        ("1E5", "2E5"),
        ("1", "1.0"),
        ("10", "9", "-3"),
        ("+1", "-1"),
        ("12345678901234567890", "12345678901234567891"),
        ("1", "b"),
        ("inf", "1"),
        ("true", "TRUE"),
        (" a", "a", "b, c"),
        ('say "a"', "b\nc", "b\rc"),
        ("+", "-"),
    ],
)
def test_labels_come_out_as_they_went_in(files, labels):
    values = [labels[k % len(labels)] for k in range(80)]
    set_column("source.csv", "moon", values)
    tables = read_tables(files / "source.csv", files / "target.csv", "moon")
    write_predictions(files / "out.csv", {"prediction": tables.ys}, force=False)
    assert column("out.csv", "prediction") == values
    assert len(np.unique(tables.ys)) == len(labels)
    notes = " ".join(tables.notes)
    assert ("classes of their own" in notes) == (
        labels[0] in ("01", "1", " a") and "b" not in labels
    )


def test_identifiers_come_out_as_they_went_in(files):
    values = ["00001", "NA", "2E10", "2.10", "", " x ", "1e400", "+44", "n\r", "ä,b"] * 8
    set_column("target.csv", "customer", values)
    assert run("--no-assess", "--id", "customer") == 0
    assert column("predictions.csv", "customer") == values


def test_only_an_empty_label_is_a_missing_one(files, capsys, monkeypatch):
    for values in (["upper", "NA", ""], ["1", "2", ""]):
        change("source.csv", lambda t, v=values: t.assign(moon=(v * 27)[:80]))
        message = refused(capsys, monkeypatch)
        assert "'' for a label in 26 rows (first: row 2, from 0)" in message


def test_a_mark_for_missing_values_among_numbers_is_no_class(files, capsys, monkeypatch):
    change("source.csv", lambda t: t.assign(moon=(["1", "2", "NA"] * 27)[:80]))
    message = refused(capsys, monkeypatch)
    assert "'NA' for a label in 26 rows (first: row 2, from 0)" in message


def test_an_output_that_is_a_folder_is_refused_before_the_fit(files, capsys, monkeypatch):
    (files / "folder").mkdir()
    for name in (".", "folder"):
        for options in ([], ["--force"]):
            message = refused(capsys, monkeypatch, "--output", name, *options)
            assert f"--output names a folder: {name}" in message


def test_an_identifier_is_no_feature_and_is_written_beside_the_predictions(files, capsys):
    assert run("--no-assess", "--output", "plain.csv") == 0
    change("target.csv", lambda t: t.assign(customer=[f"c{i}" for i in range(len(t))]))
    assert run("--no-assess", "--id", "customer") == 0
    written = pd.read_csv("predictions.csv")
    assert list(written.columns) == ["row", "customer", "prediction"]
    assert list(written["customer"]) == [f"c{i}" for i in range(80)]
    np.testing.assert_array_equal(written["prediction"], pd.read_csv("plain.csv")["prediction"])


def test_columns_that_number_the_rows_are_noted(files, capsys):
    for name in ("source.csv", "target.csv"):
        change(name, lambda t: t.assign(number=np.arange(len(t))))
    assert run("--no-assess") == 0
    assert "another whole number in every row of number" in capsys.readouterr().out


def test_what_simple_methods_and_refits_say_of_each_row_is_written_after_the_assessment(files):
    assert run("--classifier", "logistic", "--refits", "2") == 0
    written = pd.read_csv("predictions.csv")
    assert list(written.columns[-3:]) == ["refits_agree", "source_only", "standardised"]
    assert set(written["source_only"]) <= {"upper", "lower"}
    # Two other seeds, and the one other order of two columns.
    assert set((3 * written["refits_agree"]).round(2)) <= {0.0, 1.0, 2.0, 3.0}


def test_columns_can_be_dropped_from_either_table_together_or_one_at_a_time(files):
    run("--no-assess")
    first = (files / "predictions.csv").read_bytes()
    change("target.csv", lambda t: t.assign(id=range(80)))
    change("source.csv", lambda t: t.assign(day="monday"))
    for drop in (["--drop", "id", "day"], ["--drop", "id", "--drop", "day"]):
        assert run("--no-assess", "--force", *drop) == 0
        assert (files / "predictions.csv").read_bytes() == first


# Rows


def with_trailing(text, where):
    header, *lines = text.splitlines()
    marks = {"first": (",", ""), "data": (",", ","), "all": (",", ",")}[where]
    lines = [line + marks[0 if i == 0 else 1] for i, line in enumerate(lines)]
    return "\n".join([header + ("," if where == "all" else ""), *lines, ""])


@pytest.mark.parametrize("where", ["first", "data"])
def test_a_separator_at_the_end_of_lines_never_shifts_labels(files, capsys, monkeypatch, where):
    # As a reader that takes the first column for an index would.
    rows = "".join(f"{'pos' if i % 2 else 'neg'},{i % 3},{i / 7},{i / 9}\n" for i in range(60))
    text = with_trailing("moon,visits,a,b\n" + rows, where)
    (files / "source.csv").write_text(text)
    (files / "target.csv").write_text("visits,a,b\n1,2,3\n4,5,6\n")
    assert "line 2 has 5 values" in refused(capsys, monkeypatch)


def test_a_separator_at_the_end_of_every_line_is_a_column_without_values(files):
    run("--no-assess")
    first = (files / "predictions.csv").read_bytes()
    for name in ("source.csv", "target.csv"):
        (files / name).write_text(with_trailing((files / name).read_text(), "all"))
    assert run("--no-assess", "--force") == 0
    assert (files / "predictions.csv").read_bytes() == first


@pytest.mark.parametrize(
    ("opening", "closing"), [('"5 inch', '"5 inch'), ('"5 inch', '5 inch"'), ('"5 inch', "5 inch")]
)
def test_rows_never_vanish_at_stray_quotes(files, capsys, monkeypatch, opening, closing):
    lines = (files / "target.csv").read_text().splitlines()
    lines = [line + ("," + ("note" if i == 0 else "text")) for i, line in enumerate(lines)]
    lines[10] = lines[10].removesuffix("text") + opening
    lines[20] = lines[20].removesuffix("text") + closing
    lines[15] += "\n"
    (files / "target.csv").write_text("\n".join(lines) + "\n")
    assert "line 11" in refused(capsys, monkeypatch, "--drop", "note")


def test_texts_with_quotes_and_line_ends_are_read_as_they_are_meant(files):
    run("--no-assess")
    first = (files / "predictions.csv").read_bytes()
    set_column("target.csv", "note", ['5 " inch', "two\nlines, and\nmore", "a, b", '"'] * 20)
    assert run("--no-assess", "--force", "--drop", "note") == 0
    assert (files / "predictions.csv").read_bytes() == first


def test_blank_lines_line_ends_and_packing_change_nothing(files):
    run("--no-assess")
    first = (files / "predictions.csv").read_bytes()
    plain = (files / "target.csv").read_text()
    for text in (plain.replace("\n", "\r\n"), plain.replace("\n", "\r"), plain + "\n  \n\n"):
        for packed in (text.encode(), gzip.compress(text.encode())):
            (files / "target.csv").write_bytes(packed)
            assert run("--no-assess", "--force") == 0
            assert (files / "predictions.csv").read_bytes() == first


def test_an_encoding_that_is_named_is_read(files):
    set_column("source.csv", "moon", ["café", "thé"] * 40)
    for name in ("source.csv", "target.csv"):
        text = (files / name).read_text(encoding="utf-8")
        (files / name).write_bytes(text.encode("utf-16"))
    assert run("--no-assess", "--encoding", "utf-16") == 0
    assert set(column("predictions.csv", "prediction")) <= {"café", "thé"}


def test_numbers_are_read_to_the_last_digit(files):
    values = [0.1 + i * 1e-17 + i / 3e5 for i in range(80)]
    set_column("target.csv", "y", list(map(repr, values)))
    tables = read_tables(files / "source.csv", files / "target.csv", "moon")
    assert tables.Xt["y"].tolist() == values


# Names and labels that do harm


@pytest.mark.parametrize("name", ["absent", "prediction", "row", "probability_lower"])
def test_an_identifier_that_is_absent_or_has_the_name_of_a_written_column_is_refused(
    files, capsys, monkeypatch, name
):
    if name != "absent":
        set_column("target.csv", name, ["a"] * 80)
    assert f"--id names '{name}'" in refused(capsys, monkeypatch, "--id", name)


@pytest.mark.parametrize(
    "cell",
    ['=HYPERLINK("http://a.b","c")', "+cmd|'/C calc'!A0", "-1+1", "@SUM(A1)", "\t=1+1", " =1"],
)
def test_formulas_are_refused_as_labels_and_identifiers(files, capsys, monkeypatch, cell):
    plain = (files / "source.csv").read_bytes()
    set_column("source.csv", "moon", ["a", cell] * 40)
    assert "source.csv has labels that a spreadsheet would run" in refused(capsys, monkeypatch)
    (files / "source.csv").write_bytes(plain)
    set_column("target.csv", "customer", ["a", cell] * 40)
    assert "would run as formulas" in refused(capsys, monkeypatch, "--id", "customer")


def test_escape_sequences_are_shown_and_not_obeyed(files, capsys):
    set_column("source.csv", "moon", ["\x1b[31mred", "b\x07\u202e"] * 40)
    for name in ("source.csv", "target.csv"):
        change(name, lambda t: t.rename(columns={"x": "x\x1b[2J\nerror: x"}))
    assert run("--classifier", "logistic") == 0
    change("target.csv", lambda t: t.drop(columns="y"))
    assert run("--force") == 1
    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "\\x1b[31mred" in printed.out
    assert "\nerror: x" not in printed.out


# What is written is kept


def test_predictions_survive_a_second_write_that_fails(files):
    resource = pytest.importorskip("resource")
    path, columns = files / "out.csv", {"prediction": np.arange(1000)}
    write_predictions(path, columns, force=False)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, limits[1]))
    try:
        with pytest.raises(TableError, match="cannot be written"):
            write_predictions(path, columns | {"a": np.arange(1000)}, force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert not list(files.glob(".*"))


def test_a_write_that_is_interrupted_leaves_no_file(files, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    for step in ("os.fsync", "pathlib.Path.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(step, interrupt)
            with pytest.raises(KeyboardInterrupt):
                write_predictions(files / "out.csv", {"prediction": [1]}, force=False)
    assert {path.name for path in files.iterdir()} == {"source.csv", "target.csv"}


def test_a_link_and_its_modes_are_kept(files):
    path, link = files / "real.csv", files / "link.csv"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_predictions(link, {"prediction": [1]}, force=True)
    assert link.is_symlink()
    assert path.read_text() == "row,prediction\n0,1\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_an_output_that_is_a_device_is_refused(files, capsys, monkeypatch):
    assert "device" in refused(capsys, monkeypatch, "--output", os.devnull, "--force")


def test_predictions_are_kept_when_the_check_fails(files, capsys, monkeypatch):
    def fail(*_, **__):
        raise FloatingPointError("no step")

    monkeypatch.setattr("krda.trust.check.assess", fail)
    assert run() == 1
    printed = capsys.readouterr()
    assert "predictions.csv holds the predictions" in printed.out
    assert "error: no step" in printed.err
    assert len(column("predictions.csv", "prediction")) == 80


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_console_that_cannot_encode_a_label_costs_nothing(files, monkeypatch, encoding):
    set_column("source.csv", "moon", ["лес", "поле"] * 40)
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding))
    assert run() == 0
    assert "\\u043b" in raw.getvalue().decode(encoding)
    assert "standardised" in pd.read_csv("predictions.csv")


def device_that_is_full():
    path = Path("/dev/full")
    if not path.exists():
        pytest.skip("no device that is full")
    return path.open("w")


@pytest.mark.parametrize("end", ["pipe", "full"])
def test_an_output_that_ends_costs_the_text_alone(files, capsys, monkeypatch, end):
    if end == "pipe":
        reading, writing = os.pipe()
        os.close(reading)
        stream = os.fdopen(writing, "w")
    else:
        stream = device_that_is_full()
    with stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run() == 3
    assert "standardised" in pd.read_csv("predictions.csv")
    assert ("No space" in capsys.readouterr().err) == (end == "full")


def test_help_into_a_full_device_is_no_traceback():
    with device_that_is_full() as full:
        done = subprocess.run(
            [sys.executable, "-m", "krda", "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 3
    assert done.stderr.startswith("error: standard output")
    assert len(done.stderr.splitlines()) == 1


def test_columns_to_drop_before_the_files_are_explained_and_nothing_else_is(files, capsys):
    for arguments in (["--drop", "a", "source.csv", "target.csv"], ["source.csv"]):
        with pytest.raises(SystemExit) as caught:
            main([*arguments, "--label", "moon"])
        assert caught.value.code == 2
        hint = "--drop takes all names that follow" in capsys.readouterr().err
        assert hint == ("--drop" in arguments)


def test_a_column_without_name_and_values_may_be_dropped_all_the_same_and_no_other(files):
    set_column("source.csv", "", [""] * 80)
    paths = files / "source.csv", files / "target.csv"
    assert list(read_tables(*paths, "moon", drop=["Unnamed: 3"]).Xs) == ["x", "y"]
    with pytest.raises(TableError, match="neither file has: Unnamed: 99"):
        read_tables(*paths, "moon", drop=["Unnamed: 3", "Unnamed: 99"])
