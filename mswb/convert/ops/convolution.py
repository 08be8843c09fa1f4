"""Convolutions, their transposes, and what puts windows back together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mswb.convert.graph import Builder, Value
from mswb.convert.onnx.node import Lower, OnnxNode, Refused
from mswb.convert.ops import sizes, windows
from mswb.convert.ops.windows import Pairs, Windows


def _kernel(node: OnnxNode) -> tuple[int, ...]:
    """The sizes of the kernel, which the weight has."""
    weight = node.input(1)
    if weight.shape is None or None in weight.shape:
        raise Refused("the shape of the weight is only known when the model runs")
    if weight.dtype not in ("float32", "float16"):
        raise Refused(f"a convolution of {weight.dtype} has no kernel")
    if node.rank() != len(weight.shape) or not 3 <= len(weight.shape) <= 5:
        raise Refused(f"the input has {node.rank()} dimensions and the weight {len(weight.shape)}")
    return tuple(one for one in weight.shape[2:] if one is not None)


def _conv(node: OnnxNode, b: Builder) -> Value:
    asked = windows.read(node, _kernel(node))
    given = node.input(0)
    result = convolve(b, given, node.input(1), asked, int(node.get("group", 1)))
    return _biased(b, result, node.optional(2))


def _biased(b: Builder, x: Value, bias: Value | None) -> Value:
    if bias is None:
        return x
    return b.op("Add", x, b.reshape(bias, (-1, *[1] * ((x.rank or 2) - 2))), shape=x.shape)


def convolve(b: Builder, x: Value, weight: Value, asked: Windows, group: int) -> Value:
    """A convolution of 1 to 3 dimensions without bias; the shape of the weight is fixed."""
    assert x.shape is not None and weight.shape is not None
    pairs = windows.fixed(asked, x.shape[2:])
    if pairs is None:
        x, pairs = windows.padded(b, x, asked, 0), tuple((0, 0) for _ in asked.kernel)
    if len(asked.kernel) == 1:
        flat = replace(asked, kernel=(1, *asked.kernel), strides=(1, *asked.strides), dilations=(1, *asked.dilations))
        wide = _conv2d(b, sizes.expand(b, x, 2), sizes.expand(b, weight, 2), flat, ((0, 0), *pairs), group)
        return sizes.squeeze(b, wide, 2)
    return (_conv2d if len(asked.kernel) == 2 else _conv3d)(b, x, weight, asked, pairs, group)


def _conv2d(b: Builder, x: Value, weight: Value, asked: Windows, pairs: Pairs, group: int) -> Value:
    assert weight.shape is not None
    attributes = {
        "out_channel": weight.shape[0], "kernel_size": asked.kernel, "mode": 1, "pad_mode": "pad",
        "pad": _flat(pairs), "pad_list": _flat(pairs), "stride": (1, 1, *asked.strides),
        "dilation": (1, 1, *asked.dilations), "group": group, "groups": group, "format": "NCHW", "data_format": "NCHW",
    }  # fmt: skip
    return b.op("Conv2D", x, weight, shape=_shape(x, weight, asked, pairs), attributes=attributes)


def _conv3d(b: Builder, x: Value, weight: Value, asked: Windows, pairs: Pairs, group: int) -> Value:
    assert weight.shape is not None
    attributes = {
        "out_channel": weight.shape[0], "kernel_size": asked.kernel, "mode": 1, "pad_mode": "pad",
        "pad": _flat(pairs), "pad_list": _flat(pairs), "strides": (1, 1, *asked.strides),
        "dilations": (1, 1, *asked.dilations), "group": group, "groups": group, "offset_x": 0,
        "format": "NCDHW", "data_format": "NCDHW",
    }  # fmt: skip
    return b.op("Conv3D", x, weight, shape=_shape(x, weight, asked, pairs), attributes=attributes)


def _flat(pairs: Pairs) -> tuple[int, ...]:
    """Pads as MindSpore lists them: begin and end of the first axis, then of the next."""
    return tuple(number for pair in pairs for number in pair)


def _shape(x: Value, weight: Value, asked: Windows, pairs: Pairs) -> tuple[int | None, ...]:
    assert x.shape is not None and weight.shape is not None
    rows = zip(x.shape[2:], pairs, asked.widths, asked.strides, strict=True)
    lengths = (None if one is None else (one + sum(pair) - width) // step + 1 for one, pair, width, step in rows)
    return (x.shape[0], weight.shape[0], *lengths)


# -- transposed


def _conv_transpose(node: OnnxNode, b: Builder) -> Value:
    kernel, x, group = _kernel(node), node.input(0), int(node.get("group", 1))
    asked = windows.read(node, kernel)
    more = tuple(int(one) for one in node.get("output_padding") or [0] * len(kernel))
    assert x.shape is not None
    cut = _transposed_pads(node, asked, more, x.shape[2:])
    pairs = tuple((begin, end - extra) for (begin, end), extra in zip(cut, more, strict=True))
    weight = node.input(1)
    if len(kernel) == 3 or min(map(min, pairs)) < 0:
        result = _by_convolution(b, x, weight, asked, pairs, group)
    elif len(kernel) == 2:
        result = _transposed2d(b, x, weight, asked, pairs, group)
    else:
        flat = replace(asked, kernel=(1, *kernel), strides=(1, *asked.strides), dilations=(1, *asked.dilations))
        lines = sizes.expand(b, x, 2), sizes.expand(b, weight, 2)
        result = sizes.squeeze(b, _transposed2d(b, *lines, flat, ((0, 0), *pairs), group), 2)
    return _biased(b, result, node.optional(2))


def _transposed2d(b: Builder, x: Value, weight: Value, asked: Windows, pairs: Pairs, group: int) -> Value:
    assert weight.fixed is not None
    lengths: list[sizes.Size] = [sizes.size(b, x, 0), weight.fixed[1] * group]
    for at, (pair, width) in enumerate(zip(pairs, asked.widths, strict=True)):
        lengths.append(sizes.stretched(b, sizes.size(b, x, 2 + at), asked.strides[at], width - sum(pair)))
    attributes = {
        "out_channel": weight.fixed[0], "kernel_size": asked.kernel, "mode": 1, "pad_mode": "pad",
        "pad": _flat(pairs), "pad_list": _flat(pairs), "stride": (1, 1, *asked.strides),
        "dilation": (1, 1, *asked.dilations), "group": group, "groups": group, "format": "NCHW", "data_format": "NCHW",
    }  # fmt: skip
    shape = tuple(None if isinstance(one, Value) else one for one in lengths)
    return b.op("Conv2DTranspose", x, weight, sizes.as_tuple(b, lengths), shape=shape, attributes=attributes)


def _by_convolution(b: Builder, x: Value, weight: Value, asked: Windows, pairs: Pairs, group: int) -> Value:
    """A convolution of the input spread out by the strides, with the kernel turned round."""
    rows = zip(pairs, asked.widths, strict=True)
    reach = [(width - 1 - begin, width - 1 - end) for (begin, end), width in rows]
    still = replace(asked, strides=(1,) * len(reach), pads=((0, 0),) * len(reach), same="")
    spread = sizes.pad(b, _spread(b, x, asked.strides), reach, 0)
    return convolve(b, spread, _turned(b, weight, group), still, group)


def _transposed_pads(node: OnnxNode, asked: Windows, more: Sequence[int], lengths: Sequence[int | None]) -> Pairs:
    """What is cut off at each end: the pads, or what an output shape leaves to cut."""
    wanted = node.get("output_shape")
    if wanted is None and not asked.same:
        return asked.pads
    upper, pairs = str(node.get("auto_pad", "NOTSET")) == "SAME_UPPER", []
    for at, (width, stride, extra) in enumerate(zip(asked.widths, asked.strides, more, strict=True)):
        length = lengths[at]
        if wanted is None:
            total = width + extra - stride
        elif length is None:
            raise Refused("output_shape is fixed, but the size of the input is not", attribute="output_shape")
        else:
            total = stride * (length - 1) + extra + width - int(wanted[at - len(asked.kernel)])
        half = total // 2
        pairs.append((half, total - half) if upper else (total - half, half))
    return tuple(pairs)


def _spread(b: Builder, x: Value, strides: Sequence[int]) -> Value:
    """The tensor with stride - 1 zeros between any two elements of each of its last axes."""
    for at, stride in enumerate(strides, start=(x.rank or 0) - len(strides)):
        if stride == 1:
            continue
        assert x.shape is not None
        lengths = [sizes.size(b, x, axis) for axis in range(len(x.shape))]
        apart = sizes.pad(b, sizes.expand(b, x, at + 1), [(0, stride - 1), *[(0, 0)] * (len(x.shape) - at - 1)], 0)
        lengths[at] = sizes.product(b, [lengths[at], stride])
        x = sizes.cut(b, sizes.reshape(b, apart, lengths), at, 0, stride - 1)
    return x


def _turned(b: Builder, weight: Value, group: int) -> Value:
    """(C, M / group, ...) as (M, C / group, ...) with the kernel back to front."""
    assert weight.fixed is not None
    inputs, outputs, *kernel = weight.fixed
    spatial = tuple(range(2, 2 + len(kernel)))
    if weight.array is not None:
        apart = np.flip(weight.array, spatial).reshape(group, inputs // group, outputs, *kernel)
        return b.constant(np.ascontiguousarray(apart.swapaxes(1, 2).reshape(group * outputs, inputs // group, *kernel)))
    turned = b.op("ReverseV2", weight, spatial, shape=weight.shape)
    apart_value = b.reshape(turned, (group, inputs // group, outputs, *kernel))
    order = (0, 2, 1, *range(3, 3 + len(kernel)))
    return b.reshape(b.transpose(apart_value, order), (group * outputs, inputs // group, *kernel))


# -- windows put back


def _col2im(node: OnnxNode, b: Builder) -> Value:
    """Columns of windows added up where they lie in the image."""
    x = node.input(0)
    image = [int(one) for one in node.content(1, "image_shape").reshape(-1)]
    asked = windows.read(node, [int(one) for one in node.content(2, "block_shape").reshape(-1)])
    rows = list(zip(image, asked.pads, asked.widths, asked.strides, strict=True))
    blocks = [(length + sum(pair) - width) // stride + 1 for length, pair, width, stride in rows]
    count = int(np.prod(asked.kernel))
    assert x.shape is not None
    channels = x.shape[1]
    known: list[sizes.Size] = [sizes.size(b, x, 0), -1 if channels is None else channels // count]
    apart = sizes.reshape(b, x, [*known, count, *blocks])
    total = None
    for at, place in enumerate(np.ndindex(*asked.kernel)):
        one = sizes.squeeze(b, sizes.cut(b, apart, 2, at, count - 1 - at), 2)
        one = _spread(b, one, asked.strides)
        pads = []
        for axis, (length, (begin, _), _, stride) in enumerate(rows):
            start = place[axis] * asked.dilations[axis] - begin
            pads.append((start, length - start - ((blocks[axis] - 1) * stride + 1)))
        one = sizes.pad(b, one, pads, 0)
        total = one if total is None else b.op("Add", total, one, shape=one.shape)
    assert total is not None
    return total


TO_MINDIR: Mapping[str, Lower] = {"Col2Im": _col2im, "Conv": _conv, "ConvTranspose": _conv_transpose}
