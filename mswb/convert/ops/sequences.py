"""Sequences and optional values. MindSpore has neither: they are lists of the conversion, so each must be built and
taken apart within the model, at places that are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mswb.convert import integers as ints
from mswb.convert.graph import Builder, Value
from mswb.convert.onnx.node import OnnxNode, Refused
from mswb.convert.ops.control import stacked, widened
from mswb.convert.ops.shape import pieces, places_of
from mswb.convert.subgraph import WithLowering

if TYPE_CHECKING:
    from mswb.convert.to_mindir import Lowering


def _new(members: Sequence[Value], b: Builder, lowering: Lowering) -> Value:
    value = Value(b.shared.name("sequence"), "sequence")
    lowering.lists[value.name] = tuple(members)
    return value


def _members(node: OnnxNode, lowering: Lowering) -> list[Value]:
    found = lowering.lists.get(node.input(0).name)
    if found is None:
        raise Refused("its sequence comes from outside of the model, and MindSpore has no sequences")
    return list(found)


def _place(node: OnnxNode, at: int, count: int, default: int) -> int:
    """An index into a sequence, counted from the front."""
    if not node.has(at):
        return default
    place = int(node.content(at, "the place in the sequence").reshape(-1)[0])
    if not -count <= place <= count:
        raise Refused(f"place {place} is outside of {count} members")
    return place % count if place < 0 else place


def _construct(node: OnnxNode, b: Builder, lowering: Lowering) -> Value:
    return _new([node.input(at) for at in range(len(node.inputs))], b, lowering)


def _empty(node: OnnxNode, b: Builder, lowering: Lowering) -> Value:
    return _new([], b, lowering)


def _insert(node: OnnxNode, b: Builder, lowering: Lowering) -> Value:
    members = _members(node, lowering)
    members.insert(_place(node, 2, len(members), len(members)), node.input(1))
    return _new(members, b, lowering)


def _erase(node: OnnxNode, b: Builder, lowering: Lowering) -> Value:
    members = _members(node, lowering)
    place = _place(node, 1, len(members), len(members) - 1)
    if not 0 <= place < len(members):
        raise Refused("there is nothing at that place of the sequence")
    return _new(members[:place] + members[place + 1 :], b, lowering)


def _at(node: OnnxNode, b: Builder, lowering: Lowering) -> Value:
    members = _members(node, lowering)
    place = _place(node, 1, len(members), 0)
    if place >= len(members):
        raise Refused("there is nothing at that place of the sequence")
    return members[place]


def _length(node: OnnxNode, b: Builder, lowering: Lowering) -> Value:
    array = np.array(len(_members(node, lowering)))
    return replace(b.constant(array), array=array)


def _concat(node: OnnxNode, b: Builder, lowering: Lowering) -> Value:
    members = _members(node, lowering)
    if not members or members[0].rank is None:
        raise Refused("the sequence is empty, or the rank of its members is not known")
    rank = members[0].rank + bool(node.get("new_axis", 0))
    axis = int(node.get("axis")) % rank
    if node.get("new_axis", 0):
        whole = stacked(b, members)
        return whole if not axis else b.transpose(whole, [*range(1, axis + 1), 0, *range(axis + 1, rank)])
    shape = members[0].shape
    for one in members[1:]:
        shape = widened(shape, one.shape)
    sizes = [(one.shape or ())[axis] for one in members]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    whole_shape = None if shape is None else (*shape[:axis], total, *shape[axis + 1 :])
    if len(members) == 1:
        return members[0]
    return b.op("Concat", b.tuple(members), axis, dtype=members[0].dtype, shape=whole_shape)


def _split(node: OnnxNode, b: Builder, lowering: Lowering) -> Value:
    value, axis = node.input(0), node.axis()
    count = (node.input(1).fixed or (None,))[0] if node.has(1) else None
    if count and node.input(1).array is None:
        lengths = ints.given(node, b, "split", 1)
        assert lengths is not None
        return _new(pieces(b, value, axis, places_of(b, lengths, count)), b, lowering)
    size = (value.shape or ())[axis]
    if size is None:
        raise Refused("how many members the sequence has is only known when the model runs",
                      nearest="--input_shape fixes sizes of inputs")  # fmt: skip
    sizes = _sizes(node, size)
    shape = value.shape or ()
    results = [(value.dtype, (*shape[:axis], one, *shape[axis + 1 :])) for one in sizes]
    made = [value] if len(sizes) == 1 else b.ops("SplitWithSize", value, tuple(sizes), axis, results=results)
    if not node.has(1) and not node.get("keepdims", 1):
        without = (*shape[:axis], *shape[axis + 1 :])
        made = [b.op("Squeeze", one, (axis,), shape=without) for one in made]
    return _new(made, b, lowering)


def _sizes(node: OnnxNode, size: int) -> list[int]:
    if not node.has(1):
        return [1] * size
    split = node.content(1, "split")
    if split.ndim:
        return [int(one) for one in split]
    step = int(split)
    if step <= 0:
        raise Refused(f"pieces of {step} elements")
    return [min(step, size - start) for start in range(0, size, step)]


def _identity(node: OnnxNode, b: Builder, lowering: Lowering) -> Value:
    """An optional value that is there is the value itself."""
    if not node.has(0):
        raise Refused("an optional value without content, which MindSpore has no data type for")
    return node.input(0)


def _has_element(node: OnnxNode, b: Builder, lowering: Lowering) -> Value:
    array = np.array(node.has(0))
    return replace(b.constant(array), array=array)


TO_MINDIR: Mapping[str, Callable[..., Any]] = {
    "SequenceConstruct": WithLowering(_construct),
    "SequenceEmpty": WithLowering(_empty),
    "SequenceInsert": WithLowering(_insert),
    "SequenceErase": WithLowering(_erase),
    "SequenceAt": WithLowering(_at),
    "SequenceLength": WithLowering(_length),
    "ConcatFromSequence": WithLowering(_concat),
    "SplitToSequence": WithLowering(_split),
    "Optional": WithLowering(_identity),
    "OptionalGetElement": WithLowering(_identity),
    "OptionalHasElement": WithLowering(_has_element),
}
