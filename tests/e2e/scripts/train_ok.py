"""A good run: every rank sums its output over all ranks and prints three steps."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.communication import get_rank, init

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")
init("mccl")
rank = get_rank()


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.sum = ops.AllReduce()
        self.dense = nn.Dense(4, 3)

    def construct(self, x):
        return self.sum(self.dense(x))


out = Net()(Tensor(np.ones((2, 4), np.float32) * (rank + 1)))
for step in range(3):
    print(f"step {step} loss {float(out.asnumpy().sum()):.4f}", flush=True)
