r"""Logs whose lines carry something before them: colours, a time of docker, a rank of torchrun, mpirun or ours.

Such a log is copied without the prefixes, one copy a rank, so that everything behind reads it like a rank's own log;
a copy knows which line of the original each of its lines is.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from mswb.findings import MswbError
from mswb.launch.discover import LogFile, LogSet, Role, read_head, role_from_text
from mswb.launch.failures import Told, read_part
from mswb.launch.lines import read_lines
from mswb.launch.records import parse_iso

SAMPLE = 8 << 10
"""Bytes at the beginning and at the end by which a log is judged."""
MAX_BYTES = 512 << 20
"""A bigger log is read as it is."""
_DOCKER = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d) (?:(?:stdout|stderr) [FP] )?"
_STAMP = rb"\[?\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?:? (?:\[?(?:stdout|stderr)\]?:? )?"
_SYSLOG = rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [^\s:]+(?:\[\d+\])?: "
_TIME = re.compile(rb"(?:" + rb"|".join((_DOCKER, _STAMP, _SYSLOG)) + rb")")
_COLOUR = re.compile(rb"\x1b\[[0-?]{0,16}[ -/]{0,4}[@-~]")
_STAMP_TEXT = re.compile(rb"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
MAX_OWNERS = 2000
MOSTLY = 0.9
"""The share of a log's lines that carry a time before everything counts as a prefix."""


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to say whose a line is. ``share`` of the lines must be so; words like "rank" are sure with two lines."""

    pattern: re.Pattern[bytes]
    share: float


_RANK_FORMS = (
    _Form(re.compile(rb"\[(?P<role>worker|scheduler|launcher)(?:_(?P<rank>\d{1,7}))?\] "), 0.0),
    _Form(re.compile(rb"(?i)\[rank[ _:]?(?P<rank>\d{1,7})\]:? ?"), 0.0),
    _Form(re.compile(rb"\[default(?P<rank>\d{1,7})\]:"), 0.0),
    _Form(re.compile(rb"\[\d{1,7},(?P<rank>\d{1,7})\]<std(?:out|err)>: ?"), 0.0),
    _Form(re.compile(rb"\[(?P<rank>\d{1,5})\]: ?"), 0.6),
    _Form(re.compile(rb" {0,4}(?P<rank>\d{1,5}): "), MOSTLY),
    _Form(re.compile(rb"[A-Za-z][\w.-]{0,60}?[_-](?P<rank>\d{1,5})(?:-\d)? *\| ?"), 0.6),
)


_NAME = re.compile(rb"\?P<\w+>|\(\?i\)")
_ANYTHING = re.compile(
    rb"(?mi)^(?:\x1b\[|"
    + rb"|".join([_TIME.pattern, *(_NAME.sub(b"", form.pattern.pattern) for form in _RANK_FORMS)])
    + rb")"
)
"""A line that might have a prefix: most logs have none, and need no closer look."""


@dataclass(slots=True)
class Origin:
    """Where the lines of a copy stand in the log itself, and the times before them (0 for none)."""

    path: str
    numbers: array[int] = field(default_factory=lambda: array("L"))
    stamps: array[int] = field(default_factory=lambda: array("Q"))

    def line(self, number: int) -> int:
        """The original's line for the copy's (both from 1)."""
        return self.numbers[min(max(number, 1), len(self.numbers)) - 1]

    def time(self, number: int) -> int | None:
        """The time before that line of the copy, in microseconds; None where there is none."""
        return self.stamps[min(max(number, 1), len(self.stamps)) - 1] or None


def unwrap(logs: LogSet, folder: str | os.PathLike[str]) -> tuple[LogSet, dict[str, Origin]]:
    """The same logs with prefixed ones replaced by copies below ``folder``, and the origin of each copy by its path.

    A log that can't be copied (no room, not readable) stays as it is.
    """
    origins: dict[str, Origin] = {}
    files: list[LogFile] = []
    for index, file in enumerate(logs.files):
        wrapping = _wrapping(file)
        copies = [] if wrapping is None else _copies(file, wrapping, Path(folder) / str(index))
        files += [copy for copy, _ in copies] or [file]
        origins |= {copy.path: origin for copy, origin in copies}
    return replace(logs, files=tuple(files)), origins


def with_stamps(told: Told, origin: Origin | None) -> Told:
    """Failures that their own log gives no time, at the time that stands before their lines."""
    if origin is None:
        return told
    return replace(
        told,
        failures=tuple(replace(one, time=origin.time(one.line)) if one.time is None else one for one in told.failures),
    )


@dataclass(frozen=True, slots=True)
class _Wrapping:
    """What stands before the lines of a log: colours, a time, whose they are; in this order."""

    coloured: bool
    timed: bool
    rank: re.Pattern[bytes] | None


class _Owner(NamedTuple):
    role: str
    rank: int | None


def _wrapping(file: LogFile) -> _Wrapping | None:
    if not 0 < file.size <= MAX_BYTES:
        return None
    sample = _sample(file)
    if _ANYTHING.search(sample) is None:
        return None
    lines = [line for line in sample.split(b"\n") if line.strip()]
    coloured = any(line.startswith(b"\x1b[") for line in lines)
    if coloured:
        lines = [_COLOUR.sub(b"", line) for line in lines]
    timed = len(lines) > 1 and sum(_TIME.match(line) is not None for line in lines) >= MOSTLY * len(lines)
    if timed:
        lines = [_TIME.sub(b"", line, count=1) for line in lines]
    rank = next((form.pattern for form in _RANK_FORMS if _fits(form, lines)), None)
    return _Wrapping(coloured, timed, rank) if coloured or timed or rank is not None else None


def _sample(file: LogFile) -> bytes:
    """Whole lines of the beginning and of the end: what a failure prints may be all that has a prefix."""
    head = read_head(file.path, SAMPLE)
    if file.size <= SAMPLE:
        return head
    end = read_part(file.path, max(SAMPLE, file.size - SAMPLE), SAMPLE)
    return head[: head.rfind(b"\n") + 1] + end[end.find(b"\n") + 1 :]


def _fits(form: _Form, lines: Sequence[bytes]) -> bool:
    count = sum(form.pattern.match(line) is not None for line in lines)
    return count >= max(2, form.share * len(lines))


def _copies(file: LogFile, wrapping: _Wrapping, folder: Path) -> list[tuple[LogFile, Origin]]:
    """One copy for each owner of lines."""
    origins: dict[_Owner, Origin] = {}
    try:
        folder.mkdir()
        with ExitStack() as stack:
            outputs: dict[_Owner, BinaryIO] = {}
            for number, line in enumerate(read_lines(file.path), 1):
                owner, stamp, text = _taken_apart(line, wrapping)
                if owner not in outputs:
                    if len(outputs) == MAX_OWNERS:
                        continue
                    outputs[owner] = stack.enter_context(open(folder / _name(owner), "wb"))
                    origins[owner] = Origin(file.path)
                outputs[owner].write(text)
                origins[owner].numbers.append(number)
                origins[owner].stamps.append(stamp)
    except (OSError, MswbError):
        return []
    return [(_as_log(file, owner, folder), origin) for owner, origin in sorted(origins.items(), key=_by_rank)]


def _taken_apart(line: bytes, wrapping: _Wrapping) -> tuple[_Owner, int, bytes]:
    """(whose it is, the time before it or 0, the rest) of a line."""
    stamp = 0
    if wrapping.coloured and b"\x1b" in line:
        line = _COLOUR.sub(b"", line)
    if wrapping.timed and (match := _TIME.match(line)):
        stamp, line = _micros(match.group()), line[match.end() :]
    match = wrapping.rank.match(line) if wrapping.rank is not None else None
    if match is None:
        return _Owner("", None), stamp, line
    found = match.groupdict()
    rank = int(found["rank"]) if found.get("rank") else None
    return _Owner((found.get("role") or b"worker").decode("ascii"), rank), stamp, line[match.end() :]


def _as_log(file: LogFile, owner: _Owner, folder: Path) -> LogFile:
    copy = folder / _name(owner)
    role = file.role if not owner.role else cast(Role, owner.role)
    if role == "merged":
        role = role_from_text(read_head(str(copy), SAMPLE))
    rank = file.rank_hint if not owner.role else owner.rank
    return replace(file, path=str(copy), role=role, rank_hint=rank, size=copy.stat().st_size)


def _name(owner: _Owner) -> str:
    return f"{owner.role or 'rest'}_{'' if owner.rank is None else owner.rank}.log"


def _by_rank(item: tuple[_Owner, Origin]) -> tuple[bool, int]:
    rank = item[0].rank
    return rank is None, rank or 0


def _micros(prefix: bytes) -> int:
    """The prefix's time in microseconds as written, whatever its zone; 0 when it is no such time."""
    match = _STAMP_TEXT.search(prefix)
    if match is None:
        return 0
    year, month, day, clock, fraction = (part.decode("ascii") if part else "0" for part in match.groups())
    try:
        return parse_iso(f"{year}-{month}-{day}T{clock}.{fraction[:6].ljust(6, '0')}")
    except ValueError:
        return 0
