"""Elements before and after: a number, the elements mirrored, repeated or from the other end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import extents as at
from mswb.convert.primitives.kernels import working
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.primitives.slicing import backwards
from mswb.convert.program import Call, numpy_dtype

Lower = Callable[[Call, OnnxBuilder], Any]
Compute = Callable[[Call], Any]
Edge = tuple[int, int, int]
"""An axis, and the elements before and after; a negative number takes away."""
_ONNX = {"constant": "constant", "edge": "edge", "reflect": "reflect"}
_NUMPY = {"constant": "constant", "edge": "edge", "reflect": "reflect", "circular": "wrap", "symmetric": "symmetric"}


# -- padding


def padded(b: OnnxBuilder, x: Value, edges: Sequence[Edge], mode: str, fill: float | Value = 0) -> Value:
    """The value with more or fewer elements along some axes."""
    cut = [edge for edge in edges if edge[1] < 0 or edge[2] < 0]
    x = at.slices(b, x, [axis for axis, _, _ in cut], [max(-first, 0) for _, first, _ in cut],
                  [min(last, 0) or at.END for _, _, last in cut])  # fmt: skip
    more = [(axis, max(first, 0), max(last, 0)) for axis, first, last in edges if first > 0 or last > 0]
    if not more:
        return x
    if mode not in _ONNX:
        for axis, first, last in more:
            x = _joined(b, x, axis, first, last, mode)
        return x
    firsts, lasts = [first for _, first, _ in more], [last for _, _, last in more]
    axes = b.ints([axis for axis, _, _ in more])
    return at.carried(b, "Pad", x, b.ints([*firsts, *lasts]), _fill(b, x, mode, fill), axes, mode=_ONNX[mode])


def _fill(b: OnnxBuilder, x: Value, mode: str, fill: float | Value) -> Value | None:
    """What a padding holds, in the data type in which onnxruntime pads."""
    if mode != "constant" or fill == 0:
        return None
    used = working("Pad", x.dtype)
    if isinstance(fill, Value):
        return b.reshape(b.cast(b.cast(fill, x.dtype), used), ())
    own = np.array(fill).astype(numpy_dtype(x.dtype))
    return b.constant(own.astype(numpy_dtype(used)))


def _joined(b: OnnxBuilder, x: Value, axis: int, first: int, last: int, mode: str) -> Value:
    """Slices of the value before and after it."""
    if mode == "circular":
        before, after = at.slices(b, x, [axis], [-first], [at.END]), at.slices(b, x, [axis], [0], [last])
    elif mode == "symmetric":
        before = backwards(b, at.slices(b, x, [axis], [0], [first]), [axis])
        after = backwards(b, at.slices(b, x, [axis], [-last], [at.END]), [axis])
    else:
        raise Refused(f"mode {mode}", attribute="mode")
    whole = [*([before] if first else []), x, *([after] if last else [])]
    return b.op("Concat", *whole, axis=axis)


def padded_now(x: Array, edges: Sequence[Edge], mode: str, fill: Any = 0) -> Array:
    """The same for an evaluation."""
    for axis, first, last in edges:
        cut = slice(max(-first, 0), x.shape[axis] + min(last, 0))
        x = x[(slice(None),) * axis + (cut,)]
    pairs = [(0, 0)] * x.ndim
    for axis, first, last in edges:
        pairs[axis] = (max(first, 0), max(last, 0))
    if mode not in _NUMPY:
        raise Refused(f"mode {mode}", attribute="mode")
    settings: dict[str, Any] = {"constant_values": np.asarray(fill).astype(x.dtype)} if mode == "constant" else {}
    pad: Any = np.pad
    found: Array = pad(x, pairs, _NUMPY[mode], **settings)
    return found


# -- how primitives say it


def _from_last(pads: Sequence[int], rank: int) -> list[Edge]:
    """Pairs, that of the last axis first."""
    count = len(pads) // 2
    if len(pads) % 2 or count > rank:
        raise Refused(f"{len(pads)} paddings of {rank} dimensions")
    return [(rank - 1 - axis, pads[2 * axis], pads[2 * axis + 1]) for axis in range(count)]


def _v3(call: Call, rank: int) -> list[Edge]:
    pads = list(at.fixed(call.input(1), "paddings"))
    if not call.get("paddings_contiguous", True):
        half = len(pads) // 2
        pads = [one for pair in zip(pads[:half], pads[half:], strict=True) for one in pair]
    return _from_last(pads, rank)


def _pairs(call: Call, rank: int) -> list[Edge]:
    given = call.input(1) if len(call.inputs) > 1 else call.get("paddings")
    pads = at.fixed(given, "paddings")
    if len(pads) != 2 * rank:
        raise Refused(f"{len(pads)} paddings of {rank} dimensions")
    return [(axis, pads[2 * axis], pads[2 * axis + 1]) for axis in range(rank)]


def _padding(call: Call, rank: int) -> list[Edge]:
    return _from_last(at.fixed(call.get("padding"), "padding"), rank)


def _up_to(call: Call, rank: int) -> list[Edge]:
    """The last axis, which has one element, gets so many."""
    return [(rank - 1, 0, int(number(call, "pad_dim_size", 8)) - 1)]


def _v3_mode(call: Call) -> str:
    return str(call.get("mode", "constant"))


def _v3_fill(call: Call) -> Any:
    fill = call.inputs[2] if len(call.inputs) > 2 else 0
    return 0 if fill is None else fill


def _pad_v3(call: Call, b: OnnxBuilder) -> Value:
    x, given, mode = tensor(call), call.input(1), _v3_mode(call)
    if at.numbers(given) is not None:
        return padded(b, x, _v3(call, at.rank_of(x)), mode, _v3_fill(call))
    pads = at.vector(b, given)
    count = None if pads.shape is None else pads.shape[0]
    if count is None or mode not in _ONNX:
        raise Refused("its paddings are only known when the model runs")
    half, rank = count // 2, at.rank_of(x)
    contiguous = call.get("paddings_contiguous", True)
    places = [*range(0, count, 2), *range(1, count, 2)] if contiguous else [*range(count)]
    ordered = b.op("Gather", pads, b.ints(places))
    axes = b.ints(rank - 1 - axis for axis in range(half))
    return at.carried(b, "Pad", x, ordered, _fill(b, x, mode, _v3_fill(call)), axes, mode=_ONNX[mode])


def _entry(
    edges: Callable[[Call, int], list[Edge]], mode: Callable[[Call], str], fill: Callable[[Call], Any] = lambda call: 0
) -> tuple[Lower, Compute]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        return padded(b, x, edges(call, at.rank_of(x)), mode(call), fill(call))

    def now(call: Call) -> Array:
        x: Array = call.input(0)
        return padded_now(x, edges(call, x.ndim), mode(call), fill(call))

    return lower, now


_REFLECTION = _entry(_padding, lambda call: "reflect")
_REPLICATION = _entry(_padding, lambda call: "edge")
_BOTH: Mapping[str, tuple[Lower, Compute]] = {
    "ConstantPadND": _entry(_padding, lambda call: "constant", lambda call: number(call, "value", 0)),
    "MirrorPad": _entry(_pairs, lambda call: str(call.get("mode", "REFLECT")).lower()),
    "Pad": _entry(_pairs, lambda call: "constant"),
    "Padding": _entry(_up_to, lambda call: "constant"),
    "PadV3": (_pad_v3, _entry(_v3, _v3_mode, _v3_fill)[1]),
    **{f"ReflectionPad{rank}D": _REFLECTION for rank in (1, 2, 3)},
    **{f"ReplicationPad{rank}D": _REPLICATION for rank in (1, 2, 3)},
}
TO_ONNX: Mapping[str, Lower] = {name: both[0] for name, both in _BOTH.items()}
EVALUATE: Mapping[str, Compute] = {name: both[1] for name, both in _BOTH.items()}
