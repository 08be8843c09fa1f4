"""The header of a MindRecord: ``u64 length``, JSON, NULs up to ``header_size``; parsed with bounds, and judged.

What each key means was found by writing files with MindSpore 2.10's FileWriter and reading them.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from mswb.cache.data.mindrecord.reading import Reader
from mswb.files.safety import printable

VERSION = "3.0"
MIN_HEADER, MAX_HEADER = 16 << 10, 128 << 20
"""The bounds of ``header_size`` in bytes, which MindSpore enforces."""
MIN_PAGE, MAX_PAGE = 32 << 10, 256 << 20
"""The bounds of ``page_size`` in bytes, which MindSpore enforces."""

_KEYS = (b'"header_size"', b'"page_size"', b'"shard_addresses"', b'"row_group_ids"', b'"blob_fields"', b'"BLOB_DATA"')
_ENCRYPTED_END = b"ENCRYPT"
_NAME = re.compile(r"[0-9A-Za-z_]+")
"""What MindSpore allows a column to be called."""
_LFS = b"version https://git-lfs.github.com/spec/"
_PACKED = {b"\x1f\x8b\x08": "gzip", b"\x78\x01": "zlib", b"\x78\x5e": "zlib", b"\x78\x9c": "zlib", b"\x78\xda": "zlib"}


class Broken(Exception):
    """No rows can be found by this header. ``code`` is the status of the file, ``reason`` a few words for people."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Column(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column: one of MindSpore's types; one with a shape (-1: any) is an array and lies in the blob."""

    type: Literal["int32", "int64", "float32", "float64", "string", "bytes"]
    shape: tuple[int, ...] | None = None


class Schema(msgspec.Struct, frozen=True):
    """The columns by name, and which of them lie in the blob, in their order there."""

    schema: dict[str, Column]
    blob_fields: tuple[str, ...]
    desc: str


class RowGroup(msgspec.Struct, frozen=True):
    """The rows of blob page ``id`` (by its page_type_id) begin at ``offset`` of a raw page."""

    id: int
    offset: int


class Page(msgspec.Struct, frozen=True):
    """A page: ``page_size`` counts the bytes that are used; ``start_row_id``, ``end_row_id`` hold for blob pages."""

    page_id: int
    page_type: Literal["BLOB_DATA", "RAW_DATA"]
    page_type_id: int
    page_size: int
    start_row_id: int
    end_row_id: int
    shard_id: int
    row_group_ids: tuple[RowGroup, ...]


class IndexField(msgspec.Struct, frozen=True):
    """A column that the index holds too."""

    index_field: str
    schema_id: int


class Header(msgspec.Struct, frozen=True):
    """The header as the JSON has it."""

    header_size: int
    page_size: int
    schema: tuple[Schema, ...]
    shard_addresses: tuple[str, ...]
    shard_id: int
    version: str
    page: tuple[Page, ...] | None
    index_fields: tuple[IndexField, ...] | None
    statistics: Any
    compression_size: int

    @property
    def columns(self) -> Mapping[str, Column]:
        return self.schema[0].schema if self.schema else {}

    @property
    def blob_fields(self) -> tuple[str, ...]:
        return self.schema[0].blob_fields if self.schema else ()

    @property
    def pages(self) -> tuple[Page, ...]:
        return self.page or ()

    @property
    def indexed(self) -> tuple[IndexField, ...]:
        return self.index_fields or ()

    @property
    def rows(self) -> int:
        return max((page.end_row_id for page in self.pages if page.page_type == "BLOB_DATA"), default=0)

    @property
    def end(self) -> int:
        """The byte behind the last page that is used: the size that the file should have."""
        return max((self.base(page.page_id) + page.page_size for page in self.pages), default=self.header_size)

    def base(self, page_id: int) -> int:
        """Where a page begins."""
        return self.header_size + page_id * self.page_size


class _Version(msgspec.Struct, frozen=True):
    version: Any = None


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows one after another in a page; ``begin`` and ``end`` count from ``base``, the start of the page."""

    page: int
    base: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one blob page, with their raw parts: ``rows`` of them from number ``first``."""

    id: int
    first: int
    rows: int
    blob: Segment
    raw: Segment


