"""Two tables become numbers in the same way; what is left out or doubtful is said."""

import json
import warnings
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from krda.tables.encode import TableEncoder
from krda.tables.errors import TableError
from krda.tables.read import read_table

N = 60
RNG = np.random.default_rng(0)
SIZES = RNG.normal(size=N)


def frame(**columns):
    """A table with a column of numbers, so that one column is always used."""
    return pd.DataFrame({"size": SIZES, **columns})


def encode(source, target=None, **options):
    """Encode a column `x` of both tables; give its report and its output columns by name."""
    target = source if target is None else target
    S, T = frame(x=source), pd.DataFrame({"x": target})
    T = T.assign(size=np.linspace(0, 1, len(T)))
    encoder = TableEncoder(**options).fit(S, T)
    (report,) = [report for report in encoder.columns_ if report.name == "x"]
    outputs = [
        dict(zip(encoder.get_feature_names_out().tolist(), encoder.transform(X).T, strict=True))
        for X in (S, T)
    ]
    return report, *[
        {name: values.tolist() for name, values in X.items() if name != "size"} for X in outputs
    ]


def repeat(*values, n=N):
    return [values[i % len(values)] for i in range(n)]


def refusal(source, target=None, **options):
    with pytest.raises(TableError) as error:
        encode(source, target, **options)
    return str(error.value)


# Numbers


@pytest.mark.parametrize(
    "values",
    [
        repeat(1.5, -2.0, 30.0),
        repeat("1.5", "-2", "3e1"),
        repeat(" 1.5 ", "-2.0", "+30"),
        pd.array(repeat(1.5, -2.0, 30.0), dtype="Float64"),
        pd.array(repeat(1.5, -2.0, 30.0), dtype="float32"),
        np.array(repeat(1.5, -2, "30"), dtype=object),
    ],
)
def test_numbers_are_numbers_in_each_type(values):
    report, source, target = encode(values, repeat(1.5, -2.0, 30.0))
    assert (report.kind, report.missing_source, report.note) == ("number", 0, "")
    assert source == target == {"x": repeat(1.5, -2.0, 30.0)}


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
    assert "'x'" in message
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
ISO = repeat("2024-01-31", "2024-02-01T12:00")


def as_unit(unit):
    return pd.Series(pd.to_datetime(ISO, format="ISO8601")).dt.as_unit(unit)


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
        tables.append(
            pl.DataFrame({"size": SIZES, "x": as_unit(unit).to_list()}).with_columns(
                pl.col("x").cast(pl.Datetime(unit))
            )
        )
    for table in tables:
        encoder = TableEncoder().fit(table, frame(x=ISO))
        assert encoder.columns_[1].kind == "date"
        assert encoder.transform(table)[:, 1].tolist() == DAYS


@pytest.mark.parametrize(
    "values",
    [
        ["31.01.2024", "1.2.2024"],
        ["01/31/2024", "2/1/2024"],
        ["31/01/2024", "1/2/2024"],
        ["2024-01-31", "2024-02-01"],
        ["2024-01-31T02:00:00+02:00", "2024-02-01T00:00:00Z"],
        ["31.01.2024 00:00", "01.02.2024 00:00"],
        pd.to_datetime(["2024-01-31", "2024-02-01"]).date,
    ],
)
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
    assert [names[group].tolist() for group in encoder.groups_] == [
        ["a=u", "a=v", "a=w"],
        ["b"],
        ["c is missing"],
        ["d"],
    ]
    assert encoder.columns_[-1].kind == "boolean"


# Columns that are left out


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ([5] * N, [5] * N, "constant"),
        (["a"] * N, ["a "] * N, "constant"),
        ([2019] * N, [2021] * N, "constant"),  # tells the tables apart, and no classes
        (["north"] * N, ["south"] * N, "constant"),
        ([None] * N, [None] * N, "constant"),
        (repeat(1, 2), [None] * N, "constant"),
        (repeat("a", "b"), [""] * N, "constant"),
        (list(range(N)), list(range(N)), "identifier"),
        ([f"{i:05}" for i in range(N)], [f"{i:05}" for i in range(90, 190)], "identifier"),
        (RNG.permutation(N) + 100, RNG.permutation(N) + 1000, "identifier"),
        ([f"name {i}" for i in range(N)], [f"name {i}" for i in range(N)], "identifier"),
        ([f"name {i % 50}" for i in range(N)], [f"name {i}" for i in range(N)], "text"),
    ],
)
def test_columns_that_cannot_help_are_left_out(source, target, kind):
    report, *outputs = encode(source, target)
    assert report.kind == kind
    assert report.done.startswith("Left out")
    assert outputs == [{}, {}]


