"""Traces whole and damaged: every event that is one is kept, and what is lost is counted."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.profile.chrome import pieces
from mswb.profile.chrome.pieces import Pieces

PROFILES = Path(__file__).parents[2] / "fixtures/inventory/profile"


def event(name: str, **more: Any) -> bytes:
    return json.dumps({"ph": "X", "name": name, "ts": 1.5, "dur": 2, **more}).encode()


def read(data: bytes) -> tuple[list[Any], Pieces]:
    found = Pieces(io.BytesIO(data))
    return [one.name for part in found for one in part], found


A, B, C = event("a"), event("b"), event("c")
ODD = event("odd},{", args={"rows": [{"x": 1}, {"y": "]}"}]})


@pytest.mark.parametrize(
    ("data", "names", "dropped", "closed"),
    [
        (b"[" + A + b"," + B + b"]", ["a", "b"], 0, True),
        (b" \xef\xbb\xbf["[1:] + A + b" ,\r\n " + B + b"\n]\0\0", ["a", "b"], 0, True),
        (b"[" + A + b"," + B, ["a", "b"], 0, False),
        (b"[" + A + b"," + B[:20], ["a"], 1, False),
        (b"[" + A + b",{bad}," + C + b"]", ["a", "c"], 1, True),
        (b"[" + A + b',{"ph":"X","name":"n","dur":NaN},' + C + b"]", ["a", "n", "c"], 0, True),
        (b"[" + A + b',{"ph":"X","name":"\xff\x01"},' + C + b"]", ["a", "?\x01", "c"], 0, True),
        (b"[" + ODD + b"," + B + b"]", ["odd},{", "b"], 0, True),
        (b"[" + ODD + b',{"ph":1},' + ODD + b"]", ["odd},{"] * 2, 1, True),
        (b"[]", [], 0, True),
        (b'{"traceEvents":[]}', [], 0, True),
        (b'{"n":1,"traceEvents" : [' + A + b"," + ODD + b'],"z":[{"q":1},{"r":2}]}', ["a", "odd},{"], 0, True),
        (A + b"\n" + B + b"\n", ["a", "b"], 0, True),
        (A + b"\n" + B[:9], ["a"], 1, True),
        (b"", [], 0, False),
        (b"{}", [], 0, False),
    ],
)
@pytest.mark.parametrize("size", [7, 64, 1 << 20])
def test_forms(
    data: bytes, names: list[str], dropped: int, closed: bool, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE", size)
    found, state = read(data)
    assert (found, state.dropped, state.closed) == (names, dropped, closed)


def test_around_the_events() -> None:
    _, state = read(b'{"distributedInfo":{"rank":3},"traceEvents":[' + A + b'],"displayTimeUnit":"ns"}')
    assert b'"rank":3' in state.head and b'"displayTimeUnit":"ns"' in state.tail


def test_an_event_without_an_end_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 64)
    monkeypatch.setattr(pieces, "LONGEST", 256)
    found, state = read(b"[" + A + b',{"ph":"X","name":"' + b"x" * 2000 + b'"},' + B + b"," + C + b"]")
    assert found[0] == "a" and found[-1] == "c" and state.dropped >= 1


@pytest.mark.parametrize("path", sorted(PROFILES.rglob("trace_view.json")), ids=lambda path: path.parts[-4])
def test_real_traces(path: Path) -> None:
    found, state = read(path.read_bytes())
    assert len(found) == len(json.loads(path.read_text())) and state.dropped == 0 and state.closed


EVENTS = st.lists(
    st.builds(
        lambda name, args: event(name, args=args),
        st.text(max_size=8),
        st.recursive(st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=4).map(
            lambda value: {"v": value, "o": [{"k": value}, {"k": 2}]}
        ),
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(EVENTS, st.data())
def test_one_damaged_event_costs_no_other(events: list[bytes], data: st.DataObject) -> None:
    pieces_before = pieces.PIECE
    pieces.PIECE = data.draw(st.sampled_from([16, 100, 4096]))
    try:
        whole = [json.loads(one)["name"] for one in events]
        found, state = read(b"[" + b",".join(events) + b"]")
        assert (found, state.dropped) == (whole, 0)
        if events:
            bad = data.draw(st.integers(0, len(events) - 1))
            broken = [*events[:bad], events[bad].replace(b'"ph"', b'"ph', 1), *events[bad + 1 :]]
            found, state = read(b"[" + b",".join(broken) + b"]")
            assert found == whole[:bad] + whole[bad + 1 :] and state.dropped >= 1
    finally:
        pieces.PIECE = pieces_before


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_anything_ends(data: bytes) -> None:
    read(b"[" + data)
    read(b'{"traceEvents":[' + data)
