"""Operators that read, write, sort and select: our ONNX in onnxruntime and our evaluation against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.convert import to_onnx
from tests.unit.convert.primitive_models import agree, call, several, written

RNG = np.random.default_rng(7)
X = RNG.normal(size=(4, 5, 3)).astype(np.float32)
FEW = settings(max_examples=12, deadline=None)
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
DTYPES = st.sampled_from(["float32", "float16", "float64", "int32", "int64", "int8", "uint8", "bool"])


def _numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)


# -- reading


@given(SHAPES, DTYPES, st.data())
@FEW
def test_gather_takes_rows_from_either_end(shape: tuple[int, ...], dtype: str, data: Any) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    size = shape[axis]
    index = np.array(data.draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=3)), np.int32)
    x = _numbers(shape, dtype)
    agree(call("Gather", axis, 0), [x, index], [np.take(x, index, axis)])


@pytest.mark.parametrize(("batch", "axis"), [(1, 1), (1, 2), (-1, 2), (2, 2)])
def test_gather_by_batches(batch: int, axis: int) -> None:
    index = RNG.integers(-2, 3, (4, 2) if batch == 1 else (4, 5, 2))
    dims = batch if batch > 0 else index.ndim + batch
    found = np.stack([np.take(X[at], index[at], axis - dims) for at in np.ndindex(index.shape[:dims])])
    agree(call("Gather", axis, batch), [X, index], [found.reshape(*index.shape[:dims], *found.shape[1:])])


def test_gather_by_elements_and_points() -> None:
    index = RNG.integers(-5, 5, (4, 2, 3))
    agree(lambda b, x, i: b.op("GatherD", x, -2, i), [X, index], [np.take_along_axis(X, index % 5, 1)])
    points = np.array([[[0, 1], [3, 4]]])
    agree(call("GatherNd"), [X, points], [X[[[0, 3]], [[1, 4]]]])


def test_rows_outside_of_a_part_of_a_table_are_zero() -> None:
    table = RNG.normal(size=(4, 2)).astype(np.float16)
    index = np.array([1, 2, 5, 9, -1], np.int32)
    wanted = np.stack([table[one - 2] if 2 <= one < 6 else np.zeros(2, np.float16) for one in index])
    agree(call("EmbeddingLookup", 2, sparse=False), [table, index], [wanted])


# -- writing


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "float64"])
@pytest.mark.parametrize(
    ("name", "do"),
    [("Update", None), ("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Max", np.maximum),
     ("Min", np.minimum)],
)  # fmt: skip
def test_scatter_by_points_one_after_the_other(name: str, do: Any, dtype: str) -> None:
    x = _numbers((3, 4), dtype, 1)
    points, new = np.array([[0, 1], [2, 3], [2, 0], [0, 1]]), np.array([1, 2, 3, 1]).astype(dtype)
    wanted = x.copy()
    for (row, column), one in zip(points, new, strict=True):
        wanted[row, column] = one if do is None else do(wanted[row, column], one)
    agree(call(f"TensorScatter{name}"), [x, points, new], [wanted])


def test_scattered_quotients_meet_in_one_place() -> None:
    x, new = np.array([8, -6, 5], np.float32), np.array([2, 0.5, 4], np.float32)
    agree(
        call("TensorScatterDiv"),
        [x, np.array([[0], [1], [0]]), new],
        [np.array([1, -12, 5], np.float32)],
    )


def test_integers_are_divided_towards_zero_where_places_are_known_to_differ() -> None:
    x, new = np.array([8, -7, 5], np.int32), np.array([3, 2], np.int32)
    points = np.array([[0], [1]])
    agree(
        lambda b, a, u: b.op("TensorScatterDiv", a, points, u),
        [x, new],
        [np.array([2, -3, 5], np.int32)],
    )


def test_a_new_nan_is_not_the_largest_and_an_old_one_stays() -> None:
    x = np.array([1, np.nan, 2, 3], np.float32)
    new = np.array([np.nan, 5, 9], np.float32)
    agree(
        call("TensorScatterMax"),
        [x, np.array([[0], [1], [2]]), new],
        [np.array([1, np.nan, 9, 3], np.float32)],
    )


@pytest.mark.parametrize("reduce", [0, 1])
def test_scatter_by_elements(reduce: int) -> None:
    index, new = np.array([[4, -5], [0, 0], [1, 2], [3, -1]]), RNG.normal(size=(4, 2)).astype(np.float32)
    x = X[:, :, 0].copy()
    wanted = x.copy()
    for at in np.ndindex(index.shape):
        wanted[at[0], index[at]] = new[at] + (wanted[at[0], index[at]] if reduce else 0)
    agree(lambda b, *g: b.op("TensorScatterElements", *g, 1, reduce), [x, index, new], [wanted])


def test_a_source_larger_than_its_index_and_a_number_as_source() -> None:
    index, new = np.array([[1, 0]]), RNG.normal(size=(4, 5)).astype(np.float32)
    x = X[:, :, 0].copy()
    one, two = x.copy(), x.copy()
    one[1, 0], one[0, 1] = new[0, 0], new[0, 1]
    two[1, 0], two[0, 1] = 2.5, 2.5
    agree(lambda b, x, i, u: b.op("Scatter", x, 0, i, u, 0), [x, index, new], [one])
    agree(lambda b, x, i: b.op("ScatterValue", x, 0, i, 2.5, 0), [x, index], [two])


def test_slices_are_added_to_and_filled() -> None:
    index, new = np.array([1, 1], np.int32), RNG.normal(size=(4, 2, 3)).astype(np.float32)
    wanted = X.copy()
    wanted[:, 1] += new[:, 0] + new[:, 1]
    agree(call("IndexAdd", axis=1), [X, index, new], [wanted])
    filled = X.copy()
    filled[:, [0, -1]] = 3.0
    agree(lambda b, x, i: b.op("IndexFill", x, 1, i, 3.0), [X, np.array([0, -1], np.int32)], [filled])


def test_values_are_put_where_indices_of_two_dimensions_tell() -> None:
    first, second, new = np.array([0, -1]), np.array([1, 2]), np.array([7, 8, 9], np.float32)
    wanted = X.copy()
    wanted[first, second] = new
    agree(
        lambda b, x, u, i, j: b.op("IndexPut", x, u, b.tuple([i, j]), attributes={"accumulate": 0}),
        [X, new, first, second],
        [wanted],
    )


def test_what_meets_in_a_tensor_of_zeros_is_added_up() -> None:
    index, new = np.array([[0], [3], [0]]), np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    agree(call("ScatterNd", (5, 2)), [index, new], [np.array([[6, 8], [0, 0], [0, 0], [3, 4], [0, 0]], np.float32)])


def test_a_weight_that_changes_is_refused(tmp_path: Any) -> None:
    weight = np.zeros((3, 2), np.float32)
    path = written(
        lambda b, i, u: b.op("ScatterNdUpdate", weight, i, u),
        [np.array([[0]]), np.ones((1, 2), np.float32)],
        tmp_path,
    )
    done = to_onnx.convert(path)
    assert done.proto is None
    assert "changes a weight" in done.findings[0].values["reason"]


# -- order


@given(SHAPES, st.sampled_from(["float32", "float16", "int32", "int64", "uint8", "int16", "uint16"]), st.data())
@FEW
def test_sort_keeps_equal_ones_in_their_order(shape: tuple[int, ...], dtype: str, data: Any) -> None:
    axis, falling = data.draw(st.integers(-len(shape), len(shape) - 1)), data.draw(st.booleans())
    x = np.random.default_rng(3).integers(0, 4, shape).astype(dtype)
    order = np.argsort(-x.astype(np.int64) if falling else x, axis=axis, kind="stable")
    make = several("Sort", [dtype, "int32"], attributes={"axis": axis, "descending": falling})
    agree(make, [x], [np.take_along_axis(x, order, axis), order.astype(np.int32)])


def test_the_largest_of_a_row() -> None:
    x = np.array([[3, 9, 1, 7], [0, -2, 5, 4]], np.float32)
    make = several("TopK", ["float32", "int32"], 2, attributes={"sorted": True})
    agree(make, [x], [np.array([[9, 7], [5, 4]], np.float32), np.array([[1, 3], [2, 3]], np.int32)])
    ext = several("TopkExt", ["float32", "int64"], 1, 0, False, True)
    agree(ext, [x], [np.array([[0, -2, 1, 4]], np.float32), np.array([[1, 1, 0, 1]])])


@pytest.mark.parametrize("right", [False, True])
def test_where_values_would_stand(right: bool) -> None:
    sequence, values = np.array([1, 3, 3, 7], np.float32), np.array([[3, 0, np.nan], [7, 8, 2]], np.float32)
    wanted = np.searchsorted(sequence, values, "right" if right else "left").astype(np.int32)
    agree(lambda b, s, v: b.op("SearchSorted", s, v, None, 34, right), [sequence, values], [wanted])
    rows = np.stack([sequence, sequence + 1])
    wanted = np.stack(
        [np.searchsorted(row, one, "right" if right else "left") for row, one in zip(rows, values, strict=True)]
    )
    agree(lambda b, s, v: b.op("SearchSorted", s, v, None, 35, right), [rows, values], [wanted])


def test_a_label_among_the_best() -> None:
    scores = np.array([[1, 2, 3], [3, 2, 2], [np.inf, 1, 2], [1, 2, 3]], np.float32)
    labels = np.array([1, 2, 1, 5], np.int32)
    agree(call("InTopK", k=2), [scores, labels], [np.array([True, True, False, False])])


# -- selection


@pytest.mark.parametrize("shape", [(4, 5, 3), (5, 1), (3,)])
def test_a_mask_selects_and_replaces(shape: tuple[int, ...]) -> None:
    mask = np.random.default_rng(1).random(shape) > 0.4
    full = np.broadcast_to(mask, X.shape)
    agree(call("MaskedSelect"), [X, mask], [X[full]])
    source, wanted = np.arange(60, dtype=np.float32), X.copy()
    wanted[full] = source[: full.sum()]
    agree(call("MaskedScatter"), [X, mask, source], [wanted])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "int64"])
def test_places_that_are_not_zero(dtype: str) -> None:
    x = np.array([[0, 3, 0], [1, 0, 2]]).astype(dtype)
    agree(call("NonZero"), [x], [np.argwhere(x)])


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "uint8"])
def test_distinct_values_in_their_first_order(dtype: str) -> None:
    x = np.array([3, 1, 3, 2, 1]).astype(dtype)
    index = "int64" if dtype == "int64" else "int32"
    inverse = np.array([0, 1, 0, 2, 1]).astype(index)
    agree(several("Unique", [dtype, index]), [x], [np.array([3, 1, 2]).astype(dtype), inverse])
    padded = np.array([3, 1, 2, 9, 9]).astype(dtype)
    agree(several("UniqueWithPad", [dtype, index], 9), [x], [padded, inverse])


def test_runs_of_equal_values_and_of_equal_rows() -> None:
    x = np.array([3, 3, 1, 1, 2, 1])
    make = several("UniqueConsecutive", ["int64"] * 3, True, True, None)
    agree(make, [x], [[3, 1, 2, 1], [0, 0, 1, 1, 2, 3], [2, 2, 1, 1]])
    rows = np.array([[3, 3], [3, 3], [1, 3]], np.float32)
    make = several("UniqueConsecutive", ["float32", "int64", "int64"], True, True, 0)
    agree(make, [rows], [rows[[0, 2]], [0, 0, 1], [2, 1]])


@pytest.mark.parametrize(
    ("name", "do", "empty"),
    [
        ("Sum", np.add, 0),
        ("Prod", np.multiply, 1),
        ("Min", np.minimum, 3.4028235e38),
        ("Max", np.maximum, -3.4028235e38),
    ],
)
def test_groups_by_number(name: str, do: Any, empty: float) -> None:
    x, group = RNG.normal(size=(4, 3)).astype(np.float32), np.array([0, 2, 0, -1], np.int32)
    wanted = np.stack([do(x[0], x[2]), np.full(3, empty), x[1]]).astype(np.float32)
    agree(lambda b, x, g: b.op(f"UnsortedSegment{name}", x, g, 3, attributes=None if name == "Sum" else {}),
          [x, group], [wanted])  # fmt: skip


@pytest.mark.parametrize(
    ("name", "do", "empty"), [("Sum", np.add, 0), ("Prod", np.multiply, 1), ("Min", np.minimum, 0), ("Mean", np.add, 0)]
)
def test_segments_in_order(name: str, do: Any, empty: float) -> None:
    x, group = RNG.normal(size=(4, 3)).astype(np.float32), np.array([0, 0, 1, 3])
    first = do(x[0], x[1]) / (2 if name == "Mean" else 1)
    agree(
        call(f"Segment{name}"),
        [x, group],
        [np.stack([first, x[2], np.full(3, empty), x[3]]).astype(np.float32)],
    )


def test_a_histogram_counts_both_ends_and_nothing_outside() -> None:
    x = np.array([-2, 2, 2.1, -3, 0, 1.9, 0.4], np.float32)
    agree(call("Histogram", bins=4, min=-2.0, max=2.0), [x], [np.array([1, 0, 2, 2], np.float32)])
    agree(call("Histogram", bins=3, min=0.0, max=0.0), [np.array([1, 1], np.int32)], [np.array([0, 2, 0], np.int32)])


@pytest.mark.parametrize(("time", "batch"), [(1, 0), (0, 1), (2, 0), (0, 2)])
def test_sequences_are_reversed_to_their_own_length(time: int, batch: int) -> None:
    lengths = RNG.integers(0, X.shape[time] + 1, X.shape[batch])
    wanted = np.moveaxis(X.copy(), (batch, time), (0, 1)).copy()
    for row, length in zip(wanted, lengths, strict=True):
        row[:length] = row[:length][::-1].copy()
    agree(
        call("ReverseSequence", seq_dim=time, batch_dim=batch),
        [X, lengths],
        [np.moveaxis(wanted, (0, 1), (batch, time))],
    )


# -- boxes


def test_boxes_encoded_and_decoded_again_are_the_same() -> None:
    low = RNG.uniform(0, 5, (6, 2))
    first, second = (np.concatenate([low, low + RNG.uniform(1, 9, (6, 2))], 1).astype(np.float32) for _ in range(2))
    settings_of = {"means": (0.0, 0.1, 0.0, 0.0), "stds": (1.0, 1.0, 2.0, 1.0)}

    def make(b: Any, x: Any, y: Any) -> Any:
        moved = b.op("BoundingBoxEncode", x, y, attributes=settings_of)
        return b.op(
            "BoundingBoxDecode", x, moved, attributes={**settings_of, "max_shape": (99, 99), "wh_ratio_clip": 0.001}
        )

    agree(make, [first, second], [second], 1e-4)


def test_the_better_box_suppresses_those_that_it_covers() -> None:
    boxes = np.array(
        [[0, 0, 10, 10, 0.9], [20, 20, 30, 30, 0.7], [1, 1, 11, 11, 0.8], [20, 20, 29, 29, 0.95]], np.float32
    )
    best = boxes[[3, 0, 2, 1]]
    make = several("NMSWithMask", ["float32", "int32", "bool"], attributes={"iou_threshold": 0.5})
    agree(make, [boxes], [best, np.arange(4, dtype=np.int32), [True, True, False, False]])


@pytest.mark.parametrize(("mode", "wanted"), [("iou", 35 / 47), ("iof", 35 / 42)])
def test_common_area(mode: str, wanted: float) -> None:
    one, other = np.array([[1, 2, 5, 9]], np.float32), np.array([[1, 3, 6, 9]], np.float32)
    agree(call("IOU", mode=mode), [one, other], [np.array([[wanted]], np.float32)])


def test_boxes_within_a_picture() -> None:
    boxes = np.array([[0, 0, 11, 19], [0, 0, 12, 19], [0, 0, 11, 19.5], [-0.1, 0, 3, 3], [3, 3, 1, 1]], np.float32)
    picture = np.array([10, 6, 2], np.float32)
    agree(call("CheckValid"), [boxes, picture], [np.array([True, False, False, False, True])])


def test_bounds_buckets_and_the_nth_of_a_row() -> None:
    rows, values = np.array([[1, 3, 3, 7], [2, 4, 6, 8]], np.float32), np.array([[0, 3, 9], [4, 5, 8]], np.float32)
    for name, side in (("LowerBound", "left"), ("UpperBound", "right")):
        wanted = [np.searchsorted(row, one, side) for row, one in zip(rows, values, strict=True)]  # type: ignore[call-overload]
        agree(call(name, out_type="int32"), [rows, values], [np.array(wanted, np.int32)])
    x = np.array([-1, 0, 0.5, 1, 3, np.nan], np.float32)
    agree(call("Bucketize", boundaries=(0.0, 1.0, 2.0)), [x], [np.array([0, 1, 1, 2, 3, 3], np.int32)])
    x = np.array([[3, 9, 1], [5, 4, 8]], np.float32)
    agree(call("NthElement", reverse=False), [x, np.array(1, np.int32)], [np.array([3, 5], np.float32)])
    agree(call("NthElement", reverse=True), [x, np.array(0, np.int32)], [np.array([9, 8], np.float32)])


def test_rows_at_places_that_are_an_attribute() -> None:
    x, new = np.arange(8, dtype=np.float32).reshape(4, 2), np.array([[10, 20], [30, 40]], np.float32)
    for name, do in (("Update", lambda one, other: other), ("Add", np.add), ("Sub", np.subtract)):
        wanted = x.copy()
        wanted[[0, 2]] = do(x[[0, 2]], new)
        agree(call(f"Inplace{name}", indices=(0, 2)), [x, new], [wanted])


def test_what_one_list_has_and_the_other_has_not() -> None:
    make = several("ListDiff", ["int64", "int32"], attributes={"out_idx": "int32"})
    agree(make, [np.array([1, 2, 3, 4]), np.array([4, 2])], [np.array([1, 3]), np.array([0, 2], np.int32)])
