"""Watching runs: whatever their source, what grows is seen, what ended is told, nothing costs much."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mswb.env.devices.sample import DeviceCounters, DeviceProcess, HostCounters, RankLink, Sample
from mswb.findings import MswbError
from mswb.flows import watch as module
from mswb.flows.curve_watch import CurveSource, CurveWatch
from mswb.flows.rankviews import rank_view
from mswb.flows.runview import RankView, RunView
from mswb.flows.watch import RunWatch, Source, diagnosis
from mswb.flows.watched import Member
from mswb.jobs import runs
from mswb.jobs.runs import Run
from mswb.jobs.spec import JobSpec, ProcessSpec, RunStatus, write_record
from mswb.launch import ranklog
from mswb.launch.foreign import ForeignProcess, ForeignRun
from mswb.launch.logview.source import ShownLog
from mswb.settings import Settings, load_settings
from mswb.signals import ProcessId, identify
from tests.unit.launch.runs import EPOCH, ended, first_failure, joined, record, steps, write, write_status
from tests.waiting import wait_until

LONG_DEAD = ProcessId(2**22 + 7, 1)
ME = identify(os.getpid())


@pytest.fixture
def configured(tmp_path: Path) -> Settings:
    state = tmp_path / "state"
    return load_settings({"HOME": str(tmp_path), "MSWB_STATE_DIR": str(state), "MSWB_CONFIG": str(tmp_path / "c.toml")})


@pytest.fixture
def watching(configured: Settings) -> Iterator[Callable[[Source], RunWatch]]:
    """Makes watches and closes them."""
    made: list[RunWatch] = []

    def make(source: Source, settings: Settings = configured) -> RunWatch:
        made.append(RunWatch(source, settings))
        return made[-1]

    yield make
    for one in made:
        one.close()


def until(watch: RunWatch, condition: Callable[[RunView], Any], sample: Sample | None = None) -> RunView:
    """Step until the view is as it should be."""

    def look() -> RunView | None:
        watch.step(0.05)
        view = watch.snapshot(sample)
        return view if condition(view) else None

    found = wait_until(look, step=0.0)
    assert found is not None
    return found


def rank(view: RunView, number: int | None, role: str = "worker") -> RankView:
    return next(one for one in view.ranks if (one.role, one.rank) == (role, number))


def new_run(settings: Settings, folder: Path, workers: int = 2, **facts: object) -> Run:
    """A recorded run whose supervisor is this very process, unless ``facts`` say otherwise."""
    run_id, home = runs.new_run(settings)
    logs = folder / "logs" / run_id
    logs.mkdir(parents=True)
    spec = JobSpec(
        id=run_id,
        kind="launch",
        title="train.py --lr 0.1",
        cwd=str(folder),
        env={},
        processes=(ProcessSpec(role="launcher", argv=("msrun",), log=str(logs / "launcher.log")),),
        backend="msrun",
        log_dir=str(logs),
        worker_logs={number: str(logs / f"worker_{number}.log") for number in range(workers)},
        scheduler_log=str(logs / "scheduler.log"),
        command_line=("mswb", "run", "train.py"),
    )
    write_record(home / "spec.json", spec)
    set_status(home, **facts)
    return runs.load_run(home)


def set_status(home: Path, **facts: object) -> None:
    assert ME is not None
    status: dict[str, object] = {
        **{"id": home.name, "kind": "launch", "backend": "msrun", "title": "train.py --lr 0.1", "cwd": "/w"},
        **{"host": runs.host_name(), "boot_id": runs.boot_id(), "pid_namespace": runs.pid_namespace()},
        **{"pid": ME.pid, "start_time": ME.start_time, "state": "running", "created": EPOCH, "heartbeat": EPOCH},
        **{"started": EPOCH, "log_dir": str(home.parent.parent.parent / "logs" / home.name)},
        **{"command_line": ["mswb", "run", "train.py"]},
        **facts,
    }
    write_record(home / "status.json", msgspec.convert(msgspec.to_builtins(status), RunStatus))


def live(number: int, process: ProcessId, **facts: object) -> dict[str, object]:
    return {
        "role": "worker",
        "rank": number,
        "pid": process.pid,
        "start_time": process.start_time,
        "state": "running",
    } | facts


# -- folders


def test_a_folder_that_grows(tmp_path: Path, watching: Callable[[Source], RunWatch]) -> None:
    folder = tmp_path / "ms_run_log"
    write(folder, "worker_0.log", [*joined(7, 0), *steps(0, 3), "[ERROR] CORE"])
    watch = watching(folder)
    assert watch.step(0.0)
    view = watch.snapshot()
    assert (view.kind, view.state, view.source_path, view.run_id) == ("folder", "unknown", str(folder), None)
    first = rank(view, 0)
    assert (first.phase, first.step, first.loss, first.errors, first.lines) == ("training", 2, 0.6667, 1, 8)
    assert (first.pid, first.cpu_percent, first.rss_bytes, first.device, first.exit_code) == (None,) * 5
    assert view.logs == (ShownLog(str(folder / "worker_0.log"), "worker", 0),)
    with (folder / "worker_0.log").open("a") as file:
        file.write("epoch: 1 step: 9, loss is nan\n")
    write(folder, "worker_1.log", [*joined(8, 1), *steps(0, 5)])  # appears while we watch
    write(folder, "scheduler.log", ["hello"])
    view = until(watch, lambda view: len(view.ranks) == 3 and (rank(view, 0).step, rank(view, 1).step) == (9, 4))
    assert [one.role for one in view.ranks] == ["worker", "worker", "scheduler"]
    assert (view.progress.step, view.progress.step_max, view.progress.training) == (4, 9, 2)
    assert view.counted == 1.0 and view.live


def test_nothing_new_means_no_change(tmp_path: Path, watching: Callable[[Source], RunWatch]) -> None:
    write(tmp_path, "worker_0.log", ["hello"])
    watch = watching(tmp_path)
    watch.step(0.0)
    view = watch.snapshot()
    assert not any(watch.step(0.01) for _ in range(3))
    assert watch.snapshot() is view


def test_a_log_that_is_cut_begins_anew(tmp_path: Path, watching: Callable[[Source], RunWatch]) -> None:
    path = write(tmp_path, "worker_0.log", ["[ERROR] x"] * 20 + steps(0, 9))
    watch = watching(tmp_path)
    watch.step(0.0)
    assert rank(watch.snapshot(), 0).errors == 20
    path.write_text("epoch: 1 step: 1, loss is 0.5\n")
    view = until(watch, lambda view: rank(view, 0).step == 1)
    assert (rank(view, 0).errors, rank(view, 0).lines) == (0, 1)


def test_a_single_file_and_an_empty_folder(tmp_path: Path, watching: Callable[[Source], RunWatch]) -> None:
    path = write(tmp_path / "one", "console.txt", ["batch", *steps(0, 2)])
    watch = watching(path)
    watch.step(0.0)
    assert [(one.role, one.step) for one in watch.snapshot().ranks] == [("launcher", 1)]
    (tmp_path / "empty").mkdir()
    empty = watching(tmp_path / "empty")
    empty.step(0.0)
    assert empty.snapshot().ranks == ()
    write(tmp_path / "empty", "worker_3.log", ["step 1 loss 1"])
    assert until(empty, lambda view: view.ranks).ranks[0].rank == 3


def test_a_missing_folder_is_an_error(tmp_path: Path, watching: Callable[[Source], RunWatch]) -> None:
    with pytest.raises(MswbError) as caught:
        watching(tmp_path / "none").step(0.0)
    assert caught.value.finding.code == "path-missing"


def test_ranks_come_from_the_words_of_the_logs(tmp_path: Path, watching: Callable[[Source], RunWatch]) -> None:
    for local, number in ((0, 8), (1, 9)):
        write(tmp_path, f"worker_{local}.log", joined(7 + local, number))
    watch = watching(tmp_path)
    watch.step(0.0)
    assert [one.rank for one in until(watch, lambda view: view.ranks[0].rank == 8).ranks] == [8, 9]


def test_a_newer_run_in_the_folder_is_told_not_followed(tmp_path: Path, watching: Callable[[Source], RunWatch]) -> None:
    write(tmp_path, "20261130_040000_9/worker_0.log", ["step 1 loss 1"])
    watch = watching(tmp_path)
    watch.step(0.0)
    write(tmp_path, "20261130_050000_9/worker_0.log", ["step 2 loss 1"])
    view = until(watch, lambda view: view.notes)
    assert "newer run" in view.notes[0] and view.ranks[0].step == 1


def test_the_record_beside_logs_from_elsewhere(tmp_path: Path, watching: Callable[[Source], RunWatch]) -> None:
    for number in range(3):
        write(tmp_path, f"worker_{number}.log", joined(7 + number, number))
    write_status(
        tmp_path,
        [ended(0, -15, ended_by_us=True), ended(1, 1), ended(2, 0)],
        first_failure=first_failure(1, 1),
        exit_code=1,
    )
    watch = watching(tmp_path)
    watch.step(0.0)
    view = watch.snapshot()
    assert (view.kind, view.state, view.exit_code, view.live) == ("folder", "failed", 1, False)
    assert [(one.state, one.exit_code, one.phase) for one in view.ranks] == [
        ("killed", -15, "ended"),
        ("failed", 1, "ended"),
        ("ended", 0, "ended"),
    ]
    assert view.first_failure is not None and view.first_failure.rank == 1
    assert (view.progress.ended, view.progress.failed) == (1, 2)


def test_several_nodes_and_their_clocks(tmp_path: Path, watching: Callable[[Source], RunWatch]) -> None:
    for node in (0, 1):
        write(tmp_path, f"node-{node}/worker_0.log", joined(7, node, 5 + node * 60))
    watch = watching(tmp_path)
    watch.step(0.0)
    view = until(watch, lambda view: view.ranks[1].rank == 1)
    assert [one.node for one in view.ranks] == ["node-0", "node-1"]
    assert [log.offset_us for log in view.logs] == [0, 60_000_000]


# -- big and many


def test_a_big_log_tells_its_state_at_once_and_is_counted_in_pieces(
    tmp_path: Path, watching: Callable[[Source], RunWatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranklog, "PIECE", 50_000)
    monkeypatch.setattr(module, "_COUNT_S", 0.0)  # one piece a step
    write(tmp_path, "worker_0.log", [record("WARNING", "CORE", 7, 1, "something")] * 20_000 + steps(0, 4))
    watch = watching(tmp_path)
    watch.step(0.0)
    view = watch.snapshot()
    assert (view.ranks[0].step, view.ranks[0].phase) == (3, "training")
    assert 0 < view.counted < 0.5 and view.ranks[0].counted == view.counted
    assert view.ranks[0].lines is not None and view.ranks[0].lines < 20_000
    watch.step(10.0)
    assert view.counted < watch.snapshot().counted < 1.0
    view = until(watch, lambda view: view.counted == 1.0)
    assert (view.ranks[0].lines, view.ranks[0].warnings) == (20_004, 20_000)


def test_a_watch_that_is_closed_stops_counting(
    tmp_path: Path, watching: Callable[[Source], RunWatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranklog, "PIECE", 1000)
    write(tmp_path, "worker_0.log", [record("WARNING", "CORE", 7, 1, "something")] * 20_000)
    watch = watching(tmp_path)
    watch.step(0.0)
    counted = watch.snapshot().counted
    watch.close()
    watch.step(10.0)
    assert watch.snapshot().counted == counted


def test_a_thousand_ranks(tmp_path: Path, watching: Callable[[Source], RunWatch]) -> None:
    for number in range(1024):
        write(tmp_path, f"worker_{number}.log", [f"step {number}/2000 loss 1"])
    watch = watching(tmp_path)
    watch.step(0.0)
    view = watch.snapshot()
    assert [one.rank for one in view.ranks] == list(range(1024))
    assert (view.progress.step, view.progress.step_max, view.progress.training) == (0, 1023, 1024)
    for number in (5, 1000):
        with (tmp_path / f"worker_{number}.log").open("a") as file:
            file.write("step 1999/2000 loss 0.5\n")
    view = until(watch, lambda view: rank(view, 5).step == 1999 and rank(view, 1000).step == 1999)
    assert rank(view, 6) is view.ranks[6] and rank(view, 6).step == 6


# -- recorded runs


def test_a_run_from_its_first_moment_to_its_end(
    tmp_path: Path, configured: Settings, watching: Callable[[Source], RunWatch]
) -> None:
    assert ME is not None
    run = new_run(configured, tmp_path)
    logs = Path(run.spec.log_dir or "")
    watch = watching(run)
    watch.step(0.0)
    view = watch.snapshot()
    assert (view.kind, view.state, view.run_id, view.title) == ("run", "running", run.id, "train.py --lr 0.1")
    assert (view.host, view.backend, view.log_dir) == (runs.host_name(), "msrun", str(logs))
    assert (view.started, view.command_line) == (EPOCH, ("mswb", "run", "train.py"))
    assert [(one.role, one.rank, one.state, one.lines) for one in view.ranks] == [
        ("worker", 0, "starting", None),
        ("worker", 1, "starting", None),
        ("scheduler", None, "starting", None),
        ("launcher", None, "starting", None),
    ]
    write(logs, "worker_0.log", [*joined(7, 0), *steps(0, 4)])
    set_status(run.folder, processes=[live(0, ME), live(1, LONG_DEAD, state="starting")])
    view = until(watch, lambda view: rank(view, 0).step == 3 and rank(view, 0).rss_bytes)
    zero = rank(view, 0)
    assert (zero.pid, zero.state, zero.phase) == (ME.pid, "running", "training")
    assert rank(view, 1).rss_bytes is None
    view = until(watch, lambda view: rank(view, 0).cpu_percent is not None)

    write(logs, "worker_1.log", ["[ERROR] last words"])
    set_status(
        run.folder,
        state="ended",
        ended=EPOCH + 50,
        exit_code=1,
        first_failure=first_failure(1, -9),
        processes=[
            live(0, ME, state="ended", exit_code=-15, ended_by_us=True),
            live(1, LONG_DEAD, state="ended", exit_code=-9),
        ],
    )
    view = until(watch, lambda view: not view.live)
    assert (view.state, view.exit_code, view.ended) == ("failed", 1, EPOCH + 50)
    assert rank(view, 1).errors == 1  # what it wrote last is in the first view that says it has ended
    assert [(one.state, one.exit_code, one.cpu_percent) for one in view.ranks[:2]] == [
        ("killed", -15, None),
        ("killed", -9, None),
    ]
    assert view.first_failure is not None and (view.first_failure.rank, view.first_failure.exit_code) == (1, -9)
    assert view.ranks[0].eta_s is None


def test_a_rank_that_writes_nothing_is_silent(
    tmp_path: Path, configured: Settings, watching: Callable[[Source], RunWatch]
) -> None:
    assert ME is not None
    run = new_run(configured, tmp_path, processes=[live(0, ME), live(1, ME)])
    logs = Path(run.spec.log_dir or "")
    for number, age in ((0, 10.0), (1, 1000.0)):
        path = write(logs, f"worker_{number}.log", ["step 1 loss 1"])
        now = path.stat().st_mtime
        os.utime(path, (now - age, now - age))
    watch = watching(run)
    watch.step(0.0)
    view = watch.snapshot()
    assert [one.state for one in view.ranks[:2]] == ["running", "silent"]
    assert view.ranks[1].last_line_age_s is not None and view.ranks[1].last_line_age_s > 999
    assert view.progress.silent == 1


@pytest.mark.parametrize(
    ("role", "state"), [("worker", "silent"), ("other", "silent"), ("launcher", "running"), ("scheduler", "running")]
)
def test_only_who_has_something_to_say_can_be_silent(role: str, state: str) -> None:
    log = ranklog.RankLog("any.log")
    log.last_output = EPOCH
    assert rank_view(Member(role, None, "any.log", state="running"), log, EPOCH + 1000, 60.0).state == state


def test_launcher_and_scheduler_are_quiet_by_nature_and_make_no_steps(
    tmp_path: Path, configured: Settings, watching: Callable[[Source], RunWatch]
) -> None:
    assert ME is not None
    helpers = [{**live(0, ME), "role": role, "rank": None} for role in ("launcher", "scheduler")]
    run = new_run(configured, tmp_path, workers=1, processes=[live(0, ME), *helpers])
    logs = Path(run.spec.log_dir or "")
    for name in ("worker_0.log", "scheduler.log", "launcher.log"):
        path = write(logs, name, ["step 1 loss 1"])
        now = path.stat().st_mtime
        os.utime(path, (now - 1000, now - 1000))
    watch = watching(run)
    watch.step(0.0)
    view = watch.snapshot()
    assert [(one.role, one.state, one.step, one.phase) for one in view.ranks] == [
        ("worker", "silent", 1, "training"),
        ("scheduler", "running", None, "starting"),
        ("launcher", "running", None, "starting"),
    ]
    look = CurveWatch(CurveSource(run.id, run), configured).look()
    assert [log.role for log in look.logs] == ["worker"]


def test_a_lost_run_claims_nothing_of_its_ranks(
    tmp_path: Path, configured: Settings, watching: Callable[[Source], RunWatch]
) -> None:
    run = new_run(configured, tmp_path, pid=LONG_DEAD.pid, start_time=1, processes=[live(0, LONG_DEAD)])
    watch = watching(run)
    watch.step(0.0)
    view = watch.snapshot()
    assert (view.state, [one.state for one in view.ranks[:2]]) == ("lost", ["unknown", "unknown"])


def test_a_run_of_another_host(tmp_path: Path, configured: Settings, watching: Callable[[Source], RunWatch]) -> None:
    assert ME is not None
    run = new_run(configured, tmp_path, host="elsewhere", heartbeat=4e9, processes=[live(0, ME)])
    watch = watching(run)
    watch.step(0.0)
    view = watch.snapshot()
    assert view.host == "elsewhere" and rank(view, 0).pid == ME.pid
    assert rank(view, 0).rss_bytes is None  # that pid means nothing here


def test_a_broken_record(tmp_path: Path, configured: Settings, watching: Callable[[Source], RunWatch]) -> None:
    run = new_run(configured, tmp_path)
    (run.folder / "spec.json").write_text("{")
    (run.folder / "status.json").write_text("{")
    watch = watching(runs.load_run(run.folder))
    watch.step(0.0)
    view = watch.snapshot()
    assert view.ranks == () and view.title == run.id
    assert [finding.code for finding in view.problems] == ["path-unreadable"]


def test_the_folder_of_a_recorded_run_is_that_run(
    tmp_path: Path, configured: Settings, watching: Callable[[Source], RunWatch]
) -> None:
    run = new_run(configured, tmp_path)
    logs = Path(run.spec.log_dir or "")
    (logs / "run.json").write_bytes((run.folder / "status.json").read_bytes())
    write(logs, "worker_0.log", ["step 1 loss 1"])
    watch = watching(logs)
    watch.step(0.0)
    assert (watch.snapshot().kind, watch.snapshot().run_id) == ("run", run.id)
    (tmp_path / "copy").mkdir()
    for name in ("run.json", "worker_0.log"):
        (tmp_path / "copy" / name).write_bytes((logs / name).read_bytes())
    copy = watching(tmp_path / "copy")
    copy.step(0.0)
    assert copy.snapshot().kind == "folder"


def test_devices_are_joined_by_process(
    tmp_path: Path, configured: Settings, watching: Callable[[Source], RunWatch]
) -> None:
    assert ME is not None
    run = new_run(configured, tmp_path, processes=[live(0, ME)])
    watch = watching(run)
    view = until(watch, lambda view: rank(view, 0).rss_bytes)
    assert (rank(view, 0).device, rank(view, 0).device_memory_bytes) == (None, None)
    devices = (DeviceCounters("a", "gpu", "GPU0"), DeviceCounters("b", "gpu", "GPU1"))
    held = (
        DeviceProcess("b", ME.pid, device_memory_bytes=100),
        DeviceProcess("a", ME.pid, device_memory_bytes=None),
        DeviceProcess("a", ME.pid, foreign=True, device_memory_bytes=7),  # another process with that number
    )
    view = watch.snapshot(Sample(1.0, HostCounters(), devices, held))
    assert (rank(view, 0).device, rank(view, 0).device_memory_bytes) == ("GPU0, GPU1", 100)
    linked = (RankLink(ME.pid, 0, "worker", None, "b", "environment"),)
    view = watch.snapshot(Sample(2.0, HostCounters(), devices, links=linked))
    assert (rank(view, 0).device, rank(view, 0).device_memory_bytes) == ("GPU1", None)
    assert rank(view, 1).device is None


def test_a_bad_pattern_is_told_and_the_watch_goes_on(tmp_path: Path, watching: Callable[..., RunWatch]) -> None:
    (tmp_path / "c.toml").write_text("[progress]\npatterns = ['(']\n")
    settings = load_settings({"HOME": str(tmp_path), "MSWB_CONFIG": str(tmp_path / "c.toml")})
    write(tmp_path / "logs", "worker_0.log", steps(0, 3))
    watch = watching(tmp_path / "logs", settings)
    watch.step(0.0)
    view = watch.snapshot()
    assert [finding.code for finding in view.problems] == ["config-invalid"]
    assert view.ranks[0].step == 2


def test_patterns_of_the_user_are_used(tmp_path: Path, watching: Callable[..., RunWatch]) -> None:
    (tmp_path / "c.toml").write_text("[progress]\npatterns = ['it=(?P<step>\\d+) ce=(?P<loss>\\S+)']\n")
    settings = load_settings({"HOME": str(tmp_path), "MSWB_CONFIG": str(tmp_path / "c.toml")})
    write(tmp_path / "logs", "worker_0.log", ["it=5 ce=0.5"])
    watch = watching(tmp_path / "logs", settings)
    watch.step(0.0)
    assert (watch.snapshot().ranks[0].step, watch.snapshot().ranks[0].loss) == (5, 0.5)


# -- trainings that mswb did not start


def foreign(folder: Path, *processes: ForeignProcess, **facts: Any) -> ForeignRun:
    logs = tuple(ShownLog(path, "worker", one.rank) for one in processes for path in one.logs)
    return ForeignRun(
        **{
            **{"key": "1:1", "launcher": "msrun", "title": "train.py", "script": "train.py", "cwd": str(folder)},
            **{"command": ("msrun", "train.py"), "owner": "me", "mine": True, "started": EPOCH, "expected": 2},
            **{"processes": processes, "address": None, "job": None, "node": "here", "elsewhere": False},
            **{"log_dir": str(folder), "logs": logs},
            **facts,
        }
    )


def test_a_live_foreign_run_and_its_end(tmp_path: Path, watching: Callable[[Source], RunWatch]) -> None:
    assert ME is not None
    path = str(write(tmp_path, "worker_0.log", steps(0, 3)))
    alive = ForeignProcess(ME, "worker", 0, os.getuid(), EPOCH, ("python", "train.py"), "3", path, (path,))
    gone = ForeignProcess(LONG_DEAD, "worker", 1, os.getuid(), EPOCH, ("python", "train.py"))
    watch = watching(foreign(tmp_path, alive, gone))
    watch.step(0.0)
    view = watch.snapshot()
    assert (view.kind, view.state, view.backend, view.command_line) == (
        "foreign",
        "running",
        "msrun",
        ("msrun", "train.py"),
    )
    view = until(watch, lambda view: rank(view, 1).state == "unknown")
    assert (rank(view, 0).state, rank(view, 0).step, rank(view, 0).device) == ("running", 2, "3")
    assert rank(view, 0).rss_bytes and rank(view, 1).file is None
    assert view.live and len(view.logs) == 1


def test_a_foreign_run_ends_when_all_its_processes_are_gone(
    tmp_path: Path, watching: Callable[[Source], RunWatch]
) -> None:
    import subprocess

    child = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    found = identify(child.pid)
    assert found is not None and child.stdin is not None
    watch = watching(foreign(tmp_path, ForeignProcess(found, "single", None, os.getuid(), EPOCH, ("python",))))
    view = until(watch, lambda view: view.ranks[0].rss_bytes)
    assert view.state == "running" and view.ranks[0].role == "worker"
    child.communicate(b"\n")
    view = until(watch, lambda view: not view.live)
    assert view.ended is not None and (view.state, view.ranks[0].state) == ("unknown", "unknown")


def test_the_folder_of_a_foreign_run_finds_its_processes(
    tmp_path: Path, watching: Callable[[Source], RunWatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ME is not None
    path = str(write(tmp_path, "worker_0.log", steps(0, 3)))
    run = foreign(tmp_path, ForeignProcess(ME, "worker", 0, os.getuid(), EPOCH, ("python",), None, path, (path,)))
    elsewhere = replace(run, elsewhere=True, title="in a container")
    monkeypatch.setattr("mswb.launch.foreign.Finder.find", lambda self, table=None: (elsewhere, run))
    watch = watching(tmp_path)
    view = until(watch, lambda view: view.state == "running")
    assert (view.kind, view.title, view.ranks[0].state, view.ranks[0].pid) == ("folder", "train.py", "running", ME.pid)


# -- diagnosis


def test_diagnosis_of_each_source(tmp_path: Path, configured: Settings) -> None:
    folder = tmp_path / "logs"
    path = write(
        folder,
        "worker_0.log",
        [*joined(7, 0), "Traceback (most recent call last):", '  File "a.py", line 1', "KeyError: 4"],
    )
    seen: list[tuple[int, int]] = []
    for source in (folder, path, foreign(folder), foreign(folder, log_dir=None, logs=(ShownLog(str(path)),))):
        found = diagnosis(source, configured, lambda: False, lambda done, total: seen.append((done, total)))
        assert found.root is not None and found.findings[found.root].code == "script-exception"
    assert seen[-1] == (1, 1)
    run = new_run(configured, tmp_path)
    write(Path(run.spec.log_dir or ""), "worker_0.log", ["KeyError: 4"])
    assert diagnosis(run, configured).ranks
    with pytest.raises(MswbError) as caught:
        diagnosis(foreign(folder, log_dir=None, logs=()), configured)
    assert caught.value.finding.code == "no-logs"
