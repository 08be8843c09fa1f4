"""What happens to a run when its terminal, its client or its supervisor goes away, and how it is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import Workspace, finish, free_port, interrupt, marked_processes
from tests.waiting import wait_until

RUNNING = "step 3"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.env["MSWB_STOP_GRACE_S"] = "2"
    return made


def flags(*more: str) -> tuple[str, ...]:
    numbers = ("--backend", "direct", "--worker_num", "2", "--local_worker_num", "2")
    return ("run", "--skip-check", "--master_port", str(free_port()), *numbers, *more)


def plain(workspace: Workspace) -> tuple[str, ...]:
    """A run of the plain loop, on an interpreter whose MindSpore is hidden so that no scheduler is needed."""
    return flags("--python", bare_python(workspace.folder), workspace.script("plain_loop.py"))


def bare_python(folder: Path) -> str:
    """A virtual environment without packages, of this Python."""
    target = folder / "bare"
    if not target.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(target)], check=True)
    return str(target / "bin" / "python")


def shim_pid(workspace: Workspace) -> int:
    status = newest_status(workspace)
    return int(status["pid"])


def newest_status(workspace: Workspace) -> dict[str, Any]:
    folder = max((workspace.folder / "state" / "runs").iterdir())
    read: dict[str, Any] = json.loads((folder / "status.json").read_text())
    return read


def is_running(workspace: Workspace) -> bool:
    return RUNNING in workspace.text_of("worker_0.log") and RUNNING in workspace.text_of("worker_1.log")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_client_stops_the_run(workspace: Workspace, number: int) -> None:
    client = workspace.begin(*plain(workspace), "--format=for-the-script")
    wait_until(lambda: is_running(workspace))
    interrupt(client, number)
    assert finish(client).code == 130
    assert newest_status(workspace)["stopped_by"] == "user"
    assert marked_processes(workspace.folder) == []


def test_a_killed_client_leaves_the_run_and_another_one_stops_it(workspace: Workspace) -> None:
    client = workspace.begin(*plain(workspace))
    wait_until(lambda: is_running(workspace))
    client.kill()
    client.communicate()
    lines = len(workspace.text_of("worker_0.log"))
    wait_until(lambda: len(workspace.text_of("worker_0.log")) > lines)
    listed = workspace.mswb("jobs", "list", "--format", "json").report
    assert [one["display_state"] for one in listed["runs"]] == ["running"]
    stopped = workspace.mswb("jobs", "stop", "latest", "--format", "json").report
    assert stopped["asked"] and len(stopped["stopped"]) >= 2
    assert marked_processes(workspace.folder) == []


def test_a_killed_supervisor_is_noticed_and_the_rest_ended(workspace: Workspace) -> None:
    client = workspace.begin(*plain(workspace))
    wait_until(lambda: is_running(workspace))
    client.kill()  # the client would end the rest itself
    client.communicate()
    os.kill(shim_pid(workspace), signal.SIGKILL)
    assert len(marked_processes(workspace.folder)) == 2
    listed = workspace.mswb("jobs", "list")
    assert "had lost its supervisor; ended:" in listed.stderr
    assert marked_processes(workspace.folder) == []
    assert workspace.mswb("diagnose", "ms_run_log", "--format", "json").root["code"] == "supervisor-lost"
    assert newest_status(workspace)["state"] == "ended"


def test_attach_shows_a_detached_run_and_leaves_it(workspace: Workspace) -> None:
    started = workspace.mswb(*plain(workspace)[:1], "--detach", *plain(workspace)[1:])
    assert started.code == 0
    wait_until(lambda: is_running(workspace))
    client = workspace.begin("jobs", "attach", "latest")
    assert client.stdout is not None
    seen = next(line for line in client.stdout if "[rank 1]" in line)
    assert "step" in seen
    interrupt(client)
    finish(client)
    assert len(marked_processes(workspace.folder)) == 2
    workspace.mswb("jobs", "stop", "latest", "--kill")
    assert marked_processes(workspace.folder) == []


def test_a_closed_terminal_leaves_the_run(workspace: Workspace) -> None:
    """A tmux server of our own is killed in the middle of a run; a new terminal attaches and stops it."""
    socket = str(workspace.folder / "tmux")
    command = " ".join(workspace.command(*plain(workspace)))
    tmux = ["tmux", "-S", socket, "-f", "/dev/null"]
    terminal = [*tmux, "new-session", "-d", "-x", "80", "-y", "24", "-c", str(workspace.folder), command]
    subprocess.run(terminal, env=workspace.env, check=True)
    wait_until(lambda: is_running(workspace))
    subprocess.run([*tmux, "kill-server"], check=True)
    lines = len(workspace.text_of("worker_0.log"))
    wait_until(lambda: len(workspace.text_of("worker_0.log")) > lines + 200)
    subprocess.run(
        [*tmux, "new-session", "-d", "-x", "80", "-y", "24", "-c", str(workspace.folder),
         " ".join(workspace.command("jobs", "attach", "latest"))],
        env=workspace.env, check=True,
    )  # fmt: skip

    def screen() -> str:
        return subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout

    try:
        wait_until(lambda: "[rank 0] rank 0 step" in screen() and "[rank 1] rank 1 step" in screen())
        assert workspace.mswb("jobs", "stop", "latest").code == 0
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
    assert marked_processes(workspace.folder) == []


@pytest.mark.mindspore
def test_an_interrupt_while_msrun_still_imports(workspace: Workspace) -> None:
    arguments = ("--backend", "msrun", "--worker_num", "2", "--local_worker_num", "2")
    ports = ("--master_port", str(free_port()))
    client = workspace.begin("run", *arguments, *ports, workspace.script("train_ok.py"))
    wait_until(lambda: marked_processes(workspace.folder) and (workspace.log_dir() / "latest").exists())
    interrupt(client)
    assert finish(client).code == 130
    assert marked_processes(workspace.folder) == []
