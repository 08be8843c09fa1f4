"""The pool of processes that checks files: answers, progress, workers that die, and an end when nobody waits."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import msgspec
import pytest

from mswb.cache import check as checks
from mswb.cache import worker
from mswb.cache.check import Checked, Fault, Options, Watch
from mswb.cache.entries import UNVERIFIED, Entry
from mswb.cache.worker import Answer, Task
from mswb.flows import cache_checks
from mswb.flows.cache_checks import Step, glanced, verify

DAMAGED = Checked("corrupted", 5, 4, (Fault("corrupted", "record 3 is bad", offset=30, record=3, byte=33),), 1)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of checks are remembered there."""
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))


def answers(tasks: list[Task]) -> list[Answer]:
    """What a worker says to these tasks."""
    source = io.BytesIO(b"".join(msgspec.json.encode(task) + b"\n" for task in tasks))
    target = io.BytesIO()
    worker.serve(source, target)
    return [msgspec.json.decode(line, type=Answer) for line in target.getvalue().splitlines()]


def damaged(path: str, options: Options, watch: Watch) -> Checked:
    watch.report(1, 10, "bytes")
    return DAMAGED


def gone(path: str, options: Options, watch: Watch) -> Checked:
    raise FileNotFoundError(2, "No such file or directory", path)


def test_a_worker_tells_progress_and_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "CHECKERS", {"tfrecord": f"{__name__}:damaged"})
    told, result = answers([Task("a.tfrecord", "tfrecord", Options())])
    assert (told.done, told.total, told.unit) == (1, 10, "bytes")
    assert result.checked == DAMAGED


def test_a_file_that_cannot_be_read_is_a_problem_and_the_next_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "CHECKERS", {"bad": f"{__name__}:gone", "tfrecord": f"{__name__}:damaged"})
    found = answers([Task("x", "bad", Options()), Task("y", "nothing", Options()), Task("z", "tfrecord", Options())])
    assert [one.problem for one in found] == [
        "No such file or directory",
        "nothing can be verified of a nothing",
        "",
        "",
    ]


PROGRAM = """
import os, sys
import msgspec
from mswb.cache.check import Checked
from mswb.cache.worker import Answer, Task

for line in sys.stdin.buffer:
    task = msgspec.json.decode(line, type=Task)
    if task.path.endswith("fatal"):
        os.abort()
    if task.path.endswith("endless"):
        sys.stdin.buffer.read()
    for answer in (Answer(done=1, total=2, unit="bytes"), Answer(checked=Checked("ok", 7, 7))):
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\\n")
        sys.stdout.buffer.flush()
"""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_checks, "worker_command", lambda: [sys.executable, "-c", PROGRAM])


def entries(*names: str) -> list[Entry]:
    return [Entry(f"/data/{name}", "tfrecord") for name in names]


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_dead_worker_takes_only_its_entry_with_it(program: None, jobs: int) -> None:
    steps: list[Step] = []
    found = dict(
        (index, entry) for index, entry, _ in verify(entries("a", "fatal", "b", "c"), jobs=jobs, told=steps.append)
    )
    assert [found[index].status for index in range(4)] == ["ok", "corrupted", "ok", "ok"]
    assert "SIGABRT" in found[1].findings[0].title and found[1].findings[0].where.offset == 0
    assert found[0].records == found[0].intact_records == 7 and found[0].findings == ()
    assert steps[-1].entries_done == 4 and any(step.unit == "bytes" and step.total == 2 for step in steps)


def test_nobody_waits_for_an_endless_file(program: None) -> None:
    asked = iter([False, False, True])
    assert list(verify(entries("endless"), jobs=1, cancelled=lambda: next(asked, True))) == []


def test_without_a_checker_the_glance_is_told() -> None:
    entry = Entry("/x/w.npy", "npy", status="truncated", detail="8 bytes are missing")
    ((_, found, checked),) = verify([entry])
    assert checked is None and [one.code for one in found.findings] == ["truncated"]
    assert "8 bytes are missing" in found.findings[0].title
    assert glanced(Entry("/x/w.npy", "npy")).status == UNVERIFIED and glanced(Entry("/x/w.npy", "npy")).findings == ()


def test_faults_beyond_the_told_ones_are_counted() -> None:
    found = checks.findings_of("/x", "TFRecord", Checked("corrupted", 9, 0, DAMAGED.faults, 9))
    assert [one.code for one in found] == ["corrupted", "cache-more-faults"]
    assert found[0].where.offset == 30 and found[0].values["record"] == 3 and found[1].values["count"] == 8


def test_the_real_worker_starts_and_answers(tmp_path: Path) -> None:
    ((_, entry, _),) = verify([Entry(str(tmp_path / "none.mindrecord"), "tfrecord")])
    (found,) = entry.findings
    assert found.code == "cache-unreadable" and "no such file" in found.values["reason"].lower()


def test_paths_that_are_no_text_reach_the_worker_and_come_back() -> None:
    task = Task("/data/\udcff.tfrecord", "tfrecord", Options())
    assert worker.from_line(worker.to_line(task), Task) == task
    answer = Answer(checked=Checked("orphan", faults=(Fault("orphan", "gone", file=task.path),)))
    assert worker.from_line(worker.to_line(answer), Answer) == answer


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("mswb.flows.cache_checks.subprocess.Popen", refuse)
    entries = [Entry(f"/data/{number}.tfrecord", "tfrecord") for number in range(3)]
    found = list(verify(entries, jobs=2))
    assert sorted(index for index, _, _ in found) == [0, 1, 2]
    assert {entry.findings[0].values["reason"] for _, entry, _ in found} == {"Resource temporarily unavailable"}
