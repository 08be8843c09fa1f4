"""The pieces of a MindRecord for its baseline: the header, then the raw and the blob part of each row."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from mswb.cache.baseline import LOST, Piece
from mswb.cache.check import Watch
from mswb.cache.data.mindrecord import reading
from mswb.cache.data.mindrecord.header import Broken, groups, read_header
from mswb.cache.data.mindrecord.walk import rows_of


def pieces(path: str, watch: Watch) -> Iterator[Piece]:
    """See :data:`mswb.cache.baseline.Cutter`. Offsets are those of a part with its eight bytes of length."""
    with reading.opened(path) as reader:
        raws = reader.twin()
        try:
            header = read_header(reader)
        except Broken:
            yield Piece(None, 0, LOST)
            return
        length = 8 + int.from_bytes(reader.view(0, 8), "little")
        yield Piece(None, 0, zlib.crc32(reader.view(0, length)))
        for group in groups(header):
            if watch.cancelled():
                raise OSError(0, "it was cancelled")
            if min(group.blob.base, group.raw.base) >= reader.size:
                return  # the file is cut, and a header may promise any number of such rows
            parts = ((raws, group.raw), (reader, group.blob))
            rows = [(source, part, rows_of(source, part, group.rows)) for source, part in parts]
            for number in range(group.rows):
                for source, part, found in rows:
                    span = found.span(number)
                    if span is None:
                        offset = part.base + (part.begin if found.lost is None else found.lost)
                        yield Piece(group.first + number, offset, LOST)
                        continue
                    data = source.view(part.base + span[0], span[1] - span[0])
                    yield Piece(group.first + number, part.base + span[0], zlib.crc32(data))
            watch.report(min(group.blob.base + group.blob.end, reader.size), reader.size, "bytes")
