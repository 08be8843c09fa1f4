"""Convolutions, pools, norms, products and attention, converted with dynamic dimensions and run by real MindSpore at
sizes that the conversion did not know, against onnxruntime."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from mswb.convert import to_mindir
from mswb.convert.engines.mindspore import MindSpore

pytestmark = [
    pytest.mark.mindspore,
    pytest.mark.skipif(importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed"),
]
Dims = tuple["int | str", ...]
IMAGE: Dims = ("n", 4, "h", "w")
SIZES = ({"n": 1, "h": 7, "w": 9}, {"n": 3, "h": 12, "w": 8})
"""What the dynamic dimensions are when the models run."""


@dataclass(frozen=True)
class Case:
    """One node.

    Attributes:
        given: the dimensions of its inputs, all float32.
        weights: the dimensions of further inputs, which are initializers of positive numbers.
    """

    op: str
    given: Sequence[Dims]
    weights: Sequence[tuple[int, ...]] = ()
    outputs: int = 1
    opset: int = 18
    attributes: Mapping[str, Any] = field(default_factory=dict)


def case(op: str, *given: Dims, weights: Sequence[tuple[int, ...]] = (), **more: Any) -> Case:
    own = {name: more.pop(name) for name in ("outputs", "opset") if name in more}
    return Case(op, given, weights, attributes=more, **own)


SAME: dict[str, Any] = {"auto_pad": "SAME_UPPER", "strides": [2, 3]}
WHOLE: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}
LINE: Dims = ("n", 4, "w")
QKV: tuple[Dims, ...] = (("n", "h", 12), ("n", "w", 6), ("n", "w", 6))
CASES = {
    "conv": case("Conv", IMAGE, weights=[(6, 2, 3, 2), (6,)], group=2, strides=[2, 1], pads=[0, 1, 2, 1]),
    "conv-same": case("Conv", IMAGE, weights=[(5, 4, 3, 4)], **SAME),
    "conv-line": case("Conv", LINE, weights=[(6, 4, 3), (6,)], dilations=[2], pads=[2, 1]),
    "conv-volume": case("Conv", ("n", 2, "h", "w", 5), weights=[(4, 2, 2, 3, 2), (4,)], strides=[1, 2, 1]),
    "transposed": case(
        "ConvTranspose", IMAGE, weights=[(4, 3, 3, 3), (6,)], group=2, strides=[2, 3], pads=[1, 0, 0, 1]
    ),
    "transposed-padding": case("ConvTranspose", IMAGE, weights=[(4, 3, 2, 2)], strides=[3, 2], output_padding=[1, 1]),
    "transposed-line": case("ConvTranspose", LINE, weights=[(4, 3, 4), (3,)], strides=[2], dilations=[2]),
    "max": case("MaxPool", IMAGE, **WHOLE),
    "max-same": case("MaxPool", IMAGE, kernel_shape=[3, 4], **SAME),
    "max-ceil": case("MaxPool", IMAGE, kernel_shape=[3, 2], strides=[3, 3], ceil_mode=1),
    "max-places": case("MaxPool", IMAGE, outputs=2, **WHOLE),
    "max-line": case("MaxPool", LINE, kernel_shape=[3], dilations=[2], pads=[1, 2]),
    "average": case("AveragePool", IMAGE, **WHOLE),
    "average-all": case("AveragePool", IMAGE, count_include_pad=1, **WHOLE),
    "average-same": case("AveragePool", IMAGE, kernel_shape=[3, 4], **SAME),
    "average-ceil": case("AveragePool", IMAGE, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, opset=19),
    "average-global": case("GlobalAveragePool", IMAGE),
    "norm-lp": case("LpPool", IMAGE, p=3, kernel_shape=[2, 3], strides=[2, 1]),
    "batch": case("BatchNormalization", IMAGE, weights=[(4,)] * 4),
    "batch-line": case("BatchNormalization", LINE, weights=[(4,)] * 4),
    "instance": case("InstanceNormalization", IMAGE, weights=[(4,), (4,)], epsilon=0.01),
    "group": case("GroupNormalization", IMAGE, weights=[(4,), (4,)], opset=21, num_groups=2),
    "layer-own": case("LayerNormalization", ("n", "h", 3, 6), weights=[(3, 6), (3, 6)], axis=2, epsilon=0.1),
    "layer": case("LayerNormalization", ("n", "h", 6), weights=[(6,), (6,)], outputs=3),
    "channels": case("LRN", IMAGE, size=3, alpha=0.1, beta=0.6, bias=1.5),
    "matmul": case("MatMul", ("n", "h", 4), weights=[(4, 5)]),
    "matmul-batch": case("MatMul", ("n", 1, "h", 4), (3, 4, "w")),
    "gemm": case("Gemm", ("n", 4), weights=[(5, 4), (5,)], transB=1, alpha=0.5, beta=2.0),
    "einsum": case("Einsum", ("n", "h", 2, "w"), ("n", "w", 2, 3), equation="bhcw,bwcd->hbd"),
    "einsum-dots": case("Einsum", ("n", "h", 4), (4, "w"), equation="...ij,jk->...ki"),
    "einsum-diagonal": case("Einsum", ("n", "h", "h"), equation="bii->bi"),
    "attention": case("Attention", *QKV, opset=23, q_num_heads=4, kv_num_heads=2, is_causal=1),
    "attention-mask": case(
        "Attention", ("n", 2, "h", 4), ("n", 2, "w", 4), ("n", 2, "w", 3), ("h", "w"), opset=23, softcap=2.0
    ),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[MindSpore]:
    with MindSpore(sys.executable, limit_s=120) as running:
        yield running


def model(one: Case) -> Any:
    """The node as a model whose inputs keep the names of their dimensions."""
    rng = np.random.default_rng(1)
    names = [f"x{at}" for at in range(len(one.given))]
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
        for name, dims in zip(names, one.given, strict=True)
    ]
    arrays = [np.abs(rng.normal(0, 1, shape)).astype(np.float32) for shape in one.weights]
    fixed = [numpy_helper.from_array(array, f"w{at}") for at, array in enumerate(arrays)]
    outputs = [f"y{at}" for at in range(one.outputs)]
    node = helper.make_node(one.op, [*names, *(tensor.name for tensor in fixed)], outputs, **one.attributes)
    kinds = [onnx.TensorProto.FLOAT, onnx.TensorProto.INT64 if one.op == "MaxPool" else onnx.TensorProto.FLOAT]
    results = [helper.make_tensor_value_info(name, kinds[min(at, 1)], None) for at, name in enumerate(outputs)]
    graph = helper.make_graph([node], "g", inputs, results, fixed)
    bare = helper.make_model(graph, opset_imports=[helper.make_opsetid("", one.opset)], ir_version=10)
    return onnx.shape_inference.infer_shapes(bare)


def convert(folder: Path, proto: Any) -> None:
    onnx.save(proto, str(folder / "m.onnx"))
    done = to_mindir.convert(str(folder / "m.onnx"))
    assert done.model is not None, done.findings
    to_mindir.save(done, str(folder / "m.mindir"))


@pytest.mark.parametrize("name", CASES)
def test_other_sizes(name: str, engine: MindSpore, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    one = CASES[name]
    proto = model(one)
    convert(tmp_path, proto)
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for number, sizes in enumerate(SIZES):
        rng = np.random.default_rng(number)
        shapes = [[size if isinstance(size, int) else sizes[size] for size in dims] for dims in one.given]
        arrays = [rng.normal(0, 1, shape).astype(np.float32) for shape in shapes]
        expected = session.run(None, {f"x{at}": array for at, array in enumerate(arrays)})
        found = engine.run(str(tmp_path / "m.mindir"), arrays)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def run(engine: MindSpore, folder: Path, proto: Any, arrays: Sequence[Any]) -> list[Any]:
    convert(folder, proto)
    return engine.run(str(folder / "m.mindir"), arrays)


def test_largest_of_minus_infinities(engine: MindSpore, tmp_path: Path) -> None:
    image = np.full((1, 4, 3, 4), -np.inf, np.float32)
    image[0, 0, 0, 0] = 1
    (found,) = run(engine, tmp_path, model(case("MaxPool", IMAGE, kernel_shape=[2, 2])), [image])
    expected = np.full((1, 4, 2, 3), -np.inf, np.float32)
    expected[0, 0, 0, 0] = 1
    np.testing.assert_array_equal(found, expected)


def test_a_query_that_sees_nothing_leaves_the_others_alone(engine: MindSpore, tmp_path: Path) -> None:
    query, key, value = (np.random.default_rng(at).normal(0, 1, (1, 1, 3, 4)).astype(np.float32) for at in range(3))
    mask = np.zeros((3, 3), np.float32)
    mask[0] = -np.inf
    dims: Dims = (1, 1, 3, 4)
    found = run(
        engine, tmp_path, model(case("Attention", dims, dims, dims, (3, 3), opset=23)), [query, key, value, mask]
    )
    scores = np.exp(query[0, 0] @ key[0, 0].T / 2)
    expected = scores / scores.sum(-1, keepdims=True) @ value[0, 0]
    expected[0] = 0
    np.testing.assert_allclose(found[0][0, 0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ignored_labels_count_nothing(reduction: str, engine: MindSpore, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    scores, labels = rng.normal(0, 1, (3, 5, 2)).astype(np.float32), rng.integers(0, 5, (3, 2))
    labels[1, 0] = -100
    weight = np.arange(1, 6, dtype=np.float32)
    given = [
        helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 5, "w"]),
        helper.make_tensor_value_info("t", onnx.TensorProto.INT64, ["n", "w"]),
    ]
    node = helper.make_node("SoftmaxCrossEntropyLoss", ["x", "t", "k"], ["y"], reduction=reduction, ignore_index=-100)
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", given, [result], [numpy_helper.from_array(weight, "k")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)
    (found,) = run(engine, tmp_path, onnx.shape_inference.infer_shapes(proto), [scores, labels])
    logarithm = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    counted = labels != -100
    safe = np.where(counted, labels, 0)
    share = np.where(counted, weight[safe], 0)
    loss = -share * np.take_along_axis(logarithm, safe[:, None], 1)[:, 0]
    expected = {"none": loss, "sum": loss.sum(), "mean": loss.sum() / share.sum()}[reduction]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
