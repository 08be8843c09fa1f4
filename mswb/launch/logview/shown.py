"""One line of a log as it is drawn: decoded, harmless, cut to what a screen can use, and taken apart."""

from __future__ import annotations

from typing import NamedTuple

from mswb.files.encoding import Encoding, show
from mswb.files.levels import Level, level_of_line
from mswb.launch.records import Record, iso, parse_record
from mswb.launch.tracebacks import TRACEBACK

MAX_BYTES = 8 << 10
"""Bytes of a line that are read for drawing."""
TAIL_BYTES = 4 << 10
"""Bytes from the end of a longer line: a progress bar's last state stands there."""
_RECORD_LEVELS = {
    "DEBUG": Level.DEBUG,
    "INFO": Level.INFO,
    "WARNING": Level.WARNING,
    "ERROR": Level.ERROR,
    "CRITICAL": Level.CRITICAL,
    "EXCEPTION": Level.CRITICAL,
}


class ShownLine(NamedTuple):
    """A line for drawing.

    Attributes:
        text: the whole line, safe to show; what was cut is counted in it.
        level: the record's; ERROR for the head of a traceback, NONE for the rest.
        time: ``HH:MM:SS`` of a record, else empty.
        head: what is worth seeing of the record's head (``DISTRIBUTED Connect``), else empty.
        body: the record's own text, else the whole line.
        word: the level as written, ``TRACEBACK``, or empty.
    """

    text: str
    level: Level
    time: str = ""
    word: str = ""
    head: str = ""
    body: str = ""


def shown_line(head: bytes, tail: bytes, size: int, encoding: Encoding) -> ShownLine:
    r"""Take a line apart for drawing.

    Args:
        head: its first bytes, all of them when there is no more than :data:`MAX_BYTES`; without the newline.
        tail: its last bytes when it is longer, else empty.
        size: its length in bytes.
    """
    if b"\r" in tail.rstrip(b"\r"):
        head, size = tail[tail.rstrip(b"\r").rfind(b"\r") + 1 :], 0
    text = show(head, encoding, MAX_BYTES).expandtabs(8)
    if size > len(head):
        text += f" … +{size - len(head):,} bytes"
    record = parse_record(text)
    if record is None:
        trace = text.startswith(TRACEBACK)
        level = Level.ERROR if trace else level_of_line(head)
        return ShownLine(text, level, word="TRACEBACK" if trace else "", body=text)
    level = Level.VERBOSE if record.verbose_tag is not None else _RECORD_LEVELS[record.level]
    return ShownLine(text, level, iso(record.time)[11:19], record.level, _head(record), record.text)


def _head(record: Record) -> str:
    place = record.func or f"{record.source_file.rpartition('/')[2]}:{record.source_line}"
    return f"{record.module} {place}:"
