"""The bytes of a file cache, format MSWC version 1: shards with records on a 64-byte grid, and their indexes.

A shard (``NNNN.shard``; ``NNNN.shard.part`` while it is written), all numbers little-endian::

    0       magic "MSWCSHD1", version u16, byte order mark u16, data start u32, JSON length u32, CRC-32 u32
    24      JSON: columns, key, hash, shard; zeros up to the data start (a multiple of 4096). The CRC covers it all.
    data    records, each at a multiple of 64:
      0     magic "MSWR", flags u32 (0), sample id u64, payload length u64, payload hash u64
      32    CRC-32 of the 32 bytes above, begun with the shard's seed; zeros up to 64
      64    payload (see columns.py); zeros up to the next multiple of 64

The seed is the CRC-32 of key and shard number: a record of another cache that lies in a payload is none of ours, which
matters when a reader looks for the next record behind a damaged one.

An index (``NNNN.idx``; ``NNNN.idx.part``) has a row for each record that is known to be on the disk::

    0       magic "MSWCIDX1" ("MSWCIDXP" while it is written), version u16, hash u16, shard u32,
    16      rows u64, bytes of the shard u64, hash of all rows u64, data start u32, CRC-32 of the 44 bytes above, zeros
    64      rows: offset u64, payload length u64, sample id u64, payload hash u64
"""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from .columns import Column, columns_from_json, columns_to_json

VERSION = 1
SHARD_MAGIC = b"MSWCSHD1"
RECORD_MAGIC = b"MSWR"
INDEX_MAGIC = b"MSWCIDX1"
OPEN_INDEX_MAGIC = b"MSWCIDXP"
GRID = 64
PAGE = 4096
MAX_HEADER = 1 << 24
"""Bytes of a shard's header that are believed; thousands of columns need less."""
BYTE_ORDER = 0xFEFF
MAX_ROWS = 1 << 20
"""Records of one shard; so whoever reads an index whole needs 32 MiB for it."""

SHARD_NAME = re.compile(r"(\d{4,9})\.shard(\.part)?$")
ROW = np.dtype([("offset", "<u8"), ("length", "<u8"), ("id", "<u8"), ("hash", "<u8")])
"""One row of an index: ``offset`` of the record's header in the shard, ``length`` of its payload in bytes."""

_PREFIX = struct.Struct("<8sHHIII")
_RECORD = struct.Struct("<4sIQQQ")
_INDEX = struct.Struct("<8sHHIQQQI")
_U32 = struct.Struct("<I")
RECORD_HEADER = 64
INDEX_HEADER = 64
_RECORD_PAD = bytes(RECORD_HEADER - _RECORD.size - 4)


OTHER_KEY = "its key is that of another cache"
"""Of a shard that was put into a folder where it does not belong."""


class InvalidCacheFile(ValueError):
    """A file of a cache is damaged, cut, or of another version. The text names path, byte offset and reason.

    Attributes:
        path, offset, reason: as in the text.
        status: the finding code that fits: corrupted, truncated, version-mismatch, schema-changed, index-...
    """

    def __init__(self, path: str, offset: int, reason: str, status: str = "corrupted") -> None:
        super().__init__("Invalid cache file format: %s at byte %d: %s" % (path, offset, reason))
        self.path, self.offset, self.reason, self.status = path, offset, reason, status

    def __reduce__(self) -> Tuple[Any, ...]:
        return InvalidCacheFile, (self.path, self.offset, self.reason, self.status)


class MissingHash(InvalidCacheFile):
    """The cache was written with xxhash, and this Python has none: nothing is wrong with the file."""

    def __reduce__(self) -> Tuple[Any, ...]:
        return MissingHash, (self.path, self.offset, self.reason, self.status)


HASH_CODES: Dict[str, int] = {"crc32": 0, "xxh3_64": 1}
Hash = Callable[[Any], int]


def preferred_hash() -> str:
    """``xxh3_64`` where xxhash is installed (five times as fast), else ``crc32`` of the standard library."""
    try:
        import xxhash  # noqa: F401
    except ImportError:
        return "crc32"
    return "xxh3_64"


def hash_function(name: str, path: str = "") -> Hash:
    """The function from bytes to a number of 64 bits.

    Raises:
        MissingHash: it is xxh3_64, and xxhash is not installed.
        InvalidCacheFile: no hash of that name is known.
    """
    if name == "crc32":
        return zlib.crc32
    if name != "xxh3_64":
        raise InvalidCacheFile(path, 0, "its checksums are of an unknown kind, %.40r" % name, "version-mismatch")
    try:
        from xxhash import xxh3_64_intdigest
    except ImportError:
        reason = "its checksums are xxh3_64 and this Python has no xxhash (pip install xxhash)"
        raise MissingHash(path, 0, reason, "version-mismatch") from None
    digest: Hash = xxh3_64_intdigest
    return digest