def read_header(reader: Reader) -> Header:
    """The header, checked as far as it can be without the pages.

    Raises:
        Broken: it is none, or contradicts itself.
    """
    start = bytes(reader.view(0, 1 << 16))
    if not start:
        raise Broken("empty", "it has no bytes at all")
    if len(start) < 8:
        raise Broken("truncated", f"it has {len(start)} bytes, not even the length of the header")
    if not start[:MIN_HEADER].strip(b"\0"):
        raise Broken("interrupted", "the header was never written: its writer ended before commit()")
    if not any(key in start for key in _KEYS):
        raise _other(start, reader)
    (length,) = struct.unpack_from("<Q", start)
    body = reader.view(8, length) if length <= MAX_HEADER - 8 else memoryview(b"")
    if len(body) < length:
        raise _short(start, length, reader.size)
    return _judged(bytes(body))


def text_of(reader: Reader) -> bytes:
    """The text of a header whose length is damaged: it ends at the first NUL."""
    size = 1 << 16
    while True:
        text, end, _ = bytes(reader.view(8, size)).partition(b"\0")
        if end or len(text) < size or size >= MAX_HEADER:
            return text
        size *= 16


def read_unmeasured(reader: Reader) -> Header:
    """The header by its text alone, whatever the length before it says.

    Raises:
        Broken: it can't be read so either.
    """
    return _judged(text_of(reader))


def _judged(body: bytes) -> Header:
    header = _decoded(body)
    for reason in _contradictions(header, len(body)):
        raise Broken("corrupted", f"the header contradicts itself: {reason}")
    return header


def groups(header: Header) -> Iterator[Group]:
    """The rows of a checked header, by blob page and in their order."""
    raw = {group.id: segment for page in _kind(header, "RAW_DATA") for group, segment in _raw_segments(header, page)}
    for page in sorted(_kind(header, "BLOB_DATA"), key=lambda page: page.page_type_id):
        blob = Segment(page.page_id, header.base(page.page_id), 0, page.page_size)
        rows = page.end_row_id - page.start_row_id
        yield Group(page.page_type_id, page.start_row_id, rows, blob, raw[page.page_type_id])


def encode(header: Header) -> bytes:
    """The bytes of a header, from length to padding.

    Raises:
        ValueError: the JSON is longer than header_size allows.
    """
    body = msgspec.json.encode(header)
    if len(body) + 8 > header.header_size:
        raise ValueError(f"the header needs {len(body) + 8} bytes, header_size is {header.header_size}")
    return struct.pack("<Q", len(body)) + body.ljust(header.header_size - 8, b"\0")


def _kind(header: Header, kind: str) -> list[Page]:
    return [page for page in header.pages if page.page_type == kind]


def _raw_segments(header: Header, page: Page) -> Iterator[tuple[RowGroup, Segment]]:
    ends = [*(group.offset for group in page.row_group_ids[1:]), page.page_size]
    for group, end in zip(page.row_group_ids, ends, strict=True):
        yield group, Segment(page.page_id, header.base(page.page_id), group.offset, end)


def _other(start: bytes, reader: Reader) -> Broken:
    """What a file is that has none of the header's keys at its beginning."""
    if bytes(reader.view(max(0, reader.size - len(_ENCRYPTED_END)), len(_ENCRYPTED_END))) == _ENCRYPTED_END:
        return Broken("encrypted", "it ends in the mark of MindSpore's encryption")
    if start.startswith(_LFS):
        return Broken("lfs-pointer", "its text is a pointer of git-lfs")
    packed = next((name for mark, name in _PACKED.items() if start.startswith(mark)), None)
    if packed:
        return Broken("compressed", f"it is packed by {packed}; MindSpore reads MindRecord unpacked only")
    if start[8:10] == b'{"' or not start[8:].strip(b"\0"):
        return Broken("truncated" if reader.size < MIN_HEADER else "corrupted", "the header is not whole")
    return Broken("not-a-record-file", f"it begins with {printable(start[:16].decode('latin-1'))!r}")


def _short(start: bytes, length: int, size: int) -> Broken:
    """The header says that it is longer than the file: the length is wrong, or the file is cut."""
    text = start[8:].split(b"\0", 1)[0]
    reason = f"the header should be {length} bytes long, the file has {size}"
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        whole = length > MAX_HEADER or (size >= MIN_HEADER and len(text) < len(start) - 8)
        return Broken("corrupted" if whole else "truncated", reason)
    return Broken("corrupted", f"{reason}; its text ends after {len(text)}")


