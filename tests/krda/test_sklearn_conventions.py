"""KRDA beside scikit-learn's own tools: routing, scoring, probabilities, pickles, its checks."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, OneClassSVM
from sklearn.utils import estimator_checks
from sklearn.utils.parallel import Parallel, delayed

from baselines.reference import SourceOnly, TargetOnly
from baselines.subspace_alignment import SubspaceAlignment
from baselines.transfer_components import TransferComponentAnalysis
from krda import KRDA, AffineAlignment, ClassReweighting, ColumnQuantiles, LinearOT, Standardize
from krda.alignment.auto import AutoAdaptation

ALIGNMENTS = [
    AffineAlignment, AutoAdaptation, ClassReweighting, ColumnQuantiles, LinearOT, Standardize,
]  # fmt: skip

# Checks of scikit-learn that fit nothing: its others fit to one table, which no method here does.
FITLESS_CHECKS = [
    "estimator_cloneable", "estimator_repr", "estimator_tags_renamed", "get_params_invariance",
    "no_attributes_set_in_init", "parameters_default_constructible", "set_params",
    "valid_tag_types",
]  # fmt: skip


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    Xs = rng.normal(size=(150, 2))
    return Xs, (Xs[:, 0] > 0).astype(int), 3 * rng.normal(size=(120, 2)) + 5


def quick(classifier=None):
    return KRDA(classifier=classifier, max_steps=60, random_state=0)


@pytest.mark.parametrize("check", FITLESS_CHECKS)
@pytest.mark.parametrize("method", [KRDA, *ALIGNMENTS])
def test_checks_of_scikit_learn_that_fit_nothing_pass(method, check):
    getattr(estimator_checks, f"check_{check}")(method.__name__, method())


@pytest.mark.parametrize("classifier", [LogisticRegression(), HistGradientBoostingClassifier()])
def test_probabilities_are_those_of_the_classifier_for_target_rows(task, classifier):
    model = quick(classifier).fit(*task)
    probabilities = model.predict_proba(task[2])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    likeliest = model.classes_[probabilities.argmax(axis=1)]
    np.testing.assert_array_equal(likeliest, model.predict(task[2]))


def test_a_method_has_what_its_classifier_has_before_the_fit_and_after(task):
    for model in (quick(HistGradientBoostingClassifier()), quick(SVC())):
        for fitted in (model, model.fit(*task)):
            for name in ("predict_proba", "decision_function"):
                assert hasattr(fitted, name) == hasattr(model.classifier, name)


def test_a_routed_pipeline_transforms_the_target_rows_too(task):
    Xs, ys, Xt = task
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = Pipeline(
            [("scale", StandardScaler()), ("krda", quick())], transform_input=["Xt"]
        ).fit(Xs, ys, Xt=Xt)
        predicted = pipeline.predict(Xt)
    scaler = StandardScaler().fit(Xs)
    by_hand = quick().fit(scaler.transform(Xs), ys, scaler.transform(Xt))
    np.testing.assert_array_equal(predicted, by_hand.predict(scaler.transform(Xt)))


@pytest.mark.parametrize("routing", [False, True])
def test_krda_before_another_step_is_refused(task, routing):
    Xs, ys, Xt = task
    fitted = quick().fit(*task)
    given = {"Xt": Xt} if routing else {"krda__Xt": Xt}
    pipelines = [
        Pipeline([("krda", quick()), ("svc", SVC())]),
        Pipeline([("krda", quick()), ("scale", StandardScaler())]),
        Pipeline([("union", FeatureUnion([("krda", quick())])), ("svc", SVC())]),
        Pipeline([("columns", ColumnTransformer([("krda", quick(), [0, 1])])), ("svc", SVC())]),
        Pipeline([("krda", FrozenEstimator(fitted)), ("svc", SVC())]),
    ]
    with sklearn.config_context(enable_metadata_routing=routing):
        for i, pipeline in enumerate(pipelines):
            with pytest.raises(TypeError, match="only be the last step"):
                pipeline.fit(Xs, ys, **(given if i < 2 else {}))
        with pytest.raises(TypeError, match="only be the last step"):
            ColumnTransformer([("krda", quick(), [0, 1])]).fit_transform(Xs, ys)
    with pytest.raises(TypeError, match=r"call fit\(Xs, ys, Xt\), then transform"):
        quick().fit_transform(*task)


@pytest.mark.parametrize(
    "method", [quick, *ALIGNMENTS, SubspaceAlignment, TransferComponentAnalysis]
)
def test_no_method_can_be_a_step_before_another(task, method):
    Xs, ys, Xt = task
    name = type(method()).__name__.lower()
    with pytest.raises(TypeError, match="only be the last step"):
        make_pipeline(method(), SVC()).fit(Xs, ys, **{f"{name}__Xt": Xt})
    fitted = method().fit(*task)
    with pytest.raises(TypeError, match="only be the last step"):
        make_pipeline(fitted, SVC().fit(Xs, ys)).predict(Xt)
    assert len(fitted.transform(Xs=Xs)) == len(Xs)


def test_source_rows_can_be_transformed_by_a_parallel_loop(task):
    model = quick().fit(*task)
    halves = np.array_split(task[0], 2)
    # `delayed` of scikit-learn calls from within scikit-learn, and no pipeline is involved.
    moved = Parallel(n_jobs=1)(delayed(model.transform)(half) for half in halves)
    np.testing.assert_allclose(np.concatenate(moved), model.transform(task[0]), rtol=1e-12)


def test_a_pipeline_that_leaves_the_target_rows_as_they_are_is_refused(task):
    Xs, ys, Xt = task
    given = {"krda__Xt": Xt}
    for first in (StandardScaler(), make_pipeline(StandardScaler())):
        with pytest.raises(ValueError, match=r"but not Xt.*transform_input"):
            make_pipeline(first, quick()).fit(Xs, ys, **given)
    with pytest.raises(ValueError, match="but not Xt"):
        make_pipeline(StandardScaler(), make_pipeline(quick())).fit(Xs, ys, pipeline__krda__Xt=Xt)
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="but not Xt"),
    ):
        make_pipeline(StandardScaler(), quick()).fit(Xs, ys, Xt=Xt)
    search = GridSearchCV(quick(), {"eps": [1e-8]}, cv=2)
    with pytest.raises(ValueError, match="but not Xt"):
        make_pipeline(StandardScaler(), search).fit(Xs, ys, gridsearchcv__Xt=Xt)
    plain = quick().fit(*task).predict(Xt)
    for steps in ([quick()], ["passthrough", quick()]):
        predicted = make_pipeline(*steps).fit(Xs, ys, **given).predict(Xt)
        np.testing.assert_array_equal(predicted, plain)


NO_CLASSIFIERS = [
    IsolationForest(), KMeans(2), StandardScaler(), LinearRegression(), OneClassSVM(),
    make_pipeline(StandardScaler(), KMeans(2)), make_pipeline(SVC(), StandardScaler()),
    GridSearchCV(LinearRegression(), {"fit_intercept": [True]}), make_pipeline("passthrough"),
]  # fmt: skip


@pytest.mark.parametrize("wrong", NO_CLASSIFIERS, ids=str)
def test_what_is_no_classifier_is_refused(task, wrong):
    Xs, ys, Xt = task
    for method in (quick(wrong), SourceOnly(wrong), Standardize(wrong), AutoAdaptation(wrong)):
        with pytest.raises(ValueError, match="must be a classifier"):
            method.fit(Xs, ys, Xt)
    with pytest.raises(ValueError, match="must be a classifier"):
        TargetOnly(wrong).fit(Xs, ys)


def test_a_pickled_model_transforms_and_predicts_the_same(task):
    model = quick().fit(*task)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(task[0]), model.transform(task[0]))
    np.testing.assert_array_equal(again.predict(task[2]), model.predict(task[2]))
