"""Our own writer of the format: a data file and its index, written beside their place and renamed when both are whole.

The layout is MindSpore's: a blob page for each row group, raw pages that hold the other columns of one or more groups.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import msgspec

from mswb.cache.data.mindrecord.header import Header, Page, RowGroup, encode
from mswb.cache.data.mindrecord.index import PLACES, columns_of, stored


class DataWriter:
    """Writes rows into an open file, page by page; the raw page that is being filled is held in memory.

    Args:
        header: its columns, sizes and index fields are used, its pages not.
    """

    def __init__(self, descriptor: int, header: Header) -> None:
        self._descriptor = descriptor
        self._header = header
        self._pages: list[Page] = []
        self._blob_bytes = self._first = self._row = self._blob_id = 0
        self._raw = bytearray()
        self._groups: list[RowGroup] = []
        self._group_raw = bytearray()
        self._next_page = self._blob_pages = self._raw_pages = 0

    @property
    def rows(self) -> int:
        """How many rows were written."""
        return self._row

    def add(self, raw: bytes, blob: bytes) -> None:
        """One row: its parts without their lengths.

        Raises:
            ValueError: a part is longer than a page.
            OSError: the disk is full, or fails.
        """
        size = self._header.page_size
        if 8 + max(len(raw), len(blob)) > size:
            raise ValueError(f"row {self._row} is longer than a page of {size} bytes")
        if self._blob_bytes + 8 + len(blob) > size or len(self._group_raw) + 8 + len(raw) > size:
            self._end_group()
        if not self._blob_bytes:
            self._blob_id = self._next_page
            self._next_page += 1
        place = self._header.base(self._blob_id) + self._blob_bytes
        _write_at(self._descriptor, struct.pack("<Q", len(blob)) + blob, place)
        self._blob_bytes += 8 + len(blob)
        self._group_raw += struct.pack("<Q", len(raw)) + raw
        self._row += 1

    def finish(self) -> Header:
        """Write what is left, and the header; returns it.

        Raises:
            ValueError: there are more pages than its header has room for.
            OSError: the disk is full, or fails.
        """
        self._end_group()
        self._end_raw_page()
        pages = tuple(sorted(self._pages, key=lambda page: page.page_id))
        header = msgspec.structs.replace(self._header, page=pages)
        _write_at(self._descriptor, encode(header), 0)
        os.fsync(self._descriptor)
        return header

    def _end_group(self) -> None:
        if not self._blob_bytes:
            return
        if len(self._raw) + len(self._group_raw) > self._header.page_size:
            self._end_raw_page()
        number = self._blob_pages
        self._blob_pages += 1
        self._groups.append(RowGroup(number, len(self._raw)))
        self._raw += self._group_raw
        self._pages.append(
            Page(
                self._blob_id,
                "BLOB_DATA",
                number,
                self._blob_bytes,
                self._first,
                self._row,
                self._header.shard_id,
                (RowGroup(0, 0),),
            )
        )
        self._first, self._blob_bytes = self._row, 0
        self._group_raw = bytearray()

    def _end_raw_page(self) -> None:
        if not self._groups:
            return
        page = Page(
            self._next_page,
            "RAW_DATA",
            self._raw_pages,
            len(self._raw),
            0,
            0,
            self._header.shard_id,
            tuple(self._groups),
        )
        _write_at(self._descriptor, bytes(self._raw), self._header.base(self._next_page))
        self._next_page += 1
        self._raw_pages += 1
        self._pages.append(page)
        self._raw, self._groups = bytearray(), []


def write_index(path: str, name: str, header: Header, rows: Iterator[tuple[Sequence[int], Sequence[Any]]]) -> int:
    """Write an index into an empty file; returns the number of its rows.

    Args:
        name: of the data file, as SHARD_NAME holds it.
        rows: the eight places of each row, and the values of the index fields.

    Raises:
        sqlite3.Error, OSError: the disk is full, or fails.
    """
    columns = columns_of(header)
    places = [f"{column} INT NOT NULL" for column in PLACES]
    fields = [f"{column} {kind}" for column, kind in columns[len(PLACES) :]]
    key = ", ".join(["ROW_ID", *(column for column, _ in columns[len(PLACES) :: 2])])
    insert = f"INSERT INTO INDEXES VALUES ({', '.join('?' * len(columns))})"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # A file that is renamed only when it is whole needs no journal.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        connection.execute(f"CREATE TABLE INDEXES({', '.join([*places, *fields])}, PRIMARY KEY({key}))")
        connection.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
        connection.execute("INSERT INTO SHARD_NAME VALUES (?)", (name,))
        count = connection.executemany(insert, ((*place, *_with_zeros(values)) for place, values in rows)).rowcount
        connection.execute("COMMIT")
    _sync(path)
    return count


@contextmanager
def beside(path: str) -> Iterator[str]:
    """A new empty file in the folder of ``path``, to be renamed; removed if it is still there at the end.

    Raises:
        OSError: there is no room, or no permission.
    """
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".", suffix=".mswb-part")
    os.close(descriptor)
    try:
        yield temporary
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)


def _with_zeros(values: Sequence[Any]) -> Iterator[Any]:
    """Before each index field stands an increment, which is 0 in every file seen."""
    for value in values:
        yield 0
        yield stored(value)


def _write_at(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(descriptor, view, offset)
        view, offset = view[done:], offset + done


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
