"""One record of a MindSpore log: ``[LEVEL] MODULE(PID,TID,PROCESS):TIME [FILE:LINE] FUNC] TEXT``.

C++ and Python write almost the same form. Three traps, all seen with MindSpore 2.10: Python's fraction is not
``ms.us`` (see :func:`parse_record`); ``[ERROR] Text`` without a module is the body of a dataset error, not a record;
and the function may be ``operator()`` or ``~Name``. Times are local and name no zone.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
"""GLOG_v 0 to 4. Old versions also write EXCEPTION; verbose records have ``V<tag>`` instead."""

_LEVEL = r"DEBUG|INFO|WARNING|ERROR|CRITICAL|EXCEPTION|V\d{1,6}"
HEAD = rb"\[(?:" + _LEVEL.encode() + rb")\] [A-Z][A-Z_]*\(\d+[,:]"
"""What every record begins with, for searching whole buffers; understood by re and by RE2."""

_LEVEL_OF = re.compile(rb"\[(" + _LEVEL.encode() + rb")\] [A-Z][A-Z_]*\(\d")
_RECORD = re.compile(
    r"\[(" + _LEVEL + r")\] ([A-Z][A-Z_]*)"
    r"\((\d{1,10})(?:([,:])([0-9a-fA-F]{1,20}))?(?:,([^)]*))?\):"
    r"(\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d)\.(\d{1,3})(?:\.(\d{0,3}))? "
    r"\[([^\]:]*):(\d{1,9})\] ?(?:([~A-Za-z_][\w:~<>,&*+\-=!|^%/]*(?:\(\))?)\] ?)?(.*)\Z",
    re.ASCII | re.DOTALL,
)
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_EPOCH = date(1970, 1, 1).toordinal()
_SECOND = 1_000_000


class Record(NamedTuple):
    """One record's first line, taken apart.

    ``tid`` is as written: hexadecimal from C++, decimal from Python, empty in old versions. ``time`` is in
    microseconds since 1970 on the writer's own clock and zone (see :func:`iso`). ``func`` is None in Python records.
    ``verbose_tag`` is 12902 for ``[V12902]``, whose ``level`` is ``V12902``.
    """

    level: str
    module: str
    pid: int
    tid: str
    process: str
    time: int
    source_file: str
    source_line: int
    func: str | None
    text: str
    verbose_tag: int | None

    @property
    def from_python(self) -> bool:
        """Whether Python's logger wrote it: C++ always names the function."""
        return self.func is None


def parse_record(line: str) -> Record | None:
    """Take one line apart; None when it is not the first line of a record.

    Python's time fraction is the count of microseconds cut after three digits, without leading zeros: ``.720.00`` is
    72 ms (mindspore/log.py, formatTime). C++ writes ``mmm.uuu``. The separator behind the pid tells the two apart.
    """
    if "\x1b" in line:
        line = strip_ansi(line)
    if not line.startswith("["):
        return None
    match = _RECORD.match(line)
    if match is None:
        return None
    level, module, pid, separator, tid, process, stamp, first, second, file, number, func, text = match.groups("")
    seconds = _seconds(stamp)
    if seconds is None:
        return None
    if separator == ":":
        micros = int(first + second)
        if func:  # Python names no function: this is how its text begins
            text, func = line[match.start(12) :], ""
    else:
        micros = int(first) * 1000 + int(second or 0)
    tag = int(level[1:]) if level[0] == "V" else None
    return Record(
        level,
        module,
        int(pid),
        tid,
        process,
        seconds + micros,
        file,
        int(number),
        func or None,
        text.rstrip("\r\n"),
        tag,
    )


def level_of(line: bytes) -> str | None:
    """The level of a line that begins a record, by its first bytes only; None for any other line."""
    if not line.startswith(b"["):
        return None
    match = _LEVEL_OF.match(line)
    return match.group(1).decode("ascii") if match is not None else None


def iso(time_us: int) -> str:
    """A record's time as ISO 8601 with microseconds and no zone, since the log names none."""
    return (datetime(1970, 1, 1) + timedelta(microseconds=time_us)).isoformat(timespec="microseconds")


def parse_iso(text: str) -> int:
    """The microseconds of an ISO 8601 time as people type it (``2026-11-30T04:06:28.1``; a zone is not allowed).

    Raises:
        ValueError: it is not such a time.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError(f"{text}: logs name no time zone")
    return (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def strip_ansi(text: str) -> str:
    """``text`` without terminal escape sequences (colours, titles)."""
    return _ANSI.sub("", text) if "\x1b" in text else text


@lru_cache(maxsize=4096)
def _seconds(stamp: str) -> int | None:
    """Microseconds of ``YYYY-MM-DD-HH:MM:SS``; None when there is no such moment."""
    year, month, day, clock = stamp.split("-")
    hour, minute, second = (int(part) for part in clock.split(":"))
    if hour > 23 or minute > 59 or second > 60:
        return None
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH
    except ValueError:
        return None
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * _SECOND
