"""Half precision: which operators lose too much in it, and what its range can't hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mswb.convert.graph import Array
from mswb.convert.verify.compare import LIMITS, PIECE, Limits

LARGEST = 65504.0
"""The largest number of float16."""
SMALLEST = 2.0**-14
"""Numbers below this have fewer than eleven bits in float16 (subnormal)."""
HALVES = ("float16", "bfloat16")
SENSITIVE = frozenset(
    {
        "ACos", "Acosh", "Asin", "Asinh", "Atanh", "BatchNorm", "BCEWithLogitsLoss", "BinaryCrossEntropy",
        "Cosh", "CumProd", "CumSum", "CumsumExt", "Erfinv", "Exp", "Expm1", "GroupNorm", "InstanceNorm",
        "KLDivLoss", "L2Loss", "L2Normalize", "LayerNorm", "LayerNormExt", "LayerNormV3", "Log", "Log1p",
        "LogSoftmax", "LogSoftmaxExt", "LogSumExp", "Logit", "LpNorm", "MSELossExt", "MeanExt", "NLLLoss",
        "Norm", "Pow", "PowScalarTensor", "PowTensorScalar", "ProdExt", "Reciprocal", "ReduceMean",
        "ReduceProd", "ReduceSum", "RmsNorm", "Rsqrt", "Sinh", "SmoothL1Loss", "Softmax",
        "SoftmaxCrossEntropyWithLogits", "SoftmaxExt", "Softplus", "SoftplusExt",
        "SparseSoftmaxCrossEntropyWithLogits", "Std", "SumExt", "Tan", "Var",
    }
)  # fmt: skip
"""Operators that MindSpore's own automatic mixed precision keeps in float32 (the black lists of ``train/amp.py``), with
their later spellings, and the reductions: their results are judged as float32 is, whatever they are stored in."""


MOVERS = frozenset(
    {"Abs", "Add", "BiasAdd", "BroadcastTo", "Cast", "Concat", "ExpandDims", "Flatten", "Gather", "MaxPool", "Mul",
     "Muls", "Neg", "PadV3", "ReLU", "Reshape", "Select", "Split", "Squeeze", "StridedSlice", "Tile", "Transpose",
     "View"}
)  # fmt: skip
"""Operators through which the coarseness of an input reaches what reads them: a number stays what it was rounded to."""


def coarsest(dtypes: Iterable[str]) -> str:
    """The data type among these that keeps the fewest bits of a fraction; "" without any."""
    order = ("bfloat16", "float16", "float32", "float64")
    return min((one for one in dtypes if one in order), key=order.index, default="")


def limits_alone(op: str, dtypes: Iterable[str]) -> Limits | None:
    """How near an operator must come on exact inputs: as its data types allow, and a sensitive one as float32 does.

    Args:
        dtypes: of its result and its inputs. None is the answer when none of them has fractions.
    """
    return LIMITS["float32"] if op in SENSITIVE else LIMITS.get(coarsest(dtypes))


@dataclass(frozen=True, slots=True)
class Range:
    """What a result asks of float16.

    Attributes:
        largest: the largest absolute value that is finite.
        overflows: how many elements are finite and have no place in float16.
        subnormal: how many are not zero and so small that float16 keeps few or none of their bits.
    """

    largest: float
    overflows: int
    subnormal: int
    elements: int


def range_of(exact: Array) -> Range:
    """The range of a result that is computed in double precision."""
    largest, overflows, subnormal = 0.0, 0, 0
    flat = exact.reshape(-1)
    for start in range(0, flat.size, PIECE):
        size = np.abs(flat[start : start + PIECE])
        size = size[np.isfinite(size)]
        largest = max(largest, float(size.max(initial=0.0)))
        overflows += int(np.count_nonzero(size > LARGEST))
        subnormal += int(np.count_nonzero((size > 0) & (size < SMALLEST)))
    return Range(largest, overflows, subnormal, flat.size)
