"""Tensors side by side, and one tensor repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import extents as at
from mswb.convert.primitives.operands import common_dtype, number, tensor
from mswb.convert.program import Call, numpy_dtype

Lower = Callable[[Call, OnnxBuilder], Any]
Compute = Callable[[Call], Any]


def _members(call: Call, b: OnnxBuilder) -> list[Value]:
    """The tensors, of one data type."""
    given = call.input(0) if isinstance(call.input(0), tuple) else call.inputs
    found = [one for one in given if isinstance(one, Value)]
    if not found or len(found) < len(call.input(0) if isinstance(call.input(0), tuple) else ()):
        raise Refused("its input 0 is no tuple of tensors")
    dtype = common_dtype(list(found))
    return [b.cast(one, dtype) for one in found]


def _axis(call: Call) -> Any:
    return call.get("dim", 0) if call.op == "StackExt" else call.get("axis", 0)


def _concat(call: Call, b: OnnxBuilder) -> Value:
    given = _members(call, b)
    rank = max(at.rank_of(one) for one in given)
    return b.op("Concat", *given, axis=at.axis_in(_axis(call), rank)) if len(given) > 1 else given[0]


def _stack(call: Call, b: OnnxBuilder) -> Value:
    given = _members(call, b)
    axis = at.axis_in(_axis(call), at.rank_of(given[0]) + 1)
    new = [b.unsqueeze(one, [axis]) for one in given]
    return b.op("Concat", *new, axis=axis) if len(new) > 1 else new[0]


def _arrays(call: Call) -> Sequence[Array]:
    given = call.input(0) if isinstance(call.input(0), tuple) else call.inputs
    return [one for one in given if isinstance(one, np.ndarray)]


# -- repeated


def _tile(call: Call, b: OnnxBuilder) -> Value:
    """As often as said, the last axes first; what is missing of either is 1."""
    x, rank = tensor(call), at.rank_of(tensor(call))
    times = at.parts(b, call.input(1) if len(call.inputs) > 1 else call.get("multiples"))
    if len(times) > rank:
        x = b.unsqueeze(x, range(len(times) - rank))
    missing: list[at.Size] = [1] * (at.rank_of(x) - len(times))
    times = missing + times
    if all(one == 1 for one in times):
        return x
    return at.carried(b, "Tile", x, at.vector(b, tuple(times)))


def _tile_now(call: Call) -> Array:
    return np.tile(call.input(0), at.integers(call.input(1) if len(call.inputs) > 1 else call.get("multiples")))


def _each(call: Call, b: OnnxBuilder) -> Value:
    """Every element as often."""
    x, times = tensor(call), int(number(call, "repeats"))
    x, axis = _flat_or_axis(call, b, x)
    parts = at.sizes(b, x)
    wide = at.expand(b, b.unsqueeze(x, [axis + 1]), [*parts[: axis + 1], times, *parts[axis + 1 :]])
    whole = at.calc(b, "Mul", parts[axis], times)
    return at.reshape(b, wide, [*parts[:axis], whole, *parts[axis + 1 :]])


def _flat_or_axis(call: Call, b: OnnxBuilder, x: Value) -> tuple[Value, int]:
    dim = call.get("dim", None)
    return (b.reshape(x, (-1,)), 0) if dim is None else (x, at.axis_in(dim, at.rank_of(x)))


def _each_by(call: Call, b: OnnxBuilder) -> Value:
    """Every element by its own number: a result takes the first element whose running total lies above its place."""
    x, axis = _flat_or_axis(call, b, tensor(call))
    given = call.get("repeats")
    repeats = at.vector(b, given)
    if repeats.shape in ((1,), ()):
        repeats = at.expand(b, repeats, [at.size(b, x, axis)])
    totals = b.op("CumSum", repeats, b.scalar(0, "int64"))
    whole = b.op("ReduceSum", repeats, b.ints([0]), keepdims=1)
    places = b.unsqueeze(at.counted(b, whole), [1])
    passed = b.cast(b.op("GreaterOrEqual", places, b.unsqueeze(totals, [0])), "int64")
    return b.op("Gather", x, b.op("ReduceSum", passed, b.ints([1]), keepdims=0), axis=axis)


def _repeat_now(call: Call) -> Array:
    x: Array = call.input(0)
    dim = call.get("dim", None)
    repeats = at.integers(call.get("repeats"))
    axis = None if dim is None else at.axis_in(dim, x.ndim)
    return np.repeat(x, repeats[0] if len(repeats) == 1 else repeats, axis)


# -- tuples


def _to_tuple(call: Call, b: OnnxBuilder) -> tuple[Any, ...]:
    x = tensor(call)
    if x.array is not None:
        return tuple(x.array.reshape(-1).tolist())
    count = None if x.shape is None else x.shape[0]
    if count is None:
        raise Refused("how many elements there are is only known when the model runs")
    found = at.Parts(b.op("Gather", x, b.scalar(place, "int64"), axis=0) for place in range(count))
    found.whole = b.cast(x, "int64")
    return found


def _from_tuple(call: Call, b: OnnxBuilder) -> Value:
    given = call.input(0)
    dtype = at.dtype_of(call, _natural(given))
    if all(isinstance(one, (bool, int, float)) for one in given):
        return b.constant(np.array(given).astype(numpy_dtype(dtype)))
    flat = [one if isinstance(one, Value) else b.constant(np.array(one)) for one in given]
    return b.op("Concat", *(b.reshape(b.cast(one, dtype), (1,)) for one in flat), axis=0)


def _natural(given: Any) -> str:
    kinds = [one.dtype if isinstance(one, Value) else np.asarray(one).dtype.name for one in given]
    if any(kind.startswith("float") or kind == "bfloat16" for kind in kinds):
        return next((kind for kind in kinds if kind in ("float16", "bfloat16")), "float32")
    return "bool" if set(kinds) == {"bool"} else "int64"


def _from_tuple_now(call: Call) -> Array:
    found = np.array([np.asarray(one).item() for one in call.input(0)])
    return at.converted(found, at.dtype_of(call, "float64" if found.dtype.kind == "f" else found.dtype.name))


_CONCAT = (_concat, lambda call: np.concatenate(_arrays(call), at.integers(_axis(call))[0]))
_STACK = (_stack, lambda call: np.stack(_arrays(call), at.integers(_axis(call))[0]))
_TILE = (_tile, _tile_now)
_FROM_TUPLE = (_from_tuple, _from_tuple_now)
_BOTH: Mapping[str, tuple[Lower, Compute]] = {
    "Concat": _CONCAT,
    "ListToTensor": _FROM_TUPLE,
    "Pack": _STACK,
    "Repeat": _TILE,
    "RepeatInterleaveInt": (_each, _repeat_now),
    "RepeatInterleaveTensor": (_each_by, _repeat_now),
    "Stack": _STACK,
    "SequenceConcat": _CONCAT,
    "SequenceStack": _STACK,
    "StackExt": _STACK,
    "TensorToTuple": (_to_tuple, lambda call: tuple(call.input(0).reshape(-1).tolist())),
    "Tile": _TILE,
    "TupleToArray": _FROM_TUPLE,
    "TupleToTensor": _FROM_TUPLE,
}
TO_ONNX: Mapping[str, Lower] = {name: both[0] for name, both in _BOTH.items()}
EVALUATE: Mapping[str, Compute] = {name: both[1] for name, both in _BOTH.items()}
