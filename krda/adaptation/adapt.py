"""From two data frames to predictions for the second, and whether to use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from krda.adaptation.classifiers import CLASSIFIERS, make_classifier
from krda.adaptation.methods import METHODS
from krda.adaptation.verdict import Found, Verdict, judge
from krda.alignment.auto import AutoAdaptation
from krda.tables.encode import TableEncoder
from krda.tables.labels import labels_of
from krda.validation import FloatArray

#: Source rows that the plain classifier is checked on, at most.
_CHECKED_ROWS = 3000

#: A target row is far outside if a column leaves the adapted source's range by more widths.
_WIDTHS = 1.0

#: A prediction is abstained from if its probability is not at least this far from chance to
#: certainty.
_SURE = 0.5


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

    def predict(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Predict rows that have the columns of the target.

        Parameters
        ----------
        frame : DataFrame of shape (n, d)
            Columns are found by name; others are left alone. One row is enough.

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
    classifier: str = "svm",
    drop: Sequence[str] = (),
    categories: Sequence[str] = (),
    random_state: int = 0,
    progress: Callable[[str], None] = lambda text: None,
) -> Adaptation:
    """Adapt a classifier of the source table to the target table, and say whether to use it.

    No label of the target is read, even if the target has the column.

    Parameters
    ----------
    source : DataFrame of shape (n_source, d + 1)
        Rows with labels. Columns may hold numbers, text, dates, truth values, and gaps.
    target : DataFrame of shape (n_target, d)
        Rows without labels, and the same columns in any order.
    label : str
        The source's column of labels.
    method : {"auto", "plain", "reweighted", "standardize", "quantiles", "linear", "affine", \
"krda"}, default="auto"
        How to adapt. The verdict is that of "auto" whatever the method.
    classifier : {"svm", "logistic", "forest", "boosting"}, default="svm"
        "boosting" is the one for more than ten thousand rows.
    drop, categories : sequence of str, default=()
        Columns that are no features, and columns of numbers that are categories.
    random_state : int, default=0
    progress : callable, default=lambda text: None
        Gets a line before each long step.

    Returns
    -------
    adaptation : Adaptation

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
    pair = Pair.of(
        source, target, label, classifier=classifier, drop=drop, categories=categories,
        random_state=random_state, progress=progress,
    )  # fmt: skip
    return pair.adapt(method)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two encoded tables and a classifier, to which methods are fitted.

    Attributes
    ----------
    encoder : TableEncoder
    Xs, Xt : ndarray of shape (n_source, d) and (n_target, d)
    ys : ndarray of shape (n_source,)
    classifier : str
    final : estimator
        The classifier itself, unfitted.
    random_state : int
    progress : callable
    """

    encoder: TableEncoder
    Xs: FloatArray
    ys: NDArray[Any]
    Xt: FloatArray
    classifier: str
    final: Any
    random_state: int
    progress: Callable[[str], None]

    @classmethod
    def of(
        cls, source: pd.DataFrame, target: pd.DataFrame, label: str, *, classifier: str = "svm",
        drop: Sequence[str] = (), categories: Sequence[str] = (), random_state: int = 0,
        progress: Callable[[str], None] = lambda text: None,
    ) -> Pair:  # fmt: skip
        """Check and encode two tables: see :func:`adapt`."""
        if classifier not in CLASSIFIERS:
            raise ValueError(
                f"classifier must be one of {', '.join(CLASSIFIERS)}, got {classifier!r}."
            )
        ys = labels_of(source, label)
        frames = [frame.drop(columns=[label], errors="ignore") for frame in (source, target)]
        progress("encoding the columns")
        encoder = TableEncoder(drop=list(drop), categories=list(categories)).fit(*frames)
        Xs, Xt = (encoder.transform(frame) for frame in frames)
        final = make_classifier(classifier, encoder.groups_, ys, random_state)
        return cls(encoder, Xs, ys, Xt, classifier, final, random_state, progress)

    def fit(self, method: str) -> Any:
        """Fit a method of :data:`METHODS`; raise ValueError for another."""
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
        self.progress(f"fitting {method}")
        return METHODS[method](self.final, self.random_state).fit(self.Xs, self.ys, self.Xt)

    def adapt(self, method: str = "auto") -> Adaptation:
        """Fit a method, and judge by what "auto" finds."""
        model = self.fit(method)
        auto = model if method == "auto" else self.fit("auto")
        self.progress("checking the classifier on the source")
        return Adaptation(self.encoder, model, method, self.classifier, judge(self._found(auto)))

    def _found(self, auto: AutoAdaptation) -> Found:
        """Gather what a verdict is made from."""
        Xs, ys, Xt, seed = self.Xs, self.ys, self.Xt, self.random_state
        rows = np.random.default_rng(seed).permutation(len(Xs))[:_CHECKED_ROWS]
        kept = [c for c in auto.classes_ if (ys[rows] == c).sum() >= 3]
        rows = rows[np.isin(ys[rows], kept)]
        folds = StratifiedKFold(3, shuffle=True, random_state=seed)
        plain = make_classifier(self.classifier, self.encoder.groups_, ys[rows], seed)
        right = cross_val_predict(plain, Xs[rows], ys[rows], cv=folds) == ys[rows]
        predicted = auto.predict(Xt)
        mapped = auto.transform(Xs)
        low, high = mapped.min(axis=0), mapped.max(axis=0)
        reach = _WIDTHS * (high - low)
        outside = ((Xt < low - reach) | (Xt > high + reach)).any(axis=1)
        return Found(
            choice=auto.alignment_.choice,
            labels=[str(c) for c in auto.classes_],
            source_shares=np.array([(ys == c).mean() for c in auto.classes_]),
            predicted_shares=np.array([(predicted == c).mean() for c in auto.classes_]),
            agreement=float((auto.agreement(Xt) == 1).mean()),
            source_right=int(right.sum()),
            source_rows=len(rows),
            majority=max(float((ys[rows] == c).mean()) for c in kept),
            outside=float(outside.mean()),
        )
