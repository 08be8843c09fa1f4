"""Line starts and levels of whole, growing and hostile files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.files import logindex
from mswb.files.levels import Level, level_of_line
from mswb.files.logindex import LogIndex

RECORD = re.compile(rb"\[(?:(WARNING)|(INFO)\] |(DEBUG)\] |(ERROR)\] |(CRITICA)|(EXCEPTI)|(V)[0-9])")
ORDER = (Level.WARNING, Level.INFO, Level.DEBUG, Level.ERROR, Level.CRITICAL, Level.CRITICAL, Level.VERBOSE)
PIECES = st.sampled_from(
    [
        b"[WARNING] ",
        b"[INFO] ",
        b"[DEBUG] ",
        b"[ERROR] ",
        b"[CRITICAL] ",
        b"[EXCEPTION] ",
        b"[V12902] ",
        b"[Epoch 1] ",
        b"\n",
        b"\n\n",
        b"x",
        b"[",
        b"[ERR",
        b"[V",
        b"[INFO]",
        b"\r",
        b"\x00",
        b"\xff",
        b"ME(1:2,MainProcess):",
    ]
)
CONTENT = st.lists(PIECES, max_size=40).map(b"".join)


def naive_lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def naive_level(line: bytes) -> Level:
    found = RECORD.match(line)
    return Level.NONE if found is None else ORDER[(found.lastindex or 1) - 1]


def check(index: LogIndex, data: bytes) -> None:
    lines = naive_lines(data)
    levels = [naive_level(line) for line in lines]
    assert index.line_count == len(lines)
    assert index.lines(0, len(lines) + 5) == lines
    assert list(index.levels(0, len(lines))) == levels
    assert index.counts() == {level: levels.count(level) for level in Level}
    offset = 0
    for number, line in enumerate(lines):
        assert index.span(number, number + 1)[0] == offset
        assert index.line_at(offset) == number
        assert index.line_at(offset + len(line)) == number
        assert index.level_of(number) == levels[number]
        offset += len(line) + 1
    errors = [number for number, level in enumerate(levels) if level >= Level.ERROR]
    for number in range(-1, len(lines) + 1):
        assert index.next_at_least(Level.ERROR, number) == next((e for e in errors if e > number), None)
        assert index.previous_at_least(Level.ERROR, number) == next((e for e in errors[::-1] if e < number), None)


@pytest.fixture(params=[(7, 20, 4), (logindex.BLOCK, logindex.SEGMENT, logindex._MERGE_LINES)], ids=["tiny", "real"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Borders of blocks and segments everywhere, or as they are."""
    for name, value in zip(("BLOCK", "SEGMENT", "_MERGE_LINES"), request.param, strict=True):
        monkeypatch.setattr(logindex, name, value)


@pytest.mark.usefixtures("sizes")
class TestIndex:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(CONTENT, min_size=1, max_size=4))
    def test_equals_a_split_while_the_file_grows(self, tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]):
        path = tmp_path_factory.mktemp("index") / "log"
        path.touch()
        index = LogIndex(path)
        for part in parts:
            with path.open("ab") as file:
                file.write(part)
            assert index.extend()
            check(index, path.read_bytes())
        assert index.generation == 0
        index.close()

    def test_levels_whose_first_bytes_come_in_two_writes(self, tmp_path: Path) -> None:
        path = tmp_path / "log"
        path.write_bytes(b"print\n[ERR")
        index = LogIndex(path)
        index.extend()
        assert index.level_of(1) == Level.NONE
        with path.open("ab") as file:
            file.write(b"OR] late\n")
        index.extend()
        check(index, b"print\n[ERROR] late\n")
        index.close()

    def test_a_cut_file_is_begun_anew(self, tmp_path: Path) -> None:
        path = tmp_path / "log"
        path.write_bytes(b"[ERROR] one\n" * 10)
        index = LogIndex(path)
        index.extend()
        path.write_bytes(b"[INFO] other\n")
        index.extend()
        check(index, b"[INFO] other\n")
        path.write_bytes(b"[DEBUG] longer than before\n" * 5)
        index.extend()
        check(index, b"[DEBUG] longer than before\n" * 5)
        assert index.generation == 2
        index.close()

    def test_a_replaced_file_is_begun_anew(self, tmp_path: Path) -> None:
        path, other = tmp_path / "log", tmp_path / "other"
        path.write_bytes(b"same\n")
        index = LogIndex(path)
        index.extend()
        other.write_bytes(b"same\nand more\n")
        os.replace(other, path)
        index.extend()
        check(index, b"same\nand more\n")
        assert index.generation == 1
        index.close()

    def test_a_deleted_file_stays_readable(self, tmp_path: Path) -> None:
        path = tmp_path / "log"
        path.write_bytes(b"one\ntwo\n")
        index = LogIndex(path)
        path.unlink()
        index.extend()
        check(index, b"one\ntwo\n")
        index.close()


def test_cancelled_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logindex, "SEGMENT", 1000)
    path = tmp_path / "log"
    data = b"[INFO] a line\n" * 1000
    path.write_bytes(data)
    index = LogIndex(path)
    told: list[tuple[int, int]] = []
    assert not index.extend(cancelled=lambda: len(told) >= 3, progress=lambda done, total: told.append((done, total)))
    assert told == [(1000, len(data)), (2000, len(data)), (3000, len(data))]
    assert 0 < index.line_count < 1000
    assert index.extend()
    check(index, data)
    index.close()


def test_five_bytes_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"[INFO] x\n" * 100_000)
    index = LogIndex(path)
    index.extend()
    assert index.memory_bytes <= 5 * (index.line_count + 1)
    index.close()


def test_too_many_lines_stop_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logindex, "MAX_LINES", 5000)
    monkeypatch.setattr(logindex, "SEGMENT", 1000)
    path = tmp_path / "log"
    path.write_bytes(b"\n" * 100_000)
    index = LogIndex(path)
    assert not index.extend()
    assert index.is_full
    assert 5000 <= index.line_count <= 6000
    index.close()


def test_long_lines_are_returned_cut(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\n" + b"x" * 10_000 + b"\nb\n")
    index = LogIndex(path)
    index.extend()
    assert index.lines(0, 3, limit=100) == [b"a", b"x" * 100, b"b"]
    index.close()


@pytest.mark.parametrize(
    ("line", "level"),
    [
        (b"[WARNING] DISTRIBUTED(1,7f,python):", Level.WARNING),
        (b"[ERROR] ME(1:2,MainProcess):", Level.ERROR),
        (b"[V12902] KERNEL", Level.VERBOSE),
        (b"[Vision] x", Level.NONE),
        (b"[ERROR]: a user's own", Level.NONE),
        (b"[Epoch 1/10]", Level.NONE),
        (b" [ERROR] indented", Level.NONE),
        (b"Traceback (most recent call last):", Level.NONE),
        (b"[", Level.NONE),
        (b"", Level.NONE),
    ],
)
def test_level_of_a_line(line: bytes, level: Level) -> None:
    assert level_of_line(line) == level
