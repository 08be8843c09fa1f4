"""Boxes and sampling: NonMaxSuppression, RoiAlign, GridSample, AffineGrid, MaxRoiPool.

All are composed of gathers and arithmetic as the ONNX specification has it; MindSpore's own kernels differ from it in
ties, borders or rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mswb.convert.arith import Num, arange, concat, num, size, where
from mswb.convert.graph import Builder, Value
from mswb.convert.loop import repeat
from mswb.convert.onnx.node import Lower, OnnxNode, Refused

_WIDE: Mapping[str, str] = {"float16": "float32", "float32": "float32", "float64": "float64"}


def _floats(x: Num) -> Num:
    """In a data type to compute with."""
    if x.dtype not in _WIDE:
        raise Refused(f"values of type {x.dtype} can't be weighed", nearest="a float type")
    return x.cast(_WIDE[x.dtype])


def _rows(x: Num) -> Num:
    """[N, C, ...] with one row of C values for each place of each picture."""
    order = (0, *range(2, len(x.shape or ())), 1)
    return x.transpose(*order).reshape(-1, size(x.b, x.value, 1))


# -- GridSample


def _grid_sample(node: OnnxNode, b: Builder) -> Value:
    x, grid = num(b, node.input(0)), _floats(num(b, node.input(1)))
    places = node.rank() - 2
    names = {"bilinear": "linear", "bicubic": "cubic"}
    mode = str(node.get("mode", "linear"))
    mode, padding = names.get(mode, mode), str(node.get("padding_mode", "zeros"))
    if mode not in _TAPS or padding not in _PADS:
        raise Refused(f"{mode} with {padding} is not a form that ONNX has", attribute="mode")
    if grid.dtype == "float32" and x.dtype == "float64":
        grid = grid.cast("float64")
    held = x if mode == "nearest" else _floats(x)
    aligned = bool(node.get("align_corners", 0))
    batch, sizes = size(b, x.value, 0), [size(b, x.value, 2 + at) for at in range(places)]
    points = grid.reshape(size(b, grid.value, 0), -1, places)
    index = arange(batch).reshape(-1, 1, 1)
    weights: Num | None = None
    inside: Num | None = None
    for at, length in enumerate(sizes):
        place = _denormal(points.take(num(b, places - 1 - at), 2), length.cast(grid.dtype), aligned)
        place = place.one("Rint") if mode == "nearest" else place
        found = _PADS[padding](place, length.cast(grid.dtype), aligned, False)
        taps, weight = _TAPS[mode](found)
        within = (taps >= 0.0) & (taps < length.cast(grid.dtype))
        taps = _PADS[padding](taps, length.cast(grid.dtype), aligned, True)
        step = taps.cast("int64").clip(0, length - 1)
        index = _outer("Add", index * length, step)
        weights = weight if weights is None or weight is None else _outer("Mul", weights, weight)
        inside = within if inside is None else _outer("LogicalAnd", inside, within)
    assert inside is not None
    values = _rows(held).take(index, 0)
    if padding == "zeros":
        values = where(inside.expand(-1), values, num(b, np.array(0, values.dtype)))
    if weights is not None:
        values = values * weights.cast(values.dtype).expand(-1)
        result = values.sum(2)
    else:
        result = values.take(num(b, 0), 2)
    spread = [size(b, grid.value, 1 + at) for at in range(places)]
    channels = size(b, x.value, 1)
    return result.transpose(0, 2, 1).reshape(batch, channels, *spread).cast(x.dtype).value


def _outer(primitive: str, before: Num, taps: Num) -> Num:
    """[N, P, T] and [N, P, t] → [N, P, T t]: each with each."""
    pairs = before.expand(-1).two(primitive, taps.expand(2))
    first, second = (before.shape or ())[-1], (taps.shape or ())[-1]
    assert first is not None and second is not None
    return pairs.reshape(size(pairs.b, pairs.value, 0), -1, first * second)


def _denormal(place: Num, length: Num, aligned: bool) -> Num:
    """From -1 .. 1 to an index, which lies in the middle of its cell."""
    if aligned:
        return (place + 1.0) / 2.0 * (length - 1.0)
    return ((place + 1.0) * length - 1.0) / 2.0


def _border(length: Num, aligned: bool) -> tuple[Num, Num]:
    low = num(length.b, np.array(0.0 if aligned else -0.5, length.dtype))
    return low, length - (1.0 if aligned else 0.5)


def _no_padding(place: Num, length: Num, aligned: bool, taps: bool) -> Num:
    return place


def _edge(place: Num, length: Num, aligned: bool, taps: bool) -> Num:
    low, high = _border(length, aligned)
    clamped = place.clip(0.0, length - 1.0)
    return clamped if taps else where((place < low) | (place > high), clamped, place)


def _reflected(place: Num, length: Num, aligned: bool, taps: bool) -> Num:
    """Folded back at the borders until it lies between them."""
    low, high = _border(length, aligned)
    span = high - low
    below, above = place < low, place > high
    span = where(span.equal(0.0), span + 1.0, span)
    beyond = where(below, low - place, place - high)
    folds = (beyond / span).floor()
    rest = beyond - folds * span
    even = (folds - (folds * 0.5).floor() * 2.0).equal(0.0)
    back = where(even, where(below, low + rest, high - rest), where(below, high - rest, low + rest))
    return where(below | above, back, place)


_PADS = {"zeros": _no_padding, "border": _edge, "reflection": _reflected}


def _single(place: Num) -> tuple[Num, Num | None]:
    return place.expand(-1), None


def _two(place: Num) -> tuple[Num, Num | None]:
    base = place.floor().expand(-1)
    part = place.expand(-1) - base
    taps = base + num(place.b, np.array([0, 1], place.dtype))
    return taps, concat([1.0 - part, part], -1)


def _four(place: Num) -> tuple[Num, Num | None]:
    """Keys' cubic with a = -0.75."""
    base, a = place.floor().expand(-1), -0.75
    steps = num(place.b, np.array([-1, 0, 1, 2], place.dtype))
    distance = (place.expand(-1) - base - steps).one("Abs")
    near = ((a + 2.0) * distance - (a + 3.0)) * distance * distance + 1.0
    far = ((a * distance - 5.0 * a) * distance + 8.0 * a) * distance - 4.0 * a
    return base + steps, where(distance <= 1.0, near, far)


