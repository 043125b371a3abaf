"""From two data frames to predictions for the second, and whether to use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from krda.adaptation.classifiers import CLASSIFIERS, make_classifier, seconds_of_fit
from krda.adaptation.verdict import Found, Verdict, advice_for, judge
from krda.alignment.auto import SHIFTS, AutoAdaptation
from krda.alignment.estimators import (
    AffineAlignment,
    ClassReweighting,
    ColumnQuantiles,
    LinearOT,
    Standardize,
)
from krda.alignment.shares import MAX_ROWS, some_of_each, source_shares
from krda.tables.encode import TableEncoder
from krda.tables.errors import TableError
from krda.tables.labels import labels_of
from krda.validation import FloatArray

#: Source rows from which progress says how long a fit takes, and seconds that are long.
_MANY_ROWS, _LONG = 4000, 60.0

#: The plain classifier is checked on some rows of each of so many parts of the source, at most.
_CHECKED_PARTS = 8

#: A target row is an outlier if a column is further from the quartiles than their distance, times
#: this.
_WIDTHS = 10.0

#: A prediction is abstained from if its probability is not at least this far from chance to
#: certainty.
_SURE = 0.5


def _krda(classifier: Any, seed: int) -> Any:
    from krda.estimator import KRDA

    return KRDA(
        alignment="auto", column_order="consensus", classifier=classifier, random_state=seed
    )


#: From a method's name to a function of a classifier and a seed that makes it.
METHODS: dict[str, Callable[[Any, int], Any]] = {
    "auto": lambda classifier, seed: AutoAdaptation(classifier, random_state=seed),
    "plain": lambda classifier, seed: ClassReweighting(classifier, class_shares="source"),
    "reweighted": lambda classifier, seed: ClassReweighting(classifier),
    "standardize": lambda classifier, seed: Standardize(classifier),
    "quantiles": lambda classifier, seed: ColumnQuantiles(classifier),
    "linear": lambda classifier, seed: LinearOT(classifier),
    "affine": lambda classifier, seed: AffineAlignment(classifier),
    "krda": _krda,
}


@dataclass(frozen=True, eq=False)
class Adaptation:
    """Two tables that were adapted: predictions for rows of the target, and a verdict.

    Made by :func:`adapt`, or read from a file by :func:`krda.adaptation.saving.load`.

    Attributes
    ----------
    encoder : TableEncoder
        Fitted to both tables; ``encoder.columns_`` says what was done to each column.
    model : estimator
        The fitted method. Its ``classes_`` are the labels.
    method, classifier : str
        Their names.
    verdict : Verdict
    """

    encoder: TableEncoder
    model: Any
    method: str
    classifier: str
    verdict: Verdict

    @property
    def advised(self) -> bool:
        """Whether the verdict is to use the predictions of this method."""
        return self.verdict.advice == advice_for(self.verdict.numbers["shift"], self.method)

    def predict(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Predict rows that have the columns of the target.

        Parameters
        ----------
        frame : DataFrame of shape (n, d)
            Columns are found by name; more columns are left out. One row is enough.

        Returns
        -------
        predictions : DataFrame of n rows
            ``prediction``; ``agreement``, the share of the classifiers that say so; ``abstain``,
            whether they disagree or the probability is below half of the way from chance to
            certainty; ``probability_...`` for each class. Its index is that of ``frame``.

        Raises
        ------
        TableError
            A column is missing, or holds values of another kind than in the fit.
        """
        rows = self.encoder.transform(frame)
        classes = self.model.classes_
        probabilities = self.model.predict_proba(rows)
        predicted = self.model.predict(rows)
        agreement = np.ones(len(rows))
        if isinstance(self.model, AutoAdaptation):
            agreement = self.model.agreement(rows)
        sure = probabilities[np.arange(len(rows)), np.searchsorted(classes, predicted)]
        bound = 1 / len(classes) + _SURE * (1 - 1 / len(classes))
        columns = {
            "prediction": predicted,
            "agreement": agreement.round(4),
            "abstain": (agreement < 1) | (sure < bound),
        }
        columns |= {f"probability_{c}": probabilities[:, i] for i, c in enumerate(classes)}
        return pd.DataFrame(columns, index=frame.index)


