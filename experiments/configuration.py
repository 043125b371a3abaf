"""From Hydra's configs to cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf

from experiments.cells import Cell

CONFIG_DIRECTORY = Path(__file__).resolve().parent.parent / "configs"


@contextmanager
def _hydra() -> Iterator[None]:
    """Hydra's composition, also within a program that Hydra has not started."""
    if GlobalHydra.instance().is_initialized():
        yield
    else:
        with initialize_config_dir(str(CONFIG_DIRECTORY), version_base="1.3"):
            yield


def compose_config(overrides: Sequence[str]) -> DictConfig:
    """Compose the benchmark's config.

    Parameters
    ----------
    overrides : sequence of str
        In Hydra's grammar: ``("dataset=moons", "method=krda", "method.n_components=3")``.

    Returns
    -------
    config : DictConfig
    """
    with _hydra():
        return compose("benchmark", overrides=list(overrides))


def cell_from_config(config: DictConfig, task: str | None = None) -> Cell:
    """Resolve a composed config to the cell it stands for.

    Parameters
    ----------
    config : DictConfig
    task : str or None
        Another task of the same data set; None takes the config's own.

    Returns
    -------
    cell : Cell
        Its config holds what can change its numbers, and nothing else.
    """
    resolved: Any = OmegaConf.to_container(config, resolve=True)
    dataset, method, protocol = (dict(resolved[key]) for key in ("dataset", "method", "protocol"))
    quick = method.pop("quick")
    if protocol.pop("quick"):
        method.update(quick)
    return Cell(
        {
            "dataset": {"name": dataset["name"], "data": dataset["data"]},
            "task": str(dataset["task"] if task is None else task),
            "method": method,
            "protocol": protocol,
        }
    )


def cells_of(
    dataset: str, tasks: Sequence[str], methods: Sequence[str], overrides: Sequence[str] = ()
) -> list[Cell]:
    """All cells of a grid: each method is composed once for all tasks.

    Parameters
    ----------
    dataset : str
        Config name.
    tasks : sequence of str
    methods : sequence of str
        Config names.
    overrides : sequence of str
        For all of them, such as ``("protocol=smoke",)``.

    Returns
    -------
    cells : list of Cell
    """
    cells = []
    for method in methods:
        config = compose_config((f"dataset={dataset}", f"method={method}", *overrides))
        cells += [cell_from_config(config, task) for task in tasks]
    return cells


def config_names(group: str) -> tuple[str, ...]:
    """Names of the configs of a group, sorted.

    Parameters
    ----------
    group : str
        Such as "method".

    Returns
    -------
    names : tuple of str
    """
    return tuple(sorted(path.stem for path in (CONFIG_DIRECTORY / group).glob("*.yaml")))
