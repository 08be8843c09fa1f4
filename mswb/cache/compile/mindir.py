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
_FIXED = {"float": FIXED32, "double": FIXED64}
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
        stack = [("Model", 0, len(self._data))]
        steps = 0
        while stack:
            steps += 1
            if not steps % CANCEL_EVERY and self._cancelled():
                return
            message, at, end = stack.pop()
            if at == end:
                continue
            at, inner = self._field(message, at, end)
            stack.append((message, at, end))
            if inner is not None:
                if len(stack) > MAX_DEPTH:
                    raise Damage(inner[1], f"messages lie more than {MAX_DEPTH} deep in one another")
                stack.append(inner)

    def _field(self, message: str, at: int, end: int) -> tuple[int, tuple[str, int, int] | None]:
        """Check the field at ``at``; returns where the next one is, and the message in it if there is one."""
        tag, after = self._varint(at, end)
        number, wire = tag >> 3, tag & 7
        if not number or wire not in (VARINT, FIXED64, BYTES, FIXED32):
            raise Damage(at, f"no field of a {message} begins here")
        kind = SCHEMA[message].get(number)
        if wire == VARINT:
            _, after = self._varint(after, end)
            self._expect(kind in (None, _NUMBER, _PACKED), message, number, at)
            return after, None
        if wire in _WIDTH:
            fits = kind is None or _FIXED.get(kind, {_PACKED32: FIXED32, _PACKED64: FIXED64}.get(kind)) == wire
            self._expect(fits, message, number, at)
            self._inside(after + _WIDTH[wire], end, at, message, number)
            return after + _WIDTH[wire], None
        length, start = self._varint(after, end)
        stop = start + length
        self._inside(stop, end, at, message, number)
        self._expect(kind not in (_NUMBER, "float", "double"), message, number, at)
        return stop, self._bytes(message, number, kind, start, stop)

    def _bytes(self, message: str, number: int, kind: str | None, start: int, stop: int) -> tuple[str, int, int] | None:
        if kind in SCHEMA:
            assert kind is not None
            self._found.nodes += kind == "Node"
            self._found.graphs += kind == "Graph"
            return kind, start, stop
        if kind == _TEXT:
            self._text(message, number, self._data[start:stop], start)
        elif (message, number) == _MAPS:
            self._found.open = True
        elif kind in (_PACKED32, _PACKED64) and (stop - start) % (4 if kind == _PACKED32 else 8):
            raise Damage(start, f"the numbers of field {number} of a {message} are cut")
        elif kind == _PACKED:
            while start < stop:
                _, start = self._varint(start, stop)
        return None

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

    @staticmethod
    def _inside(stop: int, end: int, at: int, message: str, number: int) -> None:
        if stop > end:
            raise Damage(at, f"field {number} of a {message} is {stop - end} bytes longer than what holds it")

    @staticmethod
    def _expect(fits: bool, message: str, number: int, at: int) -> None:
        if not fits:
            raise Damage(at, f"field {number} of a {message} is of another type")


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
