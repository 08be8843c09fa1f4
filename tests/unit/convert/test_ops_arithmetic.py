"""Data types of kernels, shapes of results, and what is refused; nothing runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from mswb.convert import to_mindir
from mswb.convert.graph import Builder, broadcast
from mswb.convert.onnx.node import Refused
from mswb.convert.ops.exact import EVERY, RIGHT, call, working

SIZES = st.lists(st.sampled_from([1, 2, 3]), max_size=4)


@given(SIZES, SIZES, st.data())
@settings(max_examples=200, deadline=None)
def test_a_broadcast_shape_never_claims_more_than_is_known(
    one: list[int], other: list[int], data: st.DataObject
) -> None:
    try:
        whole = np.broadcast_shapes(tuple(one), tuple(other))
    except ValueError:
        return
    assert broadcast(tuple(one), tuple(other)) == whole
    known = tuple(None if data.draw(st.booleans()) else size for size in one)
    found = broadcast(known, tuple(other))
    assert found is not None and len(found) == len(whole)
    assert all(size is None or size == right for size, right in zip(found, whole, strict=True))
    assert broadcast(None, tuple(other)) is None


@pytest.mark.parametrize("primitive", sorted(RIGHT))
@pytest.mark.parametrize("dtype", EVERY)
def test_a_kernel_that_lacks_a_type_gets_one_that_holds_its_numbers(primitive: str, dtype: str) -> None:
    try:
        used = working(primitive, dtype)
    except Refused as refused:
        assert dtype not in RIGHT[primitive] and primitive in refused.reason and dtype in refused.reason
        return
    assert used in RIGHT[primitive]
    assert np.can_cast(dtype, used, "safe") or (dtype, used) == ("uint64", "int64")


def test_the_result_is_cast_back() -> None:
    b = Builder("g")
    narrow = next(dtype for dtype in EVERY[1:] if working("Sub", dtype) != dtype)
    x = b.input("x", narrow, (None, 3))
    assert call(b, "Sub", x, 1).dtype == narrow and (b.nodes[-1].op_type or "").startswith("REF::Cast")
    assert call(b, "Less", x, 1).dtype == "bool" and call(b, "Less", x, 1).shape == (None, 3)


def refused(folder: Path, op: str, dtype: int, weights: list[Any], opset: int = 13, **attributes: Any) -> str:
    """What the conversion says of one node, on one line."""
    fixed = [numpy_helper.from_array(np.asarray(one), f"w{at}") for at, one in enumerate(weights)]
    node = helper.make_node(op, ["x", *(one.name for one in fixed)], ["y"], **attributes)
    x = helper.make_tensor_value_info("x", dtype, ["n", 3])
    y = helper.make_empty_tensor_value_info("y")
    graph = onnx.helper.make_graph([node], "g", [x], [y], fixed)
    bare = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.save(onnx.shape_inference.infer_shapes(bare), str(folder / "m.onnx"))
    done = to_mindir.convert(str(folder / "m.onnx"))
    assert done.model is None
    return "; ".join(one.title for one in done.findings)


def test_what_has_no_right_answer_is_refused_by_name(tmp_path: Path) -> None:
    floats = TensorProto.FLOAT
    assert "training_mode" in refused(tmp_path, "Dropout", floats, [np.float32(0.5), np.array(True)])
    assert "random" in refused(tmp_path, "RandomUniformLike", floats, [])
    assert "random" in refused(tmp_path, "Multinomial", floats, [])
    assert "float32" in refused(tmp_path, "BitCast", floats, [], 26, to=TensorProto.INT32)
