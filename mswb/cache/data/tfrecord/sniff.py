"""TFRecord: frames of ``u64 length, masked CRC of it, data, masked CRC of that``, all little-endian; no header.

A glance checks the length CRCs of the first frames. They are 32 bits over a number, so one that fits is no accident.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from mswb.files.items import Guess
from mswb.files.peek import UNKNOWN_SIZE, Peek

FRAME = 16
"""Bytes of a frame beside its data."""
_GLANCE = 32
_EVENTS = (b"brain.Event:", b"MindSpore.Event:")


@lru_cache(maxsize=1)
def _table() -> tuple[int, ...]:
    """CRC-32C (Castagnoli), reflected polynomial 0x82F63B78."""
    rows = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        rows.append(value)
    return tuple(rows)


def masked_crc(data: bytes) -> int:
    """The CRC-32C of ``data`` as the frames hold it (rotated and shifted). Byte by byte: for short data."""
    table = _table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def sniff(peek: Peek) -> Guess | None:
    """A TFRecord by its first length CRC, or by its second where the first is damaged."""
    length = _length(peek, 0)
    if length is not None:
        return _recognised(peek, length)
    if len(peek.head) < FRAME:
        return None
    claimed = struct.unpack_from("<Q", peek.head)[0]
    second = _length(peek, claimed + FRAME) if claimed <= peek.size - 2 * FRAME else None
    if second is None:
        return None
    reason = f"the length CRC of the frame at byte {claimed + FRAME} fits; that of the first frame does not"
    return Guess("tfrecord", "the first frame's length or its CRC is damaged", reason, "corrupted")


def _length(peek: Peek, offset: int) -> int | None:
    """The data length of the frame at ``offset``, or None when its CRC doesn't fit."""
    header = peek.at(offset, 12)
    if len(header) < 12 or masked_crc(header[:8]) != struct.unpack_from("<I", header, 8)[0]:
        return None
    return int(struct.unpack_from("<Q", header)[0])


def _recognised(peek: Peek, first: int) -> Guess:
    reason = "the first eight bytes are a length, and their CRC-32C fits"
    data = peek.at(12, min(first, 256))
    if any(mark in data for mark in _EVENTS):
        return Guess("event-file", f"summary for dashboards, first record {first} bytes", reason + "; it holds events")
    status, detail = _glance(peek)
    return Guess("tfrecord", detail, reason, status)


def _glance(peek: Peek) -> tuple[str, str]:
    """Walk the first frames; what they say of the file as a whole."""
    offset = frames = 0
    while frames < _GLANCE and offset < peek.size:
        length = _length(peek, offset)
        if length is None:
            return _broken(peek, offset, frames)
        if offset + FRAME + length > peek.size:
            return "truncated", f"record {frames} at byte {offset} passes the end of the file"
        offset += FRAME + length
        frames += 1
    if offset == peek.size:
        return "", f"{frames} records, {_mean(offset, frames)} bytes each"
    if peek.size == UNKNOWN_SIZE:
        return "", f"records of about {_mean(offset, frames)} bytes"
    return "", f"about {max(frames, round(peek.size / (offset / frames)))} records, {_mean(offset, frames)} bytes each"


def _mean(offset: int, frames: int) -> int:
    return round(offset / frames) - FRAME if frames else 0


def _broken(peek: Peek, offset: int, frames: int) -> tuple[str, str]:
    """Why no frame begins at ``offset``; what lies beyond the budget of the look is nobody's fault."""
    seen = peek.at(offset, 12)
    if offset + 12 > peek.size:
        return "truncated", f"record {frames} at byte {offset} is cut inside its length"
    if len(seen) < 12 or peek.size == UNKNOWN_SIZE:
        return "", f"at least {frames} records"
    return "corrupted", f"the length CRC of record {frames} at byte {offset} does not fit"
