"""Source only and Target only are the plain classifier, on the rows that they may see."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from baselines.reference import SourceOnly, TargetOnly


def test_source_only_is_the_classifier_on_the_source(domains):
    method = SourceOnly(SVC(C=3)).fit(domains.Xs, domains.ys, domains.Xt)
    plain = SVC(C=3).fit(domains.Xs, domains.ys)
    np.testing.assert_array_equal(method.predict(domains.Xt), plain.predict(domains.Xt))


def test_target_only_is_the_classifier_on_the_target(domains):
    method = TargetOnly(LogisticRegression(max_iter=1000)).fit(domains.Xt, domains.yt)
    plain = LogisticRegression(max_iter=1000).fit(domains.Xt, domains.yt)
    np.testing.assert_array_equal(method.predict(domains.Xs), plain.predict(domains.Xs))


def test_no_classifier_means_the_default_svm(domains):
    method = TargetOnly().fit(domains.Xt, domains.yt)
    assert method.classifier_.get_params() == SVC().get_params()


def test_target_only_cannot_be_run_as_an_adaptation_method(moons):
    with pytest.raises(TypeError, match="positional argument"):
        TargetOnly().fit(moons.Xs, moons.ys, moons.Xt)


@pytest.mark.parametrize(
    "labels", [[-1, 1], ["no", "yes"], [False, True], ["b", "a", "c"]], ids=str
)
def test_target_only_returns_labels_of_any_kind(blobs, labels):
    yt = np.array(labels)[blobs.yt % len(labels)]
    method = TargetOnly().fit(blobs.Xt, yt)
    assert method.predict(blobs.Xt).dtype == yt.dtype
    assert method.score(blobs.Xt, yt) > 0.9


def test_target_only_names_what_is_wrong_with_its_input(moons):
    spoilt = moons.Xt.copy()
    spoilt[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input Xt contains NaN"):
        TargetOnly().fit(spoilt, moons.yt)
    with pytest.raises(ValueError, match="yt has one class only"):
        TargetOnly().fit(moons.Xt, np.ones(len(moons.Xt)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TargetOnly().fit(moons.Xt, moons.yt[1:])
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        TargetOnly().fit(moons.Xt[:1], moons.yt[:1])
    with pytest.raises(ValueError, match="Unknown label type"):
        TargetOnly().fit(moons.Xt, moons.Xt[:, 0])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        TargetOnly().fit(csr_array(moons.Xt), moons.yt)
    with pytest.raises(NotFittedError):
        TargetOnly().predict(moons.Xt)
    method = TargetOnly().fit(moons.Xt, moons.yt)
    with pytest.raises(ValueError, match="X has 1 columns, but Xt has 2"):
        method.predict(moons.Xt[:, :1])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        method.predict(spoilt)
