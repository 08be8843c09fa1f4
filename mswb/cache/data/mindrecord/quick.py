"""The quick look at a row group: whether all of it is as it should be, in columns instead of row by row.

What it turns down is looked at again, row by row, by :mod:`mswb.cache.data.mindrecord.rowcheck`, which says why.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from mswb.cache.data.mindrecord.blobs import BadRow, blob_checker, indexed_places, raw_struct
from mswb.cache.data.mindrecord.header import Group, Header
from mswb.cache.data.mindrecord.index import stored
from mswb.cache.data.mindrecord.reading import Reader
from mswb.cache.data.mindrecord.walk import bounds, is_whole

_ROWS = 2048
_BYTES = 8 << 20


class Quick:
    """Looks at groups of one file."""

    def __init__(self, blobs: Reader, raws: Reader, header: Header, deep: bool) -> None:
        self._blobs, self._raws = blobs, raws
        kind = raw_struct(header)
        self._decode = msgspec.msgpack.Decoder(kind).decode if deep else None
        self._check_blob = blob_checker(header) if deep else None
        self._fields = [kind.__struct_fields__[place] for place in indexed_places(header)]

    def is_sound(self, group: Group, index: sqlite3.Cursor) -> bool:
        """Whether its rows are all whole, and where and what the index says.

        Raises:
            sqlite3.Error: the index can't be read.
        """
        blobs = bounds(self._blobs, group.blob, group.rows)
        raws = bounds(self._raws, group.raw, group.rows)
        if not is_whole(blobs, group.blob, group.rows) or not is_whole(raws, group.raw, group.rows):
            return False
        if max(group.blob.base + group.blob.end, group.raw.base + group.raw.end) > self._blobs.size:
            return False
        step = max(1, min(_ROWS, _BYTES * group.rows // max(1, group.raw.end - group.raw.begin)))
        return (
            all(
                self._part(group, begin, min(begin + step, group.rows), raws, blobs, index)
                for begin in range(0, group.rows, step)
            )
            and not index.fetchone()
        )

    def _part(
        self, group: Group, begin: int, end: int, raws: Sequence[int], blobs: Sequence[int], index: sqlite3.Cursor
    ) -> bool:
        count = end - begin
        batch = index.fetchmany(count)
        if len(batch) != count:
            return False
        columns = list(zip(*batch, strict=True))
        expected: tuple[Sequence[int], ...] = (
            range(group.first + begin, group.first + end),
            (group.raw.page,) * count,
            raws[begin:end],
            raws[begin + 1 : end + 1],
            (group.id,) * count,
            (group.blob.page,) * count,
            blobs[begin:end],
            blobs[begin + 1 : end + 1],
        )
        if any(told != tuple(true) for told, true in zip(columns, expected, strict=False)):
            return False
        if self._check_blob is not None and not self._blobs_are_sound(group, blobs[begin : end + 1]):
            return False
        return self._decode is None or self._values_agree(group, raws[begin : end + 1], columns[8:])

    def _blobs_are_sound(self, group: Group, places: Sequence[int]) -> bool:
        check, view, base = self._check_blob, self._blobs.view, group.blob.base
        assert check is not None
        try:
            for begin, end in pairwise(places):
                check(view(base + begin + 8, end - begin - 8))
        except BadRow:
            return False
        return True

    def _values_agree(self, group: Group, places: Sequence[int], columns: Sequence[Sequence[Any]]) -> bool:
        decode, start = self._decode, places[0]
        assert decode is not None
        window = self._raws.view(group.raw.base + start, places[-1] - start)
        try:
            rows = [decode(window[begin - start + 8 : end - start]) for begin, end in pairwise(places)]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        for field, told in zip(self._fields, columns, strict=True):
            values = tuple([getattr(row, field) for row in rows])
            if values != told and tuple(map(stored, values)) != told:
                return False
        return True
