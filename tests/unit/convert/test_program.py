"""MindIR models walked through: control flow to ONNX and back in numbers, and what can't be followed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx.reference
import onnxruntime
import pytest

from mswb.convert import to_mindir, to_onnx
from mswb.convert.evaluator import evaluate
from mswb.convert.graph import Builder, Value
from mswb.convert.mindir import schema
from mswb.convert.mindir.reader import read_file
from mswb.convert.mindir.writer import write
from mswb.convert.onnx.node import Refused
from mswb.convert.program import title, value_of
from tests.unit.convert.models import REAL, with_graph, with_nodes
from tests.unit.convert.onnx_models import model_of, saved

IF = """g (float[n] x, bool c) => (float[n] y) {
    y = If(c) <then_branch = a () => (float[n] p) { s = Add(x, x) p = Neg(s) },
               else_branch = b () => (float[n] q) { q = Mul(x, x) }>
}"""
NESTED = """g (float[n] x, bool c, bool d) => (float[n] y) {
    r = If(c) <then_branch = a () => (float[n] p) {
                   p = If(d) <then_branch = e () => (float[n] u) { u = Neg(x) },
                              else_branch = f () => (float[n] v) { v = Abs(x) }> },
               else_branch = b () => (float[n] q) { q = Mul(x, x) }>
    y = Add(r, x)
}"""
LOOP = """g (float[n] x, int64 most, bool c) => (float[n] y, int64 k) {
    z = Constant<value = int64 {0}>()
    y, k = Loop(most, c, x, z) <
        body = b (int64 i, bool go, float[n] v, int64 w) => (bool go2, float[n] v2, int64 w2) {
            v2 = Add(v, x) w2 = Add(w, i) four = Constant<value = int64 {4}>() go2 = Less(i, four)
        }>
}"""


def both_ways(text: str, folder: Path, **inputs: np.ndarray) -> None:
    """ONNX to MindIR to ONNX gives what the first ONNX gives; so does our evaluation of the MindIR."""
    path = saved(model_of(text), folder)
    done = to_mindir.convert(str(path))
    assert done.model is not None, done.findings
    mindir = folder / "net.mindir"
    to_mindir.save(done, str(mindir))
    back = to_onnx.convert(str(mindir))
    assert back.proto is not None, back.findings
    onnx.checker.check_model(back.proto, full_check=True)
    wanted = onnx.reference.ReferenceEvaluator(str(path)).run(None, inputs)
    session = onnxruntime.InferenceSession(back.proto.SerializeToString())
    assert [one.name for one in session.get_inputs()] == list(inputs)
    found = session.run(None, inputs)
    exact = evaluate(str(mindir), read_file(str(mindir)), list(inputs.values()))
    for one, other, third in zip(found, wanted, exact, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-6)
        np.testing.assert_allclose(third, other, rtol=1e-6)


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch(condition: bool, tmp_path: Path) -> None:
    both_ways(IF, tmp_path, x=np.array([1.5, -2, 3], np.float32), c=np.array(condition))


@pytest.mark.parametrize(("one", "other"), [(True, True), (True, False), (False, True)])
def test_branches_in_one_another(one: bool, other: bool, tmp_path: Path) -> None:
    x = np.array([1.5, -2, 3], np.float32)
    both_ways(NESTED, tmp_path, x=x, c=np.array(one), d=np.array(other))


@pytest.mark.parametrize(("most", "going"), [(0, True), (3, True), (100, True), (3, False)])
def test_a_loop(most: int, going: bool, tmp_path: Path) -> None:
    x = np.array([1.5, -2, 3], np.float32)
    both_ways(LOOP, tmp_path, x=x, most=np.array(most, np.int64), c=np.array(going))


def test_a_long_loop_is_no_deep_one() -> None:
    path = str(REAL / "while.mindir")
    (found,) = evaluate(path, read_file(path), [np.zeros((2, 4), np.float32), np.array(5000, np.int32)])
    assert found.shape == (2, 4)


@pytest.mark.parametrize("name", ["if", "while"])
def test_control_flow_of_real_mindspore(name: str) -> None:
    path = str(REAL / f"{name}.mindir")
    done = to_onnx.convert(path)
    assert done.proto is not None, done.findings
    assert {"if": "If", "while": "Loop"}[name] in {node.op_type for node in done.proto.graph.node}
    session = onnxruntime.InferenceSession(done.proto.SerializeToString())
    for sign in (1.0, -1.0):
        x = np.full((2, 4), sign, np.float32)
        inputs = [x] if name == "if" else [x, np.array(3, np.int32)]
        given = {one.name: array for one, array in zip(session.get_inputs(), inputs, strict=True)}
        exact = evaluate(path, read_file(path), inputs)
        np.testing.assert_allclose(session.run(None, given)[0], exact[0], rtol=1e-5)


def test_what_is_not_defined_is_named() -> None:
    model = with_nodes(
        read_file(str(REAL / "mlp.mindir")),
        lambda node: () if node.name and node.name.endswith(":3") and "MatMul" in (node.op_type or "") else (node,),
    )
    with pytest.raises(Refused, match="nothing defines"):
        evaluate(str(REAL / "mlp.mindir"), model, [np.zeros((2, 4), np.float32)])


def test_functions_that_call_each_other_for_ever(tmp_path: Path) -> None:
    """A closure that enters itself without a choice: there is no end to it, and no form in ONNX."""
    builder = Builder("main")
    inner = Builder("again", builder.shared)
    x = inner.input("v", "float32", (2,))
    inner.shared.functions.append(inner.finish([inner.call("REF::again", "again", [x], dtype="float32")]))
    given = builder.input("x", "float32", (2,))
    graph = builder.finish([builder.call("REF::again", "call", [given], dtype="float32")])
    path = tmp_path / "endless.mindir"
    write(whole(builder, graph), str(path))
    with pytest.raises(Refused, match="functions"):
        evaluate(str(path), read_file(str(path)), [np.zeros(2, np.float32)])
    done = to_onnx.convert(str(path))
    assert done.proto is None and [one.code for one in done.findings] == ["unsupported-form"]


def whole(builder: Builder, graph: schema.Graph) -> schema.Model:
    """A file around a graph."""
    return schema.Model(
        ir_version="1.1", producer_name="MindSpore", model_version="2.10.0", mind_ir_version=3,
        graph=replace(graph, parameter=tuple(builder.shared.parameters)), functions=tuple(builder.shared.functions),
        primitives=tuple(builder.shared.primitives.values()),
    )  # fmt: skip


def test_everything_that_is_blocked_is_told_at_once(tmp_path: Path) -> None:
    builder = Builder("main")
    x = builder.input("x", "float32", (2,))
    first = builder.op("NoSuchThing", x, dtype="float32", shape=(2,), attributes={})
    second = builder.op("NorThisOne", first, dtype="float32", shape=(2,), attributes={})
    path = tmp_path / "odd.mindir"
    write(whole(builder, builder.finish([second])), str(path))
    done = to_onnx.convert(str(path))
    assert done.proto is None
    assert [one.values["op"] for one in done.findings if one.code == "unsupported-op"] == ["NoSuchThing", "NorThisOne"]


def test_a_graph_without_results_of_its_own(tmp_path: Path) -> None:
    """An output that is an input, twice, and a constant: each is written by a node, under a name of its own."""
    builder = Builder("main")
    x = builder.input("x", "float32", (None, 2))
    constant = builder.constant(np.array([1, 2], np.int32))
    path = tmp_path / "plain.mindir"
    write(whole(builder, builder.finish([x, x, constant])), str(path))
    done = to_onnx.convert(str(path))
    assert done.proto is not None, done.findings
    onnx.checker.check_model(done.proto, full_check=True)
    given = np.ones((3, 2), np.float32)
    found = onnxruntime.InferenceSession(done.proto.SerializeToString()).run(None, {"x": given})
    assert [one.tolist() for one in found] == [given.tolist(), given.tolist(), [1, 2]]


def test_attributes_of_every_kind() -> None:
    attribute = schema.Attribute
    element = (attribute(type=7, ints=(3,)), attribute(type=9, ints=(1,)), attribute(type=1, floats=(0.5,)))
    for given, wanted in (
        (attribute(type=9, i=1), True),
        (attribute(type=7, i=-4), -4),
        (attribute(type=1, f=0.25), 0.25),
        (attribute(type=8, s=b"NCHW"), "NCHW"),
        (attribute(type=25), None),
        (attribute(type=23), None),
        (attribute(type=20, values=element), (3, True, 0.5)),
        (attribute(type=20), ()),
    ):
        found = value_of("", given)
        assert found == wanted and type(found) is type(wanted)


def test_a_node_is_called_by_its_scope() -> None:
    assert title(schema.Node(name="a:3", domain="Default/backbone/0-Dense/MatMul-op0")) == "backbone/0-Dense/MatMul-op0"
    assert title(schema.Node(name="a:3", domain="Default")) == "a:3"
    assert title(schema.Node(output=("y",))) == "y"


def test_results_are_let_go_when_nothing_reads_them_any_more() -> None:
    """Of a model without functions; else a function might read them."""
    from mswb.convert.evaluator import Evaluation

    path = str(REAL / "mlp.mindir")
    held: list[int] = []

    class Watched(Evaluation):
        def _keep(self, values: dict[str, object], node: schema.Node, found: object) -> None:
            super()._keep(values, node, found)
            held.append(sum(isinstance(one, np.ndarray) and one.shape == (2, 8) for one in values.values()))

    model = with_graph(read_file(path), lambda graph: graph)
    Watched(path, model)([np.zeros((2, 4), np.float32)])
    assert max(held) == 2  # one that is read and one that is made of it, of four results with this shape


def test_a_value_knows_its_sizes() -> None:
    assert Value("x", "float32", (2, None)).fixed is None
