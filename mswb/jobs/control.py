"""What a client may do with a run: start it, follow it, stop it, and end what a dead supervisor left behind.

A client only reads the run folder and signals; the shim alone writes it, unless the shim is dead.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

import mswb
from mswb.files.safety import make_private_dir
from mswb.findings import MswbError, stop
from mswb.jobs import procs, runs
from mswb.jobs.ending import STACK_SIGNAL
from mswb.jobs.procs import Process
from mswb.jobs.recorder import COPY_FILE, EVENTS_FILE, STATUS_FILE, append_events, event_line
from mswb.jobs.runs import SPEC_FILE, Run, is_here, is_lost, load_run, shim_of
from mswb.jobs.spec import ADOPTED, LOST_EXIT_CODE, Event, JobSpec, ProcessStatus, RunStatus, read_record, write_record
from mswb.settings import Settings
from mswb.signals import END_LADDER, Ladder, ProcessId, end, is_alive, send

START_WAIT_S = 30.0
POLL_S = 0.05
EVENT_BYTES = 4 << 20
"""The most that one call of :func:`read_events` reads."""
KILL_LADDER: Ladder = ((signal.SIGKILL, 5.0),)


@dataclass(frozen=True, slots=True)
class Reaped:
    """What was ended of a run whose supervisor had died: the members, and those that would not end."""

    run: Run
    ended: tuple[Process, ...]
    left: tuple[Process, ...] = ()


def start(spec: JobSpec, settings: Settings) -> Run:
    """Start a job under a shim of its own and return as soon as the shim has written its first status.

    The folder ``<state>/runs/<spec.id>`` is made when it is not there.

    Raises:
        MswbError: ``path-unwritable``; ``job-start-failed`` when the shim did not come up.
    """
    folder = make_private_dir(settings.runs_dir / spec.id)
    write_record(folder / SPEC_FILE, spec)
    _link(folder / "log", spec.log_dir)
    _link(folder / "output.log", next((one.log for one in spec.processes if one.role in ("launcher", "command")), None))
    _launch_shim(folder)
    deadline = time.monotonic() + START_WAIT_S
    while not (folder / STATUS_FILE).exists():
        if time.monotonic() > deadline:
            raise _start_failed(folder)
        time.sleep(POLL_S / 5)
    return load_run(folder)


def request_stop(run: Run, *, kill: bool = False) -> bool:
    """Ask for the end of a run; False when it had ended already.

    A live shim is asked (``kill``: at once, without grace) and this returns before the end, see :func:`wait`. If the
    shim is dead, its members are ended here and now.

    Raises:
        MswbError: ``run-elsewhere`` for a run of another host: it is never signalled from here.
    """
    run = run.reload()
    status = run.status
    if status is None or status.state == "ended":
        return False
    shim = _supervisor(run, status)
    if is_lost(run) or (shim is None and is_here(status)):
        return bool(reap(run, KILL_LADDER if kill else END_LADDER).ended)
    if shim is None:
        raise stop("run-elsewhere", values={"id": run.id, "host": status.host})
    return send(shim, signal.SIGUSR1 if kill else signal.SIGTERM)


def request_stacks(run: Run) -> list[ProcessStatus]:
    """Have each live rank print its stacks into its log and go on; returns those asked.

    A process without a handler for the signal would be ended by it, so it is left alone.

    Raises:
        MswbError: ``run-elsewhere`` for a run of another host.
    """
    status = run.reload().status
    if status is None or status.state == "ended":
        return []
    if not is_here(status):
        raise stop("run-elsewhere", values={"id": run.id, "host": status.host})
    ranks = [one for one in status.processes if one.role != "launcher" and one.state != "ended"]
    return [
        one
        for one in ranks
        if procs.catches(one.pid, STACK_SIGNAL) and send(ProcessId(one.pid, one.start_time), STACK_SIGNAL)
    ]


def wait(run: Run, timeout: float | None = None, on_event: Callable[[Event], None] | None = None) -> Run:
    """Follow a run until it has ended or its supervisor is gone, at most ``timeout`` seconds; returns it as it is then.

    ``on_event`` gets every event from the beginning of the run, in order.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    offset = 0
    while True:
        run = run.reload()
        over = run.status is not None and (run.status.state == "ended" or is_lost(run))
        offset = _deliver(run, offset, on_event)
        if over or (deadline is not None and time.monotonic() >= deadline):
            return run
        time.sleep(POLL_S)


