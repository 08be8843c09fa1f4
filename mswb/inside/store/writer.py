"""Writing a cache: records are appended to a shard that is synced in groups, and sealed when it is full or done.

The order on the disk makes a record safe before it is acknowledged: data, fdatasync, then its row in the open index.
What a killed writer leaves is a shard of whole records with a torn tail, which the next writer cuts. A full disk takes
the shard back to the last acknowledged record.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from .columns import Codec, Column, Value
from .layout import (
    INDEX_HEADER,
    MAX_ROWS,
    OTHER_KEY,
    PAGE,
    RECORD_HEADER,
    ROW,
    IndexHeader,
    InvalidCacheFile,
    ShardHeader,
    hash_function,
    index_path,
    pack_index_header,
    pack_record_header,
    pack_shard_header,
    preferred_hash,
    record_size,
    seed_of,
    shard_path,
    shards_in,
    unpack_shard_header,
)
from .scan import Seen, scan

BUFFER = 1 << 19
"""Bytes that are gathered before they are written."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class WriteFailed(OSError):
    """The disk is full or fails. Everything that was acknowledged is safe, and nothing more can be written.

    Attributes:
        acknowledged: records that this writer has put on the disk.
        lost: the ids of those that were appended since and are not on the disk.
    """

    def __init__(self, problem: OSError, path: str, acknowledged: int, lost: Tuple[int, ...]) -> None:
        why = "the disk is full" if problem.errno in _FULL else "writing failed"
        text = "%s (%s): %d records are safe, %d appended after them were dropped" % (
            why,
            problem.strerror or problem,
            acknowledged,
            len(lost),
        )
        super().__init__(problem.errno or errno.EIO, text, path)
        self.acknowledged, self.lost = acknowledged, lost


