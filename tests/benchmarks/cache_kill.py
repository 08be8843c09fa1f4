"""kill -9 of a cache's writer at random moments: nothing acknowledged is lost, nothing that is read is wrong.

``python -m tests.benchmarks.cache_kill --times 1000``; the tests do fifty. Each writer continues what the one before it
left, so recoveries are interrupted too. Every tenth time the cache is mended instead, and must keep all that was whole.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import struct
import sys
import tempfile
import time
from typing import Any

import numpy as np

from mswb.cache.check import Checked, Options, Watch
from mswb.cache.filecache import check
from mswb.cache.filecache.mend import write_sound
from mswb.inside.store import Column, Manifest, StoreReader, StoreWriter, write_manifest

KEY = "5a" * 32
COLUMNS = (Column("x", "|u1", None), Column("y", "<i8", ()))
LIVES = 20
"""Writers for one cache, before a new one is begun."""
MOMENTS_S = 0.04
"""A writer is killed within this time from its start."""
_COUNT = struct.Struct("<q")


def values(sample_id: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """What a sample must hold: between nothing and 9 KB."""
    return np.full(sample_id * 7919 % 9000, sample_id % 251, dtype=np.uint8), np.array(sample_id)


def write(folder: str, first: int, pipe: int) -> None:
    """Append for ever, and tell after each sync how many samples from 0 on are acknowledged."""
    writer = StoreWriter(folder, COLUMNS, KEY, sync_records=7, shard_bytes=300_000)
    told, sample_id = 0, first
    while True:
        writer.append(sample_id, values(sample_id))
        sample_id += 1
        if writer.acknowledged != told:
            told = writer.acknowledged
            os.write(pipe, _COUNT.pack(first + told))


def one_life(folder: str, first: int, moment_s: float) -> int:
    """Start a writer, kill it, and return how many samples are acknowledged."""
    source, target = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            write(folder, first, target)
        finally:
            os._exit(70)
    os.close(target)
    time.sleep(moment_s)
    os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    with os.fdopen(source, "rb") as file:
        told = file.read()
    if not os.WIFSIGNALED(status):
        raise AssertionError("the writer ended by itself")
    return int(_COUNT.unpack(told[-_COUNT.size :])[0]) if told else first


def examine(folder: str, acknowledged: int) -> Checked:
    """Everything acknowledged is there, everything that is there is right, and a check finds no damage.

    Raises:
        AssertionError: it is not so.
    """
    with StoreReader(folder) as reader:
        ids = set(reader.ids().tolist())
        missing = set(range(acknowledged)) - ids
        assert not missing, f"{len(missing)} acknowledged samples are lost, first {min(missing)}"
        for sample_id in ids:
            x, y = reader.get(sample_id)
            wanted = values(sample_id)
            assert np.array_equal(x, wanted[0]) and y == wanted[1], f"sample {sample_id} is wrong"
    checked = check(folder, Options(), Watch())
    wrong = {fault.code for fault in checked.faults} - {"interrupted", "empty"}
    assert not wrong, [fault for fault in checked.faults if fault.code in wrong]
    return checked


def mend(folder: str, acknowledged: int) -> None:
    """A repair keeps all that a check calls whole."""
    whole = examine(folder, acknowledged).intact_records
    mended = f"{folder}.new"
    os.mkdir(mended)
    kept = write_sound(folder, mended)
    shutil.rmtree(folder)
    os.rename(mended, folder)
    after = examine(folder, acknowledged)
    assert after.status in ("ok", "empty"), after
    assert after.intact_records == whole and kept >= acknowledged, (kept, whole, acknowledged)


def run(root: str, times: int, seed: int) -> dict[str, int]:
    """Kill so often; returns what was counted."""
    chosen = random.Random(seed)
    counts = {"kills": 0, "acknowledged": 0, "recovered beyond": 0, "torn tails": 0, "mended": 0}
    folder, acknowledged = "", 0
    for number in range(times):
        if number % LIVES == 0:
            folder, acknowledged = os.path.join(root, f"c{number}", KEY[:16]), 0
            os.makedirs(folder)
            write_manifest(folder, Manifest("killed", KEY, schema=COLUMNS))
        before = acknowledged
        acknowledged = one_life(folder, acknowledged, chosen.uniform(0, MOMENTS_S))
        checked = examine(folder, acknowledged)
        counts["kills"] += 1
        counts["acknowledged"] += acknowledged - before
        counts["recovered beyond"] += max(0, (checked.intact_records or 0) - acknowledged)
        counts["torn tails"] += bool(checked.more["torn_bytes"])
        if number % 10 == 9:
            mend(folder, acknowledged)
            counts["mended"] += 1
        if number % LIVES == LIVES - 1:
            shutil.rmtree(os.path.dirname(folder))
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.cache_kill", description=__doc__)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mswb-kill-") as root:
        counts = run(root, options.times, options.seed)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
