"""From a command line to a finished, diagnosed training: prepare, start, follow, conclude.

The faces own nothing but the printing: they call :func:`prepare`, show its findings, call :func:`start`, draw what
:func:`follow` yields, ask for a stop when the person does, and end with :func:`conclude`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mswb.env.interpreter import Interpreter, find_interpreter
from mswb.files.safety import make_private_dir
from mswb.findings import Finding, MswbError, stop
from mswb.flows import compile_cache, verdicts
from mswb.flows.open_path import logs_of
from mswb.jobs import control, runs
from mswb.jobs.spec import ADOPTED, Event, JobSpec, ProcessSpec
from mswb.launch import presets
from mswb.launch.backends import direct, msrun
from mswb.launch.backends.common import LAUNCHER_LOG
from mswb.launch.command import LaunchRequest, parse_flags
from mswb.launch.diagnose import Diagnosis, diagnose
from mswb.launch.environment import EnvOverlay, build
from mswb.launch.preflight import check
from mswb.settings import Settings

if TYPE_CHECKING:
    from mswb.files.followset import FollowSet

BACKENDS = {"msrun": msrun.job_spec, "direct": direct.job_spec}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A launch that was understood and checked; nothing has started and nothing was written."""

    request: LaunchRequest
    interpreter: Interpreter
    overlay: EnvOverlay
    findings: tuple[Finding, ...]
    arguments: tuple[str, ...]

    @property
    def blocked(self) -> bool:
        """Whether an error stands in the way of the start."""
        return any(finding.severity == "error" for finding in self.findings)


@dataclass(frozen=True, slots=True)
class LogLine:
    """One finished line of a rank's log. ``line`` counts from 1; ``text`` is decoded but not yet escaped."""

    role: str
    rank: int | None
    file: str
    line: int
    text: str


def prepare(
    arguments: Sequence[str],
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    cwd: str | None = None,
    *,
    checked: bool = False,
) -> Prepared:
    """Understand a command line and check it against this host; starts and writes nothing.

    Args:
        checked: check in any case, whatever ``--skip-check`` says.

    Raises:
        MswbError: ``usage`` and the like, for what can't be understood. What can, but would fail, is in ``findings``.
    """
    env = os.environ if environ is None else environ
    folder = cwd or os.getcwd()
    request = parse_flags(arguments, env, folder)
    interpreter = find_interpreter(request.python, settings, env)
    overlay = build(request, interpreter, "RUN", str(_log_root(request, settings) / "RUN"), env)
    cached = compile_cache.keyed(request, interpreter, overlay, settings)
    skipped = request.skip_check and not checked
    findings = () if skipped else (*check(request, interpreter, cached.overlay), *cached.findings)
    return Prepared(request, interpreter, cached.overlay, findings, tuple(arguments))


def preview(prepared: Prepared) -> tuple[str, ...]:
    """The command that would be started: msrun's, or under ``direct`` that of the first worker."""
    return next(one.argv for one in processes(prepared) if one.role != "scheduler")


def processes(prepared: Prepared) -> tuple[ProcessSpec, ...]:
    """The processes that would be started, with what each gets beside the common environment.

    The word ``RUN`` in their paths stands for the name of the run, which only the start gives.
    """
    request, overlay, log_folder = prepared.request, prepared.overlay, prepared.overlay.log_folder
    if request.backend == "direct":
        return direct.processes(request, overlay, prepared.interpreter, log_folder)
    argv = msrun.command(request, overlay, prepared.interpreter.path, log_folder)
    return (ProcessSpec(role="launcher", argv=argv, log=os.path.join(log_folder, LAUNCHER_LOG)),)


def start(prepared: Prepared, settings: Settings, environ: Mapping[str, str] | None = None) -> runs.Run:
    """Make the run's folders and start it under its own supervisor.

    Raises:
        MswbError: a folder can't be made, or the supervisor can't be started.
    """
    env = os.environ if environ is None else environ
    request = prepared.request
    run_id, run_folder = runs.new_run(settings)
    root = make_private_dir(_log_root(request, settings))
    log_folder = make_private_dir(root / run_id)
    _point_latest(root, run_id)
    overlay = build(request, prepared.interpreter, run_id, str(log_folder), env)
    cached = compile_cache.keyed(request, prepared.interpreter, overlay, settings)
    job = BACKENDS[request.backend]
    spec = job(request, cached.overlay, prepared.interpreter, run_id, str(log_folder), str(run_folder))
    more = {"stop_grace_s": settings["stop_grace_s"], "arguments": prepared.arguments}
    if cached.folder is not None:
        compile_cache.begin(cached.folder, run_id, spec.created)
        more["after"] = compile_cache.sealing(cached.folder, run_id, spec.created)
    run = control.start(msgspec.structs.replace(spec, **more), settings)
    with suppress(MswbError, OSError):  # a history that can't be written stops nothing
        presets.remember(settings.state_dir, Path(request.cwd), prepared.arguments, time.time())
    return run


