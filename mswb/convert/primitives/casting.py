"""Data types: casts, tensors like another one, numbers as tensors, and what only hands a tensor on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import numpy_helper

from mswb.convert.graph import TYPE_IDS, Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.comparison import truth
from mswb.convert.primitives.kernels import FLOATS, HALVES, SIGNED
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.program import Call, numpy_dtype

Lower = Callable[[Call, OnnxBuilder], Any]
Evaluate = Callable[[Call], Any]
_NAMES = {number: name for name, number in TYPE_IDS.items()}


def dtype_of(call: Call, at: int, *attributes: str, default: str = "") -> str:
    """The data type that an argument names by its number: input ``at``, an attribute, or what is noted of the result.

    Raises:
        Refused: there is none, or tensors can't have it.
    """
    given = call.inputs[at] if at < len(call.inputs) else None
    for name in attributes:
        given = call.attributes.get(name) if given is None else given
    if given is None and default:
        return default
    noted = call.result[0] if isinstance(call.result, tuple) and call.result else ""
    found: Any = _NAMES.get(given) if isinstance(given, int) else noted if given is None else None
    if not isinstance(found, str) or found not in TYPE_IDS:
        raise Refused(f"{given} is no data type of tensors", attribute="dtype")
    return found


# -- casts


def cast_to(b: OnnxBuilder, given: Any, dtype: str) -> Value:
    """A tensor or a number in another data type; a fraction as integer without its fraction."""
    if not isinstance(given, Value):
        return b.constant(np.asarray(given).astype(numpy_dtype(dtype)))
    if dtype.startswith("complex") or given.dtype.startswith("complex"):
        raise Refused("ONNX has no operators of complex numbers")
    if dtype == "bool":
        return truth(b, given)
    if dtype.startswith("uint") and dtype != "uint64" and given.dtype in (*FLOATS, *HALVES):
        return b.cast(b.cast(given, "int64"), dtype)  # of a negative fraction, as MindSpore wraps it
    if dtype in ("int8", "int16") and given.dtype in (*FLOATS, *HALVES):
        return b.cast(b.cast(given, "int32"), dtype)
    return b.cast(given, dtype)


def np_cast(given: Any, dtype: str) -> Array:
    """The same in numpy: fractions stay in double precision."""
    array = np.asarray(given)
    if dtype.startswith("complex"):
        return array.astype(np.complex128)
    if array.dtype.kind == "c":
        array = array.real
    if dtype in (*FLOATS, *HALVES):
        return array.astype(np.float64)
    if array.dtype.kind == "f" and dtype != "bool":
        whole = np.trunc(array)
        found: Array = whole.astype(np.uint64 if dtype == "uint64" else np.int64).astype(dtype)
        return found
    return array.astype(dtype)


def _cast(call: Call, b: OnnxBuilder) -> Value:
    return cast_to(b, call.input(0), dtype_of(call, 1, "dst_type", "dtype", "DstT"))


def _np_cast(call: Call) -> Array:
    return np_cast(call.input(0), dtype_of(call, 1, "dst_type", "dtype", "DstT"))


def _as_other(call: Call, b: OnnxBuilder) -> Value:
    return cast_to(b, call.input(0), tensor(call, 1).dtype)


def _np_as_other(call: Call) -> Array:
    other = np.asarray(call.input(1))
    return np_cast(call.input(0), "float64" if other.dtype.kind == "f" else other.dtype.name)


# -- numbers and tensors


def _to_tensor(call: Call, b: OnnxBuilder) -> Value:
    given = call.input(0)
    own = given.dtype if isinstance(given, Value) else _own(given)
    return cast_to(b, given, dtype_of(call, 1, "dtype", default=own))


def _own(given: Any) -> str:
    return "bool" if isinstance(given, bool) else "int64" if isinstance(given, int) else "float32"


def _np_to_tensor(call: Call) -> Array:
    return np_cast(call.input(0), dtype_of(call, 1, "dtype", default=_own(call.input(0))))


def as_number(b: OnnxBuilder, given: Value) -> Any:
    """A tensor of one element as a number: Python's own where it is known, int64, float or bool without dimensions."""
    if given.array is not None:
        return given.array.reshape(-1)[0].item()
    wide = b.cast(given, "int64") if given.dtype in SIGNED or given.dtype.startswith("u") else given
    return wide if wide.shape == () else b.reshape(wide, ())


def _to_number(call: Call, b: OnnxBuilder) -> Any:
    return as_number(b, tensor(call))


def _np_to_number(call: Call) -> Any:
    return np.asarray(call.input(0)).reshape(-1)[0].item()


# -- tensors like another one


def filled(b: OnnxBuilder, like: Value, content: float, dtype: str) -> Value:
    """A tensor in the shape of another that holds one number everywhere."""
    made = "float32" if dtype == "bfloat16" else dtype
    value = numpy_helper.from_array(np.array([content]).astype(numpy_dtype(made)))
    return b.cast(b.op("ConstantOfShape", b.shape_of(like), value=value, shape=like.shape), dtype)


