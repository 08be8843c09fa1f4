"""Reading samples out of a cache by their id: views into memory-mapped shards, or bytes where mapping is not safe.

Any number of processes may read while one writes: :meth:`StoreReader.refresh` sees what has been acknowledged since. A
mapping ends where the acknowledged records do, so a torn tail that is cut later was never mapped.
"""

from __future__ import annotations

import mmap as memory_map
import os
import threading
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from .columns import Codec, Column
from .index import read_open, read_sealed
from .layout import (
    OTHER_KEY,
    PAGE,
    RECORD_HEADER,
    RECORD_MAGIC,
    ROW,
    InvalidCacheFile,
    ShardHeader,
    hash_function,
    index_path,
    record_fields,
    record_size,
    shard_path,
    shards_in,
    unpack_shard_header,
    up,
)
from .manifest import read_manifest
from .scan import scan

_FOLIO = 2 << 20
_SPARSE = 4
"""Ids up to so many times the number of samples are looked up in an array, others in a dictionary."""


class StoreReader:
    """The samples of one cache folder.

    Args:
        verify: compare each record with its checksum when it is first read.
        mmap: False reads with pread into fresh memory: for network file systems, where a file that is replaced by
            another host would end the process (SIGBUS).

    Raises:
        InvalidCacheFile: a shard or an index is damaged; one damaged record shows only when it is read.
        FileNotFoundError: there is no such folder. One without shards is an empty cache.
    """

    def __init__(self, folder: str, *, verify: bool = True, mmap: bool = True) -> None:
        self.folder = os.path.abspath(folder)
        self.verify, self.mmap = verify, mmap
        self.columns: Tuple[Column, ...] = ()
        self.key = _key_in_manifest(self.folder)
        self._lock = threading.Lock()
        self._shards: List[_Shard] = []
        self._by_number: Dict[int, _Shard] = {}
        self._codec: Optional[Codec] = None
        self._rows: "np.ndarray[Any, Any]" = np.zeros(0, dtype=ROW)
        self._places: "np.ndarray[Any, Any]" = np.zeros(0, dtype=np.uint32)
        self._checked = bytearray()
        self._count = 0
        self._dense: Any = np.zeros(0, dtype=np.int64).data
        self._sparse: Optional[Dict[int, int]] = None
        self._distinct = 0
        self._share()
        self.refresh()

    def __reduce__(self) -> Tuple[Any, ...]:
        """For workers that are spawned: they open the folder anew."""
        return _reopen, (self.folder, self.verify, self.mmap)

    def __len__(self) -> int:
        return self._distinct

    def __contains__(self, sample_id: int) -> bool:
        try:
            self._row(sample_id)
        except KeyError:
            return False
        return True

    def __enter__(self) -> "StoreReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_sealed(self) -> bool:
        """Whether nothing more can come: there are shards, and every one is sealed."""
        return bool(self._shards) and all(shard.sealed for shard in self._shards)

    @property
    def verified(self) -> int:
        """Records that this reader has compared with their checksums."""
        return sum(self._checked)

    def ids(self) -> "np.ndarray[Any, Any]":
        """The ids of all samples, ascending."""
        if self._sparse is not None:
            return np.array(sorted(self._sparse), dtype=np.uint64)
        return np.flatnonzero(np.asarray(self._dense) >= 0).astype(np.uint64)

    def get(self, sample_id: int) -> Tuple[Any, ...]:
        """The values of a sample in the order of the columns: read-only views for arrays, else ``bytes`` and ``str``.

        Raises:
            KeyError: there is no such sample, as far as the last :meth:`refresh` saw.
            InvalidCacheFile: its record is damaged; the others can still be read.
        """
        row = self._row(sample_id)
        shard = self._shards[self._where[row]]
        offset, length = self._offsets[row], self._lengths[row]
        if not self.mmap:
            return self._read(shard, row, offset, length)
        start = offset + RECORD_HEADER
        both = shard.map
        if both is None or len(both[1]) < start + length:
            both = shard.mapped(start + length)
        buffer, view = both
        if self.verify and not self._checked[row]:
            self._verify(shard, row, view, offset)
        try:
            return shard.codec.views(buffer, start, length)
        except ValueError as problem:
            raise InvalidCacheFile(shard.path, offset, str(problem)) from None

    def drop(self, sample_id: int) -> None:
        """Ask the kernel to forget the pages of a sample, and forget that it was verified: the next read is a cold one.

        Raises:
            KeyError: there is no such sample.
        """
        row = self._row(sample_id)
        shard = self._shards[self._where[row]]
        # The kernel keeps files in pieces of up to 2 MiB and forgets only whole ones, the neighbours' with it.
        start, end = self._offsets[row], self._offsets[row] + record_size(self._lengths[row])
        first = start // _FOLIO * _FOLIO
        os.posix_fadvise(shard.descriptor(), first, up(end - first, _FOLIO), os.POSIX_FADV_DONTNEED)
        self._checked[row] = 0

    def refresh(self) -> int:
        """See what was written since; returns the number of samples now.

        Raises:
            InvalidCacheFile, OSError: as the constructor.
        """
        with self._lock:
            for number, is_part in shards_in(self.folder).items():
                shard = self._by_number.get(number)
                if shard is None:
                    try:
                        shard = _Shard(self.folder, number)
                    except InvalidCacheFile as problem:
                        if is_part and problem.status in ("empty", "truncated"):
                            continue  # its writer has not yet written the header, or never came to it
                        raise
                    self._agree(shard)
                    self._by_number[number] = shard
                    self._shards = [*self._shards, shard]
                if not shard.sealed:
                    self._take(shard, shard.more())
                    if self.mmap:
                        shard.settle()
        return self._distinct

    def close(self) -> None:
        """Let go of files and mappings; views that are still in use keep theirs."""
        for shard in self._shards:
            shard.close()
        self._shards, self._by_number = [], {}
        self._dense, self._sparse, self._distinct = np.zeros(0, dtype=np.int64).data, None, 0

    def _row(self, sample_id: int) -> int:
        if self._sparse is not None:
            return self._sparse[sample_id]
        if not 0 <= sample_id < len(self._dense):
            raise KeyError(sample_id)
        row: int = self._dense[sample_id]
        if row < 0:
            raise KeyError(sample_id)
        return row

    def _read(self, shard: "_Shard", row: int, offset: int, length: int) -> Tuple[Any, ...]:
        data = os.pread(shard.descriptor(), RECORD_HEADER + length, offset)
        if len(data) < RECORD_HEADER + length:
            raise InvalidCacheFile(shard.path, offset + len(data), "the record is cut", "truncated")
        if self.verify and not self._checked[row]:
            self._verify(shard, row, memoryview(data), 0)
        try:
            return shard.codec.views(data, RECORD_HEADER, length)
        except ValueError as problem:
            raise InvalidCacheFile(shard.path, offset, str(problem)) from None

    def _verify(self, shard: "_Shard", row: int, view: memoryview, at: int) -> None:
        """Compare a record, which lies at ``at`` in the view, with its row and its payload with its hash."""
        length, digest = self._lengths[row], self._hashes[row]
        if record_fields(view, at) != (RECORD_MAGIC, 0, self._ids[row], length, digest):
            reason = "the record's header is damaged, or not what the index says"
            raise InvalidCacheFile(shard.path, self._offsets[row], reason)
        found = shard.digest(view[at + RECORD_HEADER : at + RECORD_HEADER + length])
        if found != digest:
            reason = "the payload's hash is %016x, the data gives %016x" % (digest, found)
            raise InvalidCacheFile(shard.path, self._offsets[row], reason)
        self._checked[row] = 1

    def _agree(self, shard: "_Shard") -> None:
        """All shards of a cache have one schema and one key, which is that of the manifest where there is one."""
        if shard.header.key != (self.key or shard.header.key):
            raise InvalidCacheFile(shard.path, 24, OTHER_KEY)
        if not self._shards:
            self.columns, self.key = shard.header.columns, shard.header.key
            self._codec = Codec(self.columns)
        elif shard.header.columns != self.columns:
            raise InvalidCacheFile(shard.path, 24, "its schema is not that of the other shards", "schema-changed")
        assert self._codec is not None
        shard.codec = self._codec

    def _take(self, shard: "_Shard", rows: "np.ndarray[Any, Any]") -> None:
        """Add rows to the table; a later record of an id replaces an earlier one."""
        if not len(rows):
            return
        fixed = shard.codec.fixed_length
        if fixed is not None:
            wrong = np.flatnonzero(rows["length"] != fixed)
            if len(wrong):
                offset, length = int(rows["offset"][wrong[0]]), int(rows["length"][wrong[0]])
                reason = "the index names a payload of %d bytes, where the columns take %d" % (length, fixed)
                raise InvalidCacheFile(shard.path, offset, reason, "index-damaged")
        first, last = self._count, self._count + len(rows)
        if last > len(self._rows):
            self._rows = _grown(self._rows, last)
            self._places = _grown(self._places, last)
        self._rows[first:last] = rows
        self._places[first:last] = len(self._shards) - 1 if shard is self._shards[-1] else self._shards.index(shard)
        self._checked.extend(bytes(len(rows)))
        self._share(last)
        self._find(rows["id"], first)
        self._count = last

    def _share(self, count: int = 0) -> None:
        """Memory views give plain numbers three times as fast as arrays do."""
        self._offsets = np.ascontiguousarray(self._rows["offset"][:count]).data
        self._hashes = np.ascontiguousarray(self._rows["hash"][:count]).data
        self._ids = np.ascontiguousarray(self._rows["id"][:count]).data
        self._lengths = np.ascontiguousarray(self._rows["length"][:count]).data
        self._where = self._places.data

    def _find(self, ids: "np.ndarray[Any, Any]", first: int) -> None:
        rows = np.arange(first, first + len(ids), dtype=np.int64)
        highest = max(int(ids.max()), len(self._dense) - 1)
        if self._sparse is None and highest < _SPARSE * (first + len(ids)) + PAGE:
            dense = np.asarray(self._dense)
            if highest >= len(dense):
                dense = np.full(max(highest + 1, 2 * len(dense)), -1, dtype=np.int64)
                dense[: len(self._dense)] = self._dense
            dense[ids.astype(np.int64)] = rows
            self._dense = dense.data
            self._distinct = int(np.count_nonzero(dense >= 0))
            return
        if self._sparse is None:
            dense = np.asarray(self._dense)
            known = np.flatnonzero(dense >= 0)
            self._sparse = dict(zip(known.tolist(), dense[known].tolist()))
        self._sparse.update(zip(ids.tolist(), rows.tolist()))
        self._distinct = len(self._sparse)


