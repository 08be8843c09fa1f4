"""The events of a trace of any size, a few megabytes at a time.

Where a piece may be cut is guessed (a ``}`` that a comma and ``{`` follow) and proven by decoding it: a piece that
begins at an event and was cut inside one, or inside a string, is no JSON array. What can't be decoded as a whole is
read event by event, and what is no event even then is passed over and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import msgspec

from mswb.profile.chrome.event import EVENTS, Event, lenient, one

PIECE = 4 << 20
"""Bytes that are read at a time."""
LONGEST = 16 << 20
"""Bytes that one event may take."""
HEAD = 64 << 20
"""Bytes before ``traceEvents`` that are looked through for it."""
_GUESSES = 3
_JOINED = 8
"""Parts that are put together again when a border was none: ``},{`` in the arguments or in a name."""
_BLANK = b" \t\r\n\0"
_BORDER = re.compile(rb"\}[ \t\r\n]*,[ \t\r\n]*\{")
_END = re.compile(rb"\}[ \t\r\n]*\]")
_EVENTS_KEY = re.compile(rb'"traceEvents"[ \t\r\n]*:[ \t\r\n]*\[')


@dataclass
class Pieces:
    """Iterate over it to get lists of events; the other attributes fill meanwhile.

    Attributes:
        head, tail: what stands around the events in the object form.
        dropped: events (or what stood in their place) that could not be read.
        first_drop: the byte where the first of these begins.
        closed: whether the list of events was ended as the format wants it.
        bytes_read: how far the reading is.
    """

    file: BinaryIO
    head: bytes = b""
    tail: bytes = b""
    dropped: int = 0
    first_drop: int | None = None
    closed: bool = False
    bytes_read: int = 0
    _buffer: bytes = field(default=b"", repr=False)
    _start: int = field(default=0, repr=False)
    _ended: bool = field(default=False, repr=False)

    def __iter__(self) -> Iterator[list[Event]]:
        lines = self._begin()
        if lines is None:
            return
        whole = False
        while not (self.closed or whole):
            whole = self._ended
            events = self._lines() if lines else self._array()
            if events:
                yield events
                whole = whole and not self._buffer
            self._more()
        self._finish()

    # -- where the events begin

    def _begin(self) -> bool | None:
        """Go to the first event: whether it is one a line; None where there are no events at all."""
        self._more()
        text = self._buffer.removeprefix(b"\xef\xbb\xbf").lstrip(_BLANK)
        self._take(len(self._buffer) - len(text))
        if text.startswith(b"["):
            self._take(1)
            return False
        found = _EVENTS_KEY.search(self._buffer)
        while found is None and not self._ended and len(self._buffer) < HEAD and not _is_lines(self._buffer):
            self._more()
            found = _EVENTS_KEY.search(self._buffer)
        if found is not None:
            self.head = self._buffer[: found.start()]
            self._take(found.end())
            return False
        return True if _is_lines(self._buffer) else None

    # -- events of an array

    def _array(self) -> list[Event]:
        left = self._buffer.lstrip(_BLANK)
        if left[:1] == b"]":
            self._take(len(self._buffer) - len(left))
            self._close()
            return []
        end = len(self._buffer)
        for _ in range(_GUESSES):
            cut, end = _last_border(self._buffer, end)
            if cut < 0:
                break
            events = _decoded(self._buffer[:cut])
            if events is not None:
                self._take(_past_comma(self._buffer, cut))
                return events
        if self._ended:
            return self._closing() or self._one_by_one()
        if _BORDER.search(self._buffer) is not None:
            return self._one_by_one()
        if len(self._buffer) > LONGEST:  # no event is as long: what comes next is looked at without it
            self._drop(0)
            self._take(len(self._buffer))
        return []

    def _closing(self) -> list[Event]:
        """All that is left, where it ends as an array does."""
        for cut in [match.start() + 1 for match in _END.finditer(self._buffer)][-_GUESSES:][::-1]:
            events = _decoded(self._buffer[:cut])
            if events is not None:
                self._take(cut)
                self._close()
                return events
        return []

    def _one_by_one(self) -> list[Event]:
        """The events of the buffer one by one; what may not have been read to its end stays."""
        starts = [0, *(_past_comma(self._buffer, match.start() + 1) for match in _BORDER.finditer(self._buffer))]
        ends = [*starts[1:], len(self._buffer)]
        events: list[Event] = []
        index = 0
        while index < len(starts):
            count, event, end = self._joined(starts, ends, index)
            if event is None and not self._ended and len(starts) - index <= _JOINED and self._is_short(starts[index]):
                break
            index += count
            if event is not None:
                events.append(event)
                rest = self._buffer[end : ends[index - 1]].lstrip(_BLANK)
                if rest[:1] == b"]":
                    self._take(ends[index - 1] - len(rest))
                    self._close()
                    return events
            elif self._buffer[starts[index - 1] : ends[index - 1]].strip(_BLANK + b",]"):
                self._drop(starts[index - 1])
        self._take(starts[index] if index < len(starts) else len(self._buffer))
        return events

    def _is_short(self, start: int) -> bool:
        return len(self._buffer) - start < LONGEST

    def _joined(self, starts: list[int], ends: list[int], index: int) -> tuple[int, Event | None, int]:
        """The event that begins at a part: over how many parts it goes, and the byte behind it."""
        start = starts[index]
        for count in range(1, min(_JOINED, len(ends) - index) + 1):
            last = index + count == len(ends)
            if last and not self._ended:
                break  # it may go on
            data = self._buffer[start : ends[index + count - 1]].rstrip(_BLANK).removesuffix(b",")
            event = one(data)
            if event is not None:
                return count, event, start + len(data)
            if count == 1 or last:
                found = lenient(data)
                if found is not None:
                    return count, found[0], start + found[1]
        return 1, None, 0

    # -- events one a line

    def _lines(self) -> list[Event]:
        cut = len(self._buffer) if self._ended else self._buffer.rfind(b"\n") + 1
        events: list[Event] = []
        place = 0
        for line in self._buffer[:cut].splitlines(keepends=True):
            data = line.strip(_BLANK).removesuffix(b",")
            if data:
                found = one(data) or next(iter(lenient(data) or ()), None)
                if isinstance(found, Event):
                    events.append(found)
                else:
                    self._drop(place)
            place += len(line)
        self._take(cut)
        self.closed = self._ended
        return events

    # -- the buffer

    def _more(self) -> bool:
        if self._ended:
            return False
        data = self.file.read(PIECE)
        self.bytes_read += len(data)
        self._ended = len(data) < PIECE
        self._buffer += data
        return bool(data)

    def _take(self, count: int) -> None:
        self._buffer = self._buffer[count:]
        self._start += count

    def _drop(self, place: int) -> None:
        self.dropped += 1
        if self.first_drop is None:
            self.first_drop = self._start + place

    def _close(self) -> None:
        self.closed = True
        self.tail = self._buffer

    def _finish(self) -> None:
        """The rest of the file is looked at for what may stand behind the events."""
        if self.closed:
            while len(self.tail) < PIECE and self._more():
                self.tail = self._buffer


def _is_lines(data: bytes) -> bool:
    """Whether the first line is an event by itself."""
    first = data.lstrip(_BLANK).split(b"\n", 1)[0].strip(_BLANK).removesuffix(b",")
    found = one(first)
    return found is not None and bool(found.ph)


def _decoded(data: bytes) -> list[Event] | None:
    """The events of a piece; None when it is not made of events alone."""
    try:
        events = EVENTS.decode(b"[" + data + b"]")
    except (msgspec.MsgspecError, RecursionError):
        return None
    return events if all([event.ph for event in events]) else None


def _last_border(data: bytes, end: int) -> tuple[int, int]:
    """Where the last event before ``end`` ends, and from where to look for the one before it; -1 for none."""
    while True:
        end = data.rfind(b"}", 0, end)
        if end < 0:
            return -1, -1
        if _BORDER.match(data, end):
            return end + 1, end


def _past_comma(data: bytes, cut: int) -> int:
    """From the end of an event to the beginning of the next."""
    return data.index(b"{", cut)
