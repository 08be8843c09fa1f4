"""Walking the frames of a TFRecord file: whole ones in batches, and each place where none is, with its bounds.

A frame is ``u64 length, u32 masked CRC of these eight bytes, data, u32 masked CRC of the data``, little-endian
(tensorflow/core/lib/io/record_writer.h). Nothing precedes the first frame or follows the last.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mswb.cache.crc import crcs_of_rows, mask, masked_array, masked_lengths, unmasked_array, value
from mswb.cache.data.tfrecord.records import HALF, NOTHING, SLACK, WIDE, Records, of_buffer, of_ends, of_pieces
from mswb.cache.data.tfrecord.resync import FOOTER, HEADER, Budget, data_fits, is_nul, next_frame
from mswb.cache.data.tfrecord.source import Source, Window

BESIDE = HEADER + FOOTER
"""Bytes of a frame beside its data."""
BUFFER = 1 << 20
"""Bytes read at once, which are still in the processor's cache when their checksums are computed. Longer frames are
checked piece by piece and never held whole."""
LONG = 1 << 12
"""From so many bytes a record on, records are read one by one, and only their ends are kept for :class:`Frames`."""
_FIRST = 1 << 16
_MANY_PAGES = 1 << 15
_TOGETHER, _BATCH = 2048, 1 << 26
"""Long records of one batch, and about how many bytes they may have: between two batches progress is told."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Frames that follow one another, all with a good header.

    Attributes:
        offsets: where each one begins in the source.
        lengths: of each one's data.
        stored: the masked CRCs of their data, as they stand there.
        damaged: which ones have data that does not fit its CRC.
        record: the number of the first.
        records: their data, until the next batch is asked for.
        held: whether all of the data is there, or only both ends of each.
    """

    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    stored: NDArray[np.uint32]
    damaged: NDArray[np.bool_]
    record: int
    records: Records
    held: bool

    def data(self, index: int, source: Source) -> bytes | Window:
        """The data of one of them."""
        if self.held:
            return self.records.bytes(int(self.records.starts[index]), int(self.lengths[index]))
        return Window(source, int(self.offsets[index]) + HEADER, int(self.lengths[index]))

    @property
    def end(self) -> int:
        """Where in the source the last one ends."""
        return int(self.offsets[-1] + self.lengths[-1]) + BESIDE


@dataclass(frozen=True, slots=True)
class Long:
    """One whole frame that is longer than :data:`BUFFER`; ``length`` is that of its data."""

    offset: int
    record: int
    length: int


@dataclass(frozen=True, slots=True)
class Broken:
    """A place where no whole frame is.

    Attributes:
        kind: data_crc, length_crc, missing_bytes (a good header, then bytes are gone), truncated (a good header, and
            then the end), cut_header (fewer bytes than a header), nul_tail, no_frame (nothing whole follows).
        length: bytes of it, up to the next frame that is whole.
        claimed: the length that the header states.
        data_whole: whether the data has its CRC, and only the header is damaged.
    """

    kind: str
    offset: int
    record: int
    length: int
    claimed: int | None = None
    data_whole: bool = False


Part = Frames | Long | Broken


def walk(
    source: Source,
    cancelled: Callable[[], bool] = lambda: False,
    report: Callable[[int], None] = lambda offset: None,
) -> Iterator[Part]:
    """All parts of a file in order, without a gap. Ends early once ``cancelled()`` holds."""
    return _Walk(source, cancelled, report).parts()


class _Walk:
    def __init__(self, source: Source, cancelled: Callable[[], bool], report: Callable[[int], None]) -> None:
        self._source, self._cancelled, self._report = source, cancelled, report
        self._budget = Budget(source)
        self._offset = self._record = 0
        self._view = memoryview(bytearray(BUFFER + SLACK))
        self._raw = np.frombuffer(self._view, np.uint8)
        self._held = 0
        self._limit = _FIRST

    def parts(self) -> Iterator[Part]:
        while not self._cancelled():
            self._report(self._offset)
            wanted = self._view[self._held : self._limit]
            got = self._source.into(self._offset + self._held, wanted)
            ended, self._held = got < len(wanted), self._held + got
            if not self._held:
                return
            frames = self._whole(ended)
            if frames is not None:
                yield frames
                self._move(frames)
                if not self._source.packing and frames.end - frames.offsets[0] >= LONG * len(frames.lengths):
                    yield from self._one_by_one()
            elif not ended and self._is_short():
                self._limit = BUFFER
            else:
                yield from self._slow(self._view[: min(self._held, HEADER)].tobytes())
                self._held, self._limit = 0, _FIRST

    def _move(self, frames: Frames) -> None:
        """Go on behind these frames; what was read of the next one stays."""
        size = frames.end - self._offset
        self._view[: self._held - size] = self._view[size : self._held]
        self._held -= size
        self._offset += size
        self._record += len(frames.offsets)
        self._limit = min(4 * self._limit, BUFFER)

    def _one_by_one(self) -> Iterator[Frames]:
        """Batches of long records, each read with the header of the next, until one is short, very long or damaged."""
        while not self._cancelled():
            self._report(self._offset)
            frames, ended = self._long_ones()
            if frames is None:
                return
            self._offset, self._held = frames.end, 0
            self._record += len(frames.offsets)
            yield frames
            if ended:
                return

    def _long_ones(self) -> tuple[Frames | None, bool]:
        """Up to :data:`_TOGETHER` long records, and whether this way of reading ends with them.

        Each is read with the header of the next, and the CRC is taken of all of it: nothing has to be cut out for that,
        since the CRC of data that is followed by something follows from that of the data (see :func:`_fitting`).
        """
        read, unpack = self._source.quick, _LENGTH.unpack_from
        pieces: list[bytes] = []
        lengths: list[int] = []
        crcs: list[int] = []
        head = self._source.read(self._offset, HEADER)
        length = _length(head) if _is_header(head) else 0
        at = self._offset + HEADER
        half = HALF if length < _MANY_PAGES else WIDE
        together = max(1, min(_TOGETHER, _BATCH // max(1, length)))
        for _ in range(together):
            size = length + BESIDE
            if not LONG <= length <= BUFFER or len(data := read(size, at)) < size:
                break
            crcs.append(value(data))
            pieces += (data[:half], NOTHING, data[length - half :])
            lengths.append(length)
            at += size
            (length,) = unpack(data, length + FOOTER)
        if not lengths:
            return None, True
        raw, behind = of_pieces(pieces, half)
        count = _fitting(np.array(crcs, np.uint32), behind)
        if not count:
            return None, True
        sizes = np.array(lengths[:count], np.int64)
        offsets = self._offset + np.cumsum(sizes + BESIDE) - (sizes + BESIDE)
        stored = behind[:count, :FOOTER].copy().view("<u4").ravel()
        damaged = np.zeros(count, np.bool_)
        return Frames(offsets, sizes, stored, damaged, self._record, of_ends(raw, sizes, half), False), count < together

    def _is_short(self) -> bool:
        """Whether a frame begins here that the buffer can hold, if all of it is read."""
        good = self._held >= HEADER and _is_header(self._view)
        return good and self._held < _length(self._view) + BESIDE <= BUFFER

    def _whole(self, ended: bool) -> Frames | None:
        """The frames at the beginning of the buffer, up to a bad header.

        A last one with damaged data is left out while nobody knows whether some of its bytes are gone.
        """
        places, after = _hop(self._view, self._held)
        if not places:
            return None
        starts = np.array(places, np.int64)
        lengths = starts[1:] - starts[:-1]
        lengths = np.append(lengths, after - places[-1]) - BESIDE
        starts += HEADER
        bad = np.flatnonzero(masked_lengths(lengths.view(np.uint64)) != _words(self._raw, starts - FOOTER))
        followed = not len(bad) and self._is_followed(after, ended)
        if len(bad):
            starts, lengths = starts[: bad[0]], lengths[: bad[0]]
        crcs = np.array(_crcs(self._view, starts, lengths), np.uint32)
        stored = _words(self._raw, starts + lengths)
        damaged = masked_array(crcs) != stored
        count = len(starts) - (len(starts) > 0 and not followed and bool(damaged[-1]))
        if not count:
            return None
        starts, lengths = starts[:count], lengths[:count]
        records = of_buffer(self._view, starts, starts + lengths)
        offsets = starts + (self._offset - HEADER)
        return Frames(offsets, lengths, stored[:count], damaged[:count], self._record, records, True)

    def _is_followed(self, at: int, ended: bool) -> bool:
        """Whether another frame begins at ``at``, or the file ends."""
        if at + HEADER <= self._held:
            return _is_header(self._view, at)
        return ended and at == self._held

    def _slow(self, data: bytes) -> Iterator[Part]:
        """One frame that is long or damaged, or the damaged rest."""
        at, record = self._offset, self._record
        if len(data) < HEADER:
            nul = not data.strip(b"\0")
            yield self._pass(Broken("nul_tail" if nul else "cut_header", at, record, len(data)))
            return
        claimed = _length(data)
        after = at + BESIDE + claimed
        if not _is_header(data):
            yield from self._without_header(data, claimed)
            return
        good, there = data_fits(self._source, at + HEADER, claimed, self._budget)
        if good:
            self._offset, self._record = after, record + 1
            yield Long(at, record, claimed)
        elif there and self._is_start(after):
            yield self._pass(Broken("data_crc", at, record, after - at, claimed))
        else:
            yield from self._gap(claimed, after if there else None)

    def _gap(self, claimed: int, after: int | None) -> Iterator[Part]:
        """A good header whose data is not there: bytes were lost, or all up to the next whole frame is damaged."""
        at, record = self._offset, self._record
        found = self._search(at + 1)
        if found is None and after is None:
            yield self._pass(Broken("truncated", at, record, self._end() - at, claimed))
        elif after is None or (found is not None and found <= after):
            assert found is not None
            yield self._pass(Broken("missing_bytes", at, record, found - at, claimed))
        else:
            yield self._pass(Broken("data_crc", at, record, after - at, claimed))
            yield from self._lost(found)

    def _without_header(self, data: bytes, claimed: int) -> Iterator[Part]:
        """A bad header; its length may still be right, or its CRC."""
        at = self._offset
        after = at + BESIDE + claimed
        if (
            claimed <= BUFFER
            and data_fits(self._source, at + HEADER, claimed, self._budget)[0]
            and self._is_start(after)
        ):
            yield self._pass(Broken("length_crc", at, self._record, after - at, claimed, data_whole=True))
            return
        yield from self._lost(self._search(at + 1))

    def _lost(self, found: int | None) -> Iterator[Part]:
        """The place from here to the next whole frame, or to the end."""
        at = self._offset
        end = self._end() if found is None else found
        if at >= end:
            return
        kind = "length_crc"
        if found is None:
            kind = "nul_tail" if self._is_nul(at, end) else "length_crc" if self._reaches(at, end) else "no_frame"
        yield self._pass(Broken(kind, at, self._record, end - at))

    def _pass(self, broken: Broken) -> Broken:
        self._offset += broken.length
        self._record += 1
        return broken

    def _search(self, start: int) -> int | None:
        return next_frame(self._source, start, self._budget, self._watch)

    def _watch(self, offset: int) -> bool:
        self._report(offset)
        return self._cancelled()

    def _is_start(self, offset: int) -> bool:
        """Whether a frame may begin there, or the file ends."""
        head = self._source.read(offset, HEADER)
        return not head or _is_header(head)

    def _reaches(self, at: int, end: int) -> bool:
        """Whether data with a good CRC lies between here and the end: then only its length is damaged."""
        length = end - at - BESIDE
        return 0 <= length <= BUFFER and data_fits(self._source, at + HEADER, length, self._budget)[0]

    def _is_nul(self, at: int, end: int) -> bool:
        while at < end and not self._watch(at):
            data = self._source.read(at, min(BUFFER, end - at))
            if not data or not is_nul(data):
                return False
            at += len(data)
        return True

    def _end(self) -> int:
        """Where the file ends. A packed one is known to its end once something was sought and not found."""
        if self._source.size is None:
            at = self._offset
            while piece := len(self._source.read(at, BUFFER)):
                at += piece
            return at
        return self._source.size


def _crcs(view: memoryview, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[int]:
    """The CRC of each data. Short ones are cut out of one copy."""
    if not len(starts):
        return []
    low, high = int(starts[0]), int(starts[-1] + lengths[-1])
    if high - low < LONG * len(starts):
        data = view[low:high].tobytes()
        begins = (starts - low).tolist()
        return list(map(value, map(data.__getitem__, map(slice, begins, (starts + lengths - low).tolist()))))
    ends = (starts + lengths).tolist()
    return [value(view[start:end].tobytes()) for start, end in zip(starts.tolist(), ends, strict=True)]


def _hop(view: memoryview, end: int) -> tuple[list[int], int]:
    """Where each frame begins that ends by ``end``, as the lengths say, and where the next one would begin."""
    unpack = _LENGTH.unpack_from
    places: list[int] = []
    add = places.append
    at, last = 0, end - BESIDE
    while at <= last:
        add(at)
        at += unpack(view, at)[0] + BESIDE
    if at > end:
        at = places.pop()
    return places, at


def _fitting(crcs: NDArray[np.uint32], behind: NDArray[np.uint8]) -> int:
    """How many records, from the first on, have their CRC and are followed by a good header.

    A CRC goes on over further bytes as if it had begun there with its value XORed into the first four of them.

    Args:
        crcs: of the data and the :data:`BESIDE` bytes behind it.
        behind: these bytes: the masked CRC of the data, and the header of the next record.
    """
    rows = behind.copy()
    words = rows.view("<u4")
    following = masked_array(crcs_of_rows(rows[:, FOOTER : FOOTER + 8].copy().view("<u2")))
    good = following == words[:, 3]
    words[:, 0] ^= unmasked_array(words[:, 0])
    good &= crcs_of_rows(rows.view("<u2")) == crcs
    return len(good) if good.all() else int(good.argmin())


_LENGTH = struct.Struct("<Q")


def _length(data: bytes | memoryview, at: int = 0) -> int:
    return int(_LENGTH.unpack_from(data, at)[0])


def _is_header(data: bytes | memoryview, at: int = 0) -> bool:
    if len(data) < at + HEADER:
        return False
    length, crc = struct.unpack_from("<8sI", data, at)
    return bool(mask(value(length)) == crc)


def _words(raw: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The 32-bit numbers at these places."""
    return raw.take(places[:, None] + np.arange(4)).view("<u4").ravel()
