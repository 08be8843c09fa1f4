"""Sampling, signals and recurrent layers at sizes that the conversion did not know, on real MindSpore.

Expected values are onnxruntime's, or those of ONNX's reference evaluator where onnxruntime has no such form.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from mswb.convert import to_mindir
from mswb.convert.engines.mindspore import MindSpore

Arrays = Mapping[str, np.ndarray[Any, Any]]
RANDOM = np.random.default_rng(7)


@pytest.fixture(scope="module")
def engine() -> Iterator[MindSpore]:
    with MindSpore(sys.executable, limit_s=120) as engine:
        yield engine


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return RANDOM.standard_normal(shape).astype(np.float32)


def model(
    op: str, ranks: Arrays, constants: Arrays, order: Sequence[str], outputs: int, opset: int, **attributes: Any
) -> onnx.ModelProto:
    """One operator whose inputs have open sizes; ``order`` names its inputs, "" for one that is left out."""
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), [f"{name}_{at}" for at in range(array.ndim)]
        )
        for name, array in ranks.items()
    ]
    names = [f"y{at}" for at in range(outputs)]
    kind = onnx.TensorProto.INT64 if op == "NonMaxSuppression" else onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(op, list(order), names, **attributes)],
        "one",
        inputs,
        [helper.make_tensor_value_info(name, kind, None) for name in names],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def check(
    engine: MindSpore, folder: Path, proto: onnx.ModelProto, feeds: Sequence[Arrays], expected: str = "onnxruntime"
) -> None:
    """Convert once and run at each feed's sizes."""
    onnx.save(proto, folder / "model.onnx")
    done = to_mindir.convert(str(folder / "model.onnx"))
    assert done.model is not None, [one.title for one in done.findings]
    to_mindir.save(done, str(folder / "model.mindir"))
    for feed in feeds:
        found = engine.run(str(folder / "model.mindir"), list(feed.values()))
        for ours, theirs in zip(found, reference(proto, feed, expected), strict=True):
            assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=2e-4)


def reference(proto: onnx.ModelProto, feed: Arrays, name: str) -> list[Any]:
    if name == "onnxruntime":
        import onnxruntime

        return list(onnxruntime.InferenceSession(proto.SerializeToString()).run(None, dict(feed)))
    from onnx.reference import ReferenceEvaluator

    return list(ReferenceEvaluator(proto).run(None, dict(feed)))


