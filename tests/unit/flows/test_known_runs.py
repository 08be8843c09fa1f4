"""The list of runs of a folder: those of mswb, log folders, and what runs without mswb."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mswb.flows import known_runs
from mswb.flows.known_runs import Lister, from_foreign, from_path
from mswb.jobs.procs import pid_namespace
from mswb.jobs.spec import FirstFailure, JobSpec, ProcessStatus, RunStatus, write_record
from mswb.launch.foreign import ForeignProcess, ForeignRun
from mswb.settings import Settings, boot_id, host_name, load_settings
from mswb.signals import ProcessId, identify


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"MSWB_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path)})


@pytest.fixture(autouse=True)
def no_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else runs on this host is no part of these tests."""
    monkeypatch.setattr(Lister, "_find_foreign", lambda self: ())


def write_run(settings: Settings, name: str, cwd: Path, **facts: object) -> Path:
    """A run folder; it has ended well unless ``facts`` say otherwise."""
    folder = settings.runs_dir / name
    folder.mkdir(parents=True, exist_ok=True)
    log_dir = str(cwd / "ms_run_log" / name)
    spec = JobSpec(id=name, kind="launch", title="train.py", cwd=str(cwd), env={}, processes=(), log_dir=log_dir)
    write_record(folder / "spec.json", spec)
    values: dict[str, object] = {
        **{"id": name, "kind": "launch", "backend": "direct", "title": "train.py --epochs 3", "cwd": str(cwd)},
        **{"host": host_name(), "boot_id": boot_id(), "pid": 1, "start_time": 1, "pid_namespace": pid_namespace()},
        **{"state": "ended", "created": 1000.0, "heartbeat": 1090.0, "ended": 1090.0, "exit_code": 0},
        **{"log_dir": log_dir, "script": str(cwd / "train.py"), "expected_workers": 2},
        **facts,
    }
    write_record(folder / "status.json", RunStatus(**values))  # type: ignore[arg-type]
    return folder


def foreign(log_dir: Path | None = None, *, mine: bool = True) -> ForeignRun:
    worker = ForeignProcess(ProcessId(4712, 9), "worker", 0, 0, 5000.0, ("python", "train.py"))
    launcher = ForeignProcess(ProcessId(4711, 8), "launcher", None, 0, 5000.0, ("python", "-m", "msrun"))
    return ForeignRun(
        key="4711:8", launcher="msrun", title="train.py", script="/w/train.py", cwd="/w", command=("python",),
        owner="me", mine=mine, started=5000.0, processes=(launcher, worker), expected=8, address=None, job=None,
        node="n", elsewhere=False, log_dir=None if log_dir is None else str(log_dir), logs=(),
    )  # fmt: skip


def test_runs_of_the_folder_and_below_newest_first(settings: Settings, tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    write_run(settings, "20260101_000000_1", here, created=100.0)
    write_run(settings, "20260102_000000_1", here / "sub", created=300.0)
    write_run(settings, "20260103_000000_1", elsewhere, created=200.0)
    write_run(settings, "20260104_000000_1", tmp_path / "here-not", created=400.0)
    lister = Lister(settings, here)
    assert [one.name for one in lister.look()] == ["20260102_000000_1", "20260101_000000_1"]
    assert [one.name for one in lister.look(everywhere=True)] == [
        "20260104_000000_1", "20260102_000000_1", "20260103_000000_1", "20260101_000000_1",
    ]  # fmt: skip


def test_a_run_whose_logs_lie_in_the_folder_is_of_the_folder(settings: Settings, tmp_path: Path) -> None:
    write_run(settings, "20260101_000000_1", tmp_path / "elsewhere", log_dir=str(tmp_path / "here" / "logs" / "a"))
    assert [one.name for one in Lister(settings, tmp_path / "here").look()] == ["20260101_000000_1"]


def test_what_a_line_says(settings: Settings, tmp_path: Path) -> None:
    first = FirstFailure(role="worker", rank=1, pid=7, exit_code=-9, time=1050.0)
    processes = [ProcessStatus(role="worker", rank=0, pid=6, start_time=1, state="running")]
    write_run(settings, "20260101_000000_1", tmp_path, exit_code=1, first_failure=first, processes=processes)
    (line,) = Lister(settings, tmp_path).look()
    assert (line.key, line.kind, line.title, line.state) == ("run:20260101_000000_1", "run", "train.py", "failed")
    assert (line.ranks, line.exit_code, line.started, line.ended, line.here) == (2, 1, 1000.0, 1090.0, True)
    assert line.first_failure is not None
    assert (line.first_failure.rank, line.pids, line.live) == (1, (6,), False)


def test_a_record_is_read_again_only_when_it_was_written(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_run(settings, "20260101_000000_1", tmp_path)
    read: list[Path] = []
    original = known_runs.load_run
    monkeypatch.setattr(known_runs, "load_run", lambda path: read.append(path) or original(path))
    lister = Lister(settings, tmp_path)
    assert [lister.look()[0].state for _ in range(3)] == ["succeeded"] * 3
    assert len(read) == 1
    write_run(settings, "20260101_000000_1", tmp_path, exit_code=3)
    os.utime(folder / "status.json", ns=(1, 1))
    assert lister.look()[0].state == "failed"
    assert len(read) == 2


def test_a_supervisor_that_dies_without_a_word_is_seen(settings: Settings, tmp_path: Path) -> None:
    me = identify(os.getpid())
    assert me is not None
    facts = {"state": "running", "ended": None, "exit_code": None, "heartbeat": time.time()}
    write_run(settings, "20260101_000000_1", tmp_path, pid=me.pid, start_time=me.start_time, **facts)
    lister = Lister(settings, tmp_path)
    assert lister.look()[0].live
    assert lister.look()[0].state == "running"
    write_run(settings, "20260101_000000_1", tmp_path, pid=me.pid, start_time=me.start_time + 1, **facts)
    assert lister.look()[0].state == "lost"


def test_a_broken_record_is_a_line_and_the_rest_is_listed(settings: Settings, tmp_path: Path) -> None:
    folder = write_run(settings, "20260101_000000_1", tmp_path)
    (folder / "status.json").write_text("{")
    os.utime(folder, (1, 1))
    write_run(settings, "20260102_000000_1", tmp_path)
    states = {one.name: one.state for one in Lister(settings, tmp_path).look()}
    assert states == {"20260101_000000_1": "broken", "20260102_000000_1": "succeeded"}


def test_no_state_folder_and_no_runs(settings: Settings, tmp_path: Path) -> None:
    assert Lister(settings, tmp_path).look() == []


def test_log_folders_that_nobody_recorded(settings: Settings, tmp_path: Path) -> None:
    for name in (
        "msrun_log",
        "output/msrun_log",
        "src",
        "ms_run_log/20260101_000000_1",
        "ms_run_log/20260102_000000_2",
    ):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "worker_0.log").write_text("x\n")
    (tmp_path / "logs").mkdir()
    write_run(settings, "20260102_000000_2", tmp_path)
    found = {one.name: one for one in Lister(settings, tmp_path).look()}
    assert set(found) == {"msrun_log", "output/msrun_log", "ms_run_log/20260101_000000_1", "20260102_000000_2"}
    assert found["msrun_log"].kind == "folder"
    assert (found["msrun_log"].ranks, found["msrun_log"].state) == (1, "running")


def test_links_out_of_the_folder_are_not_followed(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "worker_0.log").write_text("x\n")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "msrun_log").symlink_to(tmp_path / "far")
    assert Lister(settings, tmp_path / "here").look() == []


