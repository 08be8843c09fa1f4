"""The end of logs at once, before any index: their last lines, several files merged by time."""

from __future__ import annotations

import os
from collections.abc import Sequence

from mswb.files.encoding import sniff
from mswb.files.tail import last_lines
from mswb.findings import MswbError
from mswb.launch.logview.shown import MAX_BYTES, TAIL_BYTES, shown_line
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.state import TailLine
from mswb.launch.records import parse_record

LINES = 200
"""Lines shown of the end, all files together."""
_LEAST = 8  # of each of many files
_FILES = 32  # only those that were written last


def tail_of(logs: Sequence[ShownLog], lines: int = LINES) -> tuple[TailLine, ...]:
    """The last lines of all files in the order of time. Files that can't be read are left out."""
    newest = _newest(logs)
    each = max(_LEAST, lines // max(1, len(newest)))
    found: list[tuple[int, TailLine]] = []
    for number in newest:
        found += _tail_of_one(number, logs[number], each)
    found.sort(key=lambda one: one[0])  # stable: a file's own order stays
    return tuple(line for _, line in found[-lines:])


def _newest(logs: Sequence[ShownLog]) -> list[int]:
    """The files that were written last, by number."""
    if len(logs) <= _FILES:
        return list(range(len(logs)))
    return sorted(sorted(range(len(logs)), key=lambda number: _written(logs[number].path))[-_FILES:])


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _tail_of_one(number: int, log: ShownLog, count: int) -> list[tuple[int, TailLine]]:
    try:
        tail = last_lines(log.path, count)
    except (MswbError, OSError):
        return []
    encoding = sniff(b"\n".join(line[:MAX_BYTES] for line in tail.lines) + b"\n")
    offset, time = tail.offset, -1
    found = []
    for raw in tail.lines:
        head, rest = raw[:MAX_BYTES], raw[-TAIL_BYTES:] if len(raw) > MAX_BYTES else b""
        line = shown_line(head, rest, len(raw), encoding)
        record = parse_record(line.text) if line.time else None
        time = max(time, record.time - log.offset_us if record is not None else -1)
        found.append((time, TailLine(number, offset, line)))
        offset += len(raw) + 1
    return found
