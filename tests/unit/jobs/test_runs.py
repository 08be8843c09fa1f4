"""Reading run folders: by name, broken, of other hosts and boots; events, progress and cleaning."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import msgspec
import pytest

from mswb import plan
from mswb.findings import MswbError
from mswb.jobs import control, runs
from mswb.jobs.clean import clean_plan
from mswb.jobs.procs import pid_namespace
from mswb.jobs.progress import Progress, Reporter, latest
from mswb.jobs.recorder import Recorder
from mswb.jobs.runs import Run
from mswb.jobs.spec import Event, JobSpec, RunStatus, write_record
from mswb.settings import Settings, boot_id, host_name
from mswb.signals import identify
from tests.waiting import wait_until


def make(settings: Settings, name: str, **keys: object) -> Run:
    """A run folder as an ended shim leaves it, changed by ``keys``."""
    folder = settings.runs_dir / name
    folder.mkdir(parents=True)
    me = identify(os.getpid())
    assert me is not None
    known: dict[str, object] = {
        "id": name, "kind": "command", "backend": "command", "title": "t", "cwd": "/", "host": host_name(),
        "boot_id": boot_id(), "pid": me.pid, "start_time": me.start_time, "pid_namespace": pid_namespace(),
        "state": "ended", "created": 1.0, "heartbeat": time.time(), "ended": 2.0, "exit_code": 0,
    }  # fmt: skip
    write_record(folder / "status.json", RunStatus(**{**known, **keys}))  # type: ignore[arg-type]
    write_record(folder / "spec.json", JobSpec(id=name, kind="command", title="t", cwd="/", env={}, processes=()))
    return runs.load_run(folder)


def test_ids(settings: Settings) -> None:
    first, folder = runs.new_run(settings, now=0.0)
    second, _ = runs.new_run(settings, now=0.0)
    assert first == time.strftime("%Y%m%d_%H%M%S_", time.localtime(0)) + str(os.getpid())
    assert second == first + "_2"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_find(settings: Settings) -> None:
    for name in ("20260101_000000_1", "20260102_000000_1", "20260102_000000_12"):
        make(settings, name)
    assert runs.find_run(settings, "latest").id == "20260102_000000_12"
    assert runs.find_run(settings, "20260101").id == "20260101_000000_1"
    assert runs.find_run(settings, "20260102_000000_1").id == "20260102_000000_1"
    assert runs.find_run(settings, str(settings.runs_dir / "20260101_000000_1")).id == "20260101_000000_1"
    assert [run.id for run in runs.list_runs(settings)][-1] == "20260101_000000_1"


@pytest.mark.parametrize(
    ("name", "code"), [("20260102", "run-ambiguous"), ("nothing", "run-unknown"), ("", "run-unknown")]
)
def test_find_fails(settings: Settings, name: str, code: str) -> None:
    for one in ("20260102_000000_1", "20260102_000000_2"):
        make(settings, one)
    with pytest.raises(MswbError) as caught:
        runs.find_run(settings, name)
    assert caught.value.finding.code == code


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"id": 1}', b"\xff\xfe\0"])
def test_a_broken_folder_is_named_and_does_not_stop_the_list(settings: Settings, content: bytes) -> None:
    make(settings, "20260101_000000_1")
    broken = make(settings, "20260102_000000_1").folder
    (broken / "status.json").write_bytes(content)
    os.utime(broken, (0, 0))
    (settings.runs_dir / "stray file").touch()
    found = runs.list_runs(settings)
    assert [(run.id, runs.run_state(run)) for run in found] == [
        ("20260102_000000_1", "broken"),
        ("20260101_000000_1", "succeeded"),
    ]
    assert "status.json" in found[0].problem
    assert control.reap_lost(settings) == []


def test_no_folder_yet(settings: Settings) -> None:
    assert runs.list_runs(settings) == []
    assert control.reap_lost(settings) == []


OLD = {"heartbeat": 1000.0}
DEAD = {"start_time": 1}


@pytest.mark.parametrize(
    ("keys", "state"),
    [
        ({"state": "running"}, "running"),
        ({"state": "stopping"}, "stopping"),
        ({"state": "running", **DEAD}, "lost"),
        ({"state": "running", "host": "elsewhere", **DEAD}, "running"),
        ({"state": "running", "host": "elsewhere", **DEAD, **OLD}, "silent"),
        ({"state": "running", "boot_id": "before", **DEAD, **OLD}, "lost"),
        ({"state": "running", "boot_id": "another machine of this name", **DEAD}, "running"),
        ({"state": "running", "pid_namespace": "another container", **DEAD, **OLD}, "silent"),
        ({"exit_code": 1}, "failed"),
        ({"exit_code": -9}, "failed"),
        ({"exit_code": 130, "stopped_by": "user"}, "stopped"),
        ({"exit_code": None}, "failed"),
    ],
)
def test_states(settings: Settings, keys: dict[str, object], state: str) -> None:
    run = make(settings, "20260101_000000_1", **keys)
    assert runs.run_state(run) == state
    assert runs.is_lost(run) == (state == "lost")


def test_a_run_of_another_host_is_never_signalled(settings: Settings) -> None:
    """Its pid is this test's own: a signal would be noticed."""
    run = make(settings, "20260101_000000_1", state="running", host="elsewhere")
    with pytest.raises(MswbError) as caught:
        control.request_stop(run)
    assert caught.value.finding.code == "run-elsewhere"
    assert control.members(run) == []


