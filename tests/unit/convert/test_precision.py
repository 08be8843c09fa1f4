"""Precisions of an ONNX model: which node computes in what, where casts stand, and that the numbers stay near."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper, numpy_helper

from mswb.convert.onnx.weights import Stored, placeholder, without
from mswb.convert.precision import modes as precision
from mswb.convert.precision.modes import MODES
from tests.unit.convert.onnx_models import model_of
from tests.unit.convert.onnx_running import outputs_of

FRACTIONS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16}
SOFTMAX = """g (float[n,8] x) => (float[n,8] y)
<float[8,8] w, float[8,8] v, float[8] b> {
    a = MatMul(x, w)
    r = Relu(a)
    m = MatMul(r, v)
    c = Add(m, b)
    t = Transpose<perm = [0, 1]>(c)
    y = Softmax<axis = -1>(t)
}"""


def filled(body: str, seed: int = 0, **values: Any) -> ModelProto:
    """A model whose declared tensors are constants: random ones, or those given."""
    model = model_of(body, opset=21, ir=10)
    noise = np.random.default_rng(seed)
    for value in model.graph.value_info:
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        content = values.get(value.name, noise.standard_normal(shape) / 4)
        array = np.asarray(content).astype(dtype).reshape(shape)
        model.graph.initializer.append(numpy_helper.from_array(array, value.name))
    del model.graph.value_info[:]
    return model


def applied(model: ModelProto, mode: str) -> ModelProto:
    """The model in a precision, as ONNX's checker takes it; its edges are as they were."""
    before = model.SerializeToString()
    found = precision.apply(model, mode)
    assert model.SerializeToString() == before
    onnx.checker.check_model(found.proto, full_check=True)
    assert [value.SerializeToString() for value in (*found.proto.graph.input, *found.proto.graph.output)] == [
        value.SerializeToString() for value in (*model.graph.input, *model.graph.output)
    ]
    no_needless_casts(found.proto)
    return found.proto


def no_needless_casts(model: ModelProto) -> None:
    types = types_of(model)
    casts = [node for node in model.graph.node if node.op_type == "Cast"]
    between = [node for node in casts if {types[node.input[0]], types[node.output[0]]} <= FRACTIONS]
    made = {node.output[0] for node in between}
    assert len({(node.input[0], types[node.output[0]]) for node in between}) == len(between)
    assert all(types[node.input[0]] != types[node.output[0]] for node in between)
    assert not any(node.input[0] in made for node in between)


def types_of(model: ModelProto) -> dict[str, int]:
    inferred = onnx.shape_inference.infer_shapes(model).graph
    values = (*inferred.input, *inferred.output, *inferred.value_info)
    return {
        **{value.name: value.type.tensor_type.elem_type for value in values},
        **{tensor.name: tensor.data_type for tensor in inferred.initializer},
    }


def halves(model: ModelProto) -> set[str]:
    """The operators that compute in float16."""
    types = types_of(model)
    return {node.op_type for node in model.graph.node if types[node.output[0]] == TensorProto.FLOAT16} - {"Cast"}


def named(model: ModelProto, output: str) -> Any:
    """The node of a result, by the name that it had before a cast took that over."""
    nodes = {name: node for node in model.graph.node for name in node.output}
    found = nodes[output]
    return nodes[found.input[0]] if found.op_type == "Cast" else found


def near(model: ModelProto, mode: str, feed: Mapping[str, Any], rtol: float = 2e-2, atol: float = 5e-3) -> ModelProto:
    found = applied(model, mode)
    for ours, theirs in zip(outputs_of(found, feed), outputs_of(model, feed), strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours.astype(np.float64), theirs.astype(np.float64), rtol=rtol, atol=atol)
    return found


