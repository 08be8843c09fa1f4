"""A training whose samples come through a file cache, as the seed article writes it; the transform is in transform.py.

Prints a line of JSON for each epoch: the sum of all labels, pixels and losses that it has seen.
"""

from __future__ import annotations

import json
import os
import sys

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn, ops
from mindspore.communication import get_group_size, get_rank, init
from mindspore.dataset import vision
from transform import scaled

from mswb.cache import cached

EPOCHS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
RANK, RANKS = 0, 1
if "MS_ROLE" in os.environ:
    init("mccl")  # the scheduler ends here
    RANK, RANKS = get_rank(), get_group_size()
SHARDS = {"num_shards": RANKS, "shard_id": RANK} if RANKS > 1 else {}


class Numbers:
    """A map-style source."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        return np.full((8,), number, np.float32), np.int32(number)


train_dataset = ds.ImageFolderDataset(dataset_dir=sys.argv[1], **SHARDS)
train_dataset = train_dataset.map([vision.Decode(), vision.Resize((4, 4)), scaled], ["image"])
train_dataset = train_dataset.cache(
    cache_size=1024,
    name="imagenet_train",  # this name is what mscache --dataset takes
)
train_dataset = train_dataset.batch(2)
numbers = cached(Numbers(10), name="numbers", cache_size=16, **SHARDS)

network = nn.Dense(48, 2)
loss_of = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
optimizer = nn.Momentum(network.trainable_params(), 1e-5, 0.9)
step = ms.value_and_grad(lambda x, y: loss_of(network(x), y), None, optimizer.parameters)
for epoch in range(EPOCHS):
    seen = {"epoch": epoch, "pixels": 0.0, "images": 0, "numbers": 0}
    for images, labels in train_dataset.create_tuple_iterator(num_epochs=1):
        loss, gradients = step(ops.reshape(images, (-1, 48)), labels.astype(ms.int32))
        optimizer(gradients)
        assert np.isfinite(float(loss))
        seen["pixels"] += float(images.sum())
        seen["images"] += len(labels)
    for _, number in numbers.create_tuple_iterator(num_epochs=1, output_numpy=True):
        seen["numbers"] += int(number)
    print("SEEN " + json.dumps({"rank": RANK, **seen}), flush=True)
