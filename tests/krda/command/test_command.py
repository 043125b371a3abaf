"""The command: files in, a verdict and files out; errors come first and nothing is half written."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from csv_files import change, column, set_column

from krda import AutoAdaptation, __version__, adapt, load
from krda.__main__ import CLASSIFIERS, METHODS, main
from krda.adaptation.adapt import METHODS as MADE_METHODS
from krda.adaptation.classifiers import CLASSIFIERS as MADE_CLASSIFIERS
from krda.adaptation.files import write_whole
from krda.command.output import write_predictions
from krda.tables.errors import TableError
from krda.tables.read import read_table

QUICK = ["--label", "moon", "--classifier", "logistic", "--quiet"]


def run(*arguments, command="adapt"):
    return main([command, "source.csv", "target.csv", *QUICK, *arguments])


def refused(capsys, monkeypatch, *arguments, command="adapt"):
    """Run, demand an error before anything is fitted and no output; give the message."""

    def fit(*_):
        raise AssertionError("fitted although the tables are wrong")

    monkeypatch.setattr(AutoAdaptation, "fit", fit)
    assert run(*arguments, command=command) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    return printed.err


def test_predictions_are_those_of_the_library(files, capsys):
    change("target.csv", lambda t: t.assign(customer=[f"c{i}" for i in range(len(t))]))
    assert run("--id", "customer", "--seed", "3") == 0
    source, target = (read_table(f"{name}.csv").frame for name in ("source", "target"))
    target = target.drop(columns="customer")
    found = adapt(source, target, "moon", classifier="logistic", random_state=3)
    expected = found.predict(target)
    written = pd.read_csv("predictions.csv")
    assert list(written.columns) == ["row", "customer", *expected.columns]
    np.testing.assert_array_equal(written["row"], np.arange(80))
    np.testing.assert_array_equal(written["prediction"], expected["prediction"])
    np.testing.assert_allclose(written["probability_upper"], expected["probability_upper"])
    out = capsys.readouterr().out
    assert out.startswith(found.verdict.line)
    assert f"({written['abstain'].mean():.0%} of the rows" in out.splitlines()[-1]
    # Columns go by name.
    first = (files / "predictions.csv").read_bytes()
    change("target.csv", lambda t: t[["customer", "y", "x"]])
    assert run("--id", "customer", "--seed", "3", "--force") == 0
    assert (files / "predictions.csv").read_bytes() == first


def test_the_command_offers_what_the_library_has():
    assert tuple(MADE_METHODS) == METHODS
    assert MADE_CLASSIFIERS == CLASSIFIERS


def test_labels_in_the_target_change_nothing_whatever_they_are(files, capsys):
    run()
    without = (files / "predictions.csv").read_bytes(), capsys.readouterr().out
    rng = np.random.default_rng(0)
    for labels in (rng.choice(["upper", "lower"], 80), [None] * 80, ["new"] * 80):
        change("target.csv", lambda t, y=labels: t.assign(moon=y))
        run("--force")
        assert ((files / "predictions.csv").read_bytes(), capsys.readouterr().out) == without


def test_check_writes_nothing_and_compare_names_all_methods(files, capsys, monkeypatch):
    monkeypatch.delitem(MADE_METHODS, "krda")  # it takes seconds
    before = set(files.iterdir())
    assert run("--json", command="check") == 0
    candidates = json.loads(capsys.readouterr().out)["verdict"]["numbers"]["candidates"]
    assert any(candidate["chosen"] for candidate in candidates)
    assert run(command="check") == 0
    out = capsys.readouterr().out
    for candidate in candidates:
        numbers = r"\s+".join(f"{max(number, 0):.1f}" for number in candidate["deviations"])
        used = "yes" if candidate["chosen"] else ""
        assert re.search(rf"(?m)^{candidate['name']}\s+{numbers}\s+{used}\s*$", out)
    assert run("--json", command="compare") == 0
    table = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in table] == list(MADE_METHODS)
    assert table[0]["same"] == 1
    Path("labelled.csv").write_bytes(Path("source.csv").read_bytes())
    before.add(files / "labelled.csv")
    labels = ["--target-labels", "labelled.csv"]
    for options, named in ([], "--target-labels"), (labels, "accuracy"):
        assert run(*options, command="compare") == 0
        assert named in "".join(capsys.readouterr().out.splitlines()[-2:])
    assert set(files.iterdir()) == before


def test_a_saved_model_predicts_new_rows_as_before(files, capsys):
    predict = ["predict", "model.skops", "target.csv", "--output"]
    assert run("--save", "model.skops", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert [column["name"] for column in result["columns"]] == ["x", "y"]
    assert main([*predict, "again.csv", "--quiet"]) == 0
    assert (files / "again.csv").read_bytes() == (files / "predictions.csv").read_bytes()
    change("target.csv", lambda t: t.assign(more="x")[["more", "y", "x"]][3:4])
    capsys.readouterr()
    assert main([*predict, "one.csv", "--json"]) == 0
    printed = capsys.readouterr()
    assert set(json.loads(printed.out)) == {"rows", "shares", "abstained", "predictions"}
    assert printed.err.count("no features of the source: more") == 1
    set_column("target.csv", "x", ["far"])
    assert main([*predict, "two.csv", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert "'far' in line 2" in error
    assert "--drop" not in error  # which predict does not have
    one, all_ = pd.read_csv("one.csv"), pd.read_csv("again.csv")
    assert one["prediction"][0] == all_["prediction"][3]
    verdict = load("model.skops").verdict
    assert result["verdict"] == verdict.to_dict()
    assert verdict.advice == "adapted"


def test_the_report_is_one_page_with_the_verdict_and_nothing_of_it_is_html(files):
    set_column("source.csv", "moon", ["<b>one</b>", "two"] * 40)
    assert run("--report", "report.html") in (0, 4)
    page = (files / "report.html").read_text(encoding="utf-8")
    assert "<h1>Use " in page
    assert "<b>one</b>" not in page
    assert "src=" not in page
    assert page.count("<polyline") == 6  # two columns: source, adapted source, target


def test_a_useless_classifier_is_said_in_the_exit_status(files, capsys):
    set_column("source.csv", "moon", list(np.random.default_rng(0).permutation(["a", "b"] * 40)))
    assert run() == 4
    assert capsys.readouterr().out.startswith("Use none of the predictions. The columns do not")
    assert len(column("predictions.csv", "prediction")) == 80


def test_few_labels_of_the_target_choose_the_method_if_they_are_sure(files, capsys, monkeypatch):
    monkeypatch.delitem(MADE_METHODS, "krda")  # it takes seconds
    # The columns are scaled, and so they are aligned; yet the labels follow the values as they are.
    rng = np.random.default_rng(0)
    for name, scale in (("source", 1), ("target", 3)):
        x = scale * rng.normal(size=80) + (scale - 1)
        moon = np.where(x > 0, "upper", "lower")
        table = pd.DataFrame({"x": x, "y": rng.normal(size=80), "moon": moon})
        table.to_csv(f"{name}.csv", index=False)
    Path("labelled.csv").write_bytes(Path("target.csv").read_bytes())
    assert run("--target-labels", "labelled.csv", "--save", "m", "--report", "r.html") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Use the plain classifier. Labelled target rows confirm it.")
    assert "Of 80 labelled target rows, plain gets " in printed
    assert load("m").verdict.line in Path("r.html").read_text()
    chosen = column("predictions.csv", "prediction")
    assert run("--method", "plain", "--force") == 4, "without the labels another one is advised"
    assert column("predictions.csv", "prediction") == chosen
    set_column("labelled.csv", "moon", ["new"] * 80)
    assert run("--target-labels", "labelled.csv", "--force") == 1
    assert "labels that the source has not" in capsys.readouterr().err
    change("labelled.csv", lambda t: t.assign(moon="upper")[["moon"]])
    assert run("--target-labels", "labelled.csv", "--force") == 1
    assert "The labelled target rows: " in capsys.readouterr().err
    assert run("--target-labels", "labelled.csv", "--output", "labelled.csv", "--force") == 1
    assert "is an input" in capsys.readouterr().err


def test_an_output_that_cannot_be_is_refused_before_the_fit(files, capsys, monkeypatch):
    (files / "mine.csv").write_text("mine")
    (files / "folder").mkdir()
    for name, force, expected in (
        ("mine.csv", [], "--force"),
        ("no/such.csv", [], "folder of"),
        ("./target.csv", ["--force"], "is an input"),
        ("folder", ["--force"], "is a folder"),
        (os.devnull, ["--force"], "a device"),
    ):
        assert expected in refused(capsys, monkeypatch, "--output", name, *force)
    assert (files / "mine.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "change_it", "expected"),
    [
        ("source.csv", lambda t: t.rename(columns={"moon": "mooon"}), "Did you mean mooon?"),
        ("source.csv", lambda t: t.assign(moon="one"), "one class only"),
        ("source.csv", lambda t: t.assign(moon=["a"] * 78 + ["b"] * 2), "at least 3"),
        ("source.csv", lambda t: t.assign(moon=np.arange(80) / 7), "with fractions"),
        ("source.csv", lambda t: t.assign(moon=["a", "a ", "b", "b"] * 20), "spaces alone"),
        ("target.csv", lambda t: t[:1], "At least 2 target rows"),
        ("source.csv", lambda t: t.assign(moon=["1", None] * 40), "missing in 40 rows"),
        ("target.csv", lambda t: t.rename(columns={"x": "z"}), "--drop"),
        ("target.csv", lambda t: t.assign(x=["a", *t["x"][1:]]), "'a' in line 2"),
    ],
)
def test_tables_that_cannot_be_worked_with_are_refused_before_the_fit(
    files, capsys, monkeypatch, name, change_it, expected
):
    change(name, change_it)
    assert expected in refused(capsys, monkeypatch)
    assert not (files / "predictions.csv").exists()


def test_the_label_is_no_column_to_drop_and_the_name_of_rows_may_be(files, capsys, monkeypatch):
    set_column("target.csv", "name", [str(i) for i in range(80)])
    assert run("--id", "name", "--drop", "name") == 0
    assert "--drop names the label" in refused(capsys, monkeypatch, "--drop", "moon", "--force")


@pytest.mark.parametrize("command", ["adapt", "check", "compare"])
def test_the_name_of_rows_is_no_feature(files, capsys, command):
    plain = run(command=command)
    expected = capsys.readouterr().out
    for name in ("source.csv", "target.csv"):
        change(name, lambda t: t.assign(number=np.arange(len(t)) * (1.0 if "moon" in t else 9.0)))
    more = ["--force"] if command == "adapt" else []
    assert run("--id", "number", *more, command=command) == plain
    verdict = expected.split("What was done")[0]
    assert capsys.readouterr().out.startswith(verdict)


@pytest.mark.parametrize("name", ["absent", "prediction", "moon", "probability_lower"])
def test_a_name_of_rows_that_is_absent_or_of_a_written_column_is_refused(
    files, capsys, monkeypatch, name
):
    if name != "absent":
        change("target.csv", lambda t: t.assign(**{name: range(80)}))
    assert "--id names" in refused(capsys, monkeypatch, "--id", name)


def test_labels_and_names_come_out_as_they_went_in(files):
    set_column("source.csv", "moon", ["01", "1"] * 40)
    set_column("target.csv", "name", ["007", "NA", "2.10", "1E5"] * 20)
    assert run("--id", "name") in (0, 4)
    assert set(column("predictions.csv", "prediction")) <= {"01", "1"}
    assert column("predictions.csv", "name")[:4] == ["007", "NA", "2.10", "1E5"]


@pytest.mark.parametrize("cell", ["=1+1", "@x", "-cmd|x", "\t=1", "＝A1"])
def test_formulas_are_refused_as_labels_and_names_of_rows(files, capsys, monkeypatch, cell):
    set_column("target.csv", "name", [cell] * 80)
    assert "formulas" in refused(capsys, monkeypatch, "--id", "name")
    set_column("source.csv", "moon", [cell, "b"] * 40)
    assert "formulas" in refused(capsys, monkeypatch, "--drop", "name")
    assert not (files / "predictions.csv").exists()


def test_a_wrong_command_line_gives_the_usage_and_what_was_meant(files, capsys):
    given = ["source.csv", "target.csv", "--label", "moon"]
    for wrong, expected in (
        (["adpt", *given], "Did you mean adapt?"),
        (["adapt", *given, "--clasifier", "svm"], "Did you mean --classifier?"),
        (["adapt", "--drop", "a", *given], "put files first"),
        (["adapt", *given, "--seed", "-1"], "not be negative"),
        (["adapt", *given, "--method", "krda", "--target-labels", "l"], "leave out --method"),
        ([], "COMMAND"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(wrong)
        assert caught.value.code == 2
        assert expected in capsys.readouterr().err


NUMERICAL = ["numpy", "pandas", "sklearn", "torch"]


@pytest.mark.parametrize(
    ("missing", "arguments", "status", "expected"),
    [
        (["pandas"], [], 1, "extra 'cli'"),
        (NUMERICAL, ["--help"], 0, ""),
        (NUMERICAL, ["--seed", "x"], 2, "--seed"),
        (["sklearn", "torch"], [], 1, "target.csv"),
    ],
)
def test_a_library_is_loaded_when_it_is_needed_and_no_earlier(
    files, missing, arguments, status, expected
):
    Path("target.csv").unlink()
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({missing}));"
        "from krda.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    given = ["adapt", "source.csv", "target.csv", "--label", "moon", *arguments]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", code, *given]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == status
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_escape_sequences_are_shown_and_not_obeyed(files, capsys):
    set_column("source.csv", "moon", ["\x1b[31mred", "b\x07\u202e"] * 40)
    for name in ("source.csv", "target.csv"):
        change(name, lambda t: t.rename(columns={"x": "x\x1b[2J\nerror: x"}))
    assert run() in (0, 4)
    change("target.csv", lambda t: t.drop(columns="y"))
    assert run("--force") == 1
    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "\\x1b[31mred" in printed.out


# What is written is kept


def test_a_file_survives_a_second_write_that_fails(files):
    resource = pytest.importorskip("resource")
    path = files / "out.csv"
    write_whole(path, b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(TableError, match="cannot be written"):
            write_whole(path, b"new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "old"
    assert not list(files.glob(".*"))


def test_a_write_that_is_interrupted_leaves_no_file_and_a_link_stays_a_link(files, monkeypatch):
    path, link = files / "real.csv", files / "link.csv"
    link.symlink_to(path)
    write_predictions(link, pd.DataFrame({"prediction": [1]}), None, None)
    assert link.is_symlink()
    assert path.read_text() == "row,prediction\n0,1\n"
    before = set(files.iterdir())

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(link, b"new")
    assert set(files.iterdir()) == before
    assert path.read_text() == "row,prediction\n0,1\n"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_console_that_cannot_encode_a_label_costs_nothing(files, monkeypatch, encoding):
    set_column("source.csv", "moon", ["лес", "поле"] * 40)
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding))
    assert run() in (0, 4)
    assert "\\u043b" in raw.getvalue().decode(encoding)
    assert "prediction" in pd.read_csv("predictions.csv")


@pytest.mark.parametrize("end", ["pipe", "full"])
def test_an_output_that_ends_costs_the_text_alone(files, capsys, monkeypatch, end):
    if end == "full" and not Path("/dev/full").exists():
        pytest.skip("no device that is full")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") if end == "pipe" else open("/dev/full", "w") as stream:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", stream)
        assert run() == 3
    assert "prediction" in pd.read_csv("predictions.csv")
    assert ("No space" in capsys.readouterr().err) == (end == "full")


def test_the_citation_names_the_version():
    citation = (Path(__file__).parents[3] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {__version__}\n" in citation
