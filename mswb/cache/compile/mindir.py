"""A walk over the whole of a cached graph: every field of every message, so that no cut or broken length is missed.

A cached graph is a MindIR file, protobuf message ``mind_ir.ModelProto`` of MindSpore 2.10. What the walk can't see is a
value that changed and is still a value (a constant with a flipped bit): only the SHA-256 of a seal shows that.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mswb.files.safety import open_regular

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_WIDTH = {FIXED64: 8, FIXED32: 4}
_TEXT, _BLOB, _NUMBER, _PACKED32, _PACKED64, _PACKED = "text", "blob", "number", "packed32", "packed64", "packed"
_WIRES = {
    _NUMBER: (VARINT,),
    "float": (FIXED32,),
    "double": (FIXED64,),
    _PACKED: (VARINT, BYTES),
    _PACKED32: (FIXED32, BYTES),
    _PACKED64: (FIXED64, BYTES),
}
"""The wire types that each kind of number may have; repeated ones are packed into one field, or not."""
_UNITS = {_PACKED: 1, _PACKED32: 4, _PACKED64: 8}
MAX_DEPTH = 200
"""Messages inside one another; MindIR nests graphs in attributes, and tuples in tuples."""
CANCEL_EVERY = 20_000

_TABLE = {
    "Model": "1 text 2 text 3 text 4 text 5 text 6 text 7 Graph 8 Graph 9 blob 10 number 11 blob 12 Primitive 13 number"
    " 14 Entry",
    "Graph": "1 Node 2 text 3 Tensor 4 text 5 Value 6 Value 7 text 8 Attribute 9 text 10 blob",
    "Node": "1 text 2 text 3 text 4 text 5 Attribute 6 text 7 text 8 Attribute 9 Attribute",
    "Primitive": "1 text 2 text 3 Attribute 4 text 5 number",
    "Value": "1 text 2 Tensor 3 text 4 text 5 Attribute",
    "Tensor": "1 packed 2 number 3 packed32 4 packed 5 blob 6 packed 7 text 8 text 9 blob 10 packed64 11 packed"
    " 12 External 13 text 14 packed 15 packed 16 number 17 blob",
    "External": "1 text 2 number 3 number",
    "Attribute": "1 text 2 float 3 number 4 double 5 blob 6 Tensor 7 Graph 8 packed32 9 packed64 10 packed 11 blob"
    " 12 Tensor 13 Graph 14 text 15 text 16 number 17 Attribute 18 blob 19 blob 20 blob",
    "Entry": "1 text 2 text",
}
"""What each field of a message is. A field that is not named here is a newer MindSpore's, and hopped over."""


def _fields(text: str) -> Mapping[int, str]:
    words = text.split()
    return {int(number): kind for number, kind in zip(words[::2], words[1::2], strict=True)}


SCHEMA: Mapping[str, Mapping[int, str]] = {name: _fields(text) for name, text in _TABLE.items()}


