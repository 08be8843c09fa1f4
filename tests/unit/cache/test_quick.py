"""What the first bytes rule out is ruled out by every sniffer, too."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.cache.data.tfrecord.sniff import masked_crc
from mswb.cache.quick import HEAD, is_nothing
from mswb.cache.sniff import sniff_file
from mswb.files.peek import of_bytes

FIXTURES = Path(__file__).parents[2] / "fixtures"
FILES = sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.stat().st_size < 1 << 20)
NAMED = ("a.tfrecord", "A.NPY", "x.csv", "x.mindrecord0", "compile_cache_0.mindir", "analyze_fail.ir")
LONG = ("MS_WORKERcompile_dependency.hash", "fusion_result.json", "part-00000-of-00010")
NAMES = st.sampled_from([*NAMED, *LONG, "a", "a.bin", "a.pt", "a.ckpt", "n.db", "data.mdb"])


def says_nothing(name: str, data: bytes) -> bool:
    return sniff_file(of_bytes(name, data)) is None


def test_no_fixture_that_is_something_is_ruled_out() -> None:
    assert len(FILES) > 50
    for path in FILES:
        data = path.read_bytes()
        for name in (path.name, "no-suffix"):
            assert says_nothing(name, data) or not is_nothing(name, data[:HEAD]), path


def framed(data: bytes, broken: int) -> bytes:
    """A TFRecord of two frames whose first length is wrong by so many bytes."""
    frames = b""
    for record in (data, data):
        length = struct.pack("<Q", len(record))
        frames += length + struct.pack("<I", masked_crc(length)) + record + b"\0" * 4
    return frames[:8] + bytes([frames[8] ^ broken]) + frames[9:]


@settings(max_examples=300)
@given(NAMES, st.binary(max_size=60) | st.builds(framed, st.binary(max_size=40), st.sampled_from([0, 1])))
def test_no_bytes_that_are_something_are_ruled_out(name: str, data: bytes) -> None:
    assert says_nothing(name, data) or not is_nothing(name, data[:HEAD])


@pytest.mark.parametrize(("name", "data"), [("a.txt", b"words of a text"), ("b", b"\x7fELF" + b"\1" * 90), ("c", b"")])
def test_what_is_common_is_ruled_out(name: str, data: bytes) -> None:
    assert is_nothing(name, data[:HEAD])