def _decoded(body: bytes) -> Header:
    try:
        body.decode("utf-8")  # names that are not known are not looked at below
        version = msgspec.json.decode(body, type=_Version).version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Broken("corrupted", f"the header is no JSON: {problem}") from None
    if version != VERSION and isinstance(version, str):
        raise Broken("version-mismatch", f"it says version {printable(version, 20)}, known is {VERSION}")
    try:
        return msgspec.json.decode(body, type=Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Broken("corrupted", f"the header has a wrong value: {printable(str(problem), 200)}") from None


def _contradictions(header: Header, length: int) -> Iterator[str]:
    """Everything in a header that can't be, checked in an order that lets later checks rely on the earlier ones."""
    if not MIN_HEADER <= header.header_size <= MAX_HEADER:
        yield f"header_size {header.header_size}"
    if length > header.header_size - 8:
        yield f"it is {length} bytes long, header_size is {header.header_size}"
    if not MIN_PAGE <= header.page_size <= MAX_PAGE:
        yield f"page_size {header.page_size}"
    if len(header.schema) != 1:
        yield f"{len(header.schema)} schemas"
    yield from _wrong_columns(header)
    if not 0 <= header.shard_id < max(1, len(header.shard_addresses)):
        yield f"shard_id {header.shard_id} of {len(header.shard_addresses)} shards"
    yield from _wrong_pages(header)


def _wrong_columns(header: Header) -> Iterator[str]:
    expected = sorted(name for name, kind in header.columns.items() if kind.shape is not None or kind.type == "bytes")
    if sorted(header.blob_fields) != expected:
        yield f"blob_fields are {_names(header.blob_fields)}, columns with a shape or bytes are {_names(expected)}"
    for name, column in header.columns.items():
        if not _NAME.fullmatch(name):
            yield f"a column is called {printable(name, 60)!r}"
        if column.shape is not None and any(size < 1 and size != -1 for size in column.shape):
            yield f"column {printable(name, 60)} has the shape {list(column.shape)}"
    scalar = set(header.columns) - set(header.blob_fields)
    fields = [field.index_field for field in header.indexed]
    if len(set(fields)) < len(fields):
        yield f"an index field stands twice: {_names(fields)}"
    for field in header.indexed:
        if field.index_field not in scalar or field.schema_id:
            yield f"the index field {printable(field.index_field, 60)} is no column of numbers or text"


def _wrong_pages(header: Header) -> Iterator[str]:
    pages = header.pages
    if sorted(page.page_id for page in pages) != list(range(len(pages))):
        yield "the numbers of the pages are not 0, 1, 2 ..."
    for page in pages:
        if not 0 <= page.page_size <= header.page_size:
            yield f"page {page.page_id} uses {page.page_size} bytes of {header.page_size}"
        if page.shard_id != header.shard_id:
            yield f"page {page.page_id} belongs to shard {page.shard_id}, the file is shard {header.shard_id}"
    blobs = sorted(_kind(header, "BLOB_DATA"), key=lambda page: page.page_type_id)
    row = 0
    for number, page in enumerate(blobs):
        if page.page_type_id != number:
            yield f"blob page {number} is missing"
        if page.start_row_id != row or page.end_row_id < row:
            yield f"page {page.page_id} holds rows {page.start_row_id} to {page.end_row_id}, it should begin at {row}"
        row = page.end_row_id
        if 8 * (row - page.start_row_id) > page.page_size:
            yield f"page {page.page_id} is too small for its rows"
    yield from _wrong_groups(header, len(blobs))


def _wrong_groups(header: Header, count: int) -> Iterator[str]:
    seen: list[int] = []
    for page in _kind(header, "RAW_DATA"):
        offsets = [0, *(group.offset for group in page.row_group_ids), page.page_size]
        if sorted(offsets) != offsets or (page.row_group_ids and offsets[1]):
            yield f"the row groups of page {page.page_id} do not follow one another"
        seen += [group.id for group in page.row_group_ids]
    if sorted(seen) != list(range(count)):
        yield f"{count} blob pages, but the raw pages hold the row groups {_ranges(seen)}"


def _names(names: Sequence[str]) -> str:
    return printable(", ".join(names), 200) or "none"


def _ranges(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, sorted(numbers)[:8])) + (" ..." if len(numbers) > 8 else "")
