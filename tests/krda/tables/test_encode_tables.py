"""Which columns and tables are used, left out or refused, in fit and afterwards."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from encoded_columns import ISO, SIZES, N, as_unit, encode, frame, refusal, repeat
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from krda.tables.encode import TableEncoder
from krda.tables.errors import TableError
from krda.tables.read import read_table

RNG = np.random.default_rng(2)


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
    assert "target" in message
    assert cell in message
    assert "row 7" in message or "finite" in message


def test_an_infinite_number_is_named():
    message = refusal([*repeat(1.5, 2.5, n=N - 1), np.inf])
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
    assert X[:, names.index("plan=basic")].tolist() == [0, 0, 0]
    assert X[:, names.index("plan=full")].tolist() == [0, 0, 1]


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
    for written in ([asdict(report) for report in encoder.columns_], encoder.groups_):
        assert json.loads(json.dumps(written)) == written


def test_files_of_several_formats_give_the_same_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("openpyxl")
    days = pd.to_datetime(repeat("2024-01-31", "2024-02-01"))
    plans, old = repeat("a", "b", "NA", None), repeat(True, False)
    S = frame(size=SIZES.round(3), count=repeat(1, 2, None), day=days, plan=plans, old=old)
    S.to_csv(tmp_path / "a.csv", index=False)
    S.to_csv(tmp_path / "b.csv.gz", index=False, sep=";", decimal=",", encoding="utf-16")
    S.to_parquet(tmp_path / "c.parquet")
    S.to_feather(tmp_path / "d.feather")
    S.to_excel(tmp_path / "e.xlsx", index=False)
    tables = [read_table(path).frame for path in sorted(tmp_path.iterdir())]
    encoder = TableEncoder().fit(tables[0], S)
    assert len(tables) == 5
    expected = encoder.transform(S)
    for table in tables:
        np.testing.assert_array_equal(encoder.transform(table), expected)
        np.testing.assert_array_equal(TableEncoder().fit(table, S).transform(S), expected)