def read_events(run: Run, offset: int = 0) -> tuple[list[Event], int]:
    """The events from byte ``offset`` on and the offset to go on from; a line that is still being written waits.

    A line that is no event is passed over: any member of the run may write to this file.
    """
    try:
        descriptor = os.open(run.folder / EVENTS_FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return [], offset
    try:
        raw = os.pread(descriptor, EVENT_BYTES, offset)
    except OSError:
        return [], offset
    finally:
        os.close(descriptor)
    whole = raw.rfind(b"\n") + 1
    if whole == 0 and len(raw) == EVENT_BYTES:  # no event is that long
        whole = len(raw)
    return [event for line in raw[:whole].splitlines() if (event := _event_of(line)) is not None], offset + whole


def log_paths(run: Run) -> list[tuple[str, int | None, str]]:
    """The logs of a run as (role, rank, path): those of known processes, and those that its ranks will write."""
    status = run.status
    found = [(one.role, one.rank, one.log) for one in (status.processes if status else []) if one.log]
    with suppress(MswbError):
        spec = run.spec
        found += [(one.role, one.rank, one.log) for one in spec.processes]
        found += [("worker", rank, path) for rank, path in spec.worker_logs.items()]
        found += [("scheduler", None, spec.scheduler_log)] if spec.scheduler_log else []
    unique = {(role, rank): (str(role), rank, path) for role, rank, path in reversed(found)}
    return sorted(unique.values(), key=lambda item: (item[0] != "worker", item[1] or 0, item[0]))


def members(run: Run) -> list[Process]:
    """The live processes of a run of this host: below its shim or a known process, or carrying its mark.

    Never the shim, this process or one above it. Of an adopted run: its processes and what descends from them.
    """
    status = run.status
    if status is None or not is_here(status):
        return []
    table = procs.scan()
    if status.backend == ADOPTED:
        return _adopted_members(status, table)
    shim = {status.pid} if _supervisor(run, status) else set()
    marked = procs.marked(table, run.id)
    roots = marked | {one.pid for one in status.processes if one.pid in table and _is_same(table[one.pid], one)}
    pids = (roots | procs.descendants(table, roots | shim)) - shim - procs.ancestors(table, os.getpid())
    return [table[pid] for pid in sorted(pids) if not table[pid].over]


def _adopted_members(status: RunStatus, table: procs.Table) -> list[Process]:
    known = [ProcessId(one.pid, one.start_time) for one in status.processes]
    family = [ProcessId(pid, start_time) for pid, start_time in status.family]
    roots = {one.pid for one in (*known, *family) if one.pid in table and table[one.pid].id == one}
    # In a container the training may be pid 1, from which everything descends.
    ours = procs.ancestors(table, os.getpid()) | {status.pid}
    below = procs.descendants(table, roots - procs.ancestors(table, status.pid) - ours)
    return [table[pid] for pid in sorted((roots | below) - ours) if not table[pid].over]


def reap_lost(settings: Settings) -> list[Reaped]:
    """End what is left of every run of this host whose supervisor died before its end; returns exactly what was ended.

    Reads one small file a run when nothing is lost.
    """
    return [reap(run) for run in runs.list_runs(settings) if is_lost(run) and not adopt_end(run)]


def adopt_end(run: Run) -> bool:
    """Whether a run that seems lost has ended by the copy of its record in the log folder; then it is the record.

    So it is when the disk of the run folders was full at the end of the run.
    """
    if run.status is None or not run.status.log_dir:
        return False
    try:
        copy = read_record(Path(run.status.log_dir) / COPY_FILE, RunStatus)
    except MswbError:
        return False
    if (copy.id, copy.pid, copy.start_time, copy.state) != (run.id, run.status.pid, run.status.start_time, "ended"):
        return False
    with suppress(MswbError):  # still full: next time
        write_record(run.folder / STATUS_FILE, copy)
    return True


def reap(run: Run, ladder: Ladder = END_LADDER) -> Reaped:
    """End the members of one lost run and write its end into the folder. Those of an adopted run are left alone."""
    found: dict[object, Process] = {}
    adopted = run.status is not None and run.status.backend == ADOPTED
    for _ in range(0 if adopted else 3):  # what is being ended may still start others
        fresh = members(run)
        if not fresh:
            break
        found.update({process.id: process for process in fresh})
        end([process.id for process in fresh], ladder)
    left = () if adopted else tuple(members(run))
    ended = tuple(process for process in found.values() if process not in left)
    if run.status is not None:
        with suppress(MswbError):  # a full disk: the run stays lost, with nothing left of it
            _write_end(run, run.status, ended)
    return Reaped(run.reload(), ended, left)


def _write_end(run: Run, status: RunStatus, ended: Iterable[Process]) -> None:
    now = time.time()
    pids = [process.pid for process in ended]
    why = "its supervisor died" if is_here(status) else "the host was restarted"
    ours = status.backend != ADOPTED
    fate = f"ended afterwards: {', '.join(map(str, pids)) if pids else 'nothing was left'}" if ours else "left alone"
    status.message = f"{why}; {fate}"
    status.state, status.ended, status.heartbeat = "ended", now, now
    status.exit_code = LOST_EXIT_CODE if status.exit_code is None and ours else status.exit_code
    for one in status.processes:
        if one.state != "ended":
            one.state, one.ended, one.ended_by_us = "ended", now, one.pid in pids
    with suppress(OSError):
        append_events(run.folder, event_line(Event(time=now, event="ended", text=status.message)))
    if ours and status.log_dir and Path(status.log_dir).is_dir():
        with suppress(MswbError):
            write_record(Path(status.log_dir) / COPY_FILE, status)
    write_record(run.folder / STATUS_FILE, status)


def _supervisor(run: Run, status: RunStatus) -> ProcessId | None:
    """The live shim of a run of this host, known by pid, start time, and the run's folder as its last argument.

    The folder's files may have been edited or mixed up, and no other process may be signalled for it.
    """
    shim = shim_of(status)
    if not is_here(status) or not is_alive(shim):
        return None
    words = procs.arguments(shim.pid)
    return shim if words and os.path.basename(words[-1]) == run.id else None


def _is_same(process: Process, recorded: ProcessStatus) -> bool:
    """Whether a process is the recorded one although its environment may have lost our mark: it writes to its log."""
    if process.id.start_time != recorded.start_time or not recorded.log:
        return False
    output = procs.stdout_path(process.pid)
    return output is not None and os.path.realpath(output) == os.path.realpath(recorded.log)


def _deliver(run: Run, offset: int, on_event: Callable[[Event], None] | None) -> int:
    if on_event is None:
        return offset
    while True:
        events, after = read_events(run, offset)
        for event in events:
            on_event(event)
        if after == offset:
            return after
        offset = after


def _event_of(line: bytes) -> Event | None:
    try:
        return msgspec.json.decode(line, type=Event)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def _link(link: Path, target: str | None) -> None:
    """A convenience for people; a file system without links goes without."""
    if target and Path(target) != link:
        with suppress(OSError):
            link.symlink_to(target)


def _launch_shim(folder: Path) -> None:
    """Start the shim; it detaches itself, so the process we start ends at once and is waited for."""
    root = str(Path(mswb.__file__).resolve().parent.parent)
    before = os.environ.get("PYTHONPATH")
    env = {**os.environ, "PYTHONPATH": root + (os.pathsep + before if before else "")}
    log = os.open(folder / "shim.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        outcome = subprocess.run(
            [sys.executable, "-m", "mswb.jobs.shim", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=env,
            cwd="/",
            start_new_session=True,
            timeout=START_WAIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise _start_failed(folder, str(problem)) from None
    finally:
        os.close(log)
    if outcome.returncode != 0:
        raise _start_failed(folder)


def _start_failed(folder: Path, reason: str = "") -> MswbError:
    with suppress(OSError):
        lines = (folder / "shim.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        reason = reason or (lines[-1] if lines else "")
    reason = reason or f"it did not answer within {START_WAIT_S:.0f} s"
    return stop("job-start-failed", exit_code=1, values={"reason": reason, "log": str(folder / "shim.log")})
