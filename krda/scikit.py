"""What a method owes to scikit-learn: its classifier, pipelines, failed fits, seeds."""

from __future__ import annotations

import numbers
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import FrameType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from krda.validation import FloatArray, warn_user

# A column's mean, in its standard deviations, above which the user is warned: for classifiers with
# gamma="scale", which counts offsets as variance, and for others, whose distances lose half their
# digits.
_FAR_OFFSET_SCALE, _FAR_OFFSET = 1e2, 1e7


# Classifiers


def new_classifier(given: Any) -> Any:
    """Copy the classifier that a method is to train, ``SVC()`` for None; refuse all others."""
    classifier = SVC() if given is None else clone(given)
    # An estimator that only resembles scikit-learn's has no tags that say what it is.
    if hasattr(classifier, "__sklearn_tags__"):
        fits = is_classifier(classifier)
    else:
        fits = hasattr(classifier, "fit") and hasattr(classifier, "predict")
    if not fits:
        raise ValueError(
            f"classifier must be a classifier, got {given!r}: it would not predict labels. Give "
            "one such as sklearn.svm.SVC(), or a pipeline or search whose last step is one."
        )
    return classifier


def classifier_has(method: Any, name: str) -> bool:
    """Say for :func:`available_if` whether an aligned classifier's own classifier has a method."""
    given = SVC() if method.classifier is None else method.classifier
    getattr(getattr(method, "classifier_", given), name)  # AttributeError in its own words
    return True


def warn_of_offsets(X: FloatArray, classifier: Any) -> None:
    """Warn of columns whose offset is far larger than their spread, for the classifier's sake."""
    scale = getattr(classifier, "gamma", None) == "scale"
    limit = _FAR_OFFSET_SCALE if scale else _FAR_OFFSET
    with np.errstate(all="ignore"):
        peak = np.abs(X).max(axis=0)  # in units of it, no square underflows
        unit = X / np.where(peak > 0, peak, 1)
        offset, deviation = np.abs(unit.mean(axis=0)), unit.std(axis=0)
        varies = np.ptp(unit, axis=0) > 1e-13 * offset  # more than by rounding
        columns = np.flatnonzero(varies & (offset > limit * deviation))
    if len(columns):
        within = "" if isinstance(classifier, Pipeline) else (
            ", or scale them within the classifier: make_pipeline(StandardScaler(), SVC())"
        )  # fmt: skip
        warn_user(
            f"Columns {columns.tolist()} of the rows that the classifier is trained on have a mean "
            f"of more than {limit:g} standard deviations. Distances lose digits there, and the "
            "gamma='scale' of SVC counts offsets as variance, which blurs everything else. "
            f"Subtract the same constant from these columns in both domains{within}."
        )


# Pipelines


def no_transformer(method: BaseEstimator) -> str:
    """Say what a pipeline of scikit-learn cannot do with a method."""
    name = type(method).__name__
    return (
        f"{name} is a classifier and no transformer of scikit-learn, so it can only be the last "
        f"step of a pipeline: its transform is for source rows, and a pipeline would call it with "
        f"the target rows to predict, too. Give the classifier that should follow to {name} itself "
        "(classifier=...). For transformed source rows call fit(Xs, ys, Xt), then transform(Xs)."
    )


def called_by_pipeline(depth: int) -> bool:
    """Say whether a pipeline called the method that is ``depth`` frames further up."""
    caller = str(sys._getframe(depth + 1).f_globals.get("__name__"))
    return caller.startswith(("sklearn.pipeline", "sklearn.compose"))


def refuse_wrong_callers(method: BaseEstimator) -> None:
    """Raise if scikit-learn fits a method in a way that makes its predictions wrong."""
    for within, frame in pairwise(_calls_of_libraries()):
        outer = frame.f_locals.get("self") if frame.f_code.co_name == "fit" else None
        # A pipeline fits its last step in `fit`, within a search too, the others in `_fit`.
        if not isinstance(outer, Pipeline) or within.f_code.co_name == "_fit":
            continue
        before = [name for name, s in outer.steps[:-1] if s not in (None, "passthrough")]
        if before and "Xt" not in (outer.transform_input or ()):
            raise ValueError(
                f"The pipeline transforms Xs by its steps {', '.join(before)}, but not Xt. "
                "Both need the same transformation: transform both tables before, or call "
                "sklearn.set_config(enable_metadata_routing=True) and make the pipeline with "
                "transform_input=['Xt']."
            )


def _calls_of_libraries() -> Iterator[FrameType]:
    """Give the frames around a fit from the inside out, up to a person's own code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__")).split(".")[0]
        if name not in ("krda", "sklearn", "joblib"):
            return
        yield frame
        frame = frame.f_back


# Fits


@contextmanager
def fresh_fit(estimator: BaseEstimator) -> Iterator[None]:
    """Forget an earlier fit first, and all of this one if the block raises.

    Fitted attributes are those that :func:`sklearn.utils.validation.check_is_fitted` goes by: their
    names end in an underscore.
    """
    forget_fit(estimator)
    try:
        yield
    except BaseException:
        forget_fit(estimator)
        raise


def forget_fit(estimator: BaseEstimator) -> None:
    """Remove the fitted attributes, those that end in an underscore."""
    for name in [n for n in vars(estimator) if n.endswith("_") and not n.startswith("__")]:
        delattr(estimator, name)


def checksum(rows: FloatArray) -> int:
    """Give a number by which rows are recognised again, in their order."""
    return zlib.crc32(np.ascontiguousarray(rows).data)


def seed_from(random_state: Any) -> int:
    """Draw an integer seed in [0, 2**31) from a scikit-learn ``random_state``.

    An integer in that range is returned unchanged, so that it can be quoted in a report.
    """
    if isinstance(random_state, numbers.Integral):
        return int(random_state) % 2**31
    return int(check_random_state(random_state).randint(2**31 - 1))
