"""Starts processes that look like trainings which mswb did not start, and ends every one of them afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mswb.launch.foreign import Finder, ForeignRun
from tests.waiting import wait_until

CHILDREN = Path(__file__).parent / "children"
TRAINEE = str(CHILDREN / "trainee.py")
MARK = "MSWB_TEST_YARD"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("MS", "RANK", "DEVICE", "SLURM"))}


def trainee(folder: Path, words: str) -> list[str]:
    """The command line of a trainee; the folder is its working folder, by which its run is told from others."""
    return [sys.executable, "-S", TRAINEE, str(folder), words]


def cluster(role: str, port: int, **more: str) -> dict[str, str]:
    """The environment that msrun and dynamic cluster give to a process.

    The port tells one job of a host from another: that of a test which another process runs now has a port of its own.
    """
    own = str(port + 1000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")))
    return {"MS_ROLE": role, "MS_SCHED_HOST": "127.0.0.1", "MS_SCHED_PORT": own, "MS_WORKER_NUM": "2", **more}


@dataclass
class Yard:
    """Everything runs in ``folder``."""

    folder: Path
    finder: Finder = field(default_factory=Finder)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        out: str | int = subprocess.DEVNULL,
        session: bool = True,
    ) -> subprocess.Popen[bytes]:
        """Start a program; ``out`` is a log in the folder, or what Popen takes."""
        where = os.open(self.folder / out, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if isinstance(out, str) else out
        child = subprocess.Popen(
            argv,
            cwd=self.folder,
            env={**CLEAN, MARK: str(self.folder), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=where,
            stderr=subprocess.STDOUT,
            start_new_session=session,
        )
        if isinstance(out, str):
            os.close(where)
        self.started.append(child)
        return child

    def train(self, words: str, env: Mapping[str, str] | None = None, *, out: str | int = subprocess.DEVNULL) -> int:
        """Start a trainee and return its pid when it has done what stands before ``ready``."""
        name = f"ready_{len(self.started)}"
        child = self.start(trainee(self.folder, f"{words}+ready:{name}+forever"), env, out=out)
        self.until(name)
        return child.pid

    def script(self, name: str, text: str) -> str:
        """An executable file in the folder."""
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def until(self, *names: str) -> None:
        wait_until(lambda: all((self.folder / name).exists() for name in names))

    def pid(self, name: str) -> int:
        """The pid that a trainee left in a file."""
        return int(wait_until(lambda: (self.folder / name).exists() and (self.folder / name).read_text()))

    def touch(self, name: str) -> None:
        (self.folder / name).touch()

    def found(self) -> list[ForeignRun]:
        """The runs in this folder: there may be others on the host."""
        return [run for run in self.finder.find() if run.cwd == str(self.folder)]

    def pids(self) -> list[int]:
        """The live processes of this yard, by their environment; read without the code under test."""
        needle = f"{MARK}={self.folder}\0".encode()
        found = []
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and needle in Path("/proc", name, "environ").read_bytes():
                    found.append(int(name))
            except OSError:
                continue
        return found

    def close(self) -> None:
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for child in self.started:
            child.kill()  # one that is only now becoming its program has no environment yet to be found by
            child.wait()
        wait_until(lambda: not self.pids())
