"""From Hydra's configs to cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from experiments.catalogue import CONFIG_DIRECTORY, DESCRIPTIVE, config_names
from experiments.cells.cell import Cell
from experiments.settings import canonical, check_protocol, check_seconds

if TYPE_CHECKING:
    from omegaconf import DictConfig


def compose_config(overrides: Sequence[str]) -> DictConfig:
    """Compose the config from overrides, such as ``("method=krda", "dataset=moons")``."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    if GlobalHydra.instance().is_initialized():
        return compose("benchmark", list(overrides))
    with initialize_config_dir(str(CONFIG_DIRECTORY), version_base="1.3"):
        return compose("benchmark", list(overrides))


_compose_once = cache(compose_config)


@cache
def _read_method(name: str) -> DictConfig:
    """Read a method's config and those that it begins with, as Hydra composes them."""
    from omegaconf import OmegaConf

    own: Any = OmegaConf.load(CONFIG_DIRECTORY / "method" / f"{name}.yaml")
    defaults = own.pop("defaults", ["_self_"])
    parts = [own if part == "_self_" else _read_method(part) for part in defaults]
    return cast("DictConfig", OmegaConf.merge(*parts))


def cells_of(
    dataset: str, tasks: Sequence[str], methods: Sequence[str], overrides: Sequence[str] = ()
) -> list[Cell]:
    """All cells of a grid, by config names."""
    from omegaconf import OmegaConf

    # Hydra takes 50 ms to compose one config, and a benchmark has hundreds of pairs of a data set
    # and a method. The two groups meet in interpolations alone, which are resolved later, so the
    # data set is composed once, with the classifier and the protocol that it may choose, and each
    # method is put in; Hydra is asked for one only to override keys of it.
    of_method = tuple(o for o in overrides if o.lstrip("+~").startswith("method."))
    others = tuple(o for o in overrides if o not in of_method)
    chosen = _compose_once((f"dataset={dataset}", *others))
    cells = []
    for method in methods:
        content: Any = (
            _compose_once((f"method={method}", *of_method)).method
            if of_method
            else _read_method(method)
        )
        config = chosen.copy()
        OmegaConf.update(config, "method", OmegaConf.to_container(content), merge=False)
        cell = cell_from_config(config)
        cells += [replace(cell, config={**cell.config, "task": task}) for task in tasks]
    return cells


def cell_from_config(config: DictConfig) -> Cell:
    """Resolve a composed config to its cell, as plain values.

    ValueError: a protocol or a time limit that cannot be run with.
    """
    from omegaconf import OmegaConf

    resolved: Any = OmegaConf.to_container(config, resolve=True)
    dataset, method, protocol = (dict(resolved[key]) for key in ("dataset", "method", "protocol"))
    if method.get("name") not in config_names("method"):
        raise ValueError(
            "A method's config must have the `name` of its file in configs/method, got "
            f"{method.get('name')!r}."
        )
    quick = method.pop("quick", {})
    if protocol.pop("quick"):
        method.update(quick)
    for name in DESCRIPTIVE:
        method.pop(name, None)
    # A method's own limit takes precedence. Neither changes a number.
    limit = protocol.pop("timeout_seconds", None)
    limit = method.pop("timeout_seconds", limit)
    check_seconds("timeout_seconds", limit)
    # Equal numbers make one cell. A method's are left as they are: its classifier may take 1 and
    # 1.0 for different things, as scikit-learn's max_features does.
    protocol = canonical(protocol)
    check_protocol(protocol)
    content = {
        "dataset": {"name": dataset["name"], "data": canonical(dataset["data"])},
        "task": str(canonical(dataset["task"])),
        "method": method,
        "protocol": protocol,
    }
    return Cell(content, limit)
