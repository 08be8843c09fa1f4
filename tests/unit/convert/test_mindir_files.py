"""MindIR files read and written: real ones byte for byte, any others meaning for meaning; hostile bytes do no harm."""

from __future__ import annotations

import errno
import os
import struct
import tracemalloc
from dataclasses import fields as fields_of
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mswb.convert import wire
from mswb.convert.inspect import inspect
from mswb.convert.mindir import reader, writer
from mswb.convert.mindir.lint import lint
from mswb.convert.mindir.schema import CLASSES, TABLE, Graph, Message, Model, Tensor
from mswb.convert.wire import Damage, Span
from mswb.findings import MswbError
from tests.unit.convert.models import NETS, REAL, changed
from tests.unit.files.test_wire import field, varint
from tests.unit.inventories import MODELS

PER_FILE = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", NETS)
def test_a_real_file_is_written_back_byte_for_byte(name: str, tmp_path: Path) -> None:
    path = changed(name, lambda model, source: model, tmp_path)
    assert path.read_bytes() == (REAL / f"{name}.mindir").read_bytes()


def test_what_a_real_file_holds() -> None:
    model = reader.read_file(str(REAL / "mlp.mindir"))
    assert model.graph is not None and model.mind_ir_version == 3
    assert [tensor.ref_key for tensor in model.graph.parameter] == ["0.weight", "0.bias", "3.weight", "3.bias"]
    weight = model.graph.parameter[0]
    assert weight.dims == (8, 4) and isinstance(weight.raw_data, Span) and len(weight.raw_data) == 128
    raw = (REAL / "mlp.mindir").read_bytes()[weight.raw_data.start : weight.raw_data.end]
    assert all(abs(value) < 1 for value in struct.unpack("<32f", raw))
    assert {graph.name for graph in reader.read_file(str(REAL / "if.mindir")).functions} == {
        "113_85_✓__main___If_construct_90",
        "114_95_✗__main___If_construct_93",
    }


def test_the_classes_have_the_fields_of_the_table() -> None:
    for name, kind in CLASSES.items():
        own = {one.name for one in fields_of(kind)} - {"at", "unknown"}
        assert own == {spec.name for spec in TABLE[name].values()}, name


SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(max_size=9),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "data": st.binary(max_size=20) | st.just(b"x" * 5000),
    "blob": st.binary(max_size=20),
}


def messages(name: str, depth: int = 2) -> st.SearchStrategy[Any]:
    """Any message of the table, with others in it down to a depth."""
    parts: dict[str, st.SearchStrategy[Any]] = {}
    for spec in TABLE[name].values():
        if spec.kind in TABLE and not depth:
            continue
        one = messages(spec.kind, depth - 1) if spec.kind in TABLE else SCALARS[spec.kind]
        parts[spec.name] = st.lists(one, max_size=2).map(tuple) if spec.many else st.none() | one
    return st.fixed_dictionaries({}, optional=parts).map(lambda given: CLASSES[name](**given))


def plain(value: Any, source: wire.Source) -> Any:
    """A message with its spans replaced by the bytes in them."""
    if isinstance(value, Span):
        return b"".join(source.pieces(value))
    if isinstance(value, tuple):
        return tuple(plain(item, source) for item in value)
    if isinstance(value, Message):
        changes = {one.name: plain(getattr(value, one.name), source) for one in fields_of(value) if one.name != "at"}
        return replace(value, **changes, at=None)
    return value


