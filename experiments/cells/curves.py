"""What a learning curve needs: cells of the benchmark along a setting that varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import yaml

from experiments.cells.cell import Cell
from experiments.cells.configuration import CONFIG_DIRECTORY, cells_of, config_names
from experiments.cells.plan import TablePlan


@dataclass(frozen=True)
class CurvePlan:
    """One learning curve: its cells are all pairs of its values and methods.

    Attributes
    ----------
    name : str
        Config name, and name of the figure's files.
    title : str
    dataset : str
    task : str
    vary : tuple of str
        Keys of the config, each set to the value.
    values : tuple of int
        In the order of the axis.
    label : str
        Of the axis.
    everywhere : tuple of str
        Config names of the methods shown in every panel.
    panels : dict of str to tuple of str
        Title of a panel to the methods that it shows alone.
    overrides : tuple of str
        Hydra overrides for every cell, such as a trial protocol.
    """

    name: str
    title: str
    dataset: str
    task: str
    vary: tuple[str, ...]
    values: tuple[int, ...]
    label: str
    everywhere: tuple[str, ...]
    panels: dict[str, tuple[str, ...]]
    overrides: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """All methods, each once."""
        own = (method for methods in self.panels.values() for method in methods)
        return tuple(dict.fromkeys((*self.everywhere, *own)))

    @cached_property
    def cells(self) -> dict[tuple[int, str], Cell]:
        """Cells by (value, method)."""
        cells = {}
        for value in self.values:
            told = tuple(f"{key}={value}" for key in self.vary)
            for cell in cells_of(self.dataset, [self.task], self.methods, (*self.overrides, *told)):
                cells[value, cell.method] = replace(cell, overrides=told)
        return cells


def load_curve(name: str, overrides: Sequence[str] = ()) -> CurvePlan:
    """Read a learning curve's config.

    Parameters
    ----------
    name : str
        Config name in configs/curve.
    overrides : sequence of str
        Hydra overrides for every cell.

    Returns
    -------
    plan : CurvePlan

    Raises
    ------
    ValueError
        No such curve.
    """
    if name not in config_names("curve"):
        raise ValueError(
            f"There is no curve {name!r}; the curves are {', '.join(config_names('curve'))}."
        )
    text = (CONFIG_DIRECTORY / f"curve/{name}.yaml").read_text(encoding="utf-8")
    content: Any = yaml.safe_load(text)
    for key in ("vary", "values", "everywhere"):
        content[key] = tuple(content[key])
    content["panels"] = {title: tuple(methods) for title, methods in content["panels"].items()}
    return CurvePlan(name=name, overrides=tuple(overrides), **content)


def curves_of(tables: Sequence[TablePlan]) -> list[CurvePlan]:
    """The learning curves that belong to some tables: those of the tables' data sets.

    Parameters
    ----------
    tables : sequence of TablePlan

    Returns
    -------
    curves : list of CurvePlan
        With the tables' overrides.
    """
    overrides = tables[0].overrides if tables else ()
    datasets = {table.dataset for table in tables}
    curves = [load_curve(name, overrides) for name in config_names("curve")]
    return [curve for curve in curves if curve.dataset in datasets]
