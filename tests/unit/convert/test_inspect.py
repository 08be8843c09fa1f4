"""What is told of a model: real MindIR files, and ONNX files judged by the onnx package."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mswb.convert.facts import ModelFacts, ValueFacts, value_text
from mswb.convert.inspect import inspect
from mswb.findings import MswbError
from tests.unit.convert.models import NETS, REAL
from tests.unit.inventories import MODELS


def info(name: str, shape: list[int | str | None] | None, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def make_model(folder: Path, *, outside: bool = False) -> Path:
    """A model with a branch, a function, two domains, open sizes and a weight."""
    weight = numpy_helper.from_array(np.ones((3, 4), np.float32), "w")
    typed = helper.make_tensor("t", TensorProto.INT64, [2], [1, 2])
    branch = helper.make_graph([helper.make_node("Relu", ["y"], ["r"])], "then", [], [info("r", None)], [typed])
    other = helper.make_graph([helper.make_node("Neg", ["y"], ["n"])], "else", [], [info("n", None)])
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=other),
        helper.make_node("Twice", ["z"], ["o"], domain="own"),
    ]
    inputs = [info("x", ["N", None, 3]), info("c", [], TensorProto.BOOL), info("w", [3, 4])]
    graph = helper.make_graph(nodes, "main", inputs, [info("o", None)], [weight])
    own = helper.make_function(
        "own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, functions=[own], opset_imports=opsets, producer_name="me", producer_version="2")
    helper.set_model_props(model, {"key": "value"})
    path = folder / "model.onnx"
    onnx.save(model, str(path), save_as_external_data=outside, location="data.bin", size_threshold=0)
    return path


def test_onnx(tmp_path: Path) -> None:
    path = make_model(tmp_path)
    facts = inspect(str(path))
    assert (facts.format, facts.producer, facts.size_bytes) == ("onnx", "me 2", path.stat().st_size)
    assert dict(facts.versions) == {
        "ir_version": str(onnx.load(str(path)).ir_version),
        "opset ai.onnx": "17",
        "opset own": "1",
    }
    counts = {graph.name: graph.nodes for graph in facts.graphs}
    assert counts == {"main": 3, "then": 1, "else": 1, "Twice": 1} and facts.graphs[0].name == "main"
    assert facts.graphs[0].inputs == (
        ValueFacts("x", "float32", ("N", "?", 3)),
        ValueFacts("c", "bool", ()),
    )  # not the weight
    assert dict(facts.operators) == dict.fromkeys(("MatMul", "If", "Relu", "Neg", "own.Twice", "Add"), 1)
    assert [(one.name, one.dtype, one.shape) for one in facts.weights] == [
        ("w", "float32", (3, 4)),
        ("t", "int64", (2,)),
    ]
    weight = facts.weights[0]
    assert path.read_bytes()[weight.offset :][: weight.bytes] == np.ones((3, 4), np.float32).tobytes()
    assert facts.user_info == (("key", "value"),) and facts.external_files == ()


def test_onnx_with_weights_elsewhere(tmp_path: Path) -> None:
    facts = inspect(str(make_model(tmp_path, outside=True)))
    weight = next(one for one in facts.weights if one.name == "w")
    assert facts.external_files == (str(tmp_path / "data.bin"),)
    data = (tmp_path / "data.bin").read_bytes()[weight.offset :][: weight.bytes]
    assert data == np.ones((3, 4), np.float32).tobytes()


def test_the_data_types_are_those_of_onnx() -> None:
    from mswb.convert.onnx.reader import DTYPES

    for number, name in enumerate(DTYPES[1:], 1):
        proto = TensorProto.DataType.Name(number).lower()
        assert {"float": "float32", "double": "float64"}.get(proto, proto) == name


@pytest.mark.parametrize("name", NETS)
def test_mindir(name: str) -> None:
    facts = inspect(str(REAL / f"{name}.mindir"))
    assert facts.producer == "MindSpore 2.10.0" and facts.format == "mindir"
    assert facts.nodes == sum(count for _, count in facts.operators) > 0
    assert "(unknown)" not in dict(facts.operators)
    assert all(one.bytes == np.prod(one.shape) * np.dtype(one.dtype).itemsize for one in facts.weights)


def test_a_mindir_in_full() -> None:
    facts = inspect(str(REAL / "dyn.mindir"))
    assert [value_text(value) for value in facts.graphs[0].inputs] == ["input_data float32 [?, 3]"]
    assert Counter(dict(facts.operators))["MatMul"] == 1
    assert [(one.name, one.shape, one.bytes) for one in facts.weights] == [
        ("0.weight", (4, 3), 48),
        ("0.bias", (4,), 16),
    ]
    called = dict(inspect(str(REAL / "while.mindir")).operators)
    assert called["(call)"] == 3 and called["Switch"] == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ValueFacts("x", "float16", None), "x float16 [...]"),
        (ValueFacts("u", "", None), "u"),
        (ValueFacts("s", "int8", ()), "s int8 []"),
    ],
)
def test_values_as_text(value: ValueFacts, text: str) -> None:
    assert value_text(value) == text


def test_a_cut_onnx_says_so(tmp_path: Path) -> None:
    path = make_model(tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(MswbError) as stopped:
        inspect(str(path))
    assert stopped.value.finding.code == "truncated" and "ONNX" in stopped.value.finding.title


def test_facts_sum_up() -> None:
    empty = ModelFacts("/m", "onnx", 0, "", (), (), (), ())
    assert (empty.weights_bytes, empty.nodes, empty.external_files) == (0, 0, ())
    assert inspect(str(MODELS / "net.onnx")).weights_bytes == 32
