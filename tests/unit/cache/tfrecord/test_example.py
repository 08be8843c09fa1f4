"""tf.train.Example: the strict parser against protobuf itself, and the one for many records against the strict one."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.cache.data.tfrecord.example import Columns, NotAnExample, columns
from mswb.cache.data.tfrecord.lockstep import signatures
from mswb.cache.data.tfrecord.records import BEHIND, HALF, NOTHING, SLACK, of_buffer, of_ends, of_pieces
from tests.unit.cache.tfrecord.files import Value, example, feature, field, varint

_VALUES = st.one_of(
    st.binary(max_size=600),
    st.lists(st.binary(max_size=20), max_size=20),
    st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=150),
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=40),
    st.lists(st.integers(0, 300), min_size=1, max_size=300),
)
EXAMPLES = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=30), _VALUES, max_size=6)


@lru_cache(maxsize=1)
def _protobuf() -> Any:
    """The class of tf.train.Example, from a description of it."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="example_for_test.proto", package="t", syntax="proto3")

    def add(owner: Any, name: str, *fields: tuple[str, int, int, bool, str]) -> Any:
        made = owner.add(name=name)
        for field_name, number, kind, many, type_name in fields:
            label = kinds.LABEL_REPEATED if many else kinds.LABEL_OPTIONAL
            made.field.add(name=field_name, number=number, type=kind, label=label, type_name=type_name or None)
        return made

    add(file.message_type, "BytesList", ("value", 1, kinds.TYPE_BYTES, True, ""))
    add(file.message_type, "FloatList", ("value", 1, kinds.TYPE_FLOAT, True, ""))
    add(file.message_type, "Int64List", ("value", 1, kinds.TYPE_INT64, True, ""))
    of = kinds.TYPE_MESSAGE
    lists = (("bytes_list", 1, "BytesList"), ("float_list", 2, "FloatList"), ("int64_list", 3, "Int64List"))
    one = add(file.message_type, "Feature", *((name, number, of, False, f".t.{kind}") for name, number, kind in lists))
    one.oneof_decl.add(name="kind")
    for item in one.field:
        item.oneof_index = 0
    features = add(file.message_type, "Features", ("feature", 1, of, True, ".t.Features.FeatureEntry"))
    entry = ("key", 1, kinds.TYPE_STRING, False, ""), ("value", 2, of, False, ".t.Feature")
    add(features.nested_type, "FeatureEntry", *entry).options.map_entry = True
    add(file.message_type, "Example", ("features", 1, of, False, ".t.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Example"))


def by_protobuf(data: bytes) -> Columns | None:
    try:
        parsed = _protobuf().FromString(data)
    except message.DecodeError:
        return None
    kinds = {"bytes_list": "bytes", "float_list": "float", "int64_list": "int64", None: "empty"}
    return frozenset((name, kinds[item.WhichOneof("kind")]) for name, item in parsed.features.feature.items())


def ours(data: bytes) -> Columns | None:
    try:
        return columns(data)
    except NotAnExample:
        return None


def in_lockstep(records: list[bytes], ends: bool = False) -> list[int]:
    sizes = np.array([len(record) for record in records], np.int64)
    if ends:
        pieces = [part for record in records for part in (record[:HALF], NOTHING, record[-HALF:] + bytes(BEHIND))]
        return [int(value) for value in signatures(of_ends(of_pieces(pieces, HALF)[0], sizes, HALF))]
    stops = np.cumsum(sizes)
    return [int(value) for value in signatures(of_buffer(b"".join(records) + bytes(SLACK), stops - sizes, stops))]


