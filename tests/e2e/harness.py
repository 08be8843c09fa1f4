"""Runs the real program in a child process and looks at what it says and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Outcome:
    """A finished command: its exit code, the JSON objects it wrote, and what it said on stderr."""

    code: int
    objects: list[dict[str, Any]]
    stderr: str

    @property
    def report(self) -> dict[str, Any]:
        return self.objects[-1]

    @property
    def root(self) -> dict[str, Any]:
        assert self.report["root"] is not None, self.report
        found: dict[str, Any] = self.report["findings"][self.report["root"]]
        return found


class Workspace:
    """A folder of its own with its own state, and the mswb of this checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            **os.environ,
            "MSWB_STATE_DIR": str(folder / "state"),
            "MSWB_CONFIG": str(folder / "none.toml"),
            "MSWB_LANG": "en",
            "MS_NODE_TIMEOUT": "10",
        }
        self.env.pop("MSWB_PYTHON", None)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "mswb", *arguments]

    def mswb(self, *arguments: str, timeout: float = 200) -> Outcome:
        """Run a command to its end."""
        done = subprocess.run(
            self.command(*arguments), cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=timeout
        )
        return outcome(done.returncode, done.stdout, done.stderr)

    def begin(self, *arguments: str, new_session: bool = True) -> subprocess.Popen[str]:
        """Start a command and return at once."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=new_session,
        )

    def script(self, name: str) -> str:
        return str(SCRIPTS / name)

    def log_dir(self) -> Path:
        return self.folder / "ms_run_log"

    def text_of(self, log: str) -> str:
        """A log of the newest run; empty while it is not there."""
        try:
            return (self.log_dir() / "latest" / log).read_text(errors="replace")
        except OSError:
            return ""


def outcome(code: int, stdout: str, stderr: str) -> Outcome:
    return Outcome(code, [json.loads(line) for line in stdout.splitlines() if line.startswith("{")], stderr)


def finish(process: subprocess.Popen[str], timeout: float = 120) -> Outcome:
    stdout, stderr = process.communicate(timeout=timeout)
    return outcome(process.returncode, stdout, stderr)


def marked_processes(folder: Path) -> list[str]:
    """Live processes whose environment names this workspace's state folder and a run of it."""
    mark = f"MSWB_STATE_DIR={folder / 'state'}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environ = (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if mark in environ and b"MSWB_RUN_ID=" in environ and state not in "ZX":
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def interrupt(process: subprocess.Popen[str], number: int = signal.SIGINT) -> None:
    os.kill(process.pid, number)
