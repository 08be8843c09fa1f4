"""Export many small networks as MindIR into the folder that is named; prints the name of each."""

import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")


def f(*shape):
    return Tensor(np.random.RandomState(0).randn(*shape).astype(np.float32))


class Attention(nn.Cell):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.norm = nn.Dense(8, 8), nn.Dense(8, 8), nn.Dense(8, 8), nn.LayerNorm((8,))

    def construct(self, x):
        weights = ops.softmax(ops.matmul(self.q(x), self.k(x).swapaxes(-1, -2)) / 2.8, -1)
        return self.norm(x + ops.matmul(weights, self.v(x)))


class Branch(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 4)

    def construct(self, x):
        if x.sum() > 0:  # noqa: SIM108 (a branch of the graph)
            y = self.dense(x)
        else:
            y = x * 2
        return y


class Loop(nn.Cell):
    def construct(self, x, n):
        i = Tensor(0, ms.int32)
        while i < n:
            x = x * 2
            i = i + 1
        return x


class Embedding(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table, self.dense = nn.Embedding(10, 6), nn.Dense(6, 3)

    def construct(self, x):
        return self.dense(self.table(x).mean(1))


class Shared(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 4)

    def construct(self, x):
        return self.dense(self.dense(x))


class Half(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 4).to_float(ms.float16)

    def construct(self, x):
        return ops.softmax(self.dense(x), -1)


class Pair(nn.Cell):
    def construct(self, x):
        return x + 1, ops.split(x, 2, 1)


class Slice(nn.Cell):
    def construct(self, x):
        return x[:, 1:3, ::2]


class Top(nn.Cell):
    def construct(self, x):
        return ops.topk(x, 2)


class Pad(nn.Cell):
    def construct(self, x):
        return ops.pad(x, (1, 1), value=0.5)


class Where(nn.Cell):
    def construct(self, x):
        return ops.where(x > 0, x, ops.zeros_like(x))


class Resize(nn.Cell):
    def construct(self, x):
        return ops.interpolate(x, size=(6, 6), mode="bilinear")


class Brain(nn.Cell):
    def construct(self, x):
        return (x.astype(ms.bfloat16) + 1).astype(ms.float32)


LAYERS = nn.SequentialCell
NETS = {
    "mlp": (LAYERS(nn.Dense(4, 8), nn.ReLU(), nn.Dropout(p=0.1), nn.Dense(8, 2), nn.Softmax()), [f(2, 4)]),
    "conv": (
        LAYERS(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(64, 3)),
        [f(1, 3, 8, 8)],
    ),
    "conv1d": (nn.Conv1d(2, 3, 3), [f(1, 2, 8)]),
    "transposed": (nn.Conv2dTranspose(2, 3, 2, stride=2, pad_mode="valid"), [f(1, 2, 4, 4)]),
    "grouped": (nn.Conv2d(4, 4, 3, group=2, has_bias=True), [f(1, 4, 5, 5)]),
    "conv3d": (nn.Conv3d(1, 2, 2), [f(1, 1, 4, 4, 4)]),
    "lstm": (nn.LSTM(4, 5, 1, batch_first=True), [f(1, 3, 4)]),
    "gru": (nn.GRU(4, 5, 1, batch_first=True), [f(1, 3, 4)]),
    "attention": (Attention(), [f(1, 4, 8)]),
    "branch": (Branch(), [f(2, 4)]),
    "loop": (Loop(), [f(2, 4), Tensor(3, ms.int32)]),
    "embedding": (Embedding(), [Tensor(np.ones((2, 3), np.int32))]),
    "shared": (Shared(), [f(2, 4)]),
    "half": (Half(), [f(2, 4)]),
    "pair": (Pair(), [f(2, 4)]),
    "slice": (Slice(), [f(2, 5, 4)]),
    "top": (Top(), [f(2, 5)]),
    "pad": (Pad(), [f(2, 3)]),
    "where": (Where(), [f(2, 3)]),
    "resize": (Resize(), [f(1, 1, 3, 3)]),
    "bfloat16": (Brain(), [f(2, 3)]),
    "average": (nn.AvgPool2d(2, 2), [f(1, 2, 4, 4)]),
    "gelu": (nn.GELU(), [f(2, 3)]),
    "groups": (nn.GroupNorm(2, 4), [f(1, 4, 3, 3)]),
    "prelu": (nn.PReLU(2), [f(1, 2, 3, 3)]),
    "open": (LAYERS(nn.Dense(3, 4), nn.ReLU()), [Tensor(shape=[None, 3], dtype=ms.float32)]),
    "open_rank": (nn.ReLU(), [Tensor(shape=None, dtype=ms.float32)]),
}

for name, (net, inputs) in NETS.items():
    net.set_train(False)
    if name.startswith("open"):
        net.set_inputs(*inputs)
    ms.export(net, *inputs, file_name=f"{sys.argv[1]}/{name}", file_format="MINDIR")
    print(name, flush=True)
