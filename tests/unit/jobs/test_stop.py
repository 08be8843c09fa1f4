"""Stopping, killing, and what must not stop a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mswb
from mswb.jobs import control, runs
from mswb.jobs.runs import Run
from mswb.jobs.spec import write_record
from mswb.signals import ProcessId, identify, is_alive
from tests.unit.jobs.conftest import Lab, carriers
from tests.waiting import wait_until

BACKENDS = ["msrun", "direct"]


def running(lab: Lab, words: list[str], backend: str = "msrun", **more: object) -> Run:
    run = lab.start(lab.spec(words, backend=backend, **more))
    lab.until_found(run, len(words))
    lab.until(run, *(f"ready_worker_{rank}" for rank in range(len(words))))
    return run


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_rank_may_write_its_checkpoint(lab: Lab, backend: str) -> None:
    """Real msrun SIGKILLs all ranks on Ctrl+C, and when the first of them ends badly."""
    run = running(lab, ["checkpoint", "checkpoint"], backend, poll=0.05)
    assert control.request_stop(run)
    status = lab.ended(run)
    assert (status.exit_code, status.stopped_by, status.first_failure) == (130, "user", None)
    assert all((lab.logs(run) / f"checkpoint_worker_{rank}").exists() for rank in range(2))
    assert runs.run_state(run.reload()) == "stopped"
    assert status.stop_requested is not None


@pytest.mark.parametrize("backend", BACKENDS)
def test_members_that_ignore_everything(lab: Lab, backend: str) -> None:
    run = running(lab, ["ignore+daemon+grandchild+forever", "forever"], backend, stop_grace_s=0.3)
    control.request_stop(run)
    assert lab.ended(run).exit_code == 130


def test_second_stop_kills(lab: Lab) -> None:
    run = running(lab, ["ignore+forever", "ignore+forever"], stop_grace_s=600.0)
    control.request_stop(run)
    wait_until(lambda: runs.read_status(run).state == "stopping")
    control.request_stop(run)
    status = lab.ended(run)
    assert (status.exit_code, status.stopped_by) == (137, "user")


def test_kill(lab: Lab) -> None:
    run = running(lab, ["ignore+forever"], stop_grace_s=600.0)
    control.request_stop(run, kill=True)
    assert lab.ended(run).exit_code == 137


def test_stop_of_an_ended_run(lab: Lab) -> None:
    run = lab.start(lab.command("true"))
    lab.ended(run)
    assert not control.request_stop(run)


def test_stop_while_msrun_still_imports(lab: Lab) -> None:
    run = lab.start(lab.spec(["forever"], env={"FAKE_IMPORT": str(lab.folder / "never")}))
    control.request_stop(run)
    status = lab.ended(run)
    assert status.exit_code == 130
    assert [one.role for one in status.processes] == ["launcher"]


def test_stop_at_once(lab: Lab) -> None:
    run = lab.start(lab.spec(["forever", "forever"], backend="direct"))
    control.request_stop(run)
    assert lab.ended(run).exit_code == 130


def test_the_terminal_closes(lab: Lab) -> None:
    """SIGHUP, to the shim itself even, and the end of the client's session leave the run as it is."""
    run = running(lab, ["ready+wait:go+mark:all_done+ok"])
    status = runs.read_status(run)
    os.kill(status.pid, signal.SIGHUP)
    os.kill(status.pid, signal.SIGHUP)
    lab.mark(run, "go")
    assert lab.ended(run).exit_code == 0


def test_the_client_dies(lab: Lab) -> None:
    """The run belongs neither to the client's session nor to its pipes."""
    spec = lab.spec(["ready+wait:go+mark:all_done+ok"])
    write_record(lab.folder / "asked.json", spec)
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from mswb.jobs import control; from mswb.jobs.spec import JobSpec, read_record\n"
        "from mswb.settings import load_settings\n"
        "control.start(read_record(Path(sys.argv[1]), JobSpec), load_settings())\n"
        "print('up', flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    env = {**os.environ, "MSWB_STATE_DIR": str(lab.settings.state_dir)}
    client = subprocess.run(  # returns only when nobody holds the pipe any more
        [sys.executable, "-c", code, str(lab.folder / "asked.json")],
        stdout=subprocess.PIPE, env=env, start_new_session=True, timeout=60, check=False,
    )  # fmt: skip
    assert (client.returncode, client.stdout) == (-signal.SIGKILL, b"up\n")
    run = runs.find_run(lab.settings, spec.id)
    lab.started.append(run)
    assert os.getsid(runs.read_status(run).pid) == runs.read_status(run).pid
    assert runs.is_live(run)
    lab.mark(run, "go")
    assert lab.ended(run).exit_code == 0