def noise(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def test_mixed_keeps_softmax_and_what_feeds_it_in_single_precision() -> None:
    found = near(filled(SOFTMAX), "MIXED", {"x": noise(3, 8)})
    types = types_of(found)
    singles = {"m", "c", "t", "y"}
    assert {name for name in ("a", "r", "m", "c", "t", "y") if types[name] == TensorProto.FLOAT} == singles
    assert types["w"] == TensorProto.FLOAT16 and types["v"] == types["b"] == TensorProto.FLOAT
    assert sum(node.op_type == "Cast" for node in found.graph.node) == 2


def test_a_cast_in_front_of_softmax_is_no_cure_and_is_gone() -> None:
    body = """g (float16[n,8] x) => (float[n,8] y) <float16[8,8] w> {
        m = MatMul(x, w)
        c = Cast<to = 1>(m)
        y = Softmax<axis = -1>(c)
    }"""
    found = near(filled(body), "MIXED", {"x": noise(3, 8, dtype=np.float16)})
    assert [node.op_type for node in found.graph.node] == ["Cast", "MatMul", "Softmax"]
    assert {tensor.name: tensor.data_type for tensor in found.graph.initializer} == {"w": TensorProto.FLOAT}


def test_half_precision_halves_the_constants() -> None:
    model = filled(SOFTMAX)
    found = near(model, "FP16", {"x": noise(3, 8)})
    assert halves(found) == {"MatMul", "Relu", "Add", "Transpose", "Softmax"}
    assert sum(len(one.raw_data) for one in found.graph.initializer) * 2 == sum(
        len(one.raw_data) for one in model.graph.initializer
    )


def test_single_precision_leaves_no_half_inside() -> None:
    body = """g (float16[n,8] x) => (float16[n,8] y, float[n,8] z) <float16[8,8] w, bfloat16[8] s> {
        m = MatMul(x, w)
        c = Cast<to = 1>(m)
        e = Exp(c)
        h = Cast<to = 10>(e)
        k = Cast<to = 10>(s)
        y = Mul(h, k)
        z = Neg(c)
    }"""
    found = applied(filled(body), "FP32")
    assert {one.data_type for one in found.graph.initializer} == {TensorProto.FLOAT}
    assert [node.op_type for node in found.graph.node] == ["Cast", "MatMul", "Exp", "Mul", "Neg", "Cast"]
    half, whole = outputs_of(found, {"x": noise(3, 8, dtype=np.float16)})
    assert (half.dtype, whole.dtype) == (np.float16, np.float32)


def test_a_convolution_is_half_and_its_batch_normalization_is_not() -> None:
    body = """g (float[n,3,8,8] x) => (float[n,4,8,8] y) <float[4,3,3,3] w, float[4] s, float[4] b, float[4] m, float[4] v> {
        a = Conv<pads = [1, 1, 1, 1]>(x, w)
        c = BatchNormalization<epsilon = 0.001>(a, s, b, m, v)
        y = Relu(c)
    }"""  # noqa: E501
    found = near(filled(body, v=[1.0, 2.0, 0.5, 1.5]), "MIXED", {"x": noise(2, 3, 8, 8)})
    assert halves(found) == {"Conv", "Relu"}


def test_all_who_want_a_cast_share_it() -> None:
    body = """g (float[n,4] x) => (float[n,4] y, float[n,4] z) {
        a = Relu(x)
        b = Exp(a)
        c = Tanh(b)
        d = Sigmoid(b)
        y = Add(c, d)
        z = Neg(b)
    }"""
    found = near(filled(body), "MIXED", {"x": noise(2, 4)})
    assert [node.op_type for node in found.graph.node].count("Cast") == 3


def test_an_output_that_is_read_has_its_name_and_its_data_type() -> None:
    body = (
        "g (float[n,4] x) => (float[n,4] y, float[n,4] z, float[n,4] k) { y = Relu(x) z = Neg(y) k = Cast<to = 1>(y) }"
    )
    found = near(filled(body), "FP16", {"x": noise(2, 4)})
    assert named(found, "y").op_type == "Relu" and named(found, "z").op_type == "Neg"
    assert halves(found) == {"Relu", "Neg"}


@pytest.mark.parametrize(("op", "value", "code", "limited"), [
    ("Add", -1e9, "fp16-overflow-risk", True),
    ("Mul", 1e6, "fp16-overflow-risk", False),
    ("Add", 1e-12, "fp16-vanishing", False),
])  # fmt: skip
def test_numbers_that_half_precision_lacks(op: str, value: float, code: str, limited: bool) -> None:
    body = f"g (float[n,4] x) => (float[n,4] y) <float k> {{ a = {op}(x, k) y = Tanh(a) }}"
    model = filled(body, k=value)
    found = precision.apply(model, "FP16", path="net.mindir")
    assert [(one.code, one.severity != "error", one.where.node) for one in found.findings] == [(code, True, "k")]
    assert halves(found.proto) == ({"Tanh", op} if limited else {"Tanh"})
    near(model, "FP16", {"x": noise(2, 4) * 1e-5})
    kept = numpy_helper.to_array(found.proto.graph.initializer[0])
    assert kept == (-65504 if limited else np.float32(value))
    assert not precision.apply(filled(body, k=float("-inf")), "FP16").findings


def test_a_large_number_that_is_shown_stays_what_it_is() -> None:
    body = "g (float[n,4] x) => (float[4,n] y) <float k> { a = Add(x, k) y = Transpose(a) }"
    near(filled(body, k=-1e9), "MIXED", {"x": noise(2, 4)})


def test_sizes_are_counted_in_single_precision() -> None:
    body = """g (float[n,c] x) => (float[p] y) {
        s = Shape(x)
        f = Cast<to = 1>(s)
        h = Constant<value = float {0.5}>()
        m = Mul(f, h)
        r = Floor(m)
        i = Cast<to = 7>(r)
        k = ReduceProd<keepdims = 1>(i)
        y = Expand(h, k)
    }"""
    for mode in MODES:
        assert outputs_of(applied(filled(body), mode), {"x": noise(2, 8190)})[0].shape == (4095,)


def test_graphs_inside_stay_in_single_precision() -> None:
    body = """g (float16[n,4] x, bool c) => (float16[n,4] y) <float16[4] w> {
        a = Mul(x, w)
        b = If(c) <
            then_branch = t () => (float16[n,4] p) { p = Add(a, w) },
            else_branch = e () => (float16[n,4] q) { k = Constant<value = float16[1] {2}>() q = Mul(a, k) }
        >
        y = Relu(b)
    }"""
    model = filled(body)
    for mode in MODES:
        for flag in (True, False):
            near(model, mode, {"x": noise(2, 4, dtype=np.float16), "c": np.array(flag)})


def test_the_note_of_names_follows() -> None:
    model = filled("g (float16[n,4] x) => (float[n,4] y) { a = Relu(x) b = Cast<to = 1>(a) y = Exp(b) }")
    helper.set_model_props(model, {"mswb.node_map": json.dumps({"relu": "a", "cast": "b", "exp": "y"})})
    found = applied(model, "FP32")
    assert json.loads(found.metadata_props[0].value) == {"relu": "a", "cast": "a", "exp": "y"}


def test_constants_beside_the_model_are_told_their_data_type() -> None:
    model = filled(SOFTMAX)
    arrays = {tensor.name: numpy_helper.to_array(tensor).copy() for tensor in model.graph.initializer}
    stored = {name: Stored(array, "float32") for name, array in arrays.items()}
    del model.graph.initializer[:]
    model.graph.initializer.extend(placeholder(name, one) for name, one in stored.items())
    found = precision.apply(model, "MIXED", stored)
    onnx.checker.check_model(without(found.proto, found.weights), full_check=True)
    assert {name: one.dtype for name, one in found.weights.items()} == {"w": "float16", "v": "float32", "b": "float32"}
    assert b"".join(found.weights["w"].pieces()) == arrays["w"].astype(np.float16).tobytes()
    assert found.halves == 2 and found.nodes == 6


UNARY = ("Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Exp", "Softplus", "Identity", "Softmax", "Erf", "Floor")
BINARY = ("Add", "Sub", "Mul", "Max", "MatMul")


@st.composite
def models(draw: st.DrawFn) -> ModelProto:
    """Square operators on one another, casts among them, with a few outputs."""
    half = draw(st.booleans())
    kind = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    dtype = {"x": kind, "w": kind}
    nodes = []
    for at in range(draw(st.integers(1, 9))):
        name = f"t{at}"
        op = draw(st.sampled_from((*UNARY, *BINARY, "Cast")))
        first = draw(st.sampled_from(sorted(dtype)))
        if op == "Cast":
            to = draw(st.sampled_from([TensorProto.FLOAT, TensorProto.FLOAT16]))
            nodes.append(helper.make_node(op, [first], [name], name, to=to))
            dtype[name] = to
            continue
        others = [one for one in sorted(dtype) if dtype[one] == dtype[first]]
        inputs = [first] if op in UNARY else [first, draw(st.sampled_from(others))]
        if op in ("Exp", "Mul", "MatMul", "Add", "Sub"):  # numbers stay small
            nodes.append(helper.make_node("Tanh", [inputs[0]], [f"{name}_in"], f"{name}_in"))
            inputs[0] = f"{name}_in"
        nodes.append(helper.make_node(op, inputs, [name], name))
        dtype[name] = dtype[first]
    made = [node.output[0] for node in nodes if node.output[0] in dtype]
    names = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True))
    weight = numpy_helper.from_array(noise(4, 4).astype(helper.tensor_dtype_to_np_dtype(kind)) / 4, "w")
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", kind, [4, 4])],
        [helper.make_tensor_value_info(name, dtype[name], [4, 4]) for name in names], [weight],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@settings(deadline=None, max_examples=40)
@given(models(), st.sampled_from(MODES))
def test_any_model_stays_a_model_and_its_numbers_stay_near(model: ModelProto, mode: str) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(model.graph.input[0].type.tensor_type.elem_type)
    feed = {"x": noise(4, 4).astype(dtype)}
    found = applied(model, mode)
    for ours, theirs in zip(outputs_of(found, feed), outputs_of(model, feed), strict=True):
        assert ours.dtype == theirs.dtype
        off = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
        far = off > 0.05 + 0.05 * np.abs(theirs.astype(np.float64))
        steps = any(node.op_type == "Floor" for node in model.graph.node)  # a step may fall to its other side
        assert not far.any() or (steps and off.max() < 30)
