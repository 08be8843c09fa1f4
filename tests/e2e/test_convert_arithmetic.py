"""Element-wise operators, activations, reductions and quantisation, converted with a dynamic dimension and run by real
MindSpore at sizes that the conversion did not know, against the onnx package's own evaluator."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from mswb.convert import to_mindir
from mswb.convert.engines.mindspore import MindSpore

pytestmark = [
    pytest.mark.mindspore,
    pytest.mark.skipif(importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed"),
]
Given = tuple[str, Sequence[Any]]
"""Data type and dimensions of an input."""
X: Given = ("float32", ("n", 3, 4))


@pytest.fixture(scope="module")
def engine() -> Iterator[MindSpore]:
    with MindSpore(sys.executable, limit_s=120) as running:
        yield running


def model(op: str, given: Sequence[Given], attributes: dict[str, Any], weights: Sequence[Any], opset: int) -> Any:
    """One operator: its inputs first, then what is fixed."""
    inputs = [
        helper.make_tensor_value_info(f"x{at}", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(dims))
        for at, (dtype, dims) in enumerate(given)
    ]
    fixed = [numpy_helper.from_array(np.asarray(one), f"w{at}") for at, one in enumerate(weights)]
    names = [*(one.name for one in inputs), *(one.name for one in fixed)]
    node = helper.make_node(op, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")], fixed)
    bare = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    inferred = onnx.shape_inference.infer_shapes(bare)
    if not inferred.graph.output[0].type.HasField("tensor_type"):
        raise AssertionError(f"{op}: no type inferred")
    return inferred


def drawn(given: Sequence[Given], size: int) -> list[Any]:
    rng = np.random.default_rng(size)
    arrays = []
    for dtype, dims in given:
        shape = [size if one == "n" else one for one in dims]
        kind = np.dtype(dtype).kind
        low, high = (-9, 9) if kind == "i" else (0, 9)
        numbers = rng.normal(0, 2, shape) if kind == "f" else rng.integers(low, high, shape)
        arrays.append(np.asarray(numbers).astype(dtype))
    return arrays


def flat_softmax(x: Any) -> Any:
    """Before opset 13: over all axes from the first on."""
    rows = np.exp(x.reshape(len(x), -1).astype(np.float64))
    return (rows / rows.sum(1, keepdims=True)).reshape(x.shape).astype(x.dtype)


def flat_hardmax(x: Any) -> Any:
    rows = x.reshape(len(x), -1)
    return np.eye(rows.shape[1], dtype=x.dtype)[rows.argmax(1)].reshape(x.shape)


def by_l1(x: Any) -> Any:
    return x / np.abs(x).sum(1, keepdims=True)


OWN: dict[tuple[str, int], Callable[[Any], Any]] = {
    ("Softmax", 11): flat_softmax, ("Hardmax", 11): flat_hardmax, ("LpNormalization", 7): by_l1
}  # fmt: skip
"""What the evaluator of the onnx package does not know, or gets wrong."""


def wanted_of(proto: Any, arrays: Sequence[Any]) -> Any:
    own = OWN.get((proto.graph.node[0].op_type, proto.opset_import[0].version))
    if own is not None:
        return own(arrays[0])
    results: list[Any] = list(ReferenceEvaluator(proto).run(None, {f"x{at}": one for at, one in enumerate(arrays)}))
    return np.asarray(results[0])


def agrees(engine: MindSpore, proto: Any, given: Sequence[Given], folder: Path, sizes: Sequence[int]) -> None:
    onnx.save(proto, str(folder / "m.onnx"))
    done = to_mindir.convert(str(folder / "m.onnx"))
    assert done.findings == (), [one.title for one in done.findings]
    to_mindir.save(done, str(folder / "m.mindir"))
    for size in sizes:
        arrays = drawn(given, size)
        (found,) = engine.run(str(folder / "m.mindir"), arrays)
        wanted = wanted_of(proto, arrays)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        limit = 2e-3 if wanted.dtype == np.float16 else 1e-5 if wanted.dtype.kind == "f" else 0
        np.testing.assert_allclose(found, wanted, rtol=limit, atol=limit, err_msg=f"{size}")


HALF: Given = ("float16", ("n", 3, 4))
BYTES: Given = ("uint8", ("n", 3, 4))
SMALL: Given = ("int8", ("n", 3, 4))
LONG: Given = ("int64", ("n", 3, 4))


@pytest.mark.parametrize(
    ("op", "given", "attributes", "weights", "opset"),
    [
        ("Add", [SMALL, ("int8", (3, 1))], {}, [], 14),
        ("Sub", [BYTES, ("uint8", ("n", 1, 4))], {}, [], 14),
        ("Div", [LONG], {}, [np.array([2, -3, 4, -5])], 14),
        ("Mod", [LONG], {}, [np.array([2, -3, 4, -5])], 13),
        ("Mod", [X], {"fmod": 1}, [np.float32(-0.7)], 13),
        ("Pow", [LONG], {}, [np.float32(2)], 15),
        ("Max", [HALF, ("float16", (4,)), HALF], {}, [], 13),
        ("Clip", [SMALL], {}, [np.int8(-3), np.int8(4)], 13),
        ("Clip", [X], {"min": -1.0}, [], 7),
        ("Cast", [X], {"to": onnx.TensorProto.BOOL}, [], 13),
        ("Greater", [BYTES, BYTES], {}, [], 13),
        ("BitShift", [BYTES], {"direction": "RIGHT"}, [np.uint8(2)], 11),
        ("Selu", [X], {"alpha": 2.0, "gamma": 3.0}, [], 7),
        ("Elu", [HALF], {"alpha": 0.7}, [], 7),
        ("Gelu", [X], {}, [], 20),
        ("Gelu", [X], {"approximate": "tanh"}, [], 20),
        ("Softmax", [X], {"axis": 1}, [], 13),
        ("Softmax", [X], {"axis": 1}, [], 11),
        ("LogSoftmax", [HALF], {"axis": -1}, [], 13),
        ("Hardmax", [X], {"axis": 1}, [], 11),
        ("Hardmax", [X], {"axis": 0}, [], 13),
        ("ReduceSum", [HALF], {"keepdims": 0}, [np.array([0, -1])], 13),
        ("ReduceMean", [X], {"axes": [0]}, [], 13),
        ("ReduceMax", [SMALL], {}, [np.array([0])], 18),
        ("ReduceLogSumExp", [X], {"keepdims": 0}, [np.array([0, 2])], 18),
        ("ReduceL2", [X], {}, [], 18),
        ("ArgMax", [LONG], {"axis": 0, "select_last_index": 1, "keepdims": 0}, [], 13),
        ("ArgMin", [X], {"axis": 2}, [], 13),
        ("CumSum", [X], {"exclusive": 1, "reverse": 1}, [np.array(0)], 14),
        ("LpNormalization", [X], {"axis": 1, "p": 1}, [], 7),
        ("QuantizeLinear", [X], {"axis": 1}, [np.array([0.1, 0.2, 0.3], "float32"), np.array([1, -2, 3], "int8")], 13),
        ("DequantizeLinear", [BYTES], {}, [np.float32(0.3), np.uint8(7)], 19),
        ("MatMulInteger", [BYTES, ("int8", (4, 5))], {}, [np.uint8(3), np.int8(-2)], 10),
    ],
)
def test_one_operator_at_other_sizes(
    op: str, given: list[Given], attributes: dict[str, Any], weights: list[Any], opset: int,
    engine: MindSpore, tmp_path: Path,
) -> None:  # fmt: skip
    agrees(engine, model(op, given, attributes, weights, opset), given, tmp_path, (1, 5, 2))


@pytest.mark.parametrize(("op", "wanted"), [("ReduceSum", 0), ("ReduceProd", 1), ("ReduceMax", -np.inf)])
def test_nothing_to_reduce(op: str, wanted: float, engine: MindSpore, tmp_path: Path) -> None:
    given: list[Given] = [("float32", ("n", 3))]
    proto = model(op, given, {"keepdims": 0}, [np.array([0])], 20)
    onnx.save(proto, str(tmp_path / "m.onnx"))
    to_mindir.save(to_mindir.convert(str(tmp_path / "m.onnx")), str(tmp_path / "m.mindir"))
    (found,) = engine.run(str(tmp_path / "m.mindir"), [np.zeros((0, 3), np.float32)])
    np.testing.assert_array_equal(found, np.full(3, wanted, np.float32))


def test_rows_without_numbers(engine: MindSpore, tmp_path: Path) -> None:
    """A row of minus infinities is NaN, and the rows behind it are as they were; NaN goes before any number."""
    low, nan = -np.inf, np.nan
    rows = np.array([[low, low, low], [0, 0, low], [1, nan, 2], [0, 0, 0]], np.float32)
    half, third = [0.5, 0.5, 0], [1 / 3] * 3
    expected = {
        "Softmax": [[nan] * 3, half, [nan] * 3, third],
        "ReduceMax": [[low], [0], [nan], [0]],
        "Relu": [[0, 0, 0], [0, 0, 0], [1, nan, 2], [0, 0, 0]],
        "Sign": [[-1, -1, -1], [0, 0, -1], [1, nan, 1], [0, 0, 0]],
    }
    for op, wanted in expected.items():
        weights = [np.array([1])] if op == "ReduceMax" else []
        onnx.save(model(op, [("float32", ("n", 3))], {}, weights, 18), str(tmp_path / "m.onnx"))
        to_mindir.save(to_mindir.convert(str(tmp_path / "m.onnx")), str(tmp_path / "m.mindir"))
        (found,) = engine.run(str(tmp_path / "m.mindir"), [rows])
        np.testing.assert_allclose(found, np.array(wanted, np.float32), rtol=1e-5, err_msg=op)


def test_random_numbers_are_refused(tmp_path: Path) -> None:
    proto = model("RandomNormalLike", [X], {}, [], 13)
    onnx.save(proto, str(tmp_path / "m.onnx"))
    done = to_mindir.convert(str(tmp_path / "m.onnx"))
    assert done.model is None and [one.code for one in done.findings] == ["unsupported-form"]
    assert "random" in done.findings[0].title
