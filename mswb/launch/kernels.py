"""KERNEL_LAUNCH: each kernel's launch, from VLOG 12902 or lines in the article's form, and graph times (VLOG 12907).

A ``Begin launch kernel`` without its ``End`` at the end of a silent log is the kernel that hangs.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from mswb.launch.graphs import key_values
from mswb.launch.logs import Block
from mswb.launch.records import Record

MARK = "[KERNEL_LAUNCH]"
LAUNCH_TAG = 12902
GRAPH_TIME_TAG = 12907
MAX_LAUNCHES = 200_000
"""Launches kept; older ones are dropped first, open ones never."""
MAX_OPEN = 10_000
"""Threads that are followed, and open launches of each."""

_EVENT = re.compile(r"(Begin|End) launch kernel: (\S+)")
_GRAPH_TIME = re.compile(r"(\S+) execution count: (\d+), execution time: ([\d.]{1,30}) ms")
_DURATION = re.compile(r"([\d.]{1,30}) ?(us|µs|ms|s)?$")
_UNITS = {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6, None: 1.0}


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One launch. Times are in microseconds; ``start`` is None in the article's form, ``duration_us`` while it runs.

    ``number`` is the line of its beginning.
    """

    name: str
    number: int
    pid: int | None
    tid: str
    start: int | None
    duration_us: float | None = None

    @property
    def open(self) -> bool:
        """Begun and not ended."""
        return self.duration_us is None


@dataclass(frozen=True, slots=True)
class GraphTime:
    """How long one execution of a graph took. ``time`` is the end, in microseconds."""

    graph: str
    count: int
    duration_us: float
    time: int
    number: int


class KernelReader:
    """Collects launches and graph times from blocks that are fed one after the other."""

    def __init__(self) -> None:
        self._ended: deque[KernelLaunch] = deque(maxlen=MAX_LAUNCHES)
        self._open: dict[tuple[int, str], list[KernelLaunch]] = {}
        self._times: deque[GraphTime] = deque(maxlen=MAX_LAUNCHES)

    @property
    def launches(self) -> tuple[KernelLaunch, ...]:
        """All launches, by the line they begin at."""
        running = [launch for stack in self._open.values() for launch in stack]
        return tuple(sorted([*self._ended, *running], key=lambda launch: launch.number))

    @property
    def graph_times(self) -> tuple[GraphTime, ...]:
        return tuple(self._times)

    def feed(self, block: Block) -> None:
        """Take the next block of a log."""
        if block.record is not None and block.record.verbose_tag == LAUNCH_TAG:
            self._take_event(block.number, block.record)
        elif block.record is not None and block.record.verbose_tag == GRAPH_TIME_TAG:
            self._take_time(block.number, block.record)
        elif MARK in block.text:
            self._take_article(block)

    def _take_event(self, number: int, record: Record) -> None:
        match = _EVENT.match(record.text)
        if match is None:
            return
        name = match.group(2)
        if len(self._open) >= MAX_OPEN and (record.pid, record.tid) not in self._open:
            return
        stack = self._open.setdefault((record.pid, record.tid), [])
        if match.group(1) == "Begin":
            if len(stack) < MAX_OPEN:
                stack.append(KernelLaunch(name, number, record.pid, record.tid, record.time))
            return
        for position in range(len(stack) - 1, -1, -1):
            if stack[position].name == name:
                launch = stack.pop(position)
                self._ended.append(replace(launch, duration_us=record.time - (launch.start or record.time)))
                return

    def _take_time(self, number: int, record: Record) -> None:
        match = _GRAPH_TIME.match(record.text)
        milliseconds = _number(match.group(3)) if match is not None else None
        if match is not None and milliseconds is not None:
            self._times.append(GraphTime(match.group(1), int(match.group(2)), milliseconds * 1e3, record.time, number))

    def _take_article(self, block: Block) -> None:
        for line in block.lines:
            for entry in line.text.split(MARK)[1:]:
                values = {key.lower(): value for key, value in key_values(entry)}
                name = values.get("kernel") or values.get("kernelname") or values.get("name") or values.get("op")
                if name:
                    self._ended.append(KernelLaunch(name, line.number, None, "", None, _duration(values)))


def kernel_launches(blocks: Iterable[Block]) -> tuple[KernelLaunch, ...]:
    """All kernel launches that ``blocks`` tell of."""
    reader = KernelReader()
    for block in blocks:
        reader.feed(block)
    return reader.launches


def render_article(launch: KernelLaunch) -> str:
    """The launch as a line in the article's form, which :func:`kernel_launches` reads back."""
    duration = "running" if launch.duration_us is None else f"{launch.duration_us:.15g}us"
    return f"{MARK} Kernel: {launch.name}, Duration: {duration}"


def _duration(values: dict[str, str]) -> float | None:
    match = next((found for key, value in values.items() if "dur" in key and (found := _DURATION.match(value))), None)
    amount = _number(match.group(1)) if match is not None else None
    return amount * _UNITS[match.group(2)] if match is not None and amount is not None else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