_TAPS = {"nearest": _single, "linear": _two, "cubic": _four}


# -- AffineGrid


def _affine_grid(node: OnnxNode, b: Builder) -> Value:
    theta = _floats(num(b, node.input(0)))
    given = node.input(1)
    count = given.array.size if given.array is not None else (given.shape or (None,))[0]
    if count not in (4, 5):
        raise Refused("the number of sizes is only known when the model runs", nearest="--freeze", freeze=given.name)
    spread = [num(b, given).cast("int64").at(at) for at in range(2, count)]
    rank = len(spread)
    axes = []
    for at, length in enumerate(spread):
        steps, whole = arange(length).cast(theta.dtype), length.cast(theta.dtype)
        line = steps * 2.0 / (whole - 1.0) - 1.0 if node.get("align_corners", 0) else (steps * 2.0 + 1.0) / whole - 1.0
        axes.append(line.reshape(*(-1 if one == at else 1 for one in range(rank))))
    result = []
    for row in range(rank):
        total = _entry(theta, row, rank, rank)
        for column in range(rank):
            total = total + _entry(theta, row, column, rank) * axes[rank - 1 - column].expand(0)
        result.append(total.expand(-1))
    return concat(result, -1).cast(node.input(0).dtype).value


def _entry(theta: Num, row: int, column: int, rank: int) -> Num:
    """One element of each matrix: [N, 1, ...]."""
    return theta.take(num(theta.b, row), 1).take(num(theta.b, column), 1).reshape(-1, *[1] * rank)


# -- RoiAlign


@dataclass(frozen=True)
class Samples:
    """Where a region is sampled along one axis: [R, P, G], for every region, bin and sample.

    Attributes:
        low: the neighbour before and ``high`` the one behind; ``part`` how far from the first.
        inside: whether it lies in the picture; ``used`` whether this region has so many samples [R, 1, G].
        count: samples a bin [R].
    """

    low: Num
    high: Num
    part: Num
    inside: Num
    used: Num
    count: Num


