"""What names of methods and tasks mean, by their configs."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.catalogue import about, read_config


def methods_glossary(methods: Iterable[str]) -> str:
    """Say what names of methods mean, in their order; empty if none has a meaning to give."""
    given = [f"{about(m).label}: {about(m).meaning}" for m in methods if about(m).meaning]
    where = "References in full: docstrings of baselines/ and of krda/estimator.py."
    return f"Methods: {'; '.join(given)}. {where}" if given else ""


def task_naming(dataset: str) -> str:
    """Say what the names of a data set's tasks mean; empty if its config says nothing."""
    return str(read_config("dataset", dataset).get("naming", ""))
