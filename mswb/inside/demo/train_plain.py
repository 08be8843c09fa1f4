"""A stand-in for a training on a Python without MindSpore: two ranks fit a line; rank 1 meets a missing label."""

import os
import random
import time

rank, size = int(os.environ["RANK_ID"]), int(os.environ["RANK_SIZE"])


def load_shard(rank):
    """Samples and labels of one rank. The label of sample 4 of rank 1 was lost when the data was copied."""
    generator = random.Random(rank)
    samples = [generator.random() for _ in range(8)]
    labels = {index: 3 * sample for index, sample in enumerate(samples)}
    if rank == 1:
        del labels[4]
    return samples, labels


samples, labels = load_shard(rank)
slope = 0.0
print(f"rank {rank} of {size} starts", flush=True)
for step in range(8):
    error = slope * samples[step] - labels[step]
    slope -= 0.5 * error * samples[step]
    print(f"step {step} loss {error * error:.4f}", flush=True)
    time.sleep(0.2)
time.sleep(60)
