"""What writes into its input: later reads see it, earlier ones don't, and what can't be followed is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mswb.convert import to_onnx
from mswb.convert.evaluator import evaluate
from mswb.convert.graph import NUMBERS, Builder, Value
from mswb.convert.mindir.reader import read_file
from mswb.convert.mindir.schema import Model, Tensor
from mswb.convert.mindir.writer import write
from mswb.convert.onnx.node import Refused
from tests.unit.convert.primitive_models import agree, run_onnx, same, written

WRITES = {"side_effect_mem": True}
X, Y = np.array([[1, -2, 3]], np.float32), np.array([[4, 5, -6]], np.float32)


def _into(b: Builder, primitive: str, *given: Any, dtype: str = "float32") -> Value:
    return b.op(primitive, *given, dtype=dtype, attributes=WRITES)


@pytest.mark.parametrize(
    ("primitive", "more", "wanted"),
    [
        ("InplaceAddExt", (2,), X + 2 * Y),
        ("InplaceSubExt", (1,), X - Y),
        ("InplaceMul", (), X * Y),
        ("InplaceDiv", (), X / Y),
        ("InplaceFloorDivide", (), X // Y),
        ("InplaceCopy", (False,), Y),
    ],
)
def test_two_tensors(primitive: str, more: tuple[Any, ...], wanted: Any) -> None:
    agree(lambda b, x, y: _into(b, primitive, x, y, *more), [X, Y], [wanted])


@pytest.mark.parametrize(
    ("primitive", "more", "wanted"),
    [
        ("InplaceAddsExt", (1.5, 1), X + 1.5),
        ("InplaceSubScalar", (2, 1), X - 2),
        ("InplaceMuls", (3,), X * 3),
        ("InplaceDivs", (4,), X / 4),
        ("InplaceReLU", (), np.maximum(X, 0)),
        ("InplaceClampScalar", (-1.0, 2.0), np.clip(X, -1, 2)),
    ],
)
def test_a_tensor_and_numbers(primitive: str, more: tuple[Any, ...], wanted: Any) -> None:
    agree(lambda b, x: _into(b, primitive, x, *more), [X], [wanted])


def test_what_is_added_to_integers_is_cut_to_integers_first() -> None:
    x, y = np.array([1, 2]), np.array([0.9, -0.9], np.float32)
    agree(lambda b, x, y: _into(b, "InplaceAddExt", x, y, 1, dtype="int64"), [x, y], [np.array([1, 2])])


def test_later_reads_see_what_was_written_and_earlier_ones_do_not() -> None:
    def make(b: Builder, x: Value, y: Value) -> list[Value]:
        z = b.op("Muls", x, 2, shape=x.shape)
        before = b.op("Neg", z, shape=x.shape)
        result = _into(b, "InplaceAddExt", z, y, 1)
        return [before, result, b.op("Abs", z, shape=x.shape)]

    agree(make, [X, Y], [-2 * X, 2 * X + Y, np.abs(2 * X + Y)])


def test_a_weight_keeps_what_is_written_within_an_evaluation_and_is_refused_in_onnx(tmp_path: Path) -> None:
    b = Builder("graph")
    x = b.input("x", "float32", (3,))
    b.shared.parameters.append(Tensor(dims=(3,), data_type=NUMBERS["float32"], name="w", ref_key="w",
                                      raw_data=np.array([1, 2, 3], np.float32).tobytes()))  # fmt: skip
    weight = Value("w", "float32", (3,))
    before = b.op("Neg", weight)
    _into(b, "AssignAdd", weight, x)
    graph = b.finish([before, b.op("Neg", weight)])
    whole = replace(graph, parameter=tuple(b.shared.parameters))
    primitives = tuple(b.shared.primitives.values())
    model = Model(ir_version="0.1.0", producer_name="MindSpore", graph=whole, primitives=primitives)
    path = str(tmp_path / "model.mindir")
    write(model, path)
    given = np.array([10, 20, 30], np.float32)
    found = evaluate(path, read_file(path), [given])
    same(found, [np.array([-1, -2, -3.0]), np.array([-11, -22, -33.0])], 1e-6, "evaluation")
    done = to_onnx.convert(path)
    assert done.proto is None
    assert "changes a weight" in done.findings[0].values["reason"]


def test_a_fraction_is_not_written_into_integers(tmp_path: Path) -> None:
    path = written(lambda b, x: _into(b, "InplaceAddsExt", x, 0.5, 1, dtype="int64"), [np.array([1, 2])], tmp_path)
    done = to_onnx.convert(path)
    assert done.proto is None
    assert "fraction" in done.findings[0].values["reason"]


def _with_function(read: str, folder: Path) -> str:
    """A function that writes into its argument, and a read before or behind its call, or none."""
    b = Builder("graph")
    x = b.input("x", "float32", (3,))
    y = b.op("Muls", x, 2, shape=(3,))
    inner = Builder("inner", b.shared)
    function = inner.finish([_into(inner, "InplaceAddsExt", inner.input("inner.y", "float32", (3,)), 1.0, 1)])
    before = [b.op("Neg", y, shape=(3,))] if read == "before" else []
    result = b.call("REF::inner", "call", [y], "float32", (3,))
    behind = [b.op("Neg", y, shape=(3,))] if read == "behind" else []
    graph = b.finish([result, *before, *behind])
    model = Model(ir_version="0.1.0", producer_name="MindSpore", graph=graph, functions=(function,),
                  primitives=tuple(b.shared.primitives.values()))  # fmt: skip
    path = str(folder / "model.mindir")
    write(model, path)
    return path


@pytest.mark.parametrize("read", ["", "before"])
def test_a_function_may_write_into_what_nothing_reads_afterwards(read: str, tmp_path: Path) -> None:
    path, given = _with_function(read, tmp_path), np.array([1, -2, 3], np.float32)
    wanted = [2 * given + 1, *([-2 * given] if read else [])]
    same(run_onnx(path, [given]), wanted, 1e-6, "onnx")
    same(evaluate(path, read_file(path), [given]), wanted, 1e-6, "evaluation")


def test_a_function_may_not_write_into_what_is_read_afterwards(tmp_path: Path) -> None:
    path = _with_function("behind", tmp_path)
    done = to_onnx.convert(path)
    assert done.proto is None
    assert "read outside of its function" in done.findings[0].values["reason"]
    with pytest.raises(Refused, match="read outside of its function"):
        evaluate(path, read_file(path), [np.zeros(3, np.float32)])
