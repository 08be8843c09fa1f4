"""Convolutions and pooling: our ONNX and our evaluation against sums written out window by window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.convert import to_onnx
from mswb.convert.graph import Builder
from tests.unit.convert.primitive_models import Make, agree, call, several, written

RNG = np.random.default_rng(7)
FEW = settings(max_examples=8, deadline=None)
X = RNG.normal(size=(2, 4, 7, 8)).astype(np.float32)
X3 = RNG.normal(size=(1, 2, 5, 4, 6)).astype(np.float32)


def weight(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def same_pads(sizes: Sequence[int], spans: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """As many outputs as the size over the stride, rounded up; of an odd number of pads more behind."""
    found = []
    for n, span, stride in zip(sizes, spans, strides, strict=True):
        total = max(((n + stride - 1) // stride - 1) * stride + span - n, 0)
        found.append((total // 2, total - total // 2))
    return found


def windows(x: Any, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Any, fill: float,
            make: Callable[[Any], Any]) -> Any:  # fmt: skip
    """``make`` of each window of the last dimensions."""
    count = len(kernel)
    x = np.pad(x, [(0, 0)] * (x.ndim - count) + list(pads), constant_values=fill)
    outs = [
        (n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(x.shape[-count:], kernel, strides, dilations, strict=True)
    ]
    found = []
    for at in product(*map(range, outs)):
        where = tuple(
            slice(i * s, i * s + (k - 1) * d + 1, d) for i, s, k, d in zip(at, strides, kernel, dilations, strict=True)
        )
        found.append(make(x[tuple([Ellipsis, *where])]))
    return np.stack(found, -1).reshape(*found[0].shape, *outs)


def convolved(x: Any, w: Any, strides: Any, dilations: Any, pads: Any, groups: int = 1) -> Any:
    parts = []
    axes = tuple(range(1, w.ndim))
    for xs, ws in zip(np.split(x, groups, 1), np.split(w, groups, 0), strict=True):

        def one(part: Any, ws: Any = ws) -> Any:
            return np.tensordot(part, ws, (axes, axes))

        parts.append(windows(xs, w.shape[2:], strides, dilations, pads, 0.0, one))
    return np.concatenate(parts, 1).astype(np.float32)


def conv2d(w: Any, stride: Sequence[int], dilation: Sequence[int], mode: str, pads: Sequence[int], group: int) -> Make:
    return lambda b, x: b.op(
        "Conv2D", x, w, shape=None,
        attributes={"stride": (1, 1, *stride), "dilation": (1, 1, *dilation), "pad_mode": mode, "pad_list": tuple(pads),
                    "group": group, "format": "NCHW", "kernel_size": w.shape[2:], "out_channel": len(w)},
    )  # fmt: skip


PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 3))


@given(PAIRS, PAIRS, PAIRS, st.sampled_from([1, 2]), st.sampled_from(["same", "SAME"]))
@FEW
def test_convolution_that_keeps_the_size(kernel: Any, stride: Any, dilation: Any, group: int, mode: str) -> None:
    w = weight(6, 4 // group, *kernel)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    pads = same_pads(X.shape[2:], spans, stride)
    expected = convolved(X, w, stride, dilation, pads, group)
    agree(conv2d(w, stride, dilation, mode, (0, 0, 0, 0), group), [X], [expected], 1e-4)


@given(st.tuples(*[st.integers(0, 2)] * 4), PAIRS, st.sampled_from([1, 2, 4]))
@FEW
def test_convolution_with_pads_top_bottom_left_right(pads: Any, stride: Any, group: int) -> None:
    w = weight(4, 4 // group, 3, 2)
    expected = convolved(X, w, stride, (1, 1), [pads[:2], pads[2:]], group)
    agree(conv2d(w, stride, (1, 1), "pad", pads, group), [X], [expected], 1e-4)


def test_convolution_of_half_precision_and_three_dimensions() -> None:
    half, w = X.astype(np.float16), weight(3, 4, 3, 3).astype(np.float16)
    expected = convolved(half.astype(np.float32), w.astype(np.float32), (1, 1), (1, 1), [(0, 0)] * 2)
    agree(conv2d(w, (1, 1), (1, 1), "valid", (0,) * 4, 1), [half], [expected.astype(np.float16)], 2e-2)
    w3 = weight(3, 2, 2, 3, 2)
    attributes = {"strides": (1, 1, 2, 1, 1), "dilations": (1, 1, 1, 1, 2), "pad_mode": "pad",
                  "pad_list": (1, 0, 0, 1, 2, 1), "group": 1, "format": "NCDHW"}  # fmt: skip
    expected = convolved(X3, w3, (2, 1, 1), (1, 1, 2), [(1, 0), (0, 1), (2, 1)])
    agree(lambda b, x: b.op("Conv3D", x, w3, attributes=attributes), [X3], [expected], 1e-4)


def test_newer_convolutions() -> None:
    w, bias = weight(4, 2, 3, 3), weight(4)
    expected = convolved(X, w, (2, 2), (1, 1), [(1, 1)] * 2, 2) + bias[:, None, None]
    agree(call("Conv2DExt", w, bias, (2, 2), (1, 1), (1, 1), 2), [X], [expected], 1e-4)
    agree(call("Convolution", w, bias, (2, 2), (1, 1), (1, 1), False, (0, 0), 2), [X], [expected], 1e-4)
    one = call("Conv2DExt", w, bias, (2, 2), (1, 1), (1, 1), 2)
    agree(lambda b, x: one(b, b.op("Squeeze", x, (0,), shape=x.shape[1:])), [X[:1]], [expected[0]], 1e-4)
    expected = convolved(X, w, (1, 1), (2, 1), [(2, 2), (1, 1)], 2)
    agree(call("ConvolutionStr", w, None, (1, 1), "same", (2, 1), False, (0, 0), 2), [X], [expected], 1e-4)


def transposed(x: Any, w: Any, stride: Any, out: Any, low: Any) -> Any:
    """Every element adds its share to where it came from."""
    kernel = w.shape[2:]
    full = np.zeros((len(x), w.shape[1], *[(n - 1) * s + k + o for n, s, k, o in zip(x.shape[2:], stride, kernel, out,
                                                                                         strict=True)]))  # fmt: skip
    for i, j in product(*map(range, x.shape[2:])):
        share = np.einsum("nc,cokl->nokl", x[:, :, i, j], w)
        full[:, :, i * stride[0] : i * stride[0] + kernel[0], j * stride[1] : j * stride[1] + kernel[1]] += share
    return full[:, :, low[0] : low[0] + out[0], low[1] : low[1] + out[1]].astype(np.float32)


def back(w: Any, stride: Any, out: Any, mode: str, pads: Sequence[int]) -> Make:
    def make(b: Builder, x: Any) -> Any:
        shape = b.op("Shape", x, dtype="tuple")
        return b.op(
            "Conv2DTranspose", x, w, b.tuple([b.item(shape, 0), w.shape[1], *out]),
            attributes={"stride": (1, 1, *stride), "dilation": (1, 1, 1, 1), "pad_mode": mode, "pad_list": tuple(pads),
                        "group": 1, "format": "NCHW"},
        )  # fmt: skip

    return make


@given(PAIRS, PAIRS)
@FEW
def test_transposed_convolution(kernel: Any, stride: Any) -> None:
    x, w = X[:1], weight(4, 3, *kernel)
    out = [n * s for n, s in zip(x.shape[2:], stride, strict=True)]
    low = [max((n - 1) * s + k - o, 0) // 2 for n, s, k, o in zip(x.shape[2:], stride, kernel, out, strict=True)]
    agree(back(w, stride, out, "same", ()), [x], [transposed(x, w, stride, out, low)], 1e-4)
    out = [(n - 1) * s + max(k, s) for n, s, k in zip(x.shape[2:], stride, kernel, strict=True)]
    agree(back(w, stride, out, "valid", ()), [x], [transposed(x, w, stride, out, (0, 0))], 1e-4)


@pytest.mark.parametrize("more", [0, 1])
def test_transposed_convolution_with_pads(more: int) -> None:
    w, pads = weight(4, 3, 3, 3), (1, 0, 2, 1)
    out = [6 * 2 + 3 - 1 + more, 7 * 2 + 3 - 3 + more]
    agree(back(w, (2, 2), out, "pad", pads), [X], [transposed(X, w, (2, 2), out, (1, 2))], 1e-4)
    make = call("ConvTranspose2D", w, None, (2, 2), (1, 1), (more, more), 1, (1, 1))
    out = [6 * 2 + 3 - 2 + more, 7 * 2 + 3 - 2 + more]
    agree(make, [X], [transposed(X, w, (2, 2), out, (1, 1))], 1e-4)


# -- pooling


def pool(name: str, kernel: Any, stride: Any, mode: str) -> Make:
    if name == "AvgPool":
        return call("AvgPool", kernel, stride, 1 if mode == "SAME" else 2, 0)
    return call("MaxPool", kernel_size=(1, 1, *kernel), strides=(1, 1, *stride), pad_mode=mode, format="NCHW")


@given(PAIRS, st.tuples(st.integers(1, 4), st.integers(1, 4)), st.sampled_from(["SAME", "VALID"]))
@FEW
def test_pooling(kernel: Any, stride: Any, mode: str) -> None:
    pads = same_pads(X.shape[2:], kernel, stride) if mode == "SAME" else [(0, 0)] * 2
    largest = windows(X, kernel, stride, (1, 1), pads, -np.inf, lambda one: one.max((-1, -2)))
    agree(pool("MaxPool", kernel, stride, mode), [X], [largest])
    mean = windows(X, kernel, stride, (1, 1), pads, np.nan, lambda one: np.nanmean(one, (-1, -2)))
    agree(pool("AvgPool", kernel, stride, mode), [X], [mean], 1e-4)


@pytest.mark.parametrize("ceil", [False, True])
def test_the_largest_with_its_place(ceil: bool) -> None:
    x = np.round(X * 2)
    pads = [(1, 1), (1, 1 + ceil)] if ceil else [(1, 1)] * 2
    value = windows(x, (3, 3), (2, 2), (1, 1), pads, -np.inf, lambda one: one.max((-1, -2)))
    marks = np.arange(56.0).reshape(7, 8) * np.ones((2, 4, 1, 1))
    joined = windows(np.stack([x, marks], -3), (3, 3), (2, 2), (1, 1), pads, -np.inf,
                     lambda one: _place(one))  # fmt: skip
    make = several("MaxPoolWithArgmaxV2", ["float32", "int64"],
                   attributes={"kernel_size": (1, 1, 3, 3), "strides": (1, 1, 2, 2), "pads": (1, 1, 1, 1),
                               "dilation": (1, 1, 1, 1), "ceil_mode": ceil, "argmax_type": 4})  # fmt: skip
    agree(make, [x], [value, joined])


def _place(both: Any) -> Any:
    flat = both.reshape(*both.shape[:-2], -1)
    at = flat[..., 0, :].argmax(-1)
    return np.take_along_axis(flat[..., 1, :], at[..., None], -1)[..., 0].astype(np.int64)


@pytest.mark.parametrize(("include", "divisor"), [(True, 0), (False, 0), (True, 5)])
def test_mean_with_pads(include: bool, divisor: int) -> None:
    pads = [(1, 0), (1, 1), (0, 1)]

    def mean(one: Any) -> Any:
        if divisor:
            return np.nansum(one, (-1, -2, -3)) / divisor
        return np.nanmean(np.nan_to_num(one) if include else one, (-1, -2, -3))

    expected = windows(X3, (2, 3, 2), (2, 1, 2), (1,) * 3, pads, np.nan, mean).astype(np.float32)
    make = call("AvgPool3D", kernel_size=(1, 1, 2, 3, 2), strides=(1, 1, 2, 1, 2), pad_mode="PAD",
                pad_list=(1, 0, 1, 1, 0, 1), ceil_mode=False, count_include_pad=include, divisor_override=divisor,
                format="NCDHW")  # fmt: skip
    agree(make, [X3], [expected], 1e-4)


def test_a_window_that_is_begun_counts_its_padding_but_not_what_is_behind() -> None:
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 1, 1, 6)
    make = call("AvgPool3D", kernel_size=(1, 1, 1, 1, 3), strides=(1, 1, 1, 1, 2), pad_mode="PAD",
                pad_list=(0, 0, 0, 0, 1, 1), ceil_mode=True, count_include_pad=True, divisor_override=0,
                format="NCDHW")  # fmt: skip
    agree(make, [x], [np.array([1 / 3, 6 / 3, 12 / 3, 5 / 2], np.float32).reshape(1, 1, 1, 1, 4)], 1e-5)


@given(st.integers(1, 7), st.integers(1, 8))
@FEW
def test_a_given_number_of_windows(rows: int, columns: int) -> None:
    def each(function: Any) -> Any:
        return np.array([[[[function(plane[i * 7 // rows : -(-(i + 1) * 7 // rows),
                                           j * 8 // columns : -(-(j + 1) * 8 // columns)])
                            for j in range(columns)] for i in range(rows)] for plane in one] for one in X])  # fmt: skip

    agree(call("AdaptiveAvgPool2D", output_size=(rows, columns)), [X], [each(np.mean).astype(np.float32)], 1e-4)
    place = np.arange(56).reshape(7, 8)
    lookup = {float(X[n, c, i, j]): int(place[i, j]) for n, c, i, j in np.ndindex(*X.shape)}
    largest = each(np.max)
    places = np.vectorize(lambda one: lookup[float(one)])(largest)
    agree(several("AdaptiveMaxPool2D", ["float32", "int64"], (rows, columns)), [X], [largest, places])


def test_back_to_the_places() -> None:
    x, places = np.array([[[[5, 6], [7, 8]]]], np.float32), np.array([[[[0, 3], [9, 14]]]], np.int64)
    expected = np.zeros((1, 1, 16), np.float32)
    expected[0, 0, [0, 3, 9, 14]] = [5, 6, 7, 8]
    make = call("MaxUnpool2D", ksize=(1, 1, 2, 2), strides=(1, 1, 2, 2), pads=(1, 1, 0, 0), output_shape=(),
                format="NCHW")  # fmt: skip
    agree(make, [x, places], [expected.reshape(1, 1, 4, 4)])


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (call("MaxPool", kernel_size=2, strides=2, pad_mode="VALID", format="NHWC"), "NHWC"),
        (call("MaxPool", kernel_size=2, strides=2, pad_mode="wrap", format="NCHW"), "wrap"),
        (
            call(
                "AvgPool3D",
                kernel_size=2,
                strides=1,
                pad_mode="VALID",
                format="NCDHW",
                ceil_mode=True,
                divisor_override=3,
            ),
            "divisor",
        ),
        (call("AvgPool3D", kernel_size=(2, 2), strides=1, pad_mode="VALID", format="NCDHW"), "2 dimensions"),
    ],
)
def test_what_can_t_be_converted_is_refused(make: Make, word: str, tmp_path: Path) -> None:
    done = to_onnx.convert(written(make, [X], tmp_path))
    assert done.proto is None and word in str(done.findings[0].values)
