"""Export networks in half precision as MindIR into the folder that is named."""

import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")


def f(*shape, scale=1.0):
    return Tensor((np.random.RandomState(0).randn(*shape) * scale).astype(np.float32))


class Logits(nn.Cell):
    """A classifier whose logits are cast to float16 in front of the Softmax: the article's case."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.SequentialCell(nn.Dense(16, 32), nn.ReLU(), nn.Dense(32, 10))
        for parameter in self.get_parameters():
            parameter.set_data(f(*parameter.shape))

    def construct(self, x):
        return ops.softmax(self.backbone(x).astype(ms.float16), -1)


class Mixed(nn.Cell):
    """All in float16, as amp level O3 makes it, with a norm and an attention's Softmax."""

    def __init__(self):
        super().__init__()
        self.first = nn.Dense(16, 16).to_float(ms.float16)
        self.norm = nn.LayerNorm((16,)).to_float(ms.float16)
        self.second = nn.Dense(16, 8).to_float(ms.float16)
        for parameter in self.get_parameters():
            parameter.set_data(f(*parameter.shape))

    def construct(self, x):
        return ops.softmax(self.second(self.norm(ops.relu(self.first(x)))), -1)


class Large(nn.Cell):
    """Squares that leave the range of float16, and come back by a root."""

    def construct(self, x):
        return ops.sqrt(ops.square((x * 1000).astype(ms.float16))).astype(ms.float32)


class Healthy(nn.Cell):
    """Products in float16 only."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(16, 16).to_float(ms.float16)

    def construct(self, x):
        return ops.relu(self.dense(x))


for name, net, inputs in (
    ("logits", Logits(), [f(4, 16)]),
    ("mixed", Mixed(), [f(4, 16)]),
    ("large", Large(), [f(4, 16)]),
    ("healthy", Healthy(), [f(4, 16)]),
):
    net.set_train(False)
    ms.export(net, *inputs, file_name=f"{sys.argv[1]}/{name}", file_format="MINDIR")
