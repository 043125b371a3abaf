"""What abbreviations and names of tasks mean: the one place that tables, report and README tell it.

Names of methods stand here, those of tasks in the data set's config, ``naming`` in
``configs/dataset/NAME.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import yaml

from experiments.cells.configuration import CONFIG_DIRECTORY
from experiments.cells.plan import method_label

METHOD_MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "source_only": "the classifier trained on the source as it is",
        "target_only": "the classifier trained on the target with its labels, no competitor",
        "dann": "domain-adversarial neural network (Ganin et al., 2016)",
        "sa": "subspace alignment (Fernando et al., 2013)",
        "kmm": "kernel mean matching (Huang et al., 2007, and Gretton et al., 2009)",
        "ot": "optimal transport (Courty et al., 2017)",
        "shot": "source hypothesis transfer (Liang et al., 2020)",
        "cdan": "conditional domain-adversarial network (Long et al., 2018)",
        "dan": "deep adaptation network (Long et al., 2015)",
        "jan": "joint adaptation network (Long et al., 2017)",
        "tca": "transfer component analysis (Pan et al., 2011)",
        "krda": "Knothe-Rosenblatt domain adaptation (Virmaux et al., 2021)",
        "sa_linear": "SA with a linear support vector machine",
        "sa_scaled": "SA with each domain's columns brought to unit variance first, as published",
        "quantiles": "each column mapped to the target's by its own quantiles",
        "ot_linear": "the optimal map between Gaussians of the domains' means and covariances",
        "ot_sinkhorn": "OT with the entropic regularisation that the library POT has by default",
        "ot_lpl1": "OT, Sinkhorn, with a penalty on mixing source classes, POT's default weights",
        **{
            f"{name}_matched": (
                f"{name.upper()} with KRDA's number of trained parameters, stopped by held-out rows"
            )
            for name in ("dann", "shot", "cdan", "dan", "jan")
        },
        "krda_pooled": "KRDA with both domains scaled by the mean and deviation of all rows",
        "krda_untrained": "KRDA at its initial parameters, which only standardise each column",
    }
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
