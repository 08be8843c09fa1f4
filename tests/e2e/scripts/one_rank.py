"""Both ranks join the cluster; then rank 1 goes wrong in the way that the first argument names."""

import ctypes
import os
import signal
import sys
import time

import mindspore as ms
from mindspore.communication import get_rank, init

ms.set_device("CPU")
init("mccl")
rank = get_rank()
print(f"rank id: {rank}", flush=True)


def load_part(number):
    parts = {0: "a.bin"}
    return parts[number]


def wait_for_lock():
    while True:
        time.sleep(0.2)


way = sys.argv[1]
if rank == 1 and way == "exception":
    load_part(rank)
if rank == 1 and way == "sigkill":
    os.kill(os.getpid(), signal.SIGKILL)
if rank == 1 and way == "segfault":
    ctypes.string_at(0)
if way == "hang":
    if rank == 1:
        wait_for_lock()
    sys.exit()
time.sleep(600)
