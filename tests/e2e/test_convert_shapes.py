"""Operators that move elements, with sizes that only the run tells, on real MindSpore against ONNX's own evaluator."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from mswb.convert import to_mindir
from mswb.convert.engines.mindspore import MindSpore

pytestmark = [pytest.mark.mindspore, pytest.mark.timeout(900)]


def _of(*shape: int, dtype: str = "float32") -> Any:
    """Different numbers, some below zero."""
    count = int(np.prod(shape))
    return (np.arange(count) * 7 % max(count, 1) - count // 3).reshape(shape).astype(dtype)


def _n(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


X2, X3 = (_of(3, 4), _of(5, 2)), (_of(2, 3, 4), _of(1, 5, 2), _of(3, 1, 1))
CASES: dict[str, tuple[str, Sequence[Sequence[Any]]]] = {
    "reshape keeps a size": ("(float[a,b,c] x, int64[2] s) => (y) {y = Reshape(x, s)}", [(x, _n(0, -1)) for x in X3]),
    "reshape, zeros allowed": (
        "(float[a,b] x, int64[3] s) => (y) {y = Reshape <allowzero=1> (x, s)}",
        [(_of(0, 4), _n(3, 0, 2)), (_of(2, 3), _n(1, -1, 2))],
    ),
    "reshape, fixed with a zero": (
        "(float[a,b,c] x) => (y) {s = Constant <value_ints=[0,0,1,-1]> () y = Reshape(x, s)}",
        [(x,) for x in X3],
    ),
    "a shape put together": (
        "(float[a,b,c] x) => (y) {s = Shape(x) i = Constant <value_int=0> () n = Gather(s, i) "
        "z = Constant <value_ints=[0]> () m = Unsqueeze(n, z) k = Constant <value_ints=[-1]> () "
        "w = Concat <axis=0> (m, k) y = Reshape(x, w)}",
        [(x,) for x in X3],
    ),
    "transpose": ("(float[a,b,c] x) => (y) {y = Transpose <perm=[2,0,1]> (x)}", [(x,) for x in X3]),
    "squeeze": (
        "(float[a,b,c,d] x, int64[2] s) => (y) {y = Squeeze(x, s)}",
        [(_of(1, 3, 1, 2), _n(-2, 0)), (_of(3, 1, 2, 1), _n(3, 1))],
    ),
    "unsqueeze": ("(float[a,b] x, int64[2] s) => (y) {y = Unsqueeze(x, s)}", [(X2[0], _n(3, 0)), (X2[1], _n(-1, 1))]),
    "flatten": ("(float[a,b,c] x) => (y) {y = Flatten <axis=-1> (x)}", [(x,) for x in X3]),
    "expand": (
        "(float[a,b] x, int64[3] s) => (y) {y = Expand(x, s)}",
        [(_of(3, 1), _n(2, 1, 4)), (_of(1, 4), _n(2, 3, 1)), (_of(2, 2), _n(0, 1, 1))],
    ),
    "tile": ("(float[a,b] x, int64[2] s) => (y) {y = Tile(x, s)}", [(X2[0], _n(2, 1)), (X2[1], _n(1, 3))]),
    "concat": ("(float[a,b] x, float[c,b] z) => (y) {y = Concat <axis=-2> (x, z)}", [(x, x[1:]) for x in X2]),
    "split at run time": (
        "(float[a,b] x, int64[3] s) => (y, z, w) {y, z, w = Split <axis=-1> (x, s)}",
        [(_of(3, 4), _n(1, 0, 3)), (_of(2, 6), _n(2, 2, 2))],
    ),
    "split evenly": ("(float[a,b] x) => (y, z) {y, z = Split <axis=0, num_outputs=2> (x)}", [(x,) for x in X2]),
    "shape": ("(float[a,3,c] x) => (y) {y = Shape <start=-2> (x)}", [(x,) for x in (_of(2, 3, 4), _of(1, 3, 2))]),
    "size": ("(float[a,b,c] x) => (y) {y = Size(x)}", [(x,) for x in X3]),
    "constant of shape": (
        "(int64[2] s) => (y) {y = ConstantOfShape <value=int8[1]{3}> (s)}",
        [(_n(2, 3),), (_n(0, 4),)],
    ),
    "range": (
        "(float s, float e, float d) => (y) {y = Range(s, e, d)}",
        [[np.float32(one) for one in numbers] for numbers in ((1, 5, 2), (3, -2, -0.5), (3, 1, 1))],
    ),
    "range of integers": (
        "(int32 s, int32 e, int32 d) => (y) {y = Range(s, e, d)}",
        [[np.int32(one) for one in numbers] for numbers in ((1, 8, 3), (3, -4, -2), (3, 1, 1))],
    ),
    "eye like": ("(float[a,b] x) => (y) {y = EyeLike <k=1, dtype=7> (x)}", [(x,) for x in X2]),
    "triangle": (
        "(float[a,b] x, int64 k) => (y) {y = Trilu <upper=0> (x, k)}",
        [(x, np.int64(k)) for x in X2 for k in (-1, 9)],
    ),
    "depth to space": (
        '(float[a,b,c,d] x) => (y) {y = DepthToSpace <blocksize=2, mode="CRD"> (x)}',
        [(_of(1, 8, 2, 3),), (_of(2, 4, 1, 2),)],
    ),
    "space to depth": ("(float[a,b,c,d] x) => (y) {y = SpaceToDepth <blocksize=2> (x)}", [(_of(1, 3, 2, 4),)]),
    **{
        f"pad {mode}": (
            f'(float[a,b] x, int64[4] p) => (y) {{y = Pad <mode="{mode}"> (x, p)}}',
            [(x, _n(1, 0, 2, 1)) for x in X2],
        )
        for mode in ("constant", "edge", "reflect", "wrap")
    },
    "pad some axes": (
        "(float[a,b,c] x, int64[2] p, float v, int64[1] s) => (y) {y = Pad (x, p, v, s)}",
        [(X3[0], _n(1, 2), np.float32(9), _n(-1)), (X3[1], _n(0, 3), np.float32(-9), _n(0))],
    ),
    "gather": (
        "(int8[a,b] x, int32[n] i) => (y) {y = Gather <axis=1> (x, i)}",
        [(_of(3, 4, dtype="int8"), np.array([-1, 0, 3], np.int32)), (_of(2, 2, dtype="int8"), np.array([], np.int32))],
    ),
    "gather elements": (
        "(float[a,b] x, int64[c,d] i) => (y) {y = GatherElements <axis=1> (x, i)}",
        [(X2[0], np.array([[3, -1]] * 3)), (X2[1], np.array([[1], [-2], [0], [1], [-1]]))],
    ),
    "gather n-d in batches": (
        "(float[a,b,c] x, int64[a,1] i) => (y) {y = GatherND <batch_dims=1> (x, i)}",
        [(X3[0], np.array([[-1], [0]])), (X3[2], np.array([[0], [0], [-1]]))],
    ),
    "scatter elements": (
        '(float[a,b] x, int64[c,d] i, float[c,d] u) => (y) {y = ScatterElements <axis=1, reduction="max"> (x, i, u)}',
        [(X2[0], np.array([[3, -1], [1, 1]]), _of(2, 2) + 3), (X2[1], np.array([[-2]]), _of(1, 1) + 5)],
    ),
    "scatter n-d": (
        '(float[a,b] x, int64[n,1] i, float[n,b] u) => (y) {y = ScatterND <reduction="add"> (x, i, u)}',
        [(X2[0], np.array([[-1], [0], [0]]), _of(3, 4)), (X2[1], np.array([[2]]), _of(1, 2))],
    ),
    "slice at run time": (
        "(float[a,b,c] x, int64[2] s, int64[2] e, int64[2] i, int64[2] d) => (y) {y = Slice(x, s, e, i, d)}",
        [
            (X3[0], _n(1, -1), _n(9, -9), _n(0, -1), _n(1, -2)),
            (X3[1], _n(4, 0), _n(0, 1), _n(1, 0), _n(-1, 1)),
            (X3[2], _n(1, 5), _n(1, 9), _n(0, 2), _n(1, 1)),
        ],
    ),
    "slice": (
        "(float[a,b,c] x) => (y) {s = Constant <value_ints=[-2]> () e = Constant <value_ints=[-2147483648]> () "
        "i = Constant <value_ints=[2]> () d = Constant <value_ints=[-1]> () y = Slice(x, s, e, i, d)}",
        [(x,) for x in X3],
    ),
    "slice that turns an axis and cuts another": (
        "(float[a,3,4] x) => (y, z) {s = Constant <value_ints=[-1,1]> () "
        "e = Constant <value_ints=[-9223372036854775808,3]> () i = Constant <value_ints=[1,2]> () "
        "d = Constant <value_ints=[-1,1]> () y = Slice(x, s, e, i, d) "
        "j = Constant <value_ints=[0,1]> () z = Slice(x, s, e, j, d)}",
        [(_of(2, 3, 4),), (_of(3, 3, 4),)],
    ),
    "slice back from behind the end": (
        "(float[a,b,c] x) => (y) {s = Constant <value_ints=[4]> () e = Constant <value_ints=[0]> () "
        "i = Constant <value_ints=[1]> () d = Constant <value_ints=[-1]> () y = Slice(x, s, e, i, d)}",
        [(x,) for x in X3],
    ),
    "one hot": (
        "(int64[a] i, int64 d, float[2] v) => (y) {y = OneHot <axis=0> (i, d, v)}",
        [(_n(0, -1, 7), np.int64(3), _of(2)), (_n(1), np.int64(5), _of(2))],
    ),
    "places of what is not zero": ("(float[a,b] x) => (y) {y = NonZero(x)}", [(x,) for x in (*X2, _of(2, 0))]),
    "compress": (
        "(float[a,b] x, bool[c] i) => (y) {y = Compress <axis=-1> (x, i)}",
        [(X2[0], np.array([True, False, True])), (X2[1], np.array([False, True]))],
    ),
    "largest": (
        "(float[a,b] x, int64[1] k) => (y, z) {y, z = TopK <axis=0> (x, k)}",
        [(X2[0], _n(2)), (X2[1], _n(5)), (np.zeros((4, 2), np.float32), _n(3))],
    ),
    "least": (
        "(int64[a,b] x, int64[1] k) => (y, z) {y, z = TopK <largest=0> (x, k)}",
        [(_of(3, 4, dtype="int64"), _n(2)), (np.full((1, 3), np.iinfo(np.int64).min), _n(3))],
    ),
    "different ones": (
        "(float[a] x) => (y, i, r, c) {y, i, r, c = Unique <sorted=0> (x)}",
        [(np.array([2, 1, 1, 3, 2], np.float32),), (np.array([5, 5], np.float32),)],
    ),
    "different rows": (
        "(float[a,b] x) => (y, i, r, c) {y, i, r, c = Unique <axis=0> (x)}",
        [(np.array([[2, 1], [1, 3], [2, 1]], np.float32),), (np.array([[5, 5, 1]], np.float32),)],
    ),
    "sequences turned round": (
        "(float[a,b] x, int64[b] n) => (y) {y = ReverseSequence (x, n)}",
        [(X2[0], _n(1, 2, 3, 1)), (X2[1], _n(5, 3))],
    ),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[MindSpore]:
    with MindSpore(sys.executable, limit_s=60) as running:
        yield running


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_only_the_run_tells(name: str, engine: MindSpore, tmp_path: Path) -> None:
    text, given = CASES[name]
    model = _model(text, given[0])
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path))
    done = to_mindir.convert(str(path))
    assert done.model is not None, [one.title for one in done.findings]
    to_mindir.save(done, str(tmp_path / "model.mindir"))
    names = [value.name for value in model.graph.input]
    for inputs in given:
        arrays = [np.asarray(one) for one in inputs]
        expected = ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))
        found = engine.run(str(tmp_path / "model.mindir"), arrays)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs, strict=True)


def _model(text: str, inputs: Sequence[Any]) -> onnx.ModelProto:
    """The model of a text without the types of its results: these are as the evaluator gives them, of any size."""
    head, results, body = re.split(r"=> \((.*?)\)", text, maxsplit=1)
    names = results.split(", ")
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 19]> g {head} => () {body}')
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    given = dict(zip((value.name for value in model.graph.input), map(np.asarray, inputs), strict=True))
    found = [np.asarray(one) for one in ReferenceEvaluator(model).run(None, given)]
    types = [(onnx.helper.np_dtype_to_tensor_dtype(one.dtype), [None] * one.ndim) for one in found]
    made = [onnx.helper.make_tensor_value_info(name, *kind) for name, kind in zip(names, types, strict=True)]
    del model.graph.output[:]
    model.graph.output.extend(made)
    return model
