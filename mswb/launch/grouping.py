"""Which lines of a log belong together: a small machine over the shapes of lines.

Each open group waits for something (its mode); a table says which shapes it takes and what it waits for next. Only
plain text needs more than the table, since a print of the script and the second line of a record look alike.

Processes that share a file interleave: a record does not end a traceback that still lacks its last line, and a record
of another pid does not end one that may still get its sections.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from mswb.launch.lines import Line
from mswb.launch.records import Record, parse_record
from mswb.launch.tracebacks import (
    CHAIN,
    CPP_FRAME,
    EXCEPTION,
    NET_FRAME,
    SECTION_TITLE,
    THREAD,
    TRACEBACK,
    is_rule,
    starts_section,
)

Kind = Literal["record", "traceback", "fatal", "stacks", "section", "ascend", "net-frames", "cpp-frames", "text"]

MAX_GROUP_LINES = 4000
MAX_GROUP_BYTES = 8 << 20
"""A longer or larger group is cut, so that a broken log can't fill the memory."""
MAX_AWAY_LINES = 200
"""Lines of others after which an interrupted traceback is taken as ended."""
ASCEND_CODE = re.compile(r"(?:Ascend Error Message:\s*)?([EWI][0-9A-Z]\d{4}): ?(?:\[PID: ?(\d+)\] ?)?(.*)$")
"""A CANN error code at the start of a line, with the message behind it."""

# What a line looks like. "section" is a rule with a title under it; every other rule is text.
_Shape = Literal[
    "record", "blank", "section", "traceback", "fatal", "thread", "head", "chain", "net", "cpp", "ascend", "indented",
    "text",
]  # fmt: skip
_SHAPES: tuple[tuple[_Shape, re.Pattern[str]], ...] = (
    ("blank", re.compile(r"\s*$")),
    ("traceback", re.compile(r"(?:\s+\+ Exception Group )?" + re.escape(TRACEBACK))),
    ("indented", re.compile(r"[ \t]")),
    ("fatal", re.compile(r"Fatal Python error: ")),
    ("thread", THREAD),
    ("head", re.compile(r"Process [\w.-]+-\d+(?::\d+)*:\s*$|Exception in thread .*:\s*$|Exception ignored in: ")),
    ("chain", CHAIN),
    ("net", NET_FRAME),
    ("cpp", CPP_FRAME),
    ("ascend", ASCEND_CODE),
)

# What an open group waits for, and what follows from the shape of the next line.
_Mode = Literal["record", "frames", "message", "chain", "head", "section", "stack", "net", "cpp", "ascend", "text"]
_GOES_ON: Mapping[_Mode, Mapping[_Shape, _Mode]] = {
    "record": {"blank": "record", "section": "section", "indented": "record", "net": "record", "cpp": "record"},
    "frames": {"blank": "frames", "indented": "frames"},
    "message": {
        "blank": "message",
        "section": "section",
        "indented": "message",
        "chain": "chain",
        "net": "message",
        "cpp": "message",
        "ascend": "message",
    },
    "chain": {"blank": "chain", "traceback": "frames"},
    "head": {"traceback": "frames", "indented": "head"},
    "section": {
        "blank": "section",
        "section": "section",
        "indented": "section",
        "net": "section",
        "cpp": "section",
        "ascend": "section",
        "chain": "section",
    },
    "stack": {"blank": "stack", "thread": "stack", "indented": "stack"},
    "net": {"blank": "net", "net": "net", "cpp": "net", "indented": "net"},
    "cpp": {"blank": "cpp", "cpp": "cpp", "indented": "cpp"},
    "ascend": {"blank": "ascend", "indented": "ascend"},
    "text": {"blank": "text", "indented": "text", "chain": "text"},
}
_BEGINS: Mapping[_Shape, tuple[Kind, _Mode]] = {
    "record": ("record", "record"),
    "section": ("section", "section"),
    "traceback": ("traceback", "frames"),
    "fatal": ("fatal", "stack"),
    "thread": ("stacks", "stack"),
    "head": ("text", "head"),
    "net": ("net-frames", "net"),
    "cpp": ("cpp-frames", "cpp"),
    "ascend": ("ascend", "ascend"),
}
# What an interrupted group takes back, whatever stood in between.
_TAKES_BACK: Mapping[_Mode, frozenset[_Shape]] = {
    "frames": frozenset({"indented"}),
    "message": frozenset({"section", "chain"}),
    "chain": frozenset({"traceback"}),
    "section": frozenset({"section", "net", "cpp"}),
    "stack": frozenset({"thread", "indented"}),
}
_UNFINISHED: frozenset[_Mode] = frozenset({"frames", "chain", "stack"})
_INTERRUPTS: frozenset[_Shape] = frozenset({"record", "text"})
_SEVERE = frozenset({"ERROR", "CRITICAL", "EXCEPTION"})
_STACK_TEXT = re.compile(
    r"Extension modules: |Python runtime state: |Current thread's C stack trace|Segmentation fault|Aborted"
)
_CONTINUATION = re.compile(r"\d{1,2}\. ?\S|Line of code|Arg\[\d|[(){}\[\]%#^]|-[^-]|File\s*: ")
_OPEN_ENDS = (":", ",", "{", "[", "(", "=")
_OUTPUT = re.compile(r"(?i)\W*(?:epoch|step|iter(?:ation)?|rank[ _]?id|loss)\b|\d{1,3}%\|")
_FRAMES_ONLY = frozenset({"C++ Call Stack", "The Traceback of Net Construct Code"})


