"""The encoder of the Amazon reviews: deterministic, blind to targets, strict about its input."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

from experiments.datasets import amazon_raw, raw
from experiments.datasets.amazon import (
    DEFAULT_PATH,
    DOMAINS,
    SPLITS,
    Amazon,
    encoding_key,
    read_arrays,
    read_metadata,
)
from experiments.datasets.amazon_encoder import (
    SourceEncoder,
    describe_run,
    encode_domains,
    write_encodings,
)
from experiments.datasets.amazon_raw import Reviews, load_reviews, raw_name, read_reviews
from scripts import encode_amazon

N_TERMS = 30

RawReviews = dict[tuple[str, str], Reviews]


def made_up(n: int, random: np.random.RandomState) -> Reviews:
    """Reviews in which the first ten terms praise and the next ten complain."""
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    rates = np.full((n, N_TERMS), 0.3)
    rates[y == 1, :10] = rates[y == -1, 10:20] = 1.0
    return Reviews(sparse.csr_array(random.poisson(rates).astype(np.float64)), y)


def as_svmlight(reviews: Reviews) -> str:
    """Rows as text; every second row of the raw files' kind: integers, indices from 0."""
    lines = []
    for row, label in zip(reviews.X.toarray(), reviews.y, strict=True):
        terms = " ".join(f"{index}:{int(row[index])}" for index in np.flatnonzero(row))
        lines.append(f"{label} {terms}".rstrip())
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def reviews() -> RawReviews:
    random = np.random.RandomState(3)
    return {
        (domain, split): made_up(60 if split == "train" else 30, random)
        for domain in DOMAINS
        for split in SPLITS
    }


