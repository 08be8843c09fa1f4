"""Verifications on real MindSpore: a right conversion passes, and of a wrong one the operator is named."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from mswb.cli.app import run
from mswb.convert import to_mindir, wire
from mswb.convert.engines.ort import Found, OnnxRuntime
from mswb.convert.mindir import reader, writer
from mswb.convert.mindir.schema import Model, Node
from mswb.convert.verify.conversion import verify_files
from mswb.convert.verify.result import Options, Verification
from mswb.findings import MswbError

pytestmark = [pytest.mark.mindspore, pytest.mark.timeout(900)]
WITH = Options(python=sys.executable)
WANTED = {
    "op", "node", "output", "input_shapes", "output_shape", "dtype", "max_abs_error", "local_max_abs_error",
    "scaled_error", "cosine", "worst_index", "nan_count", "verdict",
}  # fmt: skip
"""Keys of an operator in a report."""


def saved(folder: Path, nodes: list[onnx.NodeProto], weights: dict[str, Any], shape: list[Any]) -> Path:
    """A model with the input x and the output y, and its conversion beside it."""
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], tensors)
    path = folder / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    to_mindir.save(to_mindir.convert(str(path)), str(folder / "net.mindir"))
    return path


def chain(folder: Path) -> Path:
    noise = np.random.default_rng(3)
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["a"], "scale"),
        helper.make_node("Add", ["a", "b"], ["c"], "shift"),
        helper.make_node("Relu", ["c"], ["d"], "relu"),
        helper.make_node("Sub", ["d", "x"], ["e"], "rest"),
        helper.make_node("Exp", ["e"], ["y"], "exp"),
    ]
    weights = {"w": noise.standard_normal((2000,)).astype(np.float32), "b": np.full((2000,), 0.25, np.float32)}
    return saved(folder, nodes, weights, ["n", 2000])


def changed(folder: Path, change: Callable[[Node], Node]) -> None:
    """The converted file with its nodes changed, as a converter with a defect would have written it."""
    path = str(folder / "net.mindir")
    with wire.open_source(path) as source:
        model = reader.read(source)
        assert model.graph is not None
        nodes = tuple(change(node) for node in model.graph.node)
        writer.write(replace(model, graph=replace(model.graph, node=nodes)), str(folder / "bad.mindir"), source)


def primitive(model: Model, op: str) -> str:
    return next(f"REF::{one.name}" for one in model.primitives if one.op_type == op)


def swapped(folder: Path, node_name: str, op: str) -> None:
    """Another operator in place of that of one node."""
    wanted = primitive(reader.read_file(str(folder / "net.mindir")), op)
    changed(folder, lambda one: replace(one, op_type=wanted) if (one.name or "").startswith(f"{node_name}/") else one)


def verified(path: Path, mindir: str = "net.mindir", options: Options = WITH) -> Verification:
    return verify_files(str(path), str(path.parent / mindir), options)


def test_a_right_conversion_passes_at_three_shapes(tmp_path: Path) -> None:
    found = verified(chain(tmp_path))
    assert found.verdict == "passed" and not found.findings, found.findings
    assert set(found.layers.values()) == {"passed"}
    assert len({one["x"] for one in found.shapes}) == 3
    assert {one.shape_number for one in found.outputs} == {0, 1, 2}
    assert [one.node for one in found.operators] == ["scale", "shift", "relu", "rest", "exp"]
    for one in found.operators:
        assert one.local is not None and one.accumulated is not None
        assert one.local.elements == one.accumulated.elements > 0
        assert one.output_shape == (found.shapes[0]["x"][0], 2000)
    assert "onnxruntime" in found.engines["reference"] and "MindSpore 2" in found.engines["target"]


@pytest.mark.parametrize("budget", [128 << 20, 1])
def test_the_wrong_operator_is_named_and_those_after_it_are_not(tmp_path: Path, budget: int) -> None:
    path = chain(tmp_path)
    swapped(tmp_path, "shift", "Sub")
    found = verified(path, "bad.mindir", replace(WITH, budget=budget))
    assert found.verdict == "failed"
    verdicts = {one.node: one.verdict for one in found.operators}
    assert verdicts == {
        "scale": "passed", "shift": "failed", "relu": "inherited", "rest": "inherited", "exp": "inherited"
    }  # fmt: skip
    assert found.first_bad is not None and found.first_bad.node == "shift"
    assert found.worst_first[0].node == "shift"
    assert [one.code for one in found.findings] == ["over-threshold"]
    finding = found.findings[0]
    assert finding.where.node == "shift" and finding.values["error"] > finding.values["limit"]
    shift = found.operators[1]
    assert shift.local is not None and shift.local.max_abs_error == pytest.approx(0.5, abs=1e-3)


def test_nan_is_told_as_such(tmp_path: Path) -> None:
    nodes = [helper.make_node("Abs", ["x"], ["a"], "abs"), helper.make_node("Sqrt", ["a"], ["y"], "root")]
    path = saved(tmp_path, nodes, {}, [3, 5])
    model = reader.read_file(str(tmp_path / "net.mindir"))
    assert model.graph is not None
    given, absolute = model.graph.input[0].name or "", next(one.name for one in model.graph.node)

    def skip(node: Node) -> Node:
        return replace(node, input=tuple(given if name == absolute else name for name in node.input))

    changed(tmp_path, skip)
    found = verified(path, "bad.mindir")
    assert found.verdict == "failed"
    assert "nan-introduced" in {one.code for one in found.findings}


def test_a_threshold_is_kept(tmp_path: Path) -> None:
    path = chain(tmp_path)
    assert verified(path, options=replace(WITH, threshold=1e3)).verdict == "passed"
    strict = verified(path, options=replace(WITH, threshold=0.0))
    loose = verified(path)
    worst = max(one.comparison.max_abs_error or 0 for one in loose.outputs)
    assert (strict.verdict == "failed") is (worst > 0)


def test_inputs_of_a_file(tmp_path: Path) -> None:
    path = chain(tmp_path)
    np.savez(tmp_path / "in.npz", x=np.zeros((4, 2000), np.float32))
    found = verified(path, options=replace(WITH, inputs_file=str(tmp_path / "in.npz")))
    assert found.verdict == "passed" and [one["x"] for one in found.shapes] == [(4, 2000)]


def test_without_mindspore_nothing_passes(tmp_path: Path) -> None:
    path = chain(tmp_path)
    for python in ("", "/bin/false"):
        found = verified(path, options=Options(python=python))
        assert found.verdict == "nothing-compared" and found.layers["numbers"] == "not-compared"
        assert [one.code for one in found.findings] == ["numbers-not-compared"]


def test_a_file_that_is_damaged_fails_before_any_number(tmp_path: Path) -> None:
    path = chain(tmp_path)
    changed(tmp_path, lambda one: replace(one, input=(*one.input[:1], "nowhere")) if len(one.input) == 2 else one)
    found = verified(path, "bad.mindir")
    assert found.verdict == "failed" and found.layers["structure"] == "failed" and not found.operators


def test_where_onnxruntime_is_wrong_the_reference_evaluator_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [helper.make_node("Mul", ["x", "x"], ["a"], "square"), helper.make_node("Abs", ["a"], ["y"], "abs")]
    path = saved(tmp_path, nodes, {}, [3, 5])
    real, file = OnnxRuntime.run, OnnxRuntime.run_file

    def odd(self: Any, model: Any, nodes: Any, given: Any, wanted: Any, evaluate: Any = ()) -> Found:
        found = real(self, model, nodes, given, wanted, evaluate)
        return found if "Abs" in evaluate else shifted(found)

    def shifted(found: Found) -> Found:
        return replace(found, arrays={name: array + np.float32(name == "y") for name, array in found.arrays.items()})

    monkeypatch.setattr(OnnxRuntime, "run", odd)
    monkeypatch.setattr(OnnxRuntime, "run_file", lambda *arguments: shifted(file(*arguments)))
    found = verified(path)
    assert [(one.code, one.values["op"]) for one in found.findings] == [("engines-differ", "Abs")]
    assert found.verdict == "passed" and {one.verdict for one in found.operators} == {"passed"}
    assert "Abs" in found.engines["evaluator"]


def test_an_operator_that_mindspore_refuses_is_found_among_many(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x" if at == 0 else f"t{at}"], [f"t{at + 1}"], f"r{at}") for at in range(9)]
    nodes.append(helper.make_node("Add", ["t9", "b"], ["y"], "sum"))
    weights = {"b": np.ones(7, np.float32), "five": np.ones(5, np.float32)}
    path = saved(tmp_path, nodes, weights, [3, 7])
    model = reader.read_file(str(tmp_path / "net.mindir"))
    assert model.graph is not None
    add = primitive(model, "Add")
    five = next(one.name or "" for one in model.graph.node if one.attribute and (5,) in dims(one))

    def broken(node: Node) -> Node:
        is_wanted = (node.name or "").startswith("r4/")
        return replace(node, op_type=add, input=(*node.input, five)) if is_wanted else node

    changed(tmp_path, broken)
    found = verified(path, "bad.mindir")
    assert found.verdict == "failed" and found.layers["structure"] == "passed"
    assert {one.code for one in found.findings} == {"model-does-not-run", "operator-does-not-run"}
    assert found.first_bad is not None and found.first_bad.node == "r4"
    assert [one.node for one in found.operators if one.verdict == "failed"] == ["r4"]
    assert sum(one.local is not None for one in found.operators) == 9


def dims(node: Node) -> set[tuple[int, ...]]:
    return {tensor.dims for one in node.attribute for tensor in one.tensors}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = chain(tmp_path)
    words = ["convert", "--input_file", str(path), "--output_file", str(tmp_path / "out.mindir"), "--verify"]
    assert run([*words, "-v", "--python", sys.executable]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[-1] == "Verification passed"
    assert sum(line.startswith("[VERIFY] Op: ") for line in shown) == 5
    line = next(line for line in shown if line.startswith("[VERIFY] Op: Add"))
    assert "input_shape: [2,2000] [2000], output_shape: [2,2000], max_abs_error: 0" in line
    swapped(tmp_path, "shift", "Sub")
    lone = ["convert", "--verify", "--input_file", str(tmp_path / "bad.mindir"), "--python", sys.executable]
    assert run([*lone, "--reference", str(path), "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "failed" and report["operators"][0]["node"] == "shift"
    assert report["operators"][0].keys() >= WANTED
    assert run(lone) == 0  # by itself it is sound
    assert capsys.readouterr().out.splitlines()[-1] == "Verification passed"


def test_inputs_that_no_engine_takes(tmp_path: Path) -> None:
    path = saved(tmp_path, [helper.make_node("Add", ["x", "b"], ["y"])], {"b": np.ones(7, np.float32)}, [3, 7])
    np.savez(tmp_path / "in.npz", x=np.ones((3, 6), np.float32))
    with pytest.raises(MswbError) as error:
        verified(path, options=replace(WITH, inputs_file=str(tmp_path / "in.npz")))
    assert error.value.finding.code == "verify-inputs"
