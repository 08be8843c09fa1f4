"""Inverses, linear systems, determinants and Cholesky factors of small matrices, composed step by step.

ONNX has none of them but the determinant. Gauss and Jordan's elimination takes the largest element of a column as its
pivot; a matrix of n rows takes n steps, each of which is in the file, so that n is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mswb.convert.graph import Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.extents import END, rank_of, slices
from mswb.convert.primitives.extremes import position
from mswb.convert.primitives.kernels import SINGLE, run, single
from mswb.convert.primitives.linear import turned
from mswb.convert.primitives.operands import tensor
from mswb.convert.primitives.reduction import reduced
from mswb.convert.program import Call

LARGEST = 32
"""Rows of a matrix that is taken apart."""


@dataclass(frozen=True, slots=True)
class Eliminated:
    """A system whose matrix has become the identity.

    Attributes:
        right: what the right side has become: the solution.
        pivots: what was divided by, one after the other, along the last dimension.
        swaps: -1 for each exchange of two rows, else 1, in the same way.
    """

    right: Value
    pivots: Value
    swaps: Value


def _rows(x: Value) -> int:
    count = None if x.shape is None or len(x.shape) < 2 else x.shape[-1]
    if count is None:
        raise Refused("the size of the matrix is only known when the model runs")
    if not 0 < count <= LARGEST:
        raise Refused(f"ONNX has no such operator, and a matrix of {count} rows is too large to be taken apart")
    return count


def eliminated(b: OnnxBuilder, matrix: Value, right: Value) -> Eliminated:
    """Solve a system; both have the same batch."""
    count, rank = _rows(matrix), rank_of(matrix)
    whole = b.op("Concat", matrix, right, axis=-1)
    places = b.constant(np.arange(count).reshape(count, 1))
    pivots, swaps = [], []
    for at in range(count):
        below = slices(b, whole, [-2, -1], [at, at], [END, at + 1])
        best = run(b, "Add", position(b, "ArgMax", b.op("Abs", below), rank - 2, True), at)
        here = b.op("Equal", places, b.scalar(at, "int64"))
        other = b.op("Where", b.op("Equal", places, best), b.scalar(at, "int64"), places)
        order = b.op("Expand", b.op("Where", here, best, other), b.shape_of(whole))
        whole = b.op("GatherElements", whole, order, axis=rank - 2)
        row = slices(b, whole, [-2], [at], [at + 1])
        pivot = slices(b, row, [-1], [at], [at + 1])
        row = b.op("Div", row, pivot)
        column = slices(b, whole, [-1], [at], [at + 1])
        whole = b.op("Where", here, row, b.op("Sub", whole, b.op("Mul", column, row)))
        pivots.append(pivot)
        moved = b.op("Equal", best, b.scalar(at, "int64"))
        swaps.append(b.op("Where", moved, b.scalar(1, matrix.dtype), b.scalar(-1, matrix.dtype)))
    joined = [b.squeeze(b.op("Concat", *parts, axis=-1), [-2]) for parts in (pivots, swaps)]
    return Eliminated(slices(b, whole, [-1], [count], [END]), *joined)


def _identity(b: OnnxBuilder, x: Value) -> Value:
    kind = np.float64 if x.dtype == "float64" else np.float32
    return b.op("Expand", b.constant(np.eye(_rows(x), dtype=kind)), b.shape_of(x))


def inverse(b: OnnxBuilder, x: Value) -> Value:
    """The inverse of square matrices."""
    return eliminated(b, x, _identity(b, x)).right


def _inverse(call: Call, b: OnnxBuilder) -> Value:
    x = turned(b, single(b, tensor(call)), bool(call.get("adjoint", False)))
    return b.cast(inverse(b, x), tensor(call).dtype)


def _power(call: Call, b: OnnxBuilder) -> Value:
    """By squaring."""
    exponent, square = int(call.get("n")), single(b, tensor(call))
    if exponent == 0:
        return b.cast(_identity(b, square), tensor(call).dtype)
    square, exponent = (inverse(b, square), -exponent) if exponent < 0 else (square, exponent)
    found: Value | None = None
    while exponent:
        if exponent & 1:
            found = square if found is None else run(b, "MatMul", found, square)
        exponent >>= 1
        square = run(b, "MatMul", square, square) if exponent else square
    return b.cast(found or square, tensor(call).dtype)


def _determinant(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    if x.dtype in SINGLE:
        return b.op("Det", x)
    found = eliminated(b, x, x)
    return reduced(b, "ReduceProd", b.op("Mul", found.pivots, found.swaps), (-1,), False)


def _logarithm(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
    """The sign of the determinant, and the logarithm of what is absolute."""
    x = tensor(call)
    found = eliminated(b, x, x)
    sign = reduced(b, "ReduceProd", b.op("Mul", b.op("Sign", found.pivots), found.swaps), (-1,), False)
    return sign, reduced(b, "ReduceSum", b.op("Log", b.op("Abs", found.pivots)), (-1,), False)


def _solve(call: Call, b: OnnxBuilder) -> Value:
    x, right = tensor(call), tensor(call, 1)
    if call.op == "MatrixTriangularSolve":
        x = b.op("Trilu", x, upper=int(not call.get("lower", True)))
    return eliminated(b, turned(b, x, bool(call.get("adjoint", False))), right).right


def _solve_triangular(call: Call, b: OnnxBuilder) -> Value:
    x, right = tensor(call), tensor(call, 1)
    x = b.op("Trilu", x, upper=int(not call.get("lower", False)))
    if call.get("unit_diagonal", False):
        eye = b.constant(np.eye(_rows(x), dtype=bool))
        x = b.op("Where", eye, b.scalar(1, x.dtype), x)
    x = turned(b, x, call.get("trans", 0) not in (0, "N"))
    if rank_of(right) == rank_of(x):
        return eliminated(b, x, right).right
    return b.squeeze(eliminated(b, x, b.unsqueeze(right, [-1])).right, [-1])


def _cholesky(call: Call, b: OnnxBuilder) -> Value:
    """One column after the other; what it explains is taken from the rest."""
    x = single(b, tensor(call))
    places, columns = b.constant(np.arange(_rows(x)).reshape(-1, 1)), []
    for at in range(_rows(x)):
        column = slices(b, x, [-1], [at], [at + 1])
        scaled = b.op("Div", column, b.op("Sqrt", slices(b, column, [-2], [at], [at + 1])))
        below = b.op("Less", places, b.scalar(at, "int64"))
        columns.append(b.op("Where", below, b.scalar(0, x.dtype), scaled))
        x = b.op("Sub", x, b.op("MatMul", columns[-1], turned(b, columns[-1], True)))
    found = b.op("Concat", *columns, axis=-1)
    return b.cast(turned(b, found, bool(call.get("upper", False))), tensor(call).dtype)


def _cholesky_inverse(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    pair = (turned(b, x, True), x) if call.get("upper", False) else (x, turned(b, x, True))
    return inverse(b, b.op("MatMul", *pair))


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Value | tuple[Value, ...]]] = {
    "Cholesky": _cholesky,
    "CholeskyInverse": _cholesky_inverse,
    "LogMatrixDeterminant": _logarithm,
    "MatrixDeterminant": _determinant,
    "MatrixInverse": _inverse,
    "MatrixInverseExt": _inverse,
    "MatrixPower": _power,
    "MatrixSolve": _solve,
    "MatrixTriangularSolve": _solve,
    "SolveTriangular": _solve_triangular,
}
