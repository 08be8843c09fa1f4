"""Lines for drawing: cut, escaped, decoded, and read by a thread that may hang without harm."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from mswb.files.levels import Level
from mswb.files.logindex import LogIndex
from mswb.launch.logview import reading
from mswb.launch.logview.details import details_of, text_of
from mswb.launch.logview.reading import LineReader, read_lines, read_places
from mswb.launch.logview.rows import Place
from mswb.launch.logview.shown import MAX_BYTES, shown_line
from mswb.launch.logview.source import ShownLog
from tests.unit.launch.logview.logs import TRACEBACK, append, cpp, indexed, write
from tests.waiting import wait_until


def test_a_record_is_taken_apart_and_shortened() -> None:
    line = shown_line(cpp(61_000_000, "the text", "ERROR", module="DEVICE")[:-1].encode(), b"", 0, "utf-8")
    assert (line.level, line.time, line.word, line.head, line.body) == (
        Level.ERROR, "04:01:01", "ERROR", "DEVICE Run:", "the text",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "level", "text"),
    [
        (b"epoch 1", Level.NONE, "epoch 1"),
        (b"Traceback (most recent call last):", Level.ERROR, "Traceback (most recent call last):"),
        (b"a\tb", Level.NONE, "a       b"),
        (b"\x1b]52;c;eA==\x07\x00", Level.NONE, r"\x1b]52;c;eA==\x07\x00"),
        (b"10%\r55%\r", Level.NONE, "55%"),
        ("进度 50%".encode(), Level.NONE, "进度 50%"),
        (b"\xff\xfe", Level.NONE, r"\xff\xfe"),
    ],
)
def test_any_other_line_is_shown_as_it_is_without_harm(raw: bytes, level: Level, text: str) -> None:
    line = shown_line(raw, b"", len(raw), "utf-8")
    assert (line.level, line.text, line.body, line.time) == (level, text, text, "")


def test_a_huge_line_is_cut_and_costs_a_few_kilobytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "log", b"x" * 5_000_000 + b"\nnext\n")
    with indexed(path) as index:
        read: list[int] = []
        original = index.read
        monkeypatch.setattr(index, "read", lambda offset, size: read.append(size) or original(offset, size))
        one, two = read_lines(index, 0, 2)
    assert sum(read) < 5 * MAX_BYTES
    assert one.text.startswith("x" * 100) and one.text.endswith(f"… +{5_000_000 - MAX_BYTES:,} bytes")
    assert two.text == "next"


def test_a_huge_progress_line_shows_its_last_state(tmp_path: Path) -> None:
    path = write(tmp_path / "log", b"".join(b"\r%d of many" % number for number in range(200_000)) + b"\n")
    with indexed(path) as index:
        assert read_lines(index, 0, 1)[0].text == "199999 of many"


def test_gbk_is_seen(tmp_path: Path) -> None:
    text = "训练开始，数据加载完成\n模型训练结束\n"
    with indexed(write(tmp_path / "log", text.encode("gbk"))) as index:
        assert [line.text for line in read_lines(index, 0, 2)] == text.splitlines()


def test_lines_of_several_files_in_any_order(tmp_path: Path) -> None:
    with indexed(write(tmp_path / "a", "a0\na1\na2\n")) as one, indexed(write(tmp_path / "b", "b0\n")) as two:
        wanted = [Place(1, 0), Place(0, 2), Place(0, 0), Place(0, 9), Place(5, 0)]
        found = read_places({0: one, 1: two}, wanted)
        assert [found[place].text for place in wanted[:3]] == ["b0", "a2", "a0"]
        assert "can't be read" in found[Place(0, 9)].text
        assert "can't be read" in found[Place(5, 0)].text


def test_a_file_that_went_away_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a0\n")
    index = LogIndex(path, hold=False)
    index.extend()
    path.unlink()
    assert "can't be read" in read_places({0: index}, [Place(0, 0)])[Place(0, 0)].text


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Reading hangs until the event is set, as on a file server that has gone."""
    gate = threading.Event()

    def hang(indexes: Any, places: Any) -> Any:
        gate.wait(20)
        return read_places(indexes, places)

    monkeypatch.setattr(reading, "read_places", hang)
    return gate


def test_a_read_that_hangs_holds_nobody_up(tmp_path: Path, slow: threading.Event) -> None:
    arrived = threading.Event()
    reader = LineReader(arrived.set)
    with indexed(write(tmp_path / "a", "a0\n")) as index:
        reader.use({0: index})
        assert reader.get([Place(0, 0)], 0.001) == {}
        slow.set()
        wait_until(arrived.is_set)
        assert reader.get([Place(0, 0)], 0.0)[Place(0, 0)].text == "a0"
        reader.close()


def test_what_is_read_is_remembered_until_it_changes(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a0\npart")
    reader = LineReader()
    with indexed(path) as index:
        reader.use({0: index})
        places = [Place(0, 0), Place(0, 1)]
        assert [line.text for line in reader.get(places, 20).values()] == ["a0", "part"]
        append(path, "ly\n")
        index.extend()
        assert reader.get(places, 20)[Place(0, 1)].text == "part"
        reader.forget(0, 1)
        assert reader.get(places, 20)[Place(0, 1)].text == "partly"
        reader.use({})
        assert "can't be read" in reader.get(places, 20)[Place(0, 0)].text
        reader.close()
        assert reader.get([Place(0, 5)], 20) == {}


def test_only_so_many_lines_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "KEPT", 10)
    reader = LineReader()
    with indexed(write(tmp_path / "a", "line\n" * 100)) as index:
        reader.use({0: index})
        for line in range(0, 100, 5):
            reader.get([Place(0, number) for number in range(line, line + 5)], 20)
        assert len(reader._known) == 10
        reader.close()


def test_details_tell_the_record_and_the_block(tmp_path: Path) -> None:
    path = write(tmp_path / "a", cpp(1_500_000, "first", "ERROR", pid=77) + "goes on\n\x1b[31m\n")
    with indexed(path) as index:
        told = details_of(index, ShownLog(str(path), "worker", 3, "node-1"), 1)
    fields = dict(told.fields)
    assert fields["time"] == "2026-11-30 04:00:01.500000"
    assert (fields["level"], fields["module"], fields["process"], fields["source"], fields["function"]) == (
        "ERROR", "ME", "77 python", "a.cc:4", "Run",
    )  # fmt: skip
    assert fields["whose"] == "rank 3 on node-1"
    assert fields["place"] == f"{path}:2"
    assert told.text.splitlines()[1:] == ["goes on", r"\x1b[31m"]


def test_details_of_a_print_are_its_place(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "epoch 1\n")
    with indexed(path) as index:
        told = details_of(index, ShownLog(str(path), "launcher"), 0)
    assert told.fields == (("whose", "launcher"), ("place", f"{path}:1"))
    assert told.text == "epoch 1"


def test_lines_are_copied_as_they_are_written(tmp_path: Path) -> None:
    with indexed(write(tmp_path / "a", cpp(1) + TRACEBACK)) as index:
        copied = text_of({0: index}, [Place(0, line) for line in range(3)])
        assert copied == "".join([cpp(1), TRACEBACK]).rsplit("\n", 3)[0]