def follow(run: runs.Run, cancelled: Callable[[], bool]) -> Iterator[LogLine | Event | None]:
    """What the run writes and what happens to it, until it has ended or ``cancelled()``.

    Yields a None at least every half second, so that a face can act on a key or a signal.
    """
    from mswb.files.followset import FollowSet

    spec = run.spec
    reader = _LineReader(spec)
    position = 0
    with FollowSet([] if spec.backend == ADOPTED else [spec.log_dir or str(run.folder)]) as files:
        while not cancelled():
            ended = runs.read_status(run).state == "ended"
            if spec.backend == ADOPTED:
                _follow_adopted(run, files, reader)
            for update in files.finish() if ended else files.wait(0.25):
                yield from reader.lines(update.path, b"".join(block.data for block in update.blocks))
            events, position = control.read_events(run, position)
            yield from events
            if ended or not runs.is_live(run):
                return
            yield None


def _follow_adopted(run: runs.Run, files: FollowSet, reader: _LineReader) -> None:
    """Follow exactly the files that the ranks write: many others may lie in the same folder.

    The launcher's console holds a copy of every line of theirs, so it is followed only where they have no files.
    """
    paths = control.log_paths(run.reload())
    own_files = any(role == "worker" for role, _, _ in paths)
    for role, rank, path in paths:
        if os.path.abspath(path) not in files.paths and not (own_files and role == "launcher"):
            reader.own(path, role, rank)
            files.add(path)


def conclude(run: runs.Run) -> Diagnosis:
    """The diagnosis of a run that has ended, which is kept (or of one that goes on)."""
    found = diagnose(logs_of(run))
    if run.spec.after:
        found = _without_hits(found)
    verdicts.keep(run, found)
    return found


def _without_hits(found: Diagnosis) -> Diagnosis:
    """Without the notes on hits of the compile cache: in a folder for the run's own key a hit is meant."""
    root = None if found.root is None else found.findings[found.root]
    kept = tuple(one for one in found.findings if one.code != "compile-cache-hit")
    return replace(found, findings=kept, root=None if root is None else kept.index(root))


class _LineReader:
    """Cuts the bytes of several files into numbered lines and knows whose file it is."""

    def __init__(self, spec: JobSpec) -> None:
        self._owners: dict[str, tuple[str, int | None]] = {
            os.path.abspath(path): ("worker", rank) for rank, path in spec.worker_logs.items()
        }
        if spec.scheduler_log:
            self._owners[os.path.abspath(spec.scheduler_log)] = ("scheduler", None)
        self._numbers: dict[str, int] = {}

    def own(self, path: str, role: str, rank: int | None) -> None:
        """Say whose file it is; the first word on it holds."""
        self._owners.setdefault(os.path.abspath(path), (role, rank))

    def lines(self, path: str, data: bytes) -> Iterator[LogLine]:
        from mswb.files.follow import last_state
        from mswb.files.safety import decode

        role, rank = self._owners.get(path, ("launcher", None))
        number = self._numbers.get(path, 0)
        for line in data.removesuffix(b"\n").split(b"\n") if data else ():
            number += 1
            yield LogLine(role, rank, path, number, decode(last_state(line).rstrip(b"\r")))
        self._numbers[path] = number


def _log_root(request: LaunchRequest, settings: Settings) -> Path:
    return Path(request.cwd, request.log_dir or settings["log_dir"])


def _point_latest(root: Path, run_id: str) -> None:
    """Make ``root/latest`` a link to this run, by rename, so that it never is absent."""
    link, temporary = root / "latest", root / f".latest.{os.getpid()}.{time.monotonic_ns()}"
    if link.exists() and not link.is_symlink():
        return  # a file of the user's has that name
    try:
        temporary.symlink_to(run_id)
        temporary.replace(link)
    except OSError as problem:
        raise stop("path-unwritable", values={"path": str(link), "reason": problem.strerror}) from None
