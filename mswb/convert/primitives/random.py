"""Random numbers: ONNX draws its own, so only their distribution is the same; an evaluation has none to compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import numpy_helper

from mswb.convert.graph import Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.casting import dtype_of
from mswb.convert.primitives.extents import vector
from mswb.convert.primitives.kernels import FLOATS, HALVES, run
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
_NORMAL, _UNIFORM = "RandomNormalLike", "RandomUniformLike"


def drawn(b: OnnxBuilder, op: str, shape: Any, dtype: str) -> Value:
    """Numbers in this shape: from 0 to 1, or with mean 0 and deviation 1."""
    if dtype not in (*FLOATS, *HALVES):
        raise Refused(f"random numbers of {dtype} have no form in ONNX")
    made = "float64" if dtype == "float64" else "float32"
    zero = numpy_helper.from_array(np.zeros(1, made))
    return b.cast(b.op(op, b.op("ConstantOfShape", vector(b, shape), value=zero)), dtype)


def _by_shape(op: str, dtype_at: int = -1) -> Lower:
    """The shape is input 0; the data type an input, or what is noted of the result."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        at = dtype_at if dtype_at >= 0 else len(call.inputs)
        return drawn(b, op, call.input(0), dtype_of(call, at, "dtype", default="" if call.result else "float32"))

    return lower


def _by_tensor(op: str) -> Lower:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        return drawn(b, op, b.shape_of(x), dtype_of(call, 3, "dtype", default=x.dtype))

    return lower


def _whole_numbers(call: Call, b: OnnxBuilder) -> Value:
    """From the least on, below the greatest, int32."""
    low, high = _of_one(call, 1), _of_one(call, 2)
    found = run(b, "Mul", drawn(b, _UNIFORM, call.input(0), "float64"), float(high - low))
    return b.cast(run(b, "Min", run(b, "Add", b.op("Floor", found), float(low)), float(high - 1)), "int32")


def _of_one(call: Call, at: int) -> int:
    given = call.input(at)
    array = given.array if isinstance(given, Value) else np.asarray(given)
    if array is None or array.size != 1:
        raise Refused("the limits of its numbers are only known when the model runs")
    return int(array.reshape(-1)[0])


def _normal(call: Call, b: OnnxBuilder) -> Value:
    made = drawn(b, _NORMAL, call.get("size"), "float32")
    return run(b, "Add", run(b, "Mul", made, float(number(call, "std"))), float(number(call, "mean")))


def _bernoulli(call: Call, b: OnnxBuilder) -> Value:
    """One with the probability of input 1, else zero."""
    x, odds = tensor(call), call.input(1)
    made = drawn(b, _UNIFORM, b.shape_of(x), "float32")
    limit = b.cast(odds, "float32") if isinstance(odds, Value) else b.scalar(odds, "float32")
    return b.cast(b.op("Less", made, limit), dtype_of(call, len(call.inputs), default="" if call.result else "int8"))


def _no_value(call: Call) -> Any:
    raise Refused(f"{call.op} draws at random: there is nothing to compare with")


TO_ONNX: Mapping[str, Lower] = {
    "Bernoulli": _bernoulli,
    "NormalFloatFloat": _normal,
    "RandExt": _by_shape(_UNIFORM, 3),
    "RandLikeExt": _by_tensor(_UNIFORM),
    "Randn": _by_shape(_NORMAL, 3),
    "RandnLike": _by_tensor(_NORMAL),
    "StandardNormal": _by_shape(_NORMAL),
    "UniformInt": _whole_numbers,
    "UniformReal": _by_shape(_UNIFORM),
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = dict.fromkeys(TO_ONNX, _no_value)
