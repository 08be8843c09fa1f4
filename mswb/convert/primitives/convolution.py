"""Convolutions and transposed convolutions of one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import sliding
from mswb.convert.primitives.extents import Size, calc, fixed, numbers, parts, size, slices
from mswb.convert.primitives.kernels import working
from mswb.convert.primitives.operands import tensor
from mswb.convert.primitives.windows import (
    Window,
    around,
    batched,
    channels_first,
    flat_pads,
    mode_of,
    per_axis,
    placed,
)
from mswb.convert.program import Call

_UNPADDED = ((0, 0),)


def _steps(call: Call, one: str, several: str, count: int) -> tuple[int, ...]:
    return per_axis(call.get(several, call.get(one, 1)), count, one)


def _window(call: Call, kernel: Sequence[int]) -> Window:
    """The windows of an operator that holds them as attributes."""
    channels_first(call)
    count, mode = len(kernel), mode_of(call)
    given = call.get("pad_list", call.get("pad", 0)) if mode == "pad" else 0
    pads = None if mode == "same" else around(given, count)
    strides = _steps(call, "stride", "strides", count)
    return Window(tuple(kernel), strides, _steps(call, "dilation", "dilations", count), pads)


def _mint_window(call: Call, kernel: Sequence[int]) -> Window:
    """The windows of an operator that takes them as arguments; padding is numbers or a word."""
    count, padding = len(kernel), call.get("padding", 0)
    if padding == "same":
        pads = None
    else:
        pads = _UNPADDED * count if padding == "valid" else around(per_axis(padding, count, "padding"), count)
    strides, dilations = per_axis(call.get("stride", 1), count), per_axis(call.get("dilation", 1), count)
    return Window(tuple(kernel), strides, dilations, pads)


def _groups(call: Call) -> int:
    return int(call.get("group", call.get("groups", 1)))


def _kernel(weight: Value, count: int) -> tuple[int, ...]:
    if weight.fixed is None or len(weight.fixed) != count + 2:
        raise Refused("the sizes of the weight are only known when the model runs")
    return weight.fixed[2:]


# -- ONNX


def convolved(b: OnnxBuilder, x: Value, w: Value, bias: Value | None, window: Window, groups: int) -> Value:
    """A convolution of ONNX, in a data type that onnxruntime runs."""
    used = working("Conv", x.dtype)
    given, padding = placed(b, x, window, 0.0)
    found = b.op(
        "Conv", b.cast(given, used), b.cast(w, used), None if bias is None else b.cast(bias, used), group=groups,
        kernel_shape=window.kernel, strides=window.strides, dilations=window.dilations, **padding,
    )  # fmt: skip
    return b.cast(found, x.dtype)


def _conv(count: int) -> Callable[[Call, OnnxBuilder], Value]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        x, w = tensor(call), tensor(call, 1)
        return convolved(b, x, w, None, _window(call, _kernel(w, count)), _groups(call))

    return lower


def _depthwise(call: Call, b: OnnxBuilder) -> Value:
    """The weight is (multiplier, channels, …), and of one channel each."""
    x, w = tensor(call), tensor(call, 1)
    kernel = _kernel(w, 2)
    multiplier, channels = (w.fixed or ())[:2]
    turned = b.reshape(b.transpose(w, [1, 0, 2, 3]), (multiplier * channels, 1, *kernel))
    return convolved(b, x, turned, None, _window(call, kernel), channels)


def _optional(call: Call, name: str) -> Value | None:
    found = call.get(name, None)
    if found is not None and not isinstance(found, Value):
        raise Refused(f"its {name} is no tensor", attribute=name)
    return found


def _mint(call: Call, b: OnnxBuilder) -> Value:
    w = tensor(call, 1)
    kernel = _kernel(w, (w.rank or 0) - 2)
    x, alone = batched(b, tensor(call), len(kernel))
    bias, window, groups = _optional(call, "bias"), _mint_window(call, kernel), _groups(call)
    if call.op == "ConvTranspose2D" or call.get("transposed", False):
        more = per_axis(call.get("output_padding", 0), len(kernel))
        if window.pads is None:
            raise Refused("a transposed convolution is padded by a word")
        found = _transposed(b, x, w, window, groups, more)
        found = found if bias is None else b.op("Add", found, b.reshape(bias, (-1, *(1,) * len(kernel))))
    else:
        found = convolved(b, x, w, bias, window, groups)
    return b.squeeze(found, [0]) if alone else found


def _transposed(b: OnnxBuilder, x: Value, w: Value, window: Window, groups: int, more: Sequence[int] = ()) -> Value:
    used = working("ConvTranspose", x.dtype)
    pads = window.pads or ()
    found = b.op(
        "ConvTranspose", b.cast(x, used), b.cast(w, used), group=groups, kernel_shape=window.kernel,
        strides=window.strides, dilations=window.dilations, pads=flat_pads(pads) if any(map(any, pads)) else None,
        output_padding=list(more) if any(more) else None,
    )  # fmt: skip
    return b.cast(found, x.dtype)


def _back(call: Call, b: OnnxBuilder) -> Value:
    """What a convolution with these windows makes ``x`` of: the sizes of that are given."""
    x, w = tensor(call), tensor(call, 1)
    window = _window(call, _kernel(w, 2))
    return _to_sizes(b, x, w, window, _groups(call), parts(b, call.input(2))[-2:])


def _to_sizes(b: OnnxBuilder, x: Value, w: Value, window: Window, groups: int, out: Sequence[Size]) -> Value:
    count = len(window.kernel)
    known, sizes = numbers(tuple(out)), None if x.shape is None else x.shape[-count:]
    if known is not None and sizes is not None and None not in sizes:
        found = _fitted(window, [one or 0 for one in sizes], known)
        if found is not None:
            return _transposed(b, x, w, found[0], groups, found[1])
    lows: list[Size] = []
    for axis, (span, stride) in enumerate(zip(window.spans, window.strides, strict=True)):
        if window.pads is not None:
            lows.append(window.pads[axis][0])
            continue
        full = calc(b, "Add", calc(b, "Mul", calc(b, "Sub", size(b, x, axis - count), 1), stride), span)
        lows.append(calc(b, "Div", calc(b, "Max", calc(b, "Sub", full, out[axis]), 0), 2))
    whole = Window(window.kernel, window.strides, window.dilations, _UNPADDED * count)
    found_whole = _transposed(b, x, w, whole, groups, [stride - 1 for stride in window.strides])
    ends = [calc(b, "Add", low, one) for low, one in zip(lows, out, strict=True)]
    return slices(b, found_whole, list(range(2, 2 + count)), lows, ends)


def _fitted(window: Window, sizes: Sequence[int], out: Sequence[int]) -> tuple[Window, list[int]] | None:
    """The pads and the padding of the output that lead to these sizes; None where ONNX has none."""
    pads, more = [], []
    for axis, (given, span, stride, wanted) in enumerate(zip(sizes, window.spans, window.strides, out, strict=True)):
        full = (given - 1) * stride + span
        low, high = window.pads[axis] if window.pads is not None else _halves(max(full - wanted, 0))
        rest = wanted - (full - low - high)
        pads.append((low, high - min(rest, 0)))
        more.append(max(rest, 0))
        if more[-1] >= stride:
            return None
    return Window(window.kernel, window.strides, window.dilations, tuple(pads)), more


def _halves(total: int) -> tuple[int, int]:
    return total // 2, total - total // 2


def _back_3d(call: Call, b: OnnxBuilder) -> Value:
    x, w = tensor(call), tensor(call, 1)
    window = _window(call, _kernel(w, 3))
    if window.pads is None:
        out: list[Size] = [calc(b, "Mul", size(b, x, at - 3), stride) for at, stride in enumerate(window.strides)]
        return _to_sizes(b, x, w, window, _groups(call), out)
    return _transposed(b, x, w, window, _groups(call), per_axis(call.get("output_padding", 0), 3))


def _conv_tbc(call: Call, b: OnnxBuilder) -> Value:
    """Of (time, batch, channels) with (time, in, out)."""
    x, w = b.transpose(tensor(call), [1, 2, 0]), b.transpose(tensor(call, 1), [2, 1, 0])
    pads = around(call.get("pad", 0), 1)
    window = Window(_kernel(w, 1), (1,), (1,), pads)
    return b.transpose(convolved(b, x, w, _optional(call, "bias"), window, 1), [2, 0, 1])


# -- numbers


def _conv_of(call: Call) -> Array:
    x, w = call.input(0), call.input(1)
    return sliding.convolve(x, w, _window(call, w.shape[2:]), _groups(call))


def _depthwise_of(call: Call) -> Array:
    x, w = call.input(0), call.input(1)
    turned = np.swapaxes(w, 0, 1).reshape(-1, 1, *w.shape[2:])
    return sliding.convolve(x, turned, _window(call, w.shape[2:]), w.shape[1])


def _fill(window: Window, sizes: Sequence[int], out: Sequence[int]) -> Window:
    if window.pads is not None:
        return window
    each = zip(sizes, window.spans, window.strides, out, strict=True)
    pads = tuple(_halves(max((n - 1) * stride + span - size, 0)) for n, span, stride, size in each)
    return Window(window.kernel, window.strides, window.dilations, pads)


def _back_of(call: Call) -> Array:
    x, w = call.input(0), call.input(1)
    out = fixed(call.input(2), "the sizes of the output")[-2:]
    window = _fill(_window(call, w.shape[2:]), x.shape[2:], out)
    return sliding.spread(x, w, window, out, _groups(call))


def _natural(x: Array, window: Window, more: Sequence[int]) -> tuple[int, ...]:
    if window.pads is None:
        return tuple(n * stride for n, stride in zip(x.shape[2:], window.strides, strict=True))
    each = zip(x.shape[2:], window.strides, window.spans, window.pads, more, strict=True)
    return tuple((n - 1) * stride + span - low - high + one for n, stride, span, (low, high), one in each)


def _back_3d_of(call: Call) -> Array:
    x, w = call.input(0), call.input(1)
    window = _window(call, w.shape[2:])
    out = _natural(x, window, per_axis(call.get("output_padding", 0), 3))
    return sliding.spread(x, w, _fill(window, x.shape[2:], out), out, _groups(call))


def _mint_of(call: Call) -> Array:
    x, w, bias = call.input(0), call.input(1), call.get("bias", None)
    kernel = w.shape[2:]
    window, groups, alone = _mint_window(call, kernel), _groups(call), x.ndim == len(kernel) + 1
    x = x[None] if alone else x
    if call.op == "ConvTranspose2D" or call.get("transposed", False):
        out = _natural(x, window, per_axis(call.get("output_padding", 0), len(kernel)))
        found = sliding.spread(x, w, window, out, groups)
    else:
        found = sliding.convolve(x, w, window, groups)
    found = found if bias is None else found + bias.reshape(-1, *(1,) * len(kernel))
    return found[0] if alone else found


def _conv_tbc_of(call: Call) -> Array:
    x, w = call.input(0).transpose(1, 2, 0), call.input(1).transpose(2, 1, 0)
    found = sliding.convolve(x, w, Window(w.shape[2:], (1,), (1,), around(call.get("pad", 0), 1)))
    return np.asarray(found.transpose(2, 0, 1) + call.get("bias"))


_MINT = (
    "Conv1DExt", "Conv1DPadding", "Conv2DExt", "Conv2DPadding", "Conv3DExt", "Conv3DPadding", "ConvTranspose2D",
    "Convolution", "ConvolutionStr",
)  # fmt: skip

TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    **dict.fromkeys(_MINT, _mint),
    "Conv2D": _conv(2),
    "Conv2DBackpropInput": _back,
    "Conv2DTranspose": _back,
    "Conv3D": _conv(3),
    "Conv3DTranspose": _back_3d,
    "ConvTbc": _conv_tbc,
    "DepthwiseConv2dNative": _depthwise,
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    **dict.fromkeys(_MINT, _mint_of),
    "Conv2D": _conv_of,
    "Conv2DBackpropInput": _back_of,
    "Conv2DTranspose": _back_of,
    "Conv3D": _conv_of,
    "Conv3DTranspose": _back_3d_of,
    "ConvTbc": _conv_tbc_of,
    "DepthwiseConv2dNative": _depthwise_of,
}
