"""Where the rows are in a file that has lost bytes, or got some, somewhere in its middle.

What lies before the damaged place is where header and index say, and what lies behind it is moved by as many bytes as
the file is too short or too long. A row is told by its length, and by the values that the index has for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mswb.cache.data.mindrecord.blobs import BadRow, indexed_places, raw_decoder
from mswb.cache.data.mindrecord.header import Group, Header, Segment, groups
from mswb.cache.data.mindrecord.index import ERRORS, Index, IndexRow, stored
from mswb.cache.data.mindrecord.reading import Reader
from mswb.cache.data.mindrecord.walk import Rows, Span, bounds, rows_of, spans_by


@dataclass(frozen=True, slots=True)
class Moved:
    """The damaged place.

    Attributes:
        before: rows that begin before this offset are where they should be.
        behind: rows that should begin at this offset or behind it are moved ``by`` bytes; None: none are found.
        by: bytes, negative where some were lost.
    """

    before: int
    behind: int | None
    by: int

    def at(self, offset: int) -> int | None:
        """By how much the row is moved that should begin at an offset; None: it lies across the damaged place."""
        if offset < self.before:
            return 0
        return self.by if self.behind is not None and offset >= self.behind else None

    def spans(self, segment: Segment, placed: Sequence[Span]) -> list[Span | None]:
        """Where the rows of a segment really are, from the start of its page."""
        shifts = [self.at(segment.base + begin) for begin, _ in placed]
        return [None if by is None else (begin + by, end + by) for (begin, end), by in zip(placed, shifts, strict=True)]


def find(reader: Reader, header: Header, index: Index) -> Moved | None:
    """The damaged place of a file whose size is not what its pages need; None where there is none.

    Args:
        index: one that has the right places; where it has not, the answer is None.
    """
    by = reader.size - header.end
    if not by or not header.rows:
        return None
    try:
        return _found(reader, header, index, by)
    except ERRORS:
        return None


@dataclass(slots=True)
class _Seen:
    """What the rows told so far, in the order of the file.

    Attributes:
        last: where the last row begins that is in place for certain.
        held: where the last one begins that is in place, or may be another of the same length.
        follower: the row behind that one.
        moved: where the first one should begin that is moved.
        certain: whether a row is moved that can't be another one.
        ends: whether the last row is moved: the file ends with it, and was not cut.
    """

    last: int | None = None
    held: int | None = None
    follower: Span | None = None
    moved: int | None = None
    certain: bool = False
    ends: bool = False

    def add(self, span: Span, here: bool, there: bool, known: bool) -> None:
        """Take the next row: where it should be, whether it fits here or moved, and whether only it would."""
        self.ends = there
        if here:
            self.held, self.follower = span[0], None
            if not there:
                self.last, self.moved, self.certain = span[0], None, False
            return
        self.follower = self.follower or span
        if there:
            self.moved = span[0] if self.moved is None else self.moved
            self.certain = self.certain or known

    def add_doubtful(self, span: Span, here: bool, there: bool) -> None:
        """Take a row at whose place another one of the same length would lie, were it moved."""
        self.ends = there
        if here:
            self.held, self.follower = span[0], None
        else:
            self.follower = self.follower or span

    def judged(self, size: int, by: int) -> Moved | None:
        """The damaged place of a file of ``size`` bytes; None where it is only cut, or nothing is known."""
        if self.moved is not None and self.certain and self.ends:
            return Moved(0 if self.last is None else self.last, self.moved, by)
        if self.held is None or self.follower is None or self.follower[1] > size:
            return None
        return Moved(self.held, None, by)


def _found(reader: Reader, header: Header, index: Index, by: int) -> Moved | None:
    fits, there = _Fit(reader.twin(), header), _Fit(reader.twin(), header)
    seen = _Seen()
    for group, segment, is_raw in _in_file_order(header):
        rows = index.take(header, group.first, group.rows)
        spans = spans_by([None if row is None else _place(row, is_raw) for row in rows], segment)
        if spans is None:
            return None
        distinct = is_raw and len({row.values for row in rows if row is not None}) == group.rows > 1
        known = rows if is_raw else [None] * len(rows)
        places = [(segment.base + begin, end - begin, row) for (begin, end), row in zip(spans, known, strict=True)]
        here = [fits(offset, length, row) for offset, length, row in places]
        moved = [there(offset + by, length, row) for offset, length, row in places]
        like = set() if distinct or all(here) != all(moved) else _like_others(spans, by)
        if all(here) and by > 0 and fits(segment.base + segment.end, places[-1][1], None):
            like = _like_others(spans, by)  # as many rows, and then one more
        for number, (offset, _, _) in enumerate(places):
            end = segment.base + spans[number][1]
            if number in like:
                seen.add_doubtful((offset, end), here[number], moved[number])
            elif all(here):
                seen.add((offset, end), True, False, False)
            else:
                seen.add((offset, end), here[number], moved[number], distinct or not number)
    return seen.judged(reader.size, by)


def _like_others(spans: Sequence[Span], by: int) -> set[int]:
    """The rows that begin where another one of the same length would, if it were moved."""
    lengths = {begin: end - begin for begin, end in spans}
    return {
        number
        for number, (begin, end) in enumerate(spans)
        if end - begin in (lengths.get(begin + by), lengths.get(begin - by))
    }


class _Fit:
    """Whether a row stands at an offset: its length, and the values that the index has."""

    def __init__(self, reader: Reader, header: Header) -> None:
        self._reader, self._decode, self._indexed = reader, raw_decoder(header), indexed_places(header)

    def __call__(self, offset: int, length: int, row: IndexRow | None) -> bool:
        if offset < 0 or offset + 8 > self._reader.size:
            return False
        if int.from_bytes(self._reader.view(offset, 8), "little") != length - 8:
            return False
        if row is None:
            return True
        try:
            values = self._decode(self._reader.view(offset, length)[8:])
        except BadRow:
            return False
        return row.values == tuple(stored(values[place]) for place in self._indexed)


def _place(row: IndexRow, is_raw: bool) -> tuple[int, Span]:
    page, begin, end = row.raw if is_raw else row.blob
    return page, (begin, end)


def _in_file_order(header: Header) -> Iterator[tuple[Group, Segment, bool]]:
    parts = [(group, part, part is group.raw) for group in groups(header) for part in (group.blob, group.raw)]
    yield from sorted(parts, key=lambda one: (one[1].base, one[1].begin))


def last_in_place(reader: Reader, header: Header) -> Segment | None:
    """By lengths alone: the rows behind which bytes were lost or inserted before the next rows begin; None: nowhere.

    The last of these rows may lie across that place, though its length is right.
    """
    if reader.size == header.end:
        return None
    before: Segment | None = None
    for group, segment, _ in _in_file_order(header):
        if segment.base + segment.begin + 8 > reader.size:
            return None
        if len(bounds(reader, segment, group.rows)) == 1 and group.rows:
            return before
        before = segment
    return None


def walked(reader: Reader, header: Header, segment: Segment, rows: int, last: Segment | None) -> Rows:
    """The rows of a segment by their lengths alone: where they should be, else moved, else on both sides of a gap.

    Args:
        last: what :func:`last_in_place` gave.
    """
    by = reader.size - header.end
    own = rows_of(reader, segment, rows)
    if own.whole and segment == last:
        return Rows((), [*own.spans[:-1], None], False, own.places[-2])
    if own.whole or not by:
        return own
    if segment.base + by > 0:
        moved = rows_of(reader, replace(segment, base=segment.base + by), rows)
        if moved.whole:
            return Rows((), [span and (span[0] + by, span[1] + by) for span in moved.spans], False)
    if segment.end + by <= segment.begin:
        return own
    gap = replace(segment, end=segment.end + by)
    across = rows_of(reader, gap, rows)
    if segment.base + gap.end == reader.size and by < 0 and not _ends(across):
        places = bounds(reader, segment, rows)
        stopped = len(places) <= rows and segment.base + places[-1] + 8 <= reader.size
        # A file that is only cut has right lengths up to its end.
        return _without(own, places, len(places) - 2) if stopped else own
    if _is_doubtful(own, by) or _is_doubtful(across, by):
        return Rows((), [None] * rows, False, segment.begin)
    if not _ends(across) or _ends(own):
        return own
    places = bounds(reader, gap, rows)
    return _without(across, places, len(places) - 2)


def _without(rows: Rows, places: Sequence[int], last: int) -> Rows:
    """The rows but the ``last`` of those that lengths lead to one by one: it may lie across a gap.

    Its own length is right, and leads into the middle of another one.
    """
    if last < 0 or last >= len(rows.spans) or rows.spans[last] != (places[last], places[last + 1]):
        return rows
    spans = list(rows.spans)
    spans[last] = None
    return Rows((), spans, False, places[last])


def _is_doubtful(rows: Rows, by: int) -> bool:
    """Whether rows of one length were lost or inserted as wholes: then none can be told from another."""
    lengths = {span[1] - span[0] for span in rows.spans if span is not None} - {8}
    return len(lengths) == 1 and not by % lengths.pop()


def _ends(rows: Rows) -> bool:
    """Whether the last row was found; NULs before the end of a page look like one of no bytes."""
    span = rows.spans[-1] if rows.spans else None
    return span is not None and span[1] - span[0] > 8
