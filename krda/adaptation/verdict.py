"""What to use for a target table, in one line, and why: from a choice of an alignment.

Everything here is arithmetic on what was found; nothing is fitted and nothing is read.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from krda.alignment.choice import DEVIATIONS, SHARES_DEVIATIONS, Candidate, Choice
from krda.printing import printable
from krda.validation import FloatArray

Advice = Literal["plain", "reweighted", "adapted", "none"]

#: Share of target rows on which the classifiers that vote must agree.
LEAST_AGREEMENT = 0.6

#: Target rows below which nothing is advised.
LEAST_ROWS = 20

#: Deviations of the noise beyond which a number says no more.
_MUCH = 100

#: Chance of taking a useless classifier for a useful one, by source rows that were left out.
LEVEL = 0.05

_USE: dict[Advice, str] = {
    "plain": "Use the plain classifier",
    "reweighted": "Use the reweighted classifier",
    "adapted": "Use the adapted classifier",
    "none": "Use none of the predictions",
}
# What a kind of shift, or a method, stands for; all others stand for "adapted".
_ADVICE: dict[str, Advice] = {
    "none": "plain",
    "class shares": "reweighted",
    "plain": "plain",
    "reweighted": "reweighted",
}


@dataclass(frozen=True)
class Found:
    """What the verdict is made from; shares of classes are in the order of the labels."""

    choice: Choice
    meaning: str  # of the shift, in words
    labels: list[str]
    source_shares: FloatArray
    predicted_shares: FloatArray
    agreement: float  # share of target rows on which all classifiers that vote agree
    source_accuracy: float  # of the plain classifier, on source rows that were left out
    majority: float  # share of the most frequent class among these
    by_chance: float  # probability that a classifier that knows nothing ranks these as well
    target_rows: int
    outlying: float  # share of target rows that are far from the others in some column


@dataclass(frozen=True)
class Verdict:
    """What to use, in one line, with at most five sentences of evidence and the numbers.

    Attributes
    ----------
    advice : {"plain", "reweighted", "adapted", "none"}
        Which classifier's predictions to use. If it is "none", predictions are there all the same.
    line : str
        The advice and its reason.
    evidence : list of str
        At most five sentences.
    numbers : dict
        What the sentences rest on, in types that JSON has.

    Examples
    --------
    >>> print(Verdict("plain", "Use the plain classifier. Nothing has changed.", ["It is right."]))
    Use the plain classifier. Nothing has changed.
      It is right.
    """

    advice: Advice
    line: str
    evidence: list[str]
    numbers: dict[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return "\n".join([self.line, *(f"  {sentence}" for sentence in self.evidence)])

    def with_evidence(self, sentence: str, advice: Advice | None = None, why: str = "") -> Verdict:
        """Give the verdict with another sentence first, and another advice if one is given.

        Parameters
        ----------
        sentence : str
        advice : {"plain", "reweighted", "adapted", "none"}, default=None
            None leaves advice and line.
        why : str, default=""
            The reason for the advice, a sentence.

        Returns
        -------
        verdict : Verdict
            With five sentences at most.
        """
        evidence = [sentence, *self.evidence][:5]
        if advice is None:
            return replace(self, evidence=evidence)
        return replace(self, evidence=evidence, advice=advice, line=f"{_USE[advice]}. {why}")

    def to_dict(self) -> dict[str, Any]:
        """Give the verdict in types that JSON has.

        Returns
        -------
        verdict : dict
            With the attributes as keys.
        """
        return asdict(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw what each candidate leaves of the shift.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes one.

        Returns
        -------
        ax : matplotlib Axes
        """
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots(layout="constrained")[1]
        candidates = self.numbers["candidates"][::-1]
        left = [max(0.1, *(1e6 if d is None else d for d in c["deviations"])) for c in candidates]
        colours = ["C0" if c["chosen"] else "0.75" for c in candidates]
        ax.barh([c["name"] for c in candidates], left, color=colours)
        ax.axvline(DEVIATIONS, color="0.3", linestyle=":")
        ax.set(xscale="log", xlabel="left of the shift, in deviations of the noise")
        ax.set_title(self.line, loc="left", fontsize="medium", wrap=True)
        return ax


def advice_for(shift: str, method: str) -> Advice:
    """Give the advice that a method stands for; "auto" is what the kind of shift asks for."""
    return _ADVICE.get(shift if method == "auto" else method, "adapted")


