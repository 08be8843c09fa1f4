"""Tuples and lists as what they are in Python: their length is known before anything runs. Places as coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.indices import integer
from mswb.convert.primitives.kernels import run
from mswb.convert.primitives.operands import tensor
from mswb.convert.program import Call


def _tuple(given: Any) -> tuple[Any, ...]:
    if not isinstance(given, tuple):
        raise Refused("its input is no tuple")
    return given


def _set(call: Call) -> tuple[Any, ...]:
    whole, at = list(_tuple(call.input(0))), integer(call.input(1), "the index")
    if not -len(whole) <= at < len(whole):
        raise Refused(f"there is no item {at} to set")
    whole[at] = call.input(2)
    return tuple(whole)


def _item(call: Call) -> Any:
    whole, at = _tuple(call.input(0)), integer(call.input(1), "the index")
    if not -len(whole) <= at < len(whole):
        raise Refused(f"there is no item {at} to take")
    return whole[at]


def _slice(call: Call) -> tuple[Any, ...]:
    ends = (integer(call.input(at), "an end of the slice") for at in (1, 2, 3))
    return _tuple(call.input(0))[slice(*ends)]


MOST = 10_000
"""Items of a tuple; shapes and lists of tensors are far shorter."""


def _repeated(call: Call) -> tuple[Any, ...]:
    whole, times = _tuple(call.input(0)), integer(call.input(1), "the factor")
    if len(whole) * times > MOST:
        raise Refused(f"a tuple would have {len(whole) * times:,} items")
    return whole * times


_PLAIN: Mapping[str, Callable[[Call], Any]] = {
    **dict.fromkeys(["SequenceLen", "sequence_len", "tuple_len", "list_len"], lambda call: len(_tuple(call.input(0)))),
    **dict.fromkeys(["TupleSetItem", "tuple_setitem", "ListSetItem", "list_setitem"], _set),
    **dict.fromkeys(["RealTupleGetItem", "list_getitem"], _item),
    **dict.fromkeys(["TupleReversed", "tuple_reversed"], lambda call: _tuple(call.input(0))[::-1]),
    **dict.fromkeys(["ListAppend", "list_append"], lambda call: (*_tuple(call.input(0)), call.input(1))),
    **dict.fromkeys(["ListToTuple", "TupleToList"], lambda call: _tuple(call.input(0))),
    "RealMakeTuple": lambda call: call.inputs,
    "SequenceAdd": lambda call: _tuple(call.input(0)) + _tuple(call.input(1)),
    "SequenceMul": _repeated,
    "SequenceSlice": _slice,
}
"""What only rearranges; the same with tensors of any kind."""


def _without_builder(make: Callable[[Call], Any]) -> Callable[[Call, OnnxBuilder], Any]:
    return lambda call, b: make(call)


# -- places


def _weights(shape: Array) -> Array:
    """How many places one step along each dimension is."""
    return np.append(np.cumprod(shape[:0:-1])[::-1], 1).astype(shape.dtype)


def _coordinates(call: Call, b: OnnxBuilder) -> Value:
    places, sizes = tensor(call, 0), tensor(call, 1)
    if sizes.array is None:
        raise Refused("the sizes are only known when the model runs", freeze=sizes.name)
    shape = sizes.array.reshape(-1, *(1,) * (places.rank or 0))
    steps = _weights(sizes.array).reshape(shape.shape)
    whole = run(b, "Div", b.unsqueeze(places, [0]), b.constant(steps.astype(places.dtype)))
    return run(b, "Mod", whole, b.constant(shape.astype(places.dtype)))


def _np_coordinates(call: Call) -> Array:
    return np.stack(np.unravel_index(call.input(0), tuple(call.input(1)))).astype(call.input(0).dtype)


def _dense(call: Call, b: OnnxBuilder) -> Value:
    shape = b.ints(call.integers("dense_shape", call.input(2)))
    values = tensor(call, 1)
    zeros = b.op("Expand", b.scalar(0, values.dtype), shape)
    return b.op("ScatterND", zeros, b.cast(tensor(call, 0), "int64"), values)


def _np_dense(call: Call) -> Array:
    found = np.zeros(call.integers("dense_shape", call.input(2)), call.input(1).dtype)
    found[tuple(call.input(0).T)] = call.input(1)
    return found


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    **{name: _without_builder(make) for name, make in _PLAIN.items()},
    "SparseToDense": _dense,
    "UnravelIndex": _coordinates,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    **_PLAIN,
    "SparseToDense": _np_dense,
    "UnravelIndex": _np_coordinates,
}