class StoreWriter:
    """The one writer of a cache; who else may write is the caller's to settle (a lease). Not for several threads.

    Args:
        folder: made when it is missing.
        schema: the columns.
        key: the cache's key, which every shard repeats.
        sync_records, sync_bytes: so many records or bytes are synced together.
        shard_bytes: a shard is sealed when it is longer, or has :data:`MAX_ROWS` records.
        hash_name: ``xxh3_64`` or ``crc32``; the better one that is installed by default.

    Raises:
        InvalidCacheFile: there is an unfinished shard whose header is damaged or of another schema or key.
        ValueError: the schema can't be stored.
        OSError: the folder can't be written.
    """

    def __init__(
        self,
        folder: str,
        schema: Sequence[Column],
        key: str,
        *,
        sync_records: int = 4096,
        sync_bytes: int = 64 << 20,
        shard_bytes: int = 1 << 30,
        hash_name: str = "",
    ) -> None:
        self.folder = os.path.abspath(folder)
        self.key = key
        self.acknowledged = 0
        """Records of this writer that are on the disk."""
        self.recovered: Tuple[Seen, ...] = ()
        """What was found damaged in the shard that is continued; the last may be the torn tail that was cut."""
        self._codec = Codec(schema)
        self._hash_name = hash_name or preferred_hash()
        self._digest = hash_function(self._hash_name)
        self._sync_records, self._sync_bytes, self._shard_bytes = sync_records, sync_bytes, shard_bytes
        self._buffer = bytearray(BUFFER)
        self._memory = memoryview(self._buffer)
        self._fill = self._written = self._synced = self._start = self._seed = self._number = self._count = 0
        self._data = self._index = -1
        self._failed: Optional[WriteFailed] = None
        self._rows: List[Tuple[int, int, int, int]] = []
        os.makedirs(self.folder, exist_ok=True)
        self._begin()

    def __enter__(self) -> "StoreWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, sample_id: int, values: Sequence[Value]) -> None:
        """Add one sample; it is acknowledged by the next sync, which comes by itself every ``sync_records``.

        Raises:
            ValueError: a value is not what its column says, or the id is no number from 0 to 2**64 - 1.
            WriteFailed: the disk is full or fails; also on every later call.
        """
        if self._failed is not None:
            raise self._failed
        if not 0 <= sample_id < 1 << 64:
            raise ValueError("a sample id is a number from 0 to 2**64 - 1, not %r" % (sample_id,))
        if self._data < 0:
            self._begin()
        pieces, length = self._codec.prepared(values)
        size = record_size(length)
        if self._fill + size > len(self._buffer):
            self._flush()
            if size > len(self._buffer):
                self._memory.release()
                self._buffer = bytearray(size)
                self._memory = memoryview(self._buffer)
        start, offset = self._fill, self._written + self._fill
        digest = self._fill_in(start + RECORD_HEADER, start + size, pieces, length)
        self._memory[start : start + RECORD_HEADER] = pack_record_header(sample_id, length, digest, self._seed)
        self._fill += size
        self._rows.append((offset, length, sample_id, digest))
        end = offset + size
        is_due = len(self._rows) >= self._sync_records or end - self._synced >= self._sync_bytes
        if is_due or end >= self._shard_bytes or self._count + len(self._rows) >= MAX_ROWS:
            self.sync()
            if self._synced >= self._shard_bytes or self._count >= MAX_ROWS:
                self.seal()

    def sync(self) -> int:
        """Put everything on the disk; returns how many records of this writer are there now.

        Raises:
            WriteFailed: see :meth:`append`.
        """
        if self._failed is not None:
            raise self._failed
        if self._rows:
            self._flush()
            rows = np.array(self._rows, dtype=ROW)
            try:
                os.fdatasync(self._data)
                _write(self._index, rows.tobytes(), INDEX_HEADER + ROW.itemsize * self._count)
            except OSError as problem:
                raise self._fail(problem) from None
            self._count += len(self._rows)
            self.acknowledged += len(self._rows)
            self._synced = self._written
            self._rows.clear()
        return self.acknowledged

    def seal(self) -> None:
        """Sync and close the shard for good: read-only, with its index. The next sample begins another one."""
        self.sync()
        if self._data < 0:
            return
        part, index = (path(self.folder, self._number, part=True) for path in (shard_path, index_path))
        if not self._count:
            self._close_files()
            os.unlink(part)
            os.unlink(index)
            return
        try:
            seal_index(self._index, self._number, self._hash_name, self._synced, self._start)
            for descriptor in (self._index, self._data):
                os.fchmod(descriptor, os.fstat(descriptor).st_mode & 0o444)
            os.fsync(self._data)
            # The index first: a shard under its final name always has one.
            os.rename(index, index_path(self.folder, self._number))
            os.rename(part, shard_path(self.folder, self._number))
            sync_folder(self.folder)
        except OSError as problem:
            raise self._fail(problem) from None
        self._close_files()

    def close(self) -> None:
        """Sync what is there, unless writing has failed, and let go; the shard stays open for the next writer."""
        try:
            if self._failed is None and self._data >= 0:
                self.sync()
        finally:
            self._close_files()

    def _fill_in(self, start: int, stop: int, pieces: List[Tuple[int, Any]], length: int) -> int:
        """Copy a payload into the buffer, since the caller may change its arrays afterwards; gives the hash."""
        end, memory = start, self._memory
        for at, content in pieces:
            begin = start + at
            if begin > end:
                memory[end:begin] = bytes(begin - end)
            if isinstance(content, bytes):
                end = begin + len(content)
                memory[begin:end] = content
            else:
                np.ndarray(content.shape, content.dtype, self._buffer, begin)[...] = content
                end = begin + content.nbytes
        if stop > end:
            memory[end:stop] = bytes(stop - end)
        return self._digest(memory[start : start + length])

    def _flush(self) -> None:
        if not self._fill:
            return
        try:
            _write(self._data, self._memory[: self._fill], self._written)
        except OSError as problem:
            raise self._fail(problem) from None
        _begin_writeback(self._data, self._written, self._fill)
        self._written += self._fill
        self._fill = 0

    def _fail(self, problem: OSError) -> WriteFailed:
        """Take the shard back to what was acknowledged; the space that this frees lets others go on."""
        lost = tuple(row[2] for row in self._rows)
        self._failed = WriteFailed(problem, shard_path(self.folder, self._number, part=True), self.acknowledged, lost)
        self._rows.clear()
        self._fill = 0
        for descriptor, length in (
            (self._data, self._synced),
            (self._index, INDEX_HEADER + ROW.itemsize * self._count),
        ):
            try:
                os.ftruncate(descriptor, length)
                os.fdatasync(descriptor)
            except OSError:
                pass  # the next writer cuts it
        return self._failed

    def _begin(self) -> None:
        """Continue the unfinished shard, or begin the next; unfinished ones before it are sealed."""
        known = shards_in(self.folder)
        unfinished = [number for number, is_part in known.items() if is_part]
        for number in unfinished[:-1]:
            self._open(number)
            self.seal()
        self._open(unfinished[-1] if unfinished else max(known, default=-1) + 1)

    def _open(self, number: int) -> None:
        path = shard_path(self.folder, number, part=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._number, self._count = number, 0
        self._failed = None
        try:
            self._data = os.open(path, flags, 0o666)
            self._index = os.open(index_path(self.folder, number, part=True), flags, 0o666)
            kept = self._recover(path)
            rows = np.array(kept, dtype=ROW)
            start = pack_index_header(IndexHeader(number, self._hash_name, data_start=self._start))
            os.ftruncate(self._index, 0)
            _write(self._index, start + rows.tobytes(), 0)
            sync_folder(self.folder)
        except OSError as problem:
            self._close_files()
            raise WriteFailed(problem, path, self.acknowledged, ()) from None
        except BaseException:
            self._close_files()
            raise
        self._count = len(kept)

    def _recover(self, path: str) -> List[Tuple[int, int, int, int]]:
        """The rows of the whole records of the open shard, its tail cut; writes the header of a new one."""
        size = os.fstat(self._data).st_size
        header = pack_shard_header(self._codec.columns, self.key, self._hash_name, self._number)
        found = self._found_header(path, size)
        if found is None:
            os.ftruncate(self._data, 0)
            _write(self._data, header, 0)
            os.fdatasync(self._data)
            self._place(
                ShardHeader(
                    self._codec.columns,
                    self.key,
                    self._hash_name,
                    self._number,
                    len(header),
                    seed_of(self.key, self._number),
                )
            )
            self._written = self._synced = self._start
            return []
        self._place(found)
        seen = list(scan(self._data, found, self._start, size))
        while seen and not seen[-1].intact:
            size = seen[-1].offset
            self.recovered = (*self.recovered, seen.pop())
        self.recovered = (*(one for one in seen if one.reason), *self.recovered)
        os.ftruncate(self._data, size)
        os.fdatasync(self._data)
        self._written = self._synced = size
        return [(one.offset, one.length, one.sample_id, one.digest) for one in seen if one.intact]

    def _found_header(self, path: str, size: int) -> Optional[ShardHeader]:
        """The header that is there; None where the writer was killed before its first record."""
        head = os.pread(self._data, PAGE, 0)
        try:
            found = unpack_shard_header(path, head, lambda length: os.pread(self._data, length, 0))
        except InvalidCacheFile:
            if size <= PAGE:
                return None
            raise
        if found.key != self.key:
            raise InvalidCacheFile(path, 24, OTHER_KEY)
        if found.columns != self._codec.columns:
            raise InvalidCacheFile(path, 24, "it is of another schema", "schema-changed")
        return found

    def _place(self, header: ShardHeader) -> None:
        self._seed, self._start = header.seed, header.data_start
        self._hash_name = header.hash_name
        self._digest = hash_function(header.hash_name)

    def _close_files(self) -> None:
        for descriptor in (self._data, self._index):
            if descriptor >= 0:
                os.close(descriptor)
        self._data = self._index = -1


def seal_index(descriptor: int, number: int, hash_name: str, shard_bytes: int, data_start: int) -> None:
    """Turn an open index into a sealed one: counts and the hash of its rows go into its header, and to the disk."""
    size = os.fstat(descriptor).st_size - INDEX_HEADER
    rows = os.pread(descriptor, size, INDEX_HEADER)
    digest = hash_function(hash_name)(rows)
    header = IndexHeader(number, hash_name, size // ROW.itemsize, shard_bytes, digest, data_start, is_open=False)
    _write(descriptor, pack_index_header(header), 0)
    os.fsync(descriptor)


def sync_folder(folder: str) -> None:
    """Put the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # some network file systems can't sync a folder
            raise
    finally:
        os.close(descriptor)


def _begin_writeback(descriptor: int, offset: int, length: int) -> None:
    """Let the disk begin on what was just written, so that the next sync has less to wait for; only a hint."""
    if _sync_file_range is not None:
        _sync_file_range(descriptor, offset, length, _WRITE)


def _hint() -> Any:
    try:
        function = ctypes.CDLL(None).sync_file_range
    except (AttributeError, OSError):
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    return function


_sync_file_range = _hint()
_WRITE = 2
"""SYNC_FILE_RANGE_WRITE of sync_file_range(2): begin, and do not wait."""


def _write(descriptor: int, data: Any, offset: int) -> None:
    """All of ``data`` at ``offset``."""
    left = memoryview(data)
    while left:
        done = os.pwrite(descriptor, left, offset)
        left, offset = left[done:], offset + done