RESIZE: Mapping[str, Mapping[str, Any]] = {
    "nearest": {
        "mode": "nearest",
        "coordinate_transformation_mode": "half_pixel",
        "nearest_mode": "round_prefer_floor",
    },
    "linear": {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    "cubic": {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"},
    "outside": {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
    "antialias": {"mode": "linear", "antialias": 1},
}


@pytest.mark.parametrize("form", ["nearest", "outside", "antialias"])
def test_sizes_of_a_resize_come_at_run_time(engine: MindSpore, tmp_path: Path, form: str) -> None:
    feeds = [
        {"x": floats(1, 2, 4, 5), "sizes": np.array([1, 2, 7, 3])},
        {"x": floats(2, 1, 6, 3), "sizes": np.array([2, 1, 3, 8])},
    ]
    proto = model("Resize", feeds[0], {}, ["x", "", "", "sizes"], 1, 19, **RESIZE[form])
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_value = 4
    check(engine, tmp_path, proto, feeds, "reference" if form == "antialias" else "onnxruntime")


@pytest.mark.parametrize("form", ["linear", "cubic"])
def test_a_scale_holds_for_any_size(engine: MindSpore, tmp_path: Path, form: str) -> None:
    feeds = [{"x": floats(1, 2, 4, 5)}, {"x": floats(2, 3, 7, 4)}]
    scales = {"scales": np.array([1, 1, 1.7, 0.6], np.float32)}
    proto = model("Resize", feeds[0], scales, ["x", "", "scales"], 1, 19, **RESIZE[form])
    # onnxruntime aligns the corners of the rounded size, ONNX those of the exact one
    check(engine, tmp_path, proto, feeds, "reference" if form == "linear" else "onnxruntime")


GRIDS = [("linear", "zeros", 0), ("cubic", "reflection", 1), ("nearest", "border", 0)]


@pytest.mark.parametrize(("mode", "padding", "aligned"), GRIDS)
def test_a_grid_of_any_size(engine: MindSpore, tmp_path: Path, mode: str, padding: str, aligned: int) -> None:
    feeds = [
        {"x": floats(1, 2, 4, 5), "grid": floats(1, 3, 2, 2)},
        {"x": floats(2, 3, 3, 6), "grid": floats(2, 2, 5, 2) * np.float32(1.5)},
    ]
    proto = model(
        "GridSample", feeds[0], {}, ["x", "grid"], 1, 20, mode=mode, padding_mode=padding, align_corners=aligned
    )
    # the last dimension of a grid is always the number of places
    proto.graph.input[1].type.tensor_type.shape.dim[3].dim_value = 2
    check(engine, tmp_path, proto, feeds)


@pytest.mark.parametrize("ratio", [0, 2])
def test_any_number_of_regions(engine: MindSpore, tmp_path: Path, ratio: int) -> None:
    boxes = np.array([[0, 0, 3, 4], [1, 1, 9, 7], [2, 0, 5, 5]], np.float32)
    feeds = [
        {"x": floats(2, 3, 8, 9), "rois": boxes[:2], "at": np.array([0, 1])},
        {"x": floats(1, 2, 6, 7), "rois": boxes, "at": np.array([0, 0, 0])},
    ]
    proto = model(
        "RoiAlign", feeds[0], {}, ["x", "rois", "at"], 1, 16, output_height=2, output_width=3, sampling_ratio=ratio
    )
    check(engine, tmp_path, proto, feeds)


def test_overlapping_boxes_of_any_number(engine: MindSpore, tmp_path: Path) -> None:
    def boxes(batch: int, count: int) -> np.ndarray[Any, Any]:
        corners = RANDOM.random((batch, count, 2))
        return np.asarray(np.concatenate([corners, corners + 0.4], -1), np.float32)

    limits = {"most": np.array([4]), "overlap": np.array([0.4], np.float32), "least": np.array([0.2], np.float32)}
    feeds = [
        {"boxes": boxes(batch, count), "scores": RANDOM.random((batch, classes, count)).astype(np.float32)}
        for batch, classes, count in [(1, 2, 9), (2, 3, 20), (1, 1, 3)]
    ]
    proto = model("NonMaxSuppression", feeds[0], limits, ["boxes", "scores", "most", "overlap", "least"], 1, 11)
    check(engine, tmp_path, proto, feeds)


def test_transforms_of_any_length(engine: MindSpore, tmp_path: Path) -> None:
    feeds = [{"x": floats(2, length, 1)} for length in (8, 5, 12)]
    proto = model("DFT", feeds[0], {}, ["x"], 1, 17, axis=1, onesided=1)
    proto.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 1
    check(engine, tmp_path, proto, feeds)
    framed = [{"x": floats(2, length, 1), "step": np.array(step)} for length, step in [(32, 4), (20, 3)]]
    proto = model("STFT", framed[0], {"window": np.hanning(8).astype(np.float32)}, ["x", "step", "window"], 1, 17)
    proto.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 1
    check(engine, tmp_path, proto, framed)


LAYERS: Mapping[str, tuple[int, int, Mapping[str, Any]]] = {
    "LSTM": (4, 3, {}),
    "GRU": (3, 2, {"linear_before_reset": 1}),
    "RNN": (1, 2, {"clip": 0.5}),
}


@pytest.mark.parametrize(("op", "length"), [("LSTM", None), ("GRU", None), ("LSTM", 3), ("RNN", 3)])
def test_layers_of_any_batch_and_length(engine: MindSpore, tmp_path: Path, op: str, length: int | None) -> None:
    gates, outputs, attributes = LAYERS[op]
    hidden = 4
    weights = {
        "w": floats(2, gates * hidden, 3),
        "r": floats(2, gates * hidden, hidden),
        "b": floats(2, 2 * gates * hidden),
    }
    shapes = [(3, 2), (3, 5)] if length else [(3, 2), (6, 1), (70, 3)]
    feeds = [
        {"x": floats(steps, batch, 3), "lengths": np.array([max(steps - at, 1) for at in range(batch)], np.int32)}
        for steps, batch in shapes
    ]
    proto = model(
        op, feeds[0], weights, ["x", "w", "r", "b", "lengths"], outputs, 14,
        hidden_size=hidden, direction="bidirectional", **attributes,
    )  # fmt: skip
    if length:
        proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = length
    check(engine, tmp_path, proto, feeds)
