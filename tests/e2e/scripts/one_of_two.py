"""A training without MindSpore: two ranks make steps; rank 1 ends in the way that the first argument names."""

import ctypes
import os
import signal
import sys
import time

way = sys.argv[1] if len(sys.argv) > 1 else "steps"
rank = int(os.environ.get("MSWB_RANK", "-1"))  # the scheduler, which is there where MindSpore is, has none
if way == "deaf":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for step in range(1, 4):
    print(f"step {step} loss {1 / step:.4f}", flush=True)
if rank == 1 and way == "sigkill":
    os.kill(os.getpid(), signal.SIGKILL)
if rank == 1 and way == "segfault":
    ctypes.string_at(0)
if rank == 1 and way == "exception":
    raise KeyError("no such part")
for step in range(4, 100_000):
    if os.path.exists("enough"):
        sys.exit()
    if rank >= 0:
        print(f"step {step} loss {1 / step:.4f}", flush=True)
    time.sleep(0.2)
