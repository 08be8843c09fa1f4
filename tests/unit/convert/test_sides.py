"""An operator on both sides: found by its output, with attributes, defaults and the calls that stand for it."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from mswb.cli.app import run
from mswb.convert import to_mindir
from mswb.convert.verify.sides import Models
from mswb.findings import MswbError
from tests.unit.convert.models import REAL
from tests.unit.convert.onnx_models import model_of, saved

NET = """g (float[n,3,8,8] x) => (float[n,4] y) {
    w = Constant<value = float[4,3,1,1] {1,2,3,4,5,6,7,8,9,10,11,12}>()
    c = Conv<pads = [1, 1, 1, 1]>(x, w)
    m = GlobalAveragePool(c)
    f = Flatten(m)
    y = Softmax(f)
}"""


@pytest.fixture
def models(tmp_path: Path) -> Models:
    source = saved(model_of(NET), tmp_path, "net.onnx")
    target = str(tmp_path / "net.mindir")
    to_mindir.save(to_mindir.convert(str(source)), target)
    return Models(str(source), target)


def test_attributes_and_defaults_of_the_onnx_node(models: Models) -> None:
    found = models.of("", "c").onnx
    assert found is not None and found.op == "Conv" and found.inputs == ("x", "w")
    assert found.attributes == (("pads", "[1, 1, 1, 1]"),)
    assert ("group", "1") in found.defaults and "pads" not in dict(found.defaults)


def test_the_calls_are_those_between_its_inputs_and_its_output(models: Models) -> None:
    conv, soft = models.of("", "c").mindir, models.of("", "y").mindir
    assert conv[0].op == "Conv2D" and dict(conv[0].attributes)["pad"] == "(1, 1, 1, 1)"
    assert "Conv2D" not in [one.op for one in soft] and len(soft) > 1
    assert all(one.op != "Constant" for one in (*conv, *soft))


def test_a_mindir_node_is_found_by_its_own_name(tmp_path: Path) -> None:
    source = saved(model_of(NET), tmp_path, "net.onnx")
    models = Models(str(source), str(REAL / "conv.mindir"))
    name = "116_52_mindspore_nn_layer_container_SequentialCell_construct_53:output:3"
    for one in (models, Models("", str(REAL / "conv.mindir"))):
        for node, output in ((name, "nothing of this name"), ("0-Conv2d/Conv2D-op0", "nothing")):
            found = one.of(node, output)
            assert found.onnx is None and [call.op for call in found.mindir] == ["Conv2D"]
            assert dict(found.mindir[0].attributes)["pad_mode"] == "same"
            assert found.mindir[0].name == "0-Conv2d/Conv2D-op0"
            assert found.mindir[0].inputs == ("input_data", "CNode_55:1")


def test_without_a_mindir_there_is_one_side(tmp_path: Path) -> None:
    found = Models(str(saved(model_of(NET), tmp_path, "net.onnx")), "").of("", "c")
    assert found.onnx is not None and found.onnx.op == "Conv" and found.mindir == ()


def test_a_file_that_has_gone_is_an_error(models: Models, tmp_path: Path) -> None:
    (tmp_path / "net.mindir").unlink()
    with pytest.raises(MswbError, match="no such file"):
        models.of("", "c")


def test_the_other_direction_is_known_too(tmp_path: Path) -> None:
    source, target = REAL / "mlp.mindir", tmp_path / "mlp.onnx"
    assert run(["convert", "--input_file", str(source), "--output_file", str(target), "--format", "json"]) == 0
    models = Models(str(target), str(source))
    nodes = [node for node in onnx.load(str(target)).graph.node if node.op_type in ("MatMul", "Gemm", "Relu")]
    found = [models.of(node.name, node.output[0]) for node in nodes]
    assert len(nodes) > 2 and all(one.onnx is not None and len(one.mindir) == 1 for one in found)
    assert {one.mindir[0].op for one in found} == {"MatMul", "ReLU"}
