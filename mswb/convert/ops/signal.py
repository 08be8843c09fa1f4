"""Fourier transforms, as products with the matrix of the transform; mel weights and windows.

The formulas are those of the ONNX specification. A transform's matrix is made while converting where its lengths are
known, else by the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from mswb.convert.arith import Num, arange, concat, num, size, where
from mswb.convert.graph import Builder, Value
from mswb.convert.onnx.model import dtype_name
from mswb.convert.onnx.node import Lower, OnnxNode, Refused

_WIDE: Mapping[str, str] = {"float16": "float32", "float32": "float32", "float64": "float64"}


def _int(b: Builder, number: int) -> Num:
    return num(b, np.array(number, np.int64))


def _scalar(node: OnnxNode, b: Builder, at: int) -> Num | None:
    """An integer input without dimensions (some give it one)."""
    value = node.optional(at)
    return None if value is None else num(b, value).reshape(1).at(0).cast("int64")


# -- transforms


def _angles(length: Num, rows: Num, columns: Num) -> Num:
    """2 pi n k / length as float64: [rows, columns]. What is a whole turn is left out, so that no precision is lost."""
    turns = (arange(rows).reshape(-1, 1) * arange(columns).reshape(1, -1)) % length
    return turns.cast("float64") * (2.0 * math.pi) / length.cast("float64")


def _kept(rows: Num, upto: Num) -> Num:
    """1 for the rows of the input that the transform reads, 0 behind them: [rows, 1]."""
    return (arange(rows) < upto).cast("float64").reshape(-1, 1)


def _product(x: Num, matrix: Num, axis: int) -> Num:
    """x [..., n] with its axis ``axis`` replaced by matrix [n, k]."""
    rank = len(x.shape or ())
    order = [at for at in range(rank) if at != axis] + [axis]
    back = [order.index(at) for at in range(rank)]
    return x.transpose(*order).matmul(matrix.cast(x.dtype)).transpose(*back)


def _parts(x: Num, axis: int) -> tuple[Num, Num | None]:
    """Real and imaginary part: the last dimension has 1 or 2."""
    last = (x.shape or (None,))[-1]
    if last not in (1, 2):
        raise Refused("whether the signal is real or complex is only known when the model runs")
    real = x.take(_int(x.b, 0), axis)
    return real, x.take(_int(x.b, 1), axis) if last == 2 else None


def _transform(x: Num, axis: int, length: Num | None, inverse: bool, onesided: bool) -> Num:
    """The discrete Fourier transform of x [..., n, ..., 1 or 2] along an axis."""
    b, rank = x.b, len(x.shape or ())
    real, imaginary = _parts(x, rank - 1)
    rows = size(b, x.value, axis)
    if length is None:
        length = (rows - 1) * 2 if inverse and onesided else rows
    half = length // 2 + 1
    if inverse and onesided:
        return _real_again(real, imaginary, axis, rows, length).expand(-1)
    angles = _angles(length, rows, half if onesided else length)
    kept = _kept(rows, length)
    cos, sin = angles.one("Cos") * kept, angles.one("Sin") * kept
    if inverse:
        cos, sin = cos / length.cast("float64"), sin / length.cast("float64") * -1.0
    found = _product(real, cos, axis), _product(real, sin * -1.0, axis)
    if imaginary is not None:
        found = found[0] + _product(imaginary, sin, axis), found[1] + _product(imaginary, cos, axis)
    return concat([one.expand(-1) for one in found], -1)


def _real_again(real: Num, imaginary: Num | None, axis: int, rows: Num, length: Num) -> Num:
    """The real signal of a spectrum's first half: all but the first and the middle frequency count twice."""
    angles = _angles(length, rows, length)
    frequency = arange(rows).reshape(-1, 1)
    single = frequency.equal(0) | (frequency * 2).equal(length)
    weights = where(single, num(real.b, 1.0), num(real.b, 2.0)) * _kept(rows, length // 2 + 1)
    weights = weights / length.cast("float64")
    found = _product(real, angles.one("Cos") * weights, axis)
    return found if imaginary is None else found - _product(imaginary, angles.one("Sin") * weights, axis)


def _wide(x: Num) -> Num:
    if x.dtype not in _WIDE:
        raise Refused(f"MindSpore's matrix product has no {x.dtype}")
    return x.cast(_WIDE[x.dtype])


def _dft(node: OnnxNode, b: Builder) -> Value:
    given, rank = num(b, node.input(0)), node.rank()
    x, length = _wide(given), _scalar(node, b, 1)
    inverse, onesided = bool(node.get("inverse", 0)), bool(node.get("onesided", 0))
    axis = num(b, np.array(node.get("axis", 1) if node.version < 20 else -2, np.int64))
    axis = (_scalar(node, b, 2) or axis) if node.version >= 20 else axis
    if axis.array is None:
        # the axis changes places with the last one of the signal, and back
        order = _swapped(axis % rank, rank)
        found = _transform(_ordered(x, order), rank - 2, length, inverse, onesided)
        return _ordered(found, order).cast(given.dtype).value
    place = int(axis.array)
    if not -rank <= place < rank or place % rank == rank - 1:
        raise Refused(f"axis {place} is not one of a signal of {rank} dimensions", attribute="axis")
    return _transform(x, place % rank, length, inverse, onesided).cast(given.dtype).value


def _swapped(axis: Num, rank: int) -> Num:
    places = num(axis.b, np.arange(rank))
    last = num(axis.b, rank - 2)
    return where(places.equal(axis), last, where(places.equal(last), axis, places))


def _ordered(x: Num, order: Num) -> Num:
    """The dimensions in an order that is only known when the model runs; the last one stays."""
    last = (x.shape or (None,))[-1]
    shape = (*[None] * (len(x.shape or ()) - 1), last)
    return Num(x.b, x.b.op("Transpose", x.value, x.b.as_tuple(order.value), dtype=x.dtype, shape=shape))


def _stft(node: OnnxNode, b: Builder) -> Value:
    x, step = num(b, node.input(0)), _scalar(node, b, 1)
    signal = _wide(x if node.rank() == 3 else x.expand(-1))
    if step is None:
        raise Refused("frame_step is missing")
    window, length = node.optional(2), _scalar(node, b, 3)
    total = size(b, signal.value, 1)
    if length is None:
        length = total if window is None else size(b, window, 0)
    count = (total - length) // step + 1
    index = arange(count).reshape(-1, 1) * step + arange(length).reshape(1, -1)
    frames = signal.take(index, 1)
    if window is not None:
        frames = frames * num(b, window).cast(signal.dtype).reshape(-1, 1)
    return _transform(frames, 2, length, False, bool(node.get("onesided", 1))).cast(x.dtype).value


# -- mel weights and windows


def _result_type(node: OnnxNode) -> str:
    dtype = dtype_name(int(node.get("output_datatype", 1)))
    if not dtype:
        raise Refused("MindSpore has no such data type", attribute="output_datatype")
    return dtype


def _mel(node: OnnxNode, b: Builder) -> Value:
    """Triangles over the bins of a spectrum, evenly spaced in mel: 2595 log10(1 + f / 700)."""
    bins, length, rate = (_scalar(node, b, at) for at in range(3))
    if bins is None or length is None or rate is None:
        raise Refused("the number of bins, the length or the rate is missing")
    low, high = (num(b, node.input(at)).reshape(1).at(0).cast("float64") for at in (3, 4))
    mels = [(edge / 700.0 + 1.0).one("Log") * (2595.0 / math.log(10)) for edge in (low, high)]
    edges = arange(bins + 2)
    step = (mels[1] - mels[0]) / (bins + 2).cast("float64")
    hertz = ((edges.cast("float64") * step + mels[0]) * (math.log(10) / 2595.0)).one("Exp") * 700.0 - 700.0
    points = (hertz * (length + 1).cast("float64") / rate.cast("float64")).floor()
    left, middle, right = (points.take(arange(bins) + offset, 0).reshape(1, -1) for offset in range(3))
    at = arange(length // 2 + 1).cast("float64").reshape(-1, 1)
    one, zero = num(b, 1.0), num(b, 0.0)
    rise, fall = middle - left, right - middle
    rising = where((at >= left) & (at <= middle), (at - left) / rise.most(1.0), zero)
    rising = where(rise.equal(0.0), where(at.equal(middle), one, zero), rising)
    falling = (at >= middle) & (at < right)
    return where(falling, (right - at) / fall.most(1.0), rising).cast(_result_type(node)).value


def _window(shape: Callable[[Num], Num]) -> Lower:
    """A window over 0 .. 2 pi, by its formula."""

    def lower(node: OnnxNode, b: Builder) -> Value:
        length = _scalar(node, b, 0)
        if length is None:
            raise Refused("the size is missing")
        span = length if node.get("periodic", 1) else length - 1
        angle = arange(length).cast("float64") * (2.0 * math.pi) / span.cast("float64")
        return shape(angle).cast(_result_type(node)).value

    return lower


def _cosines(first: float, second: float, third: float = 0.0) -> Callable[[Num], Num]:
    return lambda angle: first - second * angle.one("Cos") + third * (angle * 2.0).one("Cos")


def _refuse(reason: str) -> Lower:
    def lower(node: OnnxNode, b: Builder) -> Value:
        raise Refused(reason)

    return lower


_STRINGS = "MindSpore has no tensors of strings"

TO_MINDIR: Mapping[str, Lower] = {
    "BlackmanWindow": _window(_cosines(0.42, 0.5, 0.08)),
    "DFT": _dft,
    "HammingWindow": _window(_cosines(25 / 46, 21 / 46)),
    "HannWindow": _window(_cosines(0.5, 0.5)),
    "ImageDecoder": _refuse("MindSpore decodes pictures in its data pipeline only: give the model the decoded picture"),
    "MelWeightMatrix": _mel,
    "RegexFullMatch": _refuse(_STRINGS),
    "STFT": _stft,
    "StringConcat": _refuse(_STRINGS),
    "StringNormalizer": _refuse(_STRINGS),
    "StringSplit": _refuse(_STRINGS),
}
