"""What a method's config says of it: how it is called, what that means, and of which kind it is."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

CONFIG_DIRECTORY = Path(__file__).resolve().parents[1] / "configs"

DESCRIPTIVE = ("label", "meaning", "family")
"""Keys of a method's config that describe it and are no part of a cell."""


class About(NamedTuple):
    """A method's label in tables, the label's meaning ("" if it says it all), and its family."""

    label: str
    meaning: str
    family: str


@cache
def about(method: str) -> About:
    """Read ``configs/method/METHOD.yaml``; a method without a label is called by its name."""
    path = CONFIG_DIRECTORY / "method" / f"{method}.yaml"
    content: dict[str, Any] = {}
    if path.is_file():
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return About(
        content.get("label", method), content.get("meaning", ""), content.get("family", "")
    )


def method_label(method: str) -> str:
    """How a method is called in tables and figures: its label, or its name without one."""
    return about(method).label


def config_names(group: str) -> tuple[str, ...]:
    """Names of the configs of a group, such as "method", sorted."""
    return tuple(sorted(path.stem for path in (CONFIG_DIRECTORY / group).glob("*.yaml")))
