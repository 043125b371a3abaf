"""Save what was adapted, and load it again without running code from the file.

A saved file is skops' format, a zip archive of arrays and JSON, with the version of its contents.
Loading makes objects of scikit-learn and of the types in :data:`TYPES`, and of nothing else.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from krda._version import __version__
from krda.adaptation.adapt import Adaptation
from krda.adaptation.verdict import Verdict
from krda.tables.read import TableError

#: Number of the format. A change of what is saved makes it larger.
FORMAT = 1

#: Types beyond those that skops trusts that a file may hold.
TYPES = (
    "functools.partial",
    "krda.adaptation.classifiers.ValidCategories",
    "krda.alignment.auto.AutoAdaptation",
    "krda.alignment.choice.Candidate",
    "krda.alignment.choice.Choice",
    "krda.alignment.chosen.ChosenAlignment",
    "krda.alignment.estimators.AffineAlignment",
    "krda.alignment.estimators.ClassReweighting",
    "krda.alignment.estimators.ColumnQuantiles",
    "krda.alignment.estimators.LinearOT",
    "krda.alignment.estimators.Standardize",
    "krda.alignment.fitting.Fitted",
    "krda.alignment.fitting._as_it_is",
    "krda.alignment.maps.AffineMap",
    "krda.alignment.maps.ColumnMap",
    "krda.density.rnade.RNADEDensity",
    "krda.density.training.TrainingHistory",
    "krda.estimator.KRDA",
    "krda.preprocessing.Atoms",
    "krda.preprocessing.ColumnMap",
    "krda.tables.cells.Reading",
    "krda.tables.columns.Category",
    "krda.tables.columns.Measured",
    "krda.tables.encode.TableEncoder",
    "krda.tables.fitting.ColumnReport",
    "krda.transformer.KnotheRosenblatt",
    "krda.transformer._conditioning_value",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.tree._tree.Tree",
)


def save(adaptation: Adaptation, path: str | Path) -> None:
    """Write an adaptation to a file: all that predictions need, and the verdict.

    Parameters
    ----------
    adaptation : Adaptation
    path : str or Path
        Overwritten if it exists; whatever happens, it is the old file or the new one.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    import skops.io

    state = {
        "format": FORMAT,
        "krda": __version__,
        "method": adaptation.method,
        "classifier": adaptation.classifier,
        "verdict": json.dumps(adaptation.verdict.to_dict()),
        "encoder": adaptation.encoder,
        "model": adaptation.model,
    }
    path = Path(path).resolve()
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_bytes(skops.io.dumps(state))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: str | Path) -> Adaptation:
    """Read an adaptation that :func:`save` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    adaptation : Adaptation
        It predicts as the one that was saved.

    Raises
    ------
    TableError
        The file is damaged, is none that :func:`save` wrote, is of a later format, or holds other
        types than :data:`TYPES` and scikit-learn's.
    OSError
        The file cannot be read.
    """
    import skops.io

    data = Path(path).read_bytes()
    again = "Save it again with krda adapt --save."
    try:
        state = skops.io.loads(data, trusted=list(TYPES))
    except skops.io.exceptions.UntrustedTypesFoundException as error:
        raise TableError(
            f"{path} holds types that this library does not save, so it is not loaded: {error}"
        ) from error
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError) as error:
        raise TableError(f"{path} is damaged, or no file of krda: {error}. {again}") from error
    if not isinstance(state, dict) or "format" not in state:
        raise TableError(f"{path} is no file that krda saved. {again}")
    if state["format"] != FORMAT:
        raise TableError(
            f"{path} has format {state['format']} (krda {state.get('krda')}); this is krda "
            f"{__version__}, which reads format {FORMAT}. {again}"
        )
    if not all(map(_is_sound, _trees(state["model"]))):
        raise TableError(f"{path} is damaged: its trees lead to no leaves. {again}")
    verdict: dict[str, Any] = json.loads(state["verdict"])
    return Adaptation(
        state["encoder"], state["model"], state["method"], state["classifier"], Verdict(**verdict)
    )


class _Tree(NamedTuple):
    """Numbers of the children of each node, and of the columns that it looks at."""

    children: NDArray[Any]
    columns: NDArray[Any]
    n_nodes: int
    n_columns: int


def _trees(model: Any) -> Iterator[_Tree]:
    """Give the trees of a model's classifiers, which scikit-learn follows without a check."""
    classifiers = getattr(model, "classifiers_", None) or [model.classifier_]
    for classifier in classifiers:
        last = classifier[-1]
        for tree in (e.tree_ for e in getattr(last, "estimators_", [])):
            children = np.concatenate([tree.children_left, tree.children_right])
            inner = tree.children_left >= 0
            yield _Tree(children[children != -1], tree.feature[inner], tree.node_count,
                        last.n_features_in_)  # fmt: skip
        for tree in (p for stage in getattr(last, "_predictors", []) for p in stage):
            inner = tree.nodes[tree.nodes["is_leaf"] == 0]
            children = np.concatenate([inner["left"], inner["right"]])
            yield _Tree(children, inner["feature_idx"], len(tree.nodes), last.n_features_in_)


def _is_sound(tree: _Tree) -> bool:
    inside = (tree.children >= 0) & (tree.children < tree.n_nodes)
    known = (tree.columns >= 0) & (tree.columns < tree.n_columns)
    return bool(inside.all() and known.all())
