"""Element-wise operators of MindSpore in ONNX and in numpy, by formulas of Python's own numbers."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mswb.convert import primitives, to_onnx
from mswb.convert.evaluator import evaluate
from mswb.convert.graph import TYPE_IDS, Builder, Value
from mswb.convert.mindir.reader import read_file
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.kernels import FLOATS, INTEGERS, KERNELS, working
from tests.unit.convert.primitive_models import agree, call, run_onnx, same, written

ANY = np.array([-20.5, -3.0, -2.5, -1.25, -0.5, -1e-4, 0.0, 1e-4, 0.3, 0.5, 1.0, 2.5, 6.5, 12.0])
INSIDE = np.array([-0.99, -0.5, -1e-3, 0.0, 1e-5, 0.25, 0.75, 0.999])
ABOVE = np.array([1e-3, 0.25, 0.5, 1.0, 1.5, 2.5, 30.0])
FROM_ONE = np.array([1.0, 1.001, 1.5, 20.0])
_LN2 = math.log(2)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _clip(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def _selu(x: float) -> float:
    return 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * (math.exp(x) - 1))


def _gelu(x: float) -> float:
    return x * _sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def _half_to_even(x: float) -> float:
    return float(round(x))


ONE: dict[str, tuple[Callable[[float], float], np.ndarray[Any, Any], tuple[Any, ...]]] = {
    "ACos": (math.acos, INSIDE, ()),
    "Abs": (abs, ANY, ()),
    "Acosh": (math.acosh, FROM_ONE, ()),
    "Asin": (math.asin, INSIDE, ()),
    "Asinh": (math.asinh, ANY, ()),
    "Atan": (math.atan, ANY, ()),
    "Atanh": (math.atanh, INSIDE, ()),
    "CeLU": (lambda x: max(0.0, x) + min(0.0, 2 * (math.exp(x / 2) - 1)), ANY, (2.0,)),
    "Ceil": (math.ceil, ANY, ()),
    "Cos": (math.cos, ANY, ()),
    "Cosh": (math.cosh, ANY[1:], ()),
    "Elu": (lambda x: x if x > 0 else 1.5 * (math.exp(x) - 1), ANY, (1.5,)),
    "Exp": (math.exp, ANY, ()),
    "Exp2": (lambda x: 2**x, ANY, ()),
    "Expm1": (math.expm1, ANY, ()),
    "FastGeLU": (lambda x: x * _sigmoid(1.702 * x), ANY, ()),
    "Floor": (math.floor, ANY, ()),
    "Frac": (lambda x: math.modf(x)[0], ANY, ()),
    "GeLU": (_gelu, ANY, ()),
    "HShrink": (lambda x: 0 if abs(x) <= 0.5 else x, ANY, (0.5,)),
    "HSigmoid": (lambda x: _clip(x + 3, 0, 6) / 6, ANY, ()),
    "HSwish": (lambda x: x * _clip(x + 3, 0, 6) / 6, ANY, ()),
    "Hardtanh": (lambda x: _clip(x, -1.5, 2.0), ANY, (-1.5, 2.0)),
    "LeakyReLUExt": (lambda x: x if x > 0 else x / 4, ANY, (0.25,)),
    "Lgamma": (math.lgamma, np.array([-2.5, -0.25, 1e-3, 0.5, 1.0, 2.0, 7.25, 40.0]), ()),
    "Log": (math.log, ABOVE, ()),
    "Log10": (math.log10, ABOVE, ()),
    "Log1p": (math.log1p, np.array([-0.9, -1e-5, 0.0, 1e-6, 0.5, 30.0]), ()),
    "Log2": (math.log2, ABOVE, ()),
    "LogSigmoid": (lambda x: -math.log1p(math.exp(-x)), ANY, ()),
    "Logit": (lambda x: math.log(x / (1 - x)), np.array([0.1, 0.5, 0.75]), (-1.0,)),
    "Mish": (lambda x: x * math.tanh(math.log1p(math.exp(x))), ANY, ()),
    "Neg": (lambda x: -x, ANY, ()),
    "ReLU": (lambda x: max(x, 0.0), ANY, ()),
    "ReLU6": (lambda x: _clip(x, 0.0, 6.0), ANY, ()),
    "Reciprocal": (lambda x: 1 / x, ABOVE, ()),
    "Rint": (_half_to_even, ANY, ()),
    "Round": (_half_to_even, ANY, (0,)),
    "Rsqrt": (lambda x: x**-0.5, ABOVE, ()),
    "SeLU": (_selu, ANY, ()),
    "SiLU": (lambda x: x * _sigmoid(x), ANY, ()),
    "Sigmoid": (_sigmoid, ANY, ()),
    "Sign": (lambda x: (x > 0) - (x < 0), ANY, ()),
    "Sin": (math.sin, ANY, ()),
    "Sinc": (lambda x: math.sin(math.pi * x) / (math.pi * x) if x else 1.0, ANY, ()),
    "Sinh": (math.sinh, ANY[1:], ()),
    "SoftShrink": (lambda x: math.copysign(max(abs(x) - 0.5, 0.0), x), ANY, (0.5,)),
    "Softplus": (lambda x: math.log1p(math.exp(x)), ANY, ()),
    "SoftplusExt": (lambda x: x if 2 * x > 5 else math.log1p(math.exp(2 * x)) / 2, ANY, (2, 5)),
    "Softsign": (lambda x: x / (1 + abs(x)), ANY, ()),
    "Sqrt": (math.sqrt, ABOVE, ()),
    "Square": (lambda x: x * x, ANY, ()),
    "Tan": (math.tan, ANY, ()),
    "Tanh": (math.tanh, ANY, ()),
    "Threshold": (lambda x: x if x > 0.4 else 7.0, ANY, (0.4, 7.0)),
    "Trunc": (math.trunc, ANY, ()),
}
"""By primitive: what it is, where it is tried, and the arguments behind the tensor."""
DOUBLE = sorted(ONE.keys() - {"GeLU"})


def _one(name: str, dtype: str, rtol: float) -> None:
    formula, places, more = ONE[name]
    x = places.astype(dtype)
    agree(call(name, *more), [x], [np.array([formula(float(one)) for one in x]).astype(dtype)], rtol)


@pytest.mark.parametrize("name", sorted(ONE))
def test_a_function_of_one_number(name: str) -> None:
    _one(name, "float32", 2e-6)


@pytest.mark.parametrize("name", DOUBLE)
def test_double_precision_is_kept(name: str) -> None:
    _one(name, "float64", 1e-12)


@pytest.mark.parametrize("name", ["Erfc", "GeluExt", "Log1p", "Mish", "SiLU", "Softplus", "Tanh"])
def test_half_precision_is_rounded_at_the_end_alone(name: str) -> None:
    formulas = {"Erfc": math.erfc, "GeluExt": lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2)))}
    formula = formulas[name] if name in formulas else ONE[name][0]
    x = np.array([0.1, 0.3, 0.7, 1.5, 3.0], np.float16)
    exact = np.array([formula(float(one)) for one in x])
    make = call(name, "none") if name == "GeluExt" else call(name)
    with tempfile.TemporaryDirectory() as folder:
        found = run_onnx(written(make, [x], Path(folder)), [x])[0]
    assert found.dtype == np.float16
    assert np.all(np.abs(found - exact) <= np.spacing(np.abs(exact).astype(np.float16)).astype(float) * 0.6)


def test_the_error_function_and_its_inverse() -> None:
    x = np.array([-7.0, -3.0, -0.5, 0.0, 1e-3, 0.7, 2.0, 5.5])
    agree(call("Erf"), [x.astype(np.float32)], [np.array(list(map(math.erf, x)), np.float32)], 1e-6)
    agree(call("Erf"), [x], [np.array(list(map(math.erf, x)))], 1e-14)
    agree(call("Erfc"), [x], [np.array(list(map(math.erfc, x)))], 1e-14)
    agree(call("GeluExt", "none"), [x], [np.array([one / 2 * (1 + math.erf(one / math.sqrt(2))) for one in x])], 1e-14)
    wanted = np.array([-2.5, -0.75, -1e-3, 0.0, 0.25, 1.5])
    y = np.array(list(map(math.erf, wanted)))
    agree(call("Erfinv"), [y], [wanted], 1e-12)
    agree(call("Erfinv"), [y.astype(np.float32)], [wanted.astype(np.float32)], 2e-4)
    edges = np.array([-1.0, 1.0, 2.0], np.float32)
    agree(call("Erfinv"), [edges], [np.array([-np.inf, np.inf, np.nan], np.float32)])


def test_the_derivative_of_the_gamma_function() -> None:
    """At whole numbers the harmonic sums, at a half by Gauss's theorem, on the left by reflection."""
    euler = 0.57721566490153286
    x = np.array([1.0, 2.0, 5.0, 0.5, -0.5, -3.0, 1e4], np.float64)
    half = -euler - 2 * _LN2
    wanted = [-euler, 1 - euler, 25 / 12 - euler, half, half + 2, np.nan, math.log(1e4) - 0.5e-4 - 1e-8 / 12]
    agree(call("Digamma"), [x], [np.array(wanted)], 1e-13)


