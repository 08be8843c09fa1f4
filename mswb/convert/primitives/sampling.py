"""Images sampled at places that lie between their elements: grids, boxes and regions of interest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from mswb.convert.graph import Array, Value
from mswb.convert.onnx.graph import OnnxBuilder
from mswb.convert.onnx.node import Refused
from mswb.convert.primitives import extents as at
from mswb.convert.primitives.kernels import single, where
from mswb.convert.primitives.operands import number, tensor
from mswb.convert.program import Call

Lower = Callable[[Call, OnnxBuilder], Any]
Compute = Callable[[Call], Any]
_MODES = ("bilinear", "nearest")
_PADDINGS = ("zeros", "border", "reflection")


# -- a grid of places


def _grid_settings(call: Call) -> tuple[str, str, bool]:
    def named(name: str, words: Sequence[str]) -> str:
        given = call.get(name)
        word = given if isinstance(given, str) else words[given] if 0 <= given < len(words) else str(given)
        if word not in words:
            raise Refused(f"{name} {word}", attribute=name)
        return word

    return named("interpolation_mode", _MODES), named("padding_mode", _PADDINGS), bool(call.get("align_corners", False))


def _grid_sample(call: Call, b: OnnxBuilder) -> Value:
    x, grid = tensor(call), tensor(call, 1)
    mode, padding, corners = _grid_settings(call)
    if mode == "nearest":
        return _nearest_elements(b, x, single(b, grid), padding, corners)
    if x.dtype not in ("float16", "float32"):
        raise Refused(f"onnxruntime's GridSample has no kernel for {x.dtype} and places of the same precision")
    found = b.op(
        "GridSample", single(b, x), single(b, grid), mode="linear", padding_mode=padding, align_corners=int(corners)
    )
    return b.cast(found, x.dtype)


def _nearest_elements(b: OnnxBuilder, x: Value, grid: Value, padding: str, corners: bool) -> Value:
    """In the middle between two elements MindSpore takes the one further from the start, ONNX the even one."""
    rank = at.rank_of(x)
    zero, one, half = (b.scalar(content, grid.dtype) for content in (0, 1, 0.5))
    two, count = b.scalar(2, grid.dtype), rank - 2
    batch = at.along(b, at.counted(b, at.size(b, x, 0)), 0, rank)
    indices, inside = [], None
    for axis in range(count):
        size = b.cast(at.vector(b, at.size(b, x, 2 + axis)), grid.dtype)
        last = b.op("Sub", size, one)
        given = b.op("Add", at.slices(b, grid, [rank - 1], [count - 1 - axis], [count - axis]), one)
        if corners:
            place = b.op("Mul", b.op("Div", given, two), last)
        else:
            place = b.op("Div", b.op("Sub", b.op("Mul", given, size), one), two)
        if padding == "reflection":
            place = _reflected(b, place, size, corners)
        if padding != "zeros":
            place = b.op("Min", b.op("Max", place, zero), last)
        whole = b.op("Mul", b.op("Sign", place), b.op("Floor", b.op("Add", b.op("Abs", place), half)))
        within = b.op("And", b.op("GreaterOrEqual", whole, zero), b.op("LessOrEqual", whole, last))
        inside = within if inside is None else b.op("And", inside, within)
        indices.append(b.cast(b.op("Min", b.op("Max", whole, zero), last), "int64"))
    assert inside is not None
    shape = b.shape_of(indices[0])
    every = b.op("Expand", batch, shape, shape=indices[0].shape)
    index = b.op("Concat", every, *indices, axis=rank - 1)
    taken = b.op("GatherND", b.transpose(x, (0, *range(2, rank), 1)), index)
    return b.transpose(where(b, inside, taken, 0), (0, rank - 1, *range(1, rank - 1)))


def _reflected(b: OnnxBuilder, place: Value, size: Value, corners: bool) -> Value:
    """Back and forth between the middles, or the outer edges, of the first and the last element."""
    one, low = b.scalar(1, place.dtype), b.scalar(0 if corners else -0.5, place.dtype)
    span = b.op("Max", b.op("Sub", size, one) if corners else size, one)
    far = b.op("Abs", b.op("Sub", place, low))
    rest = b.op("Mod", far, span, fmod=1)
    turns = b.op("Floor", b.op("Div", far, span))
    odd = b.op("Equal", b.op("Mod", turns, b.scalar(2, place.dtype), fmod=1), one)
    return b.op("Add", b.op("Where", odd, b.op("Sub", span, rest), rest), low)


def _grid_sample_now(call: Call) -> Array:
    """The nearest element is found in single precision, as MindSpore does: half an element decides."""
    x, grid = call.input(0), call.input(1)
    mode, padding, corners = _grid_settings(call)
    grid = grid.astype(np.float32) if mode == "nearest" else grid
    sizes = x.shape[2:]
    places = [
        _padded_place(_unscaled(grid[..., -1 - axis], size, corners), size, padding, corners)
        for axis, size in enumerate(sizes)
    ]
    batch = np.arange(x.shape[0]).reshape(-1, *[1] * (grid.ndim - 2))
    if mode == "nearest":
        whole = [np.sign(place) * np.floor(np.abs(place) + 0.5) for place in places]
        return np.moveaxis(_elements(x, batch, whole), -1, 1)
    first = [np.floor(place) for place in places]
    found = np.zeros((*grid.shape[:-1], x.shape[1]))
    for corner in product((0, 1), repeat=len(sizes)):
        weight = np.ones(grid.shape[:-1])
        for place, low, step in zip(places, first, corner, strict=True):
            weight = weight * ((place - low) if step else (1 - (place - low)))
        taken = _elements(x, batch, [low + step for low, step in zip(first, corner, strict=True)])
        found = found + np.where(weight[..., None] == 0, 0, taken * weight[..., None])
    return np.moveaxis(found, -1, 1)


def _unscaled(place: Array, size: int, corners: bool) -> Array:
    """A place from -1 to 1 as one among the elements; the ends are their middles, or their edges."""
    found: Array = (place + 1) / 2 * (size - 1) if corners else ((place + 1) * size - 1) / 2
    return found


def _padded_place(place: Array, size: int, padding: str, corners: bool) -> Array:
    if padding == "border":
        return np.clip(place, 0, size - 1)
    if padding == "zeros":
        return place
    low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
    if not span:
        return np.zeros_like(place)
    far = np.abs(place - low)
    times, rest = np.floor(far / span), np.fmod(far, span)
    return np.clip(np.where(times % 2 == 0, rest + low, span - rest + low), 0, size - 1)


def _elements(x: Array, batch: Array, places: Sequence[Array]) -> Array:
    """All channels of the elements at these places; zeros outside."""
    inside = np.ones(np.broadcast_shapes(*(one.shape for one in places)), bool)
    held = []
    for place, size in zip(places, x.shape[2:], strict=True):
        inside = inside & (place >= 0) & (place < size)
        held.append(np.clip(np.nan_to_num(place), 0, size - 1).astype(np.int64))
    at_places: Any = (batch, *held)
    taken = np.moveaxis(x, 1, -1)[at_places]
    return np.where(inside[..., None], taken, 0)


def _steps(size: int, corners: bool) -> Array:
    """Places of the elements of an axis from -1 to 1."""
    if corners:
        return np.linspace(-1.0, 1.0, size) if size > 1 else np.zeros(size)
    return (2 * np.arange(size) + 1) / size - 1


def _base_grid(call: Call) -> tuple[Array, tuple[int, ...]]:
    """The places of a grid that nothing moves, each with a 1, the last dimension's first."""
    sizes = at.fixed(call.input(1), "the size of the grid")
    axes = [_steps(size, bool(call.get("align_corners", False))) for size in sizes[2:]]
    mesh = np.meshgrid(*axes, indexing="ij")
    return np.stack([*mesh[::-1], np.ones(sizes[2:])], -1).reshape(-1, len(sizes) - 1), sizes


