"""The walk over a cached graph: no cut and no broken length is missed, and nothing breaks the walk."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.cache.compile.mindir import walk, walk_bytes
from tests.unit.cache.compile.projects import GRAPH

DATA = GRAPH.read_bytes()


def test_a_good_graph() -> None:
    found = walk(str(GRAPH))
    assert (found.version, found.producer, found.graphs, found.nodes, found.damage) == (
        "2.10.0",
        "MindSpore",
        1,
        8,
        None,
    )


@pytest.mark.parametrize("model", sorted(GRAPH.parents[2].glob("convert/*.mindir")), ids=lambda path: path.stem)
def test_good_models(model: Path) -> None:
    assert walk(str(model)).damage is None


@pytest.mark.parametrize("size", [0, 1, 9, 100, len(DATA) // 2, len(DATA) - 1])
def test_every_cut_is_seen(size: int) -> None:
    """Also one between two fields: the rest of the graph is then missing, or nothing is."""
    damage = walk_bytes(DATA[:size]).damage
    assert damage is not None and 0 <= damage.offset <= size


def test_a_cut_anywhere_within_the_graph_is_seen() -> None:
    graph_end = DATA.rindex(b"REF::") if b"REF::" in DATA else len(DATA) // 2
    assert all(walk_bytes(DATA[:size]).damage is not None for size in range(0, min(graph_end, 400), 7))


def test_an_empty_file_and_other_content(tmp_path: Path) -> None:
    empty = tmp_path / "e"
    empty.write_bytes(b"")
    assert walk(str(empty)).damage.reason == "it is empty"  # type: ignore[union-attr]
    for data in (b"<html>no</html>", b"version https://git-lfs", bytes(4096), b"\x1f\x8b\x08garbage"):
        assert walk_bytes(data).damage is not None


def test_a_flipped_letter_of_a_name_is_seen_at_the_node_that_reads_it() -> None:
    name = b"12_1___main___Net_construct_5:x"
    at = DATA.index(name)
    flipped = DATA[:at] + bytes([DATA[at] ^ 1]) + DATA[at + 1 :]
    damage = walk_bytes(flipped).damage
    assert damage is not None and "which nothing defines" in damage.reason


def test_deep_nesting_is_refused_without_recursion() -> None:
    data = b""
    for _ in range(3000):
        data = b"\x8a\x01" + _varint(len(data)) + data  # Attribute.values
    graph = b"\x42" + _varint(len(data)) + data  # Graph.attribute
    damage = walk_bytes(b"\x3a" + _varint(len(graph)) + graph).damage
    assert damage is not None and "deep" in damage.reason


def _varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


@given(st.binary(max_size=400))
def test_no_bytes_break_the_walk(data: bytes) -> None:
    damage = walk_bytes(data).damage
    assert damage is None or 0 <= damage.offset <= len(data)


@given(st.integers(0, len(DATA) - 1), st.integers(0, 7))
def test_no_flip_breaks_the_walk(at: int, bit: int) -> None:
    found = walk_bytes(DATA[:at] + bytes([DATA[at] ^ 1 << bit]) + DATA[at + 1 :])
    assert found.damage is None or 0 <= found.damage.offset <= len(DATA)


def test_a_walk_that_nobody_wants_ends() -> None:
    assert walk_bytes(DATA * 200, lambda: True).nodes < 8 * 200
