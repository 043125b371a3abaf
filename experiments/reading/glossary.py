"""What names of methods and tasks mean, by their configs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from experiments.catalogue import CONFIG_DIRECTORY, about


def config(group: str, name: str) -> dict[str, Any]:
    """The config of a name in a group, such as "table"; empty if there is none."""
    path = CONFIG_DIRECTORY / group / f"{name}.yaml"
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else {}
    return found


def methods_glossary(methods: Iterable[str]) -> str:
    """Say what names of methods mean, in their order; empty if none has a meaning to give."""
    given = [f"{about(m).label}: {about(m).meaning}" for m in methods if about(m).meaning]
    where = "References in full: docstrings of baselines/ and of krda/estimator.py."
    return f"Methods: {'; '.join(given)}. {where}" if given else ""


def task_naming(dataset: str) -> str:
    """Say what the names of a data set's tasks mean; empty if its config says nothing."""
    return str(config("dataset", dataset).get("naming", ""))
