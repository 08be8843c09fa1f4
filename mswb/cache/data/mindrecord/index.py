"""The index of a MindRecord: an SQLite file with one row of places for each row of data, and the index fields' values.

MindSpore cuts rows out by these places alone, and where only index fields are asked for it takes their very values
from here and not from the data [measured]. So both are compared. Hostile files are read here: read-only, without what
a schema may run, and in a process of its own (:mod:`mswb.cache.worker`).
"""

from __future__ import annotations

import os
import sqlite3
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from mswb.cache.data.mindrecord.header import Header

MAGIC = b"SQLite format 3\0"
PLACES = (
    "ROW_ID",
    "PAGE_ID_RAW",
    "PAGE_OFFSET_RAW",
    "PAGE_OFFSET_RAW_END",
    "ROW_GROUP_ID",
    "PAGE_ID_BLOB",
    "PAGE_OFFSET_BLOB",
    "PAGE_OFFSET_BLOB_END",
)
"""The columns that every index has; offsets count from the start of the page and include the eight bytes of length."""
SQL_TYPES = {"int32": "INTEGER", "int64": "INTEGER", "float32": "REAL", "float64": "REAL", "string": "TEXT"}
MAX_VALUE = 256 << 20
"""Bytes of one value: no row of a MindRecord is longer."""
_LIMIT_LENGTH = 0
"""SQLITE_LIMIT_LENGTH."""
_BATCH = 512
_OPCODES = 20_000


ERRORS = (sqlite3.Error, OverflowError, UnicodeDecodeError)
"""What reading a damaged index raises; the last where SQLite's own words quote bytes of the file."""


