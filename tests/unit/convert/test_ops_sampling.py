"""Operators that are composed by arithmetic: with all inputs known, their results are computed while converting, and
must be those of ONNX's reference evaluator (or of onnxruntime, where the reference has less)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator

from mswb.convert import ops
from mswb.convert.graph import Array, Builder, Value
from mswb.convert.onnx.node import OnnxNode, Refused

FORMS = settings(max_examples=40, deadline=None)
WAYS = ["half_pixel", "asymmetric", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "tf_crop_and_resize"]


def ours(op: str, inputs: Sequence[Array | None], opset: int, outputs: int = 1, **attributes: Any) -> list[Array]:
    """What the entry of an operator makes of constants."""
    b = Builder("test")
    values = [None if one is None else Value("x", one.dtype.name, one.shape, one) for one in inputs]
    names = tuple(f"y{at}" for at in range(outputs))
    node = OnnxNode(op, "", op, opset, tuple(values), names, attributes, (("", None),) * outputs)
    made = ops.table()[op](node, b)
    found = [made] if isinstance(made, Value) else list(made)
    arrays = [one.array for one in found if one is not None and one.array is not None]
    assert len(arrays) == len(found)
    return arrays


def model(op: str, inputs: Sequence[Array | None], opset: int, outputs: int = 1, **attributes: Any) -> onnx.ModelProto:
    names = ["" if one is None else f"x{at}" for at, one in enumerate(inputs)]
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape)
        for name, one in zip(names, inputs, strict=True)
        if one is not None
    ]
    results = [f"y{at}" for at in range(outputs)]
    node = helper.make_node(op, names, results, **attributes)
    graph = helper.make_graph([node], "one", infos, [helper.make_empty_tensor_value_info(one) for one in results])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def feed(inputs: Sequence[Array | None]) -> Mapping[str, Array]:
    return {f"x{at}": one for at, one in enumerate(inputs) if one is not None}


def reference(proto: onnx.ModelProto, inputs: Sequence[Array | None]) -> Array:
    found: Any = ReferenceEvaluator(proto).run(None, dict(feed(inputs)))
    return np.asarray(found[0])


def check(op: str, inputs: Sequence[Array | None], opset: int, **attributes: Any) -> None:
    (found,) = ours(op, inputs, opset, **attributes)
    wanted = reference(model(op, inputs, opset, **attributes), inputs)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def floats(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def noisy(before: tuple[int, ...], after: tuple[int, ...], policy: str) -> bool:
    """Whether a symmetric coordinate misses a tie by nothing but rounding: the reference's result is chance then."""
    scales = [new / now for new, now in zip(after, before, strict=True)]
    same = {"stretch": None, "not_larger": min(scales), "not_smaller": max(scales)}[policy]
    for now, new, scale in zip(before, after, scales, strict=True):
        scale = scale if same is None else same
        sized = new if same is None else int(np.floor(scale * now + 0.5))
        at = now / 2 * (1 - sized / (scale * now)) + (np.arange(sized) + 0.5) / scale - 0.5
        away = np.abs(2 * at - np.rint(2 * at))
        if np.any((away > 0) & (away < 1e-9)):
            return True
    return False


@FORMS
@given(
    st.sampled_from(["nearest", "linear", "cubic"]),
    st.sampled_from(WAYS),
    st.sampled_from(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]),
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["stretch", "not_larger", "not_smaller"]),
    st.sampled_from([-0.75, -0.5]),
)
def test_resize_to_sizes(
    mode: str, way: str, rounding: str, before: Any, after: Any, smooth: bool, exclude: bool, policy: str, a: float
) -> None:
    crop = np.array([0.125, -0.25, 0.75, 1.125], np.float32) if way == "tf_crop_and_resize" else None
    assume(mode != "nearest" or way != "half_pixel_symmetric" or not noisy(before, after, policy))
    check(
        "Resize",
        [floats(1, 2, *before), crop, None, np.array(after)],
        19,
        mode=mode,
        coordinate_transformation_mode=way,
        nearest_mode=rounding,
        antialias=int(smooth and mode != "nearest"),
        exclude_outside=int(exclude and mode == "cubic"),
        keep_aspect_ratio_policy=policy,
        cubic_coeff_a=a,
        axes=[1, 2],
        extrapolation_value=3.0,
    )


