"""Following files under load: nothing lost, and how late a line reaches the consumer.

Peer: a plain tail that reads each file to its end every 50 ms (what toolong's watcher does).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mswb.files.followset import FollowSet
from tests.benchmarks import writer
from tests.benchmarks.common import Context, Row, bench

Arrival = tuple[str, int, bytes]
Consumer = Callable[[list[str], Callable[[], bool]], Iterator[Arrival]]
PEER = "tail polling at 50 ms"
_PATIENCE_S = 5.0


def ours(paths: list[str], done: Callable[[], bool]) -> Iterator[Arrival]:
    with FollowSet(paths) as files:
        while not done():
            for update in files.wait(0.1):
                now = time.monotonic_ns()
                for block in update.blocks:
                    yield update.path, now, block.data


def polling_tail(paths: list[str], done: Callable[[], bool]) -> Iterator[Arrival]:
    files = {path: os.open(path, os.O_RDONLY) for path in paths}
    while not done():
        for path, descriptor in files.items():
            while data := os.read(descriptor, 65536):
                yield path, time.monotonic_ns(), data
        time.sleep(0.05)
    for descriptor in files.values():
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one try: ``late_ms`` is the 95th percentile of the latency, ``cpu`` seconds a second."""

    lost: int
    late_ms: float
    cpu: float


def measure(consumer: Consumer, folder: Path, files: int, rate: int, duration: float) -> Outcome:
    """Let ``files`` child processes write, and consume what they write until all is there or nothing more comes."""
    folder.mkdir()
    paths = [str(folder / f"worker_{number}.log") for number in range(files)]
    for path in paths:
        Path(path).touch()
    writers = _start_writers(paths, rate, duration)
    expected = files * int(rate * duration) * writer.LINE_BYTES
    received, ended = 0, float("inf")

    def done() -> bool:
        nonlocal ended
        if ended == float("inf") and all(child.poll() is not None for child in writers):
            ended = time.monotonic()
        return received >= expected or time.monotonic() - ended > _PATIENCE_S

    arrivals: list[Arrival] = []
    cpu, begin = time.process_time(), time.monotonic()
    for arrival in consumer(paths, done):
        arrivals.append(arrival)
        received += len(arrival[2])
    share = (time.process_time() - cpu) / (time.monotonic() - begin)
    for child in writers:
        child.wait()
    lost, latencies = judge(arrivals, paths, int(rate * duration))
    return Outcome(lost, float(np.percentile(latencies, 95)) if len(latencies) else float("inf"), share)


def _start_writers(paths: list[str], rate: int, duration: float) -> list[subprocess.Popen[bytes]]:
    """All are up before the first writes: sixteen interpreters that start would measure the start."""
    command = [sys.executable, writer.__file__]
    writers = [
        subprocess.Popen([*command, path, str(rate), str(duration)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for path in paths
    ]
    for child in writers:
        assert child.stdout is not None
        child.stdout.readline()
    for child in writers:
        assert child.stdin is not None
        child.stdin.close()
    return writers


def judge(arrivals: list[Arrival], paths: list[str], lines_a_file: int) -> tuple[int, np.ndarray]:
    """Lines that are missing or out of place, and the latency in ms of each line received."""
    lost = 0
    latencies = []
    for path in paths:
        mine = [arrival for arrival in arrivals if arrival[0] == path]
        data = b"".join(arrival[2] for arrival in mine)
        whole = len(data) // writer.LINE_BYTES
        rows = np.frombuffer(data, np.uint8, whole * writer.LINE_BYTES).reshape(whole, writer.LINE_BYTES)
        numbers, stamps = _digits(rows[:, :12]), _digits(rows[:, 13:33])
        good = int((numbers[:lines_a_file] == np.arange(min(whole, lines_a_file))).sum())
        lost += lines_a_file - good
        ends = np.cumsum([len(arrival[2]) for arrival in mine])
        # A line has arrived when its last byte has.
        index = np.searchsorted(ends, (np.arange(whole) + 1) * writer.LINE_BYTES)
        times = np.array([arrival[1] for arrival in mine], np.int64)
        latencies.append((times[index] - stamps) / 1e6 if whole else np.empty(0))
    return lost, np.concatenate(latencies)


def _digits(columns: np.ndarray) -> np.ndarray:
    powers = 10 ** np.arange(min(18, columns.shape[1]) - 1, -1, -1, dtype=np.int64)
    return (columns[:, -len(powers) :].astype(np.int64) - ord("0")) @ powers


def _case(context: Context, name: str, files: int, rate: int) -> Iterator[Row]:
    """Some tries by turns: nothing may be lost in any; of the latency the best, as others use the machine too."""
    duration, tries = (0.5, 1) if context.quick else (3.0, 3)
    outcomes: dict[Consumer, list[Outcome]] = {ours: [], polling_tail: []}
    for number in range(tries):
        for consumer, seen in outcomes.items():
            folder = context.temp / f"{name}-{consumer.__name__}-{number}"
            seen.append(measure(consumer, folder, files, rate, duration))
            shutil.rmtree(folder)
    mine, theirs = (min(seen, key=lambda outcome: outcome.late_ms) for seen in outcomes.values())
    lost = [sum(outcome.lost for outcome in seen) for seen in outcomes.values()]
    yield Row("lines lost", lost[0], 0, PEER, lost[1])
    yield Row("latency p95, ms", mine.late_ms, 10, PEER, theirs.late_ms)
    yield Row("CPU of the consumer, cores", mine.cpu, 0.5, PEER, theirs.cpu)


@bench
def follow_one(context: Context) -> Iterator[Row]:
    """One file at 200,000 lines a second."""
    yield from _case(context, "one", 1, 200_000)


@bench
def follow_sixteen(context: Context) -> Iterator[Row]:
    """Sixteen files at 20,000 lines a second each."""
    yield from _case(context, "sixteen", 16, 20_000)
