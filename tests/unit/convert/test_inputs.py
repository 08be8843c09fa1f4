"""Inputs for a verification: random ones by type and shape, and those of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from mswb.convert.verify.inputs import declared, from_file, random, sizes
from mswb.findings import MswbError


def model(inputs: list[onnx.ValueInfoProto], nodes: list[onnx.NodeProto], **weights: np.ndarray) -> onnx.ModelProto:  # type: ignore[type-arg]
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name="y")], tensors)
    return helper.make_model(graph)


FREE = model(
    [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"]),
        helper.make_tensor_value_info("mask", TensorProto.BOOL, ["n", None]),
    ],
    [helper.make_node("Relu", ["x"], ["y"])],
)


def test_free_sizes_of_one_name_are_the_same_and_others_vary() -> None:
    inputs = declared(FREE)
    tried = list(sizes(inputs))
    assert len(tried) > 3
    shapes = [tuple(random(inputs, one, 0)[name].shape for name in ("x", "mask")) for one in tried]
    assert all(x[0] == mask[0] and x[1] == 3 for x, mask in shapes)
    assert len(set(shapes[:3])) == 3
    assert any(x[2] % 32 == 0 and x[3] % 32 == 0 for x, _ in shapes)


def test_a_seed_is_repeated_and_another_gives_other_numbers() -> None:
    inputs = declared(FREE)
    first = next(sizes(inputs))
    one, same, other = (random(inputs, first, seed) for seed in (5, 5, 6))
    assert np.array_equal(one["x"], same["x"]) and not np.array_equal(one["x"], other["x"])
    assert one["mask"].dtype == np.bool_ and 0.1 < one["x"].std() < 3


def test_an_index_stays_in_the_table_it_is_looked_up_in() -> None:
    proto = model(
        [helper.make_tensor_value_info("ids", TensorProto.INT64, [200])],
        [
            helper.make_node("Cast", ["ids"], ["i"], to=TensorProto.INT32),
            helper.make_node("Gather", ["table", "i"], ["y"]),
        ],
        table=np.zeros((3, 4), np.float32),
    )
    ids = random(declared(proto), {}, 0)["ids"]
    assert set(ids) == {0, 1, 2}


@pytest.mark.parametrize(("number", "low", "high"), [(TensorProto.UINT8, 0, 255), (TensorProto.INT8, -128, 127)])
def test_bytes_have_their_whole_range(number: int, low: int, high: int) -> None:
    proto = model([helper.make_tensor_value_info("x", number, [20000])], [helper.make_node("Identity", ["x"], ["y"])])
    found = random(declared(proto), {}, 0)["x"]
    assert (found.min(), found.max()) == (low, high)


def test_nothing_is_divided_by_zero() -> None:
    inputs = [helper.make_tensor_value_info(name, TensorProto.UINT8, [9000]) for name in ("x", "by")]
    nodes = [helper.make_node("Identity", ["by"], ["b"]), helper.make_node("Div", ["x", "b"], ["y"])]
    found = random(declared(model(inputs, nodes)), {}, 0)
    assert found["by"].all() and not found["x"].all()


def test_numbers_that_are_not_negative() -> None:
    found = random(declared(FREE), next(sizes(declared(FREE))), 0, positive=True)
    assert (found["x"] >= 0).all() and found["x"].dtype == np.float32 and found["mask"].dtype == np.bool_


def test_weights_are_no_inputs() -> None:
    proto = model(
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "w", "large")],
        [helper.make_node("Add", ["x", "w"], ["y"])],
        w=np.zeros(2, np.float32),
    )
    assert [one.name for one in declared(proto, ["large"])] == ["x"]


def test_a_file_of_arrays(tmp_path: Path) -> None:
    path = tmp_path / "in.npz"
    x, mask = np.ones((2, 3, 4, 5), np.float32), np.ones((2, 9), np.bool_)
    np.savez(path, x=x, mask=mask)
    found = from_file(str(path), declared(FREE))
    assert np.array_equal(found["x"], x) and np.array_equal(found["mask"], mask)


@pytest.mark.parametrize(
    ("arrays", "word"),
    [
        ({"x": np.ones((2, 3, 4, 5), np.float32)}, "no array for mask"),
        ({"x": np.ones((2, 3, 4, 5)), "mask": np.ones((2, 9), np.bool_)}, "float64 instead of float32"),
        ({"x": np.ones((2, 4, 4, 5), np.float32), "mask": np.ones((2, 9), np.bool_)}, "[2, 4, 4, 5] instead of"),
        ({"x": np.ones((2, 3, 4, 5), np.float32), "mask": np.ones((3, 9), np.bool_)}, "[3, 9] instead of [2, "),
        ({"x": np.ones((2, 3), np.float32), "mask": np.ones((2, 9), np.bool_)}, "[2, 3] instead of"),
        ({"x": np.ones((2, 3, 4, 5), np.float32), "mask": np.ones((2, 9), np.bool_), "z": np.ones(1)}, "no input z"),
    ],
)
def test_a_file_that_does_not_fit(tmp_path: Path, arrays: dict[str, np.ndarray], word: str) -> None:  # type: ignore[type-arg]
    path = tmp_path / "in.npz"
    np.savez(path, **arrays)
    with pytest.raises(MswbError) as error:
        from_file(str(path), declared(FREE))
    assert error.value.finding.code == "verify-inputs" and word in error.value.finding.title


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b"text", None])
def test_a_file_that_is_none(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "in.npz"
    if content is None:
        np.savez(path, x=np.array([{}], object), mask=np.ones(1))
    else:
        path.write_bytes(content)
    with pytest.raises(MswbError) as error:
        from_file(str(path), declared(FREE))
    assert error.value.finding.code == "verify-inputs"
