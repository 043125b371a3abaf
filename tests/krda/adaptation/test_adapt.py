"""Two tables in: what is predicted, abstained from, and said of the rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from krda import AutoAdaptation, adapt
from krda.adaptation.adapt import Pair
from krda.adaptation.classifiers import (
    CLASSIFIERS,
    TIMED_ROWS,
    ValidCategories,
    extrapolated,
    seconds_of_fit,
)
from krda.tables.errors import TableError


def tables(n=120, scale=3.0, shares=(0.5, 0.5), seed=0):
    """Give two classes that x separates, a target in other units, and the target's labels."""
    rng = np.random.default_rng(seed)

    def draw(shares):
        y = rng.choice(2, n, p=shares)
        frame = pd.DataFrame({"x": rng.normal(size=n) + 3 * y, "z": rng.normal(size=n)})
        return frame, y

    source, ys = draw((0.5, 0.5))
    target, yt = draw(shares)
    return source, ys, scale * target, yt


@pytest.mark.parametrize(
    "labels", [["a", "b"], ["10", "9"], [0, 1], [-1, 1], [False, True], ["x y,z", 'q"']]
)
def test_predictions_have_the_labels_of_the_source_and_their_probabilities(labels):
    source, ys, target, yt = tables()
    labels = np.array(labels)
    found = adapt(source.assign(y=labels[ys]), target, "y", classifier="logistic")
    predicted = found.predict(target)
    assert (predicted["prediction"] == labels[yt]).mean() > 0.85
    likeliest = predicted.filter(like="probability_").to_numpy().argmax(axis=1)
    likeliest, agreed = found.model.classes_[likeliest], predicted["agreement"] == 1
    np.testing.assert_array_equal(likeliest[agreed], predicted["prediction"][agreed])
    assert predicted.index.equals(target.index)


def test_it_is_what_the_estimators_do_with_the_encoded_tables():
    source, ys, target, _ = tables()
    found = adapt(source.assign(y=ys), target, "y", classifier="logistic")
    plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    expected = AutoAdaptation(plain).fit(source, ys, target).predict_proba(target)
    np.testing.assert_allclose(found.predict(target)["probability_1"], expected[:, 1])


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_probabilities_are_those_of_the_assumed_class_shares(classifier):
    source, ys, target, yt = tables(400, scale=1.0, shares=(0.15, 0.85))
    # A second column that the classes share: no map of single columns looks like other shares.
    source["z"] = source["x"] + 0.5 * source["z"]
    target["z"] = target["x"] + 0.5 * target["z"]
    found = adapt(source.assign(y=ys), target, "y", classifier=classifier)
    assert found.verdict.advice == "reweighted"
    predicted = found.predict(target)
    assert abs(predicted["probability_1"].mean() - yt.mean()) < 0.08
    np.testing.assert_allclose(predicted["probability_0"] + predicted["probability_1"], 1)


def test_rows_between_the_classes_are_abstained_from():
    source, ys, target, yt = tables(400)
    found = adapt(source.assign(y=ys), target, "y", classifier="logistic")
    predicted = found.predict(target)
    right = predicted["prediction"].to_numpy() == yt
    doubtful = predicted["abstain"].to_numpy()
    assert 0.02 < doubtful.mean() < 0.3
    assert right[~doubtful].mean() > right[doubtful].mean() + 0.1


def test_target_labels_cannot_reach_a_fit():
    source, ys, target, yt = tables()
    first, other = (
        adapt(source.assign(y=ys), target.assign(y=labels), "y", classifier="logistic")
        for labels in (yt, 1 - yt)
    )
    pd.testing.assert_frame_equal(first.predict(target), other.predict(target))
    assert first.verdict == other.verdict


def test_a_useful_classifier_of_a_rare_class_is_not_called_useless():
    rng = np.random.default_rng(0)
    y = (rng.random(800) < 0.05).astype(int)
    x = rng.normal(size=800) + 1.5 * y  # right less often than "always 0", and yet informative
    frame = pd.DataFrame({"x": x})
    found = adapt(frame.assign(y=y), frame + 10, "y", classifier="logistic")
    assert found.verdict.advice == "adapted"
    useless = adapt(frame.assign(y=rng.permutation(y)), frame + 10, "y", classifier="logistic")
    assert useless.verdict.advice == "none"


