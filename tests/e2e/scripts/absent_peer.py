"""Rank 0 enters an AllReduce that rank 1 never reaches: rank 1 waits for a file that nobody writes."""

import os
import time

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.communication import get_rank, init

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")
init("mccl")
rank = get_rank()
print(f"rank id: {rank}", flush=True)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.sum = ops.AllReduce()

    def construct(self, x):
        return self.sum(x)


def wait_for_file(path):
    while not os.path.exists(path):
        time.sleep(0.2)


if rank == 1:
    wait_for_file("/nonexistent/weights.ckpt")
print(Net()(Tensor(np.ones((2, 4), np.float32))))
