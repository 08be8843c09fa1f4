"""What writes into a tensor at given places: the result is a new tensor, and a weight can't be the one written to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.gather import elements
from mswb.convert.primitives.indices import (
    axis_of,
    counted,
    filled,
    integer,
    joined,
    moved,
    places,
    rank,
    sizes,
    together,
)
from mswb.convert.primitives.kernels import where
from mswb.convert.primitives.operands import tensor
from mswb.convert.program import Call

_ENUM = {0: "none", 1: "add"}
"""How MindSpore writes the argument ``reduce``."""
_NARROW = {"float16": "float32"}
"""Data types in which onnxruntime reduces nothing."""


def _reduction(given: Any) -> str:
    found = _ENUM.get(given) if isinstance(given, int) else given
    if found not in ("none", "add"):
        raise Refused(f"reduce {given!r} is not one that MindSpore has", attribute="reduce")
    return str(found)


def _named(call: Call, name: str) -> Value:
    found = call.get(name)
    if not isinstance(found, Value):
        raise Refused(f"{name} is no tensor")
    return found


def _wide(reduction: str, dtype: str) -> str:
    if dtype == "bool" and reduction in ("max", "min"):
        return "uint8"
    return dtype if reduction == "none" else _NARROW.get(dtype, dtype)


# -- ONNX


def put(b: OnnxBuilder, data: Value, index: Value, updates: Value, how: str = "none") -> Value:
    """``updates`` at the points of ``index``, whose last dimension tells them; ``how``: none, add, sub, mul, div,
    max or min."""
    index = b.cast(index, "int64")
    if how == "div":
        return _divided(b, data, index, updates)
    reduction = "add" if how == "sub" else how
    used = _wide(reduction, data.dtype)
    new = b.cast(updates, used)
    if how == "sub":
        new = b.op("Sub", b.scalar(0, used), new)
    odd = how in ("max", "min") and used in ("float32", "float64")
    if odd:  # a new NaN is not more or less than anything, and nothing is than an old one
        new = b.op("Where", b.op("IsNaN", new), b.scalar(-np.inf if how == "max" else np.inf, used), new)
    old = b.cast(data, used)
    found = b.op("ScatterND", old, index, new, reduction=None if reduction == "none" else reduction)
    return b.cast(b.op("Where", b.op("IsNaN", old), old, found) if odd else found, data.dtype)


def _divided(b: OnnxBuilder, data: Value, index: Value, updates: Value) -> Value:
    """Division by the product of what meets in one place, in double precision."""
    if data.dtype not in ("float16", "float32"):
        return _divided_once(b, data, index, updates)
    ones = filled(b, b.shape_of(data), 1.0, "float64")
    whole = b.op("ScatterND", ones, index, b.cast(updates, "float64"), reduction="mul")
    return b.cast(b.op("Div", b.cast(data, "float64"), whole), data.dtype)


def _divided_once(b: OnnxBuilder, data: Value, index: Value, updates: Value) -> Value:
    if (
        index.array is None
        or len(np.unique(index.array.reshape(-1, index.array.shape[-1]), axis=0)) < index.array[..., 0].size
    ):
        raise Refused(f"a division of {data.dtype} whose places may meet has no form in ONNX")
    return put(b, data, index, b.op("Div", b.op("GatherND", data, index), updates))


def _points(how: str) -> Callable[[Call, OnnxBuilder], Value]:
    return lambda call, b: put(b, tensor(call, 0), tensor(call, 1), tensor(call, 2), how)


def _not_constant(data: Value) -> Value:
    if data.array is not None:
        raise Refused("it changes a weight, and weights of a model in ONNX stay as they are")
    return data


def _of_parameter(how: str) -> Callable[[Call, OnnxBuilder], Value]:
    return lambda call, b: put(b, _not_constant(tensor(call, 0)), tensor(call, 1), tensor(call, 2), how)


def _assigned(call: Call, b: OnnxBuilder) -> Value:
    raise Refused("it changes a weight, and weights of a model in ONNX stay as they are")


def _rows(how: str) -> Callable[[Call, OnnxBuilder], Value]:
    """Whole rows of the first dimension."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        index = b.unsqueeze(tensor(call, 1), [-1])
        return put(b, _not_constant(tensor(call, 0)), index, tensor(call, 2), how)

    return lower


