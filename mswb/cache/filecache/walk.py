"""One shard of a cache, whatever has happened to it: its header, its index, and every record with what is wrong.

Two descriptions of each record exist, its header and its row in the index. Where one is damaged the other tells what
the payload should be, so it can be judged and saved all the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mswb.cache.check import Fault
from mswb.inside.store.columns import Column
from mswb.inside.store.index import plausible, read_raw, read_sealed
from mswb.inside.store.layout import (
    GRID,
    INDEX_HEADER,
    OTHER_KEY,
    PAGE,
    RECORD_HEADER,
    ROW,
    IndexHeader,
    InvalidCacheFile,
    ShardHeader,
    StreamHash,
    hash_function,
    index_path,
    preferred_hash,
    record_size,
    seed_of,
    shard_path,
    shards_in,
    unpack_shard_header,
)
from mswb.inside.store.scan import BLOCK, Seen, scan

STEP = 4096
"""Records between two reports of progress."""
Rows = np.ndarray[Any, np.dtype[Any]]


@dataclass(slots=True)
class Shard:
    """A shard as it was found.

    Attributes:
        header: None when it is damaged and nothing else says what should stand there.
        rows: its index; None when that can't be trusted.
        size: bytes of the file. end: where its records should end.
        faults: of header and index, and of the file's length.
    """

    folder: str
    number: int
    is_part: bool
    descriptor: int
    size: int = 0
    end: int = 0
    header: ShardHeader | None = None
    rows: Rows | None = None
    faults: list[Fault] = field(default_factory=list)

    @property
    def path(self) -> str:
        return shard_path(self.folder, self.number, part=self.is_part)

    @property
    def index(self) -> str:
        return index_path(self.folder, self.number, part=self.is_part)

    def close(self) -> None:
        os.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class Fallback:
    """What a manifest or another shard says a damaged header should hold."""

    columns: tuple[Column, ...]
    key: str


def open_shards(folder: str, fallback: Fallback | None, written: bool) -> Iterator[Shard]:
    """The shards of a cache in order, each closed when the next is asked for.

    Args:
        written: a writer is at work: what follows the last acknowledged record is none of our business.

    Raises:
        OSError: the folder or a shard can't be read.
    """
    for number, is_part in shards_in(folder).items():
        shard = _opened(folder, number, is_part) or _opened(folder, number, False)
        if shard is None:
            continue  # it has gone at this moment
        try:
            shard.size = shard.end = os.fstat(shard.descriptor).st_size
            _read_header(shard, fallback, written)
            if shard.header is not None:
                (_read_open_index if is_part else _read_index)(shard, written)
            yield shard
        finally:
            shard.close()


def _opened(folder: str, number: int, is_part: bool) -> Shard | None:
    """A shard by one of its names; an unfinished one may be sealed, and so renamed, at any moment."""
    path = shard_path(folder, number, part=is_part)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    return Shard(folder, number, is_part, descriptor)


def records(shard: Shard, cancelled: Callable[[], bool], told: Callable[[int], None]) -> Iterator[Seen]:
    """Every record in order, whole or not.

    Args:
        told: is called with the offset now and then.
    """
    if shard.header is None:
        return
    seen = scan(shard.descriptor, shard.header, shard.header.data_start, min(shard.end, shard.size))
    for count, one in enumerate(seen):
        if count % STEP == 0:
            told(one.offset)
            if cancelled():
                return
        if one.length >= 0 and one.intact:
            yield one
        else:
            yield from _judged(shard, shard.header, one)


def _judged(shard: Shard, header: ShardHeader, seen: Seen) -> Iterator[Seen]:
    """A damaged place as the records that the index says lie there."""
    rows = _within(shard.rows, seen.offset, seen.offset + seen.size)
    described = len(rows) == 1 and rows[0].tobytes() == _as_row(seen).tobytes()
    if described or not len(rows):
        yield seen
        return
    for offset, length, sample_id, digest in rows.tolist():
        size = record_size(length)
        whole = offset + size <= shard.size and _hash_at(shard, header, offset + RECORD_HEADER, length) == digest
        reason = "its header is damaged" if whole else f"its header is damaged, and so is its payload: {seen.reason}"
        status = "truncated" if offset + size > shard.size else "corrupted"
        yield Seen(offset, size, sample_id, length, digest, reason, status, offset, whole)


def _within(rows: Rows | None, start: int, stop: int) -> Rows:
    if rows is None or not len(rows):
        return np.zeros(0, dtype=ROW)
    first, last = np.searchsorted(rows["offset"], (start, stop))
    found: Rows = rows[first:last]
    return found


def _as_row(seen: Seen) -> Any:
    return np.array((seen.offset, max(seen.length, 0), max(seen.sample_id, 0), max(seen.digest, 0)), dtype=ROW)


def _hash_at(shard: Shard, header: ShardHeader, start: int, length: int) -> int:
    state, end = StreamHash(header.hash_name), start + length
    while start < end:
        data = os.pread(shard.descriptor, min(BLOCK, end - start), start)
        if not data:
            break
        state.update(data)
        start += len(data)
    return state.value()


def _read_header(shard: Shard, fallback: Fallback | None, written: bool) -> None:
    def first(length: int) -> bytes:
        return os.pread(shard.descriptor, length, 0)

    try:
        shard.header = unpack_shard_header(shard.path, first(PAGE), first)
        hash_function(shard.header.hash_name, shard.path)
    except InvalidCacheFile as problem:
        if shard.is_part and shard.size <= PAGE:
            if not written:
                shard.faults.append(
                    Fault("interrupted", "its writer ended before the first sample", 0, file=shard.path)
                )
            return
        shard.header = None
        if problem.status in ("corrupted", "truncated") and fallback is not None:
            shard.header = _guessed(shard, fallback)
        # With records behind it, it is not the file that is cut, but the length in the header that is wrong.
        status = problem.status if shard.header is None else "corrupted"
        shard.faults.append(Fault(status, problem.reason, 0, byte=problem.offset, file=shard.path))
        return
    if shard.header.number != shard.number:
        reason = f"it is shard {shard.header.number} under another number"
        shard.faults.append(Fault("renamed", reason, 0, file=shard.path))
    if fallback is not None and shard.header.key != fallback.key:
        shard.faults.append(Fault("corrupted", OTHER_KEY, 0, file=shard.path))
        shard.header = None  # its samples are whole, and none of this cache
    elif fallback is not None and shard.header.columns != fallback.columns:
        shard.faults.append(Fault("schema-changed", "its schema is not that of the manifest", 0, file=shard.path))


def _guessed(shard: Shard, fallback: Fallback) -> ShardHeader | None:
    """The header that a damaged one should be; its length and the kind of checksum stand in the index too.

    None where the file is no longer than that.
    """
    try:
        index = read_raw(shard.index)[0]
    except (InvalidCacheFile, OSError):
        index = IndexHeader(shard.number, preferred_hash())
    if shard.size <= index.data_start:
        return None
    seed = seed_of(fallback.key, shard.number)
    return ShardHeader(fallback.columns, fallback.key, index.hash_name, shard.number, index.data_start, seed)


def _read_index(shard: Shard, written: bool) -> None:
    try:
        header, shard.rows = read_sealed(shard.index, shard.number, shard.size)
        shard.end = header.shard_bytes
    except InvalidCacheFile as problem:
        is_index = problem.path == shard.index
        if not is_index:
            _length_fault(shard, problem)
        elif problem.status == "index-damaged" and problem.offset >= INDEX_HEADER:
            shard.faults.append(_damaged_row(shard, problem))
        else:
            shard.faults.append(Fault(problem.status, problem.reason, problem.offset, file=problem.path))
        return
    shard.rows = _in_order(shard.rows)
    if shard.rows is None:
        reason = "its rows name places that overlap"
        shard.faults.append(Fault("index-damaged", reason, INDEX_HEADER, file=shard.index))


def _in_order(rows: Rows) -> Rows | None:
    """Rows by offset; None where records would overlap, which no writer does."""
    rows = rows[np.argsort(rows["offset"], kind="stable")]
    ends = rows["offset"] + RECORD_HEADER + rows["length"]
    return None if (ends[:-1] > rows["offset"][1:]).any() else rows


def _length_fault(shard: Shard, problem: InvalidCacheFile) -> None:
    """The shard is shorter or longer than its index says, and the index is whole."""
    header, data = read_raw(shard.index)
    # Only the rows inside the file can be true; those beyond it are what is lost.
    rows = np.frombuffer(data, dtype=ROW)
    rows = rows[np.argsort(rows["offset"], kind="stable")]
    if problem.status != "truncated":
        shard.rows, shard.end = _in_order(rows), header.shard_bytes
        shard.faults.append(Fault("corrupted", problem.reason, problem.offset, file=shard.path))
        return
    good = plausible(rows, header.data_start, shard.size)
    # A payload may be whole although the zeros after it are cut.
    shard.rows = _in_order(rows[:good])
    shard.end = min(int(rows["offset"][good]), shard.size) if good < len(rows) else shard.size
    lost = len(rows) - good
    reason = f"{problem.reason}, with {lost} record{'s' if lost != 1 else ''}"
    fault = Fault("truncated", reason, shard.end, good, byte=shard.size, file=shard.path, values={"lost": lost})
    shard.faults.append(fault)


def _damaged_row(shard: Shard, problem: InvalidCacheFile) -> Fault:
    """The first row that is not what the shard itself says."""
    data = read_raw(shard.index)[1]
    header = shard.header
    assert header is not None
    number = 0
    for seen in scan(shard.descriptor, header, header.data_start, shard.size):
        if seen.length < 0:
            break
        raw = _as_row(seen).tobytes()
        at = number * ROW.itemsize
        if data[at : at + ROW.itemsize] != raw:
            break
        number += 1
    return Fault("index-damaged", problem.reason, INDEX_HEADER + number * ROW.itemsize, number, file=shard.index)


def _read_open_index(shard: Shard, written: bool) -> None:
    """The rows that a writer has acknowledged. They help, but an unfinished shard does without."""
    assert shard.header is not None
    start = shard.header.data_start
    try:
        data = read_raw(shard.index)[1]
    except InvalidCacheFile:
        return
    rows = np.frombuffer(data[: len(data) - len(data) % ROW.itemsize], dtype=ROW)
    good = plausible(rows, start, shard.size)
    shard.rows = _in_order(rows[:good])
    if written:
        if shard.rows is not None:
            last = shard.rows[-1].tolist() if good else None
            shard.end = last[0] + record_size(last[1]) if last else start
        return
    beyond = rows[good:]["offset"]
    lost = int(((beyond >= start) & (beyond % GRID == 0)).sum())
    if lost:
        reason = f"{lost} record{'s' if lost != 1 else ''} that were acknowledged lie beyond its end"
        shard.faults.append(Fault("truncated", reason, shard.size, file=shard.path, values={"lost": lost}))
