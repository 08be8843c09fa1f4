"""What is known of sizes stays known: the graph holds no arithmetic for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.convert import integers, to_mindir
from mswb.convert.graph import Builder
from mswb.convert.ops import index

SMALL = st.integers(-9, 9)


def _calls(text: str, tmp_path: Path, opsets: str = '"" : 19') -> list[str]:
    """The operators that a model of this text becomes."""
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(f"<ir_version: 8, opset_import: [{opsets}]> g {text}"), str(path))
    done = to_mindir.convert(str(path))
    assert done.model is not None, [one.title for one in done.findings]
    assert done.model.graph is not None
    names = [(node.op_type or "").removeprefix("REF::").partition(":")[0] for node in done.model.graph.node]
    return [name for name in names if name != "Constant"]


LAST = (
    "{s = Constant <value_ints=[-1]> () e = Constant <value_ints=[9]> () a = Constant <value_ints=[1]> () "
    "y = Slice(x, s, e, a)}"
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(float[n,6] x) => (float[n,3,2] y) {s = Constant <value_ints=[0,3,2]> () y = Reshape(x, s)}", ["Reshape"]),
        ("(float[2,n] x) => (float[n,2] y) {y = Transpose(x)}", ["Transpose"]),
        ("(float[2,4] x) => (float[2,2] y, float[2,2] z) {y, z = Split <axis=1> (x)}",
         ["SplitWithSize", "TupleGetItem", "TupleGetItem"]),
        ("(float[n,4] x) => (float[n,2] y, float[n,2] z) {y, z = Split <axis=1> (x)}", ["Gather", "Gather"]),
        (f"(float[2,4] x) => (float[2,1] y) {LAST}", ["StridedSlice"]),
        (f"(float[n,4] x) => (float[n,1] y) {LAST}", ["Gather"]),
        (f"(float[4,n] x) => (float[4,m] y) {LAST}", ["StridedSlice"]),
        ("(float[n,2] x) => (float[n,2] y) {k = Constant <value_int=1> () y = Trilu(x, k)}", ["Triu"]),
        ("(float[3,n] x) => (int64[1] y) {y = Shape <end=1> (x)}", ["Depend"]),
    ],
)  # fmt: skip
def test_what_is_known_costs_no_arithmetic(text: str, wanted: list[str], tmp_path: Path) -> None:
    assert _calls(text, tmp_path) == wanted


def test_a_model_of_another_domain_alone_needs_no_opset_of_onnx(tmp_path: Path) -> None:
    text = "(float[2,5] x, int64[n] i) => (float[2,n] y) {y = ai.onnx.ml.ArrayFeatureExtractor(x, i)}"
    assert "Gather" in _calls(text, tmp_path, '"ai.onnx.ml" : 3')


@given(SMALL, SMALL, SMALL.filter(bool), st.integers(0, 6))
def test_a_slice_of_known_size_is_pythons(start: int, stop: int, step: int, size: int) -> None:
    b = Builder("g")
    cut = index._strided(b, b.input("x", "float32", (size, None)), {0: (start, stop, step)})
    assert cut.shape == (len(range(size)[start:stop:step]), None)


@given(st.lists(SMALL, min_size=1, max_size=4), SMALL)
def test_arithmetic_of_numbers_needs_no_graph(numbers: list[int], other: int) -> None:
    b = Builder("g")
    result = integers.calc(b, "Maximum", integers.calc(b, "Sub", np.array(numbers), other), 0)
    assert np.array_equal(np.asarray(result), [max(one - other, 0) for one in numbers])
    assert not b.nodes


def test_arithmetic_with_what_only_the_run_tells_is_in_the_graph() -> None:
    b = Builder("g")
    size = integers.dim(b, b.input("x", "float32", (3, None)), 1)
    result = integers.vector(b, [2, integers.calc(b, "Mul", size, 2)])
    assert integers.content(result) is None
    assert integers.shape_of(result) == (2,)