def test_a_shim_that_ends_between_two_looks_is_not_lost(settings: Settings) -> None:
    run = make(settings, "20260101_000000_1", state="running", **DEAD)
    assert run.status is not None
    write_record(run.folder / "status.json", msgspec.structs.replace(run.status, state="ended"))
    assert not runs.is_lost(run)


def test_a_run_from_before_the_reboot_is_ended_on_paper(settings: Settings) -> None:
    run = make(settings, "20260101_000000_1", state="running", boot_id="before", exit_code=None, **OLD)
    assert [one.ended for one in control.reap_lost(settings)] == [()]
    status = runs.read_status(run)
    assert (status.state, status.exit_code) == ("ended", 70)
    assert "the host was restarted" in status.message


# Events and progress


def test_events_are_read_line_by_line(settings: Settings) -> None:
    run = make(settings, "20260101_000000_1")
    file = run.folder / "events.jsonl"
    assert control.read_events(run) == ([], 0)
    file.write_bytes(b'{"time":1,"event":"a"}\nnot an event\n{"time":2,"ev')
    events, offset = control.read_events(run)
    assert [event.event for event in events] == ["a"]
    with file.open("ab") as out:
        out.write(b'ent":"b","rank":3}\n')
    events, offset = control.read_events(run, offset)
    assert [(event.event, event.rank) for event in events] == [("b", 3)]
    assert control.read_events(run, offset) == ([], offset)


