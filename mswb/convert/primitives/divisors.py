"""The greatest common divisor and the least common multiple of integers, by Euclid's algorithm in a Loop of ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import helper

from mswb.convert.graph import Value
from mswb.convert.onnx.graph import OnnxBuilder, declared
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.kernels import INTEGERS, run, where
from mswb.convert.primitives.operands import arrays, tensors
from mswb.convert.program import Call


def _any_left(b: OnnxBuilder, x: Value) -> Value:
    """Whether a number is not zero."""
    each = b.cast(b.op("Not", run(b, "Equal", x, 0)), "int64")
    axes = b.op("Range", b.scalar(0, "int64"), b.op("Size", b.shape_of(x)), b.scalar(1, "int64"))
    return run(b, "Greater", b.op("ReduceSum", each, axes, keepdims=0), 0)


def gcd(b: OnnxBuilder, first: Value, second: Value) -> Value:
    """(x, y) becomes (y, x mod y) until y is zero everywhere."""
    none = b.scalar(0, "int64")
    x = b.op("Abs", b.op("Add", first, b.op("Mul", second, none)))
    y = b.op("Abs", b.op("Add", second, b.op("Mul", first, none)))
    name = b.shared.name
    count, going = Value(name("iteration"), "int64", ()), Value(name("going"), "bool", ())
    a, c = Value(name("state"), "int64", x.shape), Value(name("state"), "int64", x.shape)
    inner = b.inner()
    done = run(inner, "Equal", c, 0)
    rest = run(inner, "Mod", a, where(inner, done, 1, c))
    new = where(inner, done, a, c), where(inner, done, 0, rest)
    body = inner.finish("body", [declared(one) for one in (count, going, a, c)], [_any_left(inner, new[1]), *new])
    found = name(f"{b.scope}/Loop"), name(f"{b.scope}/Loop")
    start = _any_left(b, y)
    b.add(helper.make_node("Loop", ["", start.name, x.name, y.name], found, name=found[0], body=body), [start, x, y])
    return Value(found[0], "int64", x.shape)


def _of_two(make: Callable[[OnnxBuilder, Value, Value], Value]) -> Callable[[Call, OnnxBuilder], Value]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        pair = tensors(call, b)
        if pair[0].dtype not in INTEGERS or pair[0].dtype == "uint64":
            raise Refused(f"of {pair[0].dtype} it has no form in ONNX")
        return b.cast(make(b, *(b.cast(one, "int64") for one in pair)), pair[0].dtype)

    return lower


def _lcm(b: OnnxBuilder, x: Value, y: Value) -> Value:
    """|x / gcd(x, y) * y|, and zero of zeros."""
    common = gcd(b, x, y)
    part = b.op("Div", b.op("Abs", x), where(b, run(b, "Equal", common, 0), 1, common))
    return b.op("Mul", part, b.op("Abs", y))


def _numpy(function: Any) -> Callable[[Call], Any]:
    return lambda call: np.asarray(function(*arrays(call)))


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {"Gcd": _of_two(gcd), "Lcm": _of_two(_lcm)}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {"Gcd": _numpy(np.gcd), "Lcm": _numpy(np.lcm)}
