"""Choose an adaptation from the tables alone, say why, and predict with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from krda.alignment.choice import Candidate, Shift
from krda.alignment.chosen import ChosenAlignment
from krda.alignment.weighting import fit_weighted
from krda.base import DomainAdaptationClassifier
from krda.scikit import classifier_has, new_classifier, seed_from
from krda.validation import FloatArray

#: What each kind of shift means.
SHIFTS: dict[Shift, str] = {
    "none": "The target looks like another sample of the source: nothing is adapted.",
    "class shares": "The target holds the classes in other shares; nothing else has changed.",
    "columns": "Columns are shifted or scaled, or linear relations between them have changed.",
    "axes": "The target's axes are rotated.",
    "both": "Rows have moved, and the target holds the classes in other shares.",
    "unexplained": "No alignment explains the shift; those that come nearest are used.",
}


class AutoAdaptation(DomainAdaptationClassifier):
    """Choose the simplest adaptation that explains the shift, from the tables alone.

    Candidates are tried from the simplest on: the source as it is; its classes in other shares;
    columns standardised, by quantiles, by a linear map; an affine map with a rotation; these with
    other class shares. The first that leaves no more of the energy distance to the target than
    noise would is taken. Several that are equally good vote. See :mod:`krda.alignment.choice`.

    Parameters
    ----------
    classifier : estimator, default=None
        Trained on the aligned source; any scikit-learn classifier. None is ``SVC()``. Other class
        shares reach it as ``sample_weight``; if it takes none, as fewer rows of some classes.
    random_state : int, RandomState or None, default=0
        Decides the splits of the source from which the noise is known.

    Attributes
    ----------
    shift_ : {"none", "class shares", "columns", "axes", "both", "unexplained"}
        What kind of shift was found.
    candidates_ : tuple of Candidate
        All that were tried, with what each leaves to the target and what noise would leave.
    class_shares_ : ndarray of shape (n_classes,)
        Shares of the classes in the target, as the choice takes them, in the order of ``classes_``.
    ambiguous_ : bool
        Whether half a turn more in some plane explains the target as well as the rotation that was
        chosen. Then the classes may be exchanged, and nothing in the tables can tell.
    classifiers_ : list of estimators
        One for each candidate that was chosen.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    See Also
    --------
    Standardize, ColumnQuantiles, LinearOT, AffineAlignment, ClassReweighting : Single alignments.
    KRDA : The Knothe-Rosenblatt map, with ``alignment="auto"`` on top of this choice.

    References
    ----------
    Other work on moved rows with other class shares: Zhang et al. (ICML 2013), JCPOT
    (arXiv:1803.04899), OSTAR (arXiv:2110.15057).

    Examples
    --------
    >>> import numpy as np
    >>> from krda import AutoAdaptation
    >>> rng = np.random.default_rng(0)
    >>> Xs = rng.normal(size=(200, 2)) + np.repeat([[0.0], [4.0]], 100, axis=0)
    >>> ys = np.repeat([0, 1], 100)
    >>> model = AutoAdaptation().fit(Xs, ys, 2 * Xs[::2] - 7)
    >>> model.shift_
    'columns'
    >>> model.predict([[-7.0, -7.0], [1.0, 1.0]]).tolist()
    [0, 1]
    """

    shift_: Shift
    candidates_: tuple[Candidate, ...]
    ambiguous_: bool
    classifiers_: list[Any]

    def __init__(self, classifier: Any = None, *, random_state: Any = 0) -> None:
        self.classifier = classifier
        self.random_state = random_state

    def _fit(self, Xs: FloatArray, ys: NDArray[Any], Xt: FloatArray) -> None:
        new_classifier(self.classifier)  # first: a wrong one must not cost the choice
        codes = np.unique(ys, return_inverse=True)[1]
        seed = seed_from(self.random_state)
        self.alignment_ = ChosenAlignment.fit("auto", Xs, codes, Xt, seed)
        choice = self.alignment_.choice
        self.shift_, self.ambiguous_ = choice.shift, choice.ambiguous
        self.candidates_ = choice.candidates
        self.class_shares_ = choice.chosen[0].shares
        self.classifiers_ = []
        weights = self.alignment_.weights(codes)
        for candidate, mapped in zip(choice.chosen, self.alignment_.maps(Xs), strict=True):
            what = f"AutoAdaptation: the source aligned by {candidate.name}"
            classifier = new_classifier(self.classifier)
            self.classifiers_.append(fit_weighted(classifier, mapped, ys, weights, what))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the labels of target rows: those that most of the classifiers say.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        y : ndarray of shape (n,)
            Labels out of ``classes_``. Among equally frequent ones the first classifier decides.
        """
        votes = self._votes(X)  # first: it says if nothing was fitted
        return self.classes_[votes.argmax(axis=1)]

    def agreement(self, X: ArrayLike) -> FloatArray:
        """Share of the classifiers that say what is predicted, row by row.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        share : ndarray of shape (n,)
            In (0, 1]; 1 if there is one classifier.
        """
        return np.floor(self._votes(X).max(axis=1)) / len(self.classifiers_)

    @available_if(lambda self: classifier_has(self, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the classes' probabilities for target rows, if the classifier can.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            Means over the classifiers, in the order of ``classes_``. The label of the largest need
            not be the one that most classifiers say.
        """
        rows = self._validate_target(X)
        return np.mean([c.predict_proba(rows) for c in self.classifiers_], axis=0)

    def _votes(self, X: ArrayLike) -> FloatArray:
        rows = self._validate_target(X)
        said = [np.searchsorted(self.classes_, c.predict(rows)) for c in self.classifiers_]
        votes = np.zeros((len(rows), len(self.classes_)))
        for labels in said:
            votes[np.arange(len(rows)), labels] += 1
        votes[np.arange(len(rows)), said[0]] += 0.5  # decides between equals, and nothing else
        return votes

    def transform(self, Xs: ArrayLike) -> FloatArray:
        """Map source rows to the target: the mean of the chosen candidates' maps.

        Parameters
        ----------
        Xs : array-like of shape (n, d)

        Returns
        -------
        mapped : ndarray of shape (n, d)
        """
        return self.alignment_(self._validate_source(Xs))

    def why(self) -> str:
        """Say in plain words what was found and what was chosen, with the numbers.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        chosen = [candidate.name for candidate in self.candidates_ if candidate.chosen]
        lines = [SHIFTS[self.shift_]]
        lines.append(f"Used: {'; '.join(chosen)}{' (they vote)' if len(chosen) > 1 else ''}.")
        if self.shift_ in ("class shares", "both"):
            shares = zip(self.classes_.tolist(), self.class_shares_, strict=True)
            found = ", ".join(f"{label}: {100 * share:.0f} %" for label, share in shares)
            lines.append(f"Class shares of the target: {found}.")
        if self.ambiguous_:
            lines.append(
                "Half a turn more explains the target as well: the classes may be exchanged, and "
                "nothing in the tables can tell. The smaller rotation is used."
            )
        lines.append(
            "What each candidate leaves of the energy distance to the target (and what noise "
            "leaves), of all columns and between the classes:"
        )
        for c in self.candidates_:
            verdict = "explains the shift" if c.explains else "does not explain it"
            numbers = zip(c.residuals, c.noise_means, c.noise_deviations, strict=True)
            left = " ".join(f"{r:8.4f} ({mean:.4f} +/- {sd:.4f})" for r, mean, sd in numbers)
            lines.append(f"  {c.name:<26} {left} {verdict}")
        return "\n".join(lines)
