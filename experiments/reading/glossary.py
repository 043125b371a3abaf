"""What names of methods and tasks mean, for tables, report and README.

Meanings of methods are in their configs, those of tasks in the data set's config, ``naming``.
"""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from experiments.catalogue import CONFIG_DIRECTORY, about, method_label


def method_meaning(method: str) -> str:
    """What a method's name means; empty if its label says it all."""
    return about(method).meaning


def methods_glossary(methods: Iterable[str]) -> str:
    """Say what names of methods mean, in their order; empty if none has a meaning to give."""
    given = [f"{method_label(m)}: {method_meaning(m)}" for m in methods if method_meaning(m)]
    where = "References in full: docstrings of baselines/ and of krda/estimator.py."
    return f"Methods: {'; '.join(given)}. {where}" if given else ""


def task_naming(dataset: str) -> str:
    """Say what the names of a data set's tasks mean; empty if its config says nothing."""
    path = CONFIG_DIRECTORY / "dataset" / f"{dataset}.yaml"
    if not path.is_file():
        return ""
    return str(yaml.safe_load(path.read_text(encoding="utf-8")).get("naming", ""))


def glossary(dataset: str, methods: Iterable[str]) -> str:
    """Say in one line what is in a table's heads: its methods, then its tasks."""
    naming = task_naming(dataset)
    parts = (methods_glossary(methods), f"Tasks: {naming}" if naming else "")
    return " ".join(part for part in parts if part)