@PER_FILE
@given(model=messages("Model"))
def test_reading_what_was_written_gives_the_same(model: Model, tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    assert writer.write(model, path) == os.path.getsize(path)
    with wire.open_source(path) as source:
        again = wire.decode(source, Span(0, source.size), "Model", TABLE, CLASSES)
        assert plain(again, source) == model
        writer.write(again, path + "2", source)
    assert Path(path).read_bytes() == Path(path + "2").read_bytes()


def test_unknown_fields_and_packed_numbers_survive(tmp_path: Path) -> None:
    packed = field(1, varint(3) + varint(300)) + field(8, b"doc") + field(99, b"new")
    path = tmp_path / "model"
    path.write_bytes(field(7, field(3, packed)) + field(77, 5))
    with wire.open_source(str(path)) as source:
        model = wire.decode(source, Span(0, source.size), "Model", TABLE, CLASSES)
        assert model.graph.parameter[0].dims == (3, 300)
        writer.write(model, str(tmp_path / "again"), source)
    written = (tmp_path / "again").read_bytes()
    assert field(99, b"new") in written and written.endswith(field(77, 5))


@PER_FILE
@given(data=st.data(), name=st.sampled_from([*NETS, "onnx"]))
def test_damaged_files_give_a_sentence_or_findings(data: st.DataObject, name: str, tmp_path: Path) -> None:
    original = MODELS / "net.onnx" if name == "onnx" else REAL / f"{name}.mindir"
    raw = bytearray(original.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(len(raw) // 2, len(raw)))
    _survives(tmp_path / f"m{original.suffix}", bytes(raw[:cut]))


@PER_FILE
@given(raw=st.binary(max_size=300), head=st.sampled_from([b"", b"\x0a\x031.1", b"\x08\x07\x3a\x02\x0a\x00"]))
def test_any_bytes_give_a_sentence_or_findings(raw: bytes, head: bytes, tmp_path: Path) -> None:
    _survives(tmp_path / "m.mindir", head + raw)


def _survives(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for look in (lint, inspect):
        try:
            look(str(path))
        except MswbError as error:
            assert error.exit_code == 2 and "\n" not in str(error)


def test_lengths_that_lie_allocate_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.mindir"
    lie = field(1, b"1.1") + varint(7 << 3 | 2) + varint(1 << 60) + b"\x0a\x00" * 50
    path.write_bytes(lie)
    tracemalloc.start()
    try:
        with pytest.raises(MswbError, match="wants"):
            lint(str(path))
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_weights_are_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.mindir"
    size = 64 << 20
    tensor = field(1, size // 4) + field(2, 1) + field(7, b"w")
    head = varint(9 << 3 | 2) + varint(size)
    graph = field(2, b"g")
    weight = varint(3 << 3 | 2) + varint(len(tensor) + len(head) + size) + tensor + head
    start = field(1, b"1.1") + field(5, b"2.10.0") + varint(7 << 3 | 2) + varint(len(graph) + len(weight) + size)
    with path.open("wb") as file:
        file.write(start + graph + weight)
        file.truncate(file.tell() + size)
    tracemalloc.start()
    try:
        with wire.open_source(str(path)) as source:
            model = reader.read(source)
            assert writer.write(model, str(tmp_path / "again"), source) == path.stat().st_size
        assert [one.code for one in lint(str(path)).findings] == ["mindir-field-missing"] * 2
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_too_deep_and_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.mindir"
    inner = b""
    for _ in range(200):
        inner = field(17, inner)
    path.write_bytes(field(1, b"1.1") + field(5, b"2.1") + field(7, field(1, field(5, inner))))
    with pytest.raises(MswbError, match="deep"):
        lint(str(path))
    monkeypatch.setattr(wire, "MAX_FIELDS", 1000)
    with pytest.raises(MswbError, match="more than 1,000 fields"):
        lint(str(REAL / "conv.mindir"))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (field(1, 5), "wire type 0"),
        (field(7, 5), "wire type 0"),
        (field(7, field(3, field(3, b"abc"))), "no multiple of 4"),
        (field(7, field(3, field(1, b"\x80"))), "no number"),
        (field(1, b"x" * (wire.MAX_TEXT + 1)), "a text of"),
        (b"\x0b", "no field"),
    ],
)
def test_what_is_no_such_message(raw: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(raw)
    with wire.open_source(str(path)) as source, pytest.raises(Damage, match=words):
        wire.decode(source, Span(0, source.size), "Model", TABLE, CLASSES)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.mindir"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MswbError, match="No space left"):
        writer.write(Model(graph=Graph(name="g")), str(path))
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["m.mindir"]


def test_a_span_needs_its_source(tmp_path: Path) -> None:
    model = Model(graph=Graph(parameter=(Tensor(raw_data=Span(0, 10)),)))
    with pytest.raises(ValueError, match="not in the source"):
        writer.write(model, str(tmp_path / "m"))
    assert os.listdir(tmp_path) == []
