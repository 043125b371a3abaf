"""What the configs say beside a cell's settings: methods' labels, and what tables consist of."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

CONFIG_DIRECTORY = Path(__file__).resolve().parents[1] / "configs"

DESCRIPTIVE = ("label", "meaning", "family")
"""Keys of a method's config that describe it and are no part of a cell."""


@cache
def about(method: str) -> dict[str, str]:
    """What ``configs/method/METHOD.yaml`` says of a method, or "": label, meaning and family.

    A method without a label is called by its name.
    """
    content = read_config("method", method) if method in config_names("method") else {}
    return {key: content.get(key, method if key == "label" else "") for key in DESCRIPTIVE}


def method_label(method: str) -> str:
    """How a method is called in tables and figures: its label, or its name without one."""
    return about(method)["label"]


def config_names(group: str) -> tuple[str, ...]:
    """Names of the configs of a group, such as "method", sorted."""
    return tuple(sorted(path.stem for path in (CONFIG_DIRECTORY / group).glob("*.yaml")))


def check_name(group: str, name: str) -> None:
    """ValueError unless a group has a config of this name; it names one that may be meant."""
    if name not in (known := config_names(group)):
        raise ValueError(f"{unknown(group, name, known)} It can be {', '.join(known)}.")


def unknown(what: str, name: str, known: Sequence[str]) -> str:
    """A sentence on a name that is not known, with the one that may be meant."""
    inner = [one for one in known if one.endswith(f".{name}")]
    near = inner or difflib.get_close_matches(name, known, 1)
    return f"There is no {what} {name!r}" + (f"; did you mean {near[0]!r}?" if near else ".")


def read_config(group: str, name: str) -> dict[str, Any]:
    """Read ``configs/GROUP/NAME.yaml``, its lists as tuples; ValueError if there is none."""
    check_name(group, name)
    text = (CONFIG_DIRECTORY / group / f"{name}.yaml").read_text(encoding="utf-8")
    try:
        content: dict[str, Any] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"configs/{group}/{name}.yaml: {error}") from None
    return {key: tuple(v) if isinstance(v, list) else v for key, v in content.items()}
