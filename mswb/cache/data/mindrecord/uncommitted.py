"""A MindRecord whose writer ended before commit(): no header, no index, but the pages are there.

Where pages begin and how long they are is found from the bytes; rows are paired in their order, since MindSpore writes
both parts of a row in the same order, and each raw page after the blob pages that it belongs to. What is not in the
file (names and types of blob columns, int32 or int64) is taken from a finished MindRecord in the same folder whose
columns fit, else assumed, and said.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import msgspec

from mswb.cache.check import Watch
from mswb.cache.data.mindrecord import reading
from mswb.cache.data.mindrecord.blobs import BadRow, blob_checker, raw_decoder
from mswb.cache.data.mindrecord.header import (
    MAX_HEADER,
    MAX_PAGE,
    MIN_HEADER,
    MIN_PAGE,
    VERSION,
    Broken,
    Column,
    Header,
    IndexField,
    Schema,
    read_header,
)
from mswb.cache.data.mindrecord.reading import Reader

_UNIT = 1024
"""Sizes that people choose are multiples of this."""
_PROBE_PAGES = 6
_PROBE_ROWS = 64
_SIBLINGS = 64
_SCAN = 1 << 20
_TYPES: Mapping[type, str] = {int: "int64", float: "float64", str: "string"}
_decode = msgspec.msgpack.Decoder(dict[str, int | float | str]).decode


@dataclass(frozen=True, slots=True)
class Held:
    """A page: whether it holds raw parts, how many rows, and where the last one ends, from its start."""

    base: int
    raw: bool
    rows: int
    end: int


@dataclass(frozen=True, slots=True)
class Survey:
    """What an uncommitted file holds. ``rows`` of them are there with both parts."""

    header_size: int
    page_size: int
    pages: tuple[Held, ...]
    rows: int
    blobs: int

    def words(self) -> str:
        """For people."""
        if not self.rows:
            return f"no row is whole, so none can be saved: {self.blobs} were written without their columns"
        without = f", {self.blobs - self.rows} more without their columns" if self.blobs > self.rows else ""
        return (
            f"{self.rows} rows{without}; header of {self.header_size} and pages of {self.page_size} bytes, as it looks"
        )


def survey(reader: Reader, watch: Watch, begin: int = 0) -> Survey | None:
    """What can be found in a file without a header; None when that is nothing.

    Args:
        begin: where NULs lead up to the first page: behind the text of a header that can't be read.

    Raises:
        OSError: it can't be read.
    """
    first = _first_byte(reader, begin, MAX_HEADER + 8)
    if first is None or first < MIN_HEADER:
        return None
    header_size = _aligned(reader, first, MIN_HEADER)
    if header_size is None:
        return None
    page_size = _page_size(reader, header_size)
    if page_size is None:
        return None
    pages = []
    base = header_size
    while base < reader.size and not watch.cancelled():
        pages.append(_held(reader, base, page_size))
        watch.report(base, reader.size, "bytes")
        base += page_size
    pages, raws = _without_moved(reader, pages)
    blobs = sum(page.rows for page in pages if not page.raw)
    return Survey(header_size, page_size, tuple(pages), min(raws, blobs), blobs)


def rows(reader: Reader, found: Survey) -> Iterator[tuple[bytes, bytes]]:
    """The raw and the blob part of each row, without their lengths."""
    raws = _parts(reader.twin(), [page for page in found.pages if page.raw])
    blobs = _parts(reader, [page for page in found.pages if not page.raw])
    for _, raw, blob in zip(range(found.rows), raws, blobs, strict=False):
        yield raw, blob


def fitting(reader: Reader, found: Survey, header: Header) -> Iterator[tuple[bytes, bytes]]:
    """The rows that have the columns of a header."""
    decode, check = raw_decoder(header), blob_checker(header)
    for raw, blob in rows(reader, found):
        try:
            decode(memoryview(raw))
            if check is not None:
                check(memoryview(blob))
        except BadRow:
            continue
        yield raw, blob


def columns(path: str, reader: Reader, found: Survey) -> tuple[Header, str]:
    """A header for the rows (without pages), and in words where its columns come from.

    Raises:
        Broken: ``interrupted``: there is no row to tell the columns from.
    """
    sample = list(zip(range(_PROBE_ROWS), rows(reader, found), strict=False))
    parts = [part for _, part in sample]
    if not parts:
        raise Broken("interrupted", "it holds no row with both parts")
    for name in _finished(path):
        known = _known(name, parts)
        if known is not None:
            words = f"columns as in {os.path.basename(name)}"
            return _header(path, found, known.schema[0], known.indexed), words
    schema = _assumed(parts)
    scalar = [name for name in schema.schema if name not in schema.blob_fields]
    indexed = tuple(IndexField(name, 0) for name in scalar)
    return _header(path, found, schema, indexed), f"assumed: {_told(schema)}; whole numbers are taken as int64"


def _header(path: str, found: Survey, schema: Schema, indexed: Sequence[IndexField]) -> Header:
    own = os.path.basename(path)
    return Header(
        header_size=found.header_size,
        page_size=found.page_size,
        schema=(schema,),
        shard_addresses=(own,),
        shard_id=0,
        version=VERSION,
        page=(),
        index_fields=tuple(indexed) or None,
        statistics=None,
        compression_size=0,
    )


def _first_byte(reader: Reader, begin: int, end: int) -> int | None:
    """The first byte from ``begin`` on that is no NUL."""
    at = begin
    while at < min(end, reader.size):
        window = bytes(reader.view(at, min(_SCAN, end - at)))
        rest = window.lstrip(b"\0")
        if rest:
            return at + len(window) - len(rest)
        if not window:
            return None
        at += len(window)
    return None


def _aligned(reader: Reader, first: int, least: int) -> int | None:
    """The start of the page whose first byte that is no NUL is at ``first``: its length may begin with NULs."""
    for unit in (_UNIT, 4):
        start = first - first % unit
        if start >= least and first - start < 8 and 0 < _length(reader, start) <= MAX_PAGE:
            return start
    return None


def _length(reader: Reader, offset: int) -> int:
    data = reader.view(offset, 8)
    return int.from_bytes(data, "little") if len(data) == 8 else 0


def _page_size(reader: Reader, header_size: int) -> int | None:
    """The least page size with which the first pages all begin with a row."""
    powers = [1 << bits for bits in range(MIN_PAGE.bit_length() - 1, MAX_PAGE.bit_length())]
    first = _held(reader, header_size, MAX_PAGE)
    follows = _first_byte(reader, header_size + first.end, header_size + MAX_PAGE + 8)
    gap = _aligned(reader, follows, header_size + MIN_PAGE) if follows is not None else None
    found = {*powers, *([gap - header_size] if gap is not None else [])}
    sizes = sorted(size for size in found if MIN_PAGE <= size <= MAX_PAGE)
    return next((size for size in sizes if size >= first.end and _begins(reader, header_size, size)), None)


def _begins(reader: Reader, header_size: int, size: int) -> bool:
    starts = range(header_size, min(reader.size, header_size + _PROBE_PAGES * size), size)
    return all(_held(reader, start, size).rows for start in starts)


def _held(reader: Reader, base: int, page_size: int) -> Held:
    """The rows of a page: as far as lengths lead, and in a raw page as far as there are columns."""
    at = count = 0
    end = min(page_size, reader.size - base)
    raw = False
    while at + 8 <= end:
        length = _length(reader, base + at)
        if not length or at + 8 + length > end:
            break
        if not count or raw:
            is_raw = length < MAX_PAGE and _is_raw(reader.view(base + at + 8, length))
            if count and not is_raw:
                break
            raw = is_raw
        at += 8 + length
        count += 1
    return Held(base, raw, count, at)


def _is_raw(data: memoryview) -> bool:
    if not data or (data[0] & 0xF0 != 0x80 and data[0] not in (0xDE, 0xDF)):
        return False
    try:
        return bool(_decode(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _without_moved(reader: Reader, pages: list[Held]) -> tuple[list[Held], int]:
    """The pages without rows that stand twice, and how many rows of the raw pages can be relied on.

    A raw page ends where a blob page does. When a row group outgrows its raw page, MindSpore writes all of it into a
    new one and leaves the old rows where they are: then it seems to end elsewhere, and the next page begins alike.
    """
    ends = set(accumulate((page.rows for page in pages if not page.raw), initial=0))
    raws = [number for number, page in enumerate(pages) if page.raw]
    result = list(pages)
    done = 0
    for number, following in pairwise(raws):
        page = pages[number]
        if done + page.rows not in ends:
            old, new = (list(_parts(reader, [pages[index]])) for index in (number, following))
            fits = (n for n in range(1, len(old) + 1) if done + len(old) - n in ends and old[-n:] == new[:n])
            moved = next(fits, 0)
            if not moved:
                return result, done
            end = page.end - sum(8 + len(part) for part in old[-moved:])
            result[number] = Held(page.base, True, len(old) - moved, end)
        done += result[number].rows
    return result, done + (pages[raws[-1]].rows if raws else 0)


def _parts(reader: Reader, pages: Sequence[Held]) -> Iterator[bytes]:
    for page in pages:
        at = page.base
        for _ in range(page.rows):
            length = _length(reader, at)
            yield bytes(reader.view(at + 8, length))
            at += 8 + length


def _finished(path: str) -> Iterator[str]:
    """Other files of the folder that may be finished MindRecords, those with an index."""
    folder = os.path.dirname(path) or "."
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.name.endswith(".db"))
    for name in names[:_SIBLINGS]:
        data = os.path.join(folder, name.removesuffix(".db"))
        if os.path.isfile(data) and not os.path.samefile(data, path):
            yield data


def _known(path: str, parts: Sequence[tuple[bytes, bytes]]) -> Header | None:
    """The header of a finished file, if the rows have its columns."""
    try:
        with reading.opened(path) as reader:
            header = read_header(reader)
        decode, check = raw_decoder(header), blob_checker(header)
        for raw, blob in parts:
            decode(memoryview(raw))
            if check is not None:
                check(memoryview(blob))
    except (OSError, Broken, BadRow):
        return None
    return header


def _assumed(parts: Sequence[tuple[bytes, bytes]]) -> Schema:
    """Columns that the rows can have: those of the raw part by their names, the blob's as bytes."""
    values = _decode(parts[0][0])
    scalar = {} if values == {"id": 0} else {name: _type(name, parts) for name in sorted(values)}
    blobs = [blob for _, blob in parts]
    fields = {} if set(blobs) == {b"\0\0\0\0"} else dict.fromkeys(_blob_names(blobs, scalar), Column("bytes"))
    return Schema({**fields, **scalar}, tuple(fields), "recovered")


def _type(name: str, parts: Sequence[tuple[bytes, bytes]]) -> Column:
    kinds = {type(_decode(raw).get(name)) for raw, _ in parts}
    best: Any = next((kind for kind in (str, float, int) if kind in kinds), int)
    return Column(_TYPES[best])  # type: ignore[arg-type]


def _blob_names(blobs: Sequence[bytes], taken: Mapping[str, Column]) -> list[str]:
    counts = {_count(blob) for blob in blobs}
    count = counts.pop() if len(counts) == 1 else 0
    names = [f"data_{number}" for number in range(count)] if count > 1 else ["data"]
    return [name if name not in taken else f"blob_{name}" for name in names]


def _count(blob: bytes) -> int:
    """How many columns with big-endian lengths fill a blob exactly; 0 if that is not what it holds."""
    at = count = 0
    while at + 8 <= len(blob):
        at += 8 + struct.unpack_from(">Q", blob, at)[0]
        count += 1
    return count if at == len(blob) else 0


def _told(schema: Schema) -> str:
    return ", ".join(f"{name} {column.type}" for name, column in schema.schema.items())
