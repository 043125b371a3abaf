"""What abbreviations and names of tasks mean: the one place that tables, report and README tell it.

Meanings of methods are in their configs, of tasks in the data set's config, ``naming``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import yaml

from experiments.cells.catalogue import CONFIG_DIRECTORY, about, config_names
from experiments.cells.plan import method_label

METHOD_MEANINGS: Mapping[str, str] = MappingProxyType(
    {name: about(name).meaning for name in config_names("method") if about(name).meaning}
)
"""Meaning by method; one whose label says it all has none. References in full: the modules."""

WHERE = "References in full: docstrings of baselines/ and of krda/estimator.py."


def methods_glossary(methods: Iterable[str]) -> str:
    """Say what names of methods mean.

    Parameters
    ----------
    methods : iterable of str
        Config names, in the order of telling.

    Returns
    -------
    sentences : str
        Plain text; empty where none has a meaning to be told.
    """
    told = [f"{method_label(m)}: {METHOD_MEANINGS[m]}" for m in methods if m in METHOD_MEANINGS]
    return f"Methods: {'; '.join(told)}. {WHERE}" if told else ""


def task_naming(dataset: str) -> str:
    """Say what the names of a data set's tasks mean.

    Parameters
    ----------
    dataset : str
        Config name.

    Returns
    -------
    sentence : str
        Plain text; empty where the data set's config says nothing.
    """
    path = CONFIG_DIRECTORY / "dataset" / f"{dataset}.yaml"
    if not path.is_file():
        return ""
    return str(yaml.safe_load(path.read_text(encoding="utf-8")).get("naming", ""))


def glossary(dataset: str, methods: Iterable[str]) -> str:
    """Say in one line what stands in a table's heads: its methods, then its tasks.

    Parameters
    ----------
    dataset : str
        Config name.
    methods : iterable of str
        Config names.

    Returns
    -------
    line : str
        Plain text; empty where there is nothing to be told.
    """
    naming = task_naming(dataset)
    parts = (methods_glossary(methods), f"Tasks: {naming}" if naming else "")
    return " ".join(part for part in parts if part)
