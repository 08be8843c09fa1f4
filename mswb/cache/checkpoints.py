"""Weights in files: MindSpore's checkpoint (protobuf), safetensors, pickles. Only names and lengths are read."""

from __future__ import annotations

import json
import re
import struct

from mswb.files import wire
from mswb.files.items import Guess
from mswb.files.peek import UNKNOWN_SIZE, Peek

# Checkpoint {1: Value}, Value {1: name, 2: Tensor | 3: MapTensor}, Tensor {1: dims, 2: type, 3: bytes}
_CHECKPOINT = {1: wire.BYTES}
_VALUE = {1: wire.BYTES, 2: wire.BYTES, 3: wire.BYTES}
_TENSOR_TYPE = re.compile(r"(?:U?Int|Float|BFloat|Bool|Complex|QInt|HiFloat|str|String)[0-9xX]*$")
_CRC_MARK = b"crc_num"
"""``save_checkpoint(crc_check=True)`` adds this word and ten digits after the message."""
_ENCRYPTED = {b"\xd8\x5e\x3a\x7f": "AES-GCM", b"\xd9\x5e\x3a\x7f": "AES-CBC", b"\xda\x5e\x3a\x7f": "SM4-CBC"}
_SAFETENSORS_ENTRY = re.compile(rb'"dtype":\s*"([A-Z0-9_]{1,12})"')
_SAFETENSORS_END = re.compile(rb'"data_offsets":\s*\[\s*\d{1,18},\s*(\d{1,18})\s*\]')


def checkpoint(peek: Peek) -> Guess | None:
    """A MindSpore checkpoint by the structure of its first parameter."""
    if peek.lower.endswith(".ckpt") and peek.head[:4] in _ENCRYPTED:
        mode = _ENCRYPTED[peek.head[:4]]
        return Guess("checkpoint", f"encrypted ({mode})", f"its name, and the magic of {mode} encryption", "encrypted")
    if peek.head[:1] != b"\x0a":
        return None
    top = wire.scan(peek, limit=200)
    values = top.all(1)
    if not values or not wire.Message(top.fields[:1], "whole").fits(_CHECKPOINT):
        return None
    first = _parameter(peek, values[0])
    if first is None:
        return None
    reason = "a protobuf list of named tensors"
    detail = f"{_count(top, len(values))} parameters, first {first}"
    if top.ending == "past-end" and not _ends_in_crc(peek):
        return Guess("checkpoint", f"{detail}; the last one passes the end of the file", reason, "truncated")
    return Guess("checkpoint", detail, reason)


def safetensors(peek: Peek) -> Guess | None:
    """safetensors: ``u64 length``, then JSON with dtype, shape and data_offsets of each tensor."""
    if peek.head[8:9] != b"{":
        return None
    start = peek.start()
    entries = _SAFETENSORS_ENTRY.findall(start)
    ends = [int(end) for end in _SAFETENSORS_END.findall(start)]
    if not entries or not ends or b'"header_size"' in start:
        return None
    reason = "after eight bytes of length comes JSON with dtype and data_offsets"
    length = struct.unpack_from("<Q", start)[0]
    types = ", ".join(sorted({entry.decode("ascii") for entry in entries})[:4])
    more = "at least " if length > len(start) - 8 else ""
    detail = f"{more}{len(entries)} tensors ({types})"
    if peek.size != UNKNOWN_SIZE and 8 + length + max(ends) > peek.size:
        return Guess("safetensors", f"{detail}; they need {8 + length + max(ends)} bytes", reason, "truncated")
    if not more and not _is_json(start[8 : 8 + length]):
        return Guess("safetensors", f"{detail}; the header is no JSON", reason, "corrupted")
    return Guess("safetensors", detail, reason)


def pickled(peek: Peek) -> Guess | None:
    """A pickle that its name takes for data or weights. Opening one runs what it holds, so nobody does."""
    if not peek.lower.endswith((".pkl", ".pickle", ".pt", ".pth", ".bin", ".ckpt")):
        return None
    if peek.head[:1] != b"\x80" or peek.head[1:2] not in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return None
    return Guess("pickle", f"protocol {peek.head[1]}; never opened here", "its name, and the first byte of a pickle")


def _parameter(peek: Peek, value: wire.Field) -> str | None:
    """The name of the first parameter, when the field is one."""
    inside = wire.scan(peek, value.start, min(value.end, peek.size), limit=4)
    tensor = inside.first(2) or inside.first(3)
    if not inside.fits(_VALUE) or inside.fields[0].number != 1 or tensor is None:
        return None
    name = wire.text(peek, inside.fields[0], limit=1000)
    if not name or not name.isprintable():
        return None
    if tensor.number == 3:
        return name
    kind = wire.text(peek, wire.scan(peek, tensor.start, min(tensor.end, peek.size), limit=40).first(2))
    return name if kind is not None and _TENSOR_TYPE.match(kind) else None


def _count(top: wire.Message, seen: int) -> str:
    return str(seen) if top.ending in ("whole", "bad", "past-end") else f"at least {seen}"


def _ends_in_crc(peek: Peek) -> bool:
    return _CRC_MARK in peek.tail(32)


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