@dataclass(slots=True)
class Group:
    """Lines that belong together. ``pid`` is that of the record before or in it, ``title`` of its last section."""

    kind: Kind
    mode: _Mode
    pid: int | None
    record: Record | None = None
    lines: list[Line] = field(default_factory=list)
    title: str = ""
    after_blank: bool = False
    size: int = 0
    away: int = 0
    done: bool = False

    def take(self, line: Line, mode: _Mode, shape: _Shape) -> None:
        self.after_blank = shape == "blank" and not (self.lines and is_rule(self.lines[-1].text))
        self.lines.append(line)
        self.mode = mode
        self.size += len(line.raw)
        self.done = len(self.lines) >= MAX_GROUP_LINES or self.size >= MAX_GROUP_BYTES


def group_lines(lines: Iterable[Line]) -> Iterator[Group]:
    """Group lines; every line comes back in exactly one group, groups in the order of their first lines."""
    grouper = Grouper()
    waiting = grouper.waiting
    for line in lines:
        grouper.push(line)
        while waiting and waiting[0].done:
            yield waiting.popleft()
    grouper.finish()
    yield from waiting


class Grouper:
    """The machine: one current group, at most one interrupted one.

    ``waiting`` holds the groups not yet taken by the caller, in the order of their first lines; those that are
    ``done`` may be taken from its left.
    """

    def __init__(self) -> None:
        self.waiting: deque[Group] = deque()
        self._previous: Line | None = None
        self._current: Group | None = None
        self._away: Group | None = None
        self._pid: int | None = None

    def push(self, line: Line) -> None:
        """Take the next line; the one before it, whose successor is known now, is grouped."""
        if self._previous is not None:
            self._feed(self._previous, line.text)
        self._previous = line

    def finish(self) -> None:
        """No line comes any more: group the last one and end every group."""
        if self._previous is not None:
            self._feed(self._previous, "")
            self._previous = None
        for group in self.waiting:
            group.done = True

    def _feed(self, line: Line, following: str) -> None:
        record = parse_record(line.text)
        shape = "record" if record is not None else _shape(line.text, following)
        if self._away is not None:
            self._come_back(line.text, shape)
        if record is not None or not self._append(line, shape, following):
            self._begin(line, shape, record, following)
        if self._away is not None:
            self._age(self._away)

    def _come_back(self, text: str, shape: _Shape) -> None:
        """The interrupted group is current again when the line is its own."""
        away = self._away
        if away is None or not _comes_back(away, self._current, text, shape):
            return
        if self._current is not None:
            self._current.done = True
        self._away, self._current = None, away

    def _append(self, line: Line, shape: _Shape, following: str) -> bool:
        group = self._current
        if group is None or group.done:
            return False
        mode = _next_mode(group, shape, line.text)
        if mode is None:
            return False
        if shape == "section":
            group.title = _title(following)
        if group.mode == "head" and mode == "frames":
            group.kind = "traceback"
        group.take(line, mode, shape)
        return True

    def _begin(self, line: Line, shape: _Shape, record: Record | None, following: str) -> None:
        self._leave(shape, record)
        if record is not None:
            self._pid = record.pid
        kind, mode = _BEGINS.get(shape, ("text", "text"))
        group = Group(kind, mode, self._pid, record, title=_title(following) if shape == "section" else "")
        group.take(line, mode, shape)
        self.waiting.append(group)
        self._current = group

    def _leave(self, shape: _Shape, record: Record | None) -> None:
        """The current group is interrupted by a line of others, or over."""
        group = self._current
        if group is None or group.done:
            return
        foreign = record is not None and group.pid is not None and record.pid != group.pid
        if (group.mode in _UNFINISHED and shape in _INTERRUPTS) or (foreign and group.kind == "traceback"):
            if self._away is not None:
                self._away.done = True
            self._away, group.away = group, 0
        else:
            group.done = True

    def _age(self, away: Group) -> None:
        away.away += 1
        if away.away > MAX_AWAY_LINES:
            away.done = True
            self._away = None


