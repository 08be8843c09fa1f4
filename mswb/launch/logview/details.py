"""All of one line for a person to read or copy: the whole text, and what its record's head says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mswb.files.logindex import LogIndex
from mswb.launch.logview.reading import read_text
from mswb.launch.logview.rows import Place
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.spans import block_at
from mswb.launch.records import iso, parse_record

MAX_TEXT = 64 << 10
"""Bytes of a line that are shown."""
MAX_COPIED = 4 << 20
"""Bytes that are copied at once."""
MAX_BLOCK = 400
"""Lines of a block that are shown with it."""


@dataclass(frozen=True, slots=True)
class Details:
    """``fields`` are (name, value) pairs; ``text`` may be several lines. Everything is safe to show."""

    fields: tuple[tuple[str, str], ...]
    text: str


def details_of(index: LogIndex, log: ShownLog, line: int) -> Details:
    """The line with the block it is in.

    Raises:
        MswbError: the file can't be read any more.
    """
    block = block_at(index, line)
    first, stop = (block.first, block.stop) if block is not None and block.folds else (line, line + 1)
    stop = min(stop, first + MAX_BLOCK)
    lines = [read_text(index, number, MAX_TEXT) for number in range(first, stop)]
    whose = f"rank {log.rank}" if log.rank is not None else log.role
    where = [("whose", whose + (f" on {log.node}" if log.node else "")), ("place", f"{log.path}:{line + 1}")]
    if stop - first > 1:
        where.append(("block", f"lines {first + 1:,} to {stop:,}"))
    return Details((*_record_fields(lines[0]), *where), "\n".join(lines))


def _record_fields(text: str) -> list[tuple[str, str]]:
    record = parse_record(text)
    if record is None:
        return []
    place = f"{record.source_file}:{record.source_line}"
    fields = [
        ("time", iso(record.time).replace("T", " ")),
        ("level", record.level),
        ("module", record.module),
        ("process", f"{record.pid} {record.process}".strip()),
        ("thread", record.tid),
        ("source", place),
        ("function", record.func or ""),
    ]
    return [(name, value) for name, value in fields if value]


def text_of(indexes: Mapping[int, LogIndex], places: Iterable[Place]) -> str:
    """The lines as they are written, up to :data:`MAX_COPIED` bytes.

    Raises:
        MswbError: a file can't be read any more.
    """
    lines: list[str] = []
    size = 0
    for place in places:
        lines.append(read_text(indexes[place.file], place.line, MAX_TEXT))
        size += len(lines[-1])
        if size > MAX_COPIED:
            break
    return "\n".join(lines)
