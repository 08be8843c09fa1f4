"""Python tracebacks, faulthandler stacks and MindSpore's dashed sections, taken apart.

Forms of Python 3.8 to 3.14: caret lines, chained exceptions, exception groups, ``Process Foo-1:`` and
``Exception in thread`` heads; MindSpore's re-raise, ``KeyError: Traceback (most recent call last):``, whose real
exception is the last one printed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

TRACEBACK = "Traceback (most recent call last):"
MAX_FRAMES = 2000
"""Frames kept of one exception; a recursion prints at most a few thousand."""

FRAME = re.compile(r'\s*File "([^"\n]{1,4096})", line (\d{1,9})(?:,? in (.*))?$')
EXCEPTION = re.compile(
    r"((?:[A-Za-z_]\w*\.(?:<locals>\.)?)*[A-Za-z_]\w*): ?(.*)$"  # Type: message
    r"|((?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*|[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Iteration|Warning|Group))$"
)
CHAIN = re.compile(
    r"During handling of the above exception, another exception occurred:"
    r"|The above exception was the direct cause of the following exception:"
)
NET_FRAME = re.compile(r"# ?(?:(\d+) )?In file ([^\n:]{1,4096}):(\d{1,9})(?:~(\d{1,9}))?(?:, (\d+)~(\d+))?/?$")
CPP_FRAME = re.compile(
    r"([\w./-]+\.(?:cc|h|cpp|hpp|cxx)):(\d{1,9}) (\S+)$|([\w./-]+\.(?:cc|h|cpp|hpp|cxx))\((\d{1,9})\)\.?$"
)
SECTION_TITLE = re.compile(r"- ([A-Z][^:\n]{0,120}?):?\s{0,8}(\(For framework developers\))?\s{0,8}$")
THREAD = re.compile(
    r"(Current thread|Thread|Stack)(?: (0x[0-9a-fA-F]+))?(?: \[[^\]\n]{0,200}\])?[^()\n]{0,200}"
    r"\(most recent call first\):"
)
_GROUP_EDGE = re.compile(r"\s*(?:\| |\+ (?=Exception Group)|\|$)")
_GROUP_RULE = re.compile(r"\s*\+[-+]{3,}")


class Frame(NamedTuple):
    """One Python frame; ``func`` is empty in a syntax error."""

    file: str
    line: int
    func: str


class CppFrame(NamedTuple):
    """One C++ source place that MindSpore prints."""

    file: str
    line: int
    func: str


class NetFrame(NamedTuple):
    """A place in the user's network, from "The Traceback of Net Construct Code". ``source`` is the line shown."""

    file: str
    line: int
    source: str


@dataclass(frozen=True, slots=True)
class Traceback:
    """One exception. ``frames`` run from the outermost call to the place that raised.

    ``type`` is empty while the exception line is missing (the log ends in mid-traceback). ``earlier`` holds the
    exceptions it was raised from or while handling, oldest first; ``inner`` the ones printed inside it (members of a
    group, MindSpore's re-raised text), in the order printed.
    """

    type: str
    message: str
    frames: tuple[Frame, ...]
    earlier: tuple[Traceback, ...] = ()
    inner: tuple[Traceback, ...] = ()
    process: str = ""

    @property
    def innermost(self) -> Traceback:
        """The last exception printed inside this one, or itself: MindSpore's re-raise wraps the real one."""
        return self.inner[-1] if self.inner else self


@dataclass(frozen=True, slots=True)
class Section:
    """A dashed section of an error text: ``- Title:`` between two rules and the lines under it."""

    title: str
    for_developers: bool
    lines: tuple[str, ...]

    @property
    def exception(self) -> Traceback | None:
        """The exception of a "Python Call Stack"."""
        return parse_traceback(self.lines)

    @property
    def cpp_frames(self) -> tuple[CppFrame, ...]:
        return cpp_frames(self.lines)

    @property
    def net_frames(self) -> tuple[NetFrame, ...]:
        return net_frames(self.lines)


@dataclass(frozen=True, slots=True)
class Stack:
    """One thread as faulthandler prints it. ``frames`` run from the innermost call outwards."""

    thread: str
    current: bool
    frames: tuple[Frame, ...]


@dataclass(slots=True)
class _Unit:
    """A traceback under construction. ``link`` says how it follows the unit before: "", "chain" or "inside"."""

    link: str
    type: str = ""
    message: list[str] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    raised: bool = False


def parse_frame(text: str) -> Frame | None:
    """A ``File "…", line N, in f`` line (also faulthandler's, which has no comma)."""
    match = FRAME.match(text)
    return Frame(match.group(1), int(match.group(2)), match.group(3) or "") if match is not None else None


def parse_traceback(lines: Sequence[str]) -> Traceback | None:
    """The exception that ``lines`` tell of; None when they hold no traceback."""
    units: list[_Unit] = []
    head = ""
    link = ""
    for line in lines:
        text = _GROUP_EDGE.sub("", line, count=1) if line[:1] == " " and ("|" in line or "+" in line) else line
        if TRACEBACK in text:
            link = _open_unit(units, text, link, grouped=text is not line)
        elif not units:
            head = head or text
        elif CHAIN.match(text):
            link = "chain"
        elif not _GROUP_RULE.match(text):
            _feed(units[-1], text)
    return _assemble(units, head) if units else None


