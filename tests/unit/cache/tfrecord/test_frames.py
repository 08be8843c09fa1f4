"""Walking frames: whatever is damaged, every whole record is found and no other."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.cache.crc import masked_lengths
from mswb.cache.data.tfrecord import frames as module
from mswb.cache.data.tfrecord.frames import Broken, Frames, Long, walk
from mswb.cache.data.tfrecord.resync import Budget, next_frame
from mswb.cache.data.tfrecord.source import Packed, Source, opened
from tests.unit.cache.tfrecord.files import flipped, frame, masked_crc, verified, write


class Bytes:
    """A source in memory."""

    packing = ""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size: int | None = len(data)
        self.quick: Callable[[int, int], bytes] = lambda length, offset: self.read(offset, length)

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]

    def into(self, offset: int, view: memoryview) -> int:
        data = self.read(offset, len(view))
        view[: len(data)] = data
        return len(data)


def whole(source: Source) -> list[bytes]:
    """The data of all records that are found whole."""
    return [data for part in walk(source) for data in _data(part, source)]


def _data(part: object, source: Source) -> Iterator[bytes]:
    if isinstance(part, Frames):
        for row in np.flatnonzero(~part.damaged).tolist():
            yield bytes(part.data(row, source)[:])
    elif isinstance(part, Long):
        yield source.read(part.offset + 12, part.length)


def tiles(source: Source, size: int) -> None:
    """See that the parts follow one another without gap or overlap, up to the end."""
    at = 0
    for part in walk(source):
        if isinstance(part, Frames):
            assert int(part.offsets[0]) == at
            at = part.end
        else:
            assert part.offset == at
            at += part.length + 16 * isinstance(part, Long)
    assert at == size


def damaged(source: Source) -> Iterator[tuple[int, int]]:
    """Where frames begin and end that have a good header, and data that does not fit."""
    for part in walk(source):
        if isinstance(part, Frames):
            for row in np.flatnonzero(part.damaged).tolist():
                yield int(part.offsets[row]), int(part.offsets[row] + part.lengths[row]) + 16
        elif isinstance(part, Broken) and part.kind == "data_crc":
            yield part.offset, part.offset + part.length


def damage(data: bytes, draw: random.Random) -> bytes:
    """Some bytes flipped, overwritten, lost, added, or cut off."""
    at = draw.randrange(len(data) + 1)
    count = draw.choice((1, 3, 12, 40, 300))
    noise = draw.choice((draw.randbytes(count), bytes(count), b"\r\n" * count))
    return draw.choice(
        (
            lambda: flipped(data, min(at, len(data) - 1), draw.randrange(8)) if data else data,
            lambda: data[:at] + noise[: len(data) - at] + data[at + len(noise) :],
            lambda: data[:at] + data[at + count :],
            lambda: data[:at] + noise + data[at:],
            lambda: data[:at],
        )
    )()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(1, 4), st.sampled_from((20, 90, 6000)))
def test_every_whole_record_is_found_and_no_other(seed: int, times: int, longest: int) -> None:
    draw = random.Random(seed)
    records = [struct.pack("<I", index) + draw.randbytes(draw.randrange(longest)) for index in range(25)]
    data = b"".join(map(frame, records))
    for _ in range(times):
        data = damage(data, draw)
    source = Bytes(data)
    # a damaged record with a good header is passed over as a whole: what lies inside may be its data
    inside = b"|".join(data[start + 12 : end] for start, end in damaged(source))
    present = [record for record in records if frame(record) in data]
    assert whole(source) == [record for record in present if frame(record) not in inside]
    tiles(source, len(data))


@pytest.mark.parametrize(
    "size", [0, 1, 376, 4095, 4096, 40_056, 560_927, module.BUFFER - 16, module.BUFFER - 15, 3_000_000]
)
def test_records_of_every_size(tmp_path: Path, size: int) -> None:
    records = [bytes([number]) * size for number in range(5)]
    path = write(tmp_path / "sizes.tfrecord", records)
    with opened(str(path)) as source:
        assert whole(source) == records
        tiles(source, path.stat().st_size)
    data = path.read_bytes()
    damaged = data[: 2 * (size + 16)] + flipped(data[2 * (size + 16) :], size // 2 + 12 if size else 13)
    assert whole(Bytes(damaged)) == records[:2] + records[3:]
    assert whole(Bytes(data[:-1])) == records[:-1]


def test_sizes_that_change_within_a_file() -> None:
    draw = random.Random(5)
    sizes = [10] * 50 + [9000] * 60 + [10] * 50 + [1_500_000] + [5000] * 30 + [module.BUFFER] * 2 + [0] * 9
    records = [draw.randbytes(size) for size in sizes]
    data = b"".join(map(frame, records))
    assert whole(Bytes(data)) == records
    at = sum(len(record) + 16 for record in records[:80])
    assert whole(Bytes(flipped(data, at + 100))) == records[:80] + records[81:]
    assert whole(Bytes(flipped(data, at + 3))) == records[:80] + records[81:]


def test_what_is_told_of_damage() -> None:
    records = [b"a" * 30, b"b" * 30, b"c" * 30]
    data = b"".join(map(frame, records))
    broken = [part for part in walk(Bytes(flipped(data, 46 + 8))) if isinstance(part, Broken)]
    assert broken == [Broken("length_crc", 46, 1, 46, 30, data_whole=True)]
    # damage over the border of two records is two faults
    broken = [part for part in walk(Bytes(data[:40] + b"?" * 20 + data[60:])) if isinstance(part, Broken)]
    assert broken == [Broken("data_crc", 0, 0, 46, 30), Broken("length_crc", 46, 1, 46)]
    # a last record whose length is damaged is one record, and nothing else
    broken = [part for part in walk(Bytes(flipped(data, 92))) if isinstance(part, Broken)]
    assert broken == [Broken("length_crc", 92, 2, 46)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1))
def test_the_checksums_of_lengths(lengths: list[int]) -> None:
    crcs = masked_lengths(np.array(lengths, np.uint64)).tolist()
    assert crcs == [masked_crc(struct.pack("<Q", length)) for length in lengths]


def test_a_length_beyond_all_bounds_does_not_hide_what_follows() -> None:
    for length in (1 << 63, (1 << 64) - 1, 1 << 40, 5000):
        header = struct.pack("<Q", length)
        data = header + struct.pack("<I", masked_crc(header)) + b"x" * 100 + frame(b"here") * 3
        assert whole(Bytes(data)) == [b"here"] * 3
        assert whole(Bytes(data[:112])) == []


def test_a_file_made_to_be_slow_is_read_a_few_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Good headers whose data reaches to the end, and is never right: each would cost a pass over the rest."""
    size = 1 << 18
    headers = bytearray()
    while len(headers) < size:
        length = struct.pack("<Q", size - len(headers) - 16)
        headers += length + struct.pack("<I", masked_crc(length)) + b"...."

    class Counting(Bytes):
        count = 0

        def read(self, offset: int, length: int) -> bytes:
            data = super().read(offset, length)
            self.count += len(data)
            return data

    monkeypatch.setattr("mswb.cache.data.tfrecord.resync._SLACK", 0)
    monkeypatch.setattr("mswb.cache.data.tfrecord.resync._SMALL", 64)
    source = Counting(bytes(headers) + bytes(16))
    assert whole(source) == []
    assert source.count < 30 * size


