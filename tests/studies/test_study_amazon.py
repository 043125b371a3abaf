"""What is counted in the Amazon files; the page says what the CSV file holds."""

import numpy as np
import pandas as pd
import pytest
from record_factory import stored
from scipy import sparse

from experiments.cells.plan import load_table
from experiments.datasets.amazon import DOMAINS, SPLITS
from experiments.encoding.reviews import Reviews
from experiments.reading.markdown import filled
from experiments.store.records import RecordStore
from studies import amazon as study

COMMITTED = pd.read_csv(study.RESULTS)


def test_raw_counts_see_repeated_shared_and_empty_rows():
    def rows(*counts, y):
        return Reviews(sparse.csr_array(np.array(counts, dtype=np.float64)), np.array(y))

    made = {
        ("B", "train"): rows((1, 0), (1, 0), (1, 0), (2, 1), y=[1, 1, 1, -1]),
        ("B", "test"): rows((1, 0), (0, 0), (2, 1), (3, 3), y=[1, 1, 1, -1]),
    }
    counts = study.count_raw(made)
    # Rows, of label +1, without terms, repeated, in train.
    assert counts["B", "train"].tolist() == [4, 3, 0, 2, 4]
    assert counts["B", "test"].tolist() == [4, 3, 1, 0, 2]


def test_the_page_is_made_from_the_committed_accuracies():
    page = study.PAGE.read_text(encoding="utf-8")
    assert filled(page, "encoders", study.section(COMMITTED)) == page


def test_the_shipped_encodings_give_the_accuracies_of_the_committed_records():
    shipped = COMMITTED.query("activation == 'tanh' and encoder_seed == 0")
    store = RecordStore(study.ROOT / "results" / "records")
    cells = load_table("amazon").cells
    for own in shipped.itertuples():
        expected = 100 * stored(cells[own.task, own.method], store).accuracies[0]
        # What torch trains may differ between machines; both files need not be of the same one.
        tolerance = 1 if own.method.startswith("krda") else 1e-8
        assert own.accuracy == pytest.approx(expected, abs=tolerance), own


def test_the_command_measures_every_encoder_and_writes_the_page(tmp_path, monkeypatch, capsys):
    random = np.random.RandomState(0)
    reviews = {}
    for domain in DOMAINS:
        for split in SPLITS:
            y = np.resize([1, -1], 40)
            rates = np.where(y[:, None] * np.resize([1, -1], 20) > 0, 1.5, 0.2)
            rows = sparse.csr_array(random.poisson(rates).astype(np.float64))
            reviews[domain, split] = Reviews(rows, y)
    page, begin = tmp_path / "page.md", "<!-- encoders: begin -->"
    page.write_text(f"before\n{begin}\nold\n<!-- encoders: end -->\nafter\n")
    monkeypatch.setattr(study, "load_reviews", lambda: reviews)
    monkeypatch.setattr(study, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(study, "RESULTS", tmp_path / "results.csv")
    monkeypatch.setattr(study, "PAGE", page)
    monkeypatch.setattr(study, "METHODS", ("source_only", "standardize"))
    monkeypatch.setattr(study, "SEEDS", (0, 1))
    study.main(["encoders"])
    found = pd.read_csv(tmp_path / "results.csv")
    assert len(found) == 2 * 2 * 2 * 12
    assert found["accuracy"].between(0, 100).all()
    # The committed file serves for the first encoder.
    made = sorted(path.name for path in (tmp_path / "amazon_encodings").iterdir())
    assert made == ["relu-0.npz", "relu-1.npz", "tanh-1.npz"]
    assert page.read_text().startswith(f"before\n{begin}\nRepetitions a task: 1; 96 fits.")
    capsys.readouterr()


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
        assert (means[simple] > means["krda"]).all()
        assert (means[simple] > means["source_only"]).all()
