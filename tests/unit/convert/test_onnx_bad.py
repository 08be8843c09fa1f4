"""What is not a model, or breaks a rule, is named in one line: exit code 2, and no file is left."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import ModelProto, helper

from mswb.cli.app import run
from mswb.convert import to_mindir
from mswb.findings import MswbError
from tests.unit.convert.onnx_models import model_of, outside, placed, saved, small, weighted


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The line on stderr; the folder holds no more than before."""
    before = set(path.parent.iterdir())
    assert run(["convert", "--input_file", str(path), "--output_file", str(path.with_suffix(".mindir"))]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and set(path.parent.iterdir()) == before
    (line,) = captured.err.splitlines()
    return line


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "html": (b"<!DOCTYPE html><html><body>Sign in</body></html>", "HTML"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "git lfs pull"),
    "ms": (struct.pack("<I", 16) + b"MSL2" + bytes(64), "Lite model"),
    "encrypted": (b"\xd8\x5e\x3a\x7f" + bytes(range(200)), "encrypted (AES-GCM)"),
    "noise": (bytes(range(256)) * 3, "neither MindIR nor ONNX"),
    "text": (b"hello, this is a note\n" * 9, "neither MindIR nor ONNX"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_onnx_model(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(FILES[name][0])
    assert FILES[name][1] in refused(path, capsys)


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in refused(tmp_path / "absent.onnx", capsys)


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9, 0.99])
def test_truncated(part: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(weighted(), tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])
    assert "cut off" in refused(path, capsys)


def _without_opset(model: ModelProto) -> None:
    del model.opset_import[:]


def _opset(number: int) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        model.opset_import[0].version = number

    return change


def _ancient(model: ModelProto) -> None:
    """Before opset 7 a slope of one dimension is one for each channel."""
    model.CopyFrom(model_of("g (float[n,3,4] x, float[3] s) => (float[n,3,4] y) { y = PRelu(x, s) }", opset=6))


def _cycle(model: ModelProto) -> None:
    model.graph.node[0].input[0] = "y"


def _two_writers(model: ModelProto) -> None:
    model.graph.node.append(helper.make_node("Neg", ["x"], ["a"]))


def _undefined(model: ModelProto) -> None:
    model.graph.node[0].input[0] = "nowhere"


def _too_many_inputs(model: ModelProto) -> None:
    model.graph.node[0].input.extend(["x", "x"])


def _unknown_attribute(model: ModelProto) -> None:
    model.graph.node[0].attribute.append(helper.make_attribute("speed", 3))


def _two_weights(model: ModelProto) -> None:
    for _ in range(2):
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights(), "w"))


def _writes_an_input(model: ModelProto) -> None:
    model.graph.node.append(helper.make_node("Neg", ["a"], ["x"]))


def _within(*nodes: onnx.NodeProto) -> Callable[[ModelProto], None]:
    """The body of a loop, with these nodes in place of its sum."""

    def change(model: ModelProto) -> None:
        model.CopyFrom(model_of(SMALL_LOOP))
        body = model.graph.node[1].attribute[0].g
        del body.node[1:]
        body.node.extend(nodes)

    return change


def _short_weight(model: ModelProto) -> None:
    model.CopyFrom(weighted())
    model.graph.initializer[0].raw_data = bytes(100)


def _unknown_type(model: ModelProto) -> None:
    model.CopyFrom(weighted(2, 3))
    model.graph.initializer[0].data_type = 77


def weights() -> Any:
    return onnx.numpy_helper.to_array(weighted().graph.initializer[0])