def _shape(text: str, following: str) -> _Shape:
    if starts_section(text, following):
        return "section"
    for shape, pattern in _SHAPES:
        if pattern.match(text):
            return shape
    return "text"


def _next_mode(group: Group, shape: _Shape, text: str) -> _Mode | None:
    """What the group waits for after this line; None when the line is not its own."""
    known = _GOES_ON[group.mode].get(shape)
    if known is not None:
        return known
    if shape == "traceback":
        return "section" if group.mode == "section" and group.title == "Python Call Stack" else None
    rule = _TEXT_RULES.get(group.mode)
    return rule(group, text) if rule is not None and shape == "text" else None


def _comes_back(away: Group, current: Group | None, text: str, shape: _Shape) -> bool:
    if current is not None and not current.done:
        if current.kind not in ("record", "text"):
            return False
        if current.record is not None and current.record.level in _SEVERE and not text.startswith("  File "):
            return False
    if shape in _TAKES_BACK.get(away.mode, ()):
        return True
    return away.mode == "frames" and shape == "text" and _text_in_frames(away, text) is not None


def _text_after_record(group: Group, text: str) -> _Mode | None:
    """A line without a head after a record: its continuation, or something the script printed."""
    if group.after_blank or _OUTPUT.match(text):
        return None
    severe = group.record is not None and group.record.level in _SEVERE
    goes_on = severe or group.lines[-1].text.endswith(_OPEN_ENDS) or _CONTINUATION.match(text) is not None
    return "record" if goes_on else None


def _text_in_frames(group: Group, text: str) -> _Mode | None:
    """The first line that is not indented is the exception; MindSpore's re-raise opens another traceback there."""
    match = EXCEPTION.match(text)
    if match is None:
        return None
    return "frames" if (match.group(2) or "").startswith(TRACEBACK) else "message"


def _text_in_message(group: Group, text: str) -> _Mode | None:
    if text.startswith("("):
        return "message"
    return None if group.after_blank or _OUTPUT.match(text) else "message"


def _text_in_section(group: Group, text: str) -> _Mode | None:
    in_head = is_rule(group.lines[-1].text) or SECTION_TITLE.match(group.lines[-1].text) is not None
    if text.startswith("(") or in_head:
        return "section"
    return None if group.after_blank or group.title in _FRAMES_ONLY else "section"


def _text_in_stack(group: Group, text: str) -> _Mode | None:
    return "stack" if _STACK_TEXT.match(text) else None


_TEXT_RULES: Mapping[_Mode, Callable[[Group, str], _Mode | None]] = {
    "record": _text_after_record,
    "frames": _text_in_frames,
    "message": _text_in_message,
    "section": _text_in_section,
    "stack": _text_in_stack,
    "text": lambda group, text: "text",
}


def _title(following: str) -> str:
    match = SECTION_TITLE.match(following)
    return match.group(1).strip() if match is not None else ""