def test_started_from_a_folder_that_vanishes(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lab.folder / "brief"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run = lab.start(lab.command("sleep", "600"))
    folder.rmdir()
    control.request_stop(run)
    assert lab.ended(run).exit_code == 130


def test_ignored_signals_of_the_client_are_not_inherited(lab: Lab) -> None:
    """A shell starts background commands with SIGINT ignored; a training must get its own all the same."""
    spec = lab.spec(["checkpoint"])
    code = (
        "import signal, sys; from pathlib import Path\n"
        "for name in ('SIGINT', 'SIGTERM', 'SIGHUP', 'SIGCHLD'): signal.signal(getattr(signal, name), signal.SIG_IGN)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])\n"
        "import subprocess\n"
        "sys.exit(subprocess.call([sys.executable, '-m', 'mswb.jobs.shim', sys.argv[1]]))"
    )
    run = lab.start_shim_by(spec, code)
    lab.until_found(run, 1)
    lab.until(run, "ready_worker_0")
    control.request_stop(run)
    lab.ended(run)
    assert (lab.logs(run) / "checkpoint_worker_0").exists()


# The supervisor itself dies


def kill_shim(run: Run) -> None:
    status = runs.read_status(run)
    shim = ProcessId(status.pid, status.start_time)
    os.kill(shim.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(shim))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_next_client_ends_a_lost_run(lab: Lab, backend: str) -> None:
    run = running(lab, ["ignore+daemon+grandchild+forever", "forever"], backend)
    bystander = lab.start(lab.command("sleep", "600"))
    kill_shim(run)
    assert runs.run_state(run.reload()) == "lost"
    alive = set(carriers(run.id))
    assert alive
    reaped = control.reap_lost(lab.settings)
    assert [one.run.id for one in reaped] == [run.id]
    assert alive <= {process.pid for process in reaped[0].ended}
    assert reaped[0].left == ()
    status = lab.ended(run)
    assert "its supervisor died" in status.message
    assert runs.run_state(run.reload()) == "failed"
    assert control.reap_lost(lab.settings) == []
    assert runs.is_live(bystander.reload())
    control.request_stop(bystander)
    lab.ended(bystander)


def test_stop_of_a_lost_run_ends_its_members(lab: Lab) -> None:
    run = running(lab, ["forever"])
    kill_shim(run)
    assert control.request_stop(run)
    lab.ended(run)


def test_wait_returns_when_the_supervisor_dies(lab: Lab) -> None:
    run = running(lab, ["forever"])
    kill_shim(run)
    assert runs.run_state(control.wait(run, 20)) == "lost"
    control.reap_lost(lab.settings)


def test_reaping_never_ends_the_one_who_reaps(lab: Lab) -> None:
    """``mswb jobs list`` called from inside a job whose supervisor died."""
    out = lab.folder / "reaped"
    code = (
        "import os, sys, time; from pathlib import Path\n"
        "from mswb.jobs import control; from mswb.settings import load_settings\n"
        "while not Path(sys.argv[2]).exists(): time.sleep(0.01)\n"
        "found = control.reap_lost(load_settings())\n"
        "Path(sys.argv[1] + '.tmp').write_text(repr([one.pid for item in found for one in item.ended]))\n"
        "os.rename(sys.argv[1] + '.tmp', sys.argv[1])"
    )
    go = lab.folder / "go"
    env = {
        **os.environ,
        "MSWB_STATE_DIR": str(lab.settings.state_dir),
        "PYTHONPATH": str(Path(mswb.__file__).parent.parent),
    }
    run = lab.start(
        lab.command("sh", "-c", f'sleep 600 & exec "$@" {out} {go}', "sh", sys.executable, "-c", code, env=env)
    )
    wait_until(lambda: len(carriers(run.id)) >= 2 and runs.read_status(run).processes)
    client = runs.read_status(run).processes[0].pid
    kill_shim(run)
    go.touch()
    wait_until(out.exists)
    assert str(client) not in out.read_text()
    wait_until(lambda: not carriers(run.id))


def test_a_reused_pid_is_not_signalled(lab: Lab) -> None:
    """The status names a process that is another one by now: this very test."""
    run = lab.start(lab.command("true"))
    status = lab.ended(run)
    me = identify(os.getpid())
    assert me is not None
    status.pid, status.start_time, status.state = me.pid, me.start_time - 1, "running"
    for process in status.processes:
        process.pid, process.start_time, process.state = me.pid, me.start_time - 1, "running"
    write_record(run.folder / "status.json", status)
    assert runs.run_state(run.reload()) == "lost"
    assert control.members(run.reload()) == []
    assert [one.ended for one in control.reap_lost(lab.settings)] == [()]


@pytest.mark.parametrize("named", ["supervisor", "member"])
def test_a_record_that_names_an_unrelated_process_does_not_end_it(lab: Lab, named: str) -> None:
    """Mixed up by hand: pid and start time are right, but it is neither a shim nor does it write to the log."""
    run = lab.start(lab.command("true"))
    status = lab.ended(run)
    wait_until(lambda: not is_alive(runs.shim_of(status)))
    with subprocess.Popen(["sleep", "600"]) as stranger:
        it = identify(stranger.pid)
        assert it is not None
        status.state = "running"
        one = status if named == "supervisor" else status.processes[0]
        one.pid, one.start_time = it.pid, it.start_time
        write_record(run.folder / "status.json", status)
        assert control.members(run.reload()) == []
        assert not control.request_stop(run.reload())
        control.reap_lost(lab.settings)
        assert stranger.poll() is None
        stranger.kill()
    assert runs.run_state(run.reload()) != "running"


def test_the_supervisor_fails(lab: Lab) -> None:
    """An exception inside it is written down, and everything is ended."""
    spec = lab.spec(["forever", "forever"], backend="direct")
    code = (
        "import sys; from mswb.jobs import shim, supervise\n"
        "beats = []\n"
        "def broken(self):\n"
        "    beats.append(1)\n"
        "    if len(beats) > 3: raise RuntimeError('a defect')\n"
        "supervise.Supervisor._beat = broken\n"
        "sys.exit(shim.main(sys.argv[1:]))"
    )
    status = lab.ended(lab.start_shim_by(spec, code))
    assert status.exit_code == 70
    assert "RuntimeError('a defect')" in status.message