def _like(content: float) -> Lower:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        return filled(b, x, content, dtype_of(call, 1, "dtype", default=x.dtype))

    return lower


def _np_like(content: float) -> Evaluate:
    def evaluate(call: Call) -> Array:
        x = call.input(0)
        made = np.full(x.shape, content, x.dtype)
        return (
            np_cast(made, dtype_of(call, 1, "dtype")) if len(call.inputs) > 1 and call.inputs[1] is not None else made
        )

    return evaluate


def _full_like(call: Call, b: OnnxBuilder) -> Value:
    x, content = tensor(call), call.input(1)
    dtype = dtype_of(call, 2, "dtype", default=x.dtype)
    if isinstance(content, Value) and content.array is None:
        return b.op("Expand", cast_to(b, content, dtype), b.shape_of(x))
    return filled(
        b, x, content.array.item() if isinstance(content, Value) and content.array is not None else content, dtype
    )


def _np_full_like(call: Call) -> Array:
    x, content = call.input(0), call.input(1)
    made = np.full(x.shape, np.asarray(content).reshape(()), x.dtype)
    return np_cast(made, dtype_of(call, 2, "dtype")) if len(call.inputs) > 2 and call.inputs[2] is not None else made


# -- what hands on


def _same(call: Call, b: OnnxBuilder) -> Any:
    return call.input(0)


def _np_same(call: Call) -> Any:
    return call.input(0)


def _real(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    if x.dtype.startswith("complex"):
        raise Refused("ONNX has no operators of complex numbers")
    return x


def _imaginary(call: Call, b: OnnxBuilder) -> Value:
    x = _real(call, b)
    return filled(b, x, 0, x.dtype)


def _nothing(call: Call, b: OnnxBuilder | None = None) -> None:
    """What writes to a terminal or a file, or stops, gives nothing."""


def _no_drop(call: Call, kept: bool) -> None:
    if not kept:
        raise Refused(
            "it drops at random",
            nearest="export the network for inference, after set_train(False)",
            attribute="keep_prob",
        )


def _dropout(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
    _no_drop(call, number(call, "keep_prob", 0.5) == 1)
    x = tensor(call)
    return x, filled(b, x, 1, "bool" if call.op in ("Dropout2D", "Dropout3D") else x.dtype)


def _np_dropout(call: Call) -> tuple[Array, Array]:
    _no_drop(call, number(call, "keep_prob", 0.5) == 1)
    x = call.input(0)
    return x, np.ones(x.shape, bool if call.op in ("Dropout2D", "Dropout3D") else x.dtype)


def _maybe_dropout(call: Call, b: OnnxBuilder | None = None) -> Any:
    _no_drop(call, call.get("training", True) is False or number(call, "p", 0.5) == 0)
    return call.input(0)


_LIKE_ONE, _LIKE_ZERO = (_like(1), _np_like(1)), (_like(0), _np_like(0))
_SAME = (_same, _np_same)
_NOTHING = (_nothing, _nothing)
_BOTH: Mapping[str, tuple[Lower, Evaluate]] = {
    **dict.fromkeys(["Assert", "HistogramSummary", "ImageSummary", "Print", "ScalarSummary", "TensorDump",
                     "TensorSummary"], _NOTHING),
    **dict.fromkeys(["Real", "RealView"], (_real, lambda call: np.real(call.input(0)))),
    "Imag": (_imaginary, lambda call: np.imag(call.input(0))),
    "Conj": (_real, lambda call: np.conj(call.input(0))),
    **dict.fromkeys(["Detach", "HookBackward", "Identity", "InsertGradientOf", "StopGradient", "ToDevice", "identity",
                     "stop_gradient"], _SAME),
    **dict.fromkeys(["Dropout", "Dropout2D", "Dropout3D"], (_dropout, _np_dropout)),
    **dict.fromkeys(["Dropout2dExt", "FuncDropoutExt"], (_maybe_dropout, _maybe_dropout)),
    **dict.fromkeys(["Fills", "FullLike"], (_full_like, _np_full_like)),
    **dict.fromkeys(["OnesLike", "OnesLikeExt"], _LIKE_ONE),
    **dict.fromkeys(["ScalarToArray", "ScalarToTensor", "scalar_to_tensor"], (_to_tensor, _np_to_tensor)),
    **dict.fromkeys(["ToOther", "TypeAs"], (_as_other, _np_as_other)),
    **dict.fromkeys(["ZerosLike", "ZerosLikeExt"], _LIKE_ZERO),
    "ArrayToScalar": (_to_number, _np_to_number),
    "Cast": (_cast, _np_cast),
    "TensorToScalar": (_to_number, _np_to_number),
    "ToDtype": (_cast, _np_cast),
}  # fmt: skip
TO_ONNX: Mapping[str, Lower] = {name: lower for name, (lower, _) in _BOTH.items()}
EVALUATE: Mapping[str, Evaluate] = {name: evaluate for name, (_, evaluate) in _BOTH.items()}
