"""What each rank did when, from its start to its training: the phases of a launch as spans of time.

The spans come from records about the cluster, the compiler's GRAPH_BUILD actions and kernel launches. Only lines with
the words of these are parsed; of a huge log only the beginning, where compiling happens, and the end, where it hangs.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from mswb.files.patterns import Finder, compile_pattern
from mswb.files.safety import open_regular
from mswb.findings import MswbError
from mswb.launch.forms import BUILT_IN, Forms
from mswb.launch.graphs import GraphReader
from mswb.launch.kernels import LAUNCH_TAG, KernelReader
from mswb.launch.logs import Block, Record, blocks, parse_record
from mswb.launch.logview.source import ShownLog
from mswb.launch.progress import MARKS

SpanKind = Literal["start", "cluster", "compile", "launch", "training"]

HEAD_BYTES, TAIL_BYTES = 64 << 20, 8 << 20
"""Read of each log."""
MAX_MARKS = 4000
"""Lines parsed of either end of a log."""
MAX_SPANS = 2000
"""Spans of one log: the first ones and the last ones."""
_BLOCK = 1 << 20
_LAST_LAUNCHES = 8
_STARTED = re.compile(r"Status record: start (\S+) action|Pass (\S+) start")
_LAUNCH = b" launch kernel: "
_JOINING = ("Topology build timed out", "Currently registered node number")
_JOINED = "Cluster is successfully"


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """One thing that one rank did. Times are in microseconds of the reference clock, like a record's.

    Attributes:
        name: the compiler's action, the kernel, or the kind in words.
        end_us: None while it runs, or when it never ended.
        line: where its log tells of it, from 1; None where the number is not known.
        text: the network or the graph that was compiled.
    """

    kind: SpanKind
    name: str
    start_us: int
    end_us: int | None
    role: str
    rank: int | None
    node: str | None
    file: str
    line: int | None = None
    text: str = ""

    @property
    def duration_us(self) -> int | None:
        """Microseconds; None without an end."""
        return None if self.end_us is None else self.end_us - self.start_us


def timeline(
    logs: Sequence[ShownLog],
    cancelled: Callable[[], bool] | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    budget_s: float = 20.0,
    forms: Forms = BUILT_IN,
) -> tuple[PhaseSpan, ...]:
    """The phases of all ranks, log by log in the order given and by time within each.

    A log that can't be read has none. What was read when ``cancelled()`` or after ``budget_s`` seconds is returned.
    """
    end = time.monotonic() + budget_s

    def over() -> bool:
        return time.monotonic() > end or (cancelled is not None and cancelled())

    spans: list[PhaseSpan] = []
    for done, log in enumerate(logs):
        if progress is not None:
            progress(done, len(logs))
        if over():
            break
        spans += read_phases(log, over, forms)
    return tuple(spans)


def read_phases(log: ShownLog, cancelled: Callable[[], bool], forms: Forms = BUILT_IN) -> list[PhaseSpan]:
    """The phases of one rank, in the order of time."""
    reader = _Reader(forms)
    try:
        for number, data in _pieces(log.path, cancelled):
            reader.take(data, number)
    except (MswbError, OSError):
        pass
    spans = sorted(reader.spans(log), key=lambda span: span.start_us)
    if len(spans) > MAX_SPANS:
        spans = spans[: MAX_SPANS // 2] + spans[-(MAX_SPANS // 2) :]
    shift = log.offset_us
    if not shift:
        return spans
    return [
        replace(span, start_us=span.start_us - shift, end_us=None if span.end_us is None else span.end_us - shift)
        for span in spans
    ]


class _Reader:
    """Collects the facts of one log from pieces of whole lines."""

    def __init__(self, forms: Forms) -> None:
        self._forms = forms
        self._graphs = GraphReader()
        self._lines: dict[tuple[int, str, int], int | None] = {}
        self._left = MAX_MARKS
        self._first: Record | None = None
        self._last: Record | None = None
        self._cluster: tuple[int, int | None, int | None] | None = None  # start, end, line
        self._launches: list[Record] = []
        self._open_kernels = KernelReader()
        self._has_step = False

    def take(self, data: bytes, number: int | None) -> None:
        """Read a piece whose first line has this number; without one the end of a log follows a gap."""
        if number is None:
            self._left = MAX_MARKS
        self._note_times(data)
        counted = 0
        for at, line in _lines_with(_marks(), data):
            if self._left <= 0:
                break
            self._left -= 1
            if number is not None:
                number += data.count(b"\n", counted, at)
                counted = at
            for block in blocks([line], number or 1):
                self._take_mark(block, number)
        if not self._has_step:
            self._has_step = self._tells_step(data)
        self._take_launches(data)

    def spans(self, log: ShownLog) -> Iterator[PhaseSpan]:
        """What was found."""
        base = PhaseSpan("start", "start", 0, None, log.role, log.rank, log.node, log.path)
        builds = list(self._compiling(base))
        yield from self._starting(base, builds)
        if self._cluster is not None:
            start, end, line = self._cluster
            yield replace(base, kind="cluster", name="cluster", start_us=start, end_us=end, line=line)
        yield from builds
        launches = list(self._launching(base))
        yield from launches
        yield from self._training(base, [*builds, *launches])

    def _note_times(self, data: bytes) -> None:
        for line in data[:_BLOCK].split(b"\n", 50)[:50] if self._first is None else ():
            self._first = self._first or _record(line)
        for line in reversed(data[-16384:].split(b"\n")):
            record = _record(line)
            if record is not None:
                self._last = record
                return

    def _take_mark(self, block: Block, line: int | None) -> None:
        self._graphs.feed(block)
        record = block.record
        if record is None:
            return
        started = _STARTED.match(record.text)
        if started is not None:
            self._lines.setdefault((record.pid, started[1] or started[2], record.time), line)
        elif record.text.startswith(_JOINING) and self._cluster is None:
            self._cluster = (record.time, None, line)
        elif record.text.startswith(_JOINED) and self._cluster is not None and self._cluster[1] is None:
            self._cluster = (self._cluster[0], record.time, self._cluster[2])

    def _tells_step(self, data: bytes) -> bool:
        for tried, (_, line) in enumerate(_lines_with(self._forms.find, data)):
            record = _record(line)
            text = line.decode("utf-8", "replace") if record is None else record.text
            if (record is None or record.from_python) and self._forms.step(text) is not None:
                return True
            if tried > 200:
                break
        return False

    def _take_launches(self, data: bytes) -> None:
        """The first launch of all, and the last few of a piece, of which one may still be open."""
        at = data.find(_LAUNCH)
        if at < 0:
            return
        last: list[bytes] = []
        end = len(data)
        while len(last) < _LAST_LAUNCHES and (end := data.rfind(_LAUNCH, 0, end)) >= 0:
            last.insert(0, _line_at(data, end))
        self._open_kernels = KernelReader()  # what was open before has ended, or hangs in a thread that is not the last
        if not self._launches:
            self._launches = [block.record for block in _launches(_line_at(data, at)) if block.record is not None]
        for line in last:
            for block in _launches(line):
                if block.record is not None:
                    self._launches = [*self._launches[:1], block.record]
                self._open_kernels.feed(block)

    def _starting(self, base: PhaseSpan, builds: Sequence[PhaseSpan]) -> Iterator[PhaseSpan]:
        if self._first is None:
            return
        next_start = self._cluster[0] if self._cluster is not None else builds[0].start_us if builds else None
        yield replace(base, start_us=self._first.time, end_us=next_start, line=1)

    def _compiling(self, base: PhaseSpan) -> Iterator[PhaseSpan]:
        for build in self._graphs.builds:
            text = build.network or build.graph_id or ""
            for phase in build.phases:
                line = self._lines.get((build.pid or 0, phase.name, phase.start), build.number)
                yield replace(
                    base,
                    kind="compile",
                    name=phase.name,
                    start_us=phase.start,
                    end_us=phase.end,
                    line=line,
                    text=text,
                )

    def _launching(self, base: PhaseSpan) -> Iterator[PhaseSpan]:
        if not self._launches:
            return
        first, last = self._launches[0], self._launches[-1]
        yield replace(base, kind="launch", name="kernels", start_us=first.time, end_us=last.time)
        for kernel in self._open_kernels.launches:
            if kernel.open and kernel.start is not None:
                yield replace(base, kind="launch", name=kernel.name, start_us=kernel.start, end_us=None)

    def _training(self, base: PhaseSpan, before: Sequence[PhaseSpan]) -> Iterator[PhaseSpan]:
        """From the last thing ahead of the steps to the last record: prints themselves carry no time."""
        if not self._has_step or self._first is None or self._last is None:
            return
        compiled = [span.end_us for span in before if span.kind == "compile" and span.end_us is not None]
        joined = self._cluster[1] if self._cluster is not None else None
        start = max(compiled, default=joined if joined is not None else self._first.time)
        if self._last.time > start:
            yield replace(base, kind="training", name="training", start_us=start, end_us=self._last.time)


def _pieces(path: str, cancelled: Callable[[], bool]) -> Iterator[tuple[int | None, bytes]]:
    """(number of the first line, whole lines) of the beginning and, behind a gap, the end of a log."""
    descriptor = open_regular(path)
    try:
        size = os.fstat(descriptor).st_size
        number: int | None = 1
        position = 0
        gap = size > HEAD_BYTES + TAIL_BYTES
        while position < size and not cancelled():
            if gap and position >= HEAD_BYTES:
                position, number, gap = size - TAIL_BYTES, None, False
            data = os.pread(descriptor, _BLOCK, position)
            if not data:
                return
            cut = data.rfind(b"\n") + 1 or len(data)
            yield number, data[:cut]
            number = None if number is None else number + data.count(b"\n", 0, cut)
            position += cut
    finally:
        os.close(descriptor)


def _record(line: bytes) -> Record | None:
    return parse_record(line.decode("utf-8", "replace")) if line.startswith(b"[") else None


def _lines_with(find: Finder, data: bytes) -> Iterator[tuple[int, bytes]]:
    begin = 0
    while begin < len(data) and (at := find(data, begin, len(data))) >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        begin = data.find(b"\n", at) + 1 or len(data)
        yield start, data[start:begin]


def _line_at(data: bytes, at: int) -> bytes:
    end = data.find(b"\n", at) + 1 or len(data)
    return data[data.rfind(b"\n", 0, at) + 1 : end]


def _launches(line: bytes) -> list[Block]:
    """The line as a record of a launch, if it is one."""
    return [block for block in blocks([line]) if block.record is not None and block.record.verbose_tag == LAUNCH_TAG]


@lru_cache(maxsize=1)
def _marks() -> Finder:
    return compile_pattern(MARKS).find