def test_different_whole_numbers_with_tails_are_a_quantity_and_noted():
    people = np.exp(RNG.normal(12, 2, N)).astype(int)
    report, source, _ = encode(people)
    assert report.kind == "number"
    assert source["x"] == people.tolist()
    assert "identifier" in report.note


def test_columns_to_drop_may_be_in_one_table_alone():
    encoder = TableEncoder(drop=["id", "day"]).fit(frame(id=range(N)), frame(day="monday"))
    assert [report.name for report in encoder.columns_] == ["size"]


def test_tables_without_any_column_that_helps_are_refused():
    X = pd.DataFrame({"id": range(N), "name": ["a"] * N})
    with pytest.raises(TableError, match=r"no column is left.*id \(identifier\)"):
        TableEncoder().fit(X, X)


# Columns and tables that are refused


@pytest.mark.parametrize("cell", ["12 kg", "1_0", "inf", "1e400", "12%", "٣"])
def test_an_odd_cell_among_numbers_is_named(cell):
    target = list(map(str, SIZES))
    target[7] = cell
    message = refusal(list(SIZES), target)
    assert "'x'" in message
    assert "target" in message
    assert cell in message
    assert "row 7" in message or "finite" in message


def test_an_infinite_number_is_named():
    message = refusal([*repeat(1.5, 2.5, n=N - 1), np.inf])
    assert "'x'" in message
    assert "'inf' in row 59" in message


def test_a_row_of_a_file_is_called_by_its_line(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("size,x\n" + "".join(f"{i},{i / 7}\n" for i in range(N)) + '\n"9",big\n')
    table = read_table(path).frame
    with pytest.raises(TableError, match=f"'big' in line {N + 3};"):
        TableEncoder().fit(table, frame(x=SIZES))


def test_an_odd_cell_among_dates_is_named():
    message = refusal(["2024-13-45", *repeat("2024-01-31", "2024-02-01", n=N - 1)])
    assert "'2024-13-45' in row 0" in message
    assert "categories" in message


def test_numbers_with_many_words_are_a_category():
    assert encode(repeat("1", "2", "12B", "3"))[0].kind == "category"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (list(SIZES), repeat("low", "high")),
        (repeat("low", "high"), list(SIZES)),
        (repeat("2024-01-31", "2024-02-01"), repeat("31.01.2024", "01.02.2024")),
        (as_unit("us"), repeat("early", "late")),
        (as_unit("us"), list(SIZES)),
        (as_unit("us").replace(as_unit("us")[0], pd.Timestamp("0001-01-01")), list(SIZES)),
    ],
)
def test_columns_that_hold_different_things_are_refused(source, target):
    message = refusal(source, target)
    assert "'x'" in message
    assert "row 0" in message
    assert "drop" in message


def test_a_small_table_may_lack_the_words_of_a_category():
    assert encode(repeat("101", "12B"), ["101", "101"])[0].kind == "category"


def test_columns_in_one_table_alone_are_refused_with_similar_names():
    with pytest.raises(TableError, match=r"only the source has .* colour.* mean Color"):
        TableEncoder().fit(frame(colour=repeat("a", "b")), frame(Color=repeat("a", "b")))


@pytest.mark.parametrize("parameter", ["drop", "categories"])
def test_unknown_names_in_parameters_are_refused(parameter):
    with pytest.raises(TableError, match=rf"{parameter}.*: sise\. Did you mean size"):
        TableEncoder(**{parameter: ["sise"]}).fit(frame(), frame())


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "source has several columns of one name: a"),
        (pd.DataFrame({"a": []}), "source has no rows"),
        (np.zeros((3, 2)), "source is of type ndarray; expected a data frame"),
    ],
)
def test_other_objects_and_empty_tables_are_refused(table, expected):
    with pytest.raises(TableError, match=expected):
        TableEncoder().fit(table, frame())


# Later tables


@pytest.fixture
def fitted():
    S = frame(plan=repeat("basic", "full"), day=ISO, old=repeat("yes", "no"), same=1)
    return TableEncoder().fit(S, S.sample(frac=1, random_state=0)), S


def test_columns_are_found_by_name_and_one_row_is_enough(fitted):
    encoder, S = fitted
    whole = encoder.transform(S)
    assert whole.dtype == np.float64
    assert whole.flags.writeable
    row = S.iloc[[3]].drop(columns="same")
    np.testing.assert_array_equal(encoder.transform(row[row.columns[::-1]]), whole[[3]])


