"""What the bytes around a fault are called."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.cache.bytesview import Mark, Source, fault_of, marks
from mswb.cache.check import Checked, Fault, findings_of
from mswb.findings import MswbError, choose_language


def of(tmp_path: Path, data: bytes, form: str, *faults: Fault) -> tuple[Mark, ...]:
    path = tmp_path / "file"
    path.write_bytes(data)
    source = Source(str(path))
    try:
        return marks(form, source, faults)
    finally:
        source.close()


def frame(data: bytes) -> bytes:
    return struct.pack("<QI", len(data), 1) + data + struct.pack("<I", 2)


def test_frames_of_a_tfrecord(tmp_path: Path) -> None:
    found = of(tmp_path, frame(b"x" * 20) * 3, "tfrecord", Fault("corrupted", "bad", 36, 1, 36, 50))
    assert [(mark.start, mark.end, mark.name) for mark in found if mark.start < 72] == [
        (36, 44, "record 1: length 20"),
        (44, 48, "CRC of the length"),
        (48, 68, "data"),
        (50, 51, "the fault"),
        (68, 72, "CRC of the data"),
    ]
    assert next(mark.name for mark in found if mark.start == 72) == "record 2: length 20"
    assert [mark.start for mark in found if mark.fault] == [50]


def test_a_damaged_length_does_not_move_the_next_record(tmp_path: Path) -> None:
    data = bytearray(frame(b"x" * 20) * 3)
    data[37] = 0xFF
    found = of(tmp_path, bytes(data), "tfrecord", Fault("corrupted", "bad", 36, 1, 36))
    assert (72, "record 2: length 20") in [(mark.start, mark.name) for mark in found]
    found = of(tmp_path, bytes(data), "tfrecord", Fault("corrupted", "bad", 36, 1))  # nobody knows where it ends
    assert found[-1].name == "data, said to end beyond the file" and found[-1].end == len(data)


def test_the_bytes_of_a_compressed_file_are_no_frames(tmp_path: Path) -> None:
    found = of(tmp_path, gzip.compress(frame(b"x" * 20) * 3), "tfrecord", Fault("compressed", "gzip", 0))
    assert [mark.name for mark in found] == ["record", "the fault"]


def test_a_frame_that_is_cut(tmp_path: Path) -> None:
    found = of(tmp_path, frame(b"x" * 20) + b"\x05\x00\x00", "tfrecord", Fault("truncated", "cut", 36, 1))
    assert {mark.name for mark in found} == {"record 1: its beginning", "the fault"}


def test_rows_of_a_mindrecord(tmp_path: Path) -> None:
    rows = struct.pack("<Q", 4) + b"abcd"
    data = struct.pack("<Q", 30) + b"{" * 30 + rows * 4
    found = of(tmp_path, data, "mindrecord", Fault("corrupted", "bad", 38, 0, 12))
    assert [(mark.start, mark.name) for mark in found if not mark.fault] == [
        (38, "record 0: length 4"),
        (46, "row"),
        (50, "record 1: length 4"),
        (58, "row"),
        (62, "record 2: length 4"),
        (70, "row"),
    ]
    found = of(tmp_path, data, "mindrecord", Fault("corrupted", "bad", 0))
    assert [(mark.start, mark.end) for mark in found if not mark.fault] == [(0, 8), (8, 38)]


def test_records_of_a_file_cache(tmp_path: Path) -> None:
    record = (b"MSWR" + bytes(4) + struct.pack("<QQ", 7, 100)).ljust(64, b"\0") + bytes(128)
    found = of(tmp_path, b"MSWCSHD1".ljust(4096, b"\0") + record * 2, "file-cache", Fault("corrupted", "bad", 4096, 0))
    assert [(mark.start, mark.name) for mark in found if not mark.fault] == [
        (4096, "record 0: header, sample 7"),
        (4160, "payload, bytes: 100"),
        (4288, "record 1: header, sample 7"),
        (4352, "payload, bytes: 100"),
    ]
    found = of(tmp_path, b"MSWCSHD1".ljust(5000, b"\0"), "file-cache", Fault("corrupted", "bad", 0))
    assert [(mark.end, mark.name) for mark in found if not mark.fault] == [(4096, "header of the shard")]


def test_any_other_file(tmp_path: Path) -> None:
    assert [mark.name for mark in of(tmp_path, b"x" * 40, "npy", Fault("corrupted", "bad", 8, 3, 4))] == [
        "record 3",
        "the fault",
    ]
    assert of(tmp_path, b"x", "npy", Fault("orphan", "no place")) == ()


def test_the_words_are_chinese_where_the_rest_is(tmp_path: Path) -> None:
    choose_language("zh")
    try:
        found = of(tmp_path, frame(b"x"), "tfrecord", Fault("corrupted", "bad", 0, 0))
    finally:
        choose_language("en")
    assert found[0].name == "记录 0: 长度 1"


@given(
    data=st.binary(max_size=400),
    offset=st.integers(0, 500),
    form=st.sampled_from(["tfrecord", "mindrecord", "file-cache"]),
)
def test_no_bytes_are_too_odd(tmp_path_factory: pytest.TempPathFactory, data: bytes, offset: int, form: str) -> None:
    found = of(tmp_path_factory.getbasetemp(), data, form, Fault("corrupted", "bad", offset, 2))
    assert all(mark.start < mark.end for mark in found)
    assert all(mark.end <= len(data) for mark in found if not mark.fault and form == "tfrecord" and offset < len(data))


def test_a_finding_tells_its_place_again() -> None:
    fault = Fault("corrupted", "the CRC differs", 1690, 10, 169, 1700)
    (finding,) = findings_of("a.tfrecord", "TFRecord", Checked("corrupted", faults=(fault,), faults_total=1))
    again = fault_of(finding)
    assert (again.offset, again.record, again.length, again.byte, again.reason, again.file) == (
        1690, 10, 169, 1700, "the CRC differs", "a.tfrecord",
    )  # fmt: skip


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    with pytest.raises(MswbError):
        Source(str(tmp_path))
    with pytest.raises(MswbError):
        Source(str(tmp_path / "missing"))
