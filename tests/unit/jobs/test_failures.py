"""Who failed first is named at once, and everything else is ended, under both backends."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import pytest

from mswb.jobs import control, procs, runs
from mswb.jobs.runs import Run
from mswb.jobs.spec import RunStatus, read_record
from tests.unit.jobs.conftest import Lab, carriers
from tests.waiting import wait_until

BACKENDS = ["msrun", "direct"]
NAMED_WITHIN_S = 2.0
"""The product's contract, from the death of a rank to its name."""


def named(run: Run, status: RunStatus, lab: Lab, rank: int, code: int) -> None:
    """The status and the events name this rank, its code, and in time."""
    failure = status.first_failure
    assert failure is not None
    assert (failure.role, failure.rank, failure.exit_code) == ("worker", rank, code)
    events = [event for event in control.read_events(run)[0] if event.event == "first-failure"]
    assert [(event.rank, event.exit_code) for event in events] == [(rank, code)]
    assert events[0].time - lab.died_at(run, f"worker_{rank}") < NAMED_WITHIN_S
    assert status.ended is not None
    assert status.ended - failure.time < NAMED_WITHIN_S
    assert runs.run_state(run.reload()) == "failed"
    assert status.exit_code == code
    assert status.stopped_by == "failure"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("word", "code"), [("fail", 3), ("sigkill", -signal.SIGKILL), ("segv", -signal.SIGSEGV)], ids=lambda item: str(item)
)
def test_first_failure(lab: Lab, backend: str, word: str, code: int) -> None:
    run = lab.start(lab.spec(["forever", f"wait:ready_worker_0+{word}"], backend=backend))
    status = lab.ended(run)
    named(run, status, lab, 1, code)
    peer = next(one for one in status.processes if one.role == "worker" and one.rank == 0)
    assert peer.ended_by_us


@pytest.mark.parametrize("backend", BACKENDS)
def test_dies_during_start(lab: Lab, backend: str) -> None:
    """The worker is a zombie before it was ever looked at; the scheduler would wait for ever."""
    run = lab.start(lab.spec(["fail", "forever"], backend=backend))
    named(run, lab.ended(run), lab, 0, 3)


def test_code_taken_by_msrun(lab: Lab) -> None:
    """msrun reaps the worker before we can look; its code is then read from the console."""
    run = lab.start(lab.spec(["ready+wait:go+fail", "forever"], poll=0.0))
    lab.until_found(run, 2)
    lab.until(run, "ready_worker_0", "ready_worker_1")
    lab.mark(run, "go")
    status = lab.ended(run)
    named(run, status, lab, 0, 3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_all_well(lab: Lab, backend: str) -> None:
    run = lab.start(
        lab.spec(
            ["say+wait:seen+ok", "wait:died_worker_0+mark:all_done+ok"], backend=backend, scheduler="wait:all_done"
        )
    )
    lab.until_found(run, 2)
    lab.mark(run, "seen")
    status = lab.ended(run)
    assert (status.exit_code, status.first_failure, status.stopped_by) == (0, None, None)
    assert {(one.rank, one.exit_code) for one in status.processes if one.role == "worker"} == {(0, 0), (1, 0)}
    assert runs.run_state(run.reload()) == "succeeded"


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_ends_well_and_the_others_go_on(lab: Lab, backend: str) -> None:
    run = lab.start(lab.spec(["wait:seen+ok", "ready+wait:go+mark:all_done+ok"], backend=backend))
    lab.until_found(run, 2)
    lab.mark(run, "seen")
    wait_until(lambda: any(one.exit_code == 0 for one in runs.read_status(run).processes))
    assert runs.run_state(run.reload()) == "running"
    lab.mark(run, "go")
    assert lab.ended(run).exit_code == 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("word", "code"), [("fail", 3), ("sigkill", -9)])