# -- two tensors

PAIRS = [(x, y) for x in (-7.25, -3.0, -0.5, 0.375, 2.0, 10.0) for y in (-2.5, -1.0, 0.375, 3.5)]
TWO: dict[str, Callable[[float, float], float]] = {
    "Add": lambda x, y: x + y,
    "Atan2": math.atan2,
    "Div": lambda x, y: x / y,
    "FloorDiv": lambda x, y: math.floor(x / y),
    "FloorMod": lambda x, y: x - math.floor(x / y) * y,
    "Hypot": math.hypot,
    "LogAddExp": lambda x, y: math.log(math.exp(x) + math.exp(y)),
    "LogAddExp2": lambda x, y: math.log2(2**x + 2**y),
    "Maximum": max,
    "Minimum": min,
    "Mod": math.fmod,
    "Mul": lambda x, y: x * y,
    "SquaredDifference": lambda x, y: (x - y) ** 2,
    "Sub": lambda x, y: x - y,
    "TruncateDiv": lambda x, y: math.trunc(x / y),
    "TruncateMod": math.fmod,
    "Xdivy": lambda x, y: x / y,
}


@pytest.mark.parametrize("name", sorted(TWO))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_of_two_numbers(name: str, dtype: str) -> None:
    x, y = (np.array(part).astype(dtype) for part in zip(*PAIRS, strict=True))
    wanted = np.array([TWO[name](float(one), float(other)) for one, other in zip(x, y, strict=True)])
    agree(call(name), [x, y], [wanted.astype(dtype)], 1e-5 if dtype == "float32" else 1e-13)