class StreamHash:
    """The same hash over bytes that come in pieces."""

    def __init__(self, name: str) -> None:
        self._crc = 0
        self._state: Any = None
        if name == "xxh3_64":
            import xxhash

            self._state = xxhash.xxh3_64()

    def update(self, data: Any) -> None:
        if self._state is None:
            self._crc = zlib.crc32(data, self._crc)
        else:
            self._state.update(data)

    def value(self) -> int:
        return self._crc if self._state is None else int(self._state.intdigest())


def up(size: int, unit: int = GRID) -> int:
    """``size`` rounded up to a multiple of ``unit``."""
    return -(-size // unit) * unit


def record_size(payload: int) -> int:
    """Bytes that a record with this payload takes in a shard."""
    return RECORD_HEADER + -(-payload // GRID) * GRID


@dataclass(frozen=True)
class ShardHeader:
    """What stands at the beginning of a shard."""

    columns: Tuple[Column, ...]
    key: str
    hash_name: str
    number: int
    data_start: int = PAGE
    seed: int = 0
    """What the CRCs of its record headers begin with; see :func:`seed_of`."""


def seed_of(key: str, number: int) -> int:
    """What the CRCs of a shard's record headers begin with."""
    return zlib.crc32(("%s/%d" % (key, number)).encode("utf-8", "surrogatepass"))


def pack_shard_header(columns: Tuple[Column, ...], key: str, hash_name: str, number: int) -> bytes:
    """The header of a shard, padded to its data start."""
    content = {"columns": columns_to_json(columns), "key": key, "hash": hash_name, "shard": number}
    text = json.dumps(content, sort_keys=True).encode("ascii")
    start = up(_PREFIX.size + len(text), PAGE)
    if start > MAX_HEADER:
        raise ValueError("%d columns are too many for one cache" % len(columns))
    body = text + bytes(start - _PREFIX.size - len(text))
    head = _PREFIX.pack(SHARD_MAGIC, VERSION, BYTE_ORDER, start, len(text), 0)
    return head[:-4] + _U32.pack(_header_crc(head, body)) + body


def unpack_shard_header(path: str, head: bytes, read_more: Callable[[int], bytes]) -> ShardHeader:
    """The header of a shard from its first bytes.

    Args:
        head: at least the first 4096 bytes, or the whole of a shorter file.
        read_more: gives the first ``n`` bytes, for longer headers.

    Raises:
        InvalidCacheFile: it is damaged, cut, or of another version.
    """
    if len(head) < _PREFIX.size or len(head) < PAGE:
        _refuse_head(path, head)
        raise InvalidCacheFile(path, len(head), "the file ends inside its header", "truncated")
    _refuse_head(path, head)
    magic, version, order, start, length, crc = _PREFIX.unpack_from(head)
    if start % PAGE or not PAGE <= start <= MAX_HEADER or length > start - _PREFIX.size:
        raise InvalidCacheFile(path, 12, "the lengths in its header can't be true")
    raw = head if start <= len(head) else read_more(start)
    if len(raw) < start:
        raise InvalidCacheFile(path, len(raw), "the file ends inside its header", "truncated")
    body = raw[_PREFIX.size : start]
    now = _PREFIX.pack(magic, VERSION, BYTE_ORDER, start, length, 0)
    if version != VERSION and crc in (_header_crc(raw, body), _header_crc(now, body)):
        reason = "it is of format version %d, and this reads version %d" % (version, VERSION)
        raise InvalidCacheFile(path, 8, reason, "version-mismatch")
    if crc != _header_crc(raw, body) or order != BYTE_ORDER:
        raise InvalidCacheFile(path, 0, "the CRC of its header is wrong")
    return _parsed(path, body[:length], start)


def _refuse_head(path: str, head: bytes) -> None:
    if not head:
        raise InvalidCacheFile(path, 0, "the file is empty", "empty")
    if not head.startswith(SHARD_MAGIC[: len(head)]):
        raise InvalidCacheFile(path, 0, "it does not begin with %s" % SHARD_MAGIC.decode())


def _header_crc(prefix: bytes, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(prefix[: _PREFIX.size - 4]))


def _parsed(path: str, text: bytes, start: int) -> ShardHeader:
    try:
        content = json.loads(text)
        columns = columns_from_json(content["columns"])
        key, hash_name, number = content["key"], content["hash"], content["shard"]
        if not (isinstance(key, str) and isinstance(hash_name, str) and isinstance(number, int)):
            raise ValueError("a field has another type")
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise InvalidCacheFile(path, _PREFIX.size, "its header can't be read: %s" % problem) from None
    return ShardHeader(columns, key, hash_name, number, start, seed_of(key, number))


def pack_record_header(sample_id: int, length: int, digest: int, seed: int) -> bytes:
    """The 64 bytes before a payload."""
    head = _RECORD.pack(RECORD_MAGIC, 0, sample_id, length, digest)
    return head + _U32.pack(zlib.crc32(head, seed)) + _RECORD_PAD


record_fields = _RECORD.unpack_from
"""Magic, flags, sample id, payload length and payload hash of the header at an offset, whatever its CRC says."""


def unpack_record_header(data: Any, seed: int) -> Optional[Tuple[int, int, int]]:
    """Sample id, payload length and payload hash from 64 bytes; None when they are no whole record header."""
    head = bytes(data[: _RECORD.size])
    if len(data) < RECORD_HEADER or _U32.unpack_from(data, _RECORD.size)[0] != zlib.crc32(head, seed):
        return None
    magic, flags, sample_id, length, digest = _RECORD.unpack(head)
    if magic != RECORD_MAGIC or flags or bytes(data[_RECORD.size + 4 : RECORD_HEADER]) != _RECORD_PAD:
        return None
    return sample_id, length, digest


@dataclass(frozen=True)
class IndexHeader:
    """What stands at the beginning of an index."""

    number: int
    hash_name: str
    rows: int = 0
    shard_bytes: int = 0
    rows_hash: int = 0
    data_start: int = PAGE
    is_open: bool = True


def pack_index_header(header: IndexHeader) -> bytes:
    """The 64 bytes before the rows."""
    magic = OPEN_INDEX_MAGIC if header.is_open else INDEX_MAGIC
    code, counts = HASH_CODES[header.hash_name], (header.rows, header.shard_bytes, header.rows_hash)
    head = _INDEX.pack(magic, VERSION, code, header.number, *counts, header.data_start)
    return (head + _U32.pack(zlib.crc32(head))).ljust(INDEX_HEADER, b"\0")


def unpack_index_header(path: str, data: bytes) -> IndexHeader:
    """The header of an index, open or sealed.

    Raises:
        InvalidCacheFile: ``index-damaged`` or ``version-mismatch``.
    """
    if len(data) < INDEX_HEADER:
        raise InvalidCacheFile(path, len(data), "the index ends inside its header", "index-damaged")
    head = data[: _INDEX.size]
    magic, version, code, number, rows, shard_bytes, rows_hash, start = _INDEX.unpack(head)
    if magic not in (INDEX_MAGIC, OPEN_INDEX_MAGIC):
        raise InvalidCacheFile(path, 0, "it does not begin with %s" % INDEX_MAGIC.decode(), "index-damaged")
    whole = (head + _U32.pack(zlib.crc32(head))).ljust(INDEX_HEADER, b"\0")
    if whole != data[:INDEX_HEADER]:
        raise InvalidCacheFile(path, 0, "the CRC of the index's header is wrong", "index-damaged")
    name = next((name for name, known in HASH_CODES.items() if known == code), None)
    if version != VERSION or name is None:
        reason = "the index is of format version %d, and this reads version %d" % (version, VERSION)
        raise InvalidCacheFile(path, 8, reason, "version-mismatch")
    return IndexHeader(number, name, rows, shard_bytes, rows_hash, start, magic == OPEN_INDEX_MAGIC)


def shard_path(folder: str, number: int, *, part: bool = False) -> str:
    """``folder/NNNN.shard`` or, while it is written, ``folder/NNNN.shard.part``."""
    return os.path.join(folder, "%04d.shard%s" % (number, ".part" if part else ""))


def index_path(folder: str, number: int, *, part: bool = False) -> str:
    """``folder/NNNN.idx`` or, while it is written, ``folder/NNNN.idx.part``."""
    return os.path.join(folder, "%04d.idx%s" % (number, ".part" if part else ""))


def shards_in(folder: str) -> Dict[int, bool]:
    """The numbers of the shards in a folder, in order; True for one that is still written.

    Raises:
        OSError: the folder can't be read.
    """
    found: Dict[int, bool] = {}
    for name in os.listdir(folder):
        match = SHARD_NAME.match(name)
        if match:
            number = int(match.group(1))
            # A sealed shard wins over a part of the same number: the part is what a copy or a repair left.
            found[number] = found.get(number, True) and match.group(2) is not None
    return dict(sorted(found.items()))