def test_an_old_folder_is_logs_only(tmp_path: Path) -> None:
    log = tmp_path / "worker_0.log"
    log.write_text("x\n")
    os.utime(log, (1000, 1000))
    line = from_path(tmp_path, str(tmp_path.parent), 2000.0)
    assert (line.state, line.ended, line.name, line.source) == ("unknown", 1000.0, tmp_path.name, tmp_path)
    assert from_path(log, str(tmp_path), 2000.0).name == "worker_0.log"


def test_a_path_that_was_opened_is_listed_once(settings: Settings, tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (far / "worker_0.log").write_text("x\n")
    here = tmp_path / "here"
    here.mkdir()
    lister = Lister(settings, here)
    assert [one.name for one in lister.look(opened=(far, far))] == [str(far)]


def test_a_foreign_run_hides_its_log_folder_and_is_hidden_by_its_record(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "msrun_log"
    logs.mkdir()
    (logs / "worker_0.log").write_text("x\n")
    monkeypatch.setattr(Lister, "_find_foreign", lambda self: (foreign(logs),))
    (line,) = Lister(settings, tmp_path).look()
    assert (line.key, line.kind, line.pids, line.ranks) == ("foreign:4711:8", "foreign", (4711, 4712), 8)
    write_run(settings, "20260101_000000_1", tmp_path, log_dir=str(logs))  # an earlier run in the same folder
    assert [one.kind for one in Lister(settings, tmp_path).look()] == ["foreign", "run"]
    own = identify(os.getpid())
    assert own is not None
    watched = [ProcessStatus(role="launcher", pid=4711, start_time=8, state="running")]
    facts = {"state": "running", "pid": own.pid, "start_time": own.start_time, "processes": watched}
    write_run(settings, "20260101_000000_1", tmp_path, log_dir=str(logs), backend="adopted", **facts)
    assert [one.kind for one in Lister(settings, tmp_path).look()] == ["run"]


def test_runs_of_other_users_are_listed_only_everywhere(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lister, "_find_foreign", lambda self: (foreign(mine=False),))
    lister = Lister(settings, tmp_path)
    assert lister.look() == []
    assert [one.mine for one in lister.look(everywhere=True)] == [False]


def test_live_runs_of_other_folders_are_counted_and_listed_only_everywhere(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = replace(foreign(), key="1:1", cwd=str(tmp_path / "here" / "sub"))
    logs_near = replace(foreign(tmp_path / "here" / "logs"), key="2:2")
    strangers = (near, logs_near, foreign(), replace(foreign(mine=False), key="3:3"))
    monkeypatch.setattr(Lister, "_find_foreign", lambda self: strangers)
    own = identify(os.getpid())
    assert own is not None
    facts = {"state": "running", "pid": own.pid, "start_time": own.start_time, "ended": None, "exit_code": None}
    write_run(settings, "20260101_000000_1", tmp_path / "far", **facts)
    write_run(settings, "20260101_000000_2", tmp_path / "far")
    lister = Lister(settings, tmp_path / "here")
    assert sorted(one.key for one in lister.look()) == ["foreign:1:1", "foreign:2:2"]
    assert lister.elsewhere == 2
    assert len(lister.look(everywhere=True)) == 6
    assert lister.elsewhere == 0


def test_the_costly_looks_are_taken_every_few_seconds(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(Lister, "_find_foreign", lambda self: asked.append(1) or ())
    lister = Lister(settings, tmp_path)
    for now in (0.0, 1.0, 2.0, known_runs.COSTLY_S, known_runs.COSTLY_S + 1):
        lister.look(now=now)
    assert len(asked) == 2


def test_a_foreign_run_without_a_script() -> None:
    line = from_foreign(replace(foreign(), script=None, title="a module"))
    assert (line.title, line.name, line.live) == ("a module", "msrun 4711", True)
