"""Padding and cropping: along each axis a vector of places tells which element, or none, comes where."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mswb.convert import integers as ints
from mswb.convert.graph import Builder, Value
from mswb.convert.integers import Ints
from mswb.convert.onnx.node import Lower, OnnxNode, Refused


def _edge(b: Builder, places: Ints, size: Ints) -> Ints:
    last = ints.calc(b, "Sub", size, 1)
    return ints.calc(b, "Maximum", ints.calc(b, "Minimum", places, last), 0)


def _wrap(b: Builder, places: Ints, size: Ints) -> Ints:
    return ints.calc(b, "FloorMod", places, size)


def _reflect(b: Builder, places: Ints, size: Ints) -> Ints:
    """There and back again: a period of 2 (size - 1), the edges once each."""
    period = ints.calc(b, "Maximum", ints.calc(b, "Mul", ints.calc(b, "Sub", size, 1), 2), 1)
    forth = ints.calc(b, "FloorMod", places, period)
    return ints.calc(b, "Minimum", forth, ints.calc(b, "Sub", period, forth))


_INSIDE: Mapping[str, Callable[[Builder, Ints, Ints], Ints]] = {"edge": _edge, "wrap": _wrap, "reflect": _reflect}


def moved(b: Builder, value: Value, axis: int, before: Ints, wanted: Ints, mode: str, fill: Value | None) -> Value:
    """The value with ``wanted`` places along an axis, of which ``before`` lie ahead of its first element."""
    if _nothing(before) and _same(wanted, ints.dim(b, value, axis)):
        return value
    size = ints.dim(b, value, axis)
    places = ints.calc(b, "Sub", ints.arange(b, ints.calc(b, "Maximum", wanted, 0)), before)
    if mode != "constant":
        return ints.take(b, value, axis, _INSIDE[mode](b, places, size))
    rank = value.rank or 0
    content = np.zeros((), value.dtype) if fill is None else fill
    if ints.content(size) is not None and not int(np.asarray(ints.content(size))):
        parts = ints.each_dim(b, value)
        return ints.filled(b, ints.vector(b, [*parts[:axis], wanted, *parts[axis + 1 :]]), content, value.dtype)
    inside = ints.calc(b, "Equal", places, _edge(b, places, size))
    kept = ints.take(b, value, axis, _edge(b, places, size))
    return ints.select(b, ints.along(b, inside, axis, rank), kept, content)


def _nothing(number: Ints) -> bool:
    known = ints.content(number)
    return known is not None and not int(known)


def _same(one: Ints, other: Ints) -> bool:
    first, second = ints.content(one), ints.content(other)
    return first is not None and second is not None and int(first) == int(second)


def _pad(node: OnnxNode, b: Builder) -> Value:
    value, rank, mode = node.input(0), node.rank(), node.get("mode", "constant")
    if mode not in ("constant", *_INSIDE):
        raise Refused(f"mode {mode}", attribute="mode")
    pads, axes = ints.given(node, b, "pads", 1), ints.given(node, b, "axes", 3)
    if pads is None:
        raise Refused("pads are missing")
    if axes is None:
        places: Ints = np.arange(rank)
    else:
        places = ints.from_front(b, axes, rank)
    count = ints.length(places, "axes")
    if not isinstance(places, Value):
        pairs = {int(axis): at for at, axis in enumerate(places)}
        edges = {axis: (ints.item(b, pads, at), ints.item(b, pads, at + count)) for axis, at in pairs.items()}
    else:
        none = np.zeros(rank, np.int64)
        halves = [ints.pick(b, pads, np.arange(at * count, (at + 1) * count)) for at in (0, 1)]
        first, last = (ints.spread(b, none, places, half) for half in halves)
        edges = {axis: (ints.item(b, first, axis), ints.item(b, last, axis)) for axis in range(rank)}
    fill = _fill(node, b)
    for axis, (before, after) in edges.items():
        if _nothing(before) and _nothing(after):
            continue
        wanted = ints.calc(b, "Add", ints.calc(b, "Add", ints.dim(b, value, axis), before), after)
        value = moved(b, value, axis, before, wanted, mode, fill)
    return value


def _fill(node: OnnxNode, b: Builder) -> Value | None:
    """What a constant padding holds: an attribute up to opset 10, then an input."""
    if "value" in node.attributes:
        return b.scalar(float(node.get("value")), node.input(0).dtype)
    given = node.optional(2)
    return None if given is None else b.reshape(given, ())


def _center_crop_pad(node: OnnxNode, b: Builder) -> Value:
    """What is cut or added is shared by both ends; an odd one goes to the far end."""
    value, rank = node.input(0), node.rank()
    wanted = ints.given(node, b, "shape", 1)
    assert wanted is not None
    axes = ints.content(ints.from_front(b, np.array(node.get("axes") or range(rank), np.int64), rank))
    assert axes is not None
    for at, axis in enumerate(axes.tolist()):
        size, target = ints.dim(b, value, axis), ints.item(b, wanted, at)
        ahead = ints.calc(b, "FloorDiv", ints.calc(b, "Maximum", ints.calc(b, "Sub", target, size), 0), 2)
        cut = ints.calc(b, "FloorDiv", ints.calc(b, "Maximum", ints.calc(b, "Sub", size, target), 0), 2)
        value = moved(b, value, axis, ints.calc(b, "Sub", ahead, cut), target, "constant", None)
    return value


TO_MINDIR: Mapping[str, Lower] = {"CenterCropPad": _center_crop_pad, "Pad": _pad}
