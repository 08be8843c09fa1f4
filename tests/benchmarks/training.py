"""Several ranks' loggers in one child process: each appends records and steps to its own file at a given rate.

``python training.py FOLDER RANKS LINES_PER_SECOND SECONDS``: ``worker_0.log`` and so on, lines of some 110 bytes in the
order of time. It says "ready" and begins when standard input is closed; at the end it says how many lines it wrote a
file and waits to be killed, as a training does that hangs. A rate of 0 writes as fast as it can.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BURST_S = 0.005
_KINDS = (
    b"[INFO] ME(4711:7f77,MainProcess):@ [mindspore/train/callback/_loss_monitor.py:117] flushed #\n",
    b"epoch: 1 step: #, loss is 2.302585\n",
    b"[WARNING] DISTRIBUTED(4711,7f77,python):@ [mindspore/ccsrc/cluster/rpc/tcp/tcp_comm.cc:485] Connect] #\n",
    b"[INFO] PIPELINE(4711,7f77,python):@ [mindspore/ccsrc/pipeline/jit/ps/action.cc:1234] Run] optimize #\n",
)
_BLOCK = [_KINDS[number % len(_KINDS)] for number in range(4000)]


_FIRST = b"[WARNING] DISTRIBUTED(4711,7f77,python):%s [mindspore/a.cc:9] PostProcess] This node %d rank id: %d\n"


def _stamp(now: float) -> bytes:
    day = time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime(now))
    return f"{day}.{int(now * 1000) % 1000:03d}.{int(now * 1e6) % 1000:03d}".encode()


def lines(first: int, stop: int, now: float) -> bytes:
    """The lines ``first`` to ``stop`` (exclusive), written at ``now``; made so that it costs little: all have one time
    and one number."""
    stamp = _stamp(now)
    block = b"".join([b"".join(_BLOCK[: min(4000, stop - low)]) for low in range(first, stop, 4000)])
    return block.replace(b"@", stamp).replace(b"#", b"%012d" % first)


def main(folder: str, ranks: int, rate: int, seconds: float) -> None:
    files = [os.open(os.path.join(folder, f"worker_{rank}.log"), os.O_WRONLY | os.O_APPEND) for rank in range(ranks)]
    total, written = int(rate * seconds) if rate else int(seconds), 0
    begin = time.monotonic()
    while written < total:
        due = min(total, int((time.monotonic() - begin) * rate) + 1) if rate else min(total, written + 500)
        data = lines(written, due, time.time())
        for descriptor in files:
            os.write(descriptor, data)
        written = due
        pause = begin + written / rate + BURST_S - time.monotonic() if rate else 0
        if pause > 0:
            time.sleep(pause)
    print(written, flush=True)
    time.sleep(3600)


def touch(folder: Path, ranks: int, size: int = 0) -> None:
    """Logs of ``ranks`` ranks with their first line, or ``size`` bytes of lines."""
    folder.mkdir(parents=True)
    now = time.time()
    data = lines(0, size // 100, now)
    for rank in range(ranks):
        (folder / f"worker_{rank}.log").write_bytes(_FIRST % (_stamp(now), rank, rank) + data)


@contextmanager
def training(folder: Path, ranks: int, rate: int, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """The child process, which writes from now on; ``seconds`` are lines a file where ``rate`` is 0."""
    command = [sys.executable, __file__, str(folder), str(ranks), str(rate), str(seconds)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None and child.stdout is not None
    try:
        child.stdout.readline()
        child.stdin.close()
        yield child
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
