"""What entries of many families ask of the inputs of a call."""

from __future__ import annotations

from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.program import Call, numpy_dtype


def tensor(call: Call, at: int = 0) -> Value:
    """An input that is a tensor.

    Raises:
        Refused: it is none.
    """
    found = call.input(at)
    if not isinstance(found, Value):
        raise Refused(f"its input {at} is no tensor")
    return found


_REQUIRED = object()


def number(call: Call, name: str, default: Any = _REQUIRED) -> Any:
    """An argument that is one number: bool, int or float; a constant tensor of one element is one, too.

    Raises:
        Refused: it is missing, or only known when the model runs.
    """
    found = call.get(name) if default is _REQUIRED else call.get(name, default)
    array = found.array if isinstance(found, Value) else found
    if isinstance(array, np.ndarray) and array.size == 1:
        return array.reshape(-1)[0].item()
    if not isinstance(array, (bool, int, float, np.number)):
        raise Refused(f"{name} is only known when the model runs", attribute=name)
    return array


def tensors(call: Call, builder: OnnxBuilder, count: int = 2) -> list[Value]:
    """The first inputs of a call as tensors of one data type.

    A number takes the data type of the tensor beside it, but a fraction makes integers float32, as in MindSpore.
    """
    given = [call.input(at) for at in range(count)]
    dtype = common_dtype(given)
    return [builder.cast(one, dtype) if isinstance(one, Value) else builder.scalar(one, dtype) for one in given]


def common_dtype(given: list[Any]) -> str:
    """The data type that tensors and numbers have together."""
    types = [one.dtype for one in given if isinstance(one, Value) and one.dtype]
    if not types:
        raise Refused("none of its inputs is a tensor of a known data type")
    kinds = [np.dtype(numpy_dtype(one)) for one in types]
    fractions = [one for one in kinds if one.kind not in "iub"]  # MindSpore has int64 with float16 as float16
    dtype = types[0] if len(set(types)) == 1 else np.result_type(*(fractions or kinds)).name
    if numpy_dtype(dtype).kind in "iub" and any(isinstance(one, float) for one in given):
        return "float32"
    if dtype == "bool" and any(type(one) is int for one in given):
        return "int64"
    return dtype


def arrays(call: Call, count: int = 2) -> list[Array]:
    """The same for an evaluation: the first inputs as arrays; a number joins the data type beside it."""
    given = [call.input(at) for at in range(count)]
    kinds = [one.dtype for one in given if isinstance(one, np.ndarray)]
    if not kinds:
        raise Refused("none of its inputs is a tensor")
    dtype = np.result_type(*kinds)
    if dtype.kind in "iub" and any(isinstance(one, float) for one in given):
        dtype = np.dtype(np.float64)
    elif dtype.kind == "b" and any(type(one) is int for one in given):
        dtype = np.dtype(np.int64)
    return [np.asarray(one).astype(dtype) for one in given]
