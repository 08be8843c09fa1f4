"""Element by element: arithmetic, comparison, logic, bits, rounding, casts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mswb.convert.graph import TYPE_IDS, Builder, Value, broadcast
from mswb.convert.onnx.model import dtype_name
from mswb.convert.onnx.node import Lower, OnnxNode, Refused
from mswb.convert.ops.exact import call, maximum, minimum, select

__all__ = ["TO_MINDIR", "binary", "broadcast", "fold", "unary"]


def unary(primitive: str) -> Lower:
    """An operator of one input and no arguments."""
    return lambda node, b: call(b, primitive, node.input(0))


def binary(primitive: str) -> Lower:
    """An operator of two inputs that broadcast."""
    return lambda node, b: call(b, primitive, node.input(0), node.input(1))


def fold(primitive: str) -> Lower:
    """An operator of any number of inputs, taken two by two."""

    def lower(node: OnnxNode, b: Builder) -> Value:
        result = node.input(0)
        for at in range(1, len(node.inputs)):
            result = call(b, primitive, result, node.input(at))
        return result

    return lower


def _integer(value: Value) -> bool:
    return np.dtype(value.dtype).kind in "iu"


def extremes(primitive: Callable[[Builder, Value, Value], Value]) -> Lower:
    """The largest or smallest of any number of inputs."""

    def lower(node: OnnxNode, b: Builder) -> Value:
        result = node.input(0)
        for at in range(1, len(node.inputs)):
            result = primitive(b, result, node.input(at))
        return result

    return lower


def _div(node: OnnxNode, b: Builder) -> Value:
    """Of integers the quotient cut towards zero: that is RealDiv (Div gives float32, TruncateDiv goes by way of it)."""
    return call(b, "RealDiv" if _integer(node.input(0)) else "Div", node.input(0), node.input(1))


def _mod(node: OnnxNode, b: Builder) -> Value:
    """The remainder with the sign of the divisor; with fmod that of the dividend, as C has it."""
    first, second = node.input(0), node.input(1)
    cut = bool(node.get("fmod", 0))
    if first.dtype in ("int64", "uint32", "uint64"):
        return _long_mod(b, first, second, cut)
    if cut or not _integer(first):
        rest = call(b, "TruncateMod", first, second)
        return rest if cut else _with_sign(b, rest, second)
    return call(b, "FloorMod", first, second)


def _long_mod(b: Builder, first: Value, second: Value, cut: bool) -> Value:
    """x - y * (x / y): MindSpore's own goes by way of doubles."""
    rest = call(b, "Sub", first, call(b, "Mul", second, call(b, "RealDiv", first, second)))
    return rest if cut or first.dtype != "int64" else _with_sign(b, rest, second)


def _with_sign(b: Builder, rest: Value, divisor: Value) -> Value:
    """A remainder that has the dividend's sign, as the one that has the divisor's."""
    below = call(b, "LogicalAnd", call(b, "Less", rest, 0), call(b, "Greater", divisor, 0))
    above = call(b, "LogicalAnd", call(b, "Greater", rest, 0), call(b, "Less", divisor, 0))
    return select(b, call(b, "LogicalOr", below, above), call(b, "Add", rest, divisor), rest)


def _abs(node: OnnxNode, b: Builder) -> Value:
    given = node.input(0)
    return given if np.dtype(given.dtype).kind == "u" else call(b, "Abs", given)


def _sign(node: OnnxNode, b: Builder) -> Value:
    """-1, 0 or 1; NaN of NaN."""
    given = node.input(0)
    if np.dtype(given.dtype).kind == "u":
        return call(b, "Minimum", given, 1)
    found = call(b, "Sign", given)
    return found if _integer(given) else select(b, call(b, "IsNan", given), given, found)


def _pow(node: OnnxNode, b: Builder) -> Value:
    """A power in the type that numpy would take for both, given as the base's."""
    base, exponent = node.input(0), node.input(1)
    if exponent.array is not None and exponent.array.size == 1 and exponent.array.reshape(-1)[0] in (1, 2, 3):
        times = int(exponent.array.reshape(-1)[0])
        if (exponent.rank or 0) <= (base.rank or 0):
            return _product(b, base, times)
    if base.dtype == exponent.dtype:
        return call(b, "Pow", base, exponent)
    both = np.result_type(base.dtype, exponent.dtype).name
    return _cast_to(b, call(b, "Pow", b.cast(base, both), b.cast(exponent, both)), base.dtype)


def _product(b: Builder, base: Value, times: int) -> Value:
    """A small power, exact where it fits."""
    result = base
    for _ in range(times - 1):
        result = call(b, "Mul", result, base)
    return result


def _mean(node: OnnxNode, b: Builder) -> Value:
    return call(b, "Div", fold("Add")(node, b), len(node.inputs))  # type: ignore[arg-type]


