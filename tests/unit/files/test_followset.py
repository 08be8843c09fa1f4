"""Many files at once, and files that appear later."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mswb.files import followset, watch
from mswb.files.followset import FollowSet, Update, follow
from tests.waiting import wait_until


class Collected:
    """What a set has delivered, by file name."""

    def __init__(self, files: FollowSet) -> None:
        self.files = files
        self.data: dict[str, bytes] = {}
        self.partial: dict[str, bytes] = {}

    def take(self, updates: list[Update]) -> None:
        for update in updates:
            name = os.path.basename(update.path)
            self.data[name] = self.data.get(name, b"") + b"".join(block.data for block in update.blocks)
            self.partial[name] = update.partial

    def until(self, condition: Callable[[], bool]) -> None:
        def step() -> bool:
            self.take(self.files.wait(0.05))
            return condition()

        wait_until(step)


@pytest.fixture(params=["events", "polled"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "polled":
        monkeypatch.setattr(watch, "filesystem_type", lambda path: "nfs4")
    return str(request.param)


@pytest.fixture
def collected(tmp_path: Path, how: str) -> Iterator[Collected]:
    with FollowSet([tmp_path]) as files:
        yield Collected(files)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_new_files_of_a_folder_are_picked_up(tmp_path: Path, collected: Collected) -> None:
    append(tmp_path / "worker_0.log", b"zero\n")
    append(tmp_path / "notes.txt", b"not a log\n")
    collected.until(lambda: collected.data == {"worker_0.log": b"zero\n"})
    append(tmp_path / "worker_1.log", b"one\n")
    collected.until(lambda: collected.data == {"worker_0.log": b"zero\n", "worker_1.log": b"one\n"})
    assert [os.path.basename(path) for path in collected.files.paths] == ["worker_0.log", "worker_1.log"]


def test_partial_lines_are_told(tmp_path: Path, collected: Collected) -> None:
    append(tmp_path / "a.log", b"10%")
    collected.until(lambda: collected.partial.get("a.log") == b"10%")
    append(tmp_path / "a.log", b"\r20%")
    collected.until(lambda: collected.partial["a.log"] == b"20%")
    append(tmp_path / "a.log", b"\n")
    collected.until(lambda: collected.data["a.log"] == b"10%\r20%\n")
    assert collected.partial["a.log"] == b""


def test_rotation_in_a_followed_folder(tmp_path: Path, collected: Collected) -> None:
    append(tmp_path / "a.log", b"one\n")
    collected.until(lambda: collected.data.get("a.log") == b"one\n")
    os.rename(tmp_path / "a.log", tmp_path / "a.log.1")
    append(tmp_path / "a.log", b"two\n")
    collected.until(lambda: collected.data["a.log"] == b"one\ntwo\n")


def test_links_in_a_folder_are_not_followed(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    append(tmp_path / "secret", b"secret\n")
    os.symlink(tmp_path / "secret", folder / "worker_0.log")
    with FollowSet([folder]) as files:
        assert files.finish() == []
        assert files.paths == []


def test_a_file_in_a_folder_that_is_missing_so_far(tmp_path: Path, how: str) -> None:
    path = tmp_path / "later" / "scheduler.log"
    with FollowSet([path]) as files:
        collected = Collected(files)
        assert files.wait(0.0) == []
        path.parent.mkdir()
        append(path, b"here\n")
        collected.until(lambda: collected.data == {"scheduler.log": b"here\n"})


def test_finish_delivers_everything_that_is_left(tmp_path: Path, how: str) -> None:
    with FollowSet([tmp_path]) as files:
        append(tmp_path / "a.log", b"whole\nunfinished")
        append(tmp_path / "b.log", b"late\n")
        left = {os.path.basename(update.path): b"".join(b.data for b in update.blocks) for update in files.finish()}
    assert left == {"a.log": b"whole\nunfinished", "b.log": b"late\n"}


def test_start_at_the_end_concerns_only_files_that_exist(tmp_path: Path) -> None:
    append(tmp_path / "old.log", b"past\n")
    with FollowSet([tmp_path], start="end") as files:
        collected = Collected(files)
        append(tmp_path / "new.log", b"new\n")
        append(tmp_path / "old.log", b"now\n")
        collected.until(lambda: collected.data == {"old.log": b"now\n", "new.log": b"new\n"})


def test_a_file_that_cannot_be_read_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    append(tmp_path / "a.log", b"one\n")
    with FollowSet([tmp_path / "pipe", tmp_path / "a.log"]) as files:
        collected = Collected(files)
        collected.until(lambda: collected.data == {"a.log": b"one\n"})
        assert [finding.code for finding in files.problems.values()] == ["path-unreadable"]


def test_more_files_than_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followset, "descriptor_budget", lambda: 8)
    for number in range(1024):
        append(tmp_path / f"worker_{number}.log", b"x\n")
    before = len(os.listdir("/proc/self/fd"))
    with FollowSet([tmp_path]) as files:
        collected = Collected(files)
        collected.until(lambda: len(collected.data) == 1024)
        assert len(os.listdir("/proc/self/fd")) - before <= 8 + 8
        append(tmp_path / "worker_1023.log", b"y\n")
        collected.until(lambda: collected.data["worker_1023.log"] == b"x\ny\n")


def test_hidden_files_are_polled_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "filesystem_type", lambda path: "nfs4")
    monkeypatch.setattr(followset, "HIDDEN_S", 1e9)
    with FollowSet([tmp_path / "seen.log", tmp_path / "hidden.log"]) as files:
        collected = Collected(files)
        files.hide(tmp_path / "hidden.log")
        files.wait(0.0)
        append(tmp_path / "hidden.log", b"one\n")
        append(tmp_path / "seen.log", b"one\n")
        collected.until(lambda: "seen.log" in collected.data)
        assert "hidden.log" not in collected.data
        files.hide(tmp_path / "hidden.log", False)
        collected.until(lambda: "hidden.log" in collected.data)


def test_wake_ends_a_wait(tmp_path: Path) -> None:
    with FollowSet([tmp_path]) as files:
        files.wait(0.0)
        threading.Thread(target=files.wake).start()
        assert files.wait(20.0) == []


def test_removed_files_are_silent(tmp_path: Path) -> None:
    append(tmp_path / "a.log", b"one\n")
    append(tmp_path / "b.log", b"one\n")
    with FollowSet([tmp_path / "a.log", tmp_path / "b.log"]) as files:
        files.remove(tmp_path / "a.log")
        assert [os.path.basename(update.path) for update in files.finish()] == ["b.log"]


def test_nothing_is_lost_in_a_flood_of_events(tmp_path: Path, how: str) -> None:
    lines = 3000
    names = [f"worker_{number}.log" for number in range(4)]

    def write() -> None:
        handles = [(tmp_path / name).open("ab", buffering=0) for name in names]
        for number in range(lines):
            for handle in handles:
                handle.write(b"%d\n" % number)
        for handle in handles:
            handle.close()

    writer = threading.Thread(target=write)
    expected = b"".join(b"%d\n" % number for number in range(lines))
    with FollowSet([tmp_path]) as files:
        collected = Collected(files)
        writer.start()
        collected.until(lambda: all(len(collected.data.get(name, b"")) >= len(expected) for name in names))
        writer.join()
    assert collected.data == dict.fromkeys(names, expected)


def test_the_generator_ends_with_what_is_left(tmp_path: Path) -> None:
    append(tmp_path / "a.log", b"one\ntwo")
    stopped = threading.Event()
    seen = b""
    for update in follow([tmp_path], cancelled=stopped.is_set, tick=0.01):
        seen += b"".join(block.data for block in update.blocks)
        stopped.set()
    assert seen == b"one\ntwo"


def test_used_up_inotify_limits_are_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def used_up(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(watch._SHARED, "subscribe", used_up)
    (tmp_path / "other").mkdir()
    with FollowSet([tmp_path / "a.log", tmp_path / "other" / "b.log"]) as files:
        collected = Collected(files)
        [note] = files.notes
        assert "inotify" in note
        append(tmp_path / "a.log", b"polled\n")
        collected.until(lambda: collected.data == {"a.log": b"polled\n"})
