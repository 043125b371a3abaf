"""AutoAdaptation: what it makes of the choice, and what it must not depend on."""

import numpy as np
import pytest
from domain_pairs import DOMAINS, Domains, label_shift, rotated_moons
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from krda import AutoAdaptation
from krda.alignment import auto


@pytest.fixture(scope="module")
def voting():
    """A model of several classifiers that do not all agree, and its data."""
    rng = np.random.default_rng(0)
    ys, yt = np.arange(80) % 2, np.arange(60) % 2
    Xs = rng.normal(size=(80, 3)) + ys[:, None]
    data = Domains(Xs, ys, 2 * (rng.normal(size=(60, 3)) + yt[:, None]) + 3, yt)
    model = AutoAdaptation(GaussianNB()).fit(*data[:3])
    assert len(model.classifiers_) > 1
    said = [classifier.predict(data.Xt) for classifier in model.classifiers_]
    assert not all(np.array_equal(said[0], other) for other in said)
    return model, data, np.array(said)


def test_each_chosen_candidate_trains_a_classifier_on_its_own_map(voting):
    model, data, said = voting
    chosen = [candidate for candidate in model.candidates_ if candidate.chosen]
    assert len(chosen) == len(model.classifiers_)
    for mapped, labels in zip(model.alignment_.maps(data.Xs), said, strict=True):
        np.testing.assert_array_equal(GaussianNB().fit(mapped, data.ys).predict(data.Xt), labels)


def test_what_most_classifiers_say_is_predicted_and_their_share_is_the_agreement(voting):
    model, data, said = voting
    predicted, agreement = model.predict(data.Xt), model.agreement(data.Xt)
    share = (said == predicted).mean(axis=0)
    np.testing.assert_allclose(agreement, share)
    assert np.all(share >= 0.5)
    assert 0 < agreement.min() < 1
    assert agreement.max() == 1


class Says:
    """A fitted classifier that says the same of every row."""

    def __init__(self, label):
        self.label = label

    def predict(self, X):
        return np.full(len(X), self.label)


@pytest.mark.parametrize(
    ("said", "expected", "agreement"),
    [("abb", "b", 2 / 3), ("ba", "b", 1 / 2), ("cab", "c", 1 / 3), ("cabab", "a", 2 / 5),
     ("a", "a", 1.0)],
)  # fmt: skip
def test_among_equals_the_first_decides(voting, monkeypatch, said, expected, agreement):
    model, data, _ = voting
    monkeypatch.setattr(model, "classes_", np.array(list("abc")))
    monkeypatch.setattr(model, "classifiers_", [Says(label) for label in said])
    assert set(model.predict(data.Xt)) == {expected}
    np.testing.assert_allclose(model.agreement(data.Xt), agreement)


def test_source_rows_are_transformed_by_the_mean_of_the_maps(voting):
    model, data, _ = voting
    maps = model.alignment_.maps(data.Xs)
    np.testing.assert_allclose(model.transform(data.Xs), sum(maps) / len(maps))
    np.testing.assert_allclose(model.transform(data.Xs[:3]), model.transform(data.Xs)[:3])


def test_probabilities_are_the_means_over_the_classifiers(voting):
    model, data, _ = voting
    means = sum(c.predict_proba(data.Xt) for c in model.classifiers_) / len(model.classifiers_)
    np.testing.assert_allclose(model.predict_proba(data.Xt), means)
    assert not hasattr(AutoAdaptation(SVC()), "predict_proba")


@pytest.mark.parametrize(
    ("data", "ambiguous"),
    [*((make(), False) for make in DOMAINS.values()), (rotated_moons(200, 200), True)],
    ids=[*DOMAINS, "many moons"],
)
def test_why_names_the_shift_and_the_candidates_with_their_numbers(data, ambiguous):
    model = AutoAdaptation().fit(*data[:3])
    text = model.why()
    assert text.splitlines()[0] == auto.SHIFTS[model.shift_]
    used = next(line for line in text.splitlines() if line.startswith("Used: "))
    used = used[6:-1].replace(" (they vote)", "").split("; ")
    for candidate in model.candidates_:
        line = next(line for line in text.splitlines() if line.startswith(f"  {candidate.name}  "))
        assert all(f"{residual:.4f}" in line for residual in candidate.residuals)
        assert ("does not explain" in line) is not candidate.explains
        assert (candidate.name in used) is candidate.chosen
    assert ("they vote" in text) is (len(model.classifiers_) > 1)
    assert ("Half a turn more explains" in text) is model.ambiguous_ is ambiguous


def test_class_shares_are_found_said_and_given_to_the_classifier():
    Xs, codes, Xt, _ = label_shift()
    ys = np.array(["no", "yes"])[codes]
    model = AutoAdaptation().fit(Xs, ys, Xt)
    assert model.shift_ == "class shares"
    np.testing.assert_allclose(model.class_shares_, [0.125, 0.875], atol=0.1)
    no, yes = (round(100 * share) for share in model.class_shares_)
    assert f"Class shares of the target: no: {no} %, yes: {yes} %." in model.why()
    weights = model.class_shares_[codes] / 0.5
    plain = SVC().fit(Xs, ys, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(Xt), plain.predict(Xt))


def test_a_sample_like_the_source_is_classified_as_without_adaptation():
    Xs, ys, *_ = label_shift()
    Xt = np.random.default_rng(5).permutation(Xs)[:100]
    model = AutoAdaptation().fit(Xs, ys, Xt)
    assert model.shift_ == "none"
    assert "nothing is adapted" in model.why()
    np.testing.assert_array_equal(model.predict(Xt), SVC().fit(Xs, ys).predict(Xt))
    np.testing.assert_array_equal(model.agreement(Xt), 1)


def test_a_large_table_is_mapped_as_a_whole():
    rng = np.random.default_rng(0)
    n = 2000
    ys = np.arange(n) % 2
    Xs, Xt = (rng.normal(size=(n, 2)) + ys[:, None] for _ in range(2))
    model = AutoAdaptation(GaussianNB()).fit(Xs, ys, 2 * Xt + 1)
    moved = model.transform(Xs)
    np.testing.assert_allclose(moved.mean(axis=0), (2 * Xt + 1).mean(axis=0), atol=1e-9)
