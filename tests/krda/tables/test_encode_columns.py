"""What a column of each kind becomes: the same in both tables; what is doubtful is said."""

import warnings

import numpy as np
import pandas as pd
import pytest
from encoded_columns import ISO, SIZES, N, as_unit, encode, frame, refusal, repeat

from krda.tables.encode import TableEncoder

RNG = np.random.default_rng(1)


# Numbers


NUMBERS = repeat(1.5, -2.0, 30.0)


@pytest.mark.parametrize(
    "values",
    [NUMBERS, repeat("1.5", "-2", "3e1"), repeat(" 1.5 ", "-2.0", "+30"),
     pd.array(NUMBERS, dtype="Float64"), pd.array(NUMBERS, dtype="float32"),
     np.array(repeat(1.5, -2, "30"), dtype=object)],
)  # fmt: skip
def test_numbers_are_numbers_in_each_type(values):
    report, source, target = encode(values, NUMBERS)
    assert (report.kind, report.missing_source, report.note) == ("number", 0, "")
    assert source == target == {"x": NUMBERS}


def test_numbers_are_read_to_the_last_digit():
    report, source, _ = encode(list(map(repr, SIZES.tolist())))
    assert report.kind == "number"
    assert source["x"] == SIZES.tolist()


@pytest.mark.parametrize(
    "mark", ["", " ", "NA", "n/a", "#N/A", "<NA>", "NaN", "NULL", "None", "?", "-", "Missing", None]
)
def test_missing_numbers_become_the_median_of_both_tables_and_are_marked(mark):
    report, source, target = encode(repeat("1", mark), repeat("2", "3", "4", n=30))
    assert (report.missing_source, report.missing_target) == (30, 0)
    assert source["x"][:2] == [1.0, np.median([1] * 30 + [2, 3, 4] * 10)]
    assert source["x is missing"] == repeat(0.0, 1.0)
    assert target["x is missing"] == [0.0] * 30
    assert "median" in report.done


def test_few_missing_numbers_are_not_marked():
    values = [*repeat(1, 2, n=400), None]
    S = pd.DataFrame({"x": values})
    encoder = TableEncoder().fit(S, pd.DataFrame({"x": repeat(1, 2, 3)}))
    assert encoder.get_feature_names_out().tolist() == ["x"]
    assert encoder.columns_[0].missing_source == 1


@pytest.mark.parametrize("sentinel", [-999, 999, -9999.0, 9999, "-999", "999.0"])
def test_sentinels_are_missing(sentinel):
    values = [*map(str, RNG.normal(20, 5, N - 3)), *[str(sentinel)] * 3]
    report, source, _ = encode(values, repeat("18", "22.5"))
    assert (report.missing_source, report.missing_target) == (3, 0)
    assert "3 in the source, 0 in the target" in report.note
    assert max(map(abs, source["x"])) < 100
    assert source["x is missing"][-4:] == [0, 1, 1, 1]


def test_several_sentinels_are_found_and_apply_to_later_tables():
    S = frame(x=[*repeat(1.5, 2.5, 3.5, n=N - 4), -999, -999, -9999, -9999])
    encoder = TableEncoder().fit(S, S)
    X = encoder.transform(pd.DataFrame({"size": [0.0], "x": [-999]}))
    assert X.tolist() == [[0.0, 2.5, 1.0]]


@pytest.mark.parametrize(
    "values",
    [
        [*repeat(1.5, 2.5, n=N - 1), -999],  # once, for the target has the first rows alone
        [*repeat(10, 400, 950, n=N - 2), 999, 999],  # not far
        [*repeat(1, 5000, n=N - 2), 999, 999],  # not the greatest
        [*repeat(0, 1, n=N - 5), *[-1] * 5],  # a level
        [*repeat(1, 2, n=N - 2), 1234, 1234],  # a number that nobody writes for a gap
        repeat(5, -999),  # nothing says how far is far
    ],
)
def test_values_that_may_be_real_are_no_sentinels(values):
    report, source, _ = encode(values, values[:20])
    assert (report.missing_source, report.note) == (0, "")
    assert source == {"x": values}


def test_separators_of_thousands_are_read_if_all_are():
    report, source, _ = encode(repeat("1,234", "12,345,678.5", "7"))
    assert report.kind == "number"
    assert source["x"][:3] == [1234, 12345678.5, 7]
    assert "thousands" in report.note


@pytest.mark.parametrize("values", [repeat("1,5", "2,25"), repeat("1,234", "1,5"), ["1,5", *"23"]])
def test_decimal_commas_are_refused(values):
    message = refusal(repeat(*values), repeat("1", "2"))
    assert "source" in message
    assert "decimal" in message


def test_whole_numbers_stay_numbers_unless_they_are_named_categories():
    codes = repeat(1, 2, 5)
    assert encode(codes)[1] == {"x": codes}
    report, source, _ = encode(codes, repeat(1.0, 2.0, None), categories=["x"])
    assert report.kind == "category"
    assert list(source) == ["x=1", "x=2", "x=5", "x=missing"]


# Truth values


@pytest.mark.parametrize(
    "pair", [("true", "FALSE"), ("Yes", "no"), ("y", "N"), ("T", "f"), (True, False)]
)
def test_truth_values_become_one_and_zero(pair):
    report, source, target = encode(repeat(*pair), repeat(True, False))
    assert report.kind == "boolean"
    assert source == target == {"x": repeat(1.0, 0.0)}


def test_missing_truth_values_become_the_more_frequent_one():
    report, source, _ = encode(repeat("yes", "yes", "no", None))
    assert report.kind == "boolean"
    assert source == {"x": repeat(1.0, 1.0, 0.0, 1.0), "x is missing": repeat(0.0, 0.0, 0.0, 1.0)}
    values = pd.array(repeat(True, False, False, None), dtype="boolean")
    assert encode(values)[1]["x"] == repeat(1.0, 0.0, 0.0, 0.0)


