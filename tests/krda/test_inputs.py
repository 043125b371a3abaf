"""Tables and labels that would be misread without a word are refused, and named."""

import datetime

import numpy as np
import pandas as pd
import pytest

from krda import KRDA
from krda.inputs import check_labels, check_rows

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
DAYS = pd.date_range("2020-01-01", periods=3)


def frame(**columns):
    return pd.DataFrame({"a": ROWS[:, 0], **columns})


@pytest.mark.parametrize(
    "table",
    [
        frame(b=DAYS),
        frame(b=DAYS.tz_localize("UTC")),
        frame(b=DAYS - DAYS[0]),
    ],
    ids=["dates", "dates with a zone", "durations"],
)
def test_columns_of_dates_are_named(table):
    with pytest.raises(ValueError, match="Xs has columns of dates or durations: b;"):
        check_rows(table, "Xs", 2)


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_an_array_of_dates_is_refused_for_its_numbers_hang_on_the_unit(unit):
    dates = np.array([["2020-01-01"], ["2020-01-02"]], dtype=f"datetime64[{unit}]")
    with pytest.raises(ValueError, match="dates or durations"):
        check_rows(dates, "Xs", 2)


@pytest.mark.parametrize(
    "values",
    [["x", "y", "z"], pd.Categorical(["x", "y", "x"]), [datetime.date(2020, 1, 1)] * 3],
    ids=["text", "categories", "date objects"],
)
def test_columns_that_are_no_numbers_are_named(values):
    with pytest.raises(ValueError, match=r"Xt has columns that are not numbers: b \(.*Encode"):
        check_rows(frame(b=values), "Xt", 2)


def test_two_columns_of_one_name_are_named():
    table = pd.DataFrame(np.ones((3, 4)), columns=["a", "b", "b", 7])
    with pytest.raises(ValueError, match=r"Xs has several columns of one name: b\. Rename"):
        check_rows(table, "Xs", 2)


@pytest.mark.parametrize(
    "table",
    [
        ROWS.astype(np.float32),
        ROWS.astype(np.int8),
        ROWS.astype(np.uint64),
        ROWS.astype(object),
        np.ma.masked_array(ROWS, mask=False),
        pd.DataFrame(ROWS, columns=["a", "b"]).astype("Float64"),
        pd.DataFrame(ROWS, columns=["a", "b"]).astype("Int64"),
        pd.DataFrame(ROWS, columns=[3, 4]).astype(object),
        frame(b=pd.Categorical([2, 4, 7])),
        ROWS.tolist(),
    ],
    ids=lambda table: f"{type(table).__name__} {getattr(table, 'dtype', '')}",
)
def test_numbers_of_any_type_come_as_they_are(table):
    checked = check_rows(table, "Xs", 2)
    assert checked.dtype == np.float64
    np.testing.assert_array_equal(checked, ROWS)


def test_integers_next_to_the_largest_do_not_overflow():
    large = np.array([[np.iinfo(np.int64).max], [np.iinfo(np.int64).min]])
    np.testing.assert_array_equal(check_rows(large, "Xs", 2), [[2.0**63], [-(2.0**63)]])


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", None, "b"], dtype=object),
        np.array(["a", np.nan, "b"], dtype=object),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series(pd.Categorical(["a", None, "b"])),
        pd.Series([0, None, 1], dtype="Int64"),
        pd.Series([True, None, False], dtype="boolean"),
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        (0, pd.NA, 1),
    ],
    ids=["None", "NaN", "string", "category", "Int64", "boolean", "list", "NaN in a list", "tuple"],
)
def test_a_missing_label_of_any_kind_is_named(labels):
    with pytest.raises(ValueError, match=r"ys contains NaN(\.|, None .*\(first: 1\))"):
        check_labels(labels, ROWS, "ys")


def test_a_mixture_of_kinds_of_labels_is_named():
    with pytest.raises(ValueError, match=r"Unknown label type: ys .* some of type int; expected"):
        check_labels(np.array([1, "no", "no"], dtype=object), ROWS, "ys")


@pytest.mark.parametrize(
    ("dtype", "expected"), [("Int64", np.int64), ("boolean", np.bool_), ("Int8", np.int8)]
)
def test_nullable_labels_keep_their_kind(dtype, expected):
    labels, classes = check_labels(pd.Series([0, 1, 0], dtype=dtype), ROWS, "ys")
    assert labels.dtype == classes.dtype == expected
    np.testing.assert_array_equal(labels, [0, 1, 0])


@pytest.mark.parametrize("unit", [1e-200, 1e200, 1e307])
@pytest.mark.parametrize("domain", ["source", "target"])
@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.filterwarnings("ignore:invalid value")
def test_numbers_without_a_standard_deviation_are_refused_before_training(unit, domain):
    rng = np.random.default_rng(0)
    Xs, Xt = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    {"source": Xs, "target": Xt}[domain][:, 1] *= unit
    with pytest.raises(ValueError, match=r"Columns \[1\] hold numbers so large or so small"):
        KRDA(random_state=0).fit(Xs, Xs[:, 0] > 0, Xt)


def test_a_frame_of_krdas_own_making_can_be_predicted():
    """Its columns have names, those of the fit had numbers."""
    rng = np.random.default_rng(0)
    Xs, Xt = (pd.DataFrame(rng.normal(size=(30, 2))) for _ in range(2))
    model = KRDA(max_steps=5, random_state=0).set_output(transform="pandas")
    carried = model.fit(Xs, Xs[0] > 0, Xt).transform(Xs)
    assert list(carried.columns) == ["x0", "x1"]
    with pytest.warns(UserWarning, match="feature names"):
        assert len(model.predict(carried)) == 30


def test_a_column_called_mask_masks_nothing():
    np.testing.assert_array_equal(check_rows(frame(_mask=[1, 0, 1]), "Xs", 2)[:, 1], [1, 0, 1])


def test_numbered_columns_in_another_order_are_refused_and_nan_as_a_name_is_itself():
    rng = np.random.default_rng(0)
    Xs = pd.DataFrame(rng.normal(size=(30, 2)), columns=[np.nan, 1])
    model = KRDA(max_steps=5, random_state=0).fit(Xs, Xs[1] > 0, Xs + 1)
    model.predict(pd.DataFrame(Xs.to_numpy(), columns=[float("nan"), 1]))
    with pytest.raises(ValueError, match="same features in the same order"):
        model.predict(Xs[[1, np.nan]])
