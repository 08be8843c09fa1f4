"""Tensors made of numbers, diagonals, blocks of images: our ONNX in onnxruntime and our evaluation against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.convert.graph import TYPE_IDS
from tests.unit.convert.primitive_models import Make, agree, call, several

RNG = np.random.default_rng(5)
X = RNG.normal(size=(3, 4)).astype(np.float32)
IMAGE = RNG.normal(size=(2, 8, 4, 6)).astype(np.float32)
FEW = settings(max_examples=5, deadline=None)
KNOWN = (False,)


def after(make: Make) -> Make:
    """A tensor that no input makes, added to one that is zero."""
    return lambda b, zero: b.op("Add", make(b), zero)


# -- sequences


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (call("Range", 2, 11, 3, 1000), np.arange(2, 11, 3)),
        (call("Range", 5, -4, -2, 1000), np.arange(5, -4, -2)),
        (call("Arange", 0, 2, 0.5, None), np.arange(0, 2, 0.5, np.float32)),
        (call("Arange", 0, 3, 1, TYPE_IDS["int32"]), np.arange(3, dtype=np.int32)),
        (call("LinSpaceExt", 1, 2, 5, None), np.linspace(1, 2, 5, dtype=np.float32)),
        (call("LinSpaceExt", 3, 9, 1, None), np.array([3], np.float32)),
        (call("Eye", 3, 4, TYPE_IDS["int32"]), np.eye(3, 4, dtype=np.int32)),
        (call("TriuIndices", row=3, col=4, offset=-1, dtype="int32"), np.stack(np.triu_indices(3, -1, 4)).astype("i4")),
        (call("TrilIndices", row=3, col=4, offset=1, dtype="int64"), np.stack(np.tril_indices(3, 1, 4))),
        (call("Zeros", (2, 3), TYPE_IDS["int64"]), np.zeros((2, 3), np.int64)),
        (call("Ones", (2, 3), None), np.ones((2, 3), np.float32)),
        (call("FillScalar", (2, 1), 7, None), np.full((2, 1), 7)),
        (call("FillScalar", (2, 1), 1.5, TYPE_IDS["float16"]), np.full((2, 1), 1.5, np.float16)),
    ],
)
def test_made_of_numbers(make: Make, expected: Any) -> None:
    agree(after(make), [np.zeros((), expected.dtype)], [expected])


def test_sequences_that_the_run_ends() -> None:
    end = np.array(7, np.int64)
    agree(lambda b, n: b.op("Range", 0, b.op("TensorToScalar", n, attributes={}), 2, 99), [end], [np.arange(0, 7, 2)])
    start, stop = np.array(1, np.float32), np.array(4, np.float32)
    agree(call("LinSpace", 7), [start, stop], [np.linspace(1, 4, 7, dtype=np.float32)])
    agree(call("LogSpace", steps=3, base=2), [start, stop], [np.logspace(1, 4, 3, base=2, dtype=np.float32)])


def test_filled_by_a_shape_that_only_the_run_tells() -> None:
    shape = np.array([2, 3], np.int64)
    make = lambda b, s: b.op("FillV2", s, b.scalar(4, "int32"), attributes={})  # noqa: E731
    agree(make, [shape], [np.full((2, 3), 4, np.int32)], sizes=KNOWN)
    agree(call("NewZeros", (2, 5), None), [X], [np.zeros((2, 5), np.float32)])
    agree(call("NewOnes", (2, 5), TYPE_IDS["bool"]), [X], [np.ones((2, 5), bool)])


@given(st.sampled_from([-1, 0, 1]), st.sampled_from(["int32", "int64"]))
@FEW
def test_one_hot_knows_no_places_from_the_end(axis: int, dtype: str) -> None:
    index = np.array([[0, 3, -1], [5, 1, 2]], dtype)
    expected = np.where(np.expand_dims(index, axis) == np.moveaxis(np.arange(4)[:, None, None], 0, axis), 2.5, -1)
    on, off = np.array(2.5, np.float32), np.array(-1, np.float32)
    agree(call("OneHot", 4, on, off, axis), [index], [expected.astype(np.float32)])


def test_one_hot_with_as_many_classes_as_there_are() -> None:
    index = np.array([0, 2, 1])
    agree(call("OneHotExt", -1, np.array(1), np.array(0), -1), [index], [np.eye(3, dtype=np.int64)[index]])


@pytest.mark.parametrize(("number", "word"), [(0, "ij"), (1, "xy")])
def test_coordinates(number: int, word: Any) -> None:
    one, other, third = (RNG.normal(size=size).astype(np.float32) for size in (2, 3, 4))

    def make(b: Any, *given: Any) -> Any:
        return b.ops("Meshgrid", b.tuple(given), number, results=[("float32", None)] * 3)

    agree(make, [one, other, third], np.meshgrid(one, other, third, indexing=word))


# -- diagonals


@given(st.integers(-3, 4), st.sampled_from(["float32", "int16", "uint64", "bool", "float16"]))
@FEW
def test_triangles(k: int, dtype: str) -> None:
    x = RNG.integers(0, 2, (2, 3, 4)).astype(dtype)
    agree(call("Triu", k), [x], [np.triu(x, k)])
    agree(call("TrilExt", k), [x], [np.tril(x, k)])
    agree(call("Tril", diagonal=k), [x], [np.tril(x, k)])


@given(st.integers(-3, 4))
@FEW
def test_diagonals_of_matrices(offset: int) -> None:
    x = RNG.normal(size=(3, 2, 4)).astype(np.float32)
    agree(call("Diagonal", offset, 0, 2), [x], [np.diagonal(x, offset, 0, 2)])
    agree(call("DiagExt", offset), [X], [np.diag(X, offset)])
    agree(call("DiagExt", offset), [X[0]], [np.diag(X[0], offset)])


def test_diagonals_of_several_dimensions() -> None:
    agree(call("Diag"), [X], [np.diag(X.ravel()).reshape(3, 4, 3, 4)])
    square = RNG.normal(size=(2, 3, 2, 3)).astype(np.float32)
    agree(call("DiagPart"), [square], [np.einsum("ijij->ij", square)])
    agree(call("MatrixBandPart", np.array(0), np.array(-1)), [X], [np.triu(X)])
    agree(call("MatrixBandPart", np.array(1), np.array(1)), [X], [np.triu(np.tril(X, 1), -1)])


def test_a_diagonal_is_set() -> None:
    x = RNG.normal(size=(2, 3, 4)).astype(np.float32)
    expected = x.copy()
    expected[:, np.arange(3), np.arange(3) + 1] = X[:2, :3]
    make = lambda b, one, other: b.op("MatrixSetDiagV3", one, other, np.array(1, np.int32), attributes={})  # noqa: E731
    agree(make, [x, X[:2, :3].copy()], [expected], sizes=KNOWN)
    numbers = [np.array(number, np.int32) for number in (1, 3, 4)]
    made = call("MatrixDiagV3", *numbers, np.array(9, np.float32), align="RIGHT_LEFT")
    expected = np.full((2, 3, 4), 9, np.float32)
    expected[:, np.arange(3), np.arange(3) + 1] = X[:2, :3]
    agree(made, [X[:2, :3].copy()], [expected])


# -- blocks


def test_depth_and_space() -> None:
    n, _, h, w = IMAGE.shape
    deep = IMAGE.reshape(n, 2, 2, 2, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, 2, 2 * h, 2 * w)
    agree(call("DepthToSpace", block_size=2, data_format="NCHW"), [IMAGE], [deep])
    agree(call("SpaceToDepth", block_size=2, data_format="NCHW"), [deep], [IMAGE])
    shuffled = IMAGE.reshape(n, 2, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, 2, 2 * h, 2 * w)
    agree(call("PixelShuffle", 2), [IMAGE], [shuffled])
    channels = IMAGE.reshape(n, 2, 4, h, w).swapaxes(1, 2).reshape(IMAGE.shape)
    agree(call("ChannelShuffle", group=2), [IMAGE], [channels])


def test_batches_and_space() -> None:
    block, pads = (2, 3), ((0, 0), (1, 2))
    padded = np.pad(IMAGE, [(0, 0), (0, 0), *pads])
    parts = [padded[:, :, row::2, column::3] for row in range(2) for column in range(3)]
    apart = np.concatenate(parts)
    agree(call("SpaceToBatchND", block_shape=block, paddings=((0, 0), (1, 2))), [IMAGE], [apart], sizes=KNOWN)
    agree(call("BatchToSpaceND", block_shape=block, crops=((0, 0), (1, 2))), [apart], [IMAGE], sizes=KNOWN)


def windows(x: Any, size: Any, stride: Any, dilation: Any, pads: Any) -> Any:
    """Every window as a column, one after the other."""
    x = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[0]), (pads[1], pads[1])])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, size, strict=True)]
    columns = [
        x[:, :, row : row + reach[0] : dilation[0], column : column + reach[1] : dilation[1]].reshape(*x.shape[:2], -1)
        for row in range(0, x.shape[2] - reach[0] + 1, stride[0])
        for column in range(0, x.shape[3] - reach[1] + 1, stride[1])
    ]
    return np.stack(columns, -1)


@pytest.mark.parametrize(
    ("size", "stride", "dilation", "pads"),
    [((2, 3), (1, 1), (1, 1), (0, 0)), ((2, 2), (2, 1), (1, 2), (1, 0)), ((3, 3), (2, 2), (1, 1), (1, 1))],
)
def test_windows_as_columns_and_back(size: Any, stride: Any, dilation: Any, pads: Any) -> None:
    expected = windows(IMAGE, size, stride, dilation, pads)
    settings_ = {"ksizes": size, "strides": stride, "dilations": dilation, "pads": pads}
    agree(call("Im2Col", padding_mode="CALCULATED", **settings_), [IMAGE], [expected])
    flat = expected.reshape(2, -1, expected.shape[-1])
    agree(call("Im2ColExt", size, dilation, pads, stride), [IMAGE], [flat])
    counts = windows(np.ones_like(IMAGE), size, stride, dilation, pads)
    image = call("Col2Im", np.array([4, 6], np.int32), kernel_size=size, stride=stride, padding=pads, dilation=dilation)
    # the sum over all windows: as often each element as windows hold it
    held = np.zeros(IMAGE.shape, np.float64)
    index = windows(np.arange(1.0, IMAGE.size + 1).reshape(IMAGE.shape), size, stride, dilation, pads)
    np.add.at(held.reshape(-1), index[index > 0].astype(int) - 1, counts[index > 0])
    agree(image, [expected], [(IMAGE * held).astype(np.float32)], sizes=KNOWN)


def test_any_places() -> None:
    expected = np.lib.stride_tricks.as_strided(X.reshape(-1)[2:], (2, 3), (8, 4))
    agree(call("AsStrided", (2, 3), (2, 1), 2), [X], [expected])


def test_tuples_and_tensors() -> None:
    made = lambda b, x: b.op("TupleToTensor", b.as_tuple(x), TYPE_IDS["int32"])  # noqa: E731
    agree(made, [np.array([3, 1, 2])], [np.array([3, 1, 2], np.int32)], sizes=KNOWN)
    agree(several("Unstack", ["float32"] * 3, attributes={"axis": 0, "num": 3}), [X], list(X))


def test_tuples_of_integers() -> None:
    def make(b: Any, x: Any) -> Any:
        shape = b.op("Shape", x, dtype="tuple", attributes={})
        area = b.op("ShapeMul", shape, attributes={})
        flat = b.op("Reshape", x, b.tuple([area]))
        order = b.op("InvertPermutation", b.op("make_range", 0, 2, attributes={}), attributes={})
        return [flat, b.op("Transpose", x, order)]

    agree(make, [X], [X.reshape(-1), X])


@pytest.mark.parametrize(("wanted", "expected"), [(4, True), (-2, False), (5, False)])
def test_whether_a_size_is_among_others(wanted: int, expected: bool) -> None:
    def make(b: Any, x: Any) -> Any:
        found = b.op("InSequence", wanted, b.op("Shape", x, dtype="tuple", attributes={}), attributes={})
        kept = b.op("is_", found, True, attributes={})
        return b.op("LogicalAnd", kept, b.constant(np.array(True)), dtype="bool")

    agree(make, [X], [np.array(expected)])