def scattered(b: OnnxBuilder, data: Value, index: Value, updates: Value, axis: int, reduction: str) -> Value:
    """``updates`` at the places of ``index`` along one dimension."""
    used = _wide(reduction, data.dtype)
    given = b.cast(data, used), places(b, index), b.cast(updates, used)
    how = None if reduction == "none" else reduction
    return b.cast(b.op("ScatterElements", *given, axis=axis, reduction=how), data.dtype)


def _elements(axis: str, index: str, source: str, reduction: str = "") -> Callable[[Call, OnnxBuilder], Value]:
    """By the names of the arguments; ``reduction`` where the operator has no argument for it."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        data, at = tensor(call, 0), _named(call, index)
        given = call.get(source)
        dimension = axis_of(call, axis, rank(data))
        if not isinstance(given, Value):
            if not isinstance(given, (int, float)):
                raise Refused(f"{source} is no tensor and no number")
            given = b.op("Expand", b.scalar(given, data.dtype), b.shape_of(at))
        how = reduction or _reduction(call.get("reduce", 0))
        if given.fixed is None or given.fixed != at.fixed:
            given = _trimmed(b, given, at)
        return scattered(b, data, at, given, dimension, how)

    return lower


def _trimmed(b: OnnxBuilder, source: Value, index: Value) -> Value:
    """The part of a source that an index of smaller sizes reaches."""
    if rank(source) != rank(index):
        raise Refused("its source and its index differ in rank")
    zeros = b.ints([0] * rank(index))
    return b.op("Slice", source, zeros, b.shape_of(index)) if rank(index) else source


def _add_rows(axis: str, index: int, source: int) -> Callable[[Call, OnnxBuilder], Value]:
    """Slices of one dimension are added to, by the places of the arguments."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        data, at = _not_constant(tensor(call, 0)), b.unsqueeze(b.reshape(tensor(call, index), (-1,)), [-1])
        dimension = axis_of(call, axis, rank(data))
        new = b.cast(tensor(call, source), data.dtype)
        alpha = call.get("alpha", 1)
        if isinstance(alpha, Value) or alpha != 1:
            factor = b.cast(alpha, data.dtype) if isinstance(alpha, Value) else b.scalar(alpha, data.dtype)
            new = b.op("Mul", new, factor)
        found = put(b, moved(b, data, dimension, 0), at, moved(b, new, dimension, 0), "add")
        return moved(b, found, 0, dimension)

    return lower


def _fill_rows(call: Call, b: OnnxBuilder) -> Value:
    """Slices of one dimension hold one number; it is written where a vector of flags tells."""
    data, at = tensor(call, 0), b.reshape(places(b, tensor(call, 2)), (-1,))
    dimensions = rank(data)
    dimension = counted(integer(call.input(1), "the dimension"), dimensions)
    given = call.input(3)
    value = b.cast(given, data.dtype) if isinstance(given, Value) else b.scalar(given, data.dtype)
    flags = filled(b, sizes(b, data, dimension, dimension + 1), 0, "uint8")
    ones = filled(b, b.shape_of(at), 1, "uint8")
    marked = b.cast(b.op("ScatterElements", flags, at, ones, axis=0), "bool")
    return where(b, b.unsqueeze(marked, range(1, dimensions - dimension)), value, data)


