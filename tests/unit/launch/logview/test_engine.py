"""The engine: following live files, answers, threads and descriptors that come and go with it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mswb.files.levels import Level
from mswb.launch.logview import engine as running
from mswb.launch.logview.engine import LogEngine
from mswb.launch.logview.filters import Filter
from mswb.launch.logview.finding import next_severe
from mswb.launch.logview.source import ShownLog
from tests.unit.launch.logview.logs import append, cpp, write
from tests.waiting import wait_until

PATIENCE_S = 20.0


class Watched:
    """An engine, and what it has told."""

    def __init__(self) -> None:
        self.news = 0
        self.problems: list[Exception] = []
        self.engine = LogEngine(self._note, lambda: None, lambda call: call(), self.problems.append)

    def _note(self) -> None:
        self.news += 1

    def open(self, *paths: Path) -> None:
        self.engine.open([ShownLog(str(path), "worker", rank) for rank, path in enumerate(paths)])
        names = [str(path) for path in paths]
        self.wait(lambda: self.engine.snapshot.built and [log.path for log in self.engine.snapshot.files] == names)

    def wait(self, condition: Callable[[], bool]) -> None:
        wait_until(lambda: condition() or bool(self.problems))
        assert not self.problems

    def rows(self) -> int:
        return self.engine.snapshot.rows.count


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr(running, "PACE_S", 0.01)
    made = Watched()
    yield made
    made.engine.close()
    wait_until(lambda: not threads())


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("mswb-l")]


def test_a_growing_file_is_followed(tmp_path: Path, watched: Watched) -> None:
    path = write(tmp_path / "a.log", "one\n")
    watched.open(path)
    assert watched.rows() == 1
    append(path, "two\nthree\n")
    watched.wait(lambda: watched.rows() == 3)
    place = watched.engine.snapshot.rows.place(2)
    assert watched.engine.reader.get([place], PATIENCE_S)[place].text == "three"


def test_truncation_and_rotation_are_followed(tmp_path: Path, watched: Watched) -> None:
    path = write(tmp_path / "a.log", "one\ntwo\nthree\n")
    watched.open(path)
    write(path, "new\n")
    watched.wait(lambda: watched.rows() == 1)
    place = watched.engine.snapshot.rows.place(0)
    assert watched.engine.reader.get([place], PATIENCE_S)[place].text == "new"
    os.rename(path, tmp_path / "a.log.1")
    write(path, "after\nrotation\n")
    watched.wait(lambda: watched.rows() == 2)


def test_a_file_that_comes_late_and_one_that_is_added(tmp_path: Path, watched: Watched) -> None:
    late = tmp_path / "late.log"
    watched.open(write(tmp_path / "a.log", cpp(1)), late)
    write(late, cpp(2))
    watched.wait(lambda: watched.rows() == 2)
    added = write(tmp_path / "added.log", cpp(3))
    watched.engine.add([ShownLog(str(added), "worker", 2)])
    watched.wait(lambda: watched.rows() == 3)
    append(added, cpp(4))
    watched.wait(lambda: watched.rows() == 4)


def test_filter_and_questions_are_answered(tmp_path: Path, watched: Watched) -> None:
    watched.open(write(tmp_path / "a.log", cpp(1) + cpp(2, "bad", "ERROR") + cpp(3)))
    watched.engine.do(lambda model: model.ask(Filter(level=Level.ERROR), "bad"))
    watched.wait(lambda: watched.rows() == 1)
    watched.wait(lambda: watched.engine.snapshot.hits is not None and watched.engine.snapshot.hits.count == 1)
    answers: list[int | None] = []
    watched.engine.ask(
        lambda model, ground, cancelled: next_severe(ground, 0, Level.ERROR, forward=True, cancelled=cancelled),
        answers.append,
    )
    watched.wait(lambda: bool(answers))
    assert answers == [1]


def test_a_defect_is_told_and_survived(tmp_path: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_IDLE_S", 0.01)
    path = write(tmp_path / "a.log", "one\n")
    watched.open(path)
    watched.engine.do(lambda model: 1 / 0)
    wait_until(lambda: bool(watched.problems))
    assert isinstance(watched.problems.pop(), ZeroDivisionError)
    append(path, "two\n")
    watched.wait(lambda: watched.rows() == 2)


def test_threads_and_descriptors_do_not_depend_on_the_files(tmp_path: Path, watched: Watched) -> None:
    watched.open(write(tmp_path / "a.log", cpp(1)))
    before = len(threading.enumerate())
    watched.open(*[write(tmp_path / f"{number}.log", cpp(number)) for number in range(50)])
    assert watched.rows() == 50
    assert len(threading.enumerate()) == before
    watched.open(tmp_path / "a.log")
    few = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        watched.open(tmp_path / "a.log")
    assert len(os.listdir("/proc/self/fd")) <= few


def test_no_files_are_a_view_too(watched: Watched) -> None:
    watched.open()
    assert watched.rows() == 0
