"""Images resized and sampled: our ONNX in onnxruntime and our evaluation against loops, and what MindSpore measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mswb.convert import to_onnx
from tests.unit.convert.primitive_models import agree, call, run_onnx, written

RNG = np.random.default_rng(11)
X = RNG.normal(size=(2, 3, 4, 5)).astype(np.float32)
KNOWN = (False,)
SIZES = [(7, 3), (2, 9), (8, 10), (1, 1)]
WAYS = [(False, False), (True, False), (False, True)]
ROW = np.array([1, -2, 4, 8], np.float32).reshape(1, 1, 1, 4)


def place(at: int, before: int, after: int, corners: bool, half: bool) -> float:
    ratio = (before - 1) / (after - 1) if corners and after > 1 else before / after
    return (at + 0.5) * ratio - 0.5 if half else at * ratio


# -- resizing


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("corners", "half"), WAYS)
def test_nearest(size: tuple[int, int], corners: bool, half: bool) -> None:
    def index(at: int, before: int, after: int) -> int:
        exact = place(at, before, after, corners, False) if not half else (at + 0.5) * before / after
        return min(int(np.floor(exact + 0.5) if corners else np.floor(exact + 1e-9)), before - 1)

    rows = [index(at, 4, size[0]) for at in range(size[0])]
    columns = [index(at, 5, size[1]) for at in range(size[1])]
    agree(call("ResizeNearestNeighborV2", size, corners, half), [X], [X[:, :, rows][..., columns]])


def test_nearest_places_are_found_in_single_precision() -> None:
    """Twice 41: what float32 makes of 41 * (2 / 82) decides."""
    x = np.arange(2, dtype=np.float32).reshape(1, 1, 1, 2)
    wide = 2 * 41
    ratio = np.float32(2) / np.float32(wide)
    wanted = x[..., np.minimum(np.floor(np.arange(wide, dtype=np.float32) * ratio).astype(int), 1)]
    agree(call("ResizeNearestNeighborV2", (1, wide), False, False), [x], [wanted])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("corners", "half"), WAYS)
def test_linear(size: tuple[int, int], corners: bool, half: bool) -> None:
    expected: Any = X.astype(np.float64)
    for axis, after in zip((2, 3), size, strict=True):
        before, rows = expected.shape[axis], []
        for at in range(after):
            exact = np.clip(place(at, before, after, corners, half), 0, before - 1)
            low = int(exact)
            high = min(low + 1, before - 1)
            one, other = (np.take(expected, index, axis) for index in (low, high))
            rows.append(one + (other - one) * (exact - low))
        expected = np.stack(rows, axis)
    agree(call("ResizeBilinearV2", size, corners, half), [X], [expected.astype(np.float32)])
    agree(call("ResizeBilinearV2", size, corners, half), [X.astype(np.float64)], [expected])


@pytest.mark.parametrize(
    ("corners", "half", "measured"),
    [
        (False, False, (1.0, -1.369692, -1.56375, 1.845309, 5.71333, 7.595512, 8.419757)),
        (True, False, (1.0, -1.0625, -2.0, 0.34375, 4.0, 6.5625, 8.0)),
        (False, True, (1.237649, -0.1364373, -2.048551, 0.5625, 4.364662, 7.019889, 8.316865)),
    ],
)
def test_cubic_as_mindspore_measured(corners: bool, half: bool, measured: Any) -> None:
    expected = np.array(measured, np.float32).reshape(1, 1, 1, 7)
    agree(call("ResizeBicubic", (1, 7), corners, half), [ROW], [expected])
    agree(call("ResizeBicubic", (7, 1), corners, half), [ROW.swapaxes(2, 3).copy()], [expected.swapaxes(2, 3)])


def test_linear_of_one_dimension() -> None:
    line = X[:, :, 0]
    agree(call("ResizeLinear1D", (1,), 2), [line], [line[..., :1]])
    agree(call("ResizeLinear1D", (1,), 2), [line.astype(np.float64)], [line[..., :1].astype(np.float64)])
    agree(call("ResizeLinear1D", (9,), 1), [line], [interpolated(line, np.linspace(0, 4, 9))])


def interpolated(line: Any, places: Any) -> Any:
    return np.apply_along_axis(lambda one: np.interp(places, np.arange(len(one)), one), -1, line).astype(np.float32)


def test_by_factors() -> None:
    x = X[:, :, :2, :3]
    agree(call("UpsampleNearest2D", None, (2.0, 3.0)), [x], [x.repeat(2, 2).repeat(3, 3)])
    places = np.clip((np.arange(5) + 0.5) / np.float32(1.7) - 0.5, 0, 2)
    agree(call("UpsampleLinear1D", None, (1.7,), False), [x[:, :, 0]], [interpolated(x[:, :, 0], places)], sizes=KNOWN)
    agree(call("UpsampleTrilinear3D", (1, 2, 5), None, True), [x[:, :, None]],
          [interpolated(x[:, :, None], np.linspace(0, 2, 5))])  # fmt: skip


def test_areas() -> None:
    image = np.moveaxis(X, 1, -1).copy()
    halves = image.reshape(2, 2, 2, 5, 3).mean(2)  # of 4 rows
    expected = np.stack([halves[:, :, 0] + halves[:, :, 1] + halves[:, :, 2] / 2,
                         halves[:, :, 2] / 2 + halves[:, :, 3] + halves[:, :, 4]], 2) / 2.5  # fmt: skip
    size = np.array([2, 2], np.int32)
    agree(call("ResizeArea", size, align_corners=False), [image], [expected.astype(np.float32)], sizes=KNOWN)


def test_areas_need_their_sizes(tmp_path: Path) -> None:
    size = np.array([2, 2], np.int32)
    done = to_onnx.convert(written(call("ResizeArea", size, align_corners=False), [X], tmp_path, free=True))
    assert done.proto is None and done.findings[0].values["op"] == "ResizeArea"


# -- sampling


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("corners", [False, True])
def test_grids(mode: int, padding: int, corners: bool) -> None:
    grid = RNG.uniform(-1.6, 1.6, (2, 3, 6, 2)).astype(np.float32)
    expected = np.zeros((2, 3, 3, 6))
    for n, i, j in np.ndindex(2, 3, 6):
        exact = [one(float(grid[n, i, j, 1 - axis]), X.shape[2 + axis], padding, corners) for axis in (0, 1)]
        expected[n, :, i, j] = taken(X[n].astype(np.float64), exact, bool(mode))
    agree(call("GridSampler2D", mode, padding, corners), [X, grid], [expected.astype(np.float32)], 1e-4)


def test_the_middle_between_two_elements_goes_to_the_further_one() -> None:
    """As measured on MindSpore: -0.5 lies outside, 0.5 takes element 1, 2.5 element 3."""
    x = np.arange(1, 6, dtype=np.float32).reshape(1, 1, 1, 5)
    places = np.array([-0.5, 0.5, 1.5, 2.5, 3.5, 4.5], np.float32)
    grid = np.stack([places / 2 - 1, np.zeros(6, np.float32)], -1).reshape(1, 1, 6, 2)
    agree(call("GridSampler2D", 1, 0, True), [x, grid], [np.array([0, 2, 3, 4, 5, 0], np.float32).reshape(1, 1, 1, 6)])


def one(at: float, size: int, padding: int, corners: bool) -> float:
    """A place of a grid among the elements of an axis."""
    found = (at + 1) / 2 * (size - 1) if corners else ((at + 1) * size - 1) / 2
    if padding == 1:
        return min(max(found, 0), size - 1)
    if padding == 2:
        low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        while not low <= found <= high:
            found = 2 * low - found if found < low else 2 * high - found
        return min(max(found, 0), size - 1)
    return found


def taken(image: Any, exact: Any, nearest: bool) -> Any:
    """The channels of an image at a place; zeros outside."""
    total = np.zeros(image.shape[0])
    for y in range(image.shape[1]):
        for x in range(image.shape[2]):
            if nearest:
                total += image[:, y, x] * (abs(exact[0] - y) < 0.5) * (abs(exact[1] - x) < 0.5)
            else:
                total += image[:, y, x] * max(0, 1 - abs(exact[0] - y)) * max(0, 1 - abs(exact[1] - x))
    return total


@pytest.mark.parametrize("corners", [False, True])
def test_an_affine_grid(corners: bool) -> None:
    theta = RNG.normal(size=(2, 2, 3)).astype(np.float32)
    rows, columns = (np.linspace(-1, 1, size) if corners else (np.arange(size) * 2 + 1) / size - 1 for size in (4, 5))
    expected = np.stack([[[one @ (x, y, 1) for x in columns] for y in rows] for one in theta]).astype(np.float32)
    agree(call("AffineGrid", (2, 3, 4, 5), align_corners=corners), [theta], [expected])


def test_boxes_of_an_image_with_its_channels_last() -> None:
    image = np.moveaxis(X, 1, -1).copy()
    boxes = np.array([[0, 0, 1, 1], [0.5, 0.25, 0.5, 0.75], [-0.5, 0, 0.5, 1]], np.float32)
    which = np.array([0, 1, 1], np.int32)
    settings_: dict[str, Any] = {"method": "bilinear", "extrapolation_value": 7.0}
    make = lambda b, x, box, index: b.op("CropAndResize", x, box, index, (2, 3), attributes=settings_)  # noqa: E731
    expected = np.zeros((3, 2, 3, 3))
    for at, row, column in np.ndindex(3, 2, 3):
        y1, x1, y2, x2 = boxes[at]
        y, x = (y1 + row * (y2 - y1)) * 3, (x1 + column / 2 * (x2 - x1)) * 4
        source = np.moveaxis(image[which[at]].astype(np.float64), -1, 0)
        expected[at, row, column] = taken(source, (y, x), False) if 0 <= y <= 3 and 0 <= x <= 4 else 7
    agree(make, [image, boxes, which], [expected.astype(np.float32)])


@pytest.mark.parametrize(
    ("method", "box", "rows", "columns"),
    [
        ("bilinear_v2", (0.25, 0.25, 0.75, 0.75), (1.1666666, 2.5, 3.8333333), (1.125, 2.375, 3.625, 4.875)),
        ("bilinear_v2", (-0.2, 0.3, 1.3, 0.7), (0, 1.2, 3, 4.8, 5), (2, 2.4, 3, 3.6, 4)),
        ("bilinear_v2", (0.9, 0.8, 0.1, 0.2), (5, 5, 5), (5, 5, 5, 5)),
        ("nearest", (0.1, 0.2, 0.9, 0.8), (1, 2, 3, 3, 5), (1, 2, 3, 4, 5)),
        ("nearest", (0.9, 0.8, 0.1, 0.2), (3,), (3,)),
    ],
)
def test_crops_as_mindspore_measured(method: str, box: Any, rows: Any, columns: Any) -> None:
    """In an image whose elements are their own places."""
    image = np.stack(np.meshgrid(np.arange(6), np.arange(7), indexing="ij"), -1)[None].astype(np.float32)
    expected = np.stack(np.meshgrid(rows, columns, indexing="ij"), -1)[None].astype(np.float32)
    size, given = (len(rows), len(columns)), {"method": method, "extrapolation_value": 0.0}
    make = lambda b, x, boxes, which: b.op("CropAndResize", x, boxes, which, size, attributes=given)  # noqa: E731
    agree(make, [image, np.array([box], np.float32), np.array([0], np.int32)], [expected])


@pytest.mark.parametrize("end", [0, 1])
def test_regions_of_interest(end: int) -> None:
    regions = np.array([[0, 0.5, 1, 6, 7], [1, 2, 1.5, 9, 8], [0, 3, 3, 3.2, 3.2]], np.float32)
    expected = np.zeros((3, 3, 2, 3))
    for at, (which, x1, y1, x2, y2) in enumerate(regions):
        high, wide = max((y2 + end - y1) / 2, 1), max((x2 + end - x1) / 2, 1)
        for row, column in np.ndindex(2, 3):
            for first, second in np.ndindex(2, 2):
                y = y1 / 2 + high / 2 * (row + (first + 0.5) / 2)
                x = x1 / 2 + wide / 3 * (column + (second + 0.5) / 2)
                if -1 <= y <= 4 and -1 <= x <= 5:
                    held = (min(max(y, 0), 3), min(max(x, 0), 4))
                    expected[at, :, row, column] += taken(X[int(which)].astype(np.float64), held, False) / 4
    settings_ = {"pooled_height": 2, "pooled_width": 3, "spatial_scale": 0.5, "sample_num": 2, "roi_end_mode": end}
    agree(call("ROIAlign", **settings_), [X, regions], [expected.astype(np.float32)], 1e-4)


def test_half_precision_is_widened_and_comes_back(tmp_path: Path) -> None:
    x = X.astype(np.float16)
    found = run_onnx(written(call("ResizeBilinearV2", (8, 10), False, True), [x], tmp_path), [x])[0]
    single = run_onnx(
        written(call("ResizeBilinearV2", (8, 10), False, True), [x.astype("f4")], tmp_path), [x.astype("f4")]
    )
    np.testing.assert_array_equal(found, single[0].astype(np.float16))
