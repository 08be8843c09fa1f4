"""What a person changes before a conversion: attributes, sizes, frozen inputs; and the transposed edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from mswb.convert import adjust
from mswb.convert.layout import Edge, channels_last
from mswb.findings import MswbError
from tests.unit.convert.onnx_models import model_of

SIZES = [1, 3, 224, 224]


@pytest.mark.parametrize(
    "text",
    [
        "input:[1,3,224,224]",
        '"input:[1,3,224,224]"',
        "'input' : [ 1, 3, 224, 224 ]",
        " input:[1, 3,224 ,224] ; ",
        "input:1,3,224,224",
        "input: 1x3x224x224",
        "“input:[1,3,224,224]”",
        "{input: (1, 3, 224, 224)}",
        "input=[1 3 224 224]",
    ],
)
def test_one_shape_in_any_spelling(text: str) -> None:
    assert adjust.parse_shapes([text]) == {"input": SIZES}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a:[1,2];b:[3]"], {"a": [1, 2], "b": [3]}),
        (["a:[1,2], b:[3]"], {"a": [1, 2], "b": [3]}),
        (["a:[1,2] b:[3]"], {"a": [1, 2], "b": [3]}),
        (["a:1,2;b:3"], {"a": [1, 2], "b": [3]}),
        (["a:[1,2]", "b:[]"], {"a": [1, 2], "b": []}),
        (["input:0:[-1,?,3]"], {"input:0": [None, None, 3]}),
        (["[4,5]"], {"": [4, 5]}),
    ],
)
def test_several_shapes_open_sizes_and_names(texts: list[str], expected: object) -> None:
    assert adjust.parse_shapes(texts) == expected


@pytest.mark.parametrize(
    "text", ["", "input", "input:[1,2", "input:1,2]]", "input:[a,b]", "input:[1.5]", "x:[-3]", "["]
)
def test_shapes_that_are_none(text: str) -> None:
    with pytest.raises(MswbError) as stopped:
        adjust.parse_shapes([text])
    assert stopped.value.exit_code == 2 and "--input_shape" in str(stopped.value)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert all(isinstance(name, str) for name in adjust.parse_shapes([text]))
    except MswbError as stopped:
        assert stopped.finding.code == "usage"


TWO = "g (float[n,3,h,w] x, float[n,7] z) => (float[n,3,h,w] y) { y = Neg(x) }"


def test_a_named_size_is_the_same_everywhere() -> None:
    model = model_of(TWO)
    adjust.fix_shapes(model, {"x": [2, 3, None, 8]}, ())
    shapes = {
        value.name: [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    }
    assert shapes == {"x": [2, 3, "h", 8], "z": [2, 7], "y": [2, 3, "h", 8]}


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ({"q": [1]}, "its inputs are: x, z"),
        ({"": [1, 2]}, "its inputs are: x, z"),
        ({"x": [1, 3]}, "has 4 dimensions, not 2"),
        ({"x": [1, 4, 2, 2]}, "the fixed size 3, not 4"),
        ({"x": [1, 3, 2, 2], "z": [2, 7]}, "n would be 1 and 2"),
    ],
)
def test_shapes_that_do_not_fit(shapes: dict[str, list[int | None]], words: str) -> None:
    with pytest.raises(MswbError) as stopped:
        adjust.fix_shapes(model_of(TWO), shapes, ())
    assert words in str(stopped.value)


NORM = """g (float[n,2,h,w] x, float[2] s) => (float[n,2,h,w] y) {
    a = BatchNormalization<epsilon = 0.001>(x, s, s, s, s)
    b = BatchNormalization(a, s, s, s, s)
    y = Softmax<axis = 1>(b)
}"""


@pytest.mark.parametrize("name", ["BatchNormalization", "BatchNorm", "BatchNorm2d"])
def test_an_attribute_is_overridden_and_both_values_told(name: str) -> None:
    model = model_of(NORM)
    changes, unused = adjust.override(model, {name: {"epsilon": 1e-4}, "Gelu": {"approximate": "tanh"}})
    assert [(one.op, one.attribute, one.old, one.new) for one in changes] == [
        ("BatchNormalization", "epsilon", "0.001", "0.0001"),
        ("BatchNormalization", "epsilon", "1e-05", "0.0001"),
    ]
    assert unused == ["Gelu"]
    assert [node.attribute[0].f for node in model.graph.node[:2]] == [pytest.approx(1e-4)] * 2


def test_one_node_by_name() -> None:
    model = model_of(NORM)
    model.graph.node[1].name = "bn2"
    changes, _ = adjust.override(model, {"bn2": {"momentum": 1}})
    assert [(one.node, one.old, one.new) for one in changes] == [("bn2", "0.9", "1")]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"Softmax": {"axes": 1}}, "did you mean axis?"),
        ({"Softmax": {"axis": "last"}}, "of type int"),
        ({"Softmax": {"axis": 1.5}}, "of type int"),
        ({"Softmax": {"axis": True}}, "of type int"),
        ({"BatchNorm": {"epsilon": [1e-5]}}, "of type float"),
    ],
)
def test_attributes_that_do_not_fit(config: dict[str, dict[str, object]], words: str) -> None:
    with pytest.raises(MswbError) as stopped:
        adjust.override(model_of(NORM), config)
    assert words in str(stopped.value)


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"BatchNorm": 3}', "{BatchNorm: {epsilon: 1}}"])
def test_a_config_that_is_none(text: str) -> None:
    with pytest.raises(MswbError) as stopped:
        adjust.parse_overrides(text)
    assert "--custom_op_config" in str(stopped.value)


def test_frozen_values(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    read = adjust.parse_frozen([f"a={tmp_path}/a.npy", "b=[[1, 2]]", "c=2.5", "d=true"])
    assert {name: array.tolist() for name, array in read.items()} == {
        "a": [0, 1, 2], "b": [[1, 2]], "c": 2.5, "d": True,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["axes", "=3", "a=", "a=absent.npy", "a=[1,[2]]", 'a="x"', "a={}"])
def test_frozen_values_that_are_none(text: str) -> None:
    with pytest.raises(MswbError) as stopped:
        adjust.parse_frozen([text])
    assert "--freeze" in str(stopped.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("q", 1, "no input q"), ("s", [1, 2], "shape [2]"), ("s", [1.5, 2, 3], "of type int64"), ("s", 1, "shape []")],
)
def test_frozen_inputs_that_do_not_fit(name: str, value: object, words: str) -> None:
    model = model_of("g (float[n,3] x, int64[3] s) => (float[a,b,c] y) { y = Reshape(x, s) }")
    with pytest.raises(MswbError) as stopped:
        adjust.check_frozen(model, {name: np.array(value)}, ())
    assert words in str(stopped.value)


def test_the_edges_are_transposed_and_the_answers_stay() -> None:
    text = """g (float[n,3,h,w] x, float[n,3] z, bool c) => (float[n,3,h,w] y, float[n,3] v, float[n,3,h,w] x) {
        v = Neg(z)
        y = If(c) <then_branch = t () => (float[n,3,h,w] a) { a = Neg(x) },
                   else_branch = e () => (float[n,3,h,w] b) { b = Identity(x) }>
    }"""
    plain, turned = model_of(text), model_of(text)
    assert channels_last(turned, ()) == [Edge("input", "x"), Edge("output", "y")]
    x, z = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5), np.ones((2, 3), np.float32)
    flag = np.array(True)
    y, v, _ = ReferenceEvaluator(plain).run(None, {"x": x, "z": z, "c": flag})
    last = x.transpose(0, 2, 3, 1)
    found = ReferenceEvaluator(turned).run(None, {"x": last, "z": z, "c": flag})
    for ours, theirs in zip(found, (y.transpose(0, 2, 3, 1), v, last), strict=True):
        assert np.array_equal(ours, theirs)
    dims = [dim.dim_param or dim.dim_value for dim in turned.graph.input[0].type.tensor_type.shape.dim]
    assert dims == ["n", "h", "w", 3]
