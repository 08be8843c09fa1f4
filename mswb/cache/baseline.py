"""Baselines: checksums of a good data file, in ``NAME.mswb.json`` beside it, to see later what has changed.

MindRecord has no checksum at all, and no format shows a file that was cut between two records or a file that is
missing. A baseline holds the SHA-256 of the whole file, and a CRC-32 of each piece (a record, or a part of one), so
that a change can be told by record and byte offset. The form of a file says how to cut it into pieces; any other file
is cut into blocks. A folder can have a baseline too: the names of the files that belong to it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import zlib
from base64 import b85decode, b85encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import zip_longest
from typing import Any, Final, cast

import msgspec

from mswb.cache.check import MAX_FAULTS, Fault, Watch
from mswb.files.safety import printable, write_atomic
from mswb.findings import MswbError, Where, stop

SUFFIX: Final = ".mswb.json"
SET_NAME: Final = ".mswb-baseline.json"
"""The baseline of a folder, in it."""
FORMAT: Final = "mswb.baseline/1"
SET_FORMAT: Final = "mswb.baseline-set/1"
MAX_BYTES = 1 << 30
"""A baseline file that is longer is not read: five bytes for each of 200 million pieces."""
BLOCK = 1 << 20
"""Bytes of a piece where the form of a file is not known."""
LOST: Final = -1
"""The checksum of a piece that can't be found any more: equal to none."""

PIECES: Mapping[str, str] = {
    "tfrecord": "mswb.cache.data.tfrecord.pieces:pieces",
    "mindrecord": "mswb.cache.data.mindrecord.pieces:pieces",
}
"""``module:function`` that cuts a file into pieces, for each kind of :data:`mswb.cache.sniff.KINDS` that has one."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a file: its record (None: no record's, such as a header), where it begins, and its CRC-32."""

    record: int | None
    offset: int
    crc: int


Cutter = Callable[[str, Watch], Iterator[Piece]]
"""Gives the pieces of a file in an order that depends on the number of its records alone. Raises OSError."""


class Baseline(msgspec.Struct, frozen=True):
    """What is known of a good file. ``count`` is the number of its records; ``checks`` its pieces' CRC-32, packed."""

    path: str
    form: str
    count: int | None
    size: int
    mtime: float
    sha256: str
    checks: bytes

    @property
    def pieces(self) -> Sequence[int]:
        """The CRC-32 of each piece."""
        return memoryview(self.checks).cast("I")


class _Stored(msgspec.Struct, frozen=True):
    format: str
    form: str
    count: int | None
    size: int
    mtime: float
    sha256: str
    crc32: str


class Member(msgspec.Struct, frozen=True):
    """A file of a folder's baseline."""

    form: str
    count: int | None
    size: int
    sha256: str


class _StoredSet(msgspec.Struct, frozen=True):
    format: str
    files: dict[str, Member]


def place(path: str) -> str:
    """Where the baseline of a file lies."""
    return path + SUFFIX


def exists(path: str) -> bool:
    """Whether something lies where the baseline of a file would, readable or not."""
    return os.path.lexists(place(path))


def make(path: str, form: str, watch: Watch | None = None) -> Baseline:
    """The baseline of a file as it is now; see that it is good first.

    Args:
        form: a kind of :data:`mswb.cache.sniff.KINDS`.

    Raises:
        OSError: it can't be read, or it changes meanwhile.
    """
    watch = watch or Watch()
    before = os.stat(path)
    digest = file_sha256(path, watch)
    crcs = bytearray()
    last = -1
    for piece in _cut(path, form, watch):
        crcs += (piece.crc & 0xFFFFFFFF).to_bytes(4, "little")
        last = last if piece.record is None else max(last, piece.record)
    after = os.stat(path)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise OSError(0, "it was written to while it was read")
    count = last + 1 if form in PIECES else None
    return Baseline(path, form, count, before.st_size, before.st_mtime, digest, bytes(crcs))


def write(baseline: Baseline) -> str:
    """Put a baseline beside its file; returns where.

    Raises:
        MswbError: ``path-unwritable``.
    """
    packed = b85encode(baseline.checks).decode("ascii")
    stored = _Stored(FORMAT, baseline.form, baseline.count, baseline.size, baseline.mtime, baseline.sha256, packed)
    target = place(baseline.path)
    write_atomic(target, msgspec.json.encode(stored) + b"\n", mode=0o644)
    return target


def read(path: str) -> Baseline:
    """The baseline of a file.

    Raises:
        MswbError: ``baseline-unreadable``: there is none, or it is damaged.
    """
    stored = _load(place(path), _Stored, FORMAT)
    try:
        checks = b85decode(stored.crc32)
    except ValueError:
        checks = b"?"
    if len(checks) % 4:
        raise _unreadable(place(path), "its checksums are damaged")
    return Baseline(path, stored.form, stored.count, stored.size, stored.mtime, stored.sha256, checks)


def compare(path: str, form: str, watch: Watch | None = None) -> tuple[list[Fault], int]:
    """What has changed since a file's baseline: the first faults, and how many there are. Nothing without a baseline.

    Raises:
        OSError: the file can't be read.
    """
    watch = watch or Watch()
    if not exists(path):
        return [], 0
    try:
        known = read(path)
    except MswbError as problem:
        reason = str(problem.finding.values.get("reason", ""))
        return [Fault("baseline-unreadable", reason, file=place(path))], 1
    size = os.stat(path).st_size
    if size == known.size and file_sha256(path, watch) == known.sha256:
        return [], 0
    return _differences(known, size, _cut(path, form, watch))


