"""What the tables need: which cells, and what is already there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from experiments.cells.cell import Cell
from experiments.cells.configuration import CONFIG_DIRECTORY, cells_of, config_names

# How methods are called in tables and figures.
METHOD_LABELS = {
    "source_only": "Source only",
    "target_only": "Target only",
    "dann": "DANN",
    "sa": "SA",
    "kmm": "KMM",
    "ot": "OT",
    "shot": "SHOT",
    "cdan": "CDAN",
    "dan": "DAN",
    "jan": "JAN",
    "tca": "TCA",
    "krda": "KRDA",
    "sa_linear": "SA, linear SVM",
    "sa_scaled": "SA, z-scored as published",
    "standardize": "Each domain standardised",
    "quantiles": "Column quantiles",
    "ot_linear": "OT, linear",
    "ot_sinkhorn": "OT, Sinkhorn (POT default)",
    "ot_lpl1": "OT, class-regularised (POT default)",
    "krda_reversed": "KRDA, columns reversed",
    "krda_random": "KRDA, random column order",
    "krda_unspread": "KRDA, point masses left alone",
    "krda_pooled": "KRDA, pooled scaling",
    "krda_untrained": "KRDA, untrained",
    "dann_matched": "DANN, KRDA's size",
    "shot_matched": "SHOT, KRDA's size",
    "cdan_matched": "CDAN, KRDA's size",
    "dan_matched": "DAN, KRDA's size",
    "jan_matched": "JAN, KRDA's size",
}


def method_label(method: str) -> str:
    """How a method is called in tables and figures: its label, or its config name without one."""
    return METHOD_LABELS.get(method, method)


@dataclass(frozen=True)
class TablePlan:
    """One table: its cells are all pairs of its tasks and methods.

    Attributes
    ----------
    name : str
        Config name, and name of the rendered files.
    title : str
    dataset : str
    tasks : tuple of str
    task_label : str
        Format string for a task's name in the table.
    paper : tuple of str
        Config names of the paper's methods, in its order.
    ours : tuple of str
        Config names of methods that the paper does not have.
    test_rows : int
        Test rows behind an accuracy, for the verdict's rule.
    aside : tuple of str
        Tasks that a second mean leaves out.
    aside_why : str
        Why, for the caption.
    overrides : tuple of str
        Hydra overrides for every cell, such as a trial protocol.
    """

    name: str
    title: str
    dataset: str
    tasks: tuple[str, ...]
    task_label: str
    paper: tuple[str, ...]
    ours: tuple[str, ...]
    test_rows: int
    aside: tuple[str, ...] = ()
    aside_why: str = ""
    overrides: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """All methods: the paper's, then ours."""
        return (*self.paper, *self.ours)

    @cached_property
    def cells(self) -> dict[tuple[str, str], Cell]:
        """Cells by (task, method)."""
        cells = cells_of(self.dataset, self.tasks, self.methods, self.overrides)
        return {(cell.task, cell.method): cell for cell in cells}


def load_table(name: str, overrides: Sequence[str] = ()) -> TablePlan:
    """Read a table's config.

    Parameters
    ----------
    name : str
        Config name in configs/table.
    overrides : sequence of str
        Hydra overrides for every cell.

    Returns
    -------
    plan : TablePlan

    Raises
    ------
    ValueError
        No such table.
    """
    if name not in config_names("table"):
        raise ValueError(
            f"There is no table {name!r}; the tables are {', '.join(config_names('table'))}."
        )
    path = CONFIG_DIRECTORY / f"table/{name}.yaml"
    content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    for key in ("tasks", "paper", "ours", "aside"):
        content[key] = tuple(content.get(key, ()))
    return TablePlan(name=name, overrides=tuple(overrides), **content)


def default_tables(records: Path) -> tuple[str, ...]:
    """Names of the tables that are made where none is asked for.

    Of HEPMASS the real data's where it is on this computer, else that of the simulation. A table
    of which there are records already is made in any case, so that none is left behind.

    Parameters
    ----------
    records : Path
        Directory of the records.

    Returns
    -------
    names : tuple of str
    """
    preferred, other = ("hepmass", "hepmass_sim")
    if not _real_hepmass():
        preferred, other = other, preferred
    return tuple(
        name for name in config_names("table") if name != other or (records / name).is_dir()
    )


def note_on_hepmass(names: Sequence[str]) -> str | None:
    """Say which HEPMASS stands in the tables; None where none does.

    Parameters
    ----------
    names : sequence of str
        Of tables.

    Returns
    -------
    note : str or None
    """
    simulated = (
        "HEPMASS is SIMULATED (table hepmass_sim), not the real data; docs/hepmass.md says how to "
        "get that."
    )
    match "hepmass" in names, "hepmass_sim" in names:
        case True, True:
            return "HEPMASS: the real data (table hepmass) and a simulation (table hepmass_sim)."
        case True, False:
            return "HEPMASS: the real data."
        case False, True:
            return simulated
    return None


def _real_hepmass() -> bool:
    from experiments.datasets.hepmass import Hepmass

    return Hepmass.available()