def test_a_line_without_end_is_passed_over(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make(settings, "20260101_000000_1")
    monkeypatch.setattr(control, "EVENT_BYTES", 64)
    (run.folder / "events.jsonl").write_bytes(b"x" * 200 + b'\n{"time":1,"event":"a"}\n')
    seen: list[Event] = []
    control.wait(run, 5, seen.append)
    assert [event.event for event in seen] == ["a"]


def test_progress(settings: Settings) -> None:
    run = make(settings, "20260101_000000_1")
    reporter = Reporter({"MSWB_EVENTS": str(run.folder / "events.jsonl")})
    reporter.report(Progress(1, 4, "files", "one"))
    reporter.report(Progress(2, 4, "files", "too soon"))
    reporter.report(Progress(3, 4, "files", "last"), now=True)
    events, _ = control.read_events(run)
    assert [event.text for event in events] == ["one", "last"]
    progress = latest(events)
    assert progress == Progress(3, 4, "files", "last")
    assert (progress.share, progress.remaining_s(9.0)) == (0.75, 3.0)
    assert latest([]) is None
    Reporter({}).report(Progress(1))


@pytest.mark.parametrize(("progress", "share"), [(Progress(1), None), (Progress(5, 0), None), (Progress(9, 3), 1.0)])
def test_progress_without_a_useful_total(progress: Progress, share: float | None) -> None:
    assert progress.share == share
    assert progress.remaining_s(0.0) is None


def test_the_recorder_keeps_order_and_writes_the_last_status(settings: Settings, tmp_path: Path) -> None:
    run = make(settings, "20260101_000000_1")
    assert run.status is not None
    recorder = Recorder(run.folder, tmp_path)
    for number in range(200):
        recorder.event(Event(time=number, event="e"))
        recorder.status(msgspec.structs.replace(run.status, exit_code=number), copy=True)
    assert recorder.close(20)
    assert [event.time for event in control.read_events(run)[0]] == list(range(200))
    assert runs.read_status(run).exit_code == 199
    assert json.loads((tmp_path / "run.json").read_text())["exit_code"] == 199


def test_the_recorder_outlives_a_disk_that_fails(settings: Settings, tmp_path: Path) -> None:
    run = make(settings, "20260101_000000_1")
    assert run.status is not None
    hidden = tmp_path / "hidden"
    run.folder.rename(hidden)
    recorder = Recorder(run.folder, tmp_path / "no such folder")
    recorder.status(run.status, copy=True)
    wait_until(lambda: recorder.problem)
    hidden.rename(run.folder)
    recorder.status(msgspec.structs.replace(run.status, exit_code=7), copy=True)
    assert recorder.close(20)
    assert runs.read_status(run).exit_code == 7


# Cleaning


def test_clean_takes_only_ended_runs(settings: Settings) -> None:
    make(settings, "20260101_000000_1", ended=time.time() - 10 * 86400)
    make(settings, "20260102_000000_1", ended=time.time())
    make(settings, "20260103_000000_1", state="running")
    make(settings, "20260104_000000_1", state="running", **DEAD)
    make(settings, "20260105_000000_1", state="running", host="elsewhere", **OLD)

    def targets(**keys: object) -> list[str]:
        return [Path(action.target).name[:8] for action in clean_plan(settings, **keys).actions]  # type: ignore[arg-type]

    assert targets() == ["20260102", "20260101"]
    assert targets(older_than=86400.0) == ["20260101"]
    assert targets(keep=1) == ["20260101"]
    assert targets(ids=["20260101", "20260103"]) == ["20260101"]
    assert clean_plan(settings, ids=["20260103"]).warnings == ("20260103_000000_1 has not ended (running): it stays",)
    plan.apply(clean_plan(settings))
    assert sorted(path.name[:8] for path in settings.runs_dir.iterdir()) == ["20260103", "20260104", "20260105"]


def test_clean_finishes_an_interrupted_deletion(settings: Settings) -> None:
    half = settings.runs_dir / ".20260101_000000_1.123.deleting"
    half.mkdir(parents=True)
    plan.apply(clean_plan(settings))
    assert not half.exists()


@pytest.mark.parametrize("same", [True, False])
def test_an_end_that_only_the_log_folder_knows(settings: Settings, tmp_path: Path, same: bool) -> None:
    """The disk of the run folders was full when the run ended."""
    run = make(settings, "20260101_000000_1", state="running", exit_code=None, log_dir=str(tmp_path), **DEAD)
    assert run.status is not None
    end = msgspec.structs.replace(run.status, state="ended", exit_code=9, id=run.id if same else "another")
    write_record(tmp_path / "run.json", end)
    assert len(control.reap_lost(settings)) == (0 if same else 1)
    assert runs.read_status(run).exit_code == (9 if same else 70)


def test_events_that_cannot_be_written_do_not_hold_up_the_status(settings: Settings) -> None:
    run = make(settings, "20260101_000000_1", state="running")
    assert run.status is not None
    (run.folder / "events.jsonl").mkdir()
    recorder = Recorder(run.folder, None)
    recorder.event(Event(time=1.0, event="ended"))
    recorder.status(msgspec.structs.replace(run.status, state="ended"), copy=False)
    assert recorder.close(30.0)
    assert runs.read_status(run).state == "ended"
    assert recorder.problem
