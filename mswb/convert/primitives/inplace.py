"""Operators that write their result into their first input: those of Python's ``x += y``, and methods that end in _.

The result is that of the operator that writes elsewhere, in the data type of what is written into; that later reads
see it, the walk through the model takes care of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mswb.convert import primitives
from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.kernels import INTEGERS
from mswb.convert.primitives.operands import tensor
from mswb.convert.program import Call

_SAME = (
    "AddExt", "Addmm", "ClampScalar", "ClampTensor", "Div", "DivMod", "DivMods", "Divs", "Erfinv", "Exp", "Floor",
    "Hardtanh", "Log", "MaskedFillScalar", "MaskedScatter", "Mul", "Muls", "ReLU", "RemainderTensorScalar",
    "RemainderTensorTensor", "SiLU", "Sigmoid", "Sign", "SubExt", "SubScalar", "Tanh", "Threshold",
)  # fmt: skip
"""Operators that are called the same behind ``Inplace``."""
_OTHERS = {
    "AddsExt": "AddScalar",
    "Elu": "EluExt",
    "FloorDivide": "FloorDiv",
    "FloorDivides": "FloorDivScalar",
    "MaskedFillTensor": "MaskedFill",
}
_TARGETS = {f"Inplace{name}": target for name, target in [*_OTHERS.items(), *((name, name) for name in _SAME)]}


_MASKED = ("MaskedFill", "MaskedFillScalar", "MaskedScatter")
"""Those whose second input is a mask."""


def _fitting(call: Call, target: str, kind: str, cast: Callable[[Any], Any]) -> Call:
    """The call with its other tensors in the data type of what is written into, as MindSpore casts them.

    Raises:
        Refused: a fraction is written into integers.
    """
    others = call.inputs[1:]
    if kind in INTEGERS and any(isinstance(one, float) for one in others):
        raise Refused("a fraction is written into integers")
    kept = others if target in _MASKED else tuple(map(cast, others))
    return replace(call, op=target, inputs=(call.input(0), *kept), result=None)


def _lowered(target: str) -> Callable[[Call, OnnxBuilder], Value]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        kind = tensor(call).dtype
        given = _fitting(call, target, kind, lambda one: b.cast(one, kind) if isinstance(one, Value) else one)
        found: Value = primitives.table("TO_ONNX")[target](given, b)
        return b.cast(found, kind)

    return lower


def _evaluated(target: str) -> Callable[[Call], Array]:
    def evaluate(call: Call) -> Array:
        kind = call.input(0).dtype
        given = _fitting(call, target, kind.name, lambda one: one.astype(kind) if isinstance(one, np.ndarray) else one)
        return np.asarray(primitives.table("EVALUATE")[target](given)).astype(kind)

    return evaluate


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    **{name: _lowered(target) for name, target in _TARGETS.items()},
    "InplaceCopy": lambda call, b: b.op(
        "Expand", b.cast(tensor(call, 1), tensor(call).dtype), b.shape_of(tensor(call))
    ),
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    **{name: _evaluated(target) for name, target in _TARGETS.items()},
    "InplaceCopy": lambda call: np.broadcast_to(call.input(1).astype(call.input(0).dtype), call.input(0).shape),
}