def _clip(node: OnnxNode, b: Builder) -> Value:
    """Limits are attributes before opset 11, inputs since; where the lower is above the upper one, the upper wins."""
    result = node.input(0)
    for at, (name, limited) in enumerate((("min", maximum), ("max", minimum))):
        limit = node.optional(1 + at)
        if limit is not None:
            result = limited(b, limit, result)
        elif name in node.attributes:
            result = limited(b, float(node.get(name)), result)
    return result


def _cast_to(b: Builder, value: Value, wanted: str) -> Value:
    if wanted not in TYPE_IDS or value.dtype not in TYPE_IDS:
        raise Refused(f"MindSpore has no data type {wanted or 'of this number'}", attribute="to")
    return call(b, "NotEqual", value, 0) if wanted == "bool" != value.dtype else b.cast(value, wanted)


def _cast(node: OnnxNode, b: Builder) -> Value:
    return _cast_to(b, node.input(0), dtype_name(int(node.get("to", 1))))


def _cast_like(node: OnnxNode, b: Builder) -> Value:
    return _cast_to(b, node.input(0), node.input(1).dtype)


def _bit_cast(node: OnnxNode, b: Builder) -> Value:
    """The same bits as another type: between integers of one size that is a cast."""
    value, wanted = node.input(0), dtype_name(int(node.get("to", 0)))
    if (value.dtype, wanted) in (("bool", "uint8"), ("bool", "int8")):
        return b.cast(value, wanted)
    if value.dtype != wanted and not (_integer(value) and wanted and np.dtype(wanted).kind in "iu"):
        raise Refused(f"MindSpore can't read the bits of {value.dtype} as {wanted or 'that type'}", attribute="to")
    return b.cast(value, wanted)


def _is_inf(node: OnnxNode, b: Builder) -> Value:
    value = node.input(0)
    wanted = [sign * np.inf for sign, name in ((1, "detect_positive"), (-1, "detect_negative")) if node.get(name, 1)]
    found = [call(b, "Equal", value, one) for one in wanted]
    if not found:
        return call(b, "LogicalAnd", call(b, "Equal", value, np.inf), call(b, "Equal", value, -np.inf))
    return found[0] if len(found) == 1 else call(b, "LogicalOr", *found)


def _bit_shift(node: OnnxNode, b: Builder) -> Value:
    """By the width or more only the sign is left of a shift to the right, and nothing of one to the left."""
    value, by = node.input(0), node.input(1)
    left = node.get("direction", "LEFT") == "LEFT"
    shifted = call(b, "LeftShift" if left else "RightShift", value, by)
    signed = np.dtype(value.dtype).kind == "i"
    inside = call(b, "Less", by, np.dtype(value.dtype).itemsize * 8)
    if not signed:
        return select(b, inside, shifted, 0)
    inside = call(b, "LogicalAnd", inside, call(b, "GreaterEqual", by, 0))
    rest = b.scalar(0, value.dtype) if left else select(b, call(b, "Less", value, 0), b.scalar(-1, value.dtype), 0)
    return select(b, inside, shifted, rest)


def _where(node: OnnxNode, b: Builder) -> Value:
    return select(b, node.input(0), node.input(1), node.input(2))


def _identity(node: OnnxNode, b: Builder) -> Value:
    return node.input(0)


_UNARY: Mapping[str, str] = {
    "Acos": "ACos", "Acosh": "Acosh", "Asin": "Asin", "Asinh": "Asinh", "Atan": "Atan", "Atanh": "Atanh",
    "BitwiseNot": "Invert", "Ceil": "Ceil", "Cos": "Cos", "Cosh": "Cosh", "Erf": "Erf", "Exp": "Exp",
    "Floor": "Floor", "IsNaN": "IsNan", "Log": "Log", "Neg": "Neg", "Not": "LogicalNot", "Reciprocal": "Reciprocal",
    "Round": "Rint", "Sin": "Sin", "Sinh": "Sinh", "Sqrt": "Sqrt", "Tan": "Tan", "Tanh": "Tanh",
}  # fmt: skip
_BINARY: Mapping[str, str] = {
    "Add": "Add", "And": "LogicalAnd", "BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr",
    "BitwiseXor": "BitwiseXor", "Equal": "Equal", "Greater": "Greater", "GreaterOrEqual": "GreaterEqual",
    "Less": "Less", "LessOrEqual": "LessEqual", "Mul": "Mul", "Or": "LogicalOr", "Sub": "Sub", "Xor": "LogicalXor",
}  # fmt: skip

TO_MINDIR: Mapping[str, Lower] = {
    **{name: unary(primitive) for name, primitive in _UNARY.items()},
    **{name: binary(primitive) for name, primitive in _BINARY.items()},
    "Abs": _abs,
    "BitCast": _bit_cast,
    "BitShift": _bit_shift,
    "Cast": _cast,
    "CastLike": _cast_like,
    "Clip": _clip,
    "Div": _div,
    "Identity": _identity,
    "IsInf": _is_inf,
    "Max": extremes(maximum),
    "Mean": _mean,
    "Min": extremes(minimum),
    "Mod": _mod,
    "Pow": _pow,
    "Sign": _sign,
    "Sum": fold("Add"),
    "Where": _where,
}