BROKEN: dict[str, tuple[Callable[[ModelProto], None], str]] = {
    "no opset": (_without_opset, "does not say its opset"),
    "future opset": (_opset(999), "opset 999"),
    "ancient opset": (_ancient, "opset 6"),
    "cycle": (_cycle, "circle of 2 nodes"),
    "two writers": (_two_writers, "the name a stands 2 times"),
    "undefined input": (_undefined, "nowhere, which nothing defines"),
    "inputs too many": (_too_many_inputs, "breaks the rules of ONNX"),
    "unknown attribute": (_unknown_attribute, "breaks the rules of ONNX"),
    "two weights of one name": (_two_weights, "the name w stands 2 times"),
    "an input is written": (_writes_an_input, "the name x stands 2 times"),
    "cycle in a loop": (
        _within(helper.make_node("Neg", ["b"], ["v2"]), helper.make_node("Neg", ["v2"], ["b"])),
        "topologically sorted",
    ),
    "two writers in a loop": (
        _within(helper.make_node("Neg", ["v"], ["v2"]), helper.make_node("Abs", ["v"], ["v2"])),
        "output names multiple times",
    ),
    "undefined input in a loop": (_within(helper.make_node("Neg", ["nowhere"], ["v2"])), "nowhere"),
    "short weight": (_short_weight, "too small for the declared shape"),
    "weight of no data type": (_unknown_type, "weight w is of data type 77"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_models(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, words = BROKEN[name]
    model = small()
    change(model)
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    assert words in refused(path, capsys)


MISMATCHED = {
    "conv": ("g (float[n,4,8,8] x, float[2,3,3,3] w) => (float[a,b] y) { y = Conv(x, w) }", "3 input channels"),
    "grouped conv": (
        "g (float[n,4,8,8] x, float[2,4,3,3] w) => (float[a,b] y) { y = Conv<group=2>(x, w) }",
        "8 input channels",
    ),
    "transposed conv": (
        "g (float[n,4,8,8] x, float[3,2,3,3] w) => (float[a,b] y) { y = ConvTranspose(x, w) }",
        "3 input channels",
    ),
    "product": ("g (float[n,4] x, float[5,2] w) => (float[a,b] y) { y = MatMul(x, w) }", "4 columns"),
    "gemm": ("g (float[n,4] x, float[2,5] w) => (float[a,b] y) { y = Gemm<transB=1>(x, w) }", "4 columns"),
    "batch norm": (
        "g (float[n,4,8,8] x, float[3] s) => (float[a,b] y) { y = BatchNormalization(x, s, s, s, s) }",
        "4 channels",
    ),
    "within": (
        "g (float[n,4,8,8] x, float[6,4,1,1] w, float[2,5,1,1] v) => (float[p,q] y) "
        "{ a = Conv(x, w) b = Relu(a) y = Conv(b, v) }",
        "5 input channels",
    ),
}


@pytest.mark.parametrize("name", MISMATCHED)
def test_channels_that_do_not_fit(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, words = MISMATCHED[name]
    assert words in refused(saved(model_of(text), tmp_path), capsys)


def test_external_data_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = outside(tmp_path)
    (tmp_path / "data.bin").unlink()
    assert "data of weight w is not there" in refused(path, capsys)


def test_external_data_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = outside(tmp_path)
    data = (tmp_path / "data.bin").read_bytes()
    (tmp_path / "data.bin").write_bytes(data[:-8])
    line = refused(path, capsys)
    assert "too short" in line and str(len(data)) in line and str(len(data) - 8) in line


def test_external_data_that_starts_behind_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = placed(tmp_path, "data.bin", offset="999999", length="16384")
    (tmp_path / "data.bin").write_bytes(bytes(16384))
    assert "too short" in refused(path, capsys)


@pytest.mark.parametrize("held", [b"", bytes(10), b"version https://git-lfs.github.com/spec/v1\n"])
def test_external_data_of_a_small_weight_short(held: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(weighted(5, 7), str(path), save_as_external_data=True, location="data.bin", size_threshold=0)
    (tmp_path / "data.bin").write_bytes(held)
    assert f"data.bin has {len(held)}" in refused(path, capsys)
    (tmp_path / "data.bin").unlink()
    assert "data of weight w is not there" in refused(path, capsys)


def test_an_older_result_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.mindir").write_bytes(b"older")
    path = tmp_path / "net.onnx"
    path.write_bytes(b"")
    assert "empty" in refused(path, capsys)
    assert (tmp_path / "net.mindir").read_bytes() == b"older"


@pytest.mark.parametrize("location", ["../data.bin", "a/../../data.bin", "/etc/passwd", "..\\data.bin"])
def test_external_data_outside(location: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.bin").write_bytes(bytes(16384))
    inner = tmp_path / "inner"
    (inner / "a").mkdir(parents=True)
    line = refused(placed(inner, location), capsys)
    assert "outside the model's folder" in line or "not there" in line


def test_external_data_through_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret").write_bytes(bytes(16384))
    os.symlink(tmp_path / "secret", inner / "data.bin")
    assert "outside the model's folder" in refused(placed(inner, "data.bin"), capsys)


def test_external_data_that_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "data.bin")
    assert "not there" in refused(placed(tmp_path, "data.bin"), capsys)
    os.unlink(tmp_path / "data.bin")
    (tmp_path / "data.bin").mkdir()
    assert "not there" in refused(placed(tmp_path, "data.bin"), capsys)


@pytest.mark.parametrize("offset", ["many", "-4", "9" * 30])
def test_external_data_at_no_number(offset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = placed(tmp_path, "data.bin", offset=offset)
    (tmp_path / "data.bin").write_bytes(bytes(16384))
    assert "no number" in refused(path, capsys)


def test_names_that_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(small(), tmp_path)
    path.write_bytes(path.read_bytes().replace(b"Neg", b"N\xb8g"))
    assert "not UTF-8" in refused(path, capsys)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_is_named(data: st.DataObject, tmp_path: Path) -> None:
    """Bytes that are changed, cut out or put in: an error that names it, a refusal, or a model; nothing else."""
    whole = bytearray(model_of(SMALL_LOOP).SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path / "net.onnx"
    path.write_bytes(whole)
    try:
        to_mindir.convert(str(path))
    except MswbError as stopped:
        assert stopped.exit_code == 2 and stopped.finding.title


SMALL_LOOP = """g (float[n,3] x, int64 most, bool c) => (float[n,3] y, float[n,3] z) {
    z = Softmax<axis = -1>(x)
    y = Loop(most, c, x) <body = b (int64 i, bool k, float[n,3] v) => (bool k2, float[n,3] v2) {
        k2 = Identity(k)
        v2 = Add(v, x)
    }>
}"""
