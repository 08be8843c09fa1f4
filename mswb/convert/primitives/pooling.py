"""Pooling with windows that slide: the largest, the mean, and the way back from the largest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mswb.convert.graph import TYPE_IDS, Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import sliding
from mswb.convert.primitives.extents import Size, calc, product, size, sizes, vector
from mswb.convert.primitives.extents import reshape as resized
from mswb.convert.primitives.kernels import run, working
from mswb.convert.primitives.operands import tensor
from mswb.convert.primitives.windows import (
    Pads,
    Window,
    around,
    batched,
    channels_first,
    mode_of,
    per_axis,
    placed,
)
from mswb.convert.program import Call

_DTYPES = {number: name for name, number in TYPE_IDS.items()} | {3: "int32", 4: "int64"}


def _get(call: Call, *names: str, default: Any = None) -> Any:
    return next((found for name in names if (found := call.get(name, None)) is not None), default)


def _window(call: Call, count: int) -> Window:
    """The windows, whatever their arguments are called."""
    channels_first(call)
    kernel = per_axis(_get(call, "kernel_size", "ksize"), count)
    strides = per_axis(_get(call, "strides", "stride", default=kernel) or kernel, count)
    dilations = per_axis(_get(call, "dilation", "dilations", default=1), count)
    given = _get(call, "pads", "padding")
    if given is not None:
        pads: Pads | None = around(per_axis(given, count, "the padding"), count)
    else:
        mode = mode_of(call)
        listed = _get(call, "pad_list", "pad", default=0) if mode == "pad" else 0
        pads = None if mode == "same" else around(listed, count)
    return Window(kernel, strides, dilations, pads)


# -- ONNX


def _ceil(call: Call, window: Window) -> int | None:
    """The attribute ``ceil_mode``; None where windows end with the input anyway."""
    return int(bool(call.get("ceil_mode", False)) and window.pads is not None) or None


def _largest(b: OnnxBuilder, x: Value, window: Window, ceil: int | None, places: bool = False) -> tuple[Value, ...]:
    """The largest elements, and their places in one channel if asked for."""
    used = working("MaxPool", x.dtype)
    wide = b.cast(x, used)
    given, padding = placed(b, wide, window, float("-inf"))
    if places and given is not wide:
        raise Refused("the places are asked for where the padding depends on sizes of the run")
    arguments: dict[str, Any] = {
        "kernel_shape": window.kernel, "strides": window.strides, "ceil_mode": ceil,
        "dilations": window.dilations if set(window.dilations) != {1} else None, **padding,
    }  # fmt: skip
    if not places:
        return (b.cast(b.op("MaxPool", given, **arguments), x.dtype),)
    value, place = b.ops("MaxPool", given, count=2, **arguments)
    plane = product(b, [size(b, x, at - len(window.kernel)) for at in range(len(window.kernel))])
    within = run(b, "Mod", place, b.reshape(vector(b, plane), ()))
    return b.cast(value, x.dtype), within


def _max_pool(count: int) -> Callable[[Call, OnnxBuilder], Value]:
    def lower(call: Call, b: OnnxBuilder) -> Value:
        x = tensor(call)
        window = _window(call, count)
        return _largest(b, x, window, _ceil(call, window))[0]

    return lower


def _max_pool_places(count: int) -> Callable[[Call, OnnxBuilder], tuple[Value, Value]]:
    def lower(call: Call, b: OnnxBuilder) -> tuple[Value, Value]:
        x, alone = batched(b, tensor(call), count)
        window = _window(call, count)
        value, place = _largest(b, x, window, _ceil(call, window), True)
        place = b.cast(place, _place_type(call))
        return (b.squeeze(value, [0]), b.squeeze(place, [0])) if alone else (value, place)

    return lower


def _place_type(call: Call) -> str:
    given = call.get("argmax_type", "int64")
    return str(given) if isinstance(given, str) else _DTYPES.get(int(given), "int64")


def _mean(b: OnnxBuilder, x: Value, window: Window, with_pads: bool, ceil: int | None = None) -> Value:
    """The mean of each window; of what is not padding unless ``with_pads``."""
    used = working("AveragePool", x.dtype)
    wide = b.cast(x, used)
    given, padding = placed(b, wide, window, 0.0)
    arguments: dict[str, Any] = {
        "kernel_shape": window.kernel, "strides": window.strides, "count_include_pad": int(with_pads) or None,
        "ceil_mode": ceil,
    }  # fmt: skip
    found = b.op("AveragePool", given, **arguments, **padding)
    if given is not wide and not with_pads:  # padded by an operator: the share of what is not padding
        ones = b.op("Expand", b.scalar(1, used), vector(b, (1, 1, *sizes(b, x)[2:])))
        found = b.op("Div", found, b.op("AveragePool", placed(b, ones, window, 0.0)[0], **arguments))
    return b.cast(found, x.dtype)


def _avg_pool(call: Call, b: OnnxBuilder) -> Value:
    return _mean(b, tensor(call), _window(call, 2), False)


def _avg_pool_padded(count: int) -> Callable[[Call, OnnxBuilder], Value]:
    """The mean where padding may count, and the divisor may be another number."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        x, alone = batched(b, tensor(call), count)
        window = _window(call, count)
        ceil, divisor = _ceil(call, window), call.get("divisor_override", None) or 0
        with_pads = bool(call.get("count_include_pad", True)) or bool(divisor)
        if ceil and divisor:
            raise Refused("with ceil_mode and a divisor of its own ONNX has no mean", attribute="divisor_override")
        found = _mean(b, x, window, with_pads, ceil)
        if divisor:
            found = run(b, "Mul", found, float(np.prod(window.kernel)) / float(divisor))
        return b.squeeze(found, [0]) if alone else found

    return lower