def parse_stacks(lines: Sequence[str]) -> tuple[Stack, ...]:
    """The threads of a faulthandler dump, in the order printed."""
    stacks: list[tuple[str, bool, list[Frame]]] = []
    for text in lines:
        match = THREAD.match(text)
        if match is not None:
            stacks.append((match.group(2) or "", match.group(1) == "Current thread", []))
            continue
        frame = parse_frame(text)
        if frame is not None and stacks and len(stacks[-1][2]) < MAX_FRAMES:
            stacks[-1][2].append(frame)
    return tuple(Stack(thread, current, tuple(frames)) for thread, current, frames in stacks)


def cpp_frames(lines: Sequence[str]) -> tuple[CppFrame, ...]:
    """The C++ source places among ``lines``."""
    found = (CPP_FRAME.match(line.strip()) for line in lines)
    return tuple(
        CppFrame(match.group(1) or match.group(4), int(match.group(2) or match.group(5)), match.group(3) or "")
        for match in found
        if match is not None
    )


def net_frames(lines: Sequence[str]) -> tuple[NetFrame, ...]:
    """The network source places among ``lines``, each with the source line printed under it."""
    frames = []
    for position, line in enumerate(lines):
        match = NET_FRAME.match(line.strip())
        if match is not None:
            source = lines[position + 1].strip() if position + 1 < len(lines) else ""
            frames.append(NetFrame(match.group(2), int(match.group(3)), source))
    return tuple(frames)


def parse_sections(lines: Sequence[str]) -> tuple[Section, ...]:
    """All dashed sections among ``lines``; what stands before the first is skipped."""
    starts = [position for position in range(len(lines) - 1) if starts_section(lines[position], lines[position + 1])]
    sections = []
    for position, end in zip(starts, [*starts, len(lines)][1:], strict=True):
        title = SECTION_TITLE.match(lines[position + 1])
        assert title is not None
        first = position + 2 + (position + 2 < end and is_rule(lines[position + 2]))
        sections.append(Section(title.group(1).strip(), title.group(2) is not None, _trimmed(lines[first:end])))
    return tuple(sections)


def is_rule(text: str) -> bool:
    """A line of at least 40 dashes: 52 around core sections, 66 around dataset ones."""
    return text.startswith("-" * 40) and not text.strip("- ")


def starts_section(text: str, following: str) -> bool:
    """Whether these two lines are the rule and the title of a section."""
    return is_rule(text) and SECTION_TITLE.match(following) is not None


def first_section(lines: Sequence[str]) -> int:
    """The index of the rule that opens the first section; the number of lines when there is none."""
    for position in range(len(lines) - 1):
        if starts_section(lines[position], lines[position + 1]):
            return position
    return len(lines)


def _open_unit(units: list[_Unit], text: str, link: str, *, grouped: bool) -> str:
    """Begin a unit; returns the link of the next one."""
    before = text.partition(TRACEBACK)[0]
    wrapper = EXCEPTION.match(before.rstrip()) if before.strip() else None
    if units and wrapper is not None and wrapper.group(1):  # KeyError: Traceback (most recent call last):
        units[-1].type = wrapper.group(1)
        units[-1].raised = True
        link = "inside"
    elif units and not link:
        link = "inside" if grouped or units[-1].raised else "chain"
    units.append(_Unit(link))
    return ""


def _feed(unit: _Unit, text: str) -> None:
    if unit.raised:
        unit.message.append(text)
        return
    frame = parse_frame(text)
    if frame is not None:
        if len(unit.frames) < MAX_FRAMES:
            unit.frames.append(frame)
        return
    match = EXCEPTION.match(text)
    if match is not None:
        unit.type = match.group(1) or match.group(3)
        unit.message = [match.group(2) or ""]
        unit.raised = True


def _assemble(units: list[_Unit], head: str) -> Traceback:
    """Chains end in the exception that mattered; what stands inside one belongs to it."""
    roots: list[tuple[_Unit, list[_Unit]]] = []
    for unit in units:
        if unit.link == "inside" and roots:
            roots[-1][1].append(unit)
        else:
            roots.append((unit, []))
    built = [
        Traceback(*_facts(unit), inner=tuple(Traceback(*_facts(member)) for member in inner)) for unit, inner in roots
    ]
    last = built[-1]
    return Traceback(last.type, last.message, last.frames, tuple(built[:-1]), last.inner, head.rstrip(":"))


def _facts(unit: _Unit) -> tuple[str, str, tuple[Frame, ...]]:
    return unit.type, "\n".join(_trimmed(unit.message)), tuple(unit.frames)


def _trimmed(lines: Sequence[str]) -> tuple[str, ...]:
    """``lines`` without blank ones at both ends."""
    full = [position for position, line in enumerate(lines) if line.strip()]
    return tuple(lines[full[0] : full[-1] + 1]) if full else ()
