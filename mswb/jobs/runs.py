"""Run folders: make one, read them, find one by name, and say what state a run is in.

A folder is read tolerantly: a broken one is named and never stops the list. Hosts may share a state folder (NFS), so
every judgement about processes first asks whether the run is of this host, this boot and this pid namespace.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mswb.files.safety import make_private_dir
from mswb.findings import MswbError, stop
from mswb.jobs.procs import pid_namespace
from mswb.jobs.recorder import STATUS_FILE
from mswb.jobs.spec import ADOPTED, JobSpec, RunStatus, read_record
from mswb.settings import Settings, boot_id, host_name
from mswb.signals import ProcessId, is_alive

SPEC_FILE = "spec.json"
FRESH_S = 20.0
"""A heartbeat younger than this shows a live run of another host; it beats every second, NFS caches attributes."""
STARTING_S = 30.0
"""How long a run folder may have no status before its shim counts as never started."""

Display = Literal[
    "starting", "running", "stopping", "succeeded", "failed", "stopped", "ended", "lost", "silent", "broken"
]


@dataclass(frozen=True, slots=True)
class Run:
    """One run as its folder shows it now. ``problem`` says what is unreadable; then spec and status may be None.

    The names are read on every list, so ``spec`` is loaded only when it is asked for.
    """

    id: str
    folder: Path
    status: RunStatus | None
    problem: str = ""

    @property
    def spec(self) -> JobSpec:
        """What was asked.

        Raises:
            MswbError: ``path-missing`` or ``path-unreadable`` naming the file.
        """
        return read_record(self.folder / SPEC_FILE, JobSpec)

    def reload(self) -> Run:
        """The same run, read again."""
        return load_run(self.folder)


def new_run(settings: Settings, *, now: float | None = None) -> tuple[str, Path]:
    """Make the folder of a new run (0700); its id is ``YYYYMMDD_HHMMSS_PID``, with ``_2`` and on when it is taken.

    Raises:
        MswbError: ``path-unwritable``.
    """
    root = make_private_dir(settings.runs_dir)
    stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(time.time() if now is None else now))
    base = f"{stamp}_{os.getpid()}"
    for name in (base, *(f"{base}_{number}" for number in range(2, 1000))):
        try:
            (root / name).mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as problem:
            raise stop("path-unwritable", values={"path": str(root / name), "reason": problem.strerror}) from None
        return name, root / name
    raise stop("path-unwritable", values={"path": str(root / base), "reason": "999 runs of this name exist"})


def load_run(folder: Path) -> Run:
    """Read one run folder; what can't be read is in ``problem``."""
    try:
        return Run(folder.name, folder, read_record(folder / STATUS_FILE, RunStatus))
    except MswbError as error:
        return Run(folder.name, folder, None, str(error))


def read_status(run: Run) -> RunStatus:
    """The status as the folder has it now.

    Raises:
        MswbError: ``path-missing`` or ``path-unreadable`` naming the file.
    """
    return read_record(run.folder / STATUS_FILE, RunStatus)


def list_runs(settings: Settings) -> list[Run]:
    """All runs, the newest first (by id, whose beginning is the time); broken ones are in the list too."""
    return [load_run(folder) for folder in _folders(settings)]


def find_run(settings: Settings, name: str) -> Run:
    """The run with this id, a unique beginning of an id, a path of its folder, or ``latest``.

    Raises:
        MswbError: ``no-runs``, ``run-unknown``, or ``run-ambiguous`` when several ids begin so.
    """
    folder = Path(os.path.expanduser(name))
    if os.sep in name and os.path.isfile(folder / SPEC_FILE):
        return load_run(folder.absolute())
    folders = list(_folders(settings))
    if name == "latest":
        if not folders:
            raise stop("no-runs", values={"folder": str(settings.runs_dir)})
        return load_run(folders[0])
    matches = [one for one in folders if one.name == name] or [one for one in folders if one.name.startswith(name)]
    if len(matches) == 1 and name:
        return load_run(matches[0])
    if not matches or not name:
        raise stop("run-unknown", values={"name": name, "folder": str(settings.runs_dir)})
    raise stop("run-ambiguous", values={"name": name, "matches": ", ".join(one.name for one in matches[:5])})


def shim_of(status: RunStatus) -> ProcessId:
    """The supervisor of a run, as a process of the host and boot that the status names."""
    return ProcessId(status.pid, status.start_time)


def is_here(status: RunStatus) -> bool:
    """Whether the run's pids mean anything to this process: same host, same boot, same pid namespace."""
    here = (host_name(), boot_id(), pid_namespace())
    return (status.host, status.boot_id, status.pid_namespace) == here


def is_live(run: Run) -> bool:
    """Whether the run has a live supervisor: by pid and start time here, by its heartbeat elsewhere."""
    status = run.status
    if status is None or status.state == "ended":
        return False
    return is_alive(shim_of(status)) if is_here(status) else _beats(status)


def is_lost(run: Run) -> bool:
    """Whether the run was of this host, has not ended, and its supervisor is gone.

    After a reboot the boot id differs; so it does on another machine with the same name, hence the heartbeat.
    """
    status = run.status
    if status is None or status.state == "ended" or status.host != host_name():
        return False
    if is_here(status):
        # A shim that ended in between has written its end before: look again.
        return not is_alive(shim_of(status)) and not _has_ended(run.folder)
    return status.boot_id != boot_id() and not _beats(status, 3 * FRESH_S)


def run_state(run: Run) -> Display:
    """The state to show.

    ``lost``: the supervisor died; ``silent``: of another host, and its heartbeat is old; ``ended``: an adopted run,
    and nobody saw its exit code.
    """
    status = run.status
    if status is None:
        return "starting" if _just_made(run.folder) else "broken"
    if status.state != "ended":
        if is_live(run):
            return status.state
        return "lost" if is_lost(run) else "silent"
    if status.stopped_by == "user":
        return "stopped"
    if status.exit_code is None and status.backend == ADOPTED:
        return "ended"
    return "succeeded" if status.exit_code == 0 else "failed"


def _folders(settings: Settings) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(settings.runs_dir), reverse=True)
    except OSError:
        return iter(())
    found = (settings.runs_dir / name for name in names if not name.startswith("."))
    return (folder for folder in found if folder.is_dir() and not folder.is_symlink())


def _beats(status: RunStatus, within_s: float = FRESH_S) -> bool:
    return abs(time.time() - status.heartbeat) < within_s


def _has_ended(folder: Path) -> bool:
    status = load_run(folder).status
    return status is not None and status.state == "ended"


def _just_made(folder: Path) -> bool:
    try:
        return time.time() - folder.stat().st_mtime < STARTING_S
    except OSError:
        return False
