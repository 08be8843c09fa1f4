"""Tensors made of numbers alone: sequences, constants of a shape, one-hot rows, coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import extents as at
from mswb.convert.primitives.kernels import run, where
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.program import Call, numpy_dtype

Lower = Callable[[Call, OnnxBuilder], Any]
Compute = Callable[[Call], Any]
_RANGES = ("int16", "int32", "int64", "float32", "float64")
"""The data types that onnxruntime has Range for."""


# -- sequences


def _range(call: Call, b: OnnxBuilder) -> Value:
    given = [call.get(name, default) for name, default in (("start", 0), ("end", None), ("step", 1))]
    dtype = at.dtype_of(call, _kind(given)) if call.op == "Arange" else _kind(given)
    known = [one.array if isinstance(one, Value) else one for one in given]
    if None not in [one if one is None else 0 for one in known]:
        return b.constant(_counted(known).astype(numpy_dtype(dtype)))
    used = _kind(given) if _kind(given) in _RANGES else "float32" if "float" in _kind(given) else "int64"
    ends = [b.reshape(b.cast(one, used), ()) if isinstance(one, Value) else b.scalar(one, used) for one in given]
    return b.cast(b.op("Range", *ends), dtype)


def _kind(given: Sequence[Any]) -> str:
    """The data type of a sequence: that of its tensors, else what Python's numbers become."""
    kinds = [one.dtype for one in given if isinstance(one, (Value, np.ndarray))]
    named = [one if isinstance(one, str) else one.name for one in kinds]
    fractions = [one for one in named if "float" in one]
    if fractions:
        return max(fractions, key=lambda one: numpy_dtype(one).itemsize)
    if any(isinstance(one, float) for one in given):
        return "float32"
    return named[0] if len(set(named)) == 1 and len(named) == 3 else "int64"


