"""Eight readers and one writer on one cache: every sample that a reader sees is right, and in the end each sees all.

``python -m tests.benchmarks.cache_soak --seconds 60``; the tests do it with few samples instead of a time.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time

import numpy as np

from mswb.inside.store import StoreReader, StoreWriter
from tests.benchmarks.cache_kill import COLUMNS, KEY, values

READERS = 8
_END = "END"


def write(folder: str, samples: int | None, seconds: float) -> int:
    """Append until there are so many samples, or so many seconds have passed; returns how many."""
    end = time.monotonic() + seconds
    count = 0
    with StoreWriter(folder, COLUMNS, KEY, sync_records=50, shard_bytes=4 << 20) as writer:
        while (count < samples) if samples is not None else (time.monotonic() < end):
            writer.append(count, values(count))
            count += 1
        writer.seal()
    return count


def read(folder: str, number: int) -> int:
    """Read random samples while there come more, then each once; returns how many reads were right.

    Raises:
        AssertionError: one was wrong, or one is missing.
    """
    chosen = random.Random(number)
    reader = StoreReader(folder, mmap=number % 2 == 0)
    right = 0
    end = os.path.join(folder, _END)
    while not os.path.exists(end):
        count = reader.refresh()
        for _ in range(min(count, 200)):
            right += _right(reader, chosen.randrange(count))
    with open(end, encoding="ascii") as file:
        total = int(file.read())
    assert reader.refresh() == total, f"{len(reader)} of {total}"
    return right + sum(_right(reader, sample_id) for sample_id in range(total))


def _right(reader: StoreReader, sample_id: int) -> bool:
    x, y = reader.get(sample_id)
    wanted = values(sample_id)
    assert np.array_equal(x, wanted[0]) and y == wanted[1], f"sample {sample_id} is wrong"
    return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.cache_soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--samples", type=int)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mswb-soak-") as folder:
        pids = [_reader(folder, number) for number in range(READERS)]
        count = write(folder, options.samples, options.seconds)
        with open(os.path.join(folder, ".end"), "w", encoding="ascii") as file:
            file.write(str(count))
        os.rename(file.name, os.path.join(folder, _END))
        failed = sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)
    print(f"{count} samples, {READERS} readers, {failed} failed")
    return int(failed > 0)


def _reader(folder: str, number: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        print(f"reader {number}: {read(folder, number)} reads", flush=True)
        os._exit(0)
    except BaseException as problem:
        print(f"reader {number}: {problem!r}", file=sys.stderr, flush=True)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