def _samples(start: Num, end: Num, length: Num, bins: int, ratio: int, least: bool) -> Samples:
    b = start.b
    extent = (end - start).most(1.0) if least else end - start
    step = extent / float(bins)
    count = step * 0.0 + float(ratio) if ratio > 0 else step.ceil().most(0.0)
    most = num(b, np.array(ratio, np.int64))
    if ratio <= 0:
        most = concat([count.cast("int64"), num(b, np.array([1], np.int64))], 0).largest(0)
    at = arange(most).cast(start.dtype).reshape(1, 1, -1)
    bin_at = num(b, np.arange(bins, dtype=start.dtype).reshape(1, -1, 1))
    start, step, each = (one.reshape(-1, 1, 1) for one in (start, step, count))
    place = start + bin_at * step + (at + 0.5) * step / each.most(1.0)
    last = length.cast(place.dtype) - 1.0
    inside = (place >= -1.0) & (place <= last + 1.0)
    place = place.clip(0.0, last)
    low = place.floor()
    high = (low + 1.0).least(last)
    return Samples(low.cast("int64"), high.cast("int64"), place - low, inside, at < each, count)


def _roi_align(node: OnnxNode, b: Builder) -> Value:
    given = num(b, node.input(0))
    x, rois, batch = _floats(given), num(b, node.input(1)), num(b, node.input(2)).cast("int64")
    way = str(node.get("coordinate_transformation_mode", "half_pixel" if node.version >= 16 else "output_half_pixel"))
    mode = str(node.get("mode", "avg"))
    if mode not in ("avg", "max") or way not in ("half_pixel", "output_half_pixel"):
        raise Refused(f"{mode} with {way} is not a form that ONNX has", attribute="mode")
    shift, ratio = 0.5 if way == "half_pixel" else 0.0, int(node.get("sampling_ratio", 0))
    bins = int(node.get("output_height", 1)), int(node.get("output_width", 1))
    edges = rois.cast(x.dtype) * float(node.get("spatial_scale", 1.0)) - shift
    left, top, right, bottom = (edges.take(num(b, at), 1) for at in range(4))
    height, width = size(b, x.value, 2), size(b, x.value, 3)
    ys = _samples(top, bottom, height, bins[0], ratio, shift == 0.0)
    xs = _samples(left, right, width, bins[1], ratio, shift == 0.0)
    rows = _rows(x)

    def grid(vertical: Num, horizontal: Num, primitive: str) -> Num:
        """[R, P, G] of both axes → [R, P, G, P, G]."""
        return vertical.expand(-1).expand(-1).two(primitive, horizontal.expand(1).expand(1))

    inside = grid(ys.inside, xs.inside, "LogicalAnd").cast(x.dtype)
    first = batch.reshape(-1, 1, 1) * height
    corners = []
    for down, far_y in ((1.0 - ys.part, ys.low), (ys.part, ys.high)):
        for across, far_x in ((1.0 - xs.part, xs.low), (xs.part, xs.high)):
            index = grid((first + far_y) * width, far_x, "Add")
            corners.append(rows.take(index, 0) * (grid(down, across, "Mul") * inside).expand(-1))
    used = grid(ys.used, xs.used, "LogicalAnd").expand(-1)
    zero = num(b, np.array(0.0, x.dtype))
    if mode == "avg":
        total = where(used, corners[0] + corners[1] + corners[2] + corners[3], zero).sum(4).sum(2)
        result = total / (ys.count * xs.count).most(1.0).reshape(-1, 1, 1, 1)
    else:
        best = corners[0].most(corners[1]).most(corners[2].most(corners[3]))
        lowest = num(b, np.array(-np.inf, x.dtype))
        result = where(used, best, lowest).largest(4).largest(2)
        result = where((ys.count * xs.count).equal(0.0).reshape(-1, 1, 1, 1), zero, result)
    return result.transpose(0, 3, 1, 2).cast(given.dtype).value


# -- NonMaxSuppression


def _corners(boxes: Num, centered: bool) -> list[Num]:
    """Low and high of both axes, each [B, 1, N]."""
    first, second, third, fourth = (boxes.take(num(boxes.b, at), 2).expand(1) for at in range(4))
    if centered:
        half_x, half_y = third / 2.0, fourth / 2.0
        return [first - half_x, first + half_x, second - half_y, second + half_y]
    return [second.least(fourth), second.most(fourth), first.least(third), first.most(third)]


