"""The bytes around a place of a file, and what they are: fields of records, ends of records, the damaged ones.

Only what is looked at is read, whatever the size of the file. Lengths come from the file and are judged before they
are believed: a field that would end behind the file is named and drawn to the file's end.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mswb.cache.check import Fault
from mswb.files.safety import open_regular
from mswb.findings import Finding, language

ROW = 16
"""Bytes in a row of a hex view."""
RECORDS = 3
"""Records that are named, from the damaged one on."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Bytes from ``start`` to before ``end`` and what they are; ``fault`` tells that they are the damaged ones."""

    start: int
    end: int
    name: str
    fault: bool = False


class Source:
    """A regular file, read at any place.

    Raises:
        MswbError: it can't be opened, or is no regular file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = open_regular(path)
        self.size = os.fstat(self._file).st_size

    def read(self, offset: int, count: int) -> bytes:
        """At most ``count`` bytes at ``offset``; fewer at the end, none where the disk fails."""
        try:
            return os.pread(self._file, count, offset)
        except OSError:
            return b""

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)


def fault_of(finding: Finding) -> Fault:
    """The place of a finding of a check as the check told it."""

    def number(name: str) -> int | None:
        value = finding.values.get(name)
        return value if isinstance(value, int) and value >= 0 else None

    reason = str(finding.values.get("reason") or finding.title)
    where = finding.where
    return Fault(
        finding.code, reason, where.offset, number("record"), number("length_bytes"), number("byte"), where.file
    )


def marks(form: str, source: Source, faults: Sequence[Fault]) -> tuple[Mark, ...]:
    """What is known of the bytes at some faults, in the order of the file.

    Args:
        form: the kind of the entry, see :data:`mswb.cache.sniff.KINDS`.
    """
    name_fields = _FORMATS.get(form)
    found: dict[tuple[int, int, str], Mark] = {}
    for fault in faults:
        if fault.offset is None:
            continue
        fields = list(name_fields(source, fault)) if name_fields is not None else []
        if not fields:
            fields = [Mark(fault.offset, fault.offset + 1, _record(fault))]
        for mark in (*fields, damaged(fault, source.size)):
            found.setdefault((mark.start, mark.end, mark.name), mark)
    return tuple(sorted(found.values(), key=lambda mark: (mark.start, mark.fault, -mark.end)))


def damaged(fault: Fault, size: int) -> Mark:
    """The bytes that a fault is about: the very byte where it is known, else its record as far as its length is."""
    start = fault.byte if fault.byte is not None else fault.offset or 0
    length = 1 if fault.byte is not None else max(1, fault.length or 1)
    return Mark(start, max(start + 1, min(start + length, size)), word("fault"), fault=True)


def word(name: str) -> str:
    """The words of this name, in the language of this process."""
    return _WORDS[name][language() == "zh"]


_WORDS = {
    "record": ("record", "记录"),
    "fault": ("the fault", "故障处"),
    "begins": ("its beginning", "开头"),
    "length": ("length", "长度"),
    "length crc": ("CRC of the length", "长度的 CRC"),
    "data": ("data", "数据"),
    "data crc": ("CRC of the data", "数据的 CRC"),
    "beyond": ("data, said to end beyond the file", "数据，声称的末尾超出文件"),
    "shard": ("header of the shard", "分片头"),
    "header": ("header, sample", "记录头，样本"),
    "payload": ("payload, bytes:", "载荷，字节数："),
    "json length": ("length of the JSON header", "JSON 头的长度"),
    "json": ("JSON header", "JSON 头"),
    "row": ("row", "行"),
}


def _record(fault: Fault, after: int = 0) -> str:
    return word("record") if fault.record is None else f"{word('record')} {fault.record + after}"


_PACKED = frozenset({b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"})
"""How gzip and zlib begin: the frames are inside, and these bytes tell nothing of them."""


def _tfrecord(source: Source, fault: Fault) -> Iterator[Mark]:
    """Frames of a TFRecord: length u64, CRC of the length, data, CRC of the data (TFRecord's own description)."""
    offset = fault.offset or 0
    if source.read(0, 2) in _PACKED:
        return
    for step in range(RECORDS):
        head, name = source.read(offset, 12), _record(fault, step)
        if len(head) < 12:
            if head:
                yield Mark(offset, offset + len(head), f"{name}: {word('begins')}")
            return
        (length,) = struct.unpack("<Q", head[:8])
        yield Mark(offset, offset + 8, f"{name}: {word('length')} {length:,}")
        yield Mark(offset + 8, offset + 12, word("length crc"))
        # The check has found the next record; the damaged one's own length may be what is wrong with it.
        known = fault.length if not step and fault.length is not None and fault.length >= 16 else None
        data, end = offset + 12, offset + (known - 4 if known else 12 + length)
        if end + 4 > source.size:
            yield Mark(data, source.size, word("beyond"))
            return
        if end > data:
            yield Mark(data, end, word("data"))
        yield Mark(end, end + 4, word("data crc"))
        offset = end + 4


def _store(source: Source, fault: Fault) -> Iterator[Mark]:
    """Records of a file cache: a header that begins with MSWR and holds the sample and the length of its payload."""
    offset = fault.offset or 0
    for step in range(RECORDS):
        head = source.read(offset, 24)
        if head[:8] == b"MSWCSHD1":
            yield Mark(offset, min(offset + 4096, source.size), word("shard"))
            return
        if head[:4] != b"MSWR" or len(head) < 24:
            return
        sample, length = struct.unpack("<QQ", head[8:])
        yield Mark(offset, min(offset + 64, source.size), f"{_record(fault, step)}: {word('header')} {sample:,}")
        if length:
            yield Mark(offset + 64, min(offset + 64 + length, source.size), f"{word('payload')} {length:,}")
        offset += 64 + -(-length // 64) * 64


def _mindrecord(source: Source, fault: Fault) -> Iterator[Mark]:
    """A row of a MindRecord page begins with its length as u64; the file begins with that of the JSON header."""
    offset = fault.offset or 0
    for step in range(RECORDS):
        head = source.read(offset, 8)
        if len(head) < 8:
            return
        (length,) = struct.unpack("<Q", head)
        if not offset:
            yield Mark(0, 8, f"{word('json length')} {length:,}")
            yield Mark(8, max(9, min(8 + length, source.size)), word("json"))
            return
        # The index tells how long the damaged row is; its own length may be what is damaged.
        end = offset + (fault.length if not step and fault.length else 8 + length)
        if end > source.size:
            return
        yield Mark(offset, offset + 8, f"{_record(fault, step)}: {word('length')} {length:,}")
        if end > offset + 8:
            yield Mark(offset + 8, end, word("row"))
        offset = end


_FORMATS: Mapping[str, Callable[[Source, Fault], Iterator[Mark]]] = {
    "tfrecord": _tfrecord,
    "mindrecord": _mindrecord,
    "file-cache": _store,
}
