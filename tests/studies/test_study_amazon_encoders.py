"""The study of Amazon over encoder seeds and activations: its page says what its CSV holds."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from experiments.catalogue import method_label
from experiments.cells.plan import load_table
from experiments.datasets.amazon import DEFAULT_PATH, DOMAINS, SPLITS, Amazon
from experiments.datasets.amazon_raw import Reviews
from experiments.reading.markdown import between
from experiments.reading.results import stored
from experiments.store.records import RecordStore
from studies import amazon_encoders as study
from studies.common import number

RECORDS = study.ROOT / "results" / "records"
COMMITTED = pd.read_csv(study.RESULTS)


def test_the_page_is_made_from_the_committed_accuracies():
    page = study.PAGE.read_text(encoding="utf-8")
    assert between(page, study.BEGIN, study.END, study.section(COMMITTED)) == page


def test_the_committed_accuracies_are_complete():
    keys = COMMITTED.drop(columns="accuracy")
    assert not keys.duplicated().any()
    assert set(COMMITTED["activation"]) == set(study.ACTIVATIONS)
    assert set(COMMITTED["encoder_seed"]) == set(study.SEEDS)
    assert set(COMMITTED["task"]) == set(Amazon().task_names)
    assert set(COMMITTED["method"]) >= set(study.METHODS)
    for _, own in COMMITTED.groupby("method"):
        assert len(own) == 2 * 5 * 12 * own["repetition"].nunique()


def test_the_shipped_encodings_give_the_accuracies_of_the_committed_records():
    shipped = COMMITTED.query("activation == 'tanh' and encoder_seed == 0")
    store = RecordStore(RECORDS)
    cells = load_table("amazon").cells
    for (task, method), own in shipped.groupby(["task", "method"]):
        accuracies = stored(cells[task, method], store).accuracies
        expected = 100 * np.array(accuracies)[own["repetition"]]
        # What torch trains may differ between machines; both files need not be of the same one.
        tolerance = 1 if method.startswith("krda") else 1e-8
        assert own["accuracy"].mean() == pytest.approx(expected.mean(), abs=tolerance), method


@pytest.mark.parametrize(("column", "activation"), [(1, "tanh"), (4, "relu")])
def test_the_gains_over_source_only_are_differences_of_means_over_tasks(column, activation):
    """Computed anew with numpy, past the code that made the page."""
    page = study.PAGE.read_text(encoding="utf-8")
    lines = [line.split(" | ") for line in page.splitlines() if line.startswith("| KRDA |")]
    gains = []
    for seed in range(5):
        own = COMMITTED[
            (COMMITTED["activation"] == activation) & (COMMITTED["encoder_seed"] == seed)
        ]
        krda, source = (
            own.loc[own["method"] == name, "accuracy"].to_numpy().reshape(12, -1)
            for name in ("krda", "source_only")
        )
        gains.append(np.mean(krda.mean(axis=1) - source.mean(axis=1)))
    shown = lines[1][column].replace("−", "-").split(" ± ")
    width = 2.776445 * np.std(gains, ddof=1) / np.sqrt(5)
    assert float(shown[0]) == float(number(np.mean(gains)))
    assert shown[1] == number(width)
    assert lines[1][column + 2].startswith(f"{sum(gain > 0 for gain in gains)} of 5")


@pytest.fixture
def small_study(tmp_path, monkeypatch):
    """Made-up reviews with two encoder seeds; the command and its files."""
    random = np.random.RandomState(0)
    reviews = {}
    for domain in DOMAINS:
        for split in SPLITS:
            y = np.resize([1, -1], 40)
            rates = np.where(y[:, None] * np.resize([1, -1], 20) > 0, 1.5, 0.2)
            rows = sparse.csr_array(random.poisson(rates).astype(np.float64))
            reviews[domain, split] = Reviews(rows, y)
    monkeypatch.setattr(study, "load_reviews", lambda: reviews)
    monkeypatch.setattr(study, "SEEDS", (0, 1))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{study.BEGIN}\nold\n{study.END}\nafter\n")

    def command(*arguments):
        folders = {"encodings": "encodings", "progress": "progress", "output": "results.csv"}
        options = [f"--{key}={tmp_path / name}" for key, name in folders.items()]
        study.main([*options, f"--page={page}", "--repetitions=1", *arguments])
        return pd.read_csv(tmp_path / "results.csv")

    return tmp_path, command


def test_the_command_encodes_and_measures_once_and_keeps_other_methods(small_study, monkeypatch):
    folder, command = small_study
    first = command("--methods", "source_only", "standardize")
    assert len(first) == 2 * 2 * 12 * 2
    # The committed file serves for the first of them.
    names = ["relu-0.npz", "relu-1.npz", "tanh-1.npz"]
    assert sorted(path.name for path in (folder / "encodings").iterdir()) == names
    page = (folder / "page.md").read_text()
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    assert f"| {method_label('standardize')} | " in page

    def refuse(*arguments):
        raise AssertionError("measured or encoded a second time")

    monkeypatch.setattr(study, "encode_domains", refuse)
    second = command("--methods", "standardize", "sa")
    pd.testing.assert_frame_equal(second[second["method"] != "sa"].reset_index(drop=True), first)
    monkeypatch.setattr("studies.common.run_repetitions", refuse)
    pd.testing.assert_frame_equal(command("--methods", "sa"), second)


def test_encodings_of_other_settings_are_made_anew(small_study, monkeypatch):
    folder, command = small_study
    path = folder / "encodings" / "relu-1.npz"
    path.parent.mkdir()
    path.write_bytes(DEFAULT_PATH.read_bytes())
    command("--methods", "source_only")
    assert study.read_metadata(path)["encoder"]["activation"] == "relu"
    assert study.read_metadata(path)["seed"] == 1


def test_a_lost_fit_ends_the_command_and_says_which(small_study, monkeypatch, capsys):
    _, command = small_study

    def lose(cell, repetitions):
        return [SimpleNamespace(accuracy=None, status="failed", error="odd")]

    monkeypatch.setattr("studies.common.run_repetitions", lose)
    with pytest.raises(RuntimeError, match=r"amazon/B-D source_only.* failed"):
        command("--methods", "source_only")
    assert "odd" in capsys.readouterr().err


def test_what_the_page_says_in_words_holds():
    means = COMMITTED.pivot_table(
        index=["activation", "encoder_seed"], columns="method", values="accuracy"
    )
    gains = (means["krda"] - means["source_only"]).unstack()
    widths = 2.776445 * gains.std(axis=1, ddof=1) / np.sqrt(5)
    assert (gains.loc["tanh"] < 0).tolist() == [True, False, False, False, False]
    assert (gains.loc["relu"] > 0).tolist() == [False, False, False, True, False]
    assert (gains.mean(axis=1).abs() < widths).all()
    assert gains.loc["relu"].min() == pytest.approx(-2.7, abs=0.05)
    assert gains.loc["relu"].std() > 5 * gains.loc["tanh"].std()
    reversed_above = (means["krda_reversed"] > means["source_only"]).groupby("activation").sum()
    assert reversed_above.to_dict() == {"relu": 0, "tanh": 3}
    for simple in ("ot", "ot_linear", "quantiles", "standardize"):
        assert (means[simple] > means["krda"]).sum() == (9 if simple == "standardize" else 10)
        assert (means[simple] > means["source_only"]).all()