def _advanced(values: int, indices: int) -> Callable[[Call, OnnxBuilder], Value]:
    """Tensors of indices for the first dimensions, by the places of the arguments."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        given = call.input(indices)
        if not isinstance(given, tuple) or not all(isinstance(one, Value) and one.dtype != "bool" for one in given):
            raise Refused("only tensors of integers from the first dimension on are indices in ONNX")
        data, at = tensor(call, 0), together(b, given)
        shape = joined(b, [sizes(b, at, 0, -1), sizes(b, data, len(given))])
        new = b.op("Expand", b.cast(tensor(call, values), data.dtype), shape)
        accumulate = call.get("accumulate", False)
        if not isinstance(accumulate, int):
            raise Refused("accumulate is only known when the model runs", attribute="accumulate")
        return put(b, data, at, new, "add" if accumulate else "none")

    return lower


def _from_nothing(call: Call, b: OnnxBuilder) -> Value:
    """What meets in one place of a tensor of zeros is added up."""
    index, updates, shape = tensor(call, 0), tensor(call, 1), call.get("shape")
    if isinstance(shape, tuple):
        parts = [b.reshape(b.cast(one, "int64"), (1,)) if isinstance(one, Value) else b.ints([one]) for one in shape]
        shape = joined(b, parts)
    if not isinstance(shape, Value):
        raise Refused("shape is no tuple of integers", attribute="shape")
    return put(b, filled(b, b.cast(shape, "int64"), 0, updates.dtype), index, updates, "add")


def _places_of(call: Call) -> Array:
    return np.array(call.integers("indices"), np.int64)


def _constant_rows(how: str) -> Callable[[Call, OnnxBuilder], Value]:
    """Rows whose places are an attribute."""
    return lambda call, b: put(b, tensor(call, 0), b.constant(_places_of(call)[:, None]), tensor(call, 1), how)


def _axis_added(call: Call, b: OnnxBuilder) -> Value:
    data = tensor(call, 0)
    return scattered(b, data, tensor(call, 1), tensor(call, 2), axis_of(call, "axis", rank(data), 0), "add")


# -- numpy


def _truncated(data: Array, at: Any, new: Array) -> None:
    """Division of integers, one after the other, towards zero."""
    flat, spots = data.reshape(-1), np.arange(data.size).reshape(data.shape)[at]
    for spot, one in zip(spots.reshape(-1), np.broadcast_to(new, spots.shape).reshape(-1), strict=True):
        found = abs(int(flat[spot])) // abs(int(one))
        flat[spot] = found if (flat[spot] < 0) == (one < 0) else -found


def _divide(data: Array, at: Any, new: Array) -> None:
    (_truncated if data.dtype.kind in "iu" else np.divide.at)(data, at, new)


def _set(data: Array, at: Any, new: Array) -> None:
    data[at] = new


def _extreme(reduce: Any, missing: float) -> Callable[[Array, Any, Array], None]:
    """A new NaN changes nothing, and an old one stays."""

    def change(data: Array, at: Any, new: Array) -> None:
        reduce.at(data, at, np.where(np.isnan(new), missing, new) if new.dtype.kind == "f" else new)

    return change


_AT: Mapping[str, Callable[[Array, Any, Array], None]] = {
    "none": _set, "add": np.add.at, "sub": np.subtract.at, "mul": np.multiply.at, "div": _divide,
    "max": _extreme(np.maximum, -np.inf), "min": _extreme(np.minimum, np.inf),
}  # fmt: skip


def _np_put(data: Array, at: Any, new: Array, how: str) -> Array:
    found = np.array(data)
    _AT[how](found, at, np.asarray(new).astype(found.dtype))
    return found


def _np_points(how: str) -> Callable[[Call], Array]:
    return lambda call: _np_put(call.input(0), tuple(np.moveaxis(call.input(1), -1, 0)), call.input(2), how)


def _np_rows(how: str) -> Callable[[Call], Array]:
    return lambda call: _np_put(call.input(0), (call.input(1),), call.input(2), how)


def _np_assigned(how: str) -> Callable[[Call], Array]:
    return lambda call: _np_put(call.input(0), ..., np.broadcast_to(call.input(1), np.shape(call.input(0))), how)


def _np_elements(axis: str, index: str, source: str, reduction: str = "") -> Callable[[Call], Array]:
    def lower(call: Call) -> Array:
        data, at, new = call.input(0), call.get(index), call.get(source)
        how = reduction or _reduction(call.get("reduce", 0))
        if isinstance(new, np.ndarray):
            new = new[tuple(slice(0, size) for size in at.shape)]
        full = elements(data, at, axis_of(call, axis, data.ndim))
        return _np_put(data, full, np.broadcast_to(new, at.shape), how)

    return lower


def _np_add_rows(axis: str, index: int, source: int) -> Callable[[Call], Array]:
    def lower(call: Call) -> Array:
        found = np.array(call.input(0))
        at = (slice(None),) * axis_of(call, axis, found.ndim) + (call.input(index).reshape(-1),)
        np.add.at(found, at, (call.input(source) * call.get("alpha", 1)).astype(found.dtype))
        return found

    return lower


def _np_fill_rows(call: Call) -> Array:
    found = np.array(call.input(0))
    dimension = counted(integer(call.input(1), "the dimension"), found.ndim)
    found[(slice(None),) * dimension + (call.input(2).reshape(-1),)] = call.input(3)
    return found


def _np_from_nothing(call: Call) -> Array:
    shape = [integer(one, "shape") for one in np.ravel(call.get("shape"))]
    zeros = np.zeros(shape, call.input(1).dtype)
    return _np_put(zeros, tuple(np.moveaxis(call.input(0), -1, 0)), call.input(1), "add")


def _np_advanced(values: int, indices: int) -> Callable[[Call], Array]:
    def lower(call: Call) -> Array:
        how = "add" if call.get("accumulate", False) else "none"
        return _np_put(call.input(0), tuple(call.input(indices)), call.input(values), how)

    return lower


def _np_constant_rows(how: str) -> Callable[[Call], Array]:
    return lambda call: _np_put(call.input(0), (_places_of(call),), call.input(1), how)


def _np_axis_added(call: Call) -> Array:
    data = call.input(0)
    at = elements(data, call.input(1), axis_of(call, "axis", data.ndim, 0))
    return _np_put(data, at, call.input(2), "add")


_HOW = {"Update": "none", "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Max": "max", "Min": "min"}
_BY_INDEX = {
    "TensorScatterElements": ("axis", "indices", "updates"),
    "Scatter": ("dim", "index", "src"),
    "ScatterValue": ("dim", "index", "src"),
    "ScatterAddExt": ("dim", "index", "src", "add"),
    "InplaceScatterSrc": ("dim", "index", "src", "none"),
    "InplaceScatterSrcReduce": ("dim", "index", "src"),
    "InplaceScatterValue": ("dim", "index", "value", "none"),
    "InplaceScatterValueReduce": ("dim", "index", "value"),
    "InplaceScatterAdd": ("dim", "index", "src", "add"),
}
_SLICES = {
    "IndexAdd": ("axis", 1, 2),
    "InplaceIndexAdd": ("axis", 1, 2),
    "IndexAddExt": ("dim", 2, 3),
    "InplaceIndexAddExt": ("dim", 2, 3),
}
_FILLED = ("IndexFill", "IndexFillScalar", "IndexFillTensor", "InplaceIndexFillScalar", "InplaceIndexFillTensor")
_TUPLES = {"IndexPut": (1, 2), "InplaceIndexPut": (2, 1), "InnerInplaceIndexPut": (2, 1)}

_ASSIGNED = {"Assign": "none", "AssignAdd": "add", "AssignSub": "sub"}

TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    **{f"TensorScatter{name}": _points(how) for name, how in _HOW.items()},
    **{f"ScatterNd{name}": _of_parameter(how) for name, how in _HOW.items()},
    **{f"Scatter{name}": _rows(how) for name, how in _HOW.items()},
    **{name: _elements(*arguments) for name, arguments in _BY_INDEX.items()},
    **{name: _add_rows(*arguments) for name, arguments in _SLICES.items()},
    **dict.fromkeys(_FILLED, _fill_rows),
    **{name: _advanced(*arguments) for name, arguments in _TUPLES.items()},
    **{f"Inplace{name}": _constant_rows(_HOW[name]) for name in ("Add", "Sub", "Update")},
    **dict.fromkeys(_ASSIGNED, _assigned),
    "ScatterAddWithAxis": _axis_added,
    "ScatterNd": _from_nothing,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    **{f"TensorScatter{name}": _np_points(how) for name, how in _HOW.items()},
    **{f"ScatterNd{name}": _np_points(how) for name, how in _HOW.items()},
    **{f"Scatter{name}": _np_rows(how) for name, how in _HOW.items()},
    **{name: _np_elements(*arguments) for name, arguments in _BY_INDEX.items()},
    **{name: _np_add_rows(*arguments) for name, arguments in _SLICES.items()},
    **dict.fromkeys(_FILLED, _np_fill_rows),
    **{name: _np_advanced(*arguments) for name, arguments in _TUPLES.items()},
    **{f"Inplace{name}": _np_constant_rows(_HOW[name]) for name in ("Add", "Sub", "Update")},
    **{name: _np_assigned(how) for name, how in _ASSIGNED.items()},
    "ScatterAddWithAxis": _np_axis_added,
    "ScatterNd": _np_from_nothing,
}
