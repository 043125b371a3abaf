"""SHOT: carry the classifier over, bend the target's features to it, look at no source row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from baselines.deep.networks import DeepClassifier, Models, cross_entropy
from baselines.deep.stacked import Network, WeightNormLinear, hidden_layers
from baselines.deep.training import Trained, train
from baselines.rows import Batch, ColumnScaling, epochs_of_batches, fork
from krda.validation import FloatArray, require_integer, require_number


@dataclass(kw_only=True, eq=False, repr=False)
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
    play no part any more, not even in the scaling of the columns, which is that of the source: a
    column that is constant there is set to 0, for the source network has learnt nothing about it.

    The paper has a feature net of four layers and a classifier of one layer, 250 hidden units and
    Adam with 1e-3. Chosen here, as the paper is silent, by the publication and its published
    programs: the last feature layer is linear with batch normalisation and no ReLU; the classifier
    has normalised weights; :math:`\alpha = 0.1`, :math:`\beta = 0.3`, batches of 64; 15 epochs on
    the target; 30 on the source, the fewest in the publication. Batch normalisation follows the
    target's batches in adaptation. The rest as set out in :mod:`baselines.deep.networks`; the
    publication's decay of the learning rate belongs to its SGD and is left out with it.

    Information maximisation supposes that the target's classes are about equally frequent.

    References
    ----------
    Liang, Hu, Feng (2020). Do we really need to access the source data? Source hypothesis transfer
    for unsupervised domain adaptation. ICML, PMLR 119, 6028-6039.
    """

    batch_size: int = 64
    label_smoothing: float = 0.1  # alpha
    pseudo_label_weight: float = 0.3  # beta; 0 is SHOT-IM
    n_adaptation_epochs: int = 15  # passes over the target; 0 is the source network as it is

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
    def _network(n_features: int, n_classes: int, width: int, n_layers: int) -> Network:
        layers = hidden_layers(n_features, width, n_layers - 1)
        layers[-1] = nn.BatchNorm1d(width)  # in place of the last ReLU
        return Network(nn.Sequential(*layers), WeightNormLinear(width, n_classes))

    @classmethod
    def _train(cls, methods: Sequence[Self], models: Models) -> Trained:
        network, data, held_out, generators = models
        method = methods[0]
        # How long a network trains on the source must not decide what it draws on the target.
        later = generators if held_out is None else fork(generators)
        source = method._train_source(network, data[:2], held_out and held_out[:2], generators)
        target = method._adapt(network, data.Xt, held_out and held_out.Xt, later)
        errors = [
            first or second for first, second in zip(source.errors, target.errors, strict=True)
        ]
        losses = [np.concatenate(both) for both in zip(source.losses, target.losses, strict=True)]
        return Trained(losses, errors)

    def _train_source(
        self,
        network: Network,
        source: Batch,
        held_out: Batch | None,
        generators: Sequence[torch.Generator],
    ) -> Trained:
        """Train on source rows and their labels."""

        def loss_of(batch: Batch) -> Tensor:
            rows, labels = batch
            return cross_entropy(network(rows)[0], labels, self.label_smoothing)

        return train(
            network,
            loss_of,
            epochs_of_batches([source], self.batch_size, self.n_epochs, generators),
            learning_rate=self.learning_rate,
            what="SHOT (on the source)",
            held_out_loss=partial(loss_of, held_out) if held_out else None,
            patience=self.patience,
        )

    def _adapt(
        self,
        network: Network,
        Xt: Tensor,
        held_out: Tensor | None,
        generators: Sequence[torch.Generator],
    ) -> Trained:
        """Adapt the feature networks to the target; no source row is in reach here."""
        network.head.requires_grad_(False)
        n_classes = len(self.classes_)

        def loss_of(batch: Batch) -> Tensor:
            rows, labels = batch
            logits = network(rows)[0]
            loss = information_loss(logits)
            if self.pseudo_label_weight > 0:
                loss = loss + self.pseudo_label_weight * cross_entropy(logits, labels)
            return loss

        @torch.no_grad()
        def pseudo_labels(rows: Tensor) -> Tensor:
            logits, features = network(rows)
            labels = centroid_labels(features, torch.softmax(logits, dim=2))
            return F.one_hot(labels, n_classes).to(logits.dtype)

        def epochs() -> Iterator[list[Batch]]:
            one_hot = torch.zeros(*Xt.shape[:2], n_classes, dtype=Xt.dtype, device=Xt.device)
            coming = epochs_of_batches(
                [(Xt, one_hot)], self.batch_size, self.n_adaptation_epochs, generators
            )
            for _ in range(self.n_adaptation_epochs):
                if self.pseudo_label_weight > 0:
                    network.eval()
                    one_hot.copy_(pseudo_labels(Xt))
                    network.train()
                yield next(coming)

        return train(
            network,
            loss_of,
            epochs(),
            learning_rate=self.learning_rate,
            what="SHOT (on the target)",
            held_out_loss=None
            if held_out is None
            else lambda: loss_of((held_out, pseudo_labels(held_out))),
            patience=self.patience,
        )


def information_loss(logits: Tensor) -> Tensor:
    r"""Mean entropy of the predictions less entropy of the mean prediction, of shape (R,), in nats.

    :math:`E \, H(p) - H(E \, p) = E \sum_k p_k (\log E \, p_k - \log p_k)` (Liang et al. 2020,
    equations 3 and 4): minus the mutual information between row and prediction.
    """
    log_p = torch.log_softmax(logits, dim=2)
    log_mean = torch.logsumexp(log_p, dim=1, keepdim=True) - math.log(logits.shape[1])
    return (log_p.exp() * (log_mean - log_p)).sum(dim=2).mean(dim=1)


def centroid_labels(features: Tensor, probabilities: Tensor) -> Tensor:
    r"""Label rows by the nearest class centroid, in two rounds (Liang et al. 2020, eqs. 5 and 6).

    The centroid of class :math:`k` is the mean of the features, (R, n, d), weighted by :math:`p_k`,
    (R, n, K); each row takes the label of the centroid at the smallest cosine distance. With these
    labels as weights, centroids and labels are found once more. As in the published programs, a
    constant 1 is appended to the features, they are scaled to length 1, and classes that no row is
    assigned to are left out.
    """
    n_classes = probabilities.shape[2]
    rows = F.normalize(F.pad(features, (0, 1), value=1.0), dim=2)
    labels = probabilities.argmax(dim=2)
    weights = probabilities
    for _ in range(2):
        # Cosine distance does not depend on the length of a centroid: a sum serves as the mean.
        centroids = F.normalize(weights.mT @ rows, dim=2)
        similarity = rows @ centroids.mT
        absent = F.one_hot(labels, n_classes).sum(dim=1, keepdim=True) == 0
        labels = similarity.masked_fill(absent, -torch.inf).argmax(dim=2)
        weights = F.one_hot(labels, n_classes).to(rows.dtype)
    return labels