class _Shard:
    """One shard: its header, and its bytes once they are asked for."""

    codec: Codec

    def __init__(self, folder: str, number: int) -> None:
        self.folder, self.number = folder, number
        self.sealed = False
        self._descriptor, self.path = self._open()
        self.header = self._header()
        self.digest = hash_function(self.header.hash_name, self.path)
        self._taken = 0
        self._last: Any = None
        self._end = 0
        self.map: Optional[Tuple[Any, memoryview]] = None

    def more(self) -> "np.ndarray[Any, Any]":
        """The rows that came since the last call."""
        final = shard_path(self.folder, self.number)
        # Asked first: a shard that is sealed by then grows no more, so its length is the final one.
        is_final = os.path.exists(final)
        rows = None if is_final else self._open_rows(os.fstat(self.descriptor()).st_size)
        if rows is None:
            rows = read_sealed(index_path(self.folder, self.number), self.number, os.fstat(self.descriptor()).st_size)[
                1
            ]
            self.path, self.sealed = final, True
        if self._taken and (len(rows) < self._taken or rows[self._taken - 1] != self._last):
            self._taken = 0  # another writer has recovered the shard and dropped damaged records
        new = rows[self._taken :]
        if len(rows):
            self._last = rows[-1]
            self._end = int(rows["offset"][-1]) + record_size(int(rows["length"][-1]))
        self._taken = len(rows)
        return new

    def mapped(self, end: int) -> Tuple[Any, memoryview]:
        """The mapping, long enough for the first ``end`` bytes, and a view of it; both change together."""
        both = self.map
        if both is None or len(both[1]) < end:
            descriptor = self._open()[0]  # its own, since other threads use and close theirs
            try:
                # The padding of the last record may be missing.
                size = os.fstat(descriptor).st_size
                if size < end:
                    raise InvalidCacheFile(self.path, size, "the record is cut", "truncated")
                mapping = memory_map.mmap(descriptor, min(max(self._end, end), size), access=memory_map.ACCESS_READ)
            finally:
                os.close(descriptor)
            both = self.map = (mapping, memoryview(mapping))
        return both

    def descriptor(self) -> int:
        if self._descriptor < 0:
            self._descriptor, self.path = self._open()
        return self._descriptor

    def close(self) -> None:
        """Let go; the mapping ends with the last array that looks into it (closing it would not ask them)."""
        self.release()
        self.map = None

    def settle(self) -> None:
        """A sealed shard that is mapped needs no descriptor: a large cache has more shards than a process may open."""
        if self.sealed:
            self.release()

    def release(self) -> None:
        """Close the descriptor."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _open(self) -> Tuple[int, str]:
        """A descriptor of the shard; it may be sealed, and so renamed, at this very moment."""
        for part in (False, True, False):
            path = shard_path(self.folder, self.number, part=part)
            try:
                return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), path
            except FileNotFoundError:
                continue
        raise InvalidCacheFile(shard_path(self.folder, self.number), 0, "it has vanished", "truncated")

    def _header(self) -> ShardHeader:
        def first(length: int) -> bytes:
            return os.pread(self._descriptor, length, 0)

        try:
            header = unpack_shard_header(self.path, first(PAGE), first)
            if header.number != self.number:
                raise InvalidCacheFile(self.path, 24, "it is shard %d under another number" % header.number, "renamed")
        except BaseException:
            self.release()
            raise
        return header

    def _open_rows(self, size: int) -> "Optional[np.ndarray[Any, Any]]":
        """The rows of an unfinished shard; None when it was sealed at this moment."""
        try:
            return read_open(index_path(self.folder, self.number, part=True), self.header.data_start, size)
        except InvalidCacheFile as problem:
            if os.path.exists(shard_path(self.folder, self.number)):
                return None
            if problem.status == "version-mismatch":
                raise
        # The index of an unfinished shard only saves this scan.
        seen = scan(self.descriptor(), self.header, self.header.data_start, size)
        return np.array([(one.offset, one.length, one.sample_id, one.digest) for one in seen if one.intact], dtype=ROW)


def _grown(array: "np.ndarray[Any, Any]", count: int) -> "np.ndarray[Any, Any]":
    larger = np.zeros(max(count, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def _key_in_manifest(folder: str) -> str:
    """An empty text where there is no manifest, or one that others have to complain about."""
    try:
        return read_manifest(folder).key
    except (OSError, InvalidCacheFile):
        return ""


def _reopen(folder: str, verify: bool, mmap: bool) -> StoreReader:
    return StoreReader(folder, verify=verify, mmap=mmap)