@FORMS
@given(
    st.sampled_from(["nearest", "linear", "cubic"]),
    st.sampled_from(WAYS[:-1]),
    st.sampled_from([np.float32, np.float64, np.float16, np.uint8, np.int32]),
    st.tuples(st.sampled_from([0.5, 0.75, 1.0, 2.0, 2.5]), st.sampled_from([0.6, 0.8, 1.7, 3.0])),
)
def test_resize_by_scales(mode: str, way: str, dtype: Any, scales: tuple[float, float]) -> None:
    x = (floats(2, 1, 2, 5, 4) * 40 + 100).astype(dtype)
    factors = np.array([1, 1, *scales], np.float32)
    (found,) = ours("Resize", [x, None, factors], 13, mode=mode, coordinate_transformation_mode=way)
    inputs = [x, None, factors]
    wanted = reference(model("Resize", inputs, 13, mode=mode, coordinate_transformation_mode=way), inputs)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    # a result that lies between two integers may be rounded to either
    slack = 1 if np.dtype(dtype).kind in "iu" else 0
    np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=2e-3, atol=1e-4 + slack)


def test_upsample_is_resize_by_whole_steps() -> None:
    x = floats(3, 1, 1, 2, 3)
    (found,) = ours("Upsample", [x, np.array([1, 1, 2, 3], np.float32)], 9, mode="nearest")
    np.testing.assert_array_equal(found, x.repeat(2, 2).repeat(3, 3))


def test_sizes_of_a_scale_are_those_of_shape_inference() -> None:
    x = floats(4, 10)
    assert ours("Resize", [x, None, np.array([0.7], np.float32)], 13, mode="nearest")[0].shape == (7,)


def test_a_crop_needs_its_region() -> None:
    with pytest.raises(Refused, match="roi"):
        ours(
            "Resize", [floats(5, 4), None, None, np.array([2])], 19, coordinate_transformation_mode="tf_crop_and_resize"
        )


@FORMS
@given(
    st.sampled_from(["nearest", "linear", "cubic"]),
    st.sampled_from(["zeros", "border", "reflection"]),
    st.integers(0, 1),
    st.integers(1, 3),
    st.integers(0, 9),
)
def test_grids(mode: str, padding: str, aligned: int, places: int, seed: int) -> None:
    x, grid = (
        floats(seed, 2, 2, *(3, 4, 5)[:places]),
        floats(seed + 1, 2, *(2, 3, 2)[:places], places) * np.float32(1.3),
    )
    check("GridSample", [x, grid], 20, mode=mode, padding_mode=padding, align_corners=aligned)


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), (1, 2, 3, 4, 2)])
def test_affine_grids(sizes: tuple[int, ...], aligned: int) -> None:
    places = len(sizes) - 2
    theta = floats(6, sizes[0], places, places + 1)
    check("AffineGrid", [theta, np.array(sizes)], 20, align_corners=aligned)


@FORMS
@given(
    st.sampled_from(["avg", "max"]),
    st.sampled_from(["half_pixel", "output_half_pixel"]),
    st.integers(0, 3),
    st.integers(0, 20),
)
def test_regions(mode: str, way: str, ratio: int, seed: int) -> None:
    x = floats(seed, 2, 3, 6, 7)
    random = np.random.default_rng(seed)
    corner = random.uniform(-2, 6, (4, 2))
    boxes = np.concatenate([corner, corner + random.uniform(0, 6, (4, 2))], 1).astype(np.float32)
    check(
        "RoiAlign",
        [x, boxes, np.array([0, 1, 1, 0])],
        16,
        mode=mode,
        coordinate_transformation_mode=way,
        sampling_ratio=ratio,
        output_height=2,
        output_width=3,
        spatial_scale=0.8,
    )