def test_columns_that_the_source_does_not_have_are_left_out_and_named():
    encoder = TableEncoder(drop=["old"]).fit(frame(old=1), frame(extra=1))
    assert [report.name for report in encoder.columns_] == ["size"]
    with pytest.warns(UserWarning, match=r"no features of the source: extra\."):
        X = encoder.transform(frame(extra=1, old=2))
    assert X.shape == (N, 1)


def test_a_missing_column_is_named(fitted):
    encoder, S = fitted
    with pytest.raises(TableError, match=r"no column plan.*mean Plan"):
        encoder.transform(S.rename(columns={"plan": "Plan"}))


@pytest.mark.parametrize(
    ("name", "cell"), [("size", "big"), ("size", np.inf), ("day", "today"), ("old", "maybe")]
)
def test_a_cell_of_another_kind_is_named(fitted, name, cell):
    encoder, S = fitted
    with pytest.raises(TableError, match=rf"'{name}' of the table has '{cell}' in row 0"):
        encoder.transform(S.iloc[:1].assign(**{name: cell}))


def test_missing_values_are_filled_as_in_fit(fitted):
    encoder, S = fitted
    row = S.iloc[:1].assign(size="NA", old=None)
    with pytest.warns(UserWarning, match="had none in fit") as caught:
        X = encoder.transform(row)
    assert len(caught) == 2
    assert X[0, 0] == np.median(SIZES)
    assert np.isfinite(X).all()


def test_unknown_levels_are_zeros_and_counted(fitted):
    encoder, S = fitted
    with pytest.warns(UserWarning, match=r"'plan' of the table has 2 cells .*: gold"):
        X = encoder.transform(S.iloc[:3].assign(plan=["gold", "gold", "full"]))
    names = encoder.get_feature_names_out().tolist()
    assert X[:, [names.index("plan=basic"), names.index("plan=full")]].tolist() == [
        [0, 0],
        [0, 0],
        [0, 1],
    ]


def test_unknown_levels_are_other_if_there_is_one():
    S = frame(x=[*repeat("a", "b", n=N - 1), "c"])
    encoder = TableEncoder().fit(S, S)
    with pytest.warns(UserWarning, match="'other'"):
        X = encoder.transform(S.iloc[:1].assign(x="new"))
    assert X[0, 1:].tolist() == [0, 0, 1]


# As an estimator


def test_an_encoder_is_an_estimator(fitted):
    encoder, S = fitted
    with pytest.raises(NotFittedError):
        clone(encoder).transform(S)
    categories = ["old"]
    other = TableEncoder(categories=categories)
    np.testing.assert_array_equal(other.fit_transform(S, S), other.transform(S))
    assert other.get_params()["categories"] is categories
    assert other.set_output(transform="pandas").transform(S).columns[0] == "size"


def test_reports_can_be_written_as_json(fitted):
    encoder, _ = fitted
    reports = json.loads(json.dumps([asdict(report) for report in encoder.columns_]))
    assert reports[0] == {
        "name": "size",
        "kind": "number",
        "done": "Used as a number.",
        "missing_source": 0,
        "missing_target": 0,
        "note": "",
    }
    assert json.loads(json.dumps(encoder.groups_)) == encoder.groups_


def test_files_of_several_formats_give_the_same_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("openpyxl")
    S = pd.DataFrame(
        {
            "size": SIZES.round(3),
            "count": repeat(1, 2, None),
            "day": pd.to_datetime(repeat("2024-01-31", "2024-02-01")),
            "plan": repeat("a", "b", "NA", None),
            "old": repeat(True, False),
        }
    )
    S.to_csv(tmp_path / "a.csv", index=False)
    S.to_csv(tmp_path / "b.csv.gz", index=False, sep=";", decimal=",", encoding="utf-16")
    S.to_parquet(tmp_path / "c.parquet")
    S.to_feather(tmp_path / "d.feather")
    S.to_excel(tmp_path / "e.xlsx", index=False)
    tables = [read_table(path).frame for path in sorted(tmp_path.iterdir())]
    encoder = TableEncoder().fit(tables[0], S)
    assert len(tables) == 5
    for table in tables:
        np.testing.assert_array_equal(encoder.transform(table), encoder.transform(S))
        np.testing.assert_array_equal(
            TableEncoder().fit(table, S).transform(S), encoder.transform(S)
        )