def judge(found: Found) -> Verdict:
    """Say what to use.

    "None" has one of four reasons: the columns do not tell the classes apart even in the source;
    the target has too few rows; two rotations explain the target equally well and may exchange the
    classes; or the classifiers that vote contradict each other.
    """
    choice = found.choice
    reason = ""
    if found.by_chance >= LEVEL:
        reason = "The columns do not tell the classes apart, even in the source."
    elif found.target_rows < LEAST_ROWS:
        reason = f"{found.target_rows} target rows are too few to see a shift."
    elif choice.ambiguous:
        reason = "Two rotations explain the target equally well, and may exchange the classes."
    elif found.agreement < LEAST_AGREEMENT:
        reason = "The classifiers that vote contradict each other."
    advice: Advice = "none" if reason else advice_for(choice.shift, "auto")
    numbers = {
        "shift": choice.shift,
        "candidates": [
            {"name": c.name, "chosen": c.chosen, "deviations": _rounded(c.deviations)}
            for c in choice.candidates
        ],
        "ambiguous": choice.ambiguous,
        "class_shares": {
            "source": _by_label(found, found.source_shares),
            "assumed": _by_label(found, choice.chosen[0].shares),
            "predicted": _by_label(found, found.predicted_shares),
        },
        "agreement": round(found.agreement, 4),
        "source_accuracy": round(found.source_accuracy, 4),
        "by_chance": round(found.by_chance, 4),
        "majority": round(found.majority, 4),
        "outlying": round(found.outlying, 4),
    }
    line = f"{_USE[advice]}. {reason or found.meaning}"
    return Verdict(advice, line, _evidence(found), numbers)


def _evidence(found: Found) -> list[str]:
    choice = found.choice
    plain, used = choice.candidates[0], choice.chosen
    sentences = []
    limit = DEVIATIONS if used[0].class_shares == "source" else SHARES_DEVIATIONS
    after = ""
    if choice.shift != "none":
        names = _joined([_in_words(c) for c in used]) + (", which vote" if len(used) > 1 else "")
        after = f" With {names}, {_of_noise(used)} are left."
    sentences.append(
        f"Source and target differ by {_of_noise([plain])} deviations of the noise; up to "
        f"{limit:g} may be chance.{after}"
    )
    if choice.shift in ("class shares", "both"):
        sentences.append(f"Class shares of the target: {_shares(found, used[0].shares)}.")
    assumed = used[0].class_shares == "source" and choice.shift != "none"
    sentences.append(
        f"Predicted are {_shares(found, found.predicted_shares)}; the source has "
        f"{_shares(found, found.source_shares)}"
        + (", and the target is assumed to have the same shares." if assumed else ".")
    )
    if len(used) > 1:
        sentences.append(
            f"The {len(used)} classifiers that vote agree on {found.agreement:.0%} of the rows."
        )
    sentences.append(
        f"In the source, the classifier is right on {found.source_accuracy:.0%} of rows left out, "
        f"and the most frequent class has {found.majority:.0%}."
    )
    if found.outlying > 0:
        sentences.append(
            f"{found.outlying:.1%} of the target rows are far from the others in some column and "
            "distort means and deviations: look at them."
        )
    return sentences


def _of_noise(candidates: list[Candidate]) -> str:
    """Write what the best of some candidates leaves."""
    least = max(0.0, min(float(c.deviations.max()) for c in candidates))
    if least > _MUCH:
        return f"more than {_MUCH}"
    return f"{least:.0f}" if least >= 10 else f"{least:.1f}"


def _in_words(candidate: Candidate) -> str:
    words: list[str] = [] if candidate.kind == "none" else [candidate.kind]
    if candidate.class_shares == "estimated":
        words.append("other class shares")
    return " and ".join(words) or "the source as it is"


def _joined(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _shares(found: Found, shares: FloatArray) -> str:
    named = sorted(zip(shares, found.labels, strict=True), reverse=True)
    texts = [f"{printable(label)} {share:.0%}" for share, label in named[:4]]
    return ", ".join(texts) + (f" and {len(named) - 4} more" if len(named) > 4 else "")


def _by_label(found: Found, shares: FloatArray) -> dict[str, float | None]:
    return dict(zip(found.labels, _rounded(shares), strict=True))


def _rounded(numbers: FloatArray) -> list[float | None]:
    """Round; None for infinity, which JSON has not: noise that is zero."""
    return [round(float(x), 4) if np.isfinite(x) else None for x in np.asarray(numbers)]
