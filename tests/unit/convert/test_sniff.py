"""Which model a file holds: real samples, and the ways in which ONNX and MindIR could be taken for each other."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from mswb.convert import sniff
from mswb.files.items import Guess
from mswb.files.peek import UNKNOWN_SIZE, Peek
from tests.unit.files.test_wire import field, varint
from tests.unit.inventories import DATA, MODELS, guess_bytes, guess_file, items_of


def verdict(guess: Guess | None) -> tuple[str, str]:
    assert guess is not None
    assert guess.kind in sniff.KINDS and guess.detail and guess.reason
    return guess.kind, guess.status


@pytest.mark.parametrize(
    ("name", "kind", "status", "words"),
    [
        ("net.onnx", "onnx", "", "IR version 4, opset 11, by MindSpore"),
        ("net.mindir", "mindir", "", "IR version 1.1, MindSpore 2.10.0"),
        ("enc_AES-GCM.mindir", "mindir", "encrypted", "AES-GCM"),
        ("enc_AES-CBC.mindir", "mindir", "encrypted", "AES-CBC"),
        ("enc_SM4-CBC.mindir", "mindir", "encrypted", "SM4-CBC"),
    ],
)
def test_samples(name: str, kind: str, status: str, words: str) -> None:
    guess = guess_file(sniff, MODELS / name)
    assert verdict(guess) == (kind, status)
    assert guess is not None and words in guess.detail
    assert verdict(guess_bytes(sniff, (MODELS / name).read_bytes(), "renamed.bin")) == (kind, status)


@pytest.mark.parametrize(("name", "kind"), [("net.onnx", "onnx"), ("net.mindir", "mindir")])
def test_cut_models(name: str, kind: str) -> None:
    data = (MODELS / name).read_bytes()
    assert verdict(guess_bytes(sniff, data[: len(data) // 2], "x")) == (kind, "truncated")


def _model(**changes: object) -> onnx.ModelProto:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    weights = [helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])]
    model = helper.make_model(helper.make_graph(nodes, "g", [value], [result], weights), **changes)
    return model


def test_onnx_in_full_and_bare() -> None:
    full = _model(producer_name="torch", opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.x", 2)])
    full.metadata_props.add(key="a", value="b")
    guess = guess_bytes(sniff, full.SerializeToString())
    assert guess is not None and "opset 17, ai.x 2" in guess.detail and "by torch" in guess.detail
    bare = onnx.ModelProto(ir_version=8)
    bare.graph.name = "g"
    assert verdict(guess_bytes(sniff, bare.SerializeToString())) == ("onnx", "")


def test_a_graph_of_three_gigabytes_is_hopped_over() -> None:
    graph = field(1, field(4, b"Relu"))
    head = field(1, 8) + varint(7 << 3 | 2) + varint(3 << 30) + graph
    tail = field(8, field(2, 17))
    size = len(head) - len(graph) + (3 << 30) + len(tail)

    def read(offset: int, length: int) -> bytes:
        if offset >= size - len(tail):
            return tail[offset - (size - len(tail)) :][:length]
        return head[offset : offset + length].ljust(length, b"\0")

    guess = sniff.sniff_file(Peek("big.onnx", size, read))
    assert guess is not None and "opset 17" in guess.detail


def _external(*places: str) -> bytes:
    model = _model()
    for index, place in enumerate(places):
        tensor = model.graph.initializer.add(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[2])
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=place)
    data: bytes = model.SerializeToString()
    return data


def test_external_data(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(_external("net.data", "net.data", "more.bin"))
    (tmp_path / "net.data").write_bytes(bytes(1000))
    item = items_of(tmp_path)["net.onnx"]
    assert item.parts == ("more.bin", "net.data")
    assert (item.status, item.files) == ("external-data-missing", 2) and "more.bin is not here" in item.detail
    (tmp_path / "more.bin").write_bytes(bytes(10))
    item = items_of(tmp_path)["net.onnx"]
    assert item.status == "" and item.size_bytes == (tmp_path / "net.onnx").stat().st_size + 1010


@pytest.mark.parametrize("place", ["../secret", "/etc/passwd", "a/../../b"])
def test_external_data_that_leaves_the_folder(tmp_path: Path, place: str) -> None:
    guess = guess_bytes(sniff, _external(place))
    assert guess is not None and guess.status == "external-data-escape"
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_bytes(bytes(1000))
    (tmp_path / "in" / "net.onnx").write_bytes(_external(place))
    item = items_of(tmp_path / "in")["net.onnx"]
    assert item.size_bytes == len(_external(place)) and item.files == 1


def test_mindir_by_few_fields() -> None:
    graph = field(7, field(1, field(4, b"REF::a")) + field(2, b"g"))
    minimal = field(2, b"mine") + field(5, b"2.10.0") + graph + field(13, 3)
    assert verdict(guess_bytes(sniff, minimal)) == ("mindir", "")
    assert verdict(guess_bytes(sniff, field(1, b"0.1.1") + graph)) == ("mindir", "")
    assert guess_bytes(sniff, field(2, b"mine") + graph) is None


def test_lite_and_offline_models() -> None:
    lite = (16).to_bytes(4, "little") + b"MSL2" + bytes(100)
    assert verdict(guess_bytes(sniff, lite)) == ("ms", "")
    assert guess_bytes(sniff, (1 << 30).to_bytes(4, "little") + b"MSL2" + bytes(100)) is None
    assert verdict(guess_bytes(sniff, b"IMOD" + bytes(300))) == ("om", "")
    air = field(1, b"model") + field(2, 1) + field(7, field(1, b"graph"))
    assert verdict(guess_bytes(sniff, air)) == ("air", "")


@pytest.mark.parametrize(
    ("data", "status"),
    [(b"", "empty"), (b"garbage", "not-a-model"), (b"version https://git-lfs.github.com/spec/v1\n", "lfs-pointer")],
)
@pytest.mark.parametrize("name", ["a.onnx", "a.mindir", "a.ms", "a.air", "a.om"])
def test_names_that_promise_too_much(name: str, data: bytes, status: str) -> None:
    assert verdict(guess_bytes(sniff, data, name)) == (name[2:], status)


def test_data_files_are_no_models() -> None:
    for path in (*DATA.glob("*.tfrecord"), MODELS / "net.ckpt", MODELS / "net.safetensors"):
        assert guess_file(sniff, path) is None


def test_the_compile_cache_is_not_a_model() -> None:
    assert guess_bytes(sniff, (MODELS / "net.mindir").read_bytes(), "compile_cache_0.mindir") is None


def test_weights_of_a_large_mindir(tmp_path: Path) -> None:
    folder = tmp_path / "net_variables"
    folder.mkdir()
    (folder / "data_0").write_bytes(bytes(100))
    (folder / "data_1").write_bytes(bytes(50))
    item = items_of(tmp_path)["net_variables"]
    assert (item.kind, item.size_bytes, item.files) == ("weights", 150, 2) and "net_graph.mindir" in item.detail


def test_unknown_size_is_no_problem() -> None:
    data = (MODELS / "net.onnx").read_bytes()
    assert sniff.sniff_file(Peek("x", UNKNOWN_SIZE, lambda offset, length: data[offset : offset + length])) is not None
