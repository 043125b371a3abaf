"""`python -m krda`: two files in, predictions and an assessment out; errors come first."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from csv_files import change, column, set_column

from krda import KRDA
from krda.__main__ import CLASSIFIERS, main
from krda.command.run import make_classifier, write_predictions
from krda.command.tables import TableError

QUICK = ["--max-steps", "20", "--hidden-size", "8", "--refits", "1"]


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
    change("target.csv", lambda t: t.assign(customer=[f"c{i}" for i in range(len(t))]))
    arguments = ["--no-assess", "--seed", "3", "--id", "customer"]
    assert run(*arguments) == 0
    source, target = pd.read_csv("source.csv"), pd.read_csv("target.csv")
    model = KRDA(
        hidden_size=8, max_steps=20, classifier=make_classifier("svm", 3), random_state=3
    ).fit(source[["x", "y"]], source["moon"].to_numpy(), target[["x", "y"]])
    written = pd.read_csv("predictions.csv")
    assert list(written.columns) == ["row", "customer", "prediction"]
    np.testing.assert_array_equal(written["row"], np.arange(80))
    np.testing.assert_array_equal(written["prediction"], model.predict(target[["x", "y"]]))
    printed = capsys.readouterr().out
    assert "predictions: predictions.csv (lower " in printed
    assert "arbitrary choices" not in printed  # not assessed
    # Columns go by name.
    first = (files / "predictions.csv").read_bytes()
    change("target.csv", lambda t: t[["customer", "y", "x"]])
    assert run(*arguments, "--force") == 0
    assert (files / "predictions.csv").read_bytes() == first


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_probabilities_are_written_where_the_classifier_has_them(files, classifier):
    assert run("--no-assess", "--classifier", classifier) == 0
    written = pd.read_csv("predictions.csv")
    probabilities = written.filter(regex="^probability_")
    names = [] if classifier == "svm" else ["probability_lower", "probability_upper"]
    assert list(probabilities) == names
    for upper, row in enumerate(("lower", "upper") if names else ()):
        agree = (probabilities.iloc[:, upper] > 0.5) <= (written["prediction"] == row)
        assert agree.all()


def test_labels_in_the_target_change_nothing_whatever_they_are(files, capsys):
    run()
    without = (files / "predictions.csv").read_bytes(), capsys.readouterr().out
    assert "arbitrary choices" in without[1]
    rng = np.random.default_rng(0)
    for labels in (rng.choice(["upper", "lower"], 80), [None] * 80, ["new"] * 80):
        change("target.csv", lambda t, y=labels: t.assign(moon=y))
        run("--force")
        note, _, rest = capsys.readouterr().out.partition("\n")
        assert "label column 'moon', too: left out, never used" in note
        assert ((files / "predictions.csv").read_bytes(), rest) == without


def test_what_simple_methods_and_refits_say_of_each_row_is_written_after_the_assessment(files):
    assert run("--classifier", "logistic", "--refits", "2") == 0
    written = pd.read_csv("predictions.csv")
    assert list(written.columns[-3:]) == ["refits_agree", "source_only", "standardised"]
    assert set(written["source_only"]) <= {"upper", "lower"}
    # Two other seeds, and the one other order of two columns.
    assert set((3 * written["refits_agree"]).round(2)) <= {0.0, 1.0, 2.0, 3.0}


def test_an_output_that_cannot_be_is_refused_before_the_fit(files, capsys, monkeypatch):
    (files / "mine.csv").write_text("mine")
    (files / "folder").mkdir()
    for name, force, expected in (
        ("mine.csv", [], "--force"),
        ("no/such.csv", [], "folder of --output"),
        ("./target.csv", ["--force"], "names an input"),
        ("folder", ["--force"], "names a folder"),
        (os.devnull, ["--force"], "a device"),
    ):
        assert expected in refused(capsys, monkeypatch, "--output", name, *force)
    assert (files / "mine.csv").read_text() == "mine"


def test_what_the_fit_refuses_is_an_error_without_a_traceback(files, capsys):
    target = (files / "target.csv").read_text()
    (files / "target.csv").unlink()
    assert run() == 1
    assert "No such file" in capsys.readouterr().err
    (files / "target.csv").write_text("x,y\n1,2\n")
    assert run() == 1
    printed = capsys.readouterr()
    assert "1 target rows (Xt)" in printed.out
    assert printed.err.startswith("error: Xt")
    (files / "target.csv").write_text(target)
    change("source.csv", lambda t: t.assign(moon="one"))
    assert run() == 1
    assert capsys.readouterr().err.startswith("error: ys has one class only")
    assert run("--drop", "x", "y") == 1
    assert "no column but the label" in capsys.readouterr().err
    assert not (files / "predictions.csv").exists()


def test_warnings_of_the_fit_are_printed(files, capsys):
    for name in ("source.csv", "target.csv"):
        change(name, lambda t: t.assign(constant=1.0))
    assert run("--no-assess") == 0
    assert "warning: Columns ['constant'] are constant" in capsys.readouterr().out


def test_a_wrong_command_line_gives_the_usage(files, capsys):
    given = ["source.csv", "target.csv", "--label", "moon"]
    for wrong, expected in (
        ([*given, "--separator", ";;"], "one character"),
        ([*given, "--refits", "-1"], "not be negative"),
        (["--drop", "a", *given], "--drop takes all names that follow"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(wrong)
        assert caught.value.code == 2
        assert expected in capsys.readouterr().err


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


def test_no_numerical_library_is_loaded_before_the_arguments_are_read(files):
    blocked = "sys.modules.update(dict.fromkeys(['numpy', 'pandas', 'sklearn', 'torch']))"
    for arguments, expected in ((["--help"], 0), (["--seed", "x"], 2)):
        status, errors = started(files, blocked, *arguments)
        assert status == expected
        assert "Traceback" not in errors


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
    write_predictions(path, columns)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, limits[1]))
    try:
        with pytest.raises(TableError, match="cannot be written"):
            write_predictions(path, columns | {"a": np.arange(1000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert not list(files.glob(".*"))


def test_a_write_that_is_interrupted_leaves_no_file_and_a_link_stays_a_link(files, monkeypatch):
    path, link = files / "real.csv", files / "link.csv"
    link.symlink_to(path)
    write_predictions(link, {"prediction": [1]})
    assert link.is_symlink()
    assert path.read_text() == "row,prediction\n0,1\n"
    before = set(files.iterdir())

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_predictions(link, {"prediction": [2]})
    assert set(files.iterdir()) == before
    assert path.read_text() == "row,prediction\n0,1\n"


def test_predictions_are_kept_when_the_check_fails(files, capsys, monkeypatch):
    def fail(*_, **__):
        raise FloatingPointError("no step")

    monkeypatch.setattr("krda.trust.check.assess", fail)
    assert run() == 1
    printed = capsys.readouterr()
    assert "predictions: predictions.csv" in printed.out
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


@pytest.mark.parametrize("end", ["pipe", "full"])
def test_an_output_that_ends_costs_the_text_alone(files, capsys, monkeypatch, end):
    if end == "full" and not Path("/dev/full").exists():
        pytest.skip("no device that is full")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") if end == "pipe" else open("/dev/full", "w") as stream:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", stream)
        assert run() == 3
    assert "standardised" in pd.read_csv("predictions.csv")
    assert ("No space" in capsys.readouterr().err) == (end == "full")
