"""The fast pass over logs: what is where, without parsing what is of no interest.

A log of a big run is a gigabyte of warnings with one line that matters. Blocks are cut at line ends; numpy finds the
lines' beginnings, one RE2 automaton finds the lines that any signature might fit, and only these are looked at.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from mswb.files.safety import decode, open_regular
from mswb.findings import MswbError
from mswb.launch.lines import TRACEBACK
from mswb.launch.records import level_of, parse_record
from mswb.launch.signatures import MAX_TEXT, Match, Signature, candidates, match_line

BLOCK = 1 << 20
"""Bytes read at once; a line longer than this is taken in pieces."""
MAX_SHOWN = 4000
"""Characters kept of a line."""
HITS_KEPT = 20
"""For each signature of a file; the rest is only counted."""
FIRST_KEPT, LAST_KEPT = 100, 50
WORKER_BYTES = 96 << 20
"""A process of its own pays from this size on: it takes as long to start as to scan as much."""
MAX_WORKERS = 8
_PAD = b"\0" * 16
_QUIET = frozenset({"INFO", "DEBUG"})
"""Records of these levels tell of no failure, whatever their words."""
_ERRORS = frozenset({"ERROR", "CRITICAL", "EXCEPTION"})
_HEADS = (
    (b"Traceback (most recent call last)", "tracebacks"),
    (b"Fatal Python error", "fatal"),
    (b"Current thread 0x", "stacks"),
    (b"Thread 0x", "stacks"),
)
Place = tuple[int, int]
"""Number of a line, from 1, and the offset of its first byte."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a signature fits.

    Args:
        line: its number, from 1.
        offset: of its first byte.
        text: at most :data:`MAX_SHOWN` characters of it.
    """

    signature: Signature
    line: int
    offset: int
    text: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FileScan:
    """What a log holds.

    Args:
        size: bytes that were read.
        lines: lines, an unfinished last one included.
        records_by_level: records that begin a line; verbose ones (``V12902``) count as ``V``.
        first_time_us: time of the first record, in microseconds on the writer's clock; None without any.
        hits: in the order of the lines, the first :data:`HITS_KEPT` of each signature.
        hit_counts: how many there are, by the signature's id.
        tracebacks: lines that begin a Python traceback. This and the following keep the first :data:`FIRST_KEPT` and
            the last :data:`LAST_KEPT`.
        fatal: lines that begin ``Fatal Python error``.
        stacks: lines that begin one thread's stack as faulthandler prints it.
        error_records: records of level ERROR and above.
        problem: why the log could not be read; empty when it could.
    """

    path: str
    size: int
    lines: int
    records_by_level: dict[str, int]
    first_time_us: int | None
    last_time_us: int | None
    hits: tuple[Hit, ...]
    hit_counts: dict[str, int]
    tracebacks: tuple[Place, ...]
    fatal: tuple[Place, ...]
    stacks: tuple[Place, ...]
    error_records: tuple[Place, ...]
    problem: str = ""


def nothing(path: str, problem: str = "") -> FileScan:
    """The scan of a log that is not there, or can't be read."""
    return replace(_State().result(path), problem=problem)


def scan_file(path: str | os.PathLike[str], *, block: int = BLOCK) -> FileScan:
    """Scan one log, in bounded memory.

    Raises:
        MswbError: ``path-missing`` or ``path-unreadable``.
    """
    name = os.fspath(path)
    state = _State()
    descriptor = open_regular(name)
    try:
        for piece in _pieces(descriptor, block):
            state.take(piece)
    finally:
        os.close(descriptor)
    return state.result(name)


