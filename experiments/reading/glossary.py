"""What names of methods and tasks mean, for tables, report and README.

Names of tasks are explained in the data set's config, ``naming`` in ``configs/dataset/NAME.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from experiments.cells.configuration import CONFIG_DIRECTORY
from experiments.cells.plan import method_label

METHOD_MEANINGS = {
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
    "krda_pooled": "KRDA with both domains scaled by the mean and deviation of all rows",
    "krda_untrained": "KRDA at its initial parameters, which only standardise each column",
} | {
    f"{name}_matched": (
        f"{name.upper()} with KRDA's number of trained parameters, stopped by held-out rows"
    )
    for name in ("dann", "shot", "cdan", "dan", "jan")
}


def method_meaning(method: str) -> str:
    """What a method's name means; empty if its label says it all."""
    return METHOD_MEANINGS.get(method, "")


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
