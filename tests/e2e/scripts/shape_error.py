"""The two operands of a MatMul don't fit; the graph compiler refuses it in every rank."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")
init("mccl")


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(8, 16)
        self.weight = ms.Parameter(Tensor(np.ones((10, 4), np.float32)), name="weight")

    def construct(self, x):
        return ops.matmul(self.dense(x), self.weight)


print(Net()(Tensor(np.ones((2, 8), np.float32))))