def test_letters_of_several_pairs_are_levels():
    assert encode(repeat("n", "t"))[0].kind == "category"


def test_truth_values_of_one_table_may_be_zeros_and_ones_in_the_other():
    report, source, target = encode(repeat("true", "false"), repeat(1, 0))
    assert report.kind == "boolean"
    assert source == target


# Dates


DAYS = repeat(19753.0, 19754.5)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_are_days_since_1970_in_each_unit(unit):
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    tables = [
        frame(x=as_unit(unit)),
        frame(x=as_unit(unit).astype(pd.ArrowDtype(pa.timestamp(unit)))),
        frame(x=as_unit(unit).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
        pa.table({"size": SIZES, "x": pa.array(as_unit(unit), type=pa.timestamp(unit))}),
        frame(x=ISO),
    ]
    if unit != "s":  # polars has no seconds
        dates = pl.Series(as_unit(unit).to_list()).cast(pl.Datetime(unit))
        tables.append(pl.DataFrame({"size": SIZES, "x": dates}))
    for table in tables:
        encoder = TableEncoder().fit(table, frame(x=ISO))
        assert encoder.columns_[1].kind == "date"
        assert encoder.transform(table)[:, 1].tolist() == DAYS


@pytest.mark.parametrize(
    "values",
    [["31.01.2024", "1.2.2024"], ["01/31/2024", "2/1/2024"], ["31/01/2024", "1/2/2024"],
     ["2024-01-31", "2024-02-01"], ["2024-01-31T02:00:00+02:00", "2024-02-01T00:00:00Z"],
     ["31.01.2024 00:00", "01.02.2024 00:00"],
     pd.to_datetime(["2024-01-31", "2024-02-01"]).date],
)  # fmt: skip
def test_dates_as_text_are_days(values):
    report, source, _ = encode(repeat(*values))
    assert report.kind == "date"
    assert source["x"][:2] == [19753, 19754]


def test_the_other_table_may_show_which_number_is_the_day():
    report, source, _ = encode(repeat("01/02/2024", "03/02/2024"), repeat("31/01/2024"))
    assert report.kind == "date"
    assert source["x"][:2] == [19754, 19756]


@pytest.mark.parametrize(
    "values",
    [
        [f"{1 + i % 12:02}/{1 + i // 12:02}/2024" for i in range(N)],  # no cell shows the day
        [f"2024-01-{1 + i // 2:02}" if i % 2 else f"{1 + i // 2}.02.2024" for i in range(N)],
    ],
)
def test_dates_of_doubtful_or_mixed_forms_are_left_out_with_a_note(values):
    report, source, _ = encode(values)
    assert source == {}
    assert "2024-01-31" in report.note


def test_dates_can_be_named_categories():
    report, source, _ = encode(as_unit("ns"), categories=["x"])
    assert report.kind == "category"
    assert list(source) == ["x=2024-01-31 00:00:00", "x=2024-02-01 12:00:00"]


def test_missing_dates_become_the_median():
    report, source, _ = encode(repeat("2024-01-31", "2024-02-02", "2024-02-01", None))
    assert (report.kind, report.missing_source) == ("date", 15)
    assert source["x"][3] == 19754


# Categories


def test_each_level_of_both_tables_has_a_column():
    report, source, target = encode(repeat("a ", " b"), repeat("b", "c"))
    assert report.kind == "category"
    assert source == {"x=a": repeat(1.0, 0.0), "x=b": repeat(0.0, 1.0), "x=c": [0.0] * N}
    assert target["x=c"] == repeat(0.0, 1.0)
    assert "Only the source has 'a'" in report.note
    assert "Only the target has 'c'" in report.note


def test_rare_levels_are_joined_and_a_missing_value_is_a_level():
    values = [*repeat("a", "b", None, n=N - 2), "c", "d"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # rare levels are known
        report, source, _ = encode(values)
    assert list(source) == ["x=a", "x=b", "x=missing", "x=other"]
    assert source["x=other"][-2:] == [1, 1]
    assert np.sum([*source.values()], axis=0).tolist() == [1] * N
    assert "2 rare" in report.done


def test_a_level_that_is_frequent_in_a_small_target_is_not_rare():
    _, source, _ = encode(repeat("a", "b"), ["c", "c", "a"])
    assert list(source) == ["x=a", "x=b", "x=c"]


def test_pandas_categories_are_categories():
    assert encode(pd.Categorical(repeat(1, 2, 3)))[0].kind == "category"
    assert list(encode(pd.Categorical(repeat("u", "v")))[1]) == ["x=u", "x=v"]


def test_text_of_many_levels_is_left_out_unless_it_is_named_a_category():
    words = [f"word {i % 40}" for i in range(N)]
    report, source, _ = encode(words)
    assert (report.kind, source) == ("text", {})
    assert "categories" in report.done
    report, source, _ = encode(words, categories=["x"])
    assert report.kind == "category"
    assert "x=word 1" in source


def test_groups_are_the_columns_of_zeros_and_ones():
    S = frame(
        a=repeat("u", "v", "w"),
        b=repeat("yes", "no"),
        c=[*repeat(1.5, 2.5, n=N - 9), *[None] * 9],
        d=repeat(0, 1, 1),
    )
    encoder = TableEncoder().fit(S, S)
    names = encoder.get_feature_names_out()
    groups = [names[group].tolist() for group in encoder.groups_]
    assert groups == [["a=u", "a=v", "a=w"], ["b"], ["c is missing"], ["d"]]
    assert encoder.columns_[-1].kind == "boolean"