def adapt(
    source: pd.DataFrame,
    target: pd.DataFrame,
    label: str,
    *,
    method: str = "auto",
    **options: Any,
) -> Adaptation:
    """Adapt a classifier of the source table to the target table, and say whether to use it.

    No label of the target is read, even if the target has the column.

    Parameters
    ----------
    source : DataFrame of shape (n_source, d + 1)
        Rows with labels. Columns may hold numbers, text, dates, truth values, and gaps.
    target : DataFrame of shape (n_target, d)
        Rows without labels, and the same columns in any order. More columns are left out.
    label : str
        The source's column of labels.
    method : {"auto", "plain", "reweighted", "standardize", "quantiles", "linear", "affine", \
"krda"}, default="auto"
        How to adapt. The verdict is that of "auto" whatever the method.
    **options
        Those below.

    Returns
    -------
    adaptation : Adaptation

    Other Parameters
    ----------------
    classifier : {"svm", "logistic", "forest", "boosting"}, default="svm"
        "boosting" is the one for more than ten thousand rows.
    drop, categories : sequence of str, default=()
        Columns that are no features, and columns of numbers that are categories.
    random_state : int, default=0
    progress : callable, default=lambda text: None
        Gets a line before each long step, for many rows with the time that it may take.

    Raises
    ------
    TableError
        Tables or labels that cannot be worked with; the message says what to do.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> source = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    >>> source["kind"] = np.where(source["a"] > 0, "big", "small")
    >>> target = 10 * source[["b", "a"]] + 3
    >>> found = adapt(source, target, "kind")
    >>> found.verdict.advice
    'adapted'
    >>> found.predict(target[:1])["prediction"].tolist() == source["kind"][:1].tolist()
    True
    """
    return Pair.of(source, target, label, **options).adapt(method)


