"""The grammar of a training's log: its lines as blocks that mean one thing each.

A block is a record with its continuation lines and sections, a whole traceback with what MindSpore hangs below it, a
faulthandler dump, a dashed section that stands alone, an Ascend code, source frames, or free text. Every line belongs
to exactly one block; blocks come in the order of their first lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mswb.launch.grouping import ASCEND_CODE, Group, Grouper, Kind, group_lines
from mswb.launch.lines import Line, cut_lines, read_lines
from mswb.launch.records import HEAD, LEVELS, Record, iso, level_of, parse_iso, parse_record, strip_ansi
from mswb.launch.tracebacks import (
    CppFrame,
    Frame,
    NetFrame,
    Section,
    Stack,
    Traceback,
    cpp_frames,
    first_section,
    net_frames,
    parse_sections,
    parse_stacks,
    parse_traceback,
)

__all__ = [
    "ASCEND_CODE",
    "HEAD",
    "LEVELS",
    "Block",
    "BlockReader",
    "CppFrame",
    "Frame",
    "Kind",
    "Line",
    "NetFrame",
    "Record",
    "Section",
    "Stack",
    "Traceback",
    "blocks",
    "cut_lines",
    "iso",
    "level_of",
    "parse_iso",
    "parse_record",
    "read_lines",
    "strip_ansi",
]


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together. ``record`` is set for records, ``traceback`` for tracebacks.

    ``sections`` are the dashed sections that belong to it, ``stacks`` the threads of a faulthandler dump. ``pid`` is
    the process of its record, else of the record before it in the file: a guess when processes share the file.
    """

    kind: Kind
    lines: tuple[Line, ...]
    pid: int | None = None
    record: Record | None = None
    traceback: Traceback | None = None
    sections: tuple[Section, ...] = ()
    stacks: tuple[Stack, ...] = ()

    @property
    def number(self) -> int:
        """The first line's number, from 1."""
        return self.lines[0].number

    @property
    def offset(self) -> int:
        """Where the block begins, in bytes."""
        return self.lines[0].offset

    @property
    def texts(self) -> list[str]:
        """The lines, decoded and without escape codes; not yet safe to show."""
        return [line.text for line in self.lines]

    @property
    def text(self) -> str:
        """All lines as one text."""
        return "\n".join(self.texts)

    @property
    def message(self) -> str:
        """A record's text with its continuation, a traceback's ``Type: message``, else the text; without sections."""
        if self.traceback is not None:
            parts = (self.traceback.type, self.traceback.message)
            return ": ".join(part for part in parts if part)
        own = self.texts
        if self.record is not None:
            own[0] = self.record.text
        return "\n".join(own[: first_section(own)]).rstrip()

    @property
    def root_exception(self) -> Traceback | None:
        """The real exception: the last one in a "Python Call Stack" section, else the traceback's own innermost."""
        for section in self.sections:
            inner = section.exception if section.title == "Python Call Stack" else None
            if inner is not None:
                return inner.innermost
        return self.traceback.innermost if self.traceback is not None else None

    @property
    def cpp_frames(self) -> tuple[CppFrame, ...]:
        return cpp_frames(self.texts)

    @property
    def net_frames(self) -> tuple[NetFrame, ...]:
        return net_frames(self.texts)

    @property
    def ascend_code(self) -> str | None:
        """The CANN code (``EI0006``) of an ``ascend`` block."""
        match = ASCEND_CODE.match(self.lines[0].text) if self.kind == "ascend" else None
        return match.group(1) if match is not None else None


def blocks(lines: Iterable[bytes | str], number: int = 1, offset: int = 0) -> Iterator[Block]:
    """Group lines into blocks.

    Args:
        lines: lines with their newlines, for example of :func:`read_lines`.
        number: the number of the first one, when reading starts in mid-file.
        offset: its place in the file, in bytes.
    """
    for group in group_lines(cut_lines(lines, number, offset)):
        yield _block(group)


class BlockReader:
    """The same for lines that come one after the other, as of a log that is followed."""

    def __init__(self) -> None:
        self._grouper = Grouper()

    def feed(self, line: Line) -> Iterator[Block]:
        """Take a line; gives the blocks that are complete now."""
        self._grouper.push(line)
        return self._complete()

    def finish(self) -> Iterator[Block]:
        """The log has ended: what is left."""
        self._grouper.finish()
        return self._complete()

    def _complete(self) -> Iterator[Block]:
        waiting = self._grouper.waiting
        while waiting and waiting[0].done:
            yield _block(waiting.popleft())


def _block(group: Group) -> Block:
    lines = tuple(group.lines)
    if group.record is not None and len(lines) == 1:
        return Block(group.kind, lines, group.pid, group.record)
    texts = [line.text for line in lines]
    body = first_section(texts)
    sections = parse_sections(texts[body:])
    if group.kind == "traceback":
        return Block(group.kind, lines, group.pid, None, parse_traceback(texts[:body]), sections)
    if group.kind in ("fatal", "stacks"):
        return Block(group.kind, lines, group.pid, stacks=parse_stacks(texts))
    return Block(group.kind, lines, group.pid, group.record, sections=sections)
