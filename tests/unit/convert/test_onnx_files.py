"""ONNX files as they are written: in one file, with constants in a second one, wholly or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper

from mswb.convert import to_onnx
from mswb.convert.onnx.weights import PIECE, Stored, placeholder
from mswb.convert.onnx.writer import ALIGNED, write
from mswb.findings import MswbError
from tests.unit.convert.models import REAL
from tests.unit.convert.onnx_running import outputs_of

ARRAYS = {
    "w": np.arange(24, dtype=np.float32).reshape(4, 6),
    "v": np.linspace(-1e6, 1e6, 36, dtype=np.float32).reshape(6, 6),
    "s": np.ones((1, 6), np.float32),
}


def model(stored: dict[str, Stored]) -> ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("MatMul", ["a", "v"], ["b"]),
        helper.make_node("Add", ["b", "s"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, 1, ["n", None]) for name in "xy")
    tensors = [placeholder(name, one) for name, one in stored.items()]
    tensors.insert(1, numpy_helper.from_array(ARRAYS["s"], "s"))
    graph = helper.make_graph(nodes, "g", [x], [y], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def stored() -> dict[str, Stored]:
    return {name: Stored(ARRAYS[name], "float32") for name in ("w", "v")}


@pytest.mark.parametrize("limit", [1 << 31, 100])
def test_the_file_is_the_model(tmp_path: Path, limit: int) -> None:
    path = str(tmp_path / "net.onnx")
    held = stored()
    written = write(model(held), held, path, limit=limit)
    files = sorted(tmp_path.iterdir())
    assert [one.name for one in files] == (["net.onnx"] if limit > 100 else ["net.onnx", "net.onnx.data"])
    assert written == sum(one.stat().st_size for one in files)
    onnx.checker.check_model(path, full_check=True)
    loaded = onnx.load(path)
    assert {one.name: numpy_helper.to_array(one).tolist() for one in loaded.graph.initializer} == {
        name: array.tolist() for name, array in ARRAYS.items()
    }
    x = np.ones((2, 4), np.float32)
    np.testing.assert_allclose(outputs_of(path, {"x": x})[0], x @ ARRAYS["w"] @ ARRAYS["v"] + ARRAYS["s"], rtol=1e-4)


def test_constants_of_a_second_file_start_at_pages(tmp_path: Path) -> None:
    held = stored()
    write(model(held), held, str(tmp_path / "net.onnx"), limit=0)
    loaded = onnx.load(str(tmp_path / "net.onnx"), load_external_data=False)
    places = {one.name: {two.key: two.value for two in one.external_data} for one in loaded.graph.initializer}
    assert places["w"] == {"location": "net.onnx.data", "offset": "0", "length": "96"}
    assert places["v"]["offset"] == str(ALIGNED) and places["s"] == {}


def test_what_can_not_be_written_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(b"before")
    real, moved = os.replace, list[str]()

    def replace(source: str, target: str) -> None:
        moved.append(os.path.basename(target))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", replace)
    for limit in (0, 1 << 31):
        held = stored()
        with pytest.raises(MswbError, match="No space left"):
            write(model(held), held, str(path), limit=limit)
    assert moved == ["net.onnx.data", "net.onnx"]
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]
    monkeypatch.setattr(os, "replace", real)
    with pytest.raises(MswbError, match="absent"):
        write(model(held), held, str(tmp_path / "absent" / "net.onnx"))


def test_constants_are_converted_piece_by_piece() -> None:
    array = np.linspace(-7e4, 7e4, PIECE + 3, dtype=np.float32)
    array[5] = np.inf
    pieces = list(Stored(array, "float16", limited=True).pieces())
    found = np.frombuffer(b"".join(pieces), np.float16)
    assert len(pieces) == 2 and found.size == array.size == Stored(array, "float16").size // 2
    assert found[0] == -65504 and found[-1] == 65504 and found[5] == np.inf
    assert np.isinf(np.frombuffer(next(iter(Stored(array, "float16").pieces())), np.float16)[0])


def test_a_conversion_that_keeps_its_weights_apart_is_the_same_file(tmp_path: Path) -> None:
    source = str(REAL / "mlp.mindir")
    whole, apart = (to_onnx.convert(source, to_onnx.Options(apart=apart)) for apart in (False, True))
    paths = [str(tmp_path / name) for name in ("whole.onnx", "apart.onnx", "split.onnx")]
    to_onnx.save(whole, paths[0])
    to_onnx.save(apart, paths[1])
    to_onnx.save(apart, paths[2], limit=0)
    x = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
    results = [outputs_of(path, {"input_data": x})[0].tolist() for path in paths]
    assert results[0] == results[1] == results[2]
    assert not whole.weights
