"""Networks on images: batch, height and width are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import numpy_helper

from tests.models.net import Model, Net
from tests.models.text import attended

IMAGE = [("x", "noise", ("n", 3, "h", "w"))]
ODD = ({"n": 1, "h": 33, "w": 20}, {"n": 3, "h": 48, "w": 64}, {"n": 2, "h": 21, "w": 51})
EVEN = ({"n": 1, "h": 32, "w": 64}, {"n": 3, "h": 48, "w": 32}, {"n": 2, "h": 80, "w": 16})


def _cnn(net: Net, x: str) -> Sequence[str]:
    x = net.op("MaxPool", net.block(x, 3, 8, strides=[2, 2]), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    x = net.block(net.block(x, 8, 8, group=8), 8, 16, kernel=1)
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    x = net.op("Gemm", x, net.weight(5, 16), net.weight(5), transB=1)
    return [net.op("Softmax", x, axis=1)]


def _residual(net: Net, x: str) -> Sequence[str]:
    x = net.block(x, 3, 8)
    for entries, results in ((8, 8), (8, 16)):
        stride = [results // entries] * 2
        inner = net.norm(net.conv(net.block(x, entries, results, strides=stride), results, results), results)
        short = net.conv(x, entries, results, kernel=1, strides=stride) if results > entries else x
        x = net.op("Relu", net.op("Add", inner, short))
    pooled = net.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    count = net.size(pooled, 0)
    return [net.linear(net.op("Reshape", net.mean(pooled, 2, 3), net.sizes(count, -1)), 16, 4)]


def _resized(net: Net, value: str, like: str, **attributes: str) -> str:
    """``value`` in the height and width of ``like``."""
    sizes = net.op(
        "Concat", net.slice(net.op("Shape", value), 0, 2, 0), net.slice(net.op("Shape", like), 2, 4, 0), axis=0
    )
    return net.op("Resize", value, "", "", net.op("Cast", sizes, to=7), **attributes)


def _unet(net: Net, x: str) -> Sequence[str]:
    half = {"kernel_shape": [2, 2], "strides": [2, 2]}
    first = net.block(x, 3, 8)
    second = net.block(net.op("MaxPool", first, **half), 8, 12)
    third = net.block(net.op("MaxPool", second, **half), 12, 16)
    linear = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    x = net.block(net.op("Concat", _resized(net, third, second, **linear), second, axis=1), 28, 12)
    x = net.block(net.op("Concat", _resized(net, x, first, **nearest), first, axis=1), 20, 8)
    return [net.op("Sigmoid", net.conv(x, 8, 2, kernel=1))]


def _upscaled(net: Net, x: str) -> Sequence[str]:
    edges = net.constant([0, 0, 1, 1, 0, 0, 1, 1])
    deep = net.conv(net.op("Pad", x, edges, mode="reflect"), 3, 12, pads=[0] * 4)
    deep = net.op("PRelu", deep, net.weight(12, 1, 1))
    doubled = net.op("Resize", x, "", net.constant([1, 1, 2, 2], np.float32), mode="cubic", cubic_coeff_a=-0.75)
    return [net.op("Add", net.op("DepthToSpace", deep, blocksize=2, mode="CRD"), doubled)]


def _decoded(net: Net, head: str, stride: int) -> tuple[str, str]:
    """Boxes [n, a, 4] and scores [n, 2, a] of a head of 2 anchors with 6 channels each."""
    count, high, wide = (net.size(head, axis) for axis in (0, 2, 3))
    apart = net.op("Reshape", head, net.sizes(count, 2, 6, high, wide))
    apart = net.op("Sigmoid", net.op("Transpose", apart, perm=[0, 1, 3, 4, 2]))
    rows = net.op("Expand", net.unsqueeze(net.range(high), 1), net.sizes(high, wide))
    columns = net.op("Expand", net.unsqueeze(net.range(wide), 0), net.sizes(high, wide))
    grid = net.op("Cast", net.op("Concat", net.unsqueeze(columns, 2), net.unsqueeze(rows, 2), axis=2), to=1)
    middle = net.op("Add", net.slice(apart, 0, 2, 4), net.op("Reshape", grid, net.sizes(1, 1, high, wide, 2)))
    extent = net.op("Pow", net.op("Mul", net.slice(apart, 2, 4, 4), net.number(2.0)), net.number(2.0))
    boxes = net.op("Mul", net.op("Concat", middle, extent, axis=4), net.number(stride))
    flat = net.op("Reshape", boxes, net.sizes(count, -1, 4))
    scores = net.op("Reshape", net.slice(apart, 4, 6, 4), net.sizes(count, -1, 2))
    return flat, net.op("Transpose", scores, perm=[0, 2, 1])


def _detector(net: Net, x: str) -> Sequence[str]:
    fine = net.block(net.block(x, 3, 8, strides=[2, 2]), 8, 8, strides=[2, 2])
    coarse = net.op("MaxPool", net.block(fine, 8, 8, strides=[2, 2]), kernel_shape=[5, 5], pads=[2] * 4)
    scales = net.constant([1, 1, 2, 2], np.float32)
    near = {"coordinate_transformation_mode": "asymmetric", "mode": "nearest", "nearest_mode": "floor"}
    joined = net.op("Concat", net.op("Resize", coarse, "", scales, **near), fine, axis=1)
    heads = [_decoded(net, net.conv(coarse, 8, 12, kernel=1), 8), _decoded(net, net.conv(joined, 16, 12, kernel=1), 4)]
    boxes = net.op("Concat", *(one for one, _ in heads), axis=1)
    scores = net.op("Concat", *(one for _, one in heads), axis=2)
    limits = net.constant([7]), net.constant([0.4], np.float32), net.constant([0.45], np.float32)
    chosen = net.op("NonMaxSuppression", boxes, scores, *limits, center_point_box=1)
    places = net.op("Concat", net.slice(chosen, 0, 1, 1), net.slice(chosen, 2, 3, 1), axis=1)
    return [chosen, net.op("GatherND", boxes, places), net.op("GatherND", scores, chosen)]


def _best(net: Net, boxes: str, scores: str) -> Sequence[str]:
    """The best 5 boxes of each image, or all when there are fewer."""
    best = net.op("ReduceMax", scores, axes=[2], keepdims=0)
    label = net.op("ArgMax", scores, axis=2, keepdims=0)
    many = net.op("Min", net.vector(net.size(boxes, 1)), net.constant([5]))
    values, places = net.ops("TopK", 2, best, many, axis=1)
    wide = net.op("Expand", net.unsqueeze(places, 2), net.sizes(1, 1, 4))
    chosen = net.op("GatherElements", boxes, wide, axis=1)
    pairs = net.op("Transpose", net.op("NonZero", net.op("Greater", values, net.number(0.7))), perm=[1, 0])
    labels = net.op("GatherElements", label, places, axis=1)
    inside = net.op("Clip", chosen, net.number(0.1), net.number(0.9))
    return [inside, labels, net.op("GatherND", chosen, pairs), net.op("GatherND", labels, pairs)]


def _kept(net: Net, boxes: str, scores: str) -> Sequence[str]:
    """Boxes with a high score, which may be none, cut to the image."""
    sure = net.op("Greater", net.op("Gather", scores, net.constant(0), axis=2), net.number(0.97))
    places = net.op("Transpose", net.op("NonZero", sure), perm=[1, 0])
    first, last = net.ops("Split", 2, net.op("GatherND", boxes, places), net.constant([2, 2]), axis=1)
    low, high = net.op("Min", first, last), net.op("Max", first, last)
    inside = net.op("Clip", net.op("Concat", low, high, axis=1), net.number(0.1), net.number(0.9))
    area = net.op("ReduceProd", net.op("Sub", high, low), axes=[1], keepdims=0)
    return [net.op("Mul", inside, net.number(100.0)), area, places]


def _patches(net: Net, x: str) -> Sequence[str]:
    """A vision transformer: its images are of one size, their number is open."""
    x = net.conv(x, 3, 16, kernel=8, strides=[8, 8], pads=[0] * 4)
    count = net.size(x, 0)
    x = net.op("Transpose", net.op("Reshape", x, net.sizes(count, 16, -1)), perm=[0, 2, 1])
    x = net.op("Add", net.op("Concat", _token(net, count), x, axis=1), net.weight(1, 17, 16))
    x = net.op("Add", x, attended(net, net.op("LayerNormalization", x, net.weight(16, near=1), net.weight(16)), 16, 4))
    return [net.linear(net.op("Gather", x, net.constant(0), axis=1), 16, 5)]


def _token(net: Net, count: str) -> str:
    """One row for each image: sizes of -1 are those of the weight, which exporters say with Equal and Where."""
    sizes = net.sizes(count, -1, -1)
    ones = net.op("ConstantOfShape", net.op("Shape", sizes), value=numpy_helper.from_array(np.ones(1, np.int64)))
    minus = net.op("Mul", ones, net.constant(-1))
    return net.op("Expand", net.weight(1, 1, 16), net.op("Where", net.op("Equal", sizes, minus), ones, sizes))


BOXES = [("boxes", "share", ("n", "a", 4)), ("scores", "share", ("n", "a", 3))]
MODELS: Mapping[str, Model] = {
    "cnn": Model(_cnn, IMAGE, ODD, 11),
    "residual": Model(_residual, IMAGE, ODD, 13, [2]),
    "u-net": Model(_unet, IMAGE, ODD, 13),
    "upscaling": Model(_upscaled, IMAGE, ODD, 17),
    "detector": Model(_detector, IMAGE, EVEN, 13, [2, 2, 1]),
    "best boxes": Model(_best, BOXES, ({"n": 1, "a": 30}, {"n": 3, "a": 4}, {"n": 2, "a": 9}), 16),
    "kept boxes": Model(_kept, BOXES, ({"n": 1, "a": 3}, {"n": 3, "a": 90}, {"n": 2, "a": 40}), 13, [2, 1, 2]),
    "vision transformer": Model(_patches, [("x", "noise", ("n", 3, 32, 32))], ({"n": 1}, {"n": 3}, {"n": 2}), 17),
}
