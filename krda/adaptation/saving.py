"""Save what was adapted, and load it again.

A saved file is a line of JSON with the versions and a checksum, and an archive of skops: arrays,
names and numbers. No code of a file is run, but scikit-learn trusts the arrays of a fitted model.
"""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krda._version import __version__
from krda.adaptation.files import write_whole
from krda.tables.errors import TableError

if TYPE_CHECKING:
    from krda.adaptation.adapt import Adaptation

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
    "krda.tables.columns.ColumnReport",
    "krda.tables.columns.Use",
    "krda.tables.encode.TableEncoder",
    "krda.transformer.KnotheRosenblatt",
    "krda.transformer._conditioning_value",
    "numpy.dtype",
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
    TableError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from krda import adapt, load, save
    >>> source = pd.DataFrame({"x": [i / 8 for i in range(40)], "big": ["no"] * 20 + ["yes"] * 20})
    >>> target = source[["x"]] + 100
    >>> found = adapt(source, target, "big")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(found, f"{folder}/model")
    ...     again = load(f"{folder}/model")
    >>> again.predict(target).equals(found.predict(target))
    True
    """
    skops_io = import_skops()
    state = {
        "method": adaptation.method,
        "classifier": adaptation.classifier,
        "verdict": json.dumps(adaptation.verdict.to_dict()),
        "encoder": adaptation.encoder,
        "model": adaptation.model,
    }
    content = skops_io.dumps(state)
    head = {
        "format": FORMAT,
        "krda": __version__,
        "scikit-learn": version("scikit-learn"),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    write_whole(Path(path), json.dumps(head).encode() + b"\n" + content)


def load(path: str | Path) -> Adaptation:
    """Read an adaptation that :func:`save` wrote.

    No code of the file is run. Still, load files of people you trust alone: the arrays of a forged
    model can make scikit-learn read outside them.

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
        The file is damaged, is none that :func:`save` wrote, was written with another format or
        another minor version of scikit-learn, or holds types that :func:`save` does not write.
    OSError
        The file cannot be read.

    Examples
    --------
    See :func:`save`.
    """
    content = read_saved(path)
    skops_io = import_skops()
    from krda.adaptation.adapt import Adaptation
    from krda.adaptation.verdict import Verdict

    try:
        state = skops_io.loads(content, trusted=list(TYPES))
    except skops_io.exceptions.UntrustedTypesFoundException as error:
        raise TableError(
            f"{path} is not loaded, for it holds more than a model: {error}"
        ) from error
    verdict = Verdict(**json.loads(state["verdict"]))
    names = state["encoder"], state["model"], state["method"], state["classifier"]
    return Adaptation(*names, verdict)


def read_saved(path: str | Path) -> bytes:
    """Read the archive in a saved file; raise if it is foreign, damaged or of another version."""
    line, _, content = Path(path).read_bytes().partition(b"\n")
    head = _head(line, path)
    again = "Save it again with krda adapt --save."
    if head["format"] != FORMAT:
        raise TableError(
            f"{path} has format {head['format']} (krda {head.get('krda')}); this is krda "
            f"{__version__}, which reads format {FORMAT}. {again}"
        )
    if hashlib.sha256(content).hexdigest() != head.get("sha256"):
        raise TableError(f"{path} is damaged: its checksum is wrong. Copy it again. {again}")
    theirs, ours = str(head.get("scikit-learn")), version("scikit-learn")
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        raise TableError(
            f"{path} was saved with scikit-learn {theirs}; this is {ours}, whose models differ. "
            f"Install that version. {again}"
        )
    return content


def import_skops() -> Any:
    """Import skops, but not torch: skops looks for estimators in all of scikit-learn, with it."""
    hidden = [f"sklearn.externals.array_api_compat.{name}" for name in ("torch", "dask")]
    hidden = [name for name in hidden if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        import skops.io
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "skops is missing, which saves and loads models: install krda with its extra 'cli'.",
            name=error.name,
        ) from error
    finally:
        for name in hidden:
            del sys.modules[name]
    return skops.io


def _head(line: bytes, path: str | Path) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or "format" not in head:
        raise TableError(
            f"{path} is no file that krda adapt --save wrote. krda predict takes the model first, "
            "then the table."
        )
    return head