def _silent(text: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two encoded tables and an unfitted classifier, ``final``; methods are fitted to them once."""

    encoder: TableEncoder
    Xs: FloatArray
    ys: NDArray[Any]
    Xt: FloatArray
    classifier: str
    final: Any
    random_state: int
    progress: Callable[[str], None]
    fitted: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, source: pd.DataFrame, target: pd.DataFrame, label: str, *, classifier: str = "svm",
        drop: Sequence[str] = (), categories: Sequence[str] = (), random_state: int = 0,
        progress: Callable[[str], None] = _silent,
    ) -> Pair:  # fmt: skip
        """Check and encode two tables: see :func:`adapt`."""
        if classifier not in CLASSIFIERS:
            raise ValueError(
                f"classifier must be one of {', '.join(CLASSIFIERS)}, got {classifier!r}."
            )
        if isinstance(drop, str) or isinstance(categories, str):
            raise TypeError("drop and categories must be lists of column names.")
        ys = labels_of(source, label)
        if label in drop:
            raise TableError(
                f"`drop` names the label {label!r}, which is never a feature: leave it out there."
            )
        if len(target) < 2:
            raise TableError(
                f"At least 2 target rows are needed to see how they differ, got {len(target)}. "
                "For single rows adapt to more, save the model, and predict them by it."
            )
        frames = [frame.drop(columns=[label], errors="ignore") for frame in (source, target)]
        progress("encoding the columns")
        encoder = TableEncoder(drop=list(drop), categories=list(categories)).fit(*frames)
        Xs, Xt = (encoder.transform(frame) for frame in frames)
        final = make_classifier(classifier, encoder.groups_, ys, random_state)
        return cls(encoder, Xs, ys, Xt, classifier, final, random_state, progress)

    def fit(self, method: str, count: str = "") -> Any:
        """Fit a method of :data:`METHODS`, once; raise ValueError for another.

        ``count`` goes before its name in the progress, such as "2 of 8, ".
        """
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
        if method not in self.fitted:
            each = self._seconds_of_fit
            most = "up to 4 classifiers, each" if method == "auto" else "its classifier"
            self.progress(f"fitting {count}{method}" + (each and f" ({most} {each})"))
            model = METHODS[method](self.final, self.random_state)
            self.fitted[method] = model.fit(self.Xs, self.ys, self.Xt)
        return self.fitted[method]

    @cached_property
    def _seconds_of_fit(self) -> str:
        """About how long a fit of the classifier takes; nothing if that is short, or none asks."""
        if self.progress is _silent or len(self.ys) < _MANY_ROWS:
            return ""
        seconds = seconds_of_fit(self.final, self.Xs, self.ys)
        if self.classifier == "svm" and seconds > _LONG:
            self.progress(f"an SVM on {len(self.ys)} rows takes long; 'boosting' does not")
        if seconds < 1:
            return ""
        return f"about {seconds:.0f} s" if seconds < 100 else f"about {seconds / 60:.0f} min"

    def adapt(self, method: str = "auto") -> Adaptation:
        """Fit a method, and judge by what "auto" finds."""
        auto = self.fit("auto")
        model = auto if method == "auto" else self.fit(method)
        self.progress("checking the classifier on the source")
        verdict = judge(self._found(auto, model))
        found = Adaptation(self.encoder, model, method, self.classifier, verdict)
        if method == "auto":
            return found
        about = ", and not those that the verdict advises."
        if found.advised:
            about = "; the verdict is about the one that would be chosen otherwise."
        sentence = f"The predictions are by the method {method}, which you chose{about}"
        return replace(found, verdict=verdict.with_evidence(sentence))

    def _found(self, auto: AutoAdaptation, model: Any) -> Found:
        """Gather what a verdict is made from; the predictions are those of ``model``."""
        own = np.searchsorted(auto.classes_, self.ys)
        order = np.random.default_rng(self.random_state).permutation(len(own))
        parts = np.array_split(order, min(_CHECKED_PARTS, 1 + len(own) // MAX_ROWS))
        rows = np.concatenate([part[some_of_each(own[part])] for part in parts])
        y, codes = self.ys[rows], own[rows]
        plain = make_classifier(self.classifier, self.encoder.groups_, y, self.random_state)
        folds = StratifiedKFold(3, shuffle=True, random_state=self.random_state)
        said = cross_val_predict(plain, self.Xs[rows], y, cv=folds, method="predict_proba")
        predicted = model.predict(self.Xt)
        return Found(
            choice=auto.alignment_.choice,
            meaning=SHIFTS[auto.shift_],
            labels=[str(c) for c in auto.classes_],
            source_shares=source_shares(own),
            predicted_shares=np.array([(predicted == c).mean() for c in auto.classes_]),
            agreement=float((auto.agreement(self.Xt) == 1).mean()),
            source_accuracy=float((said.argmax(axis=1) == codes).mean()),
            majority=float(source_shares(codes).max()),
            by_chance=_by_chance(said, codes),
            target_rows=len(self.Xt),
            outlying=float(far_outside(self.Xt, self.encoder.groups_).any(axis=1).mean()),
        )


def far_outside(X: FloatArray, groups: list[list[int]]) -> NDArray[np.bool_]:
    """Say which cells are far from the others of their column; those of categories never are."""
    low, high = np.quantile(X, [0.25, 0.75], axis=0)
    reach = np.where(high > low, _WIDTHS * (high - low), np.inf)
    reach[[j for group in groups for j in group]] = np.inf
    return (low - reach > X) | (high + reach < X)


def _by_chance(probabilities: FloatArray, codes: NDArray[Any]) -> float:
    """Probability of ranking rows of the class that is ranked best as well as this by chance.

    Corrected for the number of classes. In the accuracy frequent classes would count for more.
    """
    each = [
        mannwhitneyu(p[codes == label], p[codes != label], alternative="greater").pvalue
        for label, p in enumerate(probabilities.T)
    ]
    return float(min(1.0, len(each) * min(each)))
