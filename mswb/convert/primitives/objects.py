"""What an exporter leaves in a graph of Python's tuples of integers, and of questions about objects."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from mswb.convert.graph import Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives import extents as at
from mswb.convert.program import Call


def _inside(call: Call, b: OnnxBuilder) -> Any:
    """Whether a number is one of several; none below zero is a size (MindSpore marks open ones by such numbers)."""
    wanted, given = call.input(0), call.input(1)
    tensors = [one for one in given if isinstance(one, Value)]
    if isinstance(given, at.Sizes) and isinstance(wanted, int) and wanted < 0:
        return False
    if not tensors and not isinstance(wanted, Value):
        return wanted in given
    hits = b.op("Equal", at.vector(b, given), at.vector(b, wanted))
    found = b.op("ReduceMax", b.cast(hits, "int32"), b.ints([0]), keepdims=0)
    return b.cast(found, "bool")


def _inside_now(call: Call) -> bool:
    return bool(call.input(0) in call.input(1))


def _outside(call: Call, b: OnnxBuilder) -> Any:
    found = _inside(call, b)
    return b.op("Not", found) if isinstance(found, Value) else not found


def _identical(call: Call, b: OnnxBuilder) -> Any:
    """Whether it is None, True or False; an answer that only the run gives is compared."""
    one, other = call.input(0), call.input(1)
    if isinstance(one, Value) and isinstance(other, bool) and one.dtype == "bool":
        return one if other else b.op("Not", one)
    return _identical_now(call)


def _different(call: Call, b: OnnxBuilder) -> Any:
    found = _identical(call, b)
    return b.op("Not", found) if isinstance(found, Value) else not found


def _identical_now(call: Call) -> bool:
    one, other = call.input(0), call.input(1)
    return one is other or (isinstance(one, bool) and isinstance(other, bool) and one == other)


def _range(call: Call) -> tuple[int, ...]:
    """As Python's range has it."""
    return tuple(range(*(at.fixed(one, "the end of a range")[0] for one in call.inputs)))


def _inverted(call: Call) -> tuple[int, ...]:
    """Where each number of a permutation stands in it."""
    given = at.fixed(call.input(0), "a permutation")
    return tuple(given.index(place) for place in range(len(given)))


def _product(call: Call, b: OnnxBuilder) -> Any:
    return at.as_number(b, at.product(b, at.parts(b, call.input(0))))


def _product_now(call: Call) -> int:
    return math.prod(at.integers(call.input(0)))


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "InSequence": _inside,
    "InvertPermutation": lambda call, b: _inverted(call),
    "IsNot": _different,
    "Is_": _identical,
    "MakeRange": lambda call, b: _range(call),
    "NotInSequence": _outside,
    "ShapeMul": _product,
    "is_": _identical,
    "is_not": _different,
    "make_range": lambda call, b: _range(call),
    "shape_mul": _product,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "InSequence": _inside_now,
    "InvertPermutation": _inverted,
    "IsNot": lambda call: not _identical_now(call),
    "Is_": _identical_now,
    "MakeRange": _range,
    "NotInSequence": lambda call: not _inside_now(call),
    "ShapeMul": _product_now,
    "is_": _identical_now,
    "is_not": lambda call: not _identical_now(call),
    "make_range": _range,
    "shape_mul": _product_now,
}
