"""Two ranks train a small network with MindSpore and sum their gradients; rank 1 meets a sample without a label."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.communication import get_group_size, get_rank, init

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")
init("mccl")
rank, size = get_rank(), get_group_size()
ms.set_seed(1)


def load_shard(rank):
    """Samples and labels of one rank. The label of sample 4 of rank 1 was lost when the data was copied."""
    generator = np.random.default_rng(rank)
    samples = generator.standard_normal((8, 16, 4), dtype=np.float32)
    labels = {index: samples[index].sum(axis=1, keepdims=True) for index in range(8)}
    if rank == 1:
        del labels[4]
    return samples, labels


class Summed(nn.Cell):
    """The loss of this rank, summed over all ranks."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.loss = nn.MSELoss()
        self.sum = ops.AllReduce()

    def construct(self, x, y):
        return self.sum(self.loss(self.net(x), y)) / size


net = Summed(nn.Dense(4, 1))
samples, labels = load_shard(rank)
print(f"rank {rank} of {size} starts", flush=True)
for step in range(8):
    loss = net(Tensor(samples[step]), Tensor(labels[step]))
    print(f"step {step} loss {float(loss.asnumpy()):.4f}", flush=True)