def test_a_class_of_three_rows_in_a_large_table_is_checked_too():
    n = 6000
    y = np.array(["a", "b"] * (n // 2), dtype=object)
    y[:3] = "rare"
    x = np.select([y == "a", y == "b"], [0.0, 5.0], 50.0) + np.random.default_rng(0).normal(size=n)
    frame = pd.DataFrame({"x": x})
    verdict = adapt(frame.assign(y=y), frame, "y", classifier="logistic").verdict
    assert verdict.advice == "plain"


def test_outliers_of_the_target_are_said_and_categories_have_none():
    source, ys, target, _ = tables(scale=1.0)
    source = source.assign(flag=0, level="a")
    rare = np.arange(120) < 6
    target = target.assign(flag=rare.astype(int), level=np.where(rare, "b", "a"))
    pair = Pair.of(source.assign(y=ys), target, "y", classifier="logistic")
    assert pair.adapt().verdict.numbers["outlying"] == 0
    far = target.assign(x=np.where(rare, 1e4, target["x"]))
    verdict = Pair.of(source.assign(y=ys), far, "y", classifier="logistic").adapt().verdict
    assert verdict.numbers["outlying"] == 0.05
    assert any("5.0%" in sentence for sentence in verdict.evidence)


def test_moved_categories_are_valid_again_and_an_unknown_level_stays_unknown():
    moved = [[0.3, 0.4, 0.1, 0.6, 7.0], [0.0, 0.0, 0.0, 0.0, 1.5], [-0.2, 1.3, 0.2, 0.4, 0.0]]
    valid = ValidCategories([[0, 1, 2], [3]]).fit_transform(moved)
    np.testing.assert_array_equal(valid, [[0, 1, 0, 1, 7], [0, 0, 0, 0, 1.5], [0, 1, 0, 0, 0]])
    np.testing.assert_array_equal(ValidCategories([[0, 1, 2], [3]]).fit_transform(valid), valid)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"method": "best"}, ValueError), ({"classifier": "tree"}, ValueError),
     ({"drop": "x"}, TypeError), ({"label": "w"}, TableError)],
)  # fmt: skip
def test_wrong_names_are_refused(options, error):
    source, ys, target, _ = tables()
    with pytest.raises(error):
        adapt(source.assign(y=ys), target, **{"label": "y"} | options)


def test_the_time_of_a_fit_grows_by_a_power_of_its_rows_between_one_and_three():
    first, last = TIMED_ROWS
    quadratic = extrapolated([0.5, 0.5 * (last / first) ** 2], 10 * first)
    assert quadratic == pytest.approx(50)
    assert extrapolated([2.0, 1.0], 2 * last) == pytest.approx(2)  # noise: no faster with more
    assert extrapolated([1e-3, 10.0], 2 * last) == pytest.approx(80)


@pytest.mark.parametrize(
    ("n", "seconds", "said"),
    [(120, 30.0, ""), (4500, 0.2, ""), (4500, 30.4, "about 30 s"), (4500, 300.0, "about 5 min")],
)
def test_progress_says_how_long_a_fit_to_many_rows_takes(n, seconds, said, monkeypatch):
    monkeypatch.setattr("krda.adaptation.adapt.seconds_of_fit", lambda *_: seconds)
    source, ys, target, _ = tables(n)
    lines = []
    adapt(source.assign(y=ys), target, "y", classifier="logistic", progress=lines.append)
    (line,) = (line for line in lines if line.startswith("fitting auto"))
    assert said in line
    assert ("about" in line) == bool(said)


def test_the_time_of_a_fit_is_measured():
    source, ys, _, _ = tables(3500)
    assert 0 < seconds_of_fit(LogisticRegression(), source.to_numpy(), ys) < 60


def test_a_method_that_was_chosen_by_hand_is_judged_by_its_own_predictions():
    source, ys, target, _ = tables()
    pair = Pair.of(source.assign(y=ys), target, "y", classifier="logistic")
    found = {method: pair.adapt(method) for method in ("auto", "standardize", "plain")}
    assert {method: one.advised for method, one in found.items()} == {
        "auto": True, "standardize": True, "plain": False,
    }  # fmt: skip
    for one in found.values():
        shares = one.predict(target)["prediction"].value_counts(normalize=True)
        said = one.verdict.numbers["class_shares"]["predicted"]
        assert said == pytest.approx(
            {str(label): share for label, share in shares.items()}, abs=1e-4
        )
    assert "plain" in found["plain"].verdict.evidence[0]


def test_dates_that_do_not_overlap_are_noted():
    source, ys, target, _ = tables()
    days = pd.to_timedelta(np.arange(len(source)), "D")
    source, target = source.assign(on=pd.Timestamp("2023-01-01") + days), target.assign(on="")
    for start, noted in (("2023-03-01", False), ("2024-01-01", True)):
        both = source.assign(y=ys), target.assign(on=pd.Timestamp(start) + days)
        (report,) = (c for c in Pair.of(*both, "y").encoder.columns_ if c.name == "on")
        assert ("do not overlap" in report.note) == noted