def scan_files(
    paths: Sequence[str | os.PathLike[str]],
    cancelled: Callable[[], bool] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[FileScan]:
    """Scan many logs, in the order given; big amounts by several processes, since RE2 keeps Python's lock.

    Args:
        cancelled: asked after each batch; once it says yes, what has been scanned by then comes back.
        progress: told the files done, and all of them.

    A log that can't be read (any more) has its ``problem``; the others are scanned all the same.
    """
    names = [os.fspath(path) for path in paths]
    workers = _workers(names)
    batches = (_scan_batch([name]) for name in names) if workers < 2 else _by_processes(names, workers)
    done: list[FileScan] = []
    for batch in batches:
        done += batch
        if progress is not None:
            progress(len(done), len(names))
        if cancelled is not None and cancelled():
            break
    return done


def _workers(names: Sequence[str]) -> int:
    total = sum(os.stat(name).st_size for name in names if os.path.isfile(name))
    return min(len(os.sched_getaffinity(0)), MAX_WORKERS, len(names), total // WORKER_BYTES)


def _by_processes(names: Sequence[str], workers: int) -> Iterator[list[FileScan]]:
    """The scans, batch by batch. Where no process can be started, this one does it alone."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    size = max(1, min(16, len(names) // (4 * workers)))
    batches = [list(names[start : start + size]) for start in range(0, len(names), size)]
    # Not fork: whoever calls may hold locks in other threads.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    futures = []
    done = 0
    try:
        futures = [pool.submit(_scan_batch, batch) for batch in batches]
        for future in futures:
            yield future.result()
            done += 1
    except (BrokenProcessPool, OSError):
        for batch in batches[done:]:
            yield _scan_batch(batch)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _scan_batch(names: Sequence[str]) -> list[FileScan]:
    return [_scan_or_problem(name) for name in names]


def _scan_or_problem(name: str) -> FileScan:
    try:
        return scan_file(name)
    except MswbError as error:
        return nothing(name, str(error.finding.values.get("reason", error.finding.title)))


@dataclass(slots=True)
class _Places:
    """The first and the last of many places."""

    first: list[Place] = field(default_factory=list)
    last: deque[Place] = field(default_factory=lambda: deque(maxlen=LAST_KEPT))

    def add(self, place: Place) -> None:
        (self.first if len(self.first) < FIRST_KEPT else self.last).append(place)

    def kept(self) -> tuple[Place, ...]:
        return (*self.first, *self.last)


@dataclass(slots=True)
class _State:
    """Where the pass stands, and what it found so far. ``base`` is the offset of the next piece, ``newlines`` the
    number of line ends before it, ``line_start`` the offset at which the line it begins in begins."""

    base: int = 0
    newlines: int = 0
    line_start: int = 0
    levels: Counter[str] = field(default_factory=Counter)
    hits: list[Hit] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    hit_line: int = 0
    times: list[int | None] = field(default_factory=lambda: [None, None])
    places: dict[str, _Places] = field(
        default_factory=lambda: {name: _Places() for name in ("tracebacks", "fatal", "stacks", "error_records")}
    )

    def take(self, piece: bytes) -> None:
        """Take the next piece: whole lines, or a part of a line longer than a block."""
        import numpy as np

        whole = self.line_start == self.base
        ends = np.flatnonzero(np.frombuffer(piece, np.uint8) == 10)
        starts = ends + 1
        if whole:
            starts = np.concatenate([np.zeros(1, starts.dtype), starts])
        if len(starts) and starts[-1] == len(piece):
            starts = starts[:-1]
        self._heads(piece, starts, 0 if whole else 1)
        self._signatures(piece)
        self.newlines += len(ends)
        if len(ends):
            self.line_start = self.base + int(ends[-1]) + 1
        self.base += len(piece)

    def _heads(self, piece: bytes, starts: Any, skipped: int) -> None:
        """Look at how the lines begin. ``skipped`` is 1 when the piece's first line begins in an earlier one."""
        import numpy as np

        bytes_at = np.frombuffer(piece + _PAD, np.uint8)
        first, second = bytes_at[starts], bytes_at[starts + 1]
        bracket = first == ord("[")
        self._records(piece, bytes_at, starts[bracket], np.flatnonzero(bracket) + skipped, second[bracket])
        fourth = bytes_at[starts + 3]
        like = np.zeros(len(starts), bool)
        for head, _ in _HEADS:
            like |= (first == head[0]) & (second == head[1]) & (fourth == head[3])
        for index in np.flatnonzero(like).tolist():
            start = int(starts[index])
            for head, name in _HEADS:
                if piece.startswith(head, start):
                    self.places[name].add((self.newlines + 1 + index + skipped, self.base + start))
        self._after_prints(piece, starts, skipped)

    def _after_prints(self, piece: bytes, starts: Any, skipped: int) -> None:
        """Tracebacks behind what was printed without a newline, as progress bars do."""
        at = piece.find(TRACEBACK)
        while at >= 0:
            if at and piece[at - 1] not in b" \t\r\n:|+":
                index = int(starts.searchsorted(at, "right")) - 1
                start = int(starts[index]) if index >= 0 else at
                # Behind a hole of NULs (a log truncated under its writer) only the traceback itself is of interest.
                start = start if at - start <= MAX_TEXT else at
                self.places["tracebacks"].add((self.newlines + 1 + max(index, 0) + skipped, self.base + start))
            at = piece.find(TRACEBACK, at + 1)

    def _records(self, piece: bytes, bytes_at: Any, starts: Any, lines: Any, letters: Any) -> None:
        import numpy as np

        def capital(positions: Any) -> Any:
            found = bytes_at[positions]
            return (found >= ord("A")) & (found <= ord("Z"))

        known = np.zeros(len(starts), bool)
        for level in ("DEBUG", "INFO", "WARNING"):
            # Cheap, for they are many: [LEVEL] and a module's capital letter.
            like = (letters == ord(level[0])) & (bytes_at[np.minimum(starts + len(level) + 1, len(piece))] == ord("]"))
            like &= capital(np.minimum(starts + len(level) + 3, len(piece)))
            self.levels[level] += int(np.count_nonzero(like))
            known |= like
        # Few, so exactly: "[ERROR] Text" without a module is the body of a dataset error, not a record.
        for index in np.flatnonzero((letters == ord("E")) | (letters == ord("C")) | (letters == ord("V"))).tolist():
            start = int(starts[index])
            exact = level_of(piece[start : start + 80])
            if exact is not None:
                known[index] = True
                self.levels["V" if exact[0] == "V" else exact] += 1
                if exact in _ERRORS:
                    self.places["error_records"].add((self.newlines + 1 + int(lines[index]), self.base + start))
        self._times(piece, starts[known])

    def _times(self, piece: bytes, starts: Any) -> None:
        if self.times[0] is None:
            self.times[0] = next(_times(piece, islice(map(int, starts), LAST_KEPT)), None)
        latest = next(_times(piece, islice(map(int, starts[::-1]), LAST_KEPT)), None)
        self.times[1] = self.times[1] if latest is None else latest

    def _signatures(self, piece: bytes) -> None:
        search = candidates().search
        position = counted = 0
        number = self.newlines + 1
        while (found := search(piece, position)) is not None:
            at = found.start()
            start = piece.rfind(b"\n", 0, at) + 1
            end = piece.find(b"\n", at)
            end = len(piece) if end < 0 else end
            number += piece.count(b"\n", counted, start)
            counted = start
            offset = self.line_start if start == 0 else self.base + start
            # A long line in pieces gives one hit.
            if number != self.hit_line and not _is_quiet(piece[start : start + 80]):
                self._hit(_around(piece, start, end, at), number, offset)
            if end >= len(piece):
                return
            position = end + 1

    def _hit(self, raw: bytes, number: int, offset: int) -> None:
        text = decode(raw)
        for match in reported(match_line(text)):
            self.hit_line = number
            self.counts[match.signature.id] += 1
            if self.counts[match.signature.id] <= HITS_KEPT:
                self.hits.append(Hit(match.signature, number, offset, text[:MAX_SHOWN], match.values))

    def result(self, path: str) -> FileScan:
        return FileScan(
            path=path,
            size=self.base,
            lines=self.newlines + (self.line_start < self.base),
            records_by_level={level: count for level, count in self.levels.items() if count},
            first_time_us=self.times[0],
            last_time_us=self.times[1],
            hits=tuple(self.hits),
            hit_counts=dict(self.counts),
            tracebacks=self.places["tracebacks"].kept(),
            fatal=self.places["fatal"].kept(),
            stacks=self.places["stacks"].kept(),
            error_records=self.places["error_records"].kept(),
        )


def _is_quiet(head: bytes) -> bool:
    level = level_of(head)
    return level is not None and (level in _QUIET or level[0] == "V")


def reported(matches: list[Match]) -> list[Match]:
    """What counts of a line's matches: the best, and other codes' wrappers around it; nothing if one is benign."""
    if not matches or any(match.signature.kind == "benign" for match in matches):
        return []
    best = matches[0]
    wrappers = {match.signature.code: match for match in reversed(matches[1:]) if match.signature.kind == "wrapper"}
    wrappers.pop(best.signature.code, None)
    return [best, *wrappers.values()]


def _pieces(descriptor: int, block: int) -> Iterator[bytes]:
    """The file in pieces that end with a line, but for a line longer than a block and the file's end."""
    rest = b""
    while data := os.read(descriptor, block):
        data = rest + data
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) >= block:
            cut = len(data)
        if cut:
            yield data[:cut] if cut < len(data) else data
        rest = data[cut:]
    if rest:
        yield rest


def _around(piece: bytes, start: int, end: int, at: int) -> bytes:
    """A line, or what is around the byte ``at`` of a line too long."""
    if end - start > MAX_TEXT:
        start = max(start, at - MAX_SHOWN // 2)
        end = min(end, start + MAX_TEXT)
    return piece[start:end].rstrip(b"\r\n")


def _times(piece: bytes, starts: Iterator[int]) -> Iterator[int]:
    for start in starts:
        end = piece.find(b"\n", start)
        record = parse_record(
            piece[start : end if 0 <= end < start + 1000 else start + 1000].decode("utf-8", "replace")
        )
        if record is not None:
            yield record.time