def file_sha256(path: str, watch: Watch) -> str:
    """The SHA-256 of a file in hexadecimal digits.

    Raises:
        OSError: it can't be read, or nobody wants to know any more.
    """
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        total = os.fstat(file.fileno()).st_size
        done = 0
        buffer = memoryview(bytearray(BLOCK))
        while count := file.readinto(buffer):
            digest.update(buffer[:count])
            done += count
            watch.report(done, total, "bytes")
            if watch.cancelled():
                raise OSError(0, "it was cancelled")
    return digest.hexdigest()


def make_set(baselines: Sequence[Baseline], folder: str, known: Mapping[str, Member] | None = None) -> str:
    """Write the baseline of a folder: which files belong to it, beside the ``known`` ones. Returns where.

    Raises:
        MswbError: ``path-unwritable``.
    """
    files = {
        os.path.relpath(item.path, os.path.realpath(folder)): Member(item.form, item.count, item.size, item.sha256)
        for item in baselines
    }
    target = os.path.join(folder, SET_NAME)
    stored = _StoredSet(SET_FORMAT, dict(sorted({**(known or {}), **files}.items())))
    # Names of files may hold bytes that are no text: only escapes can carry them.
    write_atomic(target, json.dumps(msgspec.to_builtins(stored), indent=2) + "\n", mode=0o644)
    return target


def read_set(folder: str) -> Mapping[str, Member]:
    """The files of a folder's baseline by path relative to it; none where it has no baseline.

    Raises:
        MswbError: ``baseline-unreadable``.
    """
    path = os.path.join(folder, SET_NAME)
    return _load(path, _StoredSet, SET_FORMAT).files if os.path.lexists(path) else {}


def compare_set(folder: str) -> list[Fault]:
    """The files of a folder's baseline that are missing; what has changed in the others is for :func:`compare`.

    Raises:
        MswbError: ``baseline-unreadable``.
    """
    return [
        Fault(
            "file-missing", f"{printable(name)} ({member.size} bytes) is not here any more", file=_inside(folder, name)
        )
        for name, member in read_set(folder).items()
        if not os.path.lexists(_inside(folder, name))
    ]


def _inside(folder: str, name: str) -> str:
    return os.path.join(folder, name)


def _differences(known: Baseline, size: int, pieces: Iterator[Piece]) -> tuple[list[Fault], int]:
    faults: list[Fault] = []
    total = found = 0
    last: tuple[int | None, int] | None = None
    records = -1
    for piece, crc in zip_longest(pieces, known.pieces):
        if piece is not None:
            found += 1
            records = records if piece.record is None else max(records, piece.record)
        if piece is None or piece.crc == crc:
            continue
        same_record = last is not None and piece.record is not None and last[0] == piece.record
        last = (piece.record, piece.offset)
        total += not same_record
        if not same_record and len(faults) < MAX_FAULTS:
            part = "its header" if known.form in PIECES else f"the block from byte {piece.offset} on"
            what = part if piece.record is None else f"record {piece.record}"
            reason = f"{what} is not what it was" if crc is not None else f"{what} was not there"
            faults.append(Fault("payload-changed", reason, offset=piece.offset, record=piece.record))
    if found != len(known.pieces):
        count = records + 1 if known.count is not None else None
        reason = f"{size} bytes, the baseline has {known.size}"
        if count is not None:
            reason = f"{count} records, the baseline has {known.count}"
        faults.insert(0, Fault("count-mismatch", reason, values={"count": count, "expected": known.count}))
        return faults, total + 1
    if not faults:
        reason = "bytes have changed that belong to no record"
        return [Fault("payload-changed", reason, values={"size": size, "expected_size": known.size})], 1
    return faults, total


def _cut(path: str, form: str, watch: Watch) -> Iterator[Piece]:
    target = PIECES.get(form)
    if target is None:
        return _blocks(path, watch)
    module, _, name = target.partition(":")
    return cast(Cutter, getattr(import_module(module), name))(path, watch)


def _blocks(path: str, watch: Watch) -> Iterator[Piece]:
    with open(path, "rb", buffering=0) as file:
        offset = 0
        while data := file.read(BLOCK):
            yield Piece(None, offset, zlib.crc32(data))
            offset += len(data)
            if watch.cancelled():
                raise OSError(0, "it was cancelled")


def _load(path: str, form: type[Any], name: str) -> Any:
    try:
        # A FIFO would wait for ever, so nothing else than a regular file is read.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _unreadable(path, "it is not a regular file")
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise _unreadable(path, "it is too long")
        stored = msgspec.convert(json.loads(data), type=form)
    except OSError as problem:
        raise _unreadable(path, problem.strerror or str(problem)) from None
    except (ValueError, msgspec.ValidationError, RecursionError) as problem:
        raise _unreadable(path, printable(str(problem), 200)) from None
    if stored.format != name:
        raise _unreadable(path, f"its format is {printable(stored.format, 40)}, known is {name}")
    return stored


def _unreadable(path: str, reason: str) -> Exception:
    return stop("baseline-unreadable", where=Where(file=path), values={"path": path, "reason": reason})
