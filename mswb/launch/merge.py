"""Many ranks as one stream in the order of time.

Lines without a time (prints, tracebacks) follow the line before them in their file. Each file is read in blocks of
its own with bounded memory and no descriptor held, so a thousand ranks are as good as two.
"""

from __future__ import annotations

import heapq
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mswb.files.safety import open_regular
from mswb.findings import MswbError, stop
from mswb.launch.discover import LogFile, rank_of
from mswb.launch.lines import Line
from mswb.launch.logs import Block, blocks
from mswb.launch.mixed import Owner, split_mixed
from mswb.launch.records import Record, parse_record

CHUNK = 1 << 15
"""Bytes of one read of one file."""
MAX_CARRY = 1 << 20
_TRACE_LEVEL = "ERROR"  # what a traceback counts as when levels are asked for


class MergedLine(NamedTuple):
    """One line of the stream. ``time`` is that of its record (corrected), or of the line before; None before the first.

    ``level`` is its record's, ERROR for tracebacks and crashes, None for prints. ``text`` is not yet safe to show.
    """

    time: int | None
    rank: int | None
    node: str | None
    role: str
    file: str
    line: int
    text: str
    level: str | None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which lines are wanted; None means all. Times are in microseconds like a record's, after correction.

    ``pattern`` is anything with a ``search(text)``: of RE2 (:func:`compile_pattern`) it can't be made to hang.
    """

    ranks: frozenset[int] | None = None
    roles: frozenset[str] | None = None
    levels: frozenset[str] | None = None
    modules: frozenset[str] | None = None
    pids: frozenset[int] | None = None
    pattern: Any = None
    since: int | None = None
    until: int | None = None

    def wants_source(self, role: str, rank: int | None) -> bool:
        return (self.ranks is None or rank in self.ranks) and (self.roles is None or role in self.roles)

    def wants_block(self, block: Block) -> bool:
        """Level, module and pid; what no record is has the level ERROR (tracebacks) or none (prints)."""
        record = block.record
        if self.levels is not None and level_of_block(block) not in self.levels:
            return False
        if self.modules is not None and (record is None or record.module not in self.modules):
            return False
        return self.pids is None or block.pid in self.pids

    def wants_line(self, line: MergedLine) -> bool:
        """Time and pattern."""
        if self.since is not None and (line.time is None or line.time < self.since):
            return False
        if self.until is not None and line.time is not None and line.time > self.until:
            return False
        return self.pattern is None or self.pattern.search(line.text) is not None


@dataclass(frozen=True, slots=True)
class _Source:
    """One file of the merge."""

    file: LogFile
    rank: int | None
    offset_us: int


def compile_pattern(text: str) -> Any:
    """A regular expression for :class:`Selection`, of RE2: linear in time whatever it is.

    Raises:
        MswbError: ``usage``: RE2 can't compile it.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as problem:
        reason = problem.args[0] if problem.args else problem
        shown = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        fix = "write it in RE2's syntax, which has no look-around and no back-references"
        raise stop("usage", values={"problem": f"not a regular expression: {text} ({shown})", "fix": fix}) from None


def level_of_block(block: Block) -> str | None:
    """The record's level; ERROR for tracebacks, crashes and Ascend codes; None for the rest."""
    if block.record is not None:
        return block.record.level
    return _TRACE_LEVEL if block.kind in ("traceback", "fatal", "ascend", "section") else None


