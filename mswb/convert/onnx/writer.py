"""An ONNX model as a file: the model's own bytes, and its large constants streamed behind them or into one beside it.

A protobuf message ends at 2 GB; over that, constants are ONNX's external data in ``NAME.data``.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from onnx import ModelProto, TensorProto

from mswb.convert.mindir.writer import varint
from mswb.convert.onnx.weights import Weights
from mswb.files.safety import ordinary_mode, refuse_special
from mswb.files.wire import BYTES
from mswb.findings import stop

LIMIT = (1 << 31) - (1 << 20)
"""Bytes up to which everything is in one file."""
ALIGNED = 4096
"""Constants in a file of their own start at a multiple of this, so that a runtime can map each."""
_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
"""Numbers of fields in onnx.proto: of a model, a graph, a tensor."""


def write(proto: ModelProto, weights: Weights, path: str, *, limit: int = LIMIT) -> int:
    """Write a model, wholly or not at all, and return the bytes of its files.

    Args:
        weights: the constants that stand beside it.
        limit: bytes up to which everything is in one file.

    Raises:
        MswbError: ``path-unwritable``; what was at ``path`` is untouched.
    """
    stripped = _stripped(proto, weights)
    small = stripped.graph.SerializeToString()
    total = len(small) + sum(one.size + ALIGNED for one in weights.values())
    beside = f"{os.path.basename(path)}.data" if total > limit else ""
    heads = _heads(proto, weights, beside)
    written = 0
    try:
        with ExitStack() as stack:
            ready = [_Temporary(path, stack)]
            if beside:
                ready.insert(0, _Temporary(f"{path}.data", stack))
                _put_apart(weights, heads, ready[0])
            _put_model(stripped, small, weights, heads, ready[-1], beside=bool(beside))
            for one in ready:
                written += one.finish()
            for one in ready:  # the constants first: a model never names a file that is not there
                one.move()
        _sync(os.path.dirname(os.path.abspath(path)))
    except OSError as problem:
        raise stop("path-unwritable", values={"path": path, "reason": problem.strerror}) from None
    return written


def _stripped(proto: ModelProto, weights: Weights) -> ModelProto:
    """A copy of the model without the constants beside it."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    kept = [tensor for tensor in copy.graph.initializer if tensor.name not in weights]
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(kept)
    return copy


@dataclass(frozen=True, slots=True)
class _Head:
    """A constant's tensor without its content, and where that starts in a file of its own."""

    tensor: bytes
    at: int


def _heads(proto: ModelProto, weights: Weights, beside: str) -> Mapping[str, _Head]:
    found, at = dict[str, _Head](), 0
    for tensor in proto.graph.initializer:
        stored = weights.get(tensor.name)
        if stored is None:
            continue
        head = TensorProto(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type)
        if beside:
            head.data_location = TensorProto.EXTERNAL
            for key, value in (("location", beside), ("offset", str(at)), ("length", str(stored.size))):
                head.external_data.add(key=key, value=value)
        found[tensor.name] = _Head(head.SerializeToString(), at)
        at += -(-stored.size // ALIGNED) * ALIGNED
    return found


def _put_apart(weights: Weights, heads: Mapping[str, _Head], file: _Temporary) -> None:
    for name, head in heads.items():
        file.put(bytes(head.at - file.size))
        for piece in weights[name].pieces():
            file.put(piece)


def _put_model(
    stripped: ModelProto, small: bytes, weights: Weights, heads: Mapping[str, _Head], file: _Temporary, *, beside: bool
) -> None:
    tensors = {name: list(_tensor(head.tensor, 0 if beside else weights[name].size)) for name, head in heads.items()}
    held = {name: 0 if beside else weights[name].size for name in heads}
    length = len(small) + sum(sum(map(len, tensors[name])) + held[name] for name in heads)
    stripped.ClearField("graph")
    file.put(stripped.SerializeToString())
    file.put(_key(_GRAPH) + varint(length))
    file.put(small)
    for name in heads:
        for piece in tensors[name]:
            file.put(piece)
        for piece in () if beside else weights[name].pieces():
            file.put(piece)


def _tensor(head: bytes, content: int) -> Iterator[bytes]:
    """What comes before the content of an initializer."""
    raw = _key(_RAW_DATA) + varint(content) if content else b""
    yield _key(_INITIALIZER) + varint(len(head) + len(raw) + content)
    yield head
    yield raw


def _key(number: int) -> bytes:
    return varint(number << 3 | BYTES)


class _Temporary:
    """A file beside the one that it becomes; gone unless it is moved."""

    def __init__(self, path: str, stack: ExitStack) -> None:
        refuse_special(path)
        folder, name = os.path.split(os.path.abspath(path))
        self.size = 0
        self._path = path
        descriptor, self._temporary = tempfile.mkstemp(dir=folder, prefix=f".{name[:100]}.", suffix=".tmp")
        stack.callback(self._discard)
        self._file = stack.enter_context(os.fdopen(descriptor, "wb"))
        os.fchmod(descriptor, ordinary_mode())

    def put(self, data: bytes) -> None:
        """Add bytes."""
        self._file.write(data)
        self.size += len(data)

    def finish(self) -> int:
        """Bring it to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self.size

    def move(self) -> None:
        """Put it in its place."""
        os.replace(self._temporary, self._path)
        self._temporary = ""

    def _discard(self) -> None:
        if self._temporary:
            os.unlink(self._temporary)


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
