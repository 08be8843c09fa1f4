"""Two ranks train a small network for a few hundred steps, with a loss that falls: a run that goes well."""

import sys
import time

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.communication import get_group_size, get_rank, init

ms.set_device("CPU")
init("mccl")
rank, size = get_rank(), get_group_size()
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
ms.set_seed(1)
net = nn.SequentialCell(nn.Dense(16, 32), nn.ReLU(), nn.Dense(32, 1))
loss_fn = nn.MSELoss()
optimizer = nn.SGD(net.trainable_params(), learning_rate=0.02)
value_and_grad = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
summed = ops.AllReduce()
generator = np.random.default_rng(rank)
for step in range(1, steps + 1):
    begin = time.perf_counter()
    x = generator.standard_normal((64, 16), dtype=np.float32)
    loss, gradients = value_and_grad(Tensor(x), Tensor(x.sum(axis=1, keepdims=True)))
    optimizer(tuple(summed(gradient) / size for gradient in gradients))
    time.sleep(0.05)
    took = (time.perf_counter() - begin) * 1000
    print(
        f"epoch: 1 step: {step}/{steps}, loss is {float(loss.asnumpy()):.4f}, per step time: {took:.1f} ms", flush=True
    )
