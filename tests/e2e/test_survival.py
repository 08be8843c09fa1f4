"""What happens to a run when its terminal, its client or its supervisor goes away, and how it is stopped."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import termios
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
    """The terminal goes away in the middle of a run; another one attaches; a third stops the run."""
    first = Terminal(workspace, *plain(workspace))
    first.wait_for("[rank 0] rank 0 step 3")
    first.close()
    lines = len(workspace.text_of("worker_0.log"))
    wait_until(lambda: len(workspace.text_of("worker_0.log")) > lines + 200)
    second = Terminal(workspace, "jobs", "attach", "latest")
    second.wait_for("[rank 1] rank 1 step")
    assert workspace.mswb("jobs", "stop", "latest").code == 0
    second.wait_for("STOPPED")
    second.close()
    assert marked_processes(workspace.folder) == []


TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """A terminal of 80x24 with a command in it as its session leader, as sshd or tmux would start it."""

    def __init__(self, workspace: Workspace, *arguments: str) -> None:
        self.seen = b""
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, *workspace.command(*arguments)],
            cwd=workspace.folder, env=workspace.env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        os.set_blocking(self._master, False)

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text.encode() in self._read())

    def close(self) -> None:
        """Hang up: the kernel sends SIGHUP to the session."""
        os.close(self._master)
        self._process.wait(timeout=30)

    def _read(self) -> bytes:
        try:
            self.seen += os.read(self._master, 1 << 16)
        except OSError:  # nothing new, or the command has ended
            pass
        return self.seen


@pytest.mark.mindspore
def test_an_interrupt_while_msrun_still_imports(workspace: Workspace) -> None:
    arguments = ("--backend", "msrun", "--worker_num", "2", "--local_worker_num", "2")
    ports = ("--master_port", str(free_port()))
    client = workspace.begin("run", *arguments, *ports, workspace.script("train_ok.py"))
    wait_until(lambda: marked_processes(workspace.folder) and (workspace.log_dir() / "latest").exists())
    interrupt(client)
    assert finish(client).code == 130
    assert marked_processes(workspace.folder) == []
