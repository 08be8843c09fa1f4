"""A big Chrome trace: reading and analysing it, against the fastest plain way to decode all of its events.

The peer cuts the file at known separators and decodes the pieces into structures with msgspec, and computes nothing.
Each runs in a process of its own; CPU seconds and peak memory are that process's.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.common import Context, Row, bench

_END = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
_OURS = """
import sys
from mswb.profile.load import load
from mswb.profile.summary import summarise
found = summarise(load(sys.argv[1]))
assert found.devices and found.operators
"""
_PEER = """
import sys
import msgspec

class Event(msgspec.Struct, gc=False):
    ph: str = ""
    name: str = ""
    cat: str = ""
    pid: int = 0
    tid: int = 0
    ts: str | float = 0.0
    dur: float = 0.0
    id: str = ""
    args: msgspec.Raw = msgspec.Raw(b"")

decode = msgspec.json.Decoder(list[Event]).decode
with open(sys.argv[1], "rb") as file:
    file.read(1)
    left, count = b"", 0
    while piece := file.read(4 << 20):
        left += piece
        cut = left.rfind(b"},{")
        if cut > 0:
            count += len(decode(b"[" + left[: cut + 1] + b"]"))
            left = left[cut + 2 :]
    count += len(decode(b"[" + left.rstrip().removesuffix(b"]") + b"]"))
"""


def write_trace(path: Path, size: int) -> int:
    """About ``size`` bytes of a trace as Ascend writes it: host, kernels, flows, counters. Returns the events."""
    known = ((1, "Python"), (2, "CANN"), (3, "Ascend Hardware"), (4, "HCCL"))
    rows = [f'{{"ph":"M","name":"process_name","pid":{pid},"tid":0,"args":{{"name":"{name}"}}}}' for pid, name in known]
    time, number, written = 1796011512228435516, 0, 0
    chance = random.Random(7)
    with path.open("w") as file:
        file.write("[" + ",".join(rows))
        while written < size:
            rows = []
            for _ in range(2000):
                time += chance.randrange(500, 3000)
                rows += _launch(number, time, chance)
                number += 1
            written += file.write("," + ",".join(rows))
        file.write("]")
    return 4 * number + len(known)


def _launch(number: int, time: int, chance: random.Random) -> list[str]:
    at, later = (f"{moment // 1000}.{moment % 1000:03d}" for moment in (time, time + 900))
    op, length = number % 300, f"{chance.randrange(50)}.{chance.randrange(1000):03d}"
    flow = f'"name":"HostToDevice{number}","id":"{number}","cat":"HostToDevice"'
    kernel = {
        "Model Id": 4294967295,
        "Task Type": "AI_CORE",
        "Stream Id": 7,
        "Task Id": number,
        "connection_id": number,
    }
    return [
        f'{{"ph":"X","name":"aclnn{op}","pid":1,"tid":77,"ts":"{at}","dur":{length},"cat":"cpu_op",'
        f'"args":{{"connection_id":{number},"Thread Id":77}}}}',
        f'{{"ph":"s",{flow},"pid":2,"tid":77,"ts":"{at}"}}',
        f'{{"ph":"X","name":"MatMul{op}","pid":3,"tid":7,"ts":"{later}","dur":{length},"args":{json.dumps(kernel)}}}',
        f'{{"ph":"f","bp":"e",{flow},"pid":3,"tid":7,"ts":"{later}"}}',
    ]


@bench
def big_trace(context: Context) -> Iterator[Row]:
    """CPU seconds and memory for one trace, read and analysed."""
    path = context.temp / "trace_view.json"
    write_trace(path, (20 if context.quick else 500) << 20)
    runs = [(_used(_OURS, path), _used(_PEER, path)) for _ in range(1 if context.quick else 2)]
    ours, peer = min(one for one, _ in runs), min(two for _, two in runs)
    yield Row("read and analyse a 500 MB trace, CPU s", ours[0], 2.0, "msgspec decode alone", peer[0], relative=True)
    yield Row("its peak memory, MiB", max(one[1] for one, _ in runs), 400)


def _used(program: str, path: Path) -> tuple[float, float]:
    """CPU seconds and MiB of one run."""
    done = subprocess.run([sys.executable, "-c", program + _END, str(path)], check=True, capture_output=True, text=True)
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)
