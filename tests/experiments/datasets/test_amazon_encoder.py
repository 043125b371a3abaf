"""The encoder of the Amazon reviews: deterministic, and blind to targets."""

import json
import os
import zipfile

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from experiments.datasets import raw
from experiments.datasets.amazon import (
    DEFAULT_PATH,
    DOMAINS,
    SPLITS,
    Amazon,
    encoding_key,
    read_arrays,
    read_metadata,
)
from experiments.encoding import reviews as reviews_module
from experiments.encoding.encoder import SourceEncoder, describe_run, encode_domains
from experiments.encoding.reviews import Reviews, load_reviews
from scripts import encode_amazon

N_TERMS = 30


def made_up(n, random):
    """Reviews in which the first ten terms praise and the next ten complain."""
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    rates = np.full((n, N_TERMS), 0.3)
    rates[y == 1, :10] = rates[y == -1, 10:20] = 1.0
    return Reviews(sparse.csr_array(random.poisson(rates).astype(np.float64)), y)


@pytest.fixture(scope="module")
def reviews():
    random = np.random.RandomState(3)
    return {
        (domain, split): made_up(60 if split == "train" else 30, random)
        for domain in DOMAINS
        for split in SPLITS
    }


@pytest.fixture
def raw_folder(reviews, data_dir, official, monkeypatch):
    """Eight made-up files in place of the official ones."""
    folder = data_dir / "amazon"
    folder.mkdir()
    for (domain, split), rows in reviews.items():
        path = folder / f"{DOMAINS[domain]}_{split}.svmlight"
        dump_svmlight_file(rows.X, rows.y, str(path))
    official(folder)
    monkeypatch.setattr(reviews_module, "N_TERMS", N_TERMS)
    return folder


def test_svmlight_rows_come_back_as_counts_and_labels(raw_folder, official, reviews):
    with (raw_folder / "books_train.svmlight").open("a") as stream:
        stream.write("-1\n")  # a row without any term
    official(raw_folder)
    read = load_reviews(download=False)
    assert set(read) == set(reviews)
    X, y = read["B", "train"]
    assert np.array_equal(X.toarray()[:-1], reviews["B", "train"].X.toarray())
    assert not X.toarray()[-1].any()
    assert np.array_equal(y, [*reviews["B", "train"].y, -1])


def test_before_training_the_encoding_is_the_documented_formula(reviews):
    encode, _ = SourceEncoder(learning_rate=1e-300, epochs=1).fit(*reviews["B", "train"], 7)
    random = np.random.RandomState(7)
    W1, W2 = (
        random.uniform(-1, 1, ends) * np.sqrt(6 / sum(ends)) for ends in ((N_TERMS, 10), (10, 5))
    )
    X = reviews["D", "test"].X.toarray()
    np.testing.assert_allclose(
        encode(reviews["D", "test"].X), np.tanh(np.maximum(X @ W1, 0) @ W2), atol=1e-6
    )


def test_encoders_see_their_source_alone(reviews):
    """Permute a target's rows and turn its labels: the other domains' encoders are the same."""
    before = encode_domains(reviews)
    order = np.random.RandomState(0).permutation(60)
    X, y = reviews["D", "train"]
    changed = {**reviews, ("D", "train"): Reviews(X[order], -y[order])}
    after = encode_domains(changed)
    for source in "BEK":
        for domain in DOMAINS:
            for split in SPLITS:
                key = encoding_key(source, domain, split)
                rows = before[key][order] if (domain, split) == ("D", "train") else before[key]
                assert np.array_equal(after[key], rows), key
    # The change does matter to the one encoder that may see it.
    assert not np.allclose(after[encoding_key("D", "B", "test")], before["X_D_B_test"], atol=1e-2)


def test_the_command_gives_the_same_bytes_twice(raw_folder, tmp_path, capsys):
    outputs = [tmp_path / "one.npz", tmp_path / "two.npz"]
    for number, output in enumerate(outputs, start=1):
        torch.manual_seed(number)
        np.random.seed(number)
        assert encode_amazon.main(["--output", str(output), "--epochs", "2"]) == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    with zipfile.ZipFile(outputs[0]) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert "[4/4] kitchen" in capsys.readouterr().out
    encode_amazon.main(["--output", str(outputs[1]), "--epochs", "2", "--seed", "1"])
    assert outputs[0].read_bytes() != outputs[1].read_bytes()
    metadata = read_metadata(outputs[1])
    assert metadata["seed"] == 1
    assert metadata["encoder"]["epochs"] == 2
    task = Amazon(outputs[0]).task("B-K")
    assert task.X_test.shape == (30, 5)


def test_the_committed_encodings_have_the_documented_settings():
    assert read_metadata()["encoder"] == json.loads(describe_run({}, SourceEncoder(), 0))["encoder"]


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get(raw.DATA_DIR_VARIABLE),
    reason="KRDA_DATA_DIR is not set: the raw Amazon files are not in the repository",
)
def test_the_committed_encodings_are_those_of_the_raw_files():
    again = encode_domains(load_reviews(download=False))
    committed = read_arrays(DEFAULT_PATH)
    assert set(again) == set(committed) - {"metadata"}
    for key, rows in again.items():
        np.testing.assert_allclose(committed[key], rows, rtol=0, atol=1e-6, err_msg=key)