def _suppress(node: OnnxNode, b: Builder) -> Value:
    """Round by round the best box that is left of every class at once, and away with those that overlap it."""
    boxes, scores = _floats(num(b, node.input(0))), _floats(num(b, node.input(1)))
    if not node.has(2):
        raise Refused("without max_output_boxes_per_class nothing is ever selected")
    count, batch, classes = size(b, boxes.value, 1), size(b, boxes.value, 0), size(b, scores.value, 1)
    limit = num(b, node.input(2)).cast("int64").reshape(1).at(0).least(count)
    overlap = num(b, node.input(3)) if node.has(3) else num(b, np.zeros(1, np.float32))
    threshold = overlap.cast(boxes.dtype).reshape(1)
    left = scores.equal(scores) if not node.has(4) else scores > num(b, node.input(4)).cast(scores.dtype).reshape(1)
    gone = num(b, np.array(-np.inf, scores.dtype))
    scores = where(left, scores.most(float(np.finfo(scores.dtype).min)), gone)
    places, rounds = arange(count).reshape(1, 1, -1), arange(limit.most(1)).reshape(1, 1, -1)
    rows = arange(batch).reshape(-1, 1, 1)
    # Minimum and Maximum are ten times slower where they broadcast
    blank = ((rows + arange(classes).reshape(1, -1, 1) + places) * 0).cast(boxes.dtype)
    bounds = [one + blank for one in _corners(boxes, bool(node.get("center_point_box", 0)))]
    area = (bounds[1] - bounds[0]) * (bounds[3] - bounds[2])
    first = (rows * classes + arange(classes).reshape(1, -1, 1)) * count
    chosen = (first + rounds) * 0 - 1

    def go_on(state: list[Num], fixed: list[Num]) -> Num:
        return (state[0] < fixed[-1]) & state[3].equal(1)

    def select(state: list[Num], fixed: list[Num]) -> list[Num]:
        (step, scores, chosen, _), (*bounds, area, blank, threshold, places, rounds, first, _) = state, fixed
        gone = num(step.b, np.array(-np.inf, scores.dtype))
        best = _argmax(scores).expand(-1)
        found = scores.largest(2, keep=True) > gone
        own = [bound.reshape(-1).take(first + best, 0) + blank for bound in (*bounds, area)]
        wide = bounds[1].least(own[1]) - bounds[0].most(own[0])
        tall = bounds[3].least(own[3]) - bounds[2].most(own[2])
        shared = wide.most(0.0) * tall.most(0.0)
        over = shared / (area + own[4] - shared) > threshold
        scores = where(over | places.equal(best), gone, scores)
        chosen = where(rounds.equal(step) & found, best, chosen)
        return [step + 1, scores, chosen, found.cast("int32").reshape(-1).largest(0)]

    state = [num(b, np.array(0, np.int64)), scores, chosen, num(b, np.array(1, np.int32))]
    found = repeat(b, state, [*bounds, area, blank, threshold, places, rounds, first, limit], go_on, select)[2]
    at = b.op("NonZero", (found >= 0).value, dtype="int64", shape=(None, 3))
    box = b.op("GatherNd", found.value, at, dtype="int64", shape=(None,))
    pairs = num(b, at).take(num(b, np.array([0, 1])), 1)
    return concat([pairs, Num(b, box).reshape(-1, 1)], 1).value


def _argmax(x: Num) -> Num:
    """Where the last axis is largest, the first of equals."""
    b, shape = x.b, x.shape
    made = b.op("Argmax", x.value, -1, 35, dtype="int64", shape=None if shape is None else shape[:-1])
    return Num(b, made)


def _max_roi_pool(node: OnnxNode, b: Builder) -> Value:
    raise Refused(
        "MindSpore has no pooling over regions with rounded borders", nearest="RoiAlign with mode max in the model"
    )


TO_MINDIR: Mapping[str, Lower] = {
    "AffineGrid": _affine_grid,
    "GridSample": _grid_sample,
    "MaxRoiPool": _max_roi_pool,
    "NonMaxSuppression": _suppress,
    "RoiAlign": _roi_align,
}
