"""Source only and Target only are the plain classifier, on the rows that they may see."""

import numpy as np
import pytest
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


def test_target_only_cannot_be_run_as_an_adaptation_method(moons):
    with pytest.raises(TypeError, match="positional argument"):
        TargetOnly().fit(moons.Xs, moons.ys, moons.Xt)


def test_target_only_names_what_is_wrong_with_its_input(moons):
    spoilt = moons.Xt.copy()
    spoilt[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input Xt contains NaN"):
        TargetOnly().fit(spoilt, moons.yt)
    with pytest.raises(ValueError, match="yt has one class only"):
        TargetOnly().fit(moons.Xt, np.ones(len(moons.Xt)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TargetOnly().fit(moons.Xt, moons.yt[1:])
    with pytest.raises(ValueError, match="yt is a masked array"):
        TargetOnly().fit(moons.Xt, np.ma.masked_equal(moons.yt, 1))
    with pytest.raises(NotFittedError):
        TargetOnly().predict(moons.Xt)
    method = TargetOnly().fit(moons.Xt, moons.yt)
    with pytest.raises(ValueError, match="X has 1 columns, but Xt has 2"):
        method.predict(moons.Xt[:, :1])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        method.predict(spoilt)
