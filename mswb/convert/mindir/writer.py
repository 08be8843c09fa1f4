"""A MindIR file from data: metadata is encoded in memory, weights stream from where they lie.

Fields are written in the order of their numbers and numbers are never packed, as MindSpore itself writes them, so a
file that MindSpore exported is written back byte for byte.
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mswb.convert.mindir.schema import TABLE, Message, Model
from mswb.convert.wire import Data, InFile, Source, Span, Spec, open_source
from mswb.files.safety import ordinary_mode, refuse_special
from mswb.files.wire import BYTES, FIXED32, FIXED64, VARINT
from mswb.findings import stop


def write(model: Model, path: str, source: Source | None = None) -> int:
    """Write ``model`` as the file ``path``, wholly or not at all, and return its bytes.

    Args:
        source: the file that the model's spans belong to; needed when it has any.

    Raises:
        MswbError: ``path-unwritable``; what was at ``path`` is untouched.
        ValueError: a span reaches past the end of the source.
    """
    pieces = encode(model)
    folder = os.path.dirname(os.path.abspath(path))
    refuse_special(path)
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{os.path.basename(path)[:100]}.", suffix=".tmp")
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, ordinary_mode())
            for piece in pieces:
                _copy(piece, source, file.write)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        temporary = None
        _sync(folder)
    except OSError as problem:
        raise stop("path-unwritable", values={"path": path, "reason": problem.strerror}) from None
    finally:
        if temporary is not None:
            os.unlink(temporary)
    return sum(map(len, pieces))


def encode(message: Message) -> list[Data]:
    """A message as pieces: bytes, and the spans that are copied from the source."""
    pieces: list[Data] = []
    buffer = bytearray()
    for part in _encoded(message):
        if isinstance(part, Span):
            pieces += [bytes(buffer), part]
            buffer = bytearray()
        else:
            buffer += part
    return [*pieces, bytes(buffer)]


def _encoded(message: Message) -> Iterator[Data]:
    for number, spec in sorted(TABLE[type(message).__name__].items()):
        value = getattr(message, spec.name)
        for item in value if spec.many else () if value is None else (value,):
            yield from _field(number, spec, item)
    yield from message.unknown


def _field(number: int, spec: Spec, item: Any) -> Iterator[Data]:
    if spec.kind in _NUMBERS:
        wire, form = _NUMBERS[spec.kind]
        yield varint(number << 3 | wire) + form(item)
        return
    parts = list(_encoded(item)) if spec.kind in TABLE else [_raw(item)]
    yield varint(number << 3 | BYTES) + varint(sum(map(len, parts)))
    yield from parts


def _raw(item: str | Data) -> Data:
    return item.encode("utf-8", "surrogateescape") if isinstance(item, str) else item


def varint(value: int) -> bytes:
    """A number of 64 bits, negative ones as their complement."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_NUMBERS: Mapping[str, tuple[int, Callable[[Any], bytes]]] = {
    "int": (VARINT, varint),
    "float": (FIXED32, lambda value: struct.pack("<f", value)),
    "double": (FIXED64, lambda value: struct.pack("<d", value)),
}


def _copy(piece: Data, source: Source | None, put: Callable[[bytes], int]) -> None:
    if isinstance(piece, bytes):
        put(piece)
        return
    if isinstance(piece, InFile):
        with open_source(piece.path) as other:
            _copy(Span(piece.start, piece.end), other, put)
        return
    if source is None or piece.end > source.size:
        raise ValueError(f"bytes {piece.start} to {piece.end} are not in the source")
    for part in source.pieces(piece):
        put(part)


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
