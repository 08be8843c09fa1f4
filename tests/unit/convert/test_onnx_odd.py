"""Models that are valid, and written in ways that few exporters use; and what a conversion holds in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from mswb.convert import to_mindir, wire
from mswb.convert.mindir import lint, reader, schema
from mswb.convert.mindir.writer import varint
from tests.unit.convert.onnx_models import model_of, outside, saved, small, weighted


def converted(path: Path) -> schema.Model:
    """The model that was written, which has no defect."""
    done = to_mindir.convert(str(path))
    assert done.model is not None, [one.title for one in done.findings]
    target = path.with_suffix(".mindir")
    to_mindir.save(done, str(target))
    assert not lint.lint(str(target)).has_errors
    return reader.read_file(str(target))


def calls(model: schema.Model) -> list[str]:
    """The operators of the entry graph, in order."""
    types = {f"REF::{one.name}": one.op_type or "" for one in model.primitives}
    assert model.graph is not None
    return [types[node.op_type or ""] for node in model.graph.node if node.op_type in types]


def inputs(model: schema.Model) -> list[str]:
    assert model.graph is not None
    return [value.name or "" for value in model.graph.input]


def test_unsorted_unnamed_and_duplicate_nodes(tmp_path: Path) -> None:
    model = small()
    nodes = [*reversed(model.graph.node), helper.make_node("Exp", ["y"], ["z"], name="twin")]
    nodes[0].name = "twin"
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    assert calls(converted(saved(model, tmp_path))) == ["Neg", "Add", "Exp"]


def test_an_optional_input_that_is_left_out(tmp_path: Path) -> None:
    text = "g (float[2,3] x, float top) => (float[2,3] y) { y = Clip(x, , top) }"
    made = converted(saved(model_of(text), tmp_path))
    assert inputs(made) == ["x", "top"]
    assert {"Minimum", "Less"} & set(calls(made)) and not {"Maximum", "Greater"} & set(calls(made))


def test_initializers_that_several_nodes_share(tmp_path: Path) -> None:
    model = weighted()
    model.graph.node.append(helper.make_node("Mul", ["y", "w"], ["z"]))
    model.graph.output.append(helper.make_tensor_value_info("z", 1, None))
    made = converted(saved(model, tmp_path))
    assert made.graph is not None and [one.name for one in made.graph.parameter] == ["w"]
    assert [value.name for value in made.graph.output] == [node.name for node in made.graph.node][-2:]


@pytest.mark.parametrize("size", [2, 64], ids=["small", "large"])
def test_initializers_among_the_inputs_before_ir_4(size: int, tmp_path: Path) -> None:
    model = weighted(size, size)
    model.ir_version = 3
    model.graph.input.append(helper.make_tensor_value_info("w", 1, [size, size]))
    made = converted(saved(model, tmp_path))
    assert inputs(made) == ["x"] and calls(made) == ["Add"]


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_the_default_domain_by_either_name(domain: str, tmp_path: Path) -> None:
    model = small()
    model.opset_import[0].domain = domain
    for node in model.graph.node:
        node.domain = domain
    assert calls(converted(saved(model, tmp_path))) == ["Neg", "Add"]


def test_a_function_of_the_model(tmp_path: Path) -> None:
    model = small()
    body = [helper.make_node("Exp", ["a"], ["e"]), helper.make_node("Add", ["e", "a"], ["b"])]
    model.functions.append(helper.make_function("own", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 17)]))
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.graph.node[0].CopyFrom(helper.make_node("Twice", ["x"], ["a"], domain="own"))
    assert calls(converted(saved(model, tmp_path))) == ["Exp", "Add", "Add"]


@pytest.mark.parametrize("opset", [1, 6])
def test_old_opsets_where_the_operators_mean_the_same(opset: int, tmp_path: Path) -> None:
    text = "g (float[n,3] x) => (float[n,3] y) { a = Transpose<perm = [1, 0]>(x) y = Transpose(a) }"
    assert calls(converted(saved(model_of(text, opset=opset), tmp_path))) == ["Transpose", "Transpose"]


def test_an_old_broadcast_is_rewritten(tmp_path: Path) -> None:
    text = "g (float[2,3] x, float[2] w) => (float[2,3] y) { y = Add<axis = 0, broadcast = 1>(x, w) }"
    made = converted(saved(model_of(text, opset=6), tmp_path))
    assert "Add" in calls(made)
    assert dict((one.key, one.value) for one in made.user_info)["mswb.opset"] == "6"


def test_open_sizes_and_order_of_inputs_are_kept(tmp_path: Path) -> None:
    head = "g (float[n,?,3] b, int64[2] a, float16 c) => (float[n,m,3] d, int64[2] e, float16 f)"
    text = head + "{ d = Neg(b) e = Neg(a) f = Neg(c) }"
    made = converted(saved(model_of(text), tmp_path))
    assert made.graph is not None
    assert [(one.name, one.tensor[0].dims, one.tensor[0].data_type) for one in made.graph.input] == [
        ("b", (-1, -1, 3), 1), ("a", (2,), 7), ("c", (), 10),
    ]  # fmt: skip


def test_weights_are_the_same_bytes_from_either_place(tmp_path: Path) -> None:
    wanted = numpy_helper.to_array(weighted().graph.initializer[0])
    (tmp_path / "a").mkdir()
    for path in (outside(tmp_path / "a"), saved(weighted(), tmp_path)):
        made = converted(path)
        assert made.graph is not None and isinstance(made.graph.parameter[0].raw_data, wire.Span)
        with wire.open_source(str(path.with_suffix(".mindir"))) as source:
            data = b"".join(source.pieces(made.graph.parameter[0].raw_data))
        assert np.array_equal(np.frombuffer(data, np.float32).reshape(64, 64), wanted)


def test_a_weight_of_200_mb_is_never_in_memory(tmp_path: Path) -> None:
    rows = 50 * 1024
    path = _huge(tmp_path / "huge.onnx", rows, 1024)
    assert path.stat().st_size > 200_000_000
    tracemalloc.start()
    try:
        done = to_mindir.convert(str(path))
        written = to_mindir.save(done, str(tmp_path / "huge.mindir"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert written > 4 * rows * 1024 and written == (tmp_path / "huge.mindir").stat().st_size
    assert peak < 20_000_000
    assert not lint.lint(str(tmp_path / "huge.mindir")).has_errors


def _huge(path: Path, rows: int, cols: int) -> Path:
    """A model whose only weight is a hole in the file."""
    model = weighted(1, cols)
    graph, tensor = onnx.GraphProto(), onnx.TensorProto(name="w", data_type=1, dims=[rows, cols])
    graph.CopyFrom(model.graph)
    del graph.initializer[:]
    model.ClearField("graph")
    size = rows * cols * 4
    inner = tensor.SerializeToString() + b"\x4a" + varint(size)
    field = b"\x2a" + varint(len(inner) + size) + inner
    outer = graph.SerializeToString() + field
    head = model.SerializeToString() + b"\x3a" + varint(len(outer) + size) + outer
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
    return path