def _affine(call: Call, b: OnnxBuilder) -> Value:
    theta = tensor(call)
    base, sizes = _base_grid(call)
    wide = single(b, theta)
    found = b.op("MatMul", b.constant(base.astype(wide.dtype)), b.transpose(wide, (0, 2, 1)))
    return b.cast(b.reshape(found, (sizes[0], *sizes[2:], len(sizes) - 2)), theta.dtype)


def _affine_now(call: Call) -> Array:
    base, sizes = _base_grid(call)
    found: Array = base @ np.swapaxes(call.input(0), 1, 2)
    return found.reshape(sizes[0], *sizes[2:], len(sizes) - 2)


# -- boxes


def _crop_settings(call: Call) -> tuple[int, int]:
    method = _method(call)
    if method not in (*_MODES, "bilinear_v2"):
        raise Refused(f"method {method}", attribute="method")
    high, wide = at.fixed(call.input(3), "the size of the crops")
    return high, wide


def _method(call: Call) -> str:
    return str(call.attributes.get("method", "bilinear"))


def _box_places(b: OnnxBuilder, start: Value, end: Value, last: Value, count: int) -> Value:
    """Where the results of each box lie along an axis; the order of the steps decides what lies on an edge."""
    if count == 1:
        return b.op("Mul", b.op("Mul", b.scalar(0.5, "float32"), b.op("Add", start, end)), last)
    steps = b.constant(np.arange(count, dtype=np.float32).reshape(1, -1))
    span = b.op("Div", b.op("Mul", b.op("Sub", end, start), last), b.scalar(count - 1, "float32"))
    return b.op("Add", b.op("Mul", start, last), b.op("Mul", steps, span))