@FORMS
@given(
    st.integers(1, 9),
    st.one_of(st.none(), st.integers(1, 12)),
    st.sampled_from([1, 2]),
    st.sampled_from([(0, 0), (0, 1), (1, 0)]),
    st.sampled_from([-2, 0, 1]),
)
def test_transforms(length: int, wanted: int | None, parts: int, form: tuple[int, int], axis: int) -> None:
    x, size = floats(7, 3, length, parts), None if wanted is None else np.array(wanted)
    check("DFT", [x, size, np.array(axis)], 20, inverse=form[0], onesided=form[1] if parts == 1 else 0)


@pytest.mark.parametrize("length", [4, 5, 7])
def test_half_a_spectrum_gives_the_signal_again(length: int) -> None:
    signal = floats(8, 2, length, 1)
    (half,) = ours("DFT", [signal, None, np.array(1)], 20, onesided=1)
    (again,) = ours("DFT", [half, np.array(length), np.array(1)], 20, onesided=1, inverse=1)
    np.testing.assert_allclose(again, signal, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("window", [None, np.hanning(6).astype(np.float32)])
@pytest.mark.parametrize("onesided", [0, 1])
def test_transforms_of_frames(window: Array | None, onesided: int) -> None:
    check("STFT", [floats(9, 2, 20, 1), np.array(3), window, np.array(6)], 17, onesided=onesided)


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows(op: str, periodic: int) -> None:
    check(op, [np.array(10)], 17, periodic=periodic)


def test_mel_weights() -> None:
    numbers = [np.array(8), np.array(64), np.array(8192), np.array(5.0, np.float32), np.array(3900.0, np.float32)]
    check("MelWeightMatrix", numbers, 17)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skip", [0, 2])
def test_ngrams(mode: str, skip: int) -> None:
    tokens = np.random.default_rng(10).integers(1, 5, (3, 12))
    check(
        "TfIdfVectorizer", [tokens], 9, mode=mode, min_gram_length=1, max_gram_length=2, max_skip_count=skip,
        ngram_counts=[0, 3], ngram_indexes=[2, 0, 1, 4, 3], pool_int64s=[1, 2, 3, 1, 2, 3, 3],
        weights=[1.0, 2.0, 0.5, 3.0, 4.0],
    )  # fmt: skip


LAYERS: Mapping[str, tuple[int, int, Sequence[Mapping[str, Any]]]] = {
    "LSTM": (
        4,
        3,
        [{}, {"clip": 0.4}, {"input_forget": 1}, {"activations": ["HardSigmoid", "Relu", "Softsign"] * 2}],
    ),
    "GRU": (3, 2, [{}, {"linear_before_reset": 1}, {"activations": ["Sigmoid", "LeakyRelu"] * 2}]),
    "RNN": (1, 2, [{}, {"clip": 0.3}, {"activations": ["Elu", "Affine"], "activation_alpha": [0.7, 0.5]}]),
}


@pytest.mark.parametrize(("op", "at"), [(op, at) for op, (_, _, forms) in LAYERS.items() for at in range(len(forms))])
@pytest.mark.parametrize("states", [False, True])
def test_layers(op: str, at: int, states: bool) -> None:
    import onnxruntime

    gates, outputs, forms = LAYERS[op]
    hidden, batch, steps = 4, 3, 5
    x = floats(11, steps, batch, 2)
    w, r, bias = (floats(12, 2, gates * hidden, width) for width in (2, hidden, 2))
    inputs: list[Array | None] = [x, w, r, np.ascontiguousarray(bias.reshape(2, -1))]
    if states:
        inputs += [np.array([5, 2, 3], np.int32), *(floats(13, 2, batch, hidden) for _ in range(outputs - 1))]
        inputs += [floats(14, 2, 3 * hidden)] if op == "LSTM" else []
    attributes = {"hidden_size": hidden, "direction": "bidirectional", **forms[at]}
    found = ours(op, inputs, 14, outputs, **attributes)
    session = onnxruntime.InferenceSession(model(op, inputs, 14, outputs, **attributes).SerializeToString())
    for mine, theirs in zip(found, session.run(None, dict(feed(inputs))), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_what_has_no_numbers_is_refused() -> None:
    with pytest.raises(Refused, match="strings"):
        ours("StringNormalizer", [np.zeros(1, np.float32)], 10)
