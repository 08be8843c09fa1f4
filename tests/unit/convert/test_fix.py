"""Half precision measured and mended without MindSpore: our conversion to ONNX stands in for it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mswb.cli.app import run
from mswb.convert.evaluator import evaluate
from mswb.convert.graph import TYPE_IDS, Builder, Value
from mswb.convert.mindir import schema
from mswb.convert.mindir.lift import lift
from mswb.convert.mindir.lint import lint
from mswb.convert.mindir.reader import read_file
from mswb.convert.mindir.writer import write
from mswb.convert.precision import fix
from mswb.convert.precision.half import limits_alone, range_of
from mswb.convert.verify import numbers
from mswb.convert.verify.alone import verify_alone
from mswb.convert.verify.result import Options

HALF = TYPE_IDS["float16"]


def model_of(builder: Builder, outputs: list[Value], path: Path) -> schema.Model:
    """Written to a file, and read again."""
    graph = replace(builder.finish(outputs), parameter=tuple(builder.shared.parameters))
    model = schema.Model(
        ir_version="1.1", producer_name="MindSpore", model_version="2.10.0", mind_ir_version=3, graph=graph,
        primitives=tuple(builder.shared.primitives.values()),
    )  # fmt: skip
    write(model, str(path))
    return read_file(str(path))


def softmax(path: Path, *, joined: bool = False) -> schema.Model:
    """x → float16 → Softmax → float32; ``joined``: of both halves of it, as an operator with a tuple as its input."""
    builder = Builder("main")
    x = builder.input("x", "float32", (4, 10))
    large = builder.op("Mul", x, builder.scalar(20.0, "float32"), shape=(4, 10))
    half = builder.cast(large, "float16")
    if joined:
        parts = builder.ops("Split", half, 1, 2, results=[("float16", (4, 5))] * 2)
        half = builder.op("Concat", builder.tuple(parts[::-1]), 1, dtype="float16", shape=(4, 10))
    soft = builder.op("Softmax", half, (-1,), shape=(4, 10))
    return model_of(builder, [builder.cast(soft, "float32")], path)


def test_a_lone_file_is_measured_and_what_measured_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "net.mindir"
    softmax(path)
    found = verify_alone(str(path), Options())
    assert found.verdict == "failed"
    assert [one.op for one in found.operators if one.verdict == "failed"] == ["Softmax"]
    assert "no Python with MindSpore" in found.engines["target"] and "double precision" in found.engines["reference"]


@pytest.mark.parametrize("joined", [False, True])
def test_what_feeds_a_softmax_goes_with_it(joined: bool, tmp_path: Path) -> None:
    path, target = tmp_path / "net.mindir", tmp_path / "mended.mindir"
    softmax(path, joined=joined)
    proposal = fix.propose(str(path), Options())
    assert proposal.solved and not proposal.remaining
    changed = [one.op for one in proposal.changes]
    assert changed[0] == "Cast" and "Softmax" in changed
    assert fix.save(proposal, str(target)) == target.stat().st_size
    assert not [one for one in lint(str(target)).findings if one.severity == "error"]
    assert verify_alone(str(target), Options()).verdict == "passed"


def test_lifted_operators_compute_the_same(tmp_path: Path) -> None:
    """Any set of results may be lifted: exact arithmetic does not change, and the file stays sound."""
    path, target = tmp_path / "net.mindir", tmp_path / "lifted.mindir"
    model = softmax(path, joined=True)
    assert model.graph is not None
    subject = numbers.target(str(path))
    x = np.random.default_rng(5).standard_normal((4, 10)).astype(np.float32)
    wanted = evaluate(str(path), model, [x])
    halves = [node.output[0] for node in model.graph.node if node.op_type != "Constant"][1:-1]
    dtypes = {name: "float16" for name in halves if "Split" not in name and "MakeTuple" not in name}
    for number in range(1 << len(halves)):
        chosen = [name for at, name in enumerate(halves) if number >> at & 1]
        subject.save(lift(model, chosen, dtypes).model, target)
        assert not [one for one in lint(str(target)).findings if one.severity == "error"], chosen
        np.testing.assert_array_equal(evaluate(str(target), read_file(str(target)), [x])[0], wanted[0])


def test_an_output_in_half_precision_becomes_float32_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "net.mindir"
    builder = Builder("main")
    x = builder.input("x", "float32", (4, 10))
    soft = builder.op("Softmax", builder.cast(x, "float16"), (-1,), shape=(4, 10))
    model_of(builder, [soft], path)
    proposal = fix.propose(str(path), Options())
    assert proposal.outputs == (soft.name,) and proposal.removed == 1 and proposal.casts == 0
    assert proposal.model.graph is not None
    assert proposal.model.graph.output[0].tensor[0].data_type == schema.Tensor(data_type=1).data_type


def test_a_model_that_is_right_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.mindir"
    builder = Builder("main")
    x = builder.input("x", "float32", (4, 10))
    model_of(builder, [builder.op("Softmax", x, (-1,), shape=(4, 10))], path)
    assert fix.propose(str(path), Options()).changes == ()
    before = path.read_bytes()
    assert run(["convert", "fix", str(path), "--output_file", str(path)]) == 2
    assert "overwrite" in capsys.readouterr().err and path.read_bytes() == before
    assert os.listdir(tmp_path) == ["net.mindir"]


def test_a_model_that_can_not_be_measured_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.mindir"
    builder = Builder("main")
    x = builder.input("x", "float32", (2,))
    model_of(builder, [builder.op("NoSuchThing", x, shape=(2,), attributes={})], path)
    assert run(["convert", "fix", str(path)]) == 2
    told = capsys.readouterr().err.strip()
    assert "NoSuchThing" in told and "\n" not in told


def test_a_sensitive_operator_is_judged_as_float32_is() -> None:
    strict, loose = limits_alone("Softmax", ["float16"]), limits_alone("MatMul", ["float32", "float16"])
    assert strict is not None and loose is not None and strict.atol < loose.atol
    assert limits_alone("MatMul", ["float32"]) == strict and limits_alone("Equal", ["bool"]) is None


def test_what_half_precision_can_not_hold() -> None:
    found = range_of(np.array([1.0, -65504.0, 70000.0, np.inf, np.nan, 1e-6, 0.0]))
    assert (found.largest, found.overflows, found.subnormal, found.elements) == (70000.0, 1, 1, 7)