def _pixel_places(b: OnnxBuilder, start: Value, end: Value, last: Value, count: int) -> Value:
    """The same for ``bilinear_v2``: boxes go from one whole element to another, places are middles of equal parts."""
    one, half = b.scalar(1, "float32"), b.scalar(0.5, "float32")
    size = b.op("Add", last, one)
    low, high = (b.cast(b.cast(b.op("Mul", edge, size), "int32"), "float32") for edge in (start, end))
    step = b.op("Div", b.op("Add", b.op("Sub", high, low), one), b.scalar(count, "float32"))
    middles = b.constant((np.arange(count) + 0.5).astype(np.float32).reshape(1, -1))
    place = b.op("Sub", b.op("Add", b.op("Mul", middles, step), low), half)
    held = b.op("Max", b.op("Min", place, high), low)
    return b.op("Min", b.op("Max", held, b.scalar(0, "float32")), last)


def _crop(call: Call, b: OnnxBuilder) -> Value:
    """Each box by its corners (y1, x1, y2, x2) as parts of the image, which has its channels last."""
    x, boxes, which = b.cast(tensor(call), "float32"), b.cast(tensor(call, 1), "float32"), tensor(call, 2)
    zero, one, half = (b.scalar(content, "float32") for content in (0, 1, 0.5))
    nearest = _method(call) == "nearest"
    found_by = _pixel_places if _method(call) == "bilinear_v2" else _box_places
    inside, low, part = [], [], []
    for axis, count in enumerate(_crop_settings(call)):
        last = b.cast(b.op("Sub", at.vector(b, at.size(b, x, 1 + axis)), b.ints([1])), "float32")
        start, end = (at.slices(b, boxes, [1], [place], [place + 1]) for place in (axis, 2 + axis))
        place = b.reshape(found_by(b, start, end, last, count), (-1, count, 1) if axis == 0 else (-1, 1, count))
        inside.append(b.op("And", b.op("GreaterOrEqual", place, zero), b.op("LessOrEqual", place, last)))
        held = b.op("Min", b.op("Max", place, zero), last)
        low.append(b.op("Floor", b.op("Add", held, half) if nearest else held))
        part.append(b.op("Sub", held, low[-1]))
    boxes_of = b.reshape(b.cast(which, "int64"), (-1, 1, 1))
    found: Value | None = None
    for steps in [(0, 0)] if nearest else product((0, 1), repeat=2):
        places = [boxes_of]
        weight = one
        for axis, step in enumerate(steps):
            last = b.op("Sub", at.vector(b, at.size(b, x, 1 + axis)), b.ints([1]))
            places.append(b.op("Min", b.op("Add", b.cast(low[axis], "int64"), b.ints([step])), last))
            weight = b.op("Mul", weight, part[axis] if step else b.op("Sub", one, part[axis]))
        whole = b.op("Add", b.op("Add", places[0], places[1]), places[2])
        wide = [b.op("Expand", place, b.shape_of(whole), shape=whole.shape) for place in places]
        index = b.op("Concat", *(b.unsqueeze(place, [3]) for place in wide), axis=3)
        taken = b.op("GatherND", x, index)
        taken = taken if nearest else b.op("Mul", taken, b.unsqueeze(weight, [3]))
        found = taken if found is None else b.op("Add", found, taken)
    assert found is not None
    outside = b.scalar(float(number(call, "extrapolation_value", 0.0)), "float32")
    return b.op("Where", b.unsqueeze(b.op("And", *inside), [3]), found, outside)


