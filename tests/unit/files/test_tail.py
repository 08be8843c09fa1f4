"""The last lines without an index."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.files import tail
from mswb.files.tail import last_lines
from mswb.findings import MswbError


def naive(data: bytes, count: int) -> list[bytes]:
    lines = data.split(b"\n")
    return (lines if lines[-1] else lines[:-1])[-count:]


@given(st.lists(st.sampled_from([b"", b"a", b"bb", b"\n", b"\r\n", b"\x00"]), max_size=40), st.integers(1, 6))
def test_equals_a_split(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], count: int) -> None:
    path = tmp_path_factory.mktemp("tail") / "log"
    data = b"".join(parts)
    path.write_bytes(data)
    found = last_lines(path, count)
    assert list(found.lines) == naive(data, count)
    assert data[found.offset : found.end].split(b"\n")[: len(found.lines)] == list(found.lines)


def test_scrolling_up_from_an_offset(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(100_000)))
    seen: list[bytes] = []
    end = None
    while not seen or end:
        found = last_lines(path, 7_000, end=end)
        seen[:0] = found.lines
        end = found.offset
    assert seen == path.read_bytes().splitlines()


def test_a_line_longer_than_what_is_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "SCAN_LIMIT", 1 << 20)
    monkeypatch.setattr(tail, "MAX_LINE", 1000)
    path = tmp_path / "log"
    path.write_bytes(b"first\n" + b"x" * (3 << 20) + b"\nlast\n")
    found = last_lines(path, 3)
    assert [len(line) for line in found.lines] == [1000, 4]


def test_empty_and_missing(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert last_lines(tmp_path / "empty", 5).lines == ()
    with pytest.raises(MswbError) as caught:
        last_lines(tmp_path / "missing", 5)
    assert caught.value.finding.code == "path-missing"
