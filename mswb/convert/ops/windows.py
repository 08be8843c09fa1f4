"""Windows that slide over the last axes of a tensor: how far they reach beyond its edges, and reductions over them.

With s the stride and w = dilation * (kernel - 1) + 1 the width of a window, ONNX counts windows along an axis of n
elements, padded by p and q, as floor((n + p + q - w) / s) + 1. With ceil_mode it rounds up and drops a last window
that starts behind n + p; that is the floor with min(q + s - 1, w - 1) in place of q, whatever n is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mswb.convert.graph import Builder, Value
from mswb.convert.onnx.node import OnnxNode, Refused
from mswb.convert.ops import sizes

Pairs = tuple[tuple[int, int], ...]
LARGEST, LONGEST_PAD = 4096, 1 << 20
"""Elements of a window along one axis, and of a pad, that are believed; a damaged model asks for any number."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one operator, one number an axis.

    Attributes:
        pads: begin and end of each axis.
        same: SAME_UPPER or SAME_LOWER, where the pads depend on the sizes; "" otherwise.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: Pairs
    same: str = ""
    ceil: bool = False

    @property
    def widths(self) -> tuple[int, ...]:
        """How far a window reaches."""
        return tuple(step * (count - 1) + 1 for count, step in zip(self.kernel, self.dilations, strict=True))

    @property
    def reach(self) -> Pairs:
        """The pads that the windows need: those given, and on the right what ceil_mode reads beyond them."""
        if not self.ceil:
            return self.pads
        rows = zip(self.pads, self.strides, self.widths, strict=True)
        return tuple((begin, min(end + stride - 1, width - 1)) for (begin, end), stride, width in rows)


def read(node: OnnxNode, kernel: Sequence[int]) -> Windows:
    """The windows that a node asks for."""
    count = len(kernel)
    strides, dilations = (tuple(node.get(name) or [1] * count) for name in ("strides", "dilations"))
    auto = str(node.get("auto_pad", "NOTSET"))
    flat = (node.get("pads") or [0] * (2 * count)) if auto == "NOTSET" else [0] * (2 * count)
    if not 2 * len(strides) == 2 * len(dilations) == 2 * count == len(flat):
        raise Refused(f"strides, dilations and pads do not fit to a kernel of {count} dimensions", attribute="pads")
    if max(kernel, default=0) > LARGEST or max(flat, default=0) > LONGEST_PAD:
        raise Refused(
            f"windows of up to {max(kernel)} elements, padded by up to {max(flat)}, are more than is believed"
        )
    if min(flat) < 0:
        raise Refused("pads are negative", attribute="pads")
    pads = tuple((int(flat[at]), int(flat[at + count])) for at in range(count))
    same = auto if auto.startswith("SAME") else ""
    return Windows(tuple(kernel), strides, dilations, pads, same, bool(node.get("ceil_mode", 0)))


def fixed(windows: Windows, lengths: Sequence[int | None]) -> Pairs | None:
    """Begin and end of each axis; None where they are only known when the model runs."""
    if not windows.same:
        return windows.reach
    pairs = []
    for length, stride, width in zip(lengths, windows.strides, windows.widths, strict=True):
        if length is None and stride != 1:
            return None
        blocks = 0 if length is None else -(-length // stride)
        total = width - 1 if length is None else max((blocks - 1) * stride + width - length, 0)
        half = total // 2
        pairs.append((half, total - half) if windows.same == "SAME_UPPER" else (total - half, half))
    return tuple(pairs)


def padded(b: Builder, x: Value, windows: Windows, content: float) -> Value:
    """The tensor with all that the windows reach."""
    assert x.shape is not None
    pairs = fixed(windows, x.shape[-len(windows.kernel) :])
    if pairs is not None:
        return sizes.pad(b, x, pairs, content)
    return sizes.pad_by(b, x, _same(b, x, windows), content, (*x.shape[:2], *[None] * len(windows.kernel)))


def _same(b: Builder, x: Value, windows: Windows) -> Value:
    """The pads of auto_pad SAME, computed when the model runs; in the order that PadV3 wants."""
    count = len(windows.kernel)

    def vector(numbers: Sequence[int]) -> Value:
        return b.constant(np.array(numbers, np.int64))

    def op(name: str, first: Value, second: Value) -> Value:
        return b.op(name, first, second, shape=(count,))

    rank = x.rank or 0
    lengths = b.op("StridedSlice", b.shape_of(x), (rank - count,), (rank,), (1,), 0, 0, 0, 0, 0, shape=(count,))
    strides, widths = vector(windows.strides), vector(windows.widths)
    blocks = op("FloorDiv", op("Add", lengths, vector([one - 1 for one in windows.strides])), strides)
    covered = op("Add", op("Mul", op("Sub", blocks, vector([1] * count)), strides), widths)
    total = op("Maximum", op("Sub", covered, lengths), vector([0] * count))
    half = op("FloorDiv", total, vector([2] * count))
    other = op("Sub", total, half)
    begin, end = (half, other) if windows.same == "SAME_UPPER" else (other, half)
    return paired(b, begin, end, count)


def paired(b: Builder, begin: Value, end: Value, count: int) -> Value:
    """What is added before and after each axis, in the order that PadV3 wants."""
    columns = [b.reshape(one, (count, 1)) for one in (begin, end)]
    both = b.op("Concat", b.tuple(columns), 1, dtype="int64", shape=(count, 2))
    return b.reshape(b.op("ReverseV2", both, (0,), shape=(count, 2)), (2 * count,))


def taps(b: Builder, x: Value, windows: Windows, at: int) -> list[Value]:
    """What lies at each place of the windows along one axis of a padded tensor: one slice for each place."""
    axis = (x.rank or 0) - len(windows.kernel) + at
    count, step = windows.kernel[at], windows.dilations[at]
    return [
        sizes.cut(b, x, axis, place * step, (count - 1 - place) * step, windows.strides[at]) for place in range(count)
    ]


def folded(b: Builder, x: Value, windows: Windows, primitive: str) -> Value:
    """Each window of a padded tensor reduced by an operator of two inputs, axis by axis."""
    for at in range(len(windows.kernel)):
        result, *others = taps(b, x, windows, at)
        for one in others:
            result = b.op(primitive, result, one, shape=result.shape)
        x = result
    return x