@pytest.fixture
def raw_folder(reviews: RawReviews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight made-up files in place of the real ones, with checksums of their own."""
    folder = tmp_path / "data" / "amazon"
    folder.mkdir(parents=True)
    for which, rows in reviews.items():
        (folder / raw_name(*which)).write_text(as_svmlight(rows))
    checksums = tmp_path / "amazon.sha256"
    checksums.write_text(
        "".join(f"{raw.file_sha256(path)}  {path.name}\n" for path in sorted(folder.iterdir()))
    )
    monkeypatch.setattr(amazon_raw, "CHECKSUMS_PATH", checksums)
    monkeypatch.setenv(raw.DATA_DIR_VARIABLE, str(folder.parent))
    return folder


def test_svmlight_rows_come_back_as_counts_and_labels(reviews: RawReviews, tmp_path: Path) -> None:
    path = tmp_path / "toy.svmlight"
    path.write_text(as_svmlight(reviews["B", "train"]) + "-1\n")  # and a row without any term
    X, y = read_reviews(path, N_TERMS)
    assert np.array_equal(X.toarray()[:-1], reviews["B", "train"].X.toarray())
    assert not X.toarray()[-1].any()
    assert np.array_equal(y, [*reviews["B", "train"].y, -1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0:1 2:x\n", "expected svmlight rows"),
        ("1 0:1 2\n", "expected svmlight rows"),
        ("good 0:1\n", "expected svmlight rows"),
        (f"1 {N_TERMS}:1\n", "column indices 0 to 29"),
        ("3 0:1\n-1 1:1\n", r"expected the labels -1 and 1, got \[-1.0, 3.0\]"),
        ("1 0:1.5\n", "no positive integers"),
        ("1 0:-1\n", "no positive integers"),
        ("", "empty file"),
    ],
)
def test_damaged_svmlight_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "toy.svmlight"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_reviews(path, N_TERMS)
    assert str(path) in str(caught.value)


def test_the_committed_raw_file_list_covers_every_domain_and_split() -> None:
    files = amazon_raw.raw_files()
    assert {file.name for file in files} == {raw_name(d, s) for d in DOMAINS for s in SPLITS}
    assert len({file.sha256 for file in files}) == 8
    assert all(file.url.endswith(f"/data/{file.name}") for file in files)


def test_an_encoder_learns_its_source(reviews: RawReviews) -> None:
    X, y = reviews["B", "train"]
    encoder = SourceEncoder(learning_rate=0.02, batch_size=20, epochs=50).fit(X, y)
    assert encoder.losses_[-1] < 0.5 * encoder.losses_[0]
    encoded = encoder.transform(X)
    assert encoded.shape == (60, 5)
    assert np.abs(encoded).max() <= 1
    logits = encoded @ encoder.weights_[2] + encoder.biases_[2]
    assert np.mean(np.where(logits[:, 1] > logits[:, 0], 1, -1) == y) > 0.9


def test_the_encoding_is_the_documented_formula(reviews: RawReviews) -> None:
    encoder = SourceEncoder(epochs=2, batch_size=20).fit(*reviews["B", "train"])
    X = reviews["D", "test"].X.toarray()
    hidden = np.maximum(X @ encoder.weights_[0] + encoder.biases_[0], 0)
    expected = np.tanh(hidden @ encoder.weights_[1] + encoder.biases_[1])
    np.testing.assert_allclose(encoder.transform(reviews["D", "test"].X), expected, atol=1e-13)


def test_the_thread_settings_of_the_caller_survive(reviews: RawReviews) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        SourceEncoder(epochs=1).fit(*reviews["B", "train"]).transform(reviews["B", "test"].X)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"activation": "sine"}, "activation must be one of tanh"),
        ({"epochs": 0}, "epochs must be positive"),
        ({"learning_rate": -1.0}, "learning_rate must be positive"),
        ({"batch_size": 0}, "batch_size must be positive"),
    ],
)
def test_settings_out_of_range_are_refused(
    reviews: RawReviews, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        SourceEncoder(**settings).fit(*reviews["B", "train"])  # type: ignore[arg-type]


def test_input_that_does_not_fit_is_refused(reviews: RawReviews) -> None:
    X, y = reviews["B", "train"]
    with pytest.raises(ValueError, match=r"labels -1 and 1, got \[0, 1\]"):
        SourceEncoder().fit(X, (y == 1).astype(np.int64))
    with pytest.raises(ValueError, match="each of the 60 rows, got 59"):
        SourceEncoder().fit(X, y[:-1])
    with pytest.raises(ValueError, match="Expected 30 columns as in training, got 29"):
        SourceEncoder(epochs=1).fit(X, y).transform(X[:, :29])


def test_a_loss_that_is_not_finite_stops_the_training(reviews: RawReviews) -> None:
    X, y = reviews["B", "train"]
    with pytest.raises(FloatingPointError, match="Lower learning_rate"):
        SourceEncoder(activation="linear", learning_rate=1e200).fit(X, y)


def test_encoders_see_their_source_alone(reviews: RawReviews) -> None:
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


def test_seeds_make_different_encoders_of_each_source_too(reviews: RawReviews) -> None:
    same = {**reviews, ("D", "train"): reviews["B", "train"]}
    first, second = (encode_domains(same, seed=seed) for seed in (0, 1))
    assert not np.allclose(first["X_B_E_test"], second["X_B_E_test"], atol=1e-2)
    assert not np.allclose(first["X_B_E_test"], first["X_D_E_test"], atol=1e-2)


def test_the_command_gives_the_same_bytes_twice(
    raw_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    outputs = [tmp_path / "one.npz", tmp_path / "two.npz"]
    threads = torch.get_num_threads()
    for number, output in enumerate(outputs, start=1):
        torch.set_num_threads(number)
        torch.manual_seed(number)
        np.random.seed(number)
        assert encode_amazon.main(["--output", str(output), "--epochs", "2"]) == 0
    torch.set_num_threads(threads)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert list(tmp_path.glob("*.part")) == []
    assert "[4/4] kitchen" in capsys.readouterr().out
    encode_amazon.main(["--output", str(outputs[1]), "--epochs", "2", "--seed", "1"])
    assert outputs[0].read_bytes() != outputs[1].read_bytes()
    metadata = read_metadata(outputs[1])
    assert metadata["seed"] == 1
    assert metadata["encoder"]["epochs"] == 2
    task = Amazon(outputs[0]).task("B-K")
    assert task.X_test.shape == (30, 5)


def test_the_command_names_a_damaged_raw_file(
    raw_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = raw_folder / "dvd_test.svmlight"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    output = tmp_path / "encodings.npz"
    assert encode_amazon.main(["--output", str(output)]) == 1
    assert f"{damaged} has a wrong checksum" in capsys.readouterr().err
    assert not output.exists()


def test_files_carry_no_date(reviews: RawReviews, tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "encodings.npz"
    write_encodings(path, encode_domains(reviews), describe_run({}, SourceEncoder(), 0))
    with zipfile.ZipFile(path) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_encodings_whose_units_are_all_dead_are_not_written(
    reviews: RawReviews, tmp_path: Path
) -> None:
    path = tmp_path / "encodings.npz"
    path.write_bytes(b"the old file")
    arrays = encode_domains(reviews)
    arrays["X_B_E_train"][:] = 0.25
    with pytest.raises(ValueError, match=r"X_B_E_train.*every column is constant"):
        write_encodings(path, arrays, "{}")
    assert path.read_bytes() == b"the old file"


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get(raw.DATA_DIR_VARIABLE),
    reason="KRDA_DATA_DIR is not set: the raw Amazon files are not in the repository",
)
def test_the_committed_encodings_are_those_of_the_raw_files() -> None:
    metadata = json.loads(describe_run({}, SourceEncoder(), 0))
    assert read_metadata()["encoder"] == metadata["encoder"]
    again = encode_domains(load_reviews(download=False))
    committed = read_arrays(DEFAULT_PATH)
    assert set(again) == set(committed) - {"metadata"}
    for key, rows in again.items():
        np.testing.assert_allclose(committed[key], rows, rtol=0, atol=1e-6, err_msg=key)