def _max_pool_mask(call: Call, b: OnnxBuilder) -> tuple[Value, None]:
    """The largest of each window; the mask beside it is bits that only the gradient reads."""
    return _max_pool_places(2)(call, b)[0], None


def _unpool(count: int) -> Callable[[Call, OnnxBuilder], Value]:
    """Each element to its place in its channel, all others zero."""

    def lower(call: Call, b: OnnxBuilder) -> Value:
        x, places = tensor(call), tensor(call, 1)
        given = sizes(b, x)
        out = _unpooled(call, given[-count:], b, count)
        lead = given[: len(given) - count]
        rows = [product(b, lead), product(b, out)]
        empty = b.op("Expand", b.scalar(0, x.dtype), vector(b, tuple(rows)))
        flat = [resized(b, one, [rows[0], product(b, given[-count:])]) for one in (x, places)]
        found = b.op("ScatterElements", empty, b.cast(flat[1], "int64"), flat[0], axis=1)
        return resized(b, found, [*lead, *out])

    return lower


def _unpooled(call: Call, given: list[Size], b: OnnxBuilder, count: int) -> list[Size]:
    wanted = _get(call, "output_shape", "output_size", default=())
    if wanted:
        return list(per_axis(wanted, count))
    kernel = per_axis(_get(call, "ksize", "kernel_size"), count)
    strides = per_axis(_get(call, "strides", "stride", default=kernel) or kernel, count)
    pads = per_axis(_get(call, "pads", "padding", default=0), count)
    each = zip(given, kernel, strides, pads, strict=True)
    return [calc(b, "Add", calc(b, "Mul", calc(b, "Sub", n, 1), s), k - 2 * p) for n, k, s, p in each]


# -- numbers