def test_the_search_ends_when_nobody_wants_its_answer() -> None:
    source = Bytes(b"." * (1 << 20))
    asked: list[int] = []
    assert next_frame(source, 0, Budget(source), lambda at: asked.append(at) is None) is None
    assert asked == [0]


def test_nul_is_passed_over_and_the_frame_behind_it_found() -> None:
    for gap in (1 << 18, (1 << 18) + 5, 3 << 18):
        data = b"?" * 12 + bytes(gap) + frame(b"behind" * 50)
        assert whole(Bytes(data)) == [b"behind" * 50]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from((31, 15)))
def test_a_packed_file_reads_like_its_content(seed: int, bits: int) -> None:
    """At any offset, forwards and backwards; and what comes out before damage is not lost."""
    draw = random.Random(seed)
    content = draw.randbytes(5000) * draw.randrange(1, 40)
    packer = zlib.compressobj(6, zlib.DEFLATED, bits)
    data = packer.compress(content) + packer.flush()
    packed = Packed(lambda offset, length: data[offset : offset + length], "gzip")
    for _ in range(10):
        offset, length = draw.randrange(len(content) + 10), draw.randrange(1, 30_000)
        assert packed.read(offset, length) == content[offset : offset + length]
    assert packed.read(0, len(content) + 1) == content and not packed.problem

    cut = draw.randrange(2, len(data) - 4)
    broken = Packed(lambda offset, length: data[:cut][offset : offset + length], "gzip")
    assert content.startswith(broken.read(0, len(content)))
    broken.read(0, len(content) + 1)
    assert broken.problem and broken.cut


def test_two_gzip_members_and_nul_behind_them(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "two.tfrecord.gz"
    path.write_bytes(gzip.compress(frame(b"one")) + gzip.compress(frame(b"two")) + bytes(100))
    with opened(str(path)) as source:
        assert whole(source) == [b"one", b"two"]
    assert verified(path).status == "compressed"
