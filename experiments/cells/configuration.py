"""From Hydra's configs to cells."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.cells.cell import Cell
from experiments.settings import canonical, check_protocol, check_seconds
from experiments.store import memo

# Loaded where something is composed: what was composed before needs no Hydra.
if TYPE_CHECKING:
    from omegaconf import DictConfig

CONFIG_DIRECTORY = Path(__file__).resolve().parents[2] / "configs"


@contextmanager
def _hydra() -> Iterator[None]:
    """Hydra's composition, also within a program that Hydra has not started."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

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
    from hydra import compose

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

    Raises
    ------
    ValueError
        A protocol or a time limit that cannot be run with.
    """
    return _cell(_resolve(config), task)


def _resolve(config: DictConfig) -> dict[str, Any]:
    """Reduce a composed config to what a cell is made of, as plain values."""
    from omegaconf import OmegaConf

    resolved: Any = OmegaConf.to_container(config, resolve=True)
    dataset, method, protocol = (dict(resolved[key]) for key in ("dataset", "method", "protocol"))
    quick = method.pop("quick")
    if protocol.pop("quick"):
        method.update(quick)
    # A method's own limit goes before that for all. Neither changes a number.
    limit = protocol.pop("timeout_seconds", None)
    limit = method.pop("timeout_seconds", limit)
    check_seconds("timeout_seconds", limit)
    # Equal numbers make one cell. A method's are left alone: its classifier may take 1 and 1.0 for
    # different things, as scikit-learn's max_features does.
    protocol = canonical(protocol)
    check_protocol(protocol)
    return {
        "dataset": {"name": dataset["name"], "data": canonical(dataset["data"])},
        "task": str(canonical(dataset["task"])),
        "method": method,
        "protocol": protocol,
        "timeout_seconds": limit,
    }


def _cell(resolved: dict[str, Any], task: str | None) -> Cell:
    config = {key: resolved[key] for key in ("dataset", "task", "method", "protocol")}
    if task is not None:
        config["task"] = str(task)
    return Cell(config, resolved["timeout_seconds"])


def cells_of(
    dataset: str, tasks: Sequence[str], methods: Sequence[str], overrides: Sequence[str] = ()
) -> list[Cell]:
    """All cells of a grid: each method is composed once for all tasks.

    Composing takes a good part of a second for a table, so what came of it is kept for later
    processes, by the contents of all config files.

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
    key = {
        "configs": _configs_sha256(),
        "versions": [version("hydra-core"), version("omegaconf")],
        "dataset": dataset,
        "methods": list(methods),
        "overrides": list(overrides),
    }
    composed: list[dict[str, Any]] | None = memo.recall("configs", key)
    if composed is None:
        composed = [
            _resolve(_compose_pair(dataset, method, tuple(overrides))) for method in methods
        ]
        memo.remember("configs", key, composed)
    return [_cell(resolved, task) for resolved in composed for task in tasks]


def _compose_pair(dataset: str, method: str, overrides: tuple[str, ...]) -> DictConfig:
    """Compose a data set with a method, each of which is composed by Hydra once a process.

    Hydra takes 50 ms for one config, and a benchmark has hundreds of pairs. The two groups meet in
    nothing but interpolations, which are resolved later.
    """
    from omegaconf import OmegaConf

    # Keys of one group are unknown to the configs of the other.
    of_method = tuple(o for o in overrides if not o.startswith("dataset."))
    of_dataset = tuple(o for o in overrides if not o.startswith("method."))
    config = _compose_cached((f"method={method}", *of_method)).copy()
    node = _compose_cached((f"dataset={dataset}", *of_dataset)).dataset
    OmegaConf.update(config, "dataset", OmegaConf.to_container(node), merge=False)
    return config


@cache
def _compose_cached(overrides: tuple[str, ...]) -> DictConfig:
    return compose_config(overrides)


@cache
def _configs_sha256() -> str:
    """Checksum over the config files that cells are made of, and this module."""
    digest = hashlib.sha256()
    files = [p for p in sorted(CONFIG_DIRECTORY.rglob("*.yaml")) if p.parent.name != "table"]
    for path in (*files, Path(__file__)):
        content = path.read_bytes()
        digest.update(f"{path.name}\0{path.parent.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


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
