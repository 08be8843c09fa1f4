"""Operators that shape, cut, join and pad: our ONNX in onnxruntime and our evaluation against numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.convert import to_onnx
from tests.unit.convert.primitive_models import Make, agree, call, run_onnx, several, written

RNG = np.random.default_rng(3)
X = RNG.normal(size=(2, 3, 4)).astype(np.float32)
FEW = settings(max_examples=5, deadline=None)
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
DTYPES = st.sampled_from(["float32", "float16", "float64", "int32", "int64", "int16", "uint8", "uint64", "bool"])


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    return np.random.default_rng(sum(shape)).integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)


def names(*dtypes: str) -> list[str]:
    return list(dtypes)


# -- sizes and order


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (call("Reshape", (4, -1)), X.reshape(4, 6)),
        (call("View", (2, 12)), X.reshape(2, 12)),
        (call("Flatten"), X.reshape(2, 12)),
        (call("FlattenExt", 1, -1), X.reshape(2, 12)),
        (call("FlattenExt", 0, 1), X.reshape(6, 4)),
        (call("Transpose", (2, 0, -2)), X.transpose(2, 0, 1)),
        (call("TransposeView", (1, 0, 2)), X.transpose(1, 0, 2)),
        (call("TransposeExtView", 0, -1), X.transpose(2, 1, 0)),
        (call("ExpandDims", -1), X[..., None]),
        (call("ExpandDimsView", 1), X[:, None]),
        (call("BroadcastTo", (5, -1, 3, 4)), np.broadcast_to(X, (5, 2, 3, 4))),
        (call("Contiguous"), X),
        (call("TensorShape"), np.array([2, 3, 4])),
    ],
)
def test_sizes_and_order(make: Make, expected: Any) -> None:
    agree(make, [X], [expected])


@given(SHAPES, DTYPES, st.data())
@FEW
def test_a_shape_that_only_the_run_tells(shape: tuple[int, ...], dtype: str, data: Any) -> None:
    x = numbers(shape, dtype)
    other = np.array(data.draw(st.permutations(shape)), np.int64)
    known = (False,)
    agree(call("Reshape"), [x, other], [x.reshape(other)], sizes=known)
    agree(lambda b, x, s: b.op("Reshape", x, b.as_tuple(s)), [x, other], [x.reshape(other)], sizes=known)
    whole = np.array(shape, np.int64)
    agree(call("BroadcastTo"), [x[:1], whole], [np.broadcast_to(x[:1], shape)], sizes=known)


def test_sizes_of_a_shape_one_by_one() -> None:
    def make(b: Any, x: Any) -> Any:
        shape = b.op("Shape", x, dtype="tuple")
        rows, columns = (b.item(shape, at) for at in (0, 2))
        return b.op("Reshape", x, b.tuple([columns, rows, -1]))

    agree(make, [X], [X.reshape(4, 2, 3)])


def test_squeeze_leaves_what_is_not_one() -> None:
    x = X[:1, :, :1]
    assert run_fixed(call("Squeeze", (0, 1)), [x]).shape == (3, 1)
    assert run_fixed(call("Squeeze", ()), [x]).shape == (3,)
    agree(call("Squeeze", (0,)), [x], [x[0]])


def run_fixed(make: Make, inputs: list[Any]) -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return run_onnx(written(make, inputs, Path(folder)), inputs)[0]


def test_like_another() -> None:
    other = np.zeros((4, 6), np.float32)
    agree(call("ViewAs"), [X, other], [X.reshape(4, 6)])
    agree(call("ExpandAs"), [X[:1, :1], X], [np.broadcast_to(X[:1, :1], X.shape)])


# -- cutting


def masks(*set_: str) -> tuple[int, ...]:
    """The five masks from words such as ``begin0`` and ``shrink1``."""
    found = dict.fromkeys(("begin", "end", "ellipsis", "new", "shrink"), 0)
    for word in set_:
        found[word[:-1]] |= 1 << int(word[-1])
    return tuple(found.values())


@pytest.mark.parametrize(
    ("begin", "end", "strides", "words", "expected"),
    [
        ((0, 1, -1), (2, 3, -4), (1, 1, -2), (), X[0:2, 1:3, -1:-4:-2]),
        ((-9, 1), (9, 9), (1, 2), (), X[-9:9, 1:9:2]),
        ((1, 1, 1), (1, 1, 3), (1, 1, 1), ("begin0", "end0", "end1"), X[:, 1:, 1:3]),
        ((0, -1), (0, 0), (1, -1), ("end0", "end1", "begin0"), X[:, -1::-1]),
        ((0, 1), (0, 3), (1, 1), ("ellipsis0",), X[..., 1:3]),
        ((1, 0, 1), (2, 0, 4), (1, 1, 2), ("ellipsis1", "shrink0"), X[1, ..., 1:4:2]),
        ((0, 0, 1), (2, 0, 3), (1, 1, 1), ("new1",), X[0:2, None, 1:3]),
        ((-1, 2), (0, 3), (1, 1), ("shrink0", "shrink1"), X[-1, 2]),
        ((1, 2), (2, 3), (1, 1), ("shrink0", "begin1", "shrink1"), X[1, 0]),
        ((0, 0, 0, 2), (0, 0, 0, 3), (1, 1, 1, 1), ("new0", "ellipsis1", "new2", "shrink3"), X[None, ..., None, 2]),
    ],
)
def test_strided_slices(begin: Any, end: Any, strides: Any, words: Any, expected: Any) -> None:
    agree(call("StridedSlice", begin, end, strides, *masks(*words)), [X], [expected])


@given(SHAPES, DTYPES, st.data())
@FEW
def test_strided_slices_are_those_of_python(shape: tuple[int, ...], dtype: str, data: Any) -> None:
    x = numbers(shape, dtype)
    place, step = st.integers(-5, 5), st.integers(-2, 2).filter(bool)
    rows = [tuple(data.draw(one) for one in (place, place, step)) for _ in shape]
    begin, end, strides = (tuple(row[at] for row in rows) for at in range(3))
    expected = x[tuple(slice(*row) for row in rows)]
    agree(call("StridedSlice", begin, end, strides, *masks()), [x], [expected])
    run = lambda b, x, s: b.op("StridedSlice", x, s, end, strides, *masks())  # noqa: E731
    agree(run, [x, np.array(begin, np.int64)], [expected], sizes=(False,))


def test_other_slices() -> None:
    agree(call("Slice", (0, 1, 1), (2, -1, 2)), [X], [X[:2, 1:, 1:3]])
    agree(call("SliceExtView", 2, 1, 9, 2), [X], [X[..., 1:9:2]])
    agree(call("SliceExt", -1, -3, -1, 1), [X], [X[..., -3:-1]])
    agree(call("NarrowView", 1, 1, 2), [X], [X[:, 1:3]])
    agree(call("Narrow", 1, -2, 2), [X], [X[:, -2:]])
    agree(call("SelectExtView", 1, -1), [X], [X[:, -1]])


def test_pieces() -> None:
    agree(several("Split", names("float32", "float32"), 2, 2), [X], np.split(X, 2, 2))
    agree(several("SplitWithSize", names("float32", "float32"), (1, 3), -1), [X], np.split(X, [1], 2))
    three = names("float32", "float32", "float32")
    seven = RNG.normal(size=(2, 7)).astype(np.float32)
    agree(several("SplitTensorView", three, 3, 1), [seven], np.split(seven, [3, 6], 1))
    agree(several("ChunkView", three, 3, 1), [seven], np.split(seven, [3, 6], 1))
    agree(
        several("UnstackExtView", names("float32", "float32", "float32"), 2), [X[..., :3]], list(X.T[:3].swapaxes(1, 2))
    )


def test_as_many_pieces_as_only_the_run_tells_are_refused(tmp_path: Path) -> None:
    done = to_onnx.convert(written(several("ChunkView", ["float32"], 2, 0), [X], tmp_path, free=True))
    assert done.proto is None and "only known when the model runs" in done.findings[0].values["reason"]


@given(SHAPES, DTYPES, st.data())
@FEW
def test_reversed_and_rolled(shape: tuple[int, ...], dtype: str, data: Any) -> None:
    x = numbers(shape, dtype)
    axis, shift = data.draw(st.integers(-len(shape), len(shape) - 1)), data.draw(st.integers(-5, 5))
    agree(call("ReverseV2", (axis,)), [x], [np.flip(x, axis)])
    agree(call("Roll", (shift,), (axis,)), [x], [np.roll(x, shift, axis)])
    agree(call("Roll", (shift,), None), [x], [np.roll(x, shift)])


# -- joining and repeating


@given(SHAPES, DTYPES, st.data())
@FEW
def test_joined(shape: tuple[int, ...], dtype: str, data: Any) -> None:
    x = numbers(shape, dtype)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    agree(lambda b, x, y: b.op("Concat", b.tuple([x, y]), axis), [x, x], [np.concatenate([x, x], axis)])
    place = data.draw(st.integers(-len(shape) - 1, len(shape)))
    agree(lambda b, x, y: b.op("StackExt", b.tuple([x, y]), place), [x, x], [np.stack([x, x], place)])
    make = lambda b, x, y: b.op("Stack", b.tuple([x, y]), attributes={"axis": place})  # noqa: E731
    agree(make, [x, x], [np.stack([x, x], place)])


def test_a_join_of_two_data_types_has_fractions() -> None:
    whole = np.arange(4, dtype=np.int64)
    make = lambda b, x, y: b.op("Concat", b.tuple([x, y]), 0)  # noqa: E731
    agree(make, [X[0, 0], whole], [np.concatenate([X[0, 0], whole.astype(np.float32)])])


@given(SHAPES, DTYPES, st.data())
@FEW
def test_tiled(shape: tuple[int, ...], dtype: str, data: Any) -> None:
    x = numbers(shape, dtype)
    times = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
    agree(lambda b, x: b.op("Tile", x, times, attributes={}), [x], [np.tile(x, times)])


def test_every_element_repeated() -> None:
    agree(call("RepeatInterleaveInt", 2, 1, None), [X], [np.repeat(X, 2, 1)])
    agree(call("RepeatInterleaveInt", 3, None, None), [X], [np.repeat(X, 3)])
    make = lambda b, x, r: b.op("RepeatInterleaveTensor", x, r, 1, None)  # noqa: E731
    agree(make, [X, np.array([2, 0, 1])], [np.repeat(X, [2, 0, 1], 1)])


# -- padding


@pytest.mark.parametrize("dtype", ["float16", "int16", "bool"])
@pytest.mark.parametrize(
    ("mode", "numpy_mode"),
    [("constant", "constant"), ("reflect", "reflect"), ("edge", "edge"), ("circular", "wrap")],
)
def test_padding_from_the_last_axis(dtype: str, mode: str, numpy_mode: Any) -> None:
    x = numbers((2, 3, 4), dtype)
    expected = np.pad(x, [(0, 0), (2, 0), (1, 2)], numpy_mode)
    pads = np.array([1, 2, 2, 0])
    agree(call("PadV3", pads, mode=mode, paddings_contiguous=True), [x], [expected])
    apart = np.array([1, 2, 2, 0])[[0, 2, 1, 3]]
    agree(call("PadV3", apart, mode=mode, paddings_contiguous=False), [x], [expected])


def test_padding_cuts_and_fills() -> None:
    expected = np.pad(X[..., 1:], [(0, 0), (0, 0), (0, 2)], constant_values=2.5)
    settings_ = {"mode": "constant", "paddings_contiguous": True}
    agree(call("PadV3", np.array([-1, 2]), np.array(2.5, np.float32), **settings_), [X], [expected])
    agree(call("ConstantPadND", (-1, 2), 2.5), [X], [expected])
    pads = np.array([-1, 2], np.int64)
    make = lambda b, x, p: b.op("PadV3", x, p, np.array(2.5, np.float32), attributes=settings_)  # noqa: E731
    agree(make, [X, pads], [expected], sizes=(False,))


def test_mirrors_with_and_without_the_edge() -> None:
    pads = np.array([[0, 0], [1, 2], [3, 0]])
    for mode in ("REFLECT", "SYMMETRIC"):
        expected = np.pad(X, pads, mode.lower())  # type: ignore[call-overload]
        agree(call("MirrorPad", pads, mode=mode), [X], [expected])
    agree(call("ReflectionPad1D", (1, 2)), [X], [np.pad(X, [(0, 0), (0, 0), (1, 2)], "reflect")])
    agree(
        call("ReplicationPad2D", (1, 2, 0, 5)), [X[None]], [np.pad(X[None], [(0, 0), (0, 0), (0, 5), (1, 2)], "edge")]
    )
