"""Bits of integers: and, or, exclusive or, not, shifts. Truths are bits, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives.kernels import SIGNED
from mswb.convert.primitives.operands import arrays, tensor, tensors
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Evaluate = Callable[[Call], Any]


def _bitwise(op: str, of_truths: str) -> Lower:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        pair = tensors(call, b)
        return b.op(of_truths if pair[0].dtype == "bool" else op, *pair)

    return lower


def _invert(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    return b.op("Not" if x.dtype == "bool" else "BitwiseNot", x)


def _shifted(b: OnnxBuilder, x: Value, by: Value, direction: str) -> Value:
    """ONNX shifts integers without a sign only."""
    if x.dtype not in SIGNED:
        return b.op("BitShift", x, by, direction=direction)
    plain = f"u{x.dtype}"
    return b.cast(b.op("BitShift", b.cast(x, plain), b.cast(by, plain), direction=direction), x.dtype)


def _left(call: Call, b: OnnxBuilder) -> Value:
    x, by = tensors(call, b)
    return _shifted(b, x, by, "LEFT")


def _right(call: Call, b: OnnxBuilder) -> Value:
    """Of a negative number, as its complement is shifted: the sign comes in."""
    x, by = tensors(call, b)
    if x.dtype not in SIGNED:
        return _shifted(b, x, by, "RIGHT")
    sign = b.cast(b.op("Less", x, b.scalar(0, x.dtype)), x.dtype)
    flip = b.op("Neg", sign)
    return b.op("BitwiseXor", _shifted(b, b.op("BitwiseXor", x, flip), by, "RIGHT"), flip)


def _numpy(function: Any) -> Evaluate:
    return lambda call: np.asarray(function(*arrays(call)))


def _np_invert(call: Call) -> Array:
    return np.asarray(np.invert(call.input(0)))


_AND = (_bitwise("BitwiseAnd", "And"), _numpy(np.bitwise_and))
_OR = (_bitwise("BitwiseOr", "Or"), _numpy(np.bitwise_or))
_XOR = (_bitwise("BitwiseXor", "Xor"), _numpy(np.bitwise_xor))
_INVERT = (_invert, _np_invert)
_BOTH: Mapping[str, tuple[Lower, Evaluate]] = {
    **dict.fromkeys(["BitwiseAnd", "BitwiseAndScalar", "BitwiseAndTensor"], _AND),
    **dict.fromkeys(["BitwiseOr", "BitwiseOrScalar", "BitwiseOrTensor"], _OR),
    **dict.fromkeys(["BitwiseXor", "BitwiseXorScalar", "BitwiseXorTensor"], _XOR),
    **dict.fromkeys(["BitwiseNot", "Invert"], _INVERT),
    "LeftShift": (_left, _numpy(np.left_shift)),
    "RightShift": (_right, _numpy(np.right_shift)),
}
TO_ONNX: Mapping[str, Lower] = {name: lower for name, (lower, _) in _BOTH.items()}
EVALUATE: Mapping[str, Evaluate] = {name: evaluate for name, (_, evaluate) in _BOTH.items()}
