"""Reading the index of a shard, sealed or still growing, and seeing that its rows can be true."""

from __future__ import annotations

import os
from typing import Any, Tuple

import numpy as np

from .layout import (
    GRID,
    INDEX_HEADER,
    MAX_ROWS,
    RECORD_HEADER,
    ROW,
    IndexHeader,
    InvalidCacheFile,
    hash_function,
    unpack_index_header,
)

_LIMIT = INDEX_HEADER + 2 * MAX_ROWS * ROW.itemsize
"""Bytes that are read at most; twice as long as any index is."""


def read_sealed(path: str, number: int, shard_bytes: int) -> "Tuple[IndexHeader, np.ndarray[Any, Any]]":
    """The header and the rows of a sealed index.

    Args:
        number: of the shard that it should belong to.
        shard_bytes: how long that shard really is.

    Raises:
        InvalidCacheFile: ``index-missing``, ``index-damaged``, ``index-foreign``, ``truncated`` (the shard is shorter
            than its index says), ``corrupted`` (it is longer).
        MissingHash: see :func:`mswb.inside.store.layout.hash_function`.
    """
    header, data = read_raw(path)
    if header.is_open:
        raise InvalidCacheFile(path, 0, "the index was never sealed", "index-damaged")
    if len(data) != header.rows * ROW.itemsize:
        reason = "the index has %d bytes of rows, and should have %d" % (len(data), header.rows * ROW.itemsize)
        raise InvalidCacheFile(path, INDEX_HEADER + len(data), reason, "index-damaged")
    if hash_function(header.hash_name, path)(data) != header.rows_hash:
        raise InvalidCacheFile(path, INDEX_HEADER, "the hash of the index's rows is wrong", "index-damaged")
    if header.number != number:
        reason = "it is the index of shard %d, not of %d" % (header.number, number)
        raise InvalidCacheFile(path, 12, reason, "index-foreign")
    rows = np.frombuffer(data, dtype=ROW)
    shard = path[: -len("idx")] + "shard"
    if shard_bytes < header.shard_bytes:
        raise InvalidCacheFile(
            shard, shard_bytes, "%d bytes are missing" % (header.shard_bytes - shard_bytes), "truncated"
        )
    if shard_bytes > header.shard_bytes:
        reason = "%d bytes follow its last record" % (shard_bytes - header.shard_bytes)
        raise InvalidCacheFile(shard, header.shard_bytes, reason)
    good = plausible(rows, header.data_start, shard_bytes)
    if good != len(rows):
        where = INDEX_HEADER + good * ROW.itemsize
        raise InvalidCacheFile(path, where, "row %d names a place outside the shard" % good, "index-damaged")
    return header, rows


def read_raw(path: str) -> Tuple[IndexHeader, bytes]:
    """The header and the bytes of the rows, as they are.

    Raises:
        InvalidCacheFile: ``index-missing``, or its header is damaged or of another version.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise InvalidCacheFile(path, 0, "the index is missing", "index-missing") from None
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(_LIMIT + 1)
    if len(data) > _LIMIT:
        raise InvalidCacheFile(path, _LIMIT, "it is longer than any index", "index-damaged")
    return unpack_index_header(path, data), data[INDEX_HEADER:]


def read_open(path: str, data_start: int, shard_bytes: int) -> "np.ndarray[Any, Any]":
    """The rows that the writer of an unfinished shard has acknowledged so far; those that are torn are left out.

    Raises:
        InvalidCacheFile: its header is damaged, or it is missing.
    """
    _, data = read_raw(path)
    rows = np.frombuffer(data[: len(data) - len(data) % ROW.itemsize], dtype=ROW)
    return rows[: plausible(rows, data_start, shard_bytes)]


def plausible(rows: "np.ndarray[Any, Any]", data_start: int, shard_bytes: int) -> int:
    """How many rows from the first on name places on the grid and inside the shard."""
    offset, length = rows["offset"], rows["length"]
    inside = (offset >= data_start) & (offset % GRID == 0) & (offset <= shard_bytes) & (length <= shard_bytes)
    # Both are at most the file's size by now, so the sum can't wrap; where they are not it doesn't matter.
    inside &= offset + length + RECORD_HEADER <= shard_bytes
    wrong = np.flatnonzero(~inside)
    return int(wrong[0]) if len(wrong) else len(rows)
