"""Tables, labels and parameters that would be misread are refused, and named."""

import datetime
import decimal
import math

import numpy as np
import pandas as pd
import pytest

from krda import KRDA
from krda.validation import check_labels, check_rows, require_integer, require_number, require_truth

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
DAYS = pd.date_range("2020-01-01", periods=3)


def frame(**columns):
    return pd.DataFrame({"a": ROWS[:, 0], **columns})


HUGE = [[10**400, 1], [1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (DAYS.to_numpy()[:, None].astype("datetime64[s]"), "columns of dates or durations"),
        (DAYS.to_numpy()[:, None], "columns of dates or durations"),
        (frame(b=DAYS.tz_localize("UTC")), "columns of dates or durations: b;"),
        (frame(b=pd.Categorical([*"xyx"])), r"columns that are not numbers: b \(.*Encode"),
        (pd.DataFrame([[1, 2, 3, 4]] * 3, columns=[*"abb", 7]), r"columns of one name: b\. Rename"),
        (HUGE, "integers beyond 1e308"),
        (np.array(HUGE, dtype=object), "integers beyond 1e308"),
        (pd.DataFrame(HUGE, dtype=object), "integers beyond 1e308"),
    ],
)
def test_tables_that_would_be_misread_are_refused_by_name(table, message):
    with pytest.raises(ValueError, match=f"Xt (has|has several|holds) {message}"):
        check_rows(table, "Xt", 2)


@pytest.mark.parametrize(
    "table",
    [
        *(ROWS.astype(dtype) for dtype in (np.float32, np.int8, np.uint64, object)),
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


@pytest.mark.parametrize("labels", [np.array([1, "no", "no"], dtype=object), ["1", 1, "a"]])
def test_a_mixture_of_kinds_of_labels_is_named(labels):
    with pytest.raises(ValueError, match=r"Unknown label type: ys .* some of type int; expected"):
        check_labels(labels, ROWS, "ys")


@pytest.mark.parametrize(
    ("dtype", "expected"), [("Int64", np.int64), ("boolean", np.bool_), ("Int8", np.int8)]
)
def test_nullable_labels_keep_their_kind(dtype, expected):
    labels, classes = check_labels(pd.Series([0, 1, 0], dtype=dtype), ROWS, "ys")
    assert labels.dtype == classes.dtype == expected
    np.testing.assert_array_equal(labels, [0, 1, 0])


def fitted_to(*columns):
    """A model, and the source that it was fitted to, with these names of columns."""
    Xs = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=columns)
    return KRDA(max_steps=5, random_state=0).fit(Xs, Xs.iloc[:, 0] > 0, Xs + 1), Xs


def test_a_frame_with_names_where_the_fit_had_numbers_goes_by_position():
    model, Xs = fitted_to(0, 1)
    with pytest.warns(UserWarning, match="feature names"):
        assert len(model.predict(Xs.set_axis(["x0", "x1"], axis=1))) == 30


def test_columns_are_matched_by_numbers_too_and_nan_as_a_name_is_itself():
    model, Xs = fitted_to(np.nan, 1)
    expected = model.predict(pd.DataFrame(Xs.to_numpy(), columns=[float("nan"), 1]))
    np.testing.assert_array_equal(model.predict(Xs[[1, np.nan]]), expected)
    with pytest.raises(ValueError, match="same features"):
        model.predict(Xs.set_axis([1, 2], axis=1))


def test_columns_of_which_one_has_a_name_go_by_no_position():
    model, Xs = fitted_to("a", "b")
    with pytest.raises(ValueError, match="same features"):
        model.predict(Xs.set_axis(["a", 1], axis=1))
    with pytest.raises(ValueError, match="Xs has 1 columns"):
        model.transform(Xs[["a"]])


def frames_of(columns):
    """The same columns as a data frame of each library, or a skip."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    return pd.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)


MOMENT = datetime.datetime(2020, 1, 1, 12)
TIMES = [MOMENT, MOMENT.date(), MOMENT.time(), datetime.timedelta(days=1)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        *(([time] * 3, "dates or durations: b;") for time in TIMES),
        (["x", "y", "z"], "not numbers: b "),
        ([[1.0], [2.0], [3.0]], "not numbers: b "),
        ([1.0, None, 2.0], "NaN"),
        ([1, None, 2], "NaN"),
        ([True, None, False], "NaN"),
        ([True, False, True], None),
        ([decimal.Decimal("1.5")] * 3, None),
        ([1, 2, 3], None),
        (["1.5", "2", "3"], None),
    ],
)
def test_frames_of_pandas_polars_and_pyarrow_are_read_alike(values, message):
    for table in frames_of({"a": [0.0, 1.0, 2.0], "b": values}):
        if message is None:
            expected = np.column_stack([[0.0, 1.0, 2.0], np.array(values, dtype=np.float64)])
            np.testing.assert_array_equal(check_rows(table, "Xs", 2), expected)
        else:
            with pytest.raises(ValueError, match=f"Xs .*{message}"):
                check_rows(table, "Xs", 2)


def test_columns_are_matched_by_name_in_frames_of_any_library():
    rng = np.random.default_rng(0)
    X = {"a": rng.normal(size=30), "b": 10 + 2 * rng.normal(size=30)}
    rows, swapped = np.column_stack([*X.values()]), dict(reversed(X.items()))
    plain = KRDA(max_steps=2, random_state=0).fit(rows, X["a"] > 0, rows)
    for source, target in zip(frames_of(X), frames_of(swapped), strict=True):
        model = KRDA(max_steps=2, random_state=0).fit(source, X["a"] > 0, target)
        assert list(model.feature_names_in_) == ["a", "b"]
        for other in frames_of(swapped):
            np.testing.assert_array_equal(model.transform(other), plain.transform(rows))
            np.testing.assert_array_equal(model.predict(other), plain.predict(rows))


@pytest.mark.parametrize("value", [0, 1.5, "3", True, None])
def test_integers_are_checked(value):
    with pytest.raises(ValueError, match="n_epochs must be an integer of at least 1"):
        require_integer("n_epochs", value, 1)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "1", None, True, 10**400])
def test_numbers_are_checked(value):
    with pytest.raises(ValueError, match="learning_rate must be a positive finite number"):
        require_number("learning_rate", value, positive=True)
    require_number("trade_off", 0, positive=False)


def test_truth_values_are_checked():
    with pytest.raises(ValueError, match="spread_atoms must be True or False, got 'no'"):
        require_truth("spread_atoms", "no")
