"""Finding rows in a page by their own lengths, without an index; and behind a damaged length again."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mswb.cache.data.mindrecord.header import Segment
from mswb.cache.data.mindrecord.reading import Reader

_TRIES = 4096
"""Places behind a damaged row at which the next one is looked for in full."""
_BACK = 8
_LENGTH = struct.Struct("<Q")


def bounds(reader: Reader, segment: Segment, rows: int, begin: int | None = None) -> array[int]:
    """Where the rows of a segment begin, and where the last one ends, from the start of its page.

    Stops at the first length that leads out of the segment or the file: the segment is whole when ``rows`` + 1 places
    come back and the last is its end.
    """
    at = segment.begin if begin is None else begin
    found = array("q", (at,))
    base, end, unpack = segment.base, segment.end, _LENGTH.unpack_from
    while len(found) <= rows and at + 8 <= end:
        window = reader.view(base + at, min(1 << 20, end - at))
        start, held = at, len(window)
        # Many lengths from one window: a call for each row would cost more than the row.
        while len(found) <= rows and at - start + 8 <= held:
            at += 8 + unpack(window, at - start)[0]
            if at > end:
                return found
            found.append(at)
        if held < 8:
            return found
    return found


def is_whole(places: Sequence[int], segment: Segment, rows: int) -> bool:
    """Whether :func:`bounds` found every row and nothing else."""
    return len(places) == rows + 1 and places[-1] == segment.end


def resume(reader: Reader, segment: Segment, broken: int, left: int) -> Sequence[int]:
    """The bounds of the rows behind a damaged one at ``broken``: those of the first place from which lengths lead to
    the very end of the segment, with at most ``left`` rows. Empty if there is none.

    A length's upper four bytes are NULs, since a page has at most 256 MiB; only such places are tried.
    """
    if left < 1:
        return ()
    for place in _candidates(reader, segment, broken + 8):
        found = bounds(reader, segment, left, place)
        if found[-1] == segment.end and len(found) > 1:
            return found
    return ()


def _candidates(reader: Reader, segment: Segment, begin: int) -> Iterator[int]:
    tries = 0
    at = begin
    while at < segment.end and tries < _TRIES:
        window = bytes(reader.view(segment.base + at, min(1 << 20, segment.end - at)))
        if len(window) < 8:
            return
        place = window.find(b"\0\0\0\0", 4)
        while place != -1 and tries < _TRIES:
            start = place - 4
            length = _LENGTH.unpack_from(window, start)[0]
            # A row of no bytes is possible for text only; runs of NULs are no rows.
            if 0 < length <= segment.end - at - start - 8:
                tries += 1
                yield at + start
            place = window.find(b"\0\0\0\0", place + 1)
        at += max(1, len(window) - 7)


Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a segment.

    Attributes:
        places: where each begins and the last one ends, from the start of the page, when all were found.
        found: begin and end of each otherwise; None for one that can't be found.
        whole: whether their own lengths lead through all of them to the end of the segment.
        lost: where the first one that is missing begins.
    """

    places: Sequence[int]
    found: Sequence[Span | None]
    whole: bool
    lost: int | None = None

    def span(self, number: int) -> Span | None:
        """Begin and end of a row."""
        return (self.places[number], self.places[number + 1]) if self.whole else self.found[number]

    @property
    def spans(self) -> Sequence[Span | None]:
        """Begin and end of every row."""
        return list(pairwise(self.places)) if self.whole else self.found


def rows_of(reader: Reader, segment: Segment, rows: int) -> Rows:
    """The rows of a segment by their own lengths alone; what is behind a damaged length is found again if it can be."""
    places = bounds(reader, segment, rows)
    if is_whole(places, segment, rows) and segment.base + segment.end <= reader.size:
        return Rows(places, (), True)
    held = reader.size - segment.base
    if segment.end > held:
        spans = [(begin, end) for begin, end in pairwise(places) if end <= held]
        return _with_lost(spans, [], rows, places[len(spans)])
    # A damaged length may lead to a place that looks like a row, so the search begins some rows before the stop.
    back = places[max(0, len(places) - _BACK)]
    behind = resume(reader, segment, back - 8, rows)
    broken = rows - len(behind)
    if behind and broken < len(places) and places[broken] + 8 <= behind[0]:
        before = list(pairwise(places[: broken + 1]))
        return _with_lost(before, list(pairwise(behind)), rows, places[broken])
    if places[-1] == segment.end:
        # Their lengths fit, but there are too few: which ones are gone can't be told.
        return _with_lost([], [], rows, segment.begin)
    # The row before the stop may be the damaged one.
    before = list(pairwise(places))[:-1]
    return _with_lost(before, [], rows, places[len(before)])


def _with_lost(before: list[Span], behind: list[Span], rows: int, lost: int) -> Rows:
    between: list[Span | None] = [None] * (rows - len(before) - len(behind))
    return Rows((), [*before, *between, *behind], False, lost)


def spans_by(index: Sequence[tuple[int, Span] | None] | None, segment: Segment) -> list[Span] | None:
    """The index's places for a segment, if they follow one another from its begin to its end."""
    if not index:
        return None
    at = segment.begin
    spans: list[Span] = []
    for row in index:
        if row is None or row[0] != segment.page or row[1][0] != at or row[1][1] < at + 8:
            return None
        at = row[1][1]
        spans.append(row[1])
    return spans if at == segment.end else None
