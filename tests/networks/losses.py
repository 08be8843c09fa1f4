"""Losses and measures: what is exported to be watched after training, or is part of a network that trains itself."""

from __future__ import annotations

from typing import Any

from mindspore import nn, ops

from tests.networks.catalogue import f32, i32, layer
from tests.networks.cells import function

ROWS = f32(4, 6)
PART = f32(4, 6, low=0.05, high=0.95)

layer("l1-loss", nn.L1Loss, ROWS, ROWS)
layer("mae-loss", nn.MAELoss, ROWS, ROWS)
layer("rmse-loss", nn.RMSELoss, ROWS, ROWS)
layer("huber-loss", lambda: nn.HuberLoss(delta=0.7), ROWS, ROWS)
layer("bce-loss", lambda: nn.BCELoss(reduction="mean"), PART, PART)
layer("bce-with-logits", nn.BCEWithLogitsLoss, ROWS, PART)
layer("nll-loss", nn.NLLLoss, ROWS, i32(4, low=0, high=6))
layer("multi-label-loss", nn.MultiLabelSoftMarginLoss, ROWS, PART)
layer("cosine-embedding-loss", lambda: nn.CosineEmbeddingLoss(margin=0.1), ROWS, ROWS, i32(4, low=1, high=2))
layer("margin-ranking-loss", lambda: nn.MarginRankingLoss(margin=0.2), ROWS, ROWS, ROWS)
layer("hinge-embedding-loss", nn.HingeEmbeddingLoss, ROWS, ROWS)
layer("poisson-loss", nn.PoissonNLLLoss, ROWS, f32(4, 6, low=0.1))
layer("gaussian-loss", nn.GaussianNLLLoss, ROWS, ROWS, f32(4, 6, low=0.2))
layer("kl-loss", lambda: nn.KLDivLoss(reduction="sum"), ROWS, PART)
layer("dice-loss", nn.DiceLoss, PART, PART)
layer("focal-loss", lambda: nn.FocalLoss(gamma=2.0), f32(2, 4, 3), i32(2, 1, 3, low=0, high=4))
layer("softmax-cross-entropy", lambda: nn.SoftmaxCrossEntropyWithLogits(sparse=True), ROWS, i32(4, low=0, high=6))
layer("softmax-cross-entropy-dense", lambda: nn.SoftmaxCrossEntropyWithLogits(reduction="mean"), ROWS, PART)
layer("cross-entropy-smooth", lambda: nn.CrossEntropyLoss(label_smoothing=0.1), ROWS, i32(4, low=0, high=6))
layer("cross-entropy-weighted", lambda: nn.CrossEntropyLoss(ignore_index=2), f32(2, 5, 3), i32(2, 3, low=0, high=5))
layer("cross-entropy-shares", nn.CrossEntropyLoss, ROWS, PART)


@function(ROWS, ROWS)
def pairwise_cosine(a: Any, b: Any) -> Any:
    return ops.cosine_similarity(a, b, dim=1)


@function(ROWS, i32(4, low=0, high=6))
def accuracy(scores: Any, labels: Any) -> Any:
    return (scores.argmax(1) == labels).float().mean()


@function(ROWS)
def entropy(scores: Any) -> Any:
    return -(ops.softmax(scores, 1) * ops.log_softmax(scores, 1)).sum(1)


@function(ROWS, ROWS, f32(4, low=0.0, high=1.0))
def triplets_by_hand(a: Any, b: Any, weight: Any) -> Any:
    distance = ops.norm(a - b, dim=1)
    return ops.relu(distance - 0.3) * weight, ops.huber_loss(a, b, delta=0.5), ops.l1_loss(a, b, reduction="none")