def _ceiled(window: Window, pads: Pads, lengths: tuple[int, ...]) -> tuple[int, ...]:
    """How many elements behind the padding a last window needs that is begun, but not within the padding."""
    found = []
    for n, span, stride, (low, high) in zip(lengths, window.spans, window.strides, pads, strict=True):
        count = -(-(n + low + high - span) // stride) + 1
        count -= int((count - 1) * stride >= n + low)
        found.append(max((count - 1) * stride + span - (n + low + high), 0))
    return tuple(found)


def _share(window: Window, pads: Pads, more: Pads, lengths: tuple[int, ...]) -> Array:
    """How many elements of each window lie within the input and its padding."""
    inside = np.ones([n + low + high for n, (low, high) in zip(lengths, pads, strict=True)])
    behind = tuple((0, large - small) for (_, small), (_, large) in zip(pads, more, strict=True))
    return sliding.total(sliding.padded(inside, behind, 0.0), window, ((0, 0),) * len(lengths))


def _fitted_of(call: Call, x: Array, count: int) -> tuple[Window, Pads, Pads]:
    """The windows, the padding that is asked for, and the same with what ceil_mode adds."""
    window = _window(call, count)
    pads = sliding.fixed_pads(x, window)
    if not call.get("ceil_mode", False) or window.pads is None:
        return window, pads, pads
    more = _ceiled(window, pads, x.shape[-count:])
    return window, pads, tuple((low, high + one) for (low, high), one in zip(pads, more, strict=True))


def _largest_of(count: int) -> Callable[[Call], Array]:
    def evaluate(call: Call) -> Array:
        x = call.input(0)
        window, _, pads = _fitted_of(call, x, count)
        return sliding.largest(x, window, pads)[0]

    return evaluate


def _places_of(count: int) -> Callable[[Call], tuple[Array, Array]]:
    def evaluate(call: Call) -> tuple[Array, Array]:
        x = call.input(0)
        window, _, pads = _fitted_of(call, x, count)
        value, place = sliding.largest(x, window, pads)
        return value, place.astype(_place_type(call))

    return evaluate


def _mean_of(count: int, with_pads: bool) -> Callable[[Call], Array]:
    def evaluate(call: Call) -> Array:
        x = call.input(0)
        window, pads, more = _fitted_of(call, x, count)
        sums = sliding.total(x, window, more)
        divisor = call.get("divisor_override", None) or 0
        if divisor:
            return np.asarray(sums / float(divisor))
        if call.get("count_include_pad", with_pads):
            return np.asarray(sums / _share(window, pads, more, x.shape[-count:]))
        return np.asarray(sums / sliding.total(np.ones(x.shape[-count:]), window, more))

    return evaluate


def _unpool_of(count: int) -> Callable[[Call], Array]:
    def evaluate(call: Call) -> Array:
        x, places = call.input(0), call.input(1)
        given = x.shape[-count:]
        wanted = _get(call, "output_shape", "output_size", default=())
        kernel = per_axis(_get(call, "ksize", "kernel_size"), count)
        strides = per_axis(_get(call, "strides", "stride", default=kernel) or kernel, count)
        pads = per_axis(_get(call, "pads", "padding", default=0), count)
        each = zip(given, kernel, strides, pads, strict=True)
        out = per_axis(wanted, count) if wanted else tuple((n - 1) * s + k - 2 * p for n, k, s, p in each)
        found = np.zeros((int(np.prod(x.shape[:-count])), int(np.prod(out))), x.dtype)
        rows = places.reshape(len(found), -1).astype(np.int64)
        np.put_along_axis(found, rows, x.reshape(len(found), -1), 1)
        return found.reshape(*x.shape[:-count], *out)

    return evaluate


TO_ONNX: Mapping[str, Callable[[Call, OnnxBuilder], Any]] = {
    "AvgPool": _avg_pool,
    "AvgPool1D": _avg_pool_padded(1),
    "AvgPool2D": _avg_pool_padded(2),
    "AvgPool3D": _avg_pool_padded(3),
    "AvgPool3DExt": _avg_pool_padded(3),
    "MaxPool": _max_pool(2),
    "MaxPool3D": _max_pool(3),
    "MaxPool3DWithArgmax": _max_pool_places(3),
    "MaxPoolWithArgmaxV2": _max_pool_places(2),
    "MaxPoolWithIndices": _max_pool_places(2),
    "MaxPoolWithMask": _max_pool_mask,
    "MaxUnpool2D": _unpool(2),
    "MaxUnpool2DExt": _unpool(2),
    "MaxUnpool3D": _unpool(3),
}
EVALUATE: Mapping[str, Callable[[Call], Any]] = {
    "AvgPool": _mean_of(2, False),
    "AvgPool1D": _mean_of(1, True),
    "AvgPool2D": _mean_of(2, True),
    "AvgPool3D": _mean_of(3, True),
    "AvgPool3DExt": _mean_of(3, True),
    "MaxPool": _largest_of(2),
    "MaxPool3D": _largest_of(3),
    "MaxPool3DWithArgmax": _places_of(3),
    "MaxPoolWithArgmaxV2": _places_of(2),
    "MaxPoolWithIndices": _places_of(2),
    "MaxPoolWithMask": lambda call: (_places_of(2)(call)[0], None),
    "MaxUnpool2D": _unpool_of(2),
    "MaxUnpool2DExt": _unpool_of(2),
    "MaxUnpool3D": _unpool_of(3),
}