def _crop_now(call: Call) -> Array:
    """Places are found in single precision, as MindSpore does: they decide what lies outside."""
    x, boxes, which = call.input(0), call.input(1).astype(np.float32), call.input(2)
    places = []
    for axis, count in enumerate(_crop_settings(call)):
        last = np.float32(x.shape[1 + axis] - 1)
        start, end = boxes[:, axis, None], boxes[:, 2 + axis, None]
        if _method(call) == "bilinear_v2":
            low, high = (np.trunc(edge * (last + 1)) for edge in (start, end))
            middles = (np.arange(count, dtype=np.float32) + np.float32(0.5)) * ((high - low + 1) / np.float32(count))
            places.append(np.clip(np.maximum(np.minimum(middles + low - np.float32(0.5), high), low), 0, last))
        elif count == 1:
            places.append(np.float32(0.5) * (start + end) * last)
        else:
            span = (end - start) * last / np.float32(count - 1)
            places.append(start * last + np.arange(count, dtype=np.float32) * span)
    rows, columns = places[0][:, :, None], places[1][:, None, :]
    inside = (rows >= 0) & (rows <= x.shape[1] - 1) & (columns >= 0) & (columns <= x.shape[2] - 1)
    if _method(call) == "nearest":
        rows, columns = (np.floor(place + np.float32(0.5)) for place in (rows, columns))
    found = _between(x[which], rows.astype(np.float64), columns.astype(np.float64))
    return np.where(inside[..., None], found, float(number(call, "extrapolation_value", 0.0)))


def _between(x: Array, rows: Array, columns: Array) -> Array:
    """Bilinear: elements of images with channels last at places of each, held inside."""
    batch = np.arange(len(x)).reshape(-1, 1, 1)
    high, wide = x.shape[1] - 1, x.shape[2] - 1
    rows, columns = np.clip(rows, 0, high), np.clip(columns, 0, wide)
    top, left = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int64)
    below, right = np.minimum(top + 1, high), np.minimum(left + 1, wide)
    down, along = (rows - top)[..., None], (columns - left)[..., None]
    upper = x[batch, top, left] * (1 - along) + x[batch, top, right] * along
    lower = x[batch, below, left] * (1 - along) + x[batch, below, right] * along
    found: Array = upper * (1 - down) + lower * down
    return found


# -- regions of interest


def _roi_settings(call: Call) -> tuple[int, int, int, float, int]:
    high, wide, samples, end = (
        int(number(call, name)) for name in ("pooled_height", "pooled_width", "sample_num", "roi_end_mode")
    )
    if samples < 1:
        raise Refused("without a number of samples MindSpore's kernel gives no numbers", attribute="sample_num")
    return high, wide, samples, float(number(call, "spatial_scale")), end


def _roi_align(call: Call, b: OnnxBuilder) -> Value:
    """A region is the number of an image and two corners; the second may lie one element further."""
    x, rois = single(b, tensor(call)), b.cast(tensor(call, 1), "float32")
    high, wide, samples, scale, end = _roi_settings(call)
    which = b.cast(b.op("Gather", rois, b.scalar(0, "int64"), axis=1), "int64")
    corners = at.slices(b, rois, [1], [1], [5])
    if end:
        corners = b.op("Add", corners, b.constant(np.array([0, 0, end, end], np.float32)))
    found = b.op(
        "RoiAlign", x, corners, which, mode="avg", output_height=high, output_width=wide, sampling_ratio=samples,
        spatial_scale=scale, coordinate_transformation_mode="output_half_pixel",
    )  # fmt: skip
    return b.cast(found, tensor(call).dtype)


def _roi_align_now(call: Call) -> Array:
    """The mean of samples in each part of a region; He et al., Mask R-CNN, 2017."""
    x, rois = call.input(0), call.input(1)
    high, wide, samples, scale, end = _roi_settings(call)
    images = np.moveaxis(x, 1, -1)[rois[:, 0].astype(np.int64)]
    places = []
    for axis, count in ((1, high), (0, wide)):
        first = rois[:, 1 + axis] * scale
        length = np.maximum((rois[:, 3 + axis] + end) * scale - first, 1.0)
        share = (np.arange(count * samples) + 0.5) / (count * samples)
        places.append(first[:, None] + share * length[:, None])
    rows, columns = places[0][:, :, None], places[1][:, None, :]
    near = (rows >= -1) & (rows <= x.shape[2]) & (columns >= -1) & (columns <= x.shape[3])
    found = np.where(near[..., None], _between(images, rows, columns), 0)
    parts = found.reshape(len(rois), high, samples, wide, samples, x.shape[1]).mean((2, 4))
    return np.moveaxis(parts, -1, 1)


_GRID = (_grid_sample, _grid_sample_now)
_BOTH: Mapping[str, tuple[Lower, Compute]] = {
    "AffineGrid": (_affine, _affine_now),
    "CropAndResize": (_crop, _crop_now),
    "GridSampler2D": _GRID,
    "GridSampler3D": _GRID,
    "ROIAlign": (_roi_align, _roi_align_now),
}
TO_ONNX: Mapping[str, Lower] = {name: both[0] for name, both in _BOTH.items()}
EVALUATE: Mapping[str, Compute] = {name: both[1] for name, both in _BOTH.items()}
