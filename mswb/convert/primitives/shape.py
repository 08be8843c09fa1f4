"""Other sizes, another order of dimensions, repetition by broadcasting, and what a shape is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import extents as at
from mswb.convert.primitives.operands import tensor
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Compute = Callable[[Call], Any]


# -- sizes


def _reshape(call: Call, b: OnnxBuilder) -> Value:
    x, wanted = tensor(call), call.input(1)
    if at.numbers(wanted) is None and isinstance(wanted, (Value, at.Parts)):
        whole = at.vector(b, wanted)
        return b.op("Reshape", x, whole, allowzero=1, shape=at.open_shape(whole))
    return at.reshape(b, x, at.parts(b, wanted))


def _reshape_now(call: Call) -> Array:
    found: Array = call.input(0).reshape(at.integers(call.input(1)))
    return found


def _view_as(call: Call, b: OnnxBuilder) -> Value:
    return at.reshape(b, tensor(call), at.sizes(b, tensor(call, 1)))


def _flatten(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    rank = at.rank_of(x)
    return at.reshape(b, x, (-1,)) if rank < 2 else b.op("Flatten", x, axis=1)


def _flatten_now(call: Call) -> Array:
    x: Array = call.input(0)
    return x.reshape(x.shape[0], int(np.prod(x.shape[1:]))) if x.ndim > 1 else x.reshape(-1)


def _flatten_part(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    rank = at.rank_of(x)
    if not rank:
        return b.reshape(x, (1,))
    first, last = (at.axis_in(call.get(name), rank) for name in ("start_dim", "end_dim"))
    parts = at.sizes(b, x)
    return at.reshape(b, x, [*parts[:first], at.product(b, parts[first : last + 1]), *parts[last + 1 :]])


def _flatten_part_now(call: Call) -> Array:
    x: Array = call.input(0)
    if not x.ndim:
        return x.reshape(1)
    first, last = (at.axis_in(call.get(name), x.ndim) for name in ("start_dim", "end_dim"))
    return x.reshape(*x.shape[:first], int(np.prod(x.shape[first : last + 1])), *x.shape[last + 1 :])


def _squeeze(call: Call, b: OnnxBuilder) -> Value:
    """Dimensions that are not of size 1 stay, even where they are named."""
    x = tensor(call)
    asked = call.get("axis", None)
    rank = at.rank_of(x)
    axes = at.axes_in(asked, rank)
    if x.shape is not None and at.numbers(asked) in (None, ()) and None in x.shape:
        raise Refused("which dimensions are of size 1 is only known when the model runs")
    return b.squeeze(x, [axis for axis in axes if x.shape is not None and x.shape[axis] in (1, None)])


def _squeeze_now(call: Call) -> Array:
    x: Array = call.input(0)
    return np.squeeze(x, tuple(axis for axis in at.axes_in(call.get("axis", None), x.ndim) if x.shape[axis] == 1))


def _new_axis(name: str) -> tuple[Lower, Compute]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        given = at.fixed(call.get(name), name)
        if x.rank is None:
            return b.unsqueeze(x, given)
        return b.unsqueeze(x, [at.axis_in(axis, x.rank + len(given)) for axis in given])

    return lower, lambda call: np.expand_dims(call.input(0), at.integers(call.get(name)))


# -- order


def _order(call: Call, rank: int) -> list[int]:
    given = at.fixed(call.input(1), "the order of dimensions") if len(call.inputs) > 1 else call.integers("perm")
    if len(given) != rank:
        raise Refused(f"an order of {len(given)} for {rank} dimensions")
    return [at.axis_in(one, rank) for one in given]


def _swapped(call: Call, rank: int) -> list[int]:
    order = list(range(rank))
    if rank:
        one, other = (at.axis_in(call.get(name), rank) for name in ("dim0", "dim1"))
        order[one], order[other] = other, one
    return order


def _reversed(call: Call, rank: int) -> list[int]:
    return list(range(rank))[::-1]


def _moved(order: Callable[[Call, int], list[int]]) -> tuple[Lower, Compute]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        axes = order(call, at.rank_of(x))
        return x if axes == sorted(axes) else b.transpose(x, axes)

    return lower, lambda call: np.transpose(call.input(0), order(call, call.input(0).ndim))


# -- broadcasting


def _wanted(call: Call) -> Any:
    return call.inputs[1] if len(call.inputs) > 1 else call.get("shape")


def _broadcast(call: Call, b: OnnxBuilder) -> Value:
    """A -1 keeps a size, which ONNX says by a 1."""
    x, wanted = tensor(call), _wanted(call)
    if at.numbers(wanted) is None and isinstance(wanted, (Value, at.Parts)):
        whole = at.vector(b, wanted)
        kept = b.op("Equal", whole, b.scalar(-1, "int64"))
        return at.expand(b, x, b.op("Where", kept, b.scalar(1, "int64"), whole))
    return at.expand(b, x, [1 if part == -1 else part for part in at.parts(b, wanted)])


def _broadcast_now(call: Call) -> Array:
    x: Array = call.input(0)
    wanted = at.integers(_wanted(call))
    own = (1,) * (len(wanted) - x.ndim) + x.shape
    return np.broadcast_to(x, [old if new == -1 else new for new, old in zip(wanted, own, strict=True)])


def _as_other(call: Call, b: OnnxBuilder) -> Value:
    return at.expand(b, tensor(call), at.sizes(b, tensor(call, 1)))


# -- what a shape is


def _shape(call: Call, b: OnnxBuilder) -> tuple[at.Size, ...]:
    x = tensor(call)
    return at.Sizes(at.as_number(b, one) for one in at.sizes(b, x))


def _shape_tensor(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    return b.ints(x.fixed) if x.fixed is not None else b.shape_of(x)


def _count(call: Call, b: OnnxBuilder) -> at.Size:
    x = tensor(call)
    return at.as_number(b, at.product(b, at.sizes(b, x))) if x.shape is not None else b.op("Size", x)


def _rank(call: Call, b: OnnxBuilder) -> at.Size:
    x = tensor(call)
    return b.op("Size", b.shape_of(x)) if x.shape is None else len(x.shape)


def _same(call: Call, b: OnnxBuilder) -> Value:
    return tensor(call)


_RESHAPE = (_reshape, _reshape_now)
_FLATTEN_PART = (_flatten_part, _flatten_part_now)
_ORDERED = _moved(_order)
_BROADCAST = (_broadcast, _broadcast_now)
_SAME = (_same, lambda call: call.input(0))
_SHAPE_TENSOR = (_shape_tensor, lambda call: np.array(call.input(0).shape, np.int64))
_BOTH: Mapping[str, tuple[Lower, Compute]] = {
    "BroadcastTo": _BROADCAST,
    "BroadcastToView": _BROADCAST,
    "Clone": _SAME,
    "Contiguous": _SAME,
    "Copy": _SAME,
    "DynamicBroadcastTo": _BROADCAST,
    "DynamicShape": _SHAPE_TENSOR,
    "Expand": _BROADCAST,
    "ExpandAs": (_as_other, lambda call: np.broadcast_to(call.input(0), call.input(1).shape)),
    "ExpandDims": _new_axis("axis"),
    "ExpandDimsView": _new_axis("dim"),
    "Flatten": (_flatten, _flatten_now),
    "FlattenExt": _FLATTEN_PART,
    "Rank": (_rank, lambda call: call.input(0).ndim),
    "Reshape": _RESHAPE,
    "Shape": (_shape, lambda call: tuple(int(one) for one in call.input(0).shape)),
    "Size": (_count, lambda call: int(call.input(0).size)),
    "Squeeze": (_squeeze, _squeeze_now),
    "TExt": _moved(_reversed),
    "TensorMove": _SAME,
    "TensorShape": _SHAPE_TENSOR,
    "Transpose": _ORDERED,
    "TransposeExtView": _moved(_swapped),
    "TransposeView": _ORDERED,
    "Unsqueeze": _new_axis("axis"),
    "View": _RESHAPE,
    "ViewAs": (_view_as, lambda call: call.input(0).reshape(call.input(1).shape)),
}
TO_ONNX: Mapping[str, Lower] = {name: both[0] for name, both in _BOTH.items()}
EVALUATE: Mapping[str, Compute] = {name: both[1] for name, both in _BOTH.items()}
