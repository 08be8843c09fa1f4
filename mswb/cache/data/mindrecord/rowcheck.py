"""Every row of a MindRecord against its own lengths, its schema and the index; and the index against the rows."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mswb.cache.check import MAX_FAULTS, Fault, Watch
from mswb.cache.data.mindrecord.blobs import BadRow, blob_checker, raw_decoder, scalar_names
from mswb.cache.data.mindrecord.header import Group, Header, Segment, groups
from mswb.cache.data.mindrecord.index import ERRORS, Index, IndexRow, stored
from mswb.cache.data.mindrecord.moved import Moved, find
from mswb.cache.data.mindrecord.quick import Quick
from mswb.cache.data.mindrecord.reading import Reader
from mswb.cache.data.mindrecord.walk import Rows, Span, rows_of, spans_by
from mswb.files.safety import printable


@dataclass(slots=True)
class Tally:
    """What was found, row by row.

    Attributes:
        faults: of the data, the first of ``total``.
        intact: rows without any.
        values: rows whose values in the index are others; they are faults unless the whole index is foreign.
        differing, compared: rows of the index that are at another place than the data's, and all of them.
        index: the first thing that is wrong with the index, in words.
        unfit: rows that are whole by their lengths and can't have the columns of the header.
        unreadable: why the index could not be read to its end.
        skipped: whether there are row groups that were not looked at, since the file ends before them.
        cut: where the first row begins that the end of the file cuts off, and its number.
        moved: where bytes were lost or inserted, when rows behind that place were found.
        gaps: parts of row groups in which rows are lost by that.
    """

    faults: list[Fault] = field(default_factory=list)
    total: int = 0
    intact: int = 0
    values: list[Fault] = field(default_factory=list)
    values_total: int = 0
    differing: int = 0
    compared: int = 0
    index: str = ""
    unreadable: str = ""
    unfit: int = 0
    skipped: bool = False
    cut: tuple[int, int] | None = None
    moved: Moved | None = None
    gaps: int = 0

    def add(self, fault: Fault) -> None:
        self.total += 1
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)

    def skip(self, first: int, size: int) -> None:
        """Count a row group, whose first row this is, as lost: the file of ``size`` bytes ends before it."""
        self.skipped = True
        self.cut = min(self.cut or (size, first), (size, first))

    def add_value(self, fault: Fault) -> None:
        self.values_total += 1
        if len(self.values) < MAX_FAULTS:
            self.values.append(fault)

    def blame_index(self, reason: str) -> None:
        self.differing += 1
        self.index = self.index or reason


def check_rows(reader: Reader, header: Header, index: Index | None, deep: bool, watch: Watch) -> Tally:
    """Check all rows; with an index, both against each other.

    Raises:
        OSError: the file can't be read.
    """
    tally = Tally()
    found = None if index is None else find(reader, header, index)
    if found is not None and found.behind is not None:
        tally.moved = found
    judge = _Judge(reader, header, deep, tally)
    taken = 0
    for group in groups(header):
        if watch.cancelled():
            break
        if min(group.blob.base, group.raw.base) >= reader.size:
            # Nothing of it is there; a header may promise any number of such rows.
            tally.skip(group.first, reader.size)
            continue
        if index is not None and not tally.unreadable:
            try:
                taken += judge.with_index(group, index)
            except ERRORS as problem:
                tally.unreadable = f"SQLite says: {problem}"
        if index is None or tally.unreadable:
            judge.group(group, None)
        watch.report(min(group.blob.base + group.blob.end, reader.size), reader.size, "bytes")
    if index is not None and not tally.unreadable and not tally.skipped and not watch.cancelled():
        extra = index.count() - taken
        if extra:
            tally.blame_index(f"it has {extra} rows more than the data")
            tally.compared += extra
    return tally


class _Judge:
    """Looks at one group after the other."""

    def __init__(self, reader: Reader, header: Header, deep: bool, tally: Tally) -> None:
        self._tally = tally
        self._header = header
        self._blob = reader
        self._raw = reader.twin()
        self._quick = Quick(self._blob, self._raw, header, deep)
        self._size = reader.size
        self._decode = raw_decoder(header) if deep else None
        self._check_blob = blob_checker(header) if deep else None
        names = scalar_names(header)
        self._indexed = [(names.index(item.index_field), item.index_field) for item in header.indexed]

    def with_index(self, group: Group, index: Index) -> int:
        """Count a group's intact rows, with the index; returns how many rows of the index belong to it.

        Raises:
            sqlite3.Error: the index can't be read.
        """
        if self._quick.is_sound(group, index.select(self._header, group.first, group.rows)):
            self._tally.intact += group.rows
            self._tally.compared += group.rows
            return group.rows
        rows = index.take(self._header, group.first, group.rows)
        self.group(group, rows)
        return sum(row is not None for row in rows)

    def group(self, group: Group, index: Sequence[IndexRow | None] | None) -> None:
        """Count its intact rows, and tell the others."""
        blob_index = None if index is None else placed_by(index, "blob")
        raw_index = None if index is None else placed_by(index, "raw")
        bad: set[int] = set()
        if self._tally.moved is not None:
            moved = [
                self._moved(group, segment, placed, bad, self._tally.moved)
                for segment, placed in ((group.blob, blob_index), (group.raw, raw_index))
            ]
            self._contents(group, moved[0], moved[1], index, bad)
            return
        blobs = self._spans(self._blob, group, group.blob, blob_index, bad)
        raws = self._spans(self._raw, group, group.raw, raw_index, bad)
        if index is not None:
            self._compare(group, index, blobs, raws)
        self._contents(group, blobs, raws, index, bad)

    def _contents(
        self,
        group: Group,
        blobs: Sequence[Span | None],
        raws: Sequence[Span | None],
        index: Sequence[IndexRow | None] | None,
        bad: set[int],
    ) -> None:
        """Look into the rows at these places, and count those that are whole."""
        if self._check_blob is not None:
            self._blobs(group, blobs, self._check_blob, bad)
        if self._decode is not None:
            self._raws(group, raws, index, self._decode, bad)
        self._tally.intact += group.rows - len(bad)

    def _moved(
        self,
        group: Group,
        segment: Segment,
        index: Sequence[tuple[int, Span] | None] | None,
        bad: set[int],
        moved: Moved,
    ) -> list[Span | None]:
        """Where the rows are in a file that has lost bytes or got some, and that those across the place are lost."""
        placed = spans_by(index, segment) or []
        spans: list[Span | None] = moved.spans(segment, placed) if placed else [None] * group.rows
        missing = [number for number, span in enumerate(spans) if span is None]
        bad.update(missing)
        if missing:
            self._tally.gaps += 1
            offset = segment.base + (placed[missing[0]][0] if placed else segment.begin)
            what = f"{abs(moved.by)} bytes are {'missing' if moved.by < 0 else 'too many'} from here on"
            rows = "the row is" if len(missing) == 1 else f"{len(missing)} rows are"
            reason = f"{what}: {rows} lost, those behind are moved"
            record = group.first + missing[0]
            self._tally.add(Fault("corrupted", reason, offset=offset, record=record, values={"lost": len(missing)}))
        return spans

    def _spans(
        self,
        reader: Reader,
        group: Group,
        segment: Segment,
        index: Sequence[tuple[int, Span] | None] | None,
        bad: set[int],
    ) -> Sequence[Span | None]:
        """Where the rows are: by their lengths, or where these are damaged by an index that is whole here."""
        own = rows_of(reader, segment, group.rows)
        if own.whole:
            return own.spans
        placed = spans_by(index, segment)
        if placed is None:
            self._lost(group, segment, own, bad)
            return own.spans
        for number, (begin, end) in enumerate(placed):
            if segment.base + end > self._size:
                kept = [*placed[:number], *[None] * (group.rows - number)]
                self._lost(group, segment, Rows((), kept, False, begin), bad)
                return kept
            head = reader.view(segment.base + begin, end - begin)
            (length,) = struct.unpack_from("<Q", head)
            if length != end - begin - 8:
                what = "only NULs" if not head.tobytes().strip(b"\0") else f"a length of {length}"
                reason = f"{what} where a row of {end - begin - 8} bytes should be"
                self._fault(group, segment, number, begin, reason, bad, length=end - begin)
        return list(placed)

    def _lost(self, group: Group, segment: Segment, rows: Rows, bad: set[int]) -> None:
        """Tell of rows that can't be found: the file ends before them, or a length is damaged."""
        missing = [number for number, span in enumerate(rows.spans) if span is None]
        bad.update(missing)
        first = group.first + (missing[0] if missing else 0)
        offset = segment.base + (rows.lost if rows.lost is not None else segment.begin)
        if segment.base + segment.end > self._size:
            place = (min(offset, self._size), first)
            self._tally.cut = place if self._tally.cut is None else min(self._tally.cut, place)
            return
        count = f"{len(missing)} rows can" if len(missing) > 1 else "it can"
        reason = f"a damaged length; from here on {count}'t be found" if missing else "bytes that belong to no row"
        self._tally.add(Fault("corrupted", reason, offset=offset, record=first, values={"lost": len(missing)}))

    def _compare(
        self,
        group: Group,
        index: Sequence[IndexRow | None],
        blobs: Sequence[Span | None],
        raws: Sequence[Span | None],
    ) -> None:
        """Blame the index for rows that it puts elsewhere than they are."""
        for number, (row, blob, raw) in enumerate(zip(index, blobs, raws, strict=True)):
            self._tally.compared += 1
            if row is None:
                self._tally.blame_index(f"row {group.first + number} is missing in it")
                continue
            expected = (
                ("blob part", row.blob, (group.blob.page, *blob) if blob else row.blob),
                ("columns", row.raw, (group.raw.page, *raw) if raw else row.raw),
            )
            wrong = next(((what, told, true) for what, told, true in expected if told != true), None)
            if wrong is not None:
                self._tally.blame_index("row {}: its {} at {}, the data has {}".format(group.first + number, *wrong))
            elif row.group != group.id:
                self._tally.blame_index(f"row {group.first + number}: row group {row.group}, the data has {group.id}")

    def _blobs(
        self, group: Group, spans: Sequence[Span | None], check: Callable[[memoryview], None], bad: set[int]
    ) -> None:
        base, view = group.blob.base, self._blob.view
        for number, span in enumerate(spans):
            if span is None or number in bad:
                continue
            begin, end = span
            try:
                check(view(base + begin, end - begin)[8:])
            except BadRow as problem:
                self._tally.unfit += 1
                self._fault(group, group.blob, number, begin, str(problem), bad, length=end - begin)

    def _raws(
        self,
        group: Group,
        spans: Sequence[Span | None],
        index: Sequence[IndexRow | None] | None,
        decode: Callable[[memoryview], tuple[Any, ...]],
        bad: set[int],
    ) -> None:
        base, view = group.raw.base, self._raw.view
        for number, span in enumerate(spans):
            if span is None:
                continue
            begin, end = span
            try:
                values = decode(view(base + begin, end - begin)[8:])
            except BadRow as problem:
                if number not in bad:
                    self._tally.unfit += 1
                    self._fault(group, group.raw, number, begin, str(problem), bad, length=end - begin)
                continue
            row = index[number] if index is not None else None
            if row is not None:
                self._values(group, number, begin, values, row)

    def _values(self, group: Group, number: int, begin: int, values: tuple[Any, ...], row: IndexRow) -> None:
        for (place, name), known in zip(self._indexed, row.values, strict=True):
            value = stored(values[place])
            if value != known:
                reason = f"{name} is {_shown(value)} in the data and {_shown(known)} in the index"
                offset = group.raw.base + begin
                self._tally.add_value(Fault("corrupted", reason, offset=offset, record=group.first + number))
                return

    def _fault(
        self, group: Group, segment: Segment, number: int, begin: int, reason: str, bad: set[int], length: int
    ) -> None:
        bad.add(number)
        record = group.first + number
        offset = segment.base + begin
        self._tally.add(Fault("corrupted", printable(reason, 300), offset=offset, record=record, length=length))


def placed_by(index: Sequence[IndexRow | None], part: str) -> list[tuple[int, Span] | None]:
    """Page and span of the "raw" or "blob" part of each row, as the index has it."""
    places = [None if row is None else row.raw if part == "raw" else row.blob for row in index]
    return [None if place is None else (place[0], (place[1], place[2])) for place in places]


def _shown(value: object) -> str:
    return printable(repr(value), 60)
