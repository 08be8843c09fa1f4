"""A training without MindSpore: msrun's process tree in plain Python, under the real shim."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mswb.jobs import control, runs
from mswb.jobs.runs import Run
from mswb.jobs.spec import JobSpec, ProcessSpec, RunStatus, write_record
from mswb.settings import Settings, load_settings
from tests.waiting import wait_until

CHILDREN = Path(__file__).parent / "children"


def carriers(run_id: str) -> list[int]:
    """The live pids whose environment names this run; read here without the code under test."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and f"MSWB_RUN_ID={run_id}\0" in Path("/proc", name, "environ").read_text("latin-1"):
                found.append(int(name))
        except OSError:
            continue
    return found


@dataclass
class Lab:
    """Starts trainings in a folder of its own and kills whatever is left of them at the end of the test."""

    folder: Path
    settings: Settings
    started: list[Run] = field(default_factory=list)

    def spec(self, words: list[str], *, backend: str = "msrun", scheduler: str = "wait:all_done", **more) -> JobSpec:
        """A training of ``len(words)`` ranks. ``poll``: seconds between two looks of the fake msrun."""
        run_id, _ = runs.new_run(self.settings)
        logs = self.folder / "logs" / run_id
        logs.mkdir(parents=True)
        poll, env = str(more.pop("poll", 1.0)), {**os.environ, **more.pop("env", {})}
        rank = [sys.executable, "-S", str(CHILDREN / "rank.py"), str(logs)]
        if backend == "msrun":
            argv = [sys.executable, str(CHILDREN / "msrun.py"), str(logs), str(len(words)), poll, rank[2], scheduler]
            processes = [ProcessSpec(role="launcher", argv=(*argv, *words), log=str(logs / "launcher.log"))]
        else:
            one = ProcessSpec(
                role="scheduler", argv=(*rank, scheduler), log=str(logs / "scheduler.log"), env={"MS_ROLE": "MS_SCHED"}
            )
            processes = [one, *(self._worker(rank, logs, number, word) for number, word in enumerate(words))]
        keys = {
            "id": run_id,
            "kind": "launch",
            "title": " ".join(words),
            "cwd": str(self.folder),
            "env": env,
            "processes": tuple(processes),
            "backend": backend,
            "log_dir": str(logs),
            "merged_log": str(self.folder / f"msrun_{run_id}.log"),
            "worker_logs": {number: str(logs / f"worker_{number}.log") for number in range(len(words))},
            "scheduler_log": str(logs / "scheduler.log"),
            "expected_workers": len(words),
            "stop_grace_s": 3.0,
        }
        return JobSpec(**{**keys, **more})

    def _worker(self, rank: list[str], logs: Path, number: int, word: str) -> ProcessSpec:
        env = {"MS_ROLE": "MS_WORKER", "RANK_ID": str(number)}
        log = str(logs / f"worker_{number}.log")
        return ProcessSpec(role="worker", argv=(*rank, word), log=log, rank=number, env=env)

    def command(self, *argv: str, **more) -> JobSpec:
        """A plain command job."""
        run_id, folder = runs.new_run(self.settings)
        process = ProcessSpec(role="command", argv=argv, log=str(folder / "command.log"))
        keys = {"id": run_id, "kind": "command", "title": "command", "cwd": str(self.folder), "env": dict(os.environ)}
        return JobSpec(**{**keys, "processes": (process,), "stop_grace_s": 2.0, **more})

    def start(self, spec: JobSpec) -> Run:
        run = control.start(spec, self.settings)
        self.started.append(run)
        return run

    def start_shim_by(self, spec: JobSpec, code: str) -> Run:
        """Start a shim as a client in an unusual state would: by Python code that gets the run folder."""
        folder = self.settings.runs_dir / spec.id
        write_record(folder / "spec.json", spec)
        subprocess.run([sys.executable, "-c", code, str(folder)], check=False, timeout=60, stderr=subprocess.DEVNULL)
        wait_until(lambda: (folder / "status.json").exists())
        run = runs.load_run(folder)
        self.started.append(run)
        return run

    def logs(self, run: Run) -> Path:
        return Path(run.spec.log_dir or run.folder)

    def until(self, run: Run, *names: str) -> None:
        """Wait until the ranks made these files."""
        wait_until(lambda: all((self.logs(run) / name).exists() for name in names))

    def mark(self, run: Run, name: str) -> None:
        (self.logs(run) / name).touch()

    def until_found(self, run: Run, workers: int) -> None:
        """Wait until the shim knows so many workers."""
        wait_until(lambda: sum(one.role == "worker" for one in runs.read_status(run).processes) >= workers)

    def ended(self, run: Run, timeout: float = 30.0) -> RunStatus:
        """Wait for the end and check that nothing is left."""
        run = control.wait(run, timeout)
        assert run.status is not None
        assert run.status.state == "ended"
        assert carriers(run.id) == []
        return run.status

    def died_at(self, run: Run, name: str) -> float:
        return float((self.logs(run) / f"died_{name}").read_text())

    def close(self) -> None:
        for run in self.started:
            status = runs.load_run(run.folder).status
            pids = carriers(run.id) + ([status.pid] if status is not None and runs.is_live(run.reload()) else [])
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            wait_until(lambda run=run: not carriers(run.id))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"MSWB_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path)})


@pytest.fixture
def lab(tmp_path: Path, settings: Settings) -> Iterator[Lab]:
    lab = Lab(tmp_path, settings)
    yield lab
    lab.close()