def test_angles_of_all_quadrants_and_of_the_axes() -> None:
    numbers = [-math.inf, -2.0, -0.0, 0.0, 1.0, math.inf]
    y, x = (np.array(part, np.float32) for part in zip(*[(a, b) for a in numbers for b in numbers], strict=True))
    agree(call("Atan2"), [y, x], [np.array(list(map(math.atan2, y, x)), np.float32)], 1e-6)


@given(st.sampled_from(INTEGERS), st.data())
@settings(max_examples=60, deadline=None)
def test_whole_quotients_and_remainders_are_pythons(dtype: str, data: st.DataObject) -> None:
    kind = np.iinfo(dtype)
    several = st.lists(st.integers(int(kind.min), int(kind.max)), min_size=3, max_size=3)
    x = data.draw(several)
    y = [one if one not in (0, -1) else 3 for one in data.draw(several)]
    given_ = [np.array(x, dtype), np.array(y, dtype)]
    floor = [one // other for one, other in zip(x, y, strict=True)]
    cut = [abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1) for one, other in zip(x, y, strict=True)]

    def make(b: Builder, one: Value, other: Value) -> list[Value]:
        return [b.op(name, one, other) for name in ("FloorDiv", "FloorMod", "RealDiv", "TruncateMod")]

    wanted = [
        floor,
        [one - a * b for one, a, b in zip(x, floor, y, strict=True)],
        cut,
        [one - a * b for one, a, b in zip(x, cut, y, strict=True)],
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = written(make, given_, Path(folder))
        expected = [np.array(one, dtype) for one in wanted]
        for found in (run_onnx(path, given_), evaluate(path, read_file(path), given_)):
            for one, other in zip(found, expected, strict=True):
                assert one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_around_in_every_data_type(dtype: str) -> None:
    kind = np.iinfo(dtype)
    x, y = np.array([kind.max, kind.min, 5], dtype), np.array([1, kind.max, 3], dtype)
    with np.errstate(over="ignore"):
        for name, wanted in (("Add", x + y), ("Sub", x - y), ("Mul", x * y), ("Maximum", np.maximum(x, y))):
            if not (dtype == "uint64" and name == "Maximum"):
                agree(call(name), [x, y], [wanted], 0)
        agree(call("Neg"), [x], [np.negative(x)], 0)
    agree(call("Less"), [x, y], [x < y])
    agree(call("NotEqual"), [x, y], [x != y])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_and_bits(dtype: str) -> None:
    kind = np.iinfo(dtype)
    x = np.array([kind.min, kind.max, 1, 100, kind.min // 2], dtype)
    by = np.array([1, 3, 7, 2, 5], dtype)
    bits = 8 * x.itemsize
    left = [((int(a) << int(n)) & ((1 << bits) - 1)) for a, n in zip(x, by, strict=True)]
    signed = [one - (1 << bits) if kind.min < 0 and one >> (bits - 1) else one for one in left]
    agree(call("LeftShift"), [x, by], [np.array(signed, dtype)], 0)
    agree(call("RightShift"), [x, by], [np.array([int(a) >> int(n) for a, n in zip(x, by, strict=True)], dtype)], 0)
    agree(call("BitwiseXor"), [x, by], [np.array([int(a) ^ int(n) for a, n in zip(x, by, strict=True)], dtype)], 0)
    agree(call("Invert"), [x], [~x], 0)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_division_of_integers_gives_fractions(dtype: str) -> None:
    x, y = np.array([1, 0, 1], dtype), np.array([1, 1, 1], dtype)
    agree(call("Div"), [x, y], [np.array([1, 0, 1], np.float32)])
    agree(call("Divs", 4), [x], [np.array([0.25, 0, 0.25], np.float32)])


def test_a_number_joins_the_data_type_beside_it_and_a_fraction_widens_integers() -> None:
    whole, half, truth = np.array([1, -2], np.int32), np.array([1, -2], np.float16), np.array([True, False])
    agree(call("Muls", 3), [whole], [np.array([3, -6], np.int32)])
    agree(call("Muls", 2.5), [whole], [np.array([2.5, -5], np.float32)])
    agree(call("Muls", 2.5), [half], [np.array([2.5, -5], np.float16)])
    agree(call("Muls", 3), [truth], [np.array([3, 0], np.int64)])
    agree(call("SubScalar", 2, 3), [whole], [np.array([-5, -8], np.int32)])
    agree(call("AddExt", 2), [half, half], [np.array([3, -6], np.float16)])
    agree(call("PowTensorScalar", 2), [whole], [np.array([1, 4], np.int32)])


def test_sums_of_several_and_mixed_terms() -> None:
    x, y, z = (np.array(one, np.float32) for one in ([1.0, 2.0], [[3.0], [-4.0]], [0.5, 8.0]))
    agree(lambda b, *all_: b.op("AddN", b.tuple([all_[0], all_[2], all_[0]])), [x, y, z], [2 * x + z])
    agree(call("Addcmul", np.array([2], np.float32)), [x, y, z], [x + 2 * y * z])
    agree(call("AddcdivExt", 0.5), [x, y, z], [x + 0.5 * y / z])
    agree(call("Lerp"), [x, y, z], [x + z * (y - x)])
    image = np.arange(12, dtype=np.float32).reshape(1, 2, 3, 2)
    bias = np.array([10.0, 20.0], np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = written(call("BiasAdd", 0), [image, bias], Path(folder), free=True)
        wanted = np.stack([image[0, 0] + 10, image[0, 1] + 20])[None]
        same(run_onnx(path, [image, bias]), [wanted], 1e-6, "onnx")
        same(evaluate(path, read_file(path), [image, bias]), [wanted], 1e-6, "evaluation")


def test_limits() -> None:
    x = np.array([-5.0, 0.5, 9.0], np.float32)
    agree(call("ClampScalar", -1, 2), [x], [np.array([-1, 0.5, 2], np.float32)])
    agree(call("ClampScalar", 2, -1), [x], [np.full(3, -1, np.float32)])
    agree(call("ClampScalar", None, 2.5), [x], [np.array([-5, 0.5, 2.5], np.float32)])
    agree(call("ClampScalar", -1, 3), [x.astype(np.int16)], [np.array([-1, 0, 3], np.int16)])
    low, high = np.array([0, 0, 0], np.float32), np.array([9, 0.25, 1], np.float32)
    agree(call("ClampTensor"), [x, low, high], [np.array([0, 0.25, 1], np.float32)])
    odd = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    agree(call("NanToNum", 7.0, 8.0, 9.0), [odd], [np.array([7, 8, 9, 1], np.float32)])
    largest = float(np.finfo(np.float32).max)
    agree(call("NanToNum", None, None, None), [odd], [np.array([0, largest, -largest, 1], np.float32)])


# -- truths and choice


def test_what_only_fractions_can_be() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0], np.float32)
    agree(call("IsNan"), [x], [np.array([True, False, False, False])])
    agree(call("IsInf"), [x], [np.array([False, True, True, False])])
    agree(call("IsNegInf"), [x], [np.array([False, False, True, False])])
    agree(call("IsFinite"), [x], [np.array([False, False, False, True])])
    agree(call("IsFinite"), [np.array([1, 2])], [np.array([True, True])])
    y = np.array([np.nan, np.inf, np.inf, 1e-9], np.float32)
    agree(call("IsClose", 1e-5, 1e-8, False), [x, y], [np.array([False, True, False, True])])
    agree(call("IsClose", 1e-5, 1e-8, True), [x, y], [np.array([True, True, False, True])])
    agree(call("LogicalNot"), [x], [np.array([False, False, False, True])])


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
def test_choice_keeps_every_data_type(dtype: str) -> None:
    condition = np.array([[True], [False]])
    x, y = np.array([1, 0, 1]).astype(dtype), np.array([0, 1, 1]).astype(dtype)
    agree(call("Select"), [condition, x, y], [np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)])
    if dtype != "bool":
        agree(call("MaskedFillScalar", 5), [x, condition], [np.array([[5, 5, 5], [1, 0, 1]]).astype(dtype)])


# -- data types


@pytest.mark.parametrize("source", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("target", ["bool", *INTEGERS, *FLOATS])
def test_casts(source: str, target: str) -> None:
    x = np.array([0, 1, 100 if source != "bool" else 1]).astype(source)
    with tempfile.TemporaryDirectory() as folder:
        path = written(call("Cast", TYPE_IDS[target]), [x], Path(folder))
        same(run_onnx(path, [x]), [x.astype(target)], 0, "onnx")
        same(evaluate(path, read_file(path), [x]), [x.astype(target)], 0, "evaluation")


def test_fractions_lose_what_is_behind_the_point() -> None:
    x = np.array([-2.75, -0.5, 0.5, 2.75], np.float32)
    agree(call("Cast", TYPE_IDS["int32"]), [x], [np.array([-2, 0, 0, 2], np.int32)])
    agree(call("Cast", TYPE_IDS["uint8"]), [x], [np.array([254, 0, 0, 2], np.uint8)])
    agree(call("Cast", TYPE_IDS["bool"]), [x], [np.array([True] * 4)])


@pytest.mark.parametrize("dtype", ["bool", "int16", "uint64", "float16", "float64"])
def test_tensors_like_another(dtype: str) -> None:
    x = np.array([[1, 0, 1], [0, 0, 1]]).astype(dtype)
    agree(call("OnesLike"), [x], [np.ones_like(x)])
    agree(call("ZerosLikeExt", TYPE_IDS["int32"]), [x], [np.zeros((2, 3), np.int32)])
    agree(call("FullLike", 1, None), [x], [np.ones_like(x)])


def test_numbers_that_only_the_run_knows() -> None:
    x = np.zeros((3, 4), np.float32)

    def make(b: Builder, one: Value) -> list[Value]:
        shape = b.op("Shape", one, dtype="tuple")
        rows, columns = b.item(shape, 0), b.item(shape, 1)
        area = b.op("ScalarMul", rows, columns)
        part = b.op("ScalarFloorDiv", b.op("ScalarUsub", area), 5)
        left = b.op("ScalarMod", part, 4)
        half = b.op("ScalarDiv", columns, 8)
        more = b.op("ScalarGt", area, 11)
        return [b.op("ScalarToTensor", left, TYPE_IDS["int64"]), b.op("ScalarToTensor", half, TYPE_IDS["float32"]),
                b.op("ScalarToTensor", more, TYPE_IDS["bool"])]  # fmt: skip

    agree(make, [x], [np.array(1), np.array(0.5, np.float32), np.array(True)])


def test_a_tensor_as_a_number_and_back() -> None:
    x = np.array([7], np.int32)

    def make(b: Builder, one: Value) -> Value:
        number = b.op("ScalarAdd", b.op("TensorToScalar", one, attributes={}), 2)
        return b.op("ScalarToTensor", b.op("ScalarCast", number, TYPE_IDS["float32"]), TYPE_IDS["float32"])

    agree(make, [x], [np.array(9, np.float32)])


# -- layers


def test_slopes_by_channel_and_gates() -> None:
    x = np.array([[[-2.0, 4.0], [-8.0, 1.0]]], np.float32)
    agree(call("PReLU"), [x, np.array([0.5, 0.25], np.float32)], [np.array([[[-1, 4], [-2, 1]]], np.float32)])
    agree(call("PReLU"), [x, np.array([0.5], np.float32)], [np.array([[[-1, 4], [-4, 1]]], np.float32)])
    flat = np.array([[1.0, -2.0, 0.0, 3.0]], np.float32)
    gates = [[_sigmoid(0), -2 * _sigmoid(3)]]
    agree(call("GLU", -1), [flat], [np.array(gates, np.float32)])
    agree(call("Swiglu", -1), [flat], [np.array([[0.0, -2 * _sigmoid(-2) * 3]], np.float32)])


def test_dropout_of_nothing_keeps_all_and_any_other_is_refused(tmp_path: Path) -> None:
    x = np.array([1.0, 2.0], np.float32)

    def make(keep: float) -> Callable[..., Value]:
        return lambda b, one: b.item(b.op("Dropout", one, keep, 0, 0, dtype="tuple"), 0)

    agree(make(1.0), [x], [x])
    done = to_onnx.convert(written(make(0.5), [x], tmp_path))
    assert done.proto is None and [one.code for one in done.findings] == ["unsupported-form"]


def test_random_numbers_have_the_distribution_and_no_value_to_compare(tmp_path: Path) -> None:
    make = call("StandardNormal", attr=1)
    path = written(lambda b: make(b, (50, 40)), [], tmp_path)
    found = run_onnx(path, [])[0]
    assert found.shape == (50, 40) and abs(found.mean()) < 0.15 and 0.85 < found.std() < 1.15
    with pytest.raises(Exception, match="at random"):
        evaluate(path, read_file(path), [])


@pytest.mark.parametrize("op", sorted(KERNELS))
def test_a_wider_data_type_holds_every_number(op: str) -> None:
    for dtype in INTEGERS:
        try:
            used = working(op, dtype)
        except Refused:
            continue
        if dtype != "uint64":  # whose bits an int64 has, where that says the same
            limits = np.iinfo(dtype)
            assert all(int(np.array(one).astype(used)) == one for one in (int(limits.min), int(limits.max)))


def test_every_entry_has_both_sides() -> None:
    assert not primitives.table("TO_ONNX").keys() - primitives.table("EVALUATE").keys()


def test_divisors_and_multiples() -> None:
    x, y = np.array([[12], [-7], [0]]), np.array([18, 0, -21, 1])
    agree(call("Gcd"), [x, y], [np.array([[math.gcd(a, b) for b in y.tolist()] for a in x[:, 0].tolist()])], 0)
    small = x.astype(np.int16), y.astype(np.int16)
    wanted = [[math.lcm(a, b) for b in y.tolist()] for a in x[:, 0].tolist()]
    agree(call("Lcm"), small, [np.array(wanted, np.int16)], 0)


def test_modified_bessel_functions() -> None:
    """By their power series near zero, and by their asymptotes far out."""
    x = np.array([-3.0, 0.0, 0.5, 20.0])
    sums = [
        np.array(
            [sum((v / 2) ** (2 * k + n) / math.factorial(k) / math.factorial(k + n) for k in range(80)) for v in x]
        )
        for n in (0, 1)
    ]
    for n in (0, 1):
        agree(call(f"BesselI{n}", same=1), [x], [sums[n]], 1e-12)
        agree(call(f"BesselI{n}e", same=1), [x], [sums[n] * np.exp(-np.abs(x))], 1e-12)
    far = np.array([1e4, 1e6])
    agree(call("BesselI0e", same=1), [far], [(1 + 1 / (8 * far)) / np.sqrt(2 * math.pi * far)], 1e-8)


def test_what_prints_or_asserts_gives_nothing_and_changes_nothing() -> None:
    x = np.array([-1.0, 2.0], np.float32)

    def make(b: Builder, one: Value) -> Value:
        shown = b.op("Print", one, attributes={"name": "x"})
        checked = b.op("Assert", b.op("Greater", one, -5.0), b.tuple([one]), attributes={"summarize": 3})
        state = b.op("UpdateState", None, b.tuple([shown, checked]))
        return b.op("Depend", b.op("ReLU", one), state)

    agree(make, [x], [np.array([0, 2], np.float32)])


@given(st.sampled_from(["int32", "int64"]), st.integers(-12, 12), st.integers(-3, 30))
@settings(max_examples=30, deadline=None)
def test_powers_of_integers_where_they_fit(dtype: str, base: int, exponent: int) -> None:
    assume(base != 0 or exponent >= 0)
    assume(exponent <= 0 or abs(base**exponent) < 2 ** (30 if dtype == "int32" else 52))
    x, y = np.array([base], dtype), np.array([exponent], dtype)
    with tempfile.TemporaryDirectory() as folder:
        path = written(call("Pow"), [x, y], Path(folder))
        wanted = [np.array([math.trunc(float(base) ** exponent)], dtype)]
        same(run_onnx(path, [x, y]), wanted, 0, "onnx")
        same(evaluate(path, read_file(path), [x, y]), wanted, 0, "evaluation")
