"""Large constants of an ONNX model that stand beside it: mapped from where they lie, written piece by piece.

The model itself holds a tensor without content for each, so neither the checker nor the shape inference, nor the limit
of 2 GB that a protobuf message has, ever meets them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import ModelProto, TensorProto

from mswb.convert.graph import NUMBERS, Array
from mswb.convert.program import numpy_dtype

LARGE = 4096
"""Bytes from which a constant stands beside the model."""
PIECE = 1 << 20
"""Elements that are converted at a time."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A constant as it will be written.

    Attributes:
        dtype: of what is written.
        limited: numbers beyond the range of float16 become its largest ones.
    """

    array: Array
    dtype: str
    limited: bool = False

    @property
    def size(self) -> int:
        """Bytes that are written."""
        return int(self.array.size) * numpy_dtype(self.dtype).itemsize

    def pieces(self) -> Iterator[bytes]:
        """The content, little endian."""
        for part in parts(self.array):
            yield converted(part, self.dtype, limited=self.limited).tobytes()


Weights = Mapping[str, Stored]


def parts(array: Array) -> Iterator[Array]:
    """An array in pieces, flat."""
    flat = array.reshape(-1)
    for start in range(0, flat.size, PIECE):
        yield flat[start : start + PIECE]


def converted(array: Array, dtype: str, *, limited: bool = False) -> Array:
    """An array in another data type."""
    wanted = numpy_dtype(dtype)
    if array.dtype == wanted:
        return array
    with np.errstate(over="ignore"):
        if not limited:
            return array.astype(wanted)
        largest = float(np.finfo(np.float16).max)
        wide = array.astype(np.float32)
        return np.where(np.isfinite(wide), np.clip(wide, -largest, largest), wide).astype(wanted)


def placeholder(name: str, stored: Stored) -> TensorProto:
    """The tensor that stands in the model for a constant beside it."""
    return TensorProto(name=name, dims=stored.array.shape, data_type=NUMBERS[stored.dtype])


def without(proto: ModelProto, weights: Collection[str]) -> ModelProto:
    """A copy of the model with what stands beside it as inputs: what checks and infers wants content of constants."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    graph = copy.graph
    kept = [tensor for tensor in graph.initializer if tensor.name not in weights]
    apart = [tensor for tensor in graph.initializer if tensor.name in weights]
    given = {value.name for value in graph.input}
    del graph.initializer[:]
    graph.initializer.extend(kept)
    graph.input.extend(
        onnx.helper.make_tensor_value_info(one.name, one.data_type, list(one.dims))
        for one in apart
        if one.name not in given
    )
    return copy