def _counted(given: Sequence[Any]) -> Array:
    """As many elements as there are steps from the start to before the end."""
    whole = all(np.asarray(one).dtype.kind in "iub" for one in given)
    start, end, step = ((int if whole else float)(np.asarray(one).reshape(())) for one in given)
    if not step:
        raise Refused("a sequence without a step")
    count = -((end - start) // -step) if whole else np.ceil((end - start) / step)
    found: Array = start + np.arange(max(int(count), 0)) * step
    return found


def _range_now(call: Call) -> Array:
    given = [call.get(name, default) for name, default in (("start", 0), ("end", None), ("step", 1))]
    dtype = at.dtype_of(call, _kind(given)) if call.op == "Arange" else _kind(given)
    return at.converted(_counted(given), dtype)


def _spaced(call: Call, b: OnnxBuilder) -> Value:
    """Evenly from the first number to the last, both among them."""
    start, stop, count = _ends(call)
    dtype = at.dtype_of(call, _kind([start, stop, 0.0]))
    known = [one.array if isinstance(one, Value) else one for one in (start, stop)]
    if None not in [one if one is None else 0 for one in known]:
        return b.constant(_even(known[0], known[1], count).astype(numpy_dtype(dtype)))
    first, last = (
        b.reshape(b.cast(one, "float64"), ()) if isinstance(one, Value) else b.scalar(one, "float64")
        for one in (start, stop)
    )
    parts = b.constant(np.arange(count) / max(count - 1, 1))
    return b.cast(b.op("Add", first, b.op("Mul", parts, b.op("Sub", last, first))), dtype)


def _ends(call: Call) -> tuple[Any, Any, int]:
    names = ("start", "end", "steps") if call.op == "LinSpaceExt" else ("start", "stop", "num")
    return call.get(names[0]), call.get(names[1]), int(number(call, names[2]))


def _even(start: Any, stop: Any, count: int) -> Array:
    first, last = (np.asarray(one).astype(np.float64).reshape(()) for one in (start, stop))
    return first + (np.arange(count) / max(count - 1, 1)) * (last - first)


def _even_now(call: Call) -> Array:
    return _even(*_ends(call))


def _log_spaced(call: Call) -> Array:
    steps = int(number(call, "steps", 10))
    found: Array = float(number(call, "base", 10)) ** _even(call.input(0), call.input(1), steps)
    return found


def _log_lower(call: Call, b: OnnxBuilder) -> Value:
    start, stop = (tensor(call, place) for place in (0, 1))
    base, count = float(number(call, "base", 10)), int(number(call, "steps", 10))
    first, last = (b.reshape(b.cast(one, "float64"), ()) for one in (start, stop))
    parts = b.constant(np.arange(count) / max(count - 1, 1))
    even = b.op("Add", first, b.op("Mul", parts, b.op("Sub", last, first)))
    return b.cast(b.op("Pow", b.scalar(base, "float64"), even), start.dtype)


# -- one number, by shape


def _filled(fill: Callable[[Call], Any], shape: str) -> tuple[Lower, Compute]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        value, wanted = fill(call), call.get(shape) if shape else call.input(0)
        dtype = _filled_kind(call, value)
        content = b.reshape(b.cast(value, dtype), ()) if isinstance(value, Value) else b.scalar(value, dtype)
        return at.expand(b, content, wanted if isinstance(wanted, Value) else at.parts(b, wanted))

    def now(call: Call) -> Array:
        value = fill(call)
        sizes = at.integers(call.get(shape) if shape else call.input(0))
        return at.converted(np.full(sizes, np.asarray(value).reshape(())), _filled_kind(call, value))

    return lower, now


def _fill_old(call: Call, b: OnnxBuilder) -> Value:
    """By data type, shape and number."""
    dtype = at.type_name(call.input(0))
    value = call.input(2)
    content = b.reshape(b.cast(value, dtype), ()) if isinstance(value, Value) else b.scalar(value, dtype)
    return at.expand(b, content, at.parts(b, call.input(1)))


def _fill_old_now(call: Call) -> Array:
    whole = np.full(at.integers(call.input(1)), np.asarray(call.input(2)).reshape(()))
    return at.converted(whole, at.type_name(call.input(0)))


def _filled_kind(call: Call, value: Any) -> str:
    """That of the first input, of the number that fills, else float32."""
    giver = call.input(0) if call.op.startswith("New") else value
    if isinstance(giver, (Value, np.ndarray)):
        return at.dtype_of(call, giver.dtype if isinstance(giver, Value) else giver.dtype.name)
    return at.dtype_of(
        call, {bool: "bool", int: "int64"}.get(type(giver), "float32") if "Fill" in call.op else "float32"
    )


def _new_full(call: Call) -> Any:
    return call.get("fill_value")


# -- ones at places


def _one_hot(call: Call, b: OnnxBuilder) -> Value:
    """Places outside are nowhere, those below zero too; ONNX counts them from the end."""
    indices, rank = tensor(call), at.rank_of(tensor(call))
    ext = call.op == "OneHotExt"
    depth = at.parts(b, call.get("num_classes" if ext else "depth"))[0]
    if ext and depth == -1:
        most = run(b, "ReduceMax", b.reshape(b.cast(indices, "int64"), (-1,)), keepdims=1)
        depth = at.calc(b, "Add", most, 1)
    axis = at.axis_in(call.get("axis", -1), rank + 1)
    places = at.along(b, at.counted(b, depth), axis, rank + 1)
    hit = b.op("Equal", b.unsqueeze(b.cast(indices, "int64"), [axis]), places)
    return where(b, hit, *(b.reshape(one, ()) if isinstance(one, Value) else b.scalar(one, "int64")
                           for one in (call.get("on_value", 1), call.get("off_value", 0))))  # fmt: skip


def _one_hot_now(call: Call) -> Array:
    indices: Array = call.input(0)
    ext = call.op == "OneHotExt"
    depth = at.integers(call.get("num_classes" if ext else "depth"))[0]
    depth = int(indices.max()) + 1 if ext and depth == -1 else depth
    axis = at.axis_in(call.get("axis", -1), indices.ndim + 1)
    places = np.arange(depth).reshape([-1 if one == axis else 1 for one in range(indices.ndim + 1)])
    on, off = (np.asarray(one).reshape(()) for one in (call.get("on_value", 1), call.get("off_value", 0)))
    return np.where(np.expand_dims(indices, axis) == places, on, off)


# -- coordinates


def _mesh(call: Call, b: OnnxBuilder) -> tuple[Value, ...]:
    given = [one for one in call.input(0) if isinstance(one, Value)]
    lengths: list[at.Size] = [at.product(b, at.sizes(b, one)) for one in given]
    places = _crossed(call, len(given))
    wanted = [lengths[place] for place in places]
    return tuple(at.expand(b, at.along(b, one, places.index(place), len(given)), wanted)
                 for place, one in enumerate(given))  # fmt: skip


def _crossed(call: Call, count: int) -> list[int]:
    """Which input each dimension of the result is long as: the first two change places in "xy"."""
    xy = call.get("indexing", "xy") in (1, "xy")
    return [1, 0, *range(2, count)] if xy and count > 1 else list(range(count))


def _mesh_now(call: Call) -> tuple[Array, ...]:
    xy = call.get("indexing", "xy") in (1, "xy")
    return tuple(np.meshgrid(*(one.reshape(-1) for one in call.input(0)), indexing="xy" if xy else "ij"))


_ONE_HOT = (_one_hot, _one_hot_now)
_RANGE, _SPACED = (_range, _range_now), (_spaced, _even_now)
_BOTH: Mapping[str, tuple[Lower, Compute]] = {
    "Arange": _RANGE,
    "Fill": (_fill_old, _fill_old_now),
    "FillScalar": _filled(lambda call: call.get("fill_value"), "size"),
    "FillTensor": _filled(lambda call: call.get("fill_value"), "size"),
    "FillV2": _filled(lambda call: call.input(1), ""),
    "LinSpace": _SPACED,
    "LinSpaceExt": _SPACED,
    "LogSpace": (_log_lower, _log_spaced),
    "Meshgrid": (_mesh, _mesh_now),
    "NewFull": _filled(_new_full, "size"),
    "NewOnes": _filled(lambda call: 1, "size"),
    "NewZeros": _filled(lambda call: 0, "size"),
    "OneHot": _ONE_HOT,
    "OneHotExt": _ONE_HOT,
    "Ones": _filled(lambda call: 1, "shape"),
    "Range": _RANGE,
    "Zeros": _filled(lambda call: 0, "size"),
}
TO_ONNX: Mapping[str, Lower] = {name: both[0] for name, both in _BOTH.items()}
EVALUATE: Mapping[str, Compute] = {name: both[1] for name, both in _BOTH.items()}
