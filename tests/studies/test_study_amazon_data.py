"""What is counted in the Amazon files and encodings, on made-up rows."""

import numpy as np
import pytest
from scipy import sparse

from experiments.datasets.amazon import DOMAINS, SPLITS, Amazon, encoding_key, label_key
from experiments.datasets.amazon_raw import Reviews
from studies.amazon_data import (
    count_raw,
    examine_encodings,
    published_accuracies,
    reference_accuracies,
)


def test_raw_counts_see_repeated_shared_and_empty_rows() -> None:
    def rows(*counts: tuple[int, int], y: list[int]) -> Reviews:
        return Reviews(sparse.csr_array(np.array(counts, dtype=np.float64)), np.array(y))

    plain = rows((9, 1), (9, 2), y=[1, -1])
    made = {(domain, split): plain for domain in "EK" for split in SPLITS}
    made["B", "train"] = rows((1, 0), (1, 0), (1, 0), (2, 1), y=[1, 1, 1, -1])
    made["B", "test"] = rows((1, 0), (0, 0), (2, 1), (3, 3), y=[1, 1, 1, -1])
    made["D", "train"] = rows((2, 1), (5, 5), y=[1, -1])
    made["D", "test"] = rows((7, 7), (7, 7), y=[1, 1])
    books = count_raw(made, "B")
    for split, values in {"train": (4, 3, 0, 2, 1), "test": (4, 3, 1, 0, 0)}.items():
        assert tuple(value for name, value in books.items() if split in name)[:5] == values
    assert list(books.values())[-3:] == [2, 1, 1]


def test_encodings_show_dead_columns_point_masses_and_repeats():
    random = np.random.RandomState(0)
    arrays = {
        encoding_key("B", domain, split): random.normal(size=(5, 2)).astype(np.float32)
        for domain in DOMAINS
        for split in SPLITS
    }
    *shares, spread, constant, largest, _, at_one, repeated = examine_encodings(
        arrays, "B"
    ).values()
    assert (constant, repeated) == (0, 0)
    assert largest == pytest.approx(100 / 40)
    assert sum(shares) == pytest.approx(100)
    arrays["X_B_E_test"] = np.tile(np.float32([1, 0.5]), (5, 1))
    *_, spread, constant, largest, _, at_one, repeated = examine_encodings(arrays, "B").values()
    assert (constant, spread) == (2, 0)
    assert largest == pytest.approx(100 * 5 / 40)
    assert repeated == pytest.approx(100 * 4 / 40)
    assert at_one == pytest.approx(100 * 5 / 80)


def test_reference_columns_score_the_right_rows():
    """B's encoder separates the classes the same way everywhere, all others the wrong way in D."""
    arrays = {}
    for domain in DOMAINS:
        for split in SPLITS:
            y = np.array([0, 1] * 10, dtype=np.int8)
            arrays[label_key(domain, split)] = y
            for source in DOMAINS:
                sign = -1 if domain == "D" and source != "B" else 1
                arrays[encoding_key(source, domain, split)] = np.float32(sign * (2 * y - 1))[
                    :, None
                ]
    scores = reference_accuracies(arrays)
    assert scores["Source"]["B-D"] == scores["Target"]["E-D"] == 100
    assert scores["Source"]["E-D"] == 0
    keep = {domain: np.arange(20) < 7 for domain in DOMAINS}
    arrays["y_E_test"][7:] = 1 - arrays["y_E_test"][7:]
    assert reference_accuracies(arrays)["Source"]["B-E"] == pytest.approx(35)
    assert reference_accuracies(arrays, keep)["Source"]["B-E"] == 100


def test_published_columns_are_read_whole():
    assert set(published_accuracies().index) == set(Amazon().task_names)
    assert not published_accuracies().isna().any().any()