def mutated(data: bytes, draw: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(draw.randrange(3)):
        if made:
            made[draw.randrange(len(made))] = draw.choice((0, 1, 10, 0x12, 0x80, 0xFF, draw.randrange(256)))
    if draw.randrange(4) == 0:
        del made[draw.randrange(len(made) + 1) :]
    return bytes(made)


@settings(max_examples=250, deadline=None)
@given(EXAMPLES, st.integers(0, 1 << 32))
def test_what_protobuf_takes_and_nothing_else(features: dict[str, Value], seed: int) -> None:
    data = example(features)
    assert ours(data) == by_protobuf(data) is not None
    data = mutated(data, random.Random(seed))
    # upb leaves out entries that hold unknown fields too, which C++ keeps: only what is refused is the same
    assert (ours(data) is None) == (by_protobuf(data) is None)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x0a\x00",
        b"\x0a\x05\x0a\x03\x0a\x01a",  # no value
        field(1, field(1, field(1, b"a") + field(2, b""))),  # a feature without a list
        field(1, field(1, field(2, feature([1])) + field(1, b"a"))),  # value before name
        field(1, field(1, field(1, b"a") + field(2, field(3, b"\x08\x05\x08\x06")))),  # numbers one by one
        field(1, field(1, field(1, b"a") + field(2, field(2, b"\x0d1234")))),
        field(1, field(1, field(1, b"a") + field(2, field(2, b"\x0a\x03123")))),  # three bytes of floats
        field(1, field(1, field(1, b"\xff") + field(2, b""))),  # no UTF-8
        field(9, b"unknown") + b"\x58\x07" + b"\x61" + bytes(8) + b"\x6d" + bytes(4),
        b"\x4b\x08\x01\x4c",  # a group of number 9
        b"\x4b" * 90 + b"\x4c" * 90,
        b"\x4b\x54",  # another one's end
        b"\x4b",
        b"\x0b\x0c",
        b"\x08\x01",  # features as a number
        b"\x06",
        b"\x07",
        b"\x02\x00",
        field(1, field(1, field(1, b"a") + field(2, field(3, field(1, b"\x80" * 9 + b"\x01"))))),
        field(1, field(1, field(1, b"a") + field(2, field(3, field(1, b"\x80" * 10 + b"\x01"))))),
        field(1, field(1, field(1, b"a") + field(2, field(3, field(1, b"\x80"))))),
        b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00",
        b"\x0a" + varint(1 << 63),
    ],
)
def test_odd_forms(data: bytes) -> None:
    assert ours(data) == by_protobuf(data)
    if in_lockstep([data]) != [0]:
        assert ours(data) is not None or b"\xff" in data  # names are looked at once for each hash


def test_depth_costs_nothing() -> None:
    assert ours(b"\x4b" * 1_000_000) is None


@settings(max_examples=120, deadline=None)
@given(st.lists(EXAMPLES, min_size=1, max_size=5), st.integers(0, 1 << 32))
def test_many_at_once(features: list[dict[str, Value]], seed: int) -> None:
    """What is sure is whole, and the same hash means the same features; damage makes nothing sure."""
    draw = random.Random(seed)
    plain = [example(item) for item in features]
    records = plain * 3 + [mutated(data, draw) for data in plain * 4]
    draw.shuffle(records)
    for ends in (False, True):
        taken = [record for record in records if len(record) > 2 * HALF] if ends else records
        by_hash: dict[int, Columns] = {}
        for record, value in zip(taken, in_lockstep(taken, ends), strict=True):
            if value and (found := ours(record)) is not None:
                assert by_hash.setdefault(value, found) == found
            elif value:
                with pytest.raises(NotAnExample, match=r"UTF-8|10 bytes"):
                    columns(record)


def test_the_usual_forms_need_no_second_look() -> None:
    draw = random.Random(1)
    records = [
        example(
            {
                "image": draw.randbytes(draw.choice((50, 200, 20_000))),
                "label": [number * 50],
                "ids": [draw.randrange(40_000) for _ in range(draw.choice((3, 30)))],
                "boxes": [0.5] * 8,
                "names": [b"one", b"two", b"three"],
            }
        )
        for number in range(40)
    ]
    values = set(in_lockstep(records))
    assert len(values) == 1 and 0 not in values
    long = [record for record in records if len(record) > 20_000]
    assert set(in_lockstep(long, ends=True)) == values
    assert set(in_lockstep([example({"image": b"x", "label": [1]})])) != values
    assert 0 in in_lockstep([b"nothing of the kind"])


def test_hashes_tell_kinds_names_and_numbers_apart() -> None:
    kinds: list[dict[str, Value]] = [{"a": [1]}, {"a": [1.0]}, {"a": b"1"}, {"b": b"1"}, {}, {"a": b"1", "b": b"1"}]
    values = [in_lockstep([example(item)])[0] for item in kinds]
    assert len(set(values)) == len(kinds)
    assert in_lockstep([example({"b": b"1", "a": b"1"})]) == values[-1:]