def test_scheduler_dies_first(lab: Lab, backend: str, word: str, code: int) -> None:
    scheduler = f"wait:ready_worker_0+wait:ready_worker_1+{word}"
    run = lab.start(lab.spec(["forever", "forever"], backend=backend, scheduler=scheduler))
    status = lab.ended(run)
    assert status.first_failure is not None
    assert (status.first_failure.role, status.first_failure.exit_code) == ("scheduler", code)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_script_that_fails_everywhere_is_blamed_on_a_rank(lab: Lab, backend: str) -> None:
    """The scheduler runs the script too, and first."""
    words = ["ready+wait:died_scheduler+fail", "forever"]
    run = lab.start(lab.spec(words, backend=backend, scheduler="wait:ready_worker_0+wait:ready_worker_1+fail"))
    named(run, lab.ended(run), lab, 0, 3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_rank_whose_traceback_is_written_failed_before_the_scheduler(lab: Lab, backend: str) -> None:
    scheduler = "wait:ready_worker_0+wait:ready_worker_1+fail"
    run = lab.start(lab.spec(["slow_end+fail", "forever"], backend=backend, scheduler=scheduler))
    named(run, lab.ended(run), lab, 0, 3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_scheduler_that_never_ends(lab: Lab, backend: str) -> None:
    """All workers ended well: the run is a success and the scheduler is ended after its grace."""
    run = lab.start(
        lab.spec(
            ["wait:seen+ok", "wait:seen+ok"],
            backend=backend,
            scheduler="ignore+forever",
            stop_grace_s=0.3,
            scheduler_grace_s=0.5,
        )
    )
    lab.until_found(run, 2)
    lab.mark(run, "seen")
    status = lab.ended(run)
    assert status.exit_code == 0
    assert next(one for one in status.processes if one.role == "scheduler").ended_by_us


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_launcher_ended_from_outside(lab: Lab, number: int) -> None:
    """Real msrun leaves its children behind then; we do not."""
    run = lab.start(lab.spec(["forever", "ignore+forever"]))
    lab.until_found(run, 2)
    lab.until(run, "ready_worker_0", "ready_worker_1")
    os.kill(int((lab.logs(run) / "launcher.pid").read_text()), number)
    status = lab.ended(run)
    assert status.first_failure is not None
    assert (status.first_failure.role, status.first_failure.exit_code) == ("launcher", -number)


@pytest.mark.parametrize("backend", BACKENDS)
def test_nobody_escapes(lab: Lab, backend: str) -> None:
    """Own sessions, double forks, ignored signals: all of it is ended, and the user's other processes are not."""
    words = ["ignore+daemon+grandchild+forever", "wait:ready_worker_0+fail"]
    bystander = lab.start(lab.command("sleep", "600"))
    run = lab.start(lab.spec(words, backend=backend))
    status = lab.ended(run)
    named(run, status, lab, 1, 3)
    pids = [int((lab.logs(run) / name).read_text()) for name in ("daemon_worker_0", "grandchild_worker_0")]
    assert [pid for pid in pids if (one := procs.look(pid)) is not None and not one.over] == []
    assert runs.is_live(bystander.reload())
    control.request_stop(bystander)
    lab.ended(bystander)


def test_the_survivors_show_where_they_stand(lab: Lab) -> None:
    run = lab.start(lab.spec(["stacks+forever", "wait:ready_worker_0+fail"]))
    lab.ended(run)
    assert "STACK OF worker_0" in (lab.logs(run) / "worker_0.log").read_text()
    assert [event.rank for event in control.read_events(run)[0] if event.event == "stacks"] == [0]


def test_rank_without_handler_gets_no_stack_signal(lab: Lab) -> None:
    """Its default action would end the process, and be taken for its own death."""
    run = lab.start(lab.spec(["checkpoint", "checkpoint"]))
    lab.until_found(run, 2)
    lab.until(run, "ready_worker_0", "ready_worker_1")
    control.request_stop(run)
    status = lab.ended(run)
    assert [one.exit_code for one in status.processes if one.role == "worker"] == [0, 0]


def test_no_such_program(lab: Lab) -> None:
    run = lab.start(lab.command("no-such-program-here", "x"))
    status = lab.ended(run)
    assert status.exit_code == 127
    assert status.message == "the command could not be started: no-such-program-here: No such file or directory"


def test_not_a_program(lab: Lab) -> None:
    text = lab.folder / "text"
    text.write_text("x")
    status = lab.ended(lab.start(lab.command(str(text))))
    assert status.exit_code == 126
    assert str(text) in status.message


def test_no_such_working_folder(lab: Lab) -> None:
    status = lab.ended(lab.start(lab.command("true", cwd=str(lab.folder / "gone"))))
    assert status.exit_code == 127
    assert str(lab.folder / "gone") in status.message


def test_third_worker_cannot_start(lab: Lab) -> None:
    """The ones that run already are ended."""
    spec = lab.spec(["forever", "forever"], backend="direct")
    broken = msgspec.structs.replace(spec.processes[-1], argv=("/no/such/python",))
    run = lab.start(msgspec.structs.replace(spec, processes=(*spec.processes, broken)))
    status = lab.ended(run)
    assert status.exit_code == 127
    assert len(status.processes) == 3


def test_run_json_lies_with_the_logs(lab: Lab) -> None:
    run = lab.start(lab.spec(["ok", "fail"]))
    status = lab.ended(run)
    assert read_record(Path(run.spec.log_dir or "") / "run.json", RunStatus) == status


def test_without_pidfds(lab: Lab) -> None:
    """Kernels before 5.3 have none: ends are polled."""
    spec = lab.spec(["forever", "wait:ready_worker_0+fail"])
    code = "import os, sys; del os.pidfd_open; from mswb.jobs import shim; sys.exit(shim.main(sys.argv[1:]))"
    run = lab.start_shim_by(spec, code)
    named(run, lab.ended(run), lab, 1, 3)


def test_a_disk_that_hangs_does_not_delay_the_end(lab: Lab) -> None:
    """Status, events and merged log can't be written: the peers are ended all the same."""
    spec = lab.spec(["forever", "wait:ready_worker_0+fail"])
    code = (
        "import sys, threading; from mswb.jobs import merge, recorder, shim\n"
        "def hang(*arguments): threading.Event().wait()\n"
        "recorder.write_atomic = recorder.append_events = merge.prefixed = hang\n"
        "shim.DISK_WAIT_S = shim.MERGE_WAIT_S = 0.1\n"
        "sys.exit(shim.main(sys.argv[1:]))"
    )
    run = lab.start_shim_by(spec, code)
    lab.until(run, "died_worker_1")
    wait_until(lambda: not carriers(run.id), timeout=10.0)
    wait_until(lambda: not runs.is_live(run.reload()))
    assert runs.run_state(run.reload()) == "lost"
