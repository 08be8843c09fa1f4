"""Convolutions and pooling in numpy, one place in the windows at a time: bounded memory, and matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from mswb.convert.graph import Array
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives.windows import Pads, Window


def padded(x: Array, pads: Pads, fill: float) -> Array:
    """The input with more elements around its last dimensions."""
    if not any(map(any, pads)):
        return x
    return np.pad(x, ((0, 0),) * (x.ndim - len(pads)) + pads, constant_values=fill)


def out_sizes(sizes: tuple[int, ...], window: Window, pads: Pads) -> tuple[int, ...]:
    """How many windows there are."""
    each = zip(sizes, window.spans, window.strides, pads, strict=True)
    return tuple((n + low + high - span) // stride + 1 for n, span, stride, (low, high) in each)


def places(window: Window, counts: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each place in a window, with where it lies in the padded input for all windows."""
    for at in product(*map(range, window.kernel)):
        starts = [one * dilation for one, dilation in zip(at, window.dilations, strict=True)]
        yield (
            at,
            tuple(
                slice(start, start + (count - 1) * stride + 1, stride)
                for start, count, stride in zip(starts, counts, window.strides, strict=True)
            ),
        )


def _behind(where: tuple[Any, ...]) -> Any:
    """An index into the last dimensions."""
    return (Ellipsis, *where)


def fixed_pads(x: Array, window: Window) -> Pads:
    """The pads of a window over an array."""
    found = window.around(x.shape[-len(window.kernel) :])
    if found is None:
        raise Refused("the padding is not known")
    return found


def convolve(x: Array, w: Array, window: Window, groups: int = 1) -> Array:
    """The cross-correlation of (N, C, …) with (O, C / groups, …)."""
    pads = fixed_pads(x, window)
    counts = out_sizes(x.shape[2:], window, pads)
    given = padded(x, pads, 0.0)
    kernel = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    found = np.zeros((len(x), groups, kernel.shape[1], int(np.prod(counts))))
    for at, where in places(window, counts):
        part = given[_behind(where)].reshape(len(x), groups, x.shape[1] // groups, -1)
        factor = np.ascontiguousarray(kernel[_behind(at)])  # BLAS takes no other
        for one in range(len(x)):
            found[one] += np.matmul(factor, part[one])
    return found.reshape(len(x), w.shape[0], *counts)


def spread(x: Array, w: Array, window: Window, out: tuple[int, ...], groups: int = 1) -> Array:
    """The transposed convolution of (N, C, …) with (C, O / groups, …), cut or filled to the sizes ``out``.

    ``window.pads`` is what the convolution from ``out`` to ``x`` adds around.
    """
    pads = window.pads or ((0, 0),) * len(out)
    each = zip(x.shape[2:], window.spans, window.strides, out, pads, strict=True)
    full = tuple(max((n - 1) * stride + span, low + size) for n, span, stride, size, (low, _) in each)
    kernel = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    found = np.zeros((len(x), groups * kernel.shape[2], *full))
    part = x.reshape(len(x), groups, x.shape[1] // groups, -1)
    for at, where in places(window, x.shape[2:]):
        share = np.matmul(np.ascontiguousarray(np.swapaxes(kernel[_behind(at)], 1, 2)), part)
        found[_behind(where)] += share.reshape(*found.shape[:2], *x.shape[2:])
    cut = tuple(slice(low, low + size) for size, (low, _) in zip(out, pads, strict=True))
    return np.asarray(found[_behind(cut)])


def largest(x: Array, window: Window, pads: Pads) -> tuple[Array, Array]:
    """The largest element of each window, and its place in the last dimensions as one number; the first of equals."""
    count = len(window.kernel)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    given = padded(x, pads, lowest)
    numbers = np.arange(int(np.prod(x.shape[-count:]))).reshape(x.shape[-count:])
    marks = padded(numbers, pads, -1)
    counts = out_sizes(x.shape[-count:], window, pads)
    value = np.full((*x.shape[:-count], *counts), lowest, x.dtype)
    place = np.full(value.shape, -1, np.int64)
    for _, where in places(window, counts):
        part, mark = given[_behind(where)], marks[where]
        better = ((part > value) | (part != part) | (place < 0)) & (mark >= 0)
        value, place = np.where(better, part, value), np.where(better, mark, place)
    return value, place


def total(x: Array, window: Window, pads: Pads) -> Array:
    """The sum of the elements in each window."""
    counts = out_sizes(x.shape[-len(window.kernel) :], window, pads)
    given = padded(x, pads, 0.0)
    found = np.zeros((*x.shape[: -len(window.kernel)], *counts))
    for _, where in places(window, counts):
        found += given[_behind(where)]
    return found
