"""CSV files changed as other programs would write them."""

import csv
from pathlib import Path

import pandas as pd


def change(name, function):
    """Rewrite a table by a function of a data frame."""
    function(pd.read_csv(name)).to_csv(name, index=False)


def set_column(name, key, values):
    """Write a column of text, as a program would that quotes whatever is not plain."""
    with Path(name).open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    header = [*header, key] if key not in header else header
    rows = [[*row[: header.index(key)], value] for row, value in zip(rows, values, strict=True)]
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([header, *rows])


def column(name, key):
    """Read a column as text."""
    with Path(name).open(newline="", encoding="utf-8") as stream:
        return [row[key] for row in csv.DictReader(stream)]
