"""A training's logger in a child process: appends stamped lines of 100 bytes to one file at a given rate.

``python writer.py FILE LINES_PER_SECOND SECONDS``. Each line holds its number and the monotonic time of its write in
nanoseconds (the clock is the same in all processes of a host). Lines are written in bursts of one millisecond, from
when standard input is closed ("ready" on standard output tells that the process is up).
"""

from __future__ import annotations

import os
import sys
import time

LINE_BYTES = 100
BURST_S = 0.001
_PADDING = "x" * (LINE_BYTES - 12 - 1 - 20 - 1 - 1)


def main(path: str, rate: int, duration: float) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    total = int(rate * duration)
    written = 0
    begin = time.monotonic()
    while written < total:
        due = min(total, int((time.monotonic() - begin) * rate) + 1)
        stamp = time.monotonic_ns()
        tail = f" {stamp:020d} {_PADDING}\n"
        os.write(descriptor, "".join([f"{number:012d}{tail}" for number in range(written, due)]).encode())
        written = due
        pause = begin + written / rate + BURST_S - time.monotonic()
        if pause > 0:
            time.sleep(pause)


if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