class Damage(Exception):
    """What is wrong, and the byte at which it was seen."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.offset, self.reason = offset, reason


@dataclass
class Graph:
    """What a walk has found. ``version`` is the MindSpore that wrote it; ``reads`` maps names to where they are used.

    ``nodes`` counts the operators of the graph and all its functions. ``open``: names may be defined where
    the walk does not look, in a part that it takes for bytes.
    """

    version: str = ""
    producer: str = ""
    nodes: int = 0
    damage: Damage | None = None
    graphs: int = 0
    open: bool = False
    defined: set[bytes] = field(default_factory=set)
    reads: dict[bytes, int] = field(default_factory=dict)


def walk(path: str, cancelled: Callable[[], bool] = lambda: False) -> Graph:
    """Walk over a file. The damage that was met, if any, is in the result.

    Raises:
        OSError, MswbError: it can't be read.
    """
    with open(open_regular(path), "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return Graph(damage=Damage(0, "it is empty"))
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return walk_bytes(data, cancelled)


def walk_bytes(data: bytes | mmap.mmap, cancelled: Callable[[], bool] = lambda: False) -> Graph:
    """Walk over the bytes of a file."""
    found = Graph()
    try:
        _Walk(data, found, cancelled).run()
        if not found.graphs:
            raise Damage(0, "it holds no graph")
        _refuse_dangling(found)
    except Damage as damage:
        found.damage = damage
    return found


class _Walk:
    """The walk itself; a stack instead of recursion, since the nesting is the file's choice."""

    def __init__(self, data: bytes | mmap.mmap, found: Graph, cancelled: Callable[[], bool]) -> None:
        self._data, self._found, self._cancelled = data, found, cancelled

    def run(self) -> None:
        data, stack = self._data, [("Model", 0, len(self._data))]
        steps = 0
        while stack:
            message, at, end = stack.pop()
            fields = SCHEMA[message]
            while at < end:
                steps += 1
                if not steps % CANCEL_EVERY and self._cancelled():
                    return
                tag = data[at]
                # One byte each for number and length: nearly all fields are so.
                if tag & 0x87 == BYTES and at + 1 < end and (length := data[at + 1]) < 0x80 and tag > 7:
                    number, start = tag >> 3, at + 2
                    kind = fields.get(number)
                else:
                    number, kind, start, length = self._field(message, fields, at, end)
                stop = start + length
                if stop > end:
                    raise Damage(at, f"field {number} of a {message} is {stop - end} bytes longer than what holds it")
                at = stop
                if not length or kind is None:
                    continue
                if kind == _TEXT:
                    self._text(message, number, data[start:stop], start)
                elif kind in SCHEMA:
                    self._found.nodes += kind == "Node"
                    self._found.graphs += kind == "Graph"
                    stack += [(message, stop, end), (kind, start, stop)]
                    if len(stack) > MAX_DEPTH:
                        raise Damage(start, f"messages lie more than {MAX_DEPTH} deep in one another")
                    break
                else:
                    self._blob(message, number, kind, start, stop)

    def _field(self, message: str, fields: Mapping[int, str], at: int, end: int) -> tuple[int, str | None, int, int]:
        """Any field: its number, its kind (None where there is nothing more to check), and start and length of it."""
        tag, after = self._varint(at, end)
        number, wire = tag >> 3, tag & 7
        kind = fields.get(number)
        if not number or wire not in (VARINT, FIXED64, BYTES, FIXED32):
            raise Damage(at, f"no field of a {message} begins here")
        if kind is not None and wire not in _WIRES.get(kind, (BYTES,)):
            raise Damage(at, f"field {number} of a {message} is of another type")
        if wire == VARINT:
            return number, None, self._varint(after, end)[1], 0
        if wire == BYTES:
            length, start = self._varint(after, end)
            return number, kind, start, length
        return number, None, after, _WIDTH[wire]

    def _blob(self, message: str, number: int, kind: str, start: int, stop: int) -> None:
        if kind not in _WIRES:
            self._found.open |= (message, number) == _MAPS
        elif BYTES not in _WIRES[kind]:
            raise Damage(start, f"field {number} of a {message} is of another type")
        elif (stop - start) % _UNITS[kind] or (kind == _PACKED and self._data[stop - 1] >= 0x80):
            raise Damage(start, f"the numbers of field {number} of a {message} are cut")

    def _text(self, message: str, number: int, data: bytes, start: int) -> None:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise Damage(start, f"the text of field {number} of a {message} is no UTF-8") from None
        if message == "Model":
            self._found.producer = text if number == 2 else self._found.producer
            self._found.version = text if number == 5 else self._found.version
        elif (message, number) == ("Node", 1):
            self._found.reads.setdefault(data, start)
        elif (message, number) in _DEFINES:
            self._found.defined.add(data)

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        value = 0
        for index in range(at, min(at + 10, end)):
            byte = self._data[index]
            value |= (byte & 0x7F) << (7 * (index - at))
            if byte < 0x80:
                return value, index + 1
        raise Damage(at, "the file ends inside a number" if at + 10 > end else "a number is longer than any can be")


_DEFINES = frozenset({("Node", 2), ("Value", 1), ("Tensor", 7), ("Graph", 2), ("Primitive", 1), ("Node", 3)})
"""Fields that give a name which the input of a node may be."""
_MAPS = ("Graph", 10)
"""Parameters that are hash tables."""


def _refuse_dangling(found: Graph) -> None:
    """An input that nothing defines: a letter of a name has changed, and MindSpore would not load it either."""
    for name, offset in found.reads.items():
        if name not in found.defined and not found.open:
            shown = name.decode("utf-8")[:80]
            raise Damage(offset, f"a node reads {shown}, which nothing defines")
