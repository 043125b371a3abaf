"""What is SHOT's own: losses, pseudo-labels, a source network that does not know the target.

That the classifier stays and the source is gone is tested by the loop of test_straightforward.py.
"""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from baselines.deep.source_hypothesis import SHOT, centroid_labels, information_loss

SMALL = {"hidden_size": 32, "n_epochs": 20, "batch_size": 32, "random_state": 0}


def clusters(seed, n=150, shift=(1.2, 1.2)):
    """Three compact clusters; the shift carries some rows over the source's boundaries."""
    rng = np.random.default_rng(seed)
    centres = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    y = np.arange(n) % 3
    Xs = centres[y] + 0.4 * rng.normal(size=(n, 2))
    Xt = centres[y] + 0.4 * rng.normal(size=(n, 2)) + shift
    return Xs, y, Xt, y


def test_information_loss_and_its_gradient_stay_finite_for_certain_predictions():
    logits = torch.tensor([[[1e4, -1e4], [1e4, -1e4]]], requires_grad=True)
    losses = information_loss(logits)
    losses.sum().backward()
    assert losses.item() == 0
    assert torch.isfinite(logits.grad).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 25), st.integers(2, 4), st.integers(0, 2**31))
def test_centroid_labels_follow_the_two_rounds_of_the_publication(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 5))
    p = rng.dirichlet(np.ones(n_classes), size=n)
    rows = np.column_stack([features, np.ones(n)])
    labels = p.argmax(axis=1)
    weights = p
    for _ in range(2):
        present = np.unique(labels)
        centroids = [weights[:, k] @ rows_of(rows) / weights[:, k].sum() for k in present]
        labels = present[cdist(rows_of(rows), np.array(centroids), "cosine").argmin(axis=1)]
        weights = np.eye(n_classes)[labels]
    ours = centroid_labels(torch.tensor(features)[None], torch.tensor(p)[None])
    np.testing.assert_array_equal(ours[0].numpy(), labels)


def rows_of(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_moderate_shift_of_compact_clusters_is_undone():
    before, after = [], []
    for seed in range(3):
        Xs, ys, Xt, yt = clusters(seed)
        common = {**SMALL, "random_state": seed}
        source = SHOT(**common, n_adaptation_epochs=0).fit(Xs, ys, Xt)
        before.append((source.predict(Xt) == yt).mean())
        after.append((SHOT(**common).fit(Xs, ys, Xt).predict(Xt) == yt).mean())
    assert np.mean(before) < 0.9
    assert np.median(after) > 0.97


@pytest.mark.parametrize("held_out", [None, 0.2])
def test_the_source_network_does_not_know_the_target(held_out):
    Xs, ys, Xt, _ = clusters(0)
    parameters = {**SMALL, "n_adaptation_epochs": 0, "validation_fraction": held_out}
    one, other = (
        SHOT(**parameters).fit(Xs, ys, target).predict_proba(Xs)
        for target in (Xt, 100 * Xt[:10] + 5)
    )
    np.testing.assert_array_equal(one, other)
