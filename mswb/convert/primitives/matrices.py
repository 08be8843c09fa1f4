"""Diagonals, distances and products of vectors; linear algebra in numpy (in ONNX: :mod:`.elimination`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.extents import along, axis_in, converted, counted, dtype_of, rank_of, size
from mswb.convert.primitives.kernels import run, single, where
from mswb.convert.primitives.norms import norm, norm_of
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.primitives.reduction import reduced
from mswb.convert.program import Call

_UNSET = -65530
"""Cross without a dimension: the first of size 3."""


# -- ONNX


def _trace(call: Call, b: OnnxBuilder) -> Value:
    """The sum of a diagonal: of the last two dimensions, or of two others, above or below the main one."""
    x, offset = tensor(call), int(call.get("offset", 0))
    rank = rank_of(x)
    rows, columns = (axis_in(call.get(name, at), rank) for name, at in (("axis1", 0), ("axis2", 1)))
    places = [along(b, counted(b, size(b, x, axis)), axis, rank) for axis in (rows, columns)]
    diagonal = b.op("Equal", run(b, "Add", places[0], offset), places[1])
    default = "int64" if call.op == "TraceExt" and not x.dtype.startswith(("float", "bf")) else x.dtype
    whole = where(b, diagonal, b.cast(x, dtype_of(call, default)), 0)
    return reduced(b, "ReduceSum", whole, (rows, columns), False)


def _cross_axis(call: Call, shape: tuple[int | None, ...]) -> int:
    given = int(call.get("dim", _UNSET))
    if given != _UNSET:
        return axis_in(given, len(shape))
    if 3 not in shape:
        raise Refused("no dimension is known to have size 3")
    return shape.index(3)


def _cross(call: Call, b: OnnxBuilder) -> Value:
    """The elements turned by one place times those turned by two, less the other way round."""
    x, y = tensor(call), tensor(call, 1)
    rank_of(x)
    axis = _cross_axis(call, x.shape or ())
    ones, twos = (
        [b.op("Gather", one, b.ints(places), axis=axis) for one in (x, y)] for places in ((1, 2, 0), (2, 0, 1))
    )
    return run(b, "Sub", run(b, "Mul", ones[0], twos[1]), run(b, "Mul", twos[0], ones[1]))


def _distance(call: Call, b: OnnxBuilder) -> Value:
    """The norm of each difference of two rows."""
    x, y = (single(b, tensor(call, at)) for at in (0, 1))
    apart = b.op("Sub", b.unsqueeze(x, [-2]), b.unsqueeze(y, [-3]))
    found = norm(b, apart, float(number(call, "p", 2.0)), (rank_of(apart) - 1,), False)
    return b.cast(found, tensor(call).dtype)


def _pairs(call: Call, b: OnnxBuilder) -> Value:
    """The distance of each row to each later one."""
    x = single(b, tensor(call))
    rows = None if x.shape is None or len(x.shape) != 2 else x.shape[0]
    if rows is None:
        raise Refused("the number of rows is only known when the model runs")
    ones, twos = (b.op("Gather", x, b.ints(places), axis=0) for places in np.triu_indices(rows, 1))
    found = norm(b, b.op("Sub", ones, twos), float(call.get("p", 2.0)), (1,), False)
    return b.cast(found, tensor(call).dtype)


# -- numbers


def _trace_of(call: Call) -> Array:
    x = call.input(0)
    rows, columns = (int(call.get(name, at)) for name, at in (("axis1", 0), ("axis2", 1)))
    is_wide = call.op == "TraceExt" and x.dtype.kind != "f"
    kind = converted(x, dtype_of(call, "int64" if is_wide else x.dtype.name))
    return np.asarray(np.trace(kind, int(call.get("offset", 0)), rows, columns, dtype=kind.dtype))


def _cross_of(call: Call) -> Array:
    x, y = call.input(0), call.input(1)
    axis = _cross_axis(call, x.shape)
    one, two = ([np.roll(each, -by, axis) for each in (x, y)] for by in (1, 2))
    return np.asarray(one[0] * two[1] - two[0] * one[1])


def _distance_of(call: Call) -> Array:
    apart = call.input(0)[..., :, None, :] - call.input(1)[..., None, :, :]
    return norm_of(apart, float(call.get("p", 2.0)), (apart.ndim - 1,), False)


def _pairs_of(call: Call) -> Array:
    x = call.input(0)
    ones, twos = np.triu_indices(len(x), 1)
    return norm_of(x[ones] - x[twos], float(call.get("p", 2.0)), (1,), False)


def _adjoint(call: Call, x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2)) if call.get("adjoint", False) else x


def _cholesky_of(call: Call) -> Array:
    found = np.linalg.cholesky(call.input(0))
    return np.asarray(np.swapaxes(found, -1, -2) if call.get("upper", False) else found)


def _cholesky_inverse_of(call: Call) -> Array:
    factor = call.input(0)
    turned = np.swapaxes(factor, -1, -2)
    return np.asarray(np.linalg.inv(turned @ factor if call.get("upper", False) else factor @ turned))


def _triangular_of(call: Call) -> Array:
    x = call.input(0)
    factor = np.tril(x) if call.get("lower", True) else np.triu(x)
    return np.asarray(np.linalg.solve(_adjoint(call, factor), call.input(1)))


def _solve_triangular_of(call: Call) -> Array:
    x, right, turned = call.input(0), call.input(1), call.get("trans", 0)
    factor = np.tril(x) if call.get("lower", False) else np.triu(x)
    if call.get("unit_diagonal", False):
        factor = factor - factor * np.eye(x.shape[-1]) + np.eye(x.shape[-1])
    factor = factor if turned in (0, "N") else np.swapaxes(factor, -1, -2)
    one_row = right.ndim < x.ndim
    found = np.linalg.solve(factor, right[..., None] if one_row else right)
    return np.asarray(found[..., 0] if one_row else found)


def _qr_of(call: Call) -> Any:
    return np.linalg.qr(call.input(0), "complete" if call.get("full_matrices", False) else "reduced")


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "Cdist": _distance,
    "Cross": _cross,
    "Pdist": _pairs,
    "Trace": _trace,
    "TraceExt": _trace,
    "TraceV2": _trace,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "Cdist": _distance_of,
    "Cholesky": _cholesky_of,
    "CholeskyInverse": _cholesky_inverse_of,
    "Cross": _cross_of,
    "LogMatrixDeterminant": lambda call: tuple(np.linalg.slogdet(call.input(0))),
    "MatrixDeterminant": lambda call: np.linalg.det(call.input(0)),
    "MatrixInverse": lambda call: np.linalg.inv(_adjoint(call, call.input(0))),
    "MatrixInverseExt": lambda call: np.linalg.inv(call.input(0)),
    "MatrixPower": lambda call: np.linalg.matrix_power(call.input(0), int(call.get("n"))),
    "MatrixSolve": lambda call: np.linalg.solve(_adjoint(call, call.input(0)), call.input(1)),
    "MatrixTriangularSolve": _triangular_of,
    "Pdist": _pairs_of,
    "Qr": _qr_of,
    "SolveTriangular": _solve_triangular_of,
    "Trace": _trace_of,
    "TraceExt": _trace_of,
    "TraceV2": _trace_of,
}
