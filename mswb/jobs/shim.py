"""``python -m mswb.jobs.shim RUN_FOLDER``: the process that owns a run and outlives terminal and client.

It detaches itself, becomes the parent of every orphan below it (PR_SET_CHILD_SUBREAPER), and supervises until nothing
of the run is left. Whatever goes wrong in it is written into the status, and everything is ended.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

from mswb.jobs import procs
from mswb.jobs.flaws import EXIT_CODE, flaw
from mswb.jobs.merge import Merger, sources
from mswb.jobs.recorder import STATUS_FILE, Recorder
from mswb.jobs.spec import Event, JobSpec, RunStatus, read_record, write_record
from mswb.jobs.supervise import Supervisor
from mswb.jobs.watch import HANDLED
from mswb.jobs.watchover import Keeper
from mswb.settings import boot_id, host_name
from mswb.signals import identify

PR_SET_CHILD_SUBREAPER = 36
SPEC_FILE = "spec.json"
DISK_WAIT_S = 30.0
MERGE_WAIT_S = 10.0
AFTER_WAIT_S = 120.0
"""How long the command that follows a good end may take; it reads files of gigabytes at most."""
INTERNAL = 70
"""EX_SOFTWARE of sysexits.h."""


def main(arguments: list[str]) -> int:
    """Detach and supervise the run of the folder in ``arguments``; the calling process returns at once."""
    if os.fork() != 0:
        return 0
    os.setsid()
    os.chdir("/")  # the folder we were started in may vanish, and must not be held
    _adopt_orphans()
    _supervise(Path(arguments[0]))
    return 0


def _adopt_orphans() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def _supervise(folder: Path) -> None:
    # From the first status on a client may send a stop; it waits until the supervisor has its handlers.
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    spec = read_record(folder / SPEC_FILE, JobSpec)
    status = first_status(spec)
    write_record(folder / STATUS_FILE, status)
    # The folder of logs that others made is theirs: what we know of an adopted run stays in its run folder.
    recorder = Recorder(folder, Path(spec.log_dir) if spec.log_dir and not spec.adopted else None)
    merger = Merger(sources(spec), spec.merged_log) if spec.merged_log else None
    supervisor = (Keeper if spec.adopted else Supervisor)(folder, spec, status, recorder)
    try:
        supervisor.run()
    except BaseException as problem:
        traceback.print_exc()
        status.exit_code = None if spec.adopted else INTERNAL
        status.message = f"the supervisor failed and {'left' if spec.adopted else 'ended'} the run: {problem!r}"
        supervisor.end_everything()
    if merger is not None:
        merger.close(MERGE_WAIT_S)
    if spec.after and status.exit_code == 0:
        _run_after(spec.after)
    found = flaw(folder) if status.exit_code == 0 else ""
    if found:
        status.exit_code, status.message = EXIT_CODE, found
    status.state, status.ended = "ended", time.time()
    status.heartbeat = status.ended
    recorder.event(Event(time=status.ended, event="ended", exit_code=status.exit_code, text=status.message))
    recorder.status(status, copy=True)
    recorder.close(DISK_WAIT_S)


def _run_after(command: tuple[str, ...]) -> None:
    """Run what follows a good end; what it says goes where the shim's own words go, and it can't spoil the run."""
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=AFTER_WAIT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        traceback.print_exc()


def first_status(spec: JobSpec) -> RunStatus:
    """The status of a run whose supervisor is this process and has started nothing yet."""
    own = identify(os.getpid())
    assert own is not None, "/proc must be mounted"
    return RunStatus(
        id=spec.id,
        kind=spec.kind,
        backend=spec.backend,
        title=spec.title,
        cwd=spec.cwd,
        host=host_name(),
        boot_id=boot_id(),
        pid=own.pid,
        start_time=own.start_time,
        pid_namespace=procs.pid_namespace(),
        state="starting",
        created=spec.created or time.time(),
        heartbeat=time.time(),
        log_dir=spec.log_dir,
        script=spec.script,
        expected_workers=spec.expected_workers,
        command_line=list(spec.command_line),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
