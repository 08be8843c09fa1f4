"""Diagonals, triangles and bands of matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import extents as at
from mswb.convert.primitives.kernels import where
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.program import Call, numpy_dtype

Lower = Callable[[Call, OnnxBuilder], Any]
Compute = Callable[[Call], Any]


# -- triangles and bands


def _triangle(upper: bool) -> tuple[Lower, Compute]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        k = int(number(call, "diagonal", 0))
        return at.carried(b, "Trilu", tensor(call), b.scalar(k, "int64"), upper=int(upper))

    def now(call: Call) -> Array:
        k = int(number(call, "diagonal", 0))
        return np.triu(call.input(0), k) if upper else np.tril(call.input(0), k)

    return lower, now


def _band(call: Call, b: OnnxBuilder) -> Value:
    """Below a diagonal so far, above it so far; a negative number is all."""
    x, rank = tensor(call), at.rank_of(tensor(call))
    below, above = (at.fixed(call.input(place), "the width of the band")[0] for place in (1, 2))
    rows = b.unsqueeze(at.counted(b, at.size(b, x, rank - 2)), [1])
    far = b.op("Sub", b.unsqueeze(at.counted(b, at.size(b, x, rank - 1)), [0]), rows)
    if below >= 0:
        x = where(b, b.op("GreaterOrEqual", far, b.scalar(-below, "int64")), x, 0)
    return where(b, b.op("LessOrEqual", far, b.scalar(above, "int64")), x, 0) if above >= 0 else x


def _band_now(call: Call) -> Array:
    x: Array = call.input(0)
    below, above = (at.integers(call.input(place))[0] for place in (1, 2))
    far = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]
    kept = ((far >= -below) | (below < 0)) & ((far <= above) | (above < 0))
    return np.where(kept, x, np.zeros((), x.dtype))


def _indices(upper: bool) -> tuple[Lower, Compute]:
    def now(call: Call) -> Array:
        rows, columns, k = (int(number(call, name)) for name in ("row", "col", "offset"))
        found = np.triu_indices(rows, k, columns) if upper else np.tril_indices(rows, k, columns)
        return np.stack(found).astype(numpy_dtype(at.dtype_of(call, "int64")))

    return lambda call, b: b.constant(now(call)), now


def _eye(call: Call, b: OnnxBuilder) -> Value:
    rows, columns = (at.parts(b, call.get(name))[0] for name in ("n", "m"))
    hit = b.op("Equal", b.unsqueeze(at.counted(b, rows), [1]), b.unsqueeze(at.counted(b, columns), [0]))
    return b.cast(hit, at.dtype_of(call, "float32"))


def _eye_now(call: Call) -> Array:
    return at.converted(np.eye(int(number(call, "n")), int(number(call, "m"))), at.dtype_of(call, "float32"))


def _diagonal_of(call: Call, shape: tuple[int, ...]) -> Array:
    """Where all places are alike; in a high matrix ``wrap`` begins again below a row that is left out."""
    found = np.zeros(shape, bool)
    np.fill_diagonal(found, True, bool(call.get("wrap", False)))
    return found


def _fill_diagonal(call: Call, b: OnnxBuilder) -> Value:
    x = tensor(call)
    if x.fixed is None:
        raise Refused("the sizes of its matrix are only known when the model runs")
    return where(b, b.constant(_diagonal_of(call, x.fixed)), number(call, "fill_value"), x)


def _fill_diagonal_now(call: Call) -> Array:
    x: Array = call.input(0)
    return np.where(_diagonal_of(call, x.shape), np.asarray(number(call, "fill_value")).astype(x.dtype), x)


# -- one diagonal


def _taken(b: OnnxBuilder, x: Value, offset: int, one: int, other: int) -> Value:
    """A diagonal over two axes, as the last dimension."""
    rank = at.rank_of(x)
    rest = [axis for axis in range(rank) if axis not in (one, other)]
    moved = b.transpose(x, [*rest, one, other]) if [*rest, one, other] != list(range(rank)) else x
    outer, (rows, columns) = at.sizes(b, moved)[:-2], at.sizes(b, moved)[-2:]
    high = at.calc(b, "Add", rows, min(offset, 0))
    wide = at.calc(b, "Sub", columns, max(offset, 0))
    count = at.calc(b, "Max", at.calc(b, "Min", high, wide), 0)
    step, start = at.calc(b, "Add", columns, 1), at.calc(b, "Mul", columns, max(-offset, 0))
    scaled = b.op("Mul", at.counted(b, count), at.vector(b, step))
    places = b.op("Add", scaled, b.op("Add", at.vector(b, start), b.ints([max(offset, 0)])))
    flat = at.reshape(b, moved, [*outer, at.product(b, (rows, columns))])
    return b.op("Gather", flat, places, axis=rank - 2)


def _diagonal(call: Call, b: OnnxBuilder) -> Value:
    x, rank = tensor(call), at.rank_of(tensor(call))
    one, other = (at.axis_in(call.get(name, default), rank) for name, default in (("dim1", 0), ("dim2", 1)))
    return _taken(b, x, int(number(call, "offset", 0)), one, other)


def _diagonal_now(call: Call) -> Array:
    offset, one, other = (
        int(number(call, name, default)) for name, default in (("offset", 0), ("dim1", 0), ("dim2", 1))
    )
    return np.diagonal(call.input(0), offset, one, other)


def _spread(b: OnnxBuilder, x: Value, offset: int) -> Value:
    """A vector as a diagonal of a matrix of zeros."""
    length = at.product(b, at.sizes(b, x))
    places, side = at.counted(b, length), at.counted(b, at.calc(b, "Add", length, abs(offset)))
    rows = b.op("Sub", b.unsqueeze(side, [1]), b.scalar(max(-offset, 0), "int64"))
    far = b.op("Sub", b.unsqueeze(side, [0]), b.scalar(max(offset, 0), "int64"))
    held = b.op("Max", b.op("Min", rows, at.vector(b, at.calc(b, "Sub", length, 1))), b.scalar(0, "int64"))
    if length == 0 or places.shape == (0,):
        raise Refused("the diagonal has no elements")
    return where(b, b.op("Equal", rows, far), b.op("Gather", b.reshape(x, (-1,)), held, axis=0), 0)


def _diag(call: Call, b: OnnxBuilder) -> Value:
    """A tensor as the diagonal of one of twice its dimensions."""
    x = tensor(call)
    parts = at.sizes(b, x)
    return at.reshape(b, _spread(b, x, 0), [*parts, *parts])


def _diag_now(call: Call) -> Array:
    x: Array = call.input(0)
    return np.diag(x.reshape(-1)).reshape(x.shape * 2)


def _diag_part(call: Call, b: OnnxBuilder) -> Value:
    x, rank = tensor(call), at.rank_of(tensor(call))
    half = at.sizes(b, x)[: rank // 2]
    side = at.product(b, half)
    return at.reshape(b, _taken(b, at.reshape(b, x, [side, side]), 0, 0, 1), half)


def _diag_part_now(call: Call) -> Array:
    x: Array = call.input(0)
    half = x.shape[: x.ndim // 2]
    side = int(np.prod(half))
    return np.diagonal(x.reshape(side, side)).reshape(half)


def _diag_ext(call: Call, b: OnnxBuilder) -> Value:
    x, offset = tensor(call), int(number(call, "diagonal", 0))
    return _spread(b, x, offset) if at.rank_of(x) == 1 else _taken(b, x, offset, 0, 1)


# -- diagonals of many matrices


def _single(call: Call, place: int) -> int:
    found = at.fixed(call.input(place), "the diagonal")
    if len(set(found)) != 1:
        raise Refused("several diagonals at once")
    return found[0]


def _set_places(shape: tuple[int, ...], k: int) -> tuple[Array, Array]:
    """Which elements of a matrix lie on a diagonal, and which of its elements each of a row takes."""
    rows, columns = np.arange(shape[-2])[:, None], np.arange(shape[-1])
    return columns - rows == k, np.minimum(np.broadcast_to(rows, shape[-2:]), columns) + 0


def _set_diagonal(call: Call, b: OnnxBuilder) -> Value:
    x, content, k = tensor(call), tensor(call, 1), _single(call, 2)
    if x.fixed is None:
        raise Refused("the sizes of its matrices are only known when the model runs")
    hit, places = _set_places(x.fixed, k)
    count = int(hit.sum())
    held = b.constant(np.minimum(places, max(count - 1, 0)))
    return where(b, b.constant(hit), b.op("Gather", content, held, axis=at.rank_of(content) - 1), x)


def _set_diagonal_now(call: Call) -> Array:
    x, content = call.input(0), call.input(1)
    hit, places = _set_places(x.shape, _single(call, 2))
    return np.where(hit, content[..., np.minimum(places, max(int(hit.sum()) - 1, 0))], x)


def _matrix_shape(call: Call, length: int, k: int) -> tuple[int, int]:
    """Rows and columns: as given, else as few as hold the diagonal."""
    rows, columns = (at.fixed(call.input(place), "the size of the matrix")[0] for place in (2, 3))
    rows = length + max(-k, 0) if rows < 0 else rows
    return rows, length + max(k, 0) if columns < 0 else columns


def _make_diagonal(call: Call, b: OnnxBuilder) -> Value:
    content, k = tensor(call), _single(call, 1)
    length = at.size(b, content, -1)
    if not isinstance(length, int):
        raise Refused("the length of the diagonal is only known when the model runs")
    hit, places = _set_places(_matrix_shape(call, length, k), k)
    taken = b.op("Gather", content, b.constant(np.minimum(places, length - 1)), axis=at.rank_of(content) - 1)
    return where(b, b.constant(hit), taken, b.reshape(b.cast(tensor(call, 4), content.dtype), ()))


def _make_diagonal_now(call: Call) -> Array:
    content, k = call.input(0), _single(call, 1)
    hit, places = _set_places(_matrix_shape(call, content.shape[-1], k), k)
    return np.where(hit, content[..., np.minimum(places, content.shape[-1] - 1)], call.input(4).reshape(()))


def _part(call: Call, b: OnnxBuilder) -> Value:
    x, rank = tensor(call), at.rank_of(tensor(call))
    return _taken(b, x, _single(call, 1), rank - 2, rank - 1)


_DIAGONAL = (_diagonal, _diagonal_now)
_TRIL, _TRIU = _triangle(upper=False), _triangle(upper=True)
_BOTH: Mapping[str, tuple[Lower, Compute]] = {
    "Diag": (_diag, _diag_now),
    "DiagExt": (_diag_ext, lambda call: np.diag(call.input(0), int(number(call, "diagonal", 0)))),
    "DiagPart": (_diag_part, _diag_part_now),
    "Diagonal": _DIAGONAL,
    "DiagonalView": _DIAGONAL,
    "FillDiagonal": (_fill_diagonal, _fill_diagonal_now),
    "Eye": (_eye, _eye_now),
    "MatrixBandPart": (_band, _band_now),
    "MatrixDiagPartV3": (_part, lambda call: np.diagonal(call.input(0), _single(call, 1), -2, -1)),
    "MatrixDiagV3": (_make_diagonal, _make_diagonal_now),
    "MatrixSetDiagV3": (_set_diagonal, _set_diagonal_now),
    "Tril": _TRIL,
    "TrilExt": _TRIL,
    "TrilIndices": _indices(upper=False),
    "Triu": _TRIU,
    "TriuIndices": _indices(upper=True),
}
TO_ONNX: Mapping[str, Lower] = {name: both[0] for name, both in _BOTH.items()}
EVALUATE: Mapping[str, Compute] = {name: both[1] for name, both in _BOTH.items()}
