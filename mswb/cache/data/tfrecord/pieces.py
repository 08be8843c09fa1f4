"""The pieces of a TFRecord for its baseline: its records, by the checksum of each one's data."""

from __future__ import annotations

from collections.abc import Iterator

from mswb.cache.baseline import LOST, Piece
from mswb.cache.check import Watch
from mswb.cache.data.tfrecord.frames import Broken, Frames, Long, walk
from mswb.cache.data.tfrecord.resync import FOOTER, HEADER
from mswb.cache.data.tfrecord.source import opened


def pieces(path: str, watch: Watch) -> Iterator[Piece]:
    """See :data:`mswb.cache.baseline.Cutter`. Offsets are those of frames (in a packed file: of what it holds)."""
    with opened(path) as source:
        for part in walk(source, watch.cancelled, lambda offset: watch.report(offset, source.size, "bytes")):
            if isinstance(part, Broken):
                yield Piece(part.record, part.offset, LOST)
            elif isinstance(part, Long):
                crc = int.from_bytes(source.read(part.offset + HEADER + part.length, FOOTER), "little")
                yield Piece(part.record, part.offset, crc)
            else:
                yield from _of_frames(part)
        if watch.cancelled():
            raise OSError(0, "it was cancelled")


def _of_frames(frames: Frames) -> Iterator[Piece]:
    crcs = zip(frames.offsets.tolist(), frames.stored.tolist(), frames.damaged.tolist(), strict=True)
    for number, (offset, crc, damaged) in enumerate(crcs, frames.record):
        yield Piece(number, offset, LOST if damaged else crc)
