"""What one log says of its rank, kept up to date while the log grows: counts, progress, speed. Memory is bounded.

A big log is read from its end: the last state is known at once, and what lies before is only counted, in pieces. Of
what streams by, only lines are parsed that may tell of progress, and only the last ones of these: a rank that writes
20,000 lines a second costs little more than the count of its newlines.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mswb.files.follow import Block, last_state
from mswb.files.patterns import Finder, compile_pattern
from mswb.files.safety import decode, open_regular
from mswb.findings import MswbError
from mswb.launch.forms import BUILT_IN, MAX_STEP_LINE, Forms, Step
from mswb.launch.logs import blocks, cut_lines, parse_record
from mswb.launch.pace import Pace
from mswb.launch.progress import MARKS, Progress, ProgressReader

TAIL = 256 << 10
"""Bytes at the end of a log that are read first."""
PIECE = 1 << 20
"""Bytes counted at once."""
MARKS_KEPT = 200
"""Lines about cluster and compiler that are parsed of one update: the last ones."""
STEPS_TRIED = 40
"""Lines that may tell of a step and are tried of one update, from the end."""
STEPS_KEPT = 3
"""Lines that do tell of one, and are taken, at most."""
_LOOKS = (4 << 10, 64 << 10, 4 << 20)  # bytes from the end of an update in which a step line is looked for, in turn
_STEP_BYTES = 4 * MAX_STEP_LINE
_ERROR_HEADS, _WARNING_HEAD = (b"[ERROR] ", b"[CRITICA", b"[EXCEPTI", b"Tracebac"), b"[WARNING"
_HEAD_BYTES = len(_WARNING_HEAD)
_ERROR_WORDS = [np.uint64(int.from_bytes(head, "little")) for head in _ERROR_HEADS]
_WARNING_WORD = np.uint64(int.from_bytes(_WARNING_HEAD, "little"))
_NEWLINE = ord("\n")
Counts = tuple[int, int, int]
_Places = npt.NDArray[np.int64]


class RankLog:
    """One log. Feed it what a follower delivers from the offset that :meth:`open` returns.

    Attributes:
        lines: counted so far, as are ``errors`` (records of ERROR and above, and tracebacks) and ``warnings``.
        last_output: when the log last grew, in seconds since the epoch; None for a log that is missing or empty.
        present: whether the log was seen at all.
        step: what is known of the last step, each value the last one printed.
    """

    def __init__(self, path: str, forms: Forms = BUILT_IN) -> None:
        self.path = path
        self._forms = forms
        self._size_at_start = self._left = self._size = 0
        self._forget()
        self.last_output: float | None = None
        self.present = False

    def _forget(self) -> None:
        self.lines = self.errors = self.warnings = 0
        self.step: Step | None = None
        self._pace = Pace()
        self._reader = ProgressReader(self._forms, keep=1)
        self._initial = self._reader.progress
        self._at_start = True
        self._partial = b""
        self._timed: tuple[float, Step] | None = None

    @property
    def progress(self) -> Progress | None:
        """How far the rank is; None while its log says nothing of that."""
        return None if self._reader.progress is self._initial else self._reader.progress

    @property
    def left(self) -> int:
        """Bytes that are not counted yet."""
        return self._left

    @property
    def size(self) -> int:
        """Bytes of the log, as far as it was read."""
        return self._size

    @property
    def counted(self) -> float:
        """How much of it is counted, from 0 to 1."""
        return 1.0 - self._left / self._size if self._left else 1.0

    @property
    def step_ms(self) -> float | None:
        """Milliseconds of a step: the median of the latest ones, printed or measured."""
        return self._pace.step_ms

    @property
    def eta_s(self) -> float | None:
        """Seconds to the end of the training; None while the number of steps or their time is unknown."""
        return self._pace.eta_s(self.step)

    def open(self, tail: int = TAIL) -> int:
        """Where to begin reading: the start of a line ``tail`` bytes before the end; what lies ahead is left to
        :meth:`count`."""
        try:
            status = os.stat(self.path)
            self.present = True
            begin = max(0, status.st_size - tail)
            self._size_at_start = self._size = status.st_size
            self.last_output = status.st_mtime if status.st_size else None
            if begin:
                begin += self._pread(begin, tail).find(b"\n") + 1
        except (OSError, MswbError):
            begin = 0
        self._left = begin
        return begin

    def take(self, news: Sequence[Block], partial: bytes = b"") -> None:
        """Take in what was appended, and the unfinished last line as it stands."""
        now = time.time()
        self.present = self.present or bool(news or partial)
        for block in news:
            if block.restart is not None:
                self._left = self._size_at_start = 0
                self._forget()
            self._add(count(block.data, at_start=self._at_start))
            self._at_start = not block.unfinished
            self._size = block.offset + len(block.data)
            self._study(block.data, now if block.offset >= self._size_at_start else None)
        self._partial = partial
        if partial and not news:  # behind whole lines it may be cut anywhere: half of a step's number is no step
            self._study(partial, now)
        if self._size > self._size_at_start or partial:
            self.last_output = now

    def count(self) -> int:
        """Count one more piece of what lies ahead of the tail; returns its bytes, 0 when all is counted."""
        if not self._left:
            return 0
        begin = max(0, self._left - PIECE)
        try:
            data = self._pread(max(0, begin - 1), self._left - begin + _HEAD_BYTES + bool(begin))
        except (OSError, MswbError):
            self._left = 0
            return 0
        own = data[bool(begin) :][: self._left - begin]
        found = count_piece(data if begin else b"\n" + data, self._left - begin)
        self._add((own.count(b"\n"), *found))
        if self.progress is None:
            self._study(own, None)
        elif self.step is None:
            self._take_steps([step for _, step in self._steps_in(own)], None)
        done, self._left = self._left - begin, begin
        return done

    def _add(self, counts: Counts) -> None:
        self.lines += counts[0]
        self.errors += counts[1]
        self.warnings += counts[2]

    def _study(self, data: bytes, arrived: float | None) -> None:
        """Parse the lines that tell of progress. ``arrived``: when they were written, None for old ones."""
        steps = self._steps_in(data)
        marks = deque(_lines_with(_marks(), data, 0), maxlen=MARKS_KEPT)
        last = max((at for at, _ in steps), default=-1)
        for at, line in marks:
            if at > last:
                break
            self._feed(line)
        if steps:
            self._reader.take_step(steps[-1][1])
        for at, line in marks:
            if at > last:
                self._feed(line)
        self._take_steps([step for _, step in steps], arrived)

    def _feed(self, line: bytes) -> None:
        for block in blocks([last_state(line)]):
            self._reader.feed(block)

    def _steps_in(self, data: bytes) -> list[tuple[int, Step]]:
        """The last steps that lines tell of, with the offset of each in ``data``; old ones first."""
        for look in _LOOKS:
            begin = max(0, len(data) - look)
            if begin:
                begin = data.find(b"\n", begin) + 1 or len(data)
            candidates = deque(_lines_with(self._forms.find, data, begin), maxlen=STEPS_TRIED)
            found: list[tuple[int, Step]] = []
            while candidates and not _enough(found):
                at, line = candidates.pop()
                step = self._step_of(line)
                if step is not None:
                    found.append((at, step))
            if found or begin == 0:
                return found[::-1]
        return []

    def _step_of(self, line: bytes) -> Step | None:
        if not line.startswith((b"[", b"\x1b")) and b"\r" not in line:
            return self._forms.step(decode(line[:_STEP_BYTES]))
        text = next(cut_lines([last_state(line)])).text
        record = parse_record(text)
        if record is None:
            return self._forms.step(text)
        return self._forms.step(record.text, 0, record.time) if record.from_python else None

    def _take_steps(self, told: Sequence[Step], arrived: float | None) -> None:
        steps = []
        for step in told:
            if step.recalls(self.step):
                continue
            steps.append(step)
            if step.step_ms is not None:
                self._pace.add_time(step.step_ms)
            self._pace.note(step)
            self.step = step if self.step is None else self.step.updated(step)
        timed = next((step for step in reversed(steps) if step.step is not None), None)
        if timed is not None:
            self._measure(timed, timed.time / 1e6 if timed.time is not None else arrived)

    def _measure(self, step: Step, moment: float | None) -> None:
        """The time of a step from two moments; only the last step of an update is the one that came at its moment."""
        before, self._timed = self._timed, None if moment is None else (moment, step)
        if before is None or moment is None or step.step is None or before[1].step is None:
            return
        done, elapsed = step.step - before[1].step, moment - before[0]
        if step.step_ms is None and step.epoch == before[1].epoch and done > 0 and elapsed > 0:
            self._pace.add_time(elapsed * 1e3 / done)

    def _pread(self, offset: int, size: int) -> bytes:
        descriptor = open_regular(self.path)
        try:
            return os.pread(descriptor, size, offset)
        finally:
            os.close(descriptor)


def count(data: bytes, *, at_start: bool) -> Counts:
    """(lines, errors, warnings) of some bytes; ``at_start``: they begin where a line begins."""
    newlines = _newlines(data, len(data))
    errors, warnings = _heads_behind(data, newlines, len(data))
    if at_start:
        errors += data.startswith(_ERROR_HEADS)
        warnings += data.startswith(_WARNING_HEAD)
    return len(newlines), errors, warnings


def count_piece(data: bytes, size: int) -> tuple[int, int]:
    """(errors, warnings) of the lines that begin in a piece of ``size`` bytes.

    ``data`` has one byte ahead of the piece, and behind it enough to recognise a line that begins with its last byte.
    """
    return _heads_behind(data, _newlines(data, size), size + _HEAD_BYTES)


def _newlines(data: bytes, size: int) -> _Places:
    """Where the first ``size`` bytes hold newlines. Other threads go on meanwhile, which they don't while bytes count
    themselves."""
    return np.flatnonzero(np.frombuffer(data, np.uint8, min(size, len(data))) == _NEWLINE)


def _heads_behind(data: bytes, newlines: _Places, size: int) -> tuple[int, int]:
    """How many of these newlines have the head of an error, and of a warning, behind them within ``size`` bytes."""
    count = min(size, len(data)) - _HEAD_BYTES
    if count <= 0:
        return 0, 0
    words: npt.NDArray[np.uint64] = np.ndarray((count,), "<u8", data, offset=1, strides=(1,))
    heads = words[newlines[: np.searchsorted(newlines, count)]]
    return sum(int((heads == word).sum()) for word in _ERROR_WORDS), int((heads == _WARNING_WORD).sum())


def _enough(found: Sequence[tuple[int, Step]]) -> bool:
    """Whether these steps, the last one first, tell all that is wanted."""
    known = (any(step.step is not None for _, step in found), any(step.loss is not None for _, step in found))
    return len(found) >= STEPS_KEPT or all(known)


def _lines_with(find: Finder, data: bytes, begin: int) -> Iterator[tuple[int, bytes]]:
    """(offset, line) of each line from ``begin`` on that the pattern fits."""
    while begin < len(data) and (at := find(data, begin, len(data))) >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at) + 1 or len(data)
        yield start, data[start:end]
        begin = end


@lru_cache(maxsize=1)
def _marks() -> Finder:
    return compile_pattern(MARKS).find
