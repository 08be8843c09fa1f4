"""The rows of a damaged MindRecord that are whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mswb.cache.data.mindrecord import index as indexes
from mswb.cache.data.mindrecord.blobs import BadRow, blob_checker, indexed_places, raw_decoder, scalar_names
from mswb.cache.data.mindrecord.header import Group, Header, Segment, groups
from mswb.cache.data.mindrecord.index import ERRORS, BadIndex, Index, IndexRow, stored
from mswb.cache.data.mindrecord.moved import Moved, find, last_in_place, walked
from mswb.cache.data.mindrecord.reading import Reader
from mswb.cache.data.mindrecord.rowcheck import placed_by
from mswb.cache.data.mindrecord.walk import Rows, Span, spans_by


@dataclass(slots=True)
class Chosen:
    """The rows of a damaged file that are whole.

    Attributes:
        index: an index that a check has found sound: it knows the places that damaged lengths hide, and the columns of
            rows whose raw page is gone, where all columns are index fields.
        lost: the numbers of rows that are not whole, first and last of each run; known once :meth:`rows` has ended.
        restored: how many rows have their columns from the index.
        corrected: how many rows were saved though their own length is wrong: a sound index has their place, and their
            content is what it says. MindSpore reads them, too, since it looks at the index alone.
    """

    reader: Reader
    header: Header
    index: str | None
    lost: list[tuple[int, int]] = field(default_factory=list)
    restored: int = 0
    corrected: int = 0

    def rows(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Number, raw and blob part of each; forgets the lost ones of the last time."""
        self.lost, self.restored, self.corrected = [], 0, 0
        if self.index is not None:
            try:
                with indexes.opened(self.index) as index:
                    yield from self._rows(index)
                return
            except (BadIndex, OSError):
                self.index = None
        yield from self._rows(None)

    def _rows(self, index: Index | None) -> Iterator[tuple[int, bytes, bytes]]:
        decode, check = raw_decoder(self.header), blob_checker(self.header)
        raws = self.reader.twin()
        indexed = indexed_places(self.header)
        moved = None if index is None else find(self.reader, self.header, index)
        last = last_in_place(self.reader, self.header)
        # Where bytes were lost or inserted, or the file is cut, only what is right by itself proves anything.
        in_place = moved is None and self.reader.size == self.header.end
        for group in groups(self.header):
            if min(group.blob.base, group.raw.base) >= self.reader.size:
                self._lose(group.first, group.first + group.rows - 1)
                continue
            placed = None
            if index is not None:
                try:
                    placed = index.take(self.header, group.first, group.rows)
                except ERRORS:
                    index = None
            raw_spans = self._spans(raws, group, group.raw, placed, "raw", moved, last)
            blob_spans = self._spans(self.reader, group, group.blob, placed, "blob", moved, last)
            for number in range(group.rows):
                raw_span, blob_span = raw_spans.span(number), blob_spans.span(number)
                proven = in_place and placed is not None and placed[number] is not None
                try:
                    blob, blob_right = _part(self.reader, group.blob, blob_span, proven)
                    raw, raw_right = self._raw(
                        raws, group.raw, raw_span, None if placed is None else placed[number], proven
                    )
                    values = decode(memoryview(raw))
                    if check is not None:
                        check(memoryview(blob))
                    _agree(values, indexed, None if placed is None else placed[number])
                except BadRow:
                    self._lose(group.first + number, group.first + number)
                    continue
                self.corrected += not (blob_right and raw_right)
                yield group.first + number, raw, blob

    def _lose(self, first: int, last: int) -> None:
        if self.lost and self.lost[-1][1] + 1 == first:
            first = self.lost.pop()[0]
        self.lost.append((first, last))

    def _raw(
        self, reader: Reader, segment: Segment, span: Span | None, row: IndexRow | None, proven: bool
    ) -> tuple[bytes, bool]:
        try:
            return _part(reader, segment, span, proven)
        except Gone:
            if row is None or len(self.header.indexed) != len(scalar_names(self.header)):
                raise
        self.restored += 1
        names = [field.index_field for field in self.header.indexed]
        return msgspec.msgpack.encode(dict(sorted(zip(names, row.values, strict=True))) or {"id": 0}), True

    def _spans(
        self,
        reader: Reader,
        group: Group,
        segment: Segment,
        index: Sequence[IndexRow | None] | None,
        part: str,
        moved: Moved | None,
        last: Segment | None,
    ) -> Rows:
        placed = None if index is None else spans_by(placed_by(index, part), segment)
        if placed is not None and moved is not None:
            return Rows((), moved.spans(segment, placed), False)
        own = walked(reader, self.header, segment, group.rows, last)
        return own if own.whole or placed is None else Rows((), placed, False)


class Gone(BadRow):
    """Nothing is left of a part of a row: the file ends before it, or there are only NULs."""


def _part(reader: Reader, segment: Segment, span: Span | None, proven: bool) -> tuple[bytes, bool]:
    """A part of a row without its length, and whether that length is right.

    Args:
        proven: the index has this place for it, so that a length with one wrong byte may be all that is damaged.

    Raises:
        BadRow: it is not whole; Gone: there is nothing of it.
    """
    if span is None:
        raise Gone("it can't be found")
    data = bytes(reader.view(segment.base + span[0], span[1] - span[0]))
    if len(data) != span[1] - span[0] or not data.strip(b"\0"):
        raise Gone("the file ends before it, or has only NULs here")
    wrong = sum(one != other for one, other in zip(data[:8], (len(data) - 8).to_bytes(8, "little"), strict=True))
    # More wrong bytes, or NULs, may be the begin of a damage that goes on behind the length.
    if wrong and not (proven and wrong == 1 and any(data[:8])):
        raise BadRow("its length is damaged")
    return data[8:], not wrong


def _agree(values: Sequence[Any], indexed: Sequence[int], row: IndexRow | None) -> None:
    """See that a row has the values that a sound index has for it.

    Raises:
        BadRow: it has others.
    """
    if row is not None and row.values != tuple(stored(values[place]) for place in indexed):
        raise BadRow("its values are not those of the index")