class BadIndex(Exception):
    """The index can't be used. ``code`` is index-damaged, index-foreign or renamed; ``offset`` a place in the file."""

    def __init__(self, code: str, reason: str, offset: int | None = None) -> None:
        super().__init__(reason)
        self.code, self.reason, self.offset = code, reason, offset


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One row of the index. ``values`` are those of the index fields, in the order of the header."""

    row: int
    raw: tuple[int, int, int]
    group: int
    blob: tuple[int, int, int]
    values: tuple[Any, ...]


def columns_of(header: Header) -> list[tuple[str, str]]:
    """Names and SQL types of the columns of INDEXES for a data file."""
    columns = [(name, "INT") for name in PLACES]
    for number, field in enumerate(header.indexed):
        kind = SQL_TYPES[header.columns[field.index_field].type]
        columns += [(f"INC_{number}", "INT"), (f"{field.index_field}_{field.schema_id}", kind)]
    return columns


def stored(value: Any) -> Any:
    """A value as the index holds it: MindSpore hands texts to SQLite as C strings, which end at a NUL."""
    return value.split("\0", 1)[0] if isinstance(value, str) else value


@contextmanager
def opened(path: str, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Index]:
    """The index in a file.

    Raises:
        BadIndex: it is none, or damaged.
        OSError: it can't be read.
    """
    _look(path)
    connection = sqlite3.connect(f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode=ro&immutable=1", uri=True)
    with closing(connection):
        connection.set_progress_handler(cancelled, _OPCODES)
        limit = getattr(connection, "setlimit", None)  # since Python 3.11
        if limit is not None:
            limit(_LIMIT_LENGTH, MAX_VALUE)
        # A flipped byte in a text is a value that differs, and not an error of the whole file.
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        try:
            for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
                connection.execute(f"PRAGMA {pragma}")
            yield Index(connection)
        except ERRORS as problem:
            raise BadIndex("index-damaged", f"SQLite says: {problem}") from None


class Index:
    """An open index. Its methods raise :data:`ERRORS`, which :func:`opened` turns into BadIndex."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def names(self) -> list[str]:
        """The data files that it says it belongs to: one.

        Raises:
            BadIndex: it has not the tables of an index.
        """
        sources = dict(self._connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall())
        for table in ("SHARD_NAME", "INDEXES"):
            if not str(sources.get(table)).upper().startswith("CREATE TABLE"):
                raise BadIndex("index-foreign", f"it is an SQLite file without a table {table}")
        return [str(name) for (name,) in self._connection.execute("SELECT NAME FROM SHARD_NAME LIMIT 2000")]

    def columns(self) -> list[str]:
        """The columns of INDEXES."""
        return [row[1] for row in self._connection.execute("PRAGMA table_info(INDEXES)").fetchmany(4000)]

    def problem(self) -> str:
        """What SQLite finds wrong: in the file's structure, or between a table and its keys; empty if nothing."""
        (answer,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        return "" if answer == "ok" else str(answer).replace("\n", " ")

    def count(self) -> int:
        """How many rows INDEXES has."""
        (count,) = self._connection.execute("SELECT COUNT(*) FROM INDEXES").fetchone()
        return int(count)

    def select(self, header: Header, first: int, count: int) -> sqlite3.Cursor:
        """The rows with numbers from ``first`` on, in their order: eight places, then the values of the fields."""
        fields = "".join(f', "{field.index_field}_{field.schema_id}"' for field in header.indexed)
        query = f"SELECT {', '.join(PLACES)}{fields} FROM INDEXES WHERE ROW_ID >= ? AND ROW_ID < ? ORDER BY ROW_ID"
        return self._connection.execute(query, (first, first + count))

    def take(self, header: Header, first: int, count: int) -> list[IndexRow | None]:
        """The rows ``first`` and on; None for one that is not there, or whose places are no numbers."""
        found: list[IndexRow | None] = [None] * count
        cursor = self.select(header, first, count)
        while batch := cursor.fetchmany(_BATCH):
            for row in batch:
                # In a damaged file the sorted keys may lead to rows of other numbers.
                if all(type(place) is int for place in row[:8]) and 0 <= row[0] - first < count:
                    found[row[0] - first] = IndexRow(row[0], row[1:4], row[4], row[5:8], row[8:])
        return found


_SIDES = ("-journal", "-wal", "-shm")
"""What the names of SQLite's own files beside a database end in."""
_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
"""How a rollback journal begins, unless its transaction has ended [SQLite's file format, section 3]."""


def sides(path: str) -> list[str]:
    """SQLite's own files that lie beside an index."""
    return [path + ending for ending in _SIDES if os.path.lexists(path + ending)]


def unfinished(path: str) -> tuple[str, str] | None:
    """The file beside an index that changes it when it is opened to be written, and in words what it is.

    MindSpore opens it so: it then fails, or reads other rows than the file itself has. Nothing but a regular file is
    opened here.
    """
    for ending in _SIDES[:2]:
        side = path + ending
        try:
            state = os.lstat(side)
        except OSError:
            continue
        what = f"{os.path.basename(side)} ({state.st_size} bytes)"
        if not stat.S_ISREG(state.st_mode):
            return side, f"{os.path.basename(side)} is no file, and SQLite opens it with the index"
        if ending == "-wal" and state.st_size:
            return side, f"{what} holds changes of the index that were never written into it"
        if ending == "-journal" and _begins(side) == _JOURNAL:
            return side, f"{what} is of a change that was broken off: SQLite takes it back when the index is opened"
    return None


def _begins(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 8)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _look(path: str) -> None:
    """What can be said before SQLite reads it.

    Raises:
        BadIndex: it is empty, no SQLite file, or cut.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise BadIndex("index-damaged", "it is no regular file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(100)
    if not size:
        raise BadIndex("index-damaged", "it has no bytes at all", 0)
    if not start.startswith(MAGIC) or len(start) < 100:
        raise BadIndex("index-damaged", "it is no SQLite file", 0)
    (page,), (pages,) = struct.unpack_from(">H", start, 16), struct.unpack_from(">I", start, 28)
    page = 65536 if page == 1 else page
    if pages * page > size:
        raise BadIndex("index-damaged", f"it is cut: {size} bytes of {pages * page}", size)
