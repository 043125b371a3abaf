"""`python -m krda`: two files in, predictions and an assessment out; what is wrong, told first."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons

from krda import KRDA
from krda.__main__ import CLASSIFIERS, main, make_classifier
from krda.tables import TableError, read_tables, write_predictions

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
    assert "What hangs on arbitrary choices?" in capsys.readouterr().out
    assert run("--no-assess", "--force") == 0
    assert "What hangs on arbitrary choices?" not in capsys.readouterr().out


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


def test_columns_in_another_order_are_sorted_and_told(files, capsys):
    run("--no-assess")
    first = (files / "predictions.csv").read_bytes()
    capsys.readouterr()
    change("target.csv", lambda t: t[["y", "x"]])
    run("--no-assess", "--force")
    assert (files / "predictions.csv").read_bytes() == first
    assert "note: target.csv has its columns in another order" in capsys.readouterr().out


def test_columns_can_be_dropped_from_either_table(files):
    run("--no-assess")
    first = (files / "predictions.csv").read_bytes()
    change("target.csv", lambda t: t.assign(id=range(80)))
    change("source.csv", lambda t: t.assign(day="monday"))
    assert run("--no-assess", "--force", "--drop", "id", "day") == 0
    assert (files / "predictions.csv").read_bytes() == first


def test_another_separator_and_a_byte_order_mark_are_read(files):
    run("--no-assess")
    first = (files / "predictions.csv").read_bytes()
    for name in ("source.csv", "target.csv"):
        pd.read_csv(name).to_csv(name, index=False, sep=";", encoding="utf-8-sig")
    assert run("--no-assess", "--force", "--separator", ";") == 0
    assert (files / "predictions.csv").read_bytes() == first


def test_an_output_is_not_overwritten_without_force(files, capsys, monkeypatch):
    (files / "predictions.csv").write_text("mine")
    message = refused(capsys, monkeypatch)
    assert "predictions.csv exists" in message
    assert "--force" in message
    assert (files / "predictions.csv").read_text() == "mine"


def test_an_output_that_appears_meanwhile_is_not_overwritten(files):
    (files / "other.csv").write_text("mine")
    with pytest.raises(TableError, match="cannot be written"):
        write_predictions(files / "other.csv", np.array([1]), None, np.array([1]), force=False)
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
        ("target.csv", lambda t: t.assign(x="a"), "not numbers: x ('a')"),
        ("target.csv", lambda t: t.assign(x=t.x.where(t.x > 0)), "lacks values in x ("),
        ("source.csv", lambda t: t.assign(y=np.inf), "infinite values in y"),
        ("source.csv", lambda t: t.assign(moon=t.moon.where(t.x > 0)), "lacks the label in"),
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
    ],
)
def test_files_that_are_no_tables_are_refused(files, capsys, monkeypatch, text, expected):
    (files / "target.csv").unlink()
    if text is not None:
        (files / "target.csv").write_text(text)
    assert expected in refused(capsys, monkeypatch)


def test_wrong_names_of_columns_to_drop_are_refused(files, capsys, monkeypatch):
    assert "neither file has: z" in refused(capsys, monkeypatch, "--drop", "z")
    assert "names the label column" in refused(capsys, monkeypatch, "--drop", "moon")
    assert "no column but the label" in refused(capsys, monkeypatch, "--drop", "x", "y")


def test_what_the_fit_refuses_is_an_error_without_a_traceback(files, capsys):
    change("source.csv", lambda t: t.assign(moon="upper"))
    assert run() == 1
    assert "error: ys has one class only" in capsys.readouterr().err
    assert not (files / "predictions.csv").exists()


def test_warnings_of_the_fit_are_told(files, capsys):
    for name in ("source.csv", "target.csv"):
        change(name, lambda t: t.assign(constant=1.0))
    assert run("--no-assess") == 0
    assert "warning: Columns ['constant'] are constant" in capsys.readouterr().out


def test_a_wrong_command_line_is_told_by_the_usage(files, capsys):
    for wrong in (["--separator", ";;"], ["--refits", "-1"], ["--classifier", "none"]):
        with pytest.raises(SystemExit) as caught:
            run(*wrong)
        assert caught.value.code == 2
        assert "usage: python -m krda" in capsys.readouterr().err


def test_without_pandas_the_extra_is_named(files, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    message = refused(capsys, monkeypatch)
    assert 'pip install "krda[cli]"' in message


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


def test_labels_are_the_text_of_the_file_unless_all_are_numbers(files):
    def read(*labels):
        values = [labels[k % len(labels)] for k in range(80)]
        change("source.csv", lambda t: t.assign(moon=values))
        ys = read_tables(files / "source.csv", files / "target.csv", "moon").ys
        assert len(ys) == 80
        return ys.dtype.kind, ys[: len(labels)].tolist()

    assert read("1", "2") == ("i", [1, 2])
    assert read("0.5", "-2") == ("f", [0.5, -2])
    assert read("1", "b") == ("O", ["1", "b"])
    assert read("inf", "1") == ("O", ["inf", "1"])
    assert read("true", "false") == ("O", ["true", "false"])
    assert read(" a", "b, c") == ("O", [" a", "b, c"])


def test_only_an_empty_label_is_a_missing_one(files, capsys, monkeypatch):
    for values in (["upper", "NA", ""], ["1", "2", ""]):
        change("source.csv", lambda t, v=values: t.assign(moon=(v * 27)[:80]))
        message = refused(capsys, monkeypatch)
        assert "lacks the label in 26 rows (first: row 2, from 0)" in message


def test_a_mark_for_missing_values_among_numbers_is_no_class(files, capsys, monkeypatch):
    change("source.csv", lambda t: t.assign(moon=(["1", "2", "NA"] * 27)[:80]))
    message = refused(capsys, monkeypatch)
    assert "has numbers for labels but 'NA' in 26 rows (first: row 2, from 0)" in message


def test_an_output_that_is_a_folder_is_refused_before_the_fit(files, capsys, monkeypatch):
    (files / "folder").mkdir()
    for name in (".", "folder"):
        for options in ([], ["--force"]):
            message = refused(capsys, monkeypatch, "--output", name, *options)
            assert f"--output names a folder: {name}" in message


def test_the_command_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "krda", "--help"], capture_output=True, text=True, check=True
    )
    assert "--label" in done.stdout


def test_an_identifier_is_no_feature_and_stands_beside_the_predictions(files, capsys):
    assert run("--no-assess", "--output", "plain.csv") == 0
    change("target.csv", lambda t: t.assign(customer=[f"c{i}" for i in range(len(t))]))
    assert run("--no-assess", "--id", "customer") == 0
    written = pd.read_csv("predictions.csv")
    assert list(written.columns) == ["row", "customer", "prediction"]
    assert list(written["customer"]) == [f"c{i}" for i in range(80)]
    np.testing.assert_array_equal(written["prediction"], pd.read_csv("plain.csv")["prediction"])


def test_an_identifier_that_is_not_there_is_refused(files, capsys, monkeypatch):
    assert "--id names 'customer'" in refused(capsys, monkeypatch, "--id", "customer")


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


def test_a_tabulator_separates_columns_where_it_is_written_as_escape(files):
    for name in ("source.csv", "target.csv"):
        pd.read_csv(name).to_csv(name, index=False, sep="\t")
    assert run("--no-assess", "--separator", "\\t") == 0


def test_columns_to_drop_may_be_named_one_at_a_time(files):
    change("target.csv", lambda t: t.assign(a=1.0, b=2.0))
    assert run("--no-assess", "--drop", "a", "--drop", "b") == 0
