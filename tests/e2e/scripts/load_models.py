"""Load and run each MindIR file that is named, in a process of its own; prints file, outcome and what was said."""

import json
import os
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn


def outcome(path, inputs):
    """(outcome, words): refused by the loader, failed in the run, or ran."""
    try:
        graph = ms.load(path)
    except Exception as problem:
        return "refused", " ".join(str(problem).split())[:200]
    try:
        results = nn.GraphCell(graph)(*inputs)
        results = results if isinstance(results, (tuple, list)) else [results]
        return "ran", str([one.asnumpy().ravel()[:3].tolist() for one in results])
    except Exception as problem:
        return "failed", " ".join(str(problem).split())[:200]


for path, shapes in json.load(sys.stdin):
    inputs = [Tensor(np.ones(shape, np.float32)) for shape in shapes]
    child = os.fork()
    if not child:
        print(json.dumps([path, *outcome(path, inputs)]), flush=True)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        print(json.dumps([path, "died", f"signal {os.WTERMSIG(status)}"]), flush=True)
