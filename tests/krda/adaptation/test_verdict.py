"""What the verdict says of what was found."""

import json
from dataclasses import replace

import numpy as np
import pytest

from krda.adaptation.verdict import Found, advice_for, judge
from krda.alignment.choice import Candidate, Choice
from krda.alignment.fitting import Fitted


def candidate(kind="none", excess=0.0, *, chosen=True, shares=(0.5, 0.5), of="source"):
    shares, noise = np.array(shares), np.full(2, 5.0)
    fitted = Fitted(lambda X: X, shares)
    return Candidate(
        kind, of, shares, noise + excess, noise, np.ones(2), chosen=chosen, fitted=fitted
    )


def found(shift="none", candidates=(), *, ambiguous=False, **changes):
    candidates = candidates or [candidate()]
    half = np.array([0.5, 0.5])
    usual = Found(
        choice=Choice(shift, tuple(candidates), ambiguous),
        meaning="Something is shifted.",
        labels=["a", "b"],
        source_shares=half,
        predicted_shares=np.array([0.3, 0.7]),
        agreement=1.0,
        source_accuracy=0.9,
        majority=0.5,
        by_chance=0.001,
        target_rows=100,
        outlying=0.0,
    )
    return replace(usual, **changes)


@pytest.mark.parametrize(
    ("shift", "advice"),
    [("none", "plain"), ("class shares", "reweighted"), ("columns", "adapted"), ("axes", "adapted"),
     ("both", "adapted"), ("unexplained", "adapted")],
)  # fmt: skip
def test_each_kind_of_shift_has_its_classifier(shift, advice):
    verdict = judge(found(shift))
    assert verdict.advice == advice
    assert verdict.line.startswith(f"Use the {advice} classifier")
    assert str(verdict).startswith(verdict.line)


@pytest.mark.parametrize(
    "changes", [{"by_chance": 0.06}, {"agreement": 0.5}, {"ambiguous": True}, {"target_rows": 19}]
)
def test_none_of_the_predictions_is_to_be_used_if_they_are_doubtful(changes):
    assert judge(found("axes", **changes)).advice == "none"


def test_the_evidence_is_five_sentences_at_most_and_the_numbers_are_json():
    plain = candidate(excess=20.0, chosen=False)
    voters = [candidate(kind, excess=1.0) for kind in ("standardize", "quantiles", "linear")]
    verdict = judge(found("columns", [plain, *voters], agreement=0.9, outlying=0.1))
    assert len(verdict.evidence) <= 5
    assert "20 deviations" in verdict.evidence[0]
    assert "With standardize, quantiles and linear, which vote, 1.0 are left" in verdict.evidence[0]
    more = verdict.with_evidence("First.")
    assert (more.evidence[0], more.line) == ("First.", verdict.line)
    assert len(more.evidence) <= 5
    assert json.loads(json.dumps(verdict.to_dict(), allow_nan=False))["advice"] == "adapted"


def test_the_shares_of_a_reweighted_source_are_said():
    chosen = candidate(of="estimated", shares=(0.2, 0.8))
    verdict = judge(found("class shares", [candidate(excess=9.0, chosen=False), chosen]))
    assert any("b 80%" in sentence for sentence in verdict.evidence)
    assert verdict.numbers["class_shares"]["assumed"] == {"a": 0.2, "b": 0.8}


def test_a_plot_has_a_bar_for_each_candidate():
    pytest.importorskip("matplotlib").use("Agg")
    verdict = judge(found("none", [candidate(), candidate("linear", chosen=False)]))
    ax = verdict.plot()
    assert len(ax.patches) == 2
    assert verdict.plot(ax) is ax


def test_labelled_rows_can_overturn_what_was_doubtful():
    verdict = judge(found("axes", ambiguous=True))
    other = verdict.with_evidence("Labels agree.", "adapted", "Labels confirm it.")
    assert other.advice == "adapted"
    assert other.line == "Use the adapted classifier. Labels confirm it."
    assert other.evidence[0] == "Labels agree."


def test_a_method_stands_for_an_advice():
    assert advice_for("class shares", "auto") == "reweighted"
    assert advice_for("columns", "plain") == "plain"
    assert advice_for("none", "krda") == "adapted"


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_noise_of_zero_is_no_number_of_json():
    plain = replace(candidate(excess=1.0), noise_deviations=np.zeros(2))
    verdict = judge(found("columns", [plain, candidate("linear")]))
    assert verdict.numbers["candidates"][0]["deviations"] == [None, None]
    json.dumps(verdict.to_dict(), allow_nan=False)
