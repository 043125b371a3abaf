"""SHOT: carry the classifier over, bend the target's features to it, look at no source row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from baselines.networks import (
    Batch,
    Check,
    ColumnScaling,
    DeepClassifier,
    HeldOut,
    Network,
    Trained,
    check_loss,
    cross_entropy,
    cut_batches,
    epochs_of_batches,
    epochs_of_rows,
    fork,
    hidden_layers,
    train,
)
from baselines.stacked import Stack, WeightNormLinear, product
from krda.adaptation import FloatArray
from krda.parameters import require_integer, require_number


class SHOT(DeepClassifier):
    r"""Source hypothesis transfer (Liang, Hu, Feng 2020).

    **On the source** a feature network :math:`f` and a classifier :math:`g` are trained by cross
    entropy with smoothed labels :math:`(1 - \alpha) 1_k + \alpha / K`.

    **On the target** the classifier stays as it is and the feature network is trained on, by

    .. math::
        L = E_t H(p(x)) - H(E_t \, p(x)) + \beta \, E_t \mathrm{CE}(g(f(x)), \hat y(x)),
        \qquad p = \mathrm{softmax}(g(f(x))), \quad H(p) = -\sum_k p_k \log p_k:

    predictions that are each certain but together diverse (information maximisation), and near
    pseudo-labels :math:`\hat y`, which :func:`centroid_labels` finds before each epoch. Source rows
    play no part any more, not even in the scaling of the columns, which is that of the source.

    The paper has a feature net of four layers and a classifier of one layer, 250 hidden units and
    Adam with 1e-3. Chosen here, as the paper is silent, by the publication and its published
    programs: the last feature layer is linear with batch normalisation and no ReLU; the classifier
    has normalised weights; :math:`\alpha = 0.1`, :math:`\beta = 0.3`, batches of 64; 15 epochs on
    the target; 30 on the source, the fewest in the publication. Batch normalisation follows the
    target's batches in adaptation. The rest as set out in :mod:`baselines.networks`; the
    publication's decay of the learning rate belongs to its SGD and is left out with it.

    Information maximisation supposes that the target's classes are about equally frequent.

    Parameters
    ----------
    hidden_size : int or dict
        Width of the hidden layers; with ``{"rnade_hidden_size": H,
        "n_components": N}`` the one at which the number of trained parameters is nearest to that
        of KRDA's density with these settings.
    n_layers : int
        Linear layers of the feature network and the classifier together.
    learning_rate : float
        Of Adam.
    label_smoothing : float
        :math:`\alpha`, in [0, 1).
    pseudo_label_weight : float
        :math:`\beta`; 0 is SHOT-IM.
    n_epochs : int
        Passes over the source.
    n_adaptation_epochs : int
        Passes over the target; 0 is the source network as it is.
    batch_size : int
        Rows in a step, at least two.
    validation_fraction : float or None
        Share of each domain's rows that is held out to stop by, see :mod:`baselines.networks`; None
        trains for all epochs and keeps the last state.
    patience : int
        Steps without a smaller held-out loss after which training ends; only with
        ``validation_fraction``.
    standardize : bool
        Scale each column to mean 0 and variance 1 over the source. A column that is constant there
        is set to 0 in the target too: the source network has learnt nothing of it.
    random_state : None, int or numpy.random.RandomState
    device : str
        Where to compute, ``cpu`` or ``cuda``. Results repeat exactly on one machine's CPU.

    Attributes
    ----------
    pseudo_labels_ : ndarray of shape (n_target,)
        The pseudo-labels of the last epoch; only where there were any.

    References
    ----------
    Liang, Hu, Feng (2020). Do we really need to access the source data? Source hypothesis transfer
    for unsupervised domain adaptation. ICML, PMLR 119, 6028-6039.
    """

    def __init__(
        self,
        hidden_size: int | Mapping[str, int] = 250,
        n_layers: int = 5,
        learning_rate: float = 1e-3,
        label_smoothing: float = 0.1,
        pseudo_label_weight: float = 0.3,
        n_epochs: int = 30,
        n_adaptation_epochs: int = 15,
        batch_size: int = 64,
        validation_fraction: float | None = None,
        patience: int = 250,
        standardize: bool = True,
        random_state: Any = None,
        device: str = "cpu",
    ) -> None:
        self.hidden_size = hidden_size
        self.n_layers = n_layers
        self.learning_rate = learning_rate
        self.label_smoothing = label_smoothing
        self.pseudo_label_weight = pseudo_label_weight
        self.n_epochs = n_epochs
        self.n_adaptation_epochs = n_adaptation_epochs
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.standardize = standardize
        self.random_state = random_state
        self.device = device

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_integer("n_adaptation_epochs", self.n_adaptation_epochs, 0)
        require_number("pseudo_label_weight", self.pseudo_label_weight, positive=False)
        require_number("label_smoothing", self.label_smoothing, positive=False)
        if self.label_smoothing >= 1:
            raise ValueError(f"label_smoothing must be below 1, got {self.label_smoothing!r}.")

    def _fit_scaler(self, Xs: FloatArray, Xt: FloatArray) -> ColumnScaling:
        # The source network is trained before the target is known.
        return ColumnScaling.fit(Xs)

    @staticmethod
    def _network(n_features: int, n_classes: int, hidden_size: int, n_layers: int) -> Network:
        layers = hidden_layers(n_features, hidden_size, n_layers - 1)
        layers[-1] = nn.BatchNorm1d(hidden_size)  # in place of the last ReLU
        return Network(nn.Sequential(*layers), WeightNormLinear(hidden_size, n_classes))

    @classmethod
    def _train_stacks(
        cls,
        methods: Sequence[Self],
        features: Stack,
        head: Stack,
        Xs: Tensor,
        labels: Tensor,
        Xt: Tensor,
        generators: Sequence[torch.Generator],
        held_out: Batch | None,
    ) -> Trained:
        method = methods[0]
        # How long a network trains on the source must not decide what it draws on the target.
        later = generators if held_out is None else fork(generators)
        source = method._train_source(features, head, Xs, labels, generators, held_out)
        pseudo_labels = torch.zeros(Xt.shape[:2], dtype=torch.int64, device=Xt.device)
        rows_out = None if held_out is None else held_out[2]
        target = method._adapt(features, head, Xt, pseudo_labels, later, rows_out)
        if method.n_adaptation_epochs > 0 and method.pseudo_label_weight > 0:
            for one, found in zip(methods, pseudo_labels.cpu().numpy(), strict=True):
                one.pseudo_labels_ = one.classes_[found]
        errors = [
            first or second for first, second in zip(source.errors, target.errors, strict=True)
        ]
        losses = [np.concatenate(both) for both in zip(source.losses, target.losses, strict=True)]
        return Trained(losses, errors)

    def _train_source(
        self,
        features: Stack,
        head: Stack,
        Xs: Tensor,
        labels: Tensor,
        generators: Sequence[torch.Generator],
        held_out: Batch | None,
    ) -> Trained:
        def held_out_loss() -> Tensor:
            assert held_out is not None
            rows, targets, _ = held_out
            logits = head.forward(features.forward(rows, training=False), training=False)
            return cross_entropy(logits, targets, self.label_smoothing)[0]

        def step(batch: Batch) -> list[Check]:
            rows, targets = batch
            logits = head.forward(features.forward(rows))
            losses, gradient = cross_entropy(logits, targets, self.label_smoothing)
            on_features = head.backward(gradient)
            assert on_features is not None
            features.backward(on_features, inputs=False)
            return [check_loss(losses)]

        return train(
            [features, head],
            step,
            epochs_of_batches([(Xs, labels)], self.batch_size, self.n_epochs, generators),
            learning_rate=self.learning_rate,
            what="SHOT (on the source)",
            held_out=HeldOut(held_out_loss, self.patience) if held_out else None,
        )

    def _adapt(
        self,
        features: Stack,
        head: Stack,
        Xt: Tensor,
        pseudo_labels: Tensor,
        generators: Sequence[torch.Generator],
        rows_out: Tensor | None,
    ) -> Trained:
        """Adapt the feature networks to the target; there is no source in sight here.

        ``pseudo_labels`` becomes those of the last epoch; ``rows_out`` are the held-out rows.
        """
        n_classes = len(self.classes_)
        one_hot = torch.zeros(*Xt.shape[:2], n_classes, dtype=Xt.dtype, device=Xt.device)

        def objective(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
            losses, gradient = information_loss(logits)
            if self.pseudo_label_weight > 0:
                distances, towards = cross_entropy(logits, labels)
                losses = losses + self.pseudo_label_weight * distances
                gradient = gradient + self.pseudo_label_weight * towards
            return losses, gradient

        def held_out_loss() -> Tensor:
            assert rows_out is not None
            f = features.forward(rows_out, training=False)
            logits = head.forward(f, training=False)
            labels = centroid_labels(f, torch.softmax(logits, dim=2))
            return objective(logits, F.one_hot(labels, n_classes).to(logits.dtype))[0]

        def epochs() -> Iterator[list[Batch]]:
            for rows in epochs_of_rows([Xt.shape[1]], self.n_adaptation_epochs, generators):
                if self.pseudo_label_weight > 0:
                    f = features.forward(Xt, training=False)
                    p = torch.softmax(head.forward(f), dim=2)
                    pseudo_labels.copy_(centroid_labels(f, p))
                    one_hot.copy_(F.one_hot(pseudo_labels, n_classes))
                yield cut_batches([(Xt, one_hot)], rows, self.batch_size)

        def step(batch: Batch) -> list[Check]:
            rows, labels = batch
            logits = head.forward(features.forward(rows))
            losses, gradient = objective(logits, labels)
            on_features = head.backward(gradient, parameters=False)
            assert on_features is not None
            features.backward(on_features, inputs=False)
            return [check_loss(losses)]

        return train(
            [features],
            step,
            epochs(),
            learning_rate=self.learning_rate,
            what="SHOT (on the target)",
            held_out=None if rows_out is None else HeldOut(held_out_loss, self.patience),
        )


def information_loss(logits: Tensor) -> tuple[Tensor, Tensor]:
    r"""Mean entropy of the predictions minus entropy of the mean prediction, and its gradient.

    :math:`E \, H(p) - H(E \, p) = E \sum_k p_k a_k` with :math:`a_k = \log E \, p_k - \log p_k`
    (Liang et al. 2020, equations 3 and 4): minus the mutual information between row and
    prediction, between :math:`-\log K` and 0.

    Parameters
    ----------
    logits : Tensor of shape (R, n, K)

    Returns
    -------
    losses : Tensor of shape (R,)
        In nats.
    gradient : Tensor of shape (R, n, K)
        :math:`p_k (a_k - \sum_l p_l a_l) / n`.
    """
    n = logits.shape[1]
    log_p = torch.log_softmax(logits, dim=2)
    log_mean = torch.logsumexp(log_p, dim=1, keepdim=True) - math.log(n)
    p, a = log_p.exp(), log_mean - log_p
    of_rows = (p * a).sum(dim=2, keepdim=True)
    return of_rows.sum(dim=(1, 2)) / n, p * (a - of_rows) / n


def centroid_labels(features: Tensor, probabilities: Tensor) -> Tensor:
    r"""Label rows by the nearest class centroid, in two rounds (Liang et al. 2020, eqs. 5 and 6).

    Centroid of class :math:`k` is the mean of the features weighted by :math:`p_k`; each row takes
    the label of the centroid at the smallest cosine distance. With these labels as weights,
    centroids and labels are found once more. As in the published programs, a constant 1 is appended
    to the features, they are scaled to length 1, and classes that no row is assigned to are left
    out.

    Parameters
    ----------
    features : Tensor of shape (R, n, d)
    probabilities : Tensor of shape (R, n, K)

    Returns
    -------
    labels : Tensor of shape (R, n), int64, in 0 .. K-1
    """
    n_classes = probabilities.shape[2]
    rows = F.normalize(F.pad(features, (0, 1), value=1.0), dim=2)
    labels = probabilities.argmax(dim=2)
    weights = probabilities
    for _ in range(2):
        # Cosine distance does not see the length of a centroid: sums serve as well as means.
        centroids = F.normalize(product(weights.transpose(1, 2), rows), dim=2)
        similarity = product(rows, centroids.transpose(1, 2))
        absent = F.one_hot(labels, n_classes).sum(dim=1, keepdim=True) == 0
        labels = similarity.masked_fill(absent, -torch.inf).argmax(dim=2)
        weights = F.one_hot(labels, n_classes).to(rows.dtype)
    return labels