def merge(
    files: Iterable[LogFile], selection: Selection | None = None, offsets: Mapping[str, int] | None = None
) -> Iterator[MergedLine]:
    """The wanted lines of all files in the order of time; within a file the order never changes.

    Args:
        files: of :func:`mswb.launch.discover.discover`.
        selection: which lines; all when None.
        offsets: microseconds to take from the times of a node, by its name (:func:`mswb.launch.clocks.clock_offsets`).

    A file that can't be read (any more) ends silently; :func:`mswb.launch.discover.discover` has told of it.
    """
    wanted = selection or Selection()
    heap: list[tuple[int, int, MergedLine | None, Iterator[MergedLine]]] = []
    for position, file in enumerate(files):
        rank = rank_of(file)
        if file.role == "merged" or wanted.wants_source(file.role, rank):
            stream = _lines(_Source(file, rank, (offsets or {}).get(file.node_hint or "", 0)), wanted)
            _push(heap, position, stream)
    while heap:
        _, position, line, stream = heapq.heappop(heap)
        assert line is not None
        yield line
        for following in stream:
            if following.time != line.time and heap and _key(following) > heap[0][0]:
                heapq.heappush(heap, (_key(following), position, following, stream))
                break
            line = following
            yield line


def _push(
    heap: list[tuple[int, int, MergedLine | None, Iterator[MergedLine]]], position: int, stream: Iterator[MergedLine]
) -> None:
    first = next(stream, None)
    if first is not None:
        heapq.heappush(heap, (_key(first), position, first, stream))


def _key(line: MergedLine) -> int:
    """Lines before a file's first time come first."""
    return -1 if line.time is None else line.time


def _lines(source: _Source, wanted: Selection) -> Iterator[MergedLine]:
    """The wanted lines of one file."""
    file = source.file
    if file.role == "merged":
        yield from _mixed_lines(file, wanted)
        return
    time: int | None = None
    for line, block in _in_file_order(blocks(read_chunks(file.path))):
        if block.record is not None and line is block.lines[0]:
            time = block.record.time - source.offset_us
        if wanted.wants_block(block):
            level = level_of_block(block)
            merged = MergedLine(time, source.rank, file.node_hint, file.role, file.name, line.number, line.text, level)
            if wanted.wants_line(merged):
                yield merged


def _in_file_order(found: Iterable[Block]) -> Iterator[tuple[Line, Block]]:
    """Every line with its block; blocks of processes that interleave are taken apart again."""
    held: list[tuple[int, Line, Block]] = []
    for block in found:
        if held and held[-1][0] < block.offset:
            yield from ((line, owner) for _, line, owner in held)
            held = []
        held += [(line.offset, line, block) for line in block.lines]
        if len(held) > len(block.lines):
            held.sort(key=lambda item: item[0])
            early = bisect_left(held, block.offset, key=lambda item: item[0])
            yield from ((line, owner) for _, line, owner in held[:early])
            held = held[early:]
    yield from ((line, owner) for _, line, owner in held)


def _mixed_lines(file: LogFile, wanted: Selection) -> Iterator[MergedLine]:
    """The wanted lines of our own merged log, which is in order already."""
    records: dict[Owner, Record] = {}
    for owner, line in split_mixed(read_chunks(file.path)):
        record = parse_record(line.text)
        if record is not None:
            records[owner] = record
        known = records.get(owner)
        block = Block("text", (line,), known.pid if known is not None else None, known)
        time, level = (known.time, known.level) if known is not None else (None, None)
        merged = MergedLine(time, owner.rank, None, owner.role, file.name, line.number, line.text, level)
        if wanted.wants_source(*owner) and wanted.wants_block(block) and wanted.wants_line(merged):
            yield merged


def read_chunks(path: str) -> Iterator[bytes]:
    """The lines of a file, read in blocks between which no descriptor is held; ends where it can't be read."""
    offset, carry = 0, b""
    while data := _read(path, offset):
        offset += len(data)
        *whole, carry = (carry + data).split(b"\n")
        for line in whole:
            yield line + b"\n"
        if len(carry) > MAX_CARRY:
            yield carry
            carry = b""
    if carry:
        yield carry


def _read(path: str, offset: int) -> bytes:
    try:
        descriptor = open_regular(path)
    except MswbError:
        return b""
    try:
        return os.pread(descriptor, CHUNK, offset)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
