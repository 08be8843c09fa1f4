"""What resizing takes of an axis: places of the input for each result, and weights, in numpy and as ONNX.

Nearest places are found in single precision as MindSpore's kernels do; the weights of its cubic come from a table with
1024 steps between two elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.primitives import extents as at

STEPS = 1024


@dataclass(frozen=True, slots=True)
class Scaled:
    """What a call asks for: the sizes of the last axes, or factors for them, and how places are found.

    Attributes:
        way: "asymmetric", "half" (pixels), "corners" (aligned), "half or first" (the first for a single result).
    """

    sizes: Any
    factors: tuple[float, ...] | None
    way: str

    def after(self, before: Sequence[int]) -> list[int]:
        """The sizes of the result."""
        if self.factors is not None:
            return [int(np.floor(size * factor)) for size, factor in zip(before, self.factors, strict=True)]
        return list(at.integers(self.sizes))

    def ratio(self, axis: int, before: int, after: int) -> float:
        """How far two neighbours of the result lie from each other in the input."""
        if self.way == "corners" and after > 1:
            return (before - 1) / (after - 1)
        if self.factors is not None and self.way != "corners":
            return 1 / self.factors[axis]
        return before / after

    def halves(self, after: int) -> bool:
        """Whether places are the middles of elements."""
        return self.way == "half" or (self.way == "half or first" and after > 1)


# -- nearest


def nearest(scaled: Scaled, axis: int, before: int, after: int) -> Array:
    """The element that each result takes."""
    ratio = np.float32(scaled.ratio(axis, before, after))
    if scaled.factors is None:
        down = (before - 1, after - 1) if scaled.way == "corners" and after > 1 else (before, after)
        ratio = np.float32(down[0]) / np.float32(down[1])
    place = np.arange(after).astype(np.float32)
    found = (place + np.float32(0.5)) * ratio if scaled.way == "half" else place * ratio
    whole = np.floor(found + np.float32(0.5)) if scaled.way == "corners" else np.floor(found)
    held: Array = np.minimum(whole.astype(np.int64), before - 1)
    return held


def running_nearest(scaled: Scaled, axis: int, b: OnnxBuilder, old: at.Size, new: at.Size) -> Value:
    """The same where only the run tells a size."""
    half = b.scalar(0.5, "float32")
    place = b.cast(at.counted(b, new), "float32")
    ratio = _running_ratio(scaled, axis, b, old, new, "float32")
    found = b.op("Mul", b.op("Add", place, half) if scaled.way == "half" else place, ratio)
    whole = b.op("Floor", b.op("Add", found, half) if scaled.way == "corners" else found)
    return b.op("Min", b.cast(whole, "int64"), b.op("Sub", at.vector(b, old), b.ints([1])))


def _running_ratio(scaled: Scaled, axis: int, b: OnnxBuilder, old: at.Size, new: at.Size, dtype: str) -> Value:
    if scaled.factors is not None and scaled.way != "corners":
        return b.scalar(float(np.dtype(dtype).type(1 / scaled.factors[axis])), dtype)
    one, before, after = b.ints([1]), at.vector(b, old), at.vector(b, new)
    if scaled.way == "corners":
        alone = b.op("Equal", after, one)
        before, after = (b.op("Where", alone, size, b.op("Sub", size, one)) for size in (before, after))
    return b.op("Div", b.cast(before, dtype), b.cast(after, dtype))


# -- several elements by their weights

Taps = tuple[Array, Array]
"""For each result of an axis the elements that it takes, and their weights; a row for each of them."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """Weights by the distance of an element.

    Attributes:
        polynomials: for each element, counted from the one before a place, the polynomial of its distance.
        table: whether the place between two elements is rounded to the steps of a table.
        inside: whether elements outside have no weight, and the others their share.
    """

    polynomials: Mapping[int, tuple[float, ...]]
    table: bool = False
    inside: bool = False


def _keys(a: float) -> Mapping[int, tuple[float, ...]]:
    """Keys, Cubic convolution interpolation for digital image processing, 1981."""
    near, far = (a + 2, -(a + 3), 0.0, 1.0), (a, -5 * a, 8 * a, -4 * a)
    return {-1: far, 0: near, 1: near, 2: far}


LINEAR = Kernel({0: (-1.0, 1.0), 1: (-1.0, 1.0)})
STEEP, FLAT = Kernel(_keys(-0.75), table=True), Kernel(_keys(-0.5), table=True, inside=True)
EXACT_CUBIC = Kernel(_keys(-0.75))


def taps(kernel: Kernel, scaled: Scaled, axis: int, before: int, after: int) -> Taps:
    """Elements and weights where all sizes are known."""
    place, ratio = np.arange(after), scaled.ratio(axis, before, after)
    found = (place + 0.5) * ratio - 0.5 if scaled.halves(after) else place * ratio
    first = np.floor(found)
    part = np.rint((found - first) * STEPS) / STEPS if kernel.table else found - first
    rows = np.stack([first + step for step in kernel.polynomials])
    weights = np.stack([np.polyval(terms, np.abs(part - step)) for step, terms in kernel.polynomials.items()])
    if kernel.inside:
        weights = np.where((rows >= 0) & (rows < before), weights, 0)
        weights = weights / weights.sum(0)
    return np.clip(rows, 0, before - 1).astype(np.int64), weights


def running_taps(
    kernel: Kernel, scaled: Scaled, axis: int, b: OnnxBuilder, old: at.Size, new: at.Size
) -> list[tuple[Value, Value]]:
    """The same where only the run tells a size, in double precision."""
    half, steps, zero = b.scalar(0.5, "float64"), b.scalar(STEPS, "float64"), b.scalar(0, "float64")
    ratio = _running_ratio(scaled, axis, b, old, new, "float64")
    place = b.cast(at.counted(b, new), "float64")
    plain = b.op("Mul", place, ratio)
    found = plain
    if scaled.way.startswith("half"):
        found = b.op("Sub", b.op("Mul", b.op("Add", place, half), ratio), half)
    if scaled.way == "half or first":
        found = b.op("Where", b.op("Equal", at.vector(b, new), b.ints([1])), plain, found)
    first = b.op("Floor", found)
    part = b.op("Sub", found, first)
    if kernel.table:
        part = b.op("Div", b.op("Round", b.op("Mul", part, steps)), steps)
    last = b.cast(b.op("Sub", at.vector(b, old), b.ints([1])), "float64")
    rows, weights = [], []
    for step, terms in kernel.polynomials.items():
        row = b.op("Add", first, b.scalar(step, "float64"))
        held = b.op("Min", b.op("Max", row, zero), last)
        weight = _horner(b, terms, b.op("Abs", b.op("Sub", part, b.scalar(step, "float64"))))
        rows.append(b.cast(held, "int64"))
        weights.append(b.op("Where", b.op("Equal", row, held), weight, zero) if kernel.inside else weight)
    if kernel.inside:
        total = b.op("Sum", *weights)
        weights = [b.op("Div", weight, total) for weight in weights]
    return list(zip(rows, weights, strict=True))


def _horner(b: OnnxBuilder, terms: Sequence[float], x: Value) -> Value:
    found = b.scalar(terms[0], "float64")
    for term in terms[1:]:
        found = b.op("Add", b.op("Mul", found, x), b.scalar(term, "float64"))
    return found


def area(scaled: Scaled, axis: int, before: int, after: int) -> Taps:
    """The mean of what lies under each result, elements at the border in part."""
    ratio = scaled.ratio(axis, before, after)
    start = np.arange(after) * ratio
    first = np.floor(start)
    rows = np.stack([first + step for step in range(int(np.ceil(ratio)) + 1)])
    shares = np.clip(np.minimum(rows + 1, start + ratio) - np.maximum(rows, start), 0, 1)
    return np.clip(rows, 0, before - 1).astype(np.int64), shares / ratio
