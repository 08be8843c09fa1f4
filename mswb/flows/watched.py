"""What is known of a run beside its logs, and which logs there are: by its record, its folder, or its processes.

Each source is asked about once a second and answers from what it has when nothing has changed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from mswb.findings import Finding, MswbError
from mswb.flows.runview import Failed, RankState, RunState, SourceKind
from mswb.jobs.recorder import STATUS_FILE
from mswb.jobs.runs import Display, Run, find_run, is_here, load_run, run_state
from mswb.jobs.spec import JobSpec, ProcessStatus, RunStatus, read_record
from mswb.launch.clocks import clock_offsets
from mswb.launch.discover import LogFile, LogSet, discover, rank_of
from mswb.launch.foreign import Finder, ForeignProcess, ForeignRun
from mswb.settings import Settings
from mswb.signals import ProcessId

LIST_S = 2.0
"""Least seconds between two searches for new logs; more where searching takes long."""
FIND_S = 10.0
"""Seconds between two searches for the processes of a training that mswb did not start."""
_LIST_SHARE = 0.03  # of a core, at most, for listing folders again
_RANKS_S = 0.02  # seconds for reading ranks from the heads of logs, each time
_HEAD_BYTES = 256 << 10  # of which rank_of reads a rank
_FRESH_S = 60.0
Alive = Collection[ProcessId]


@dataclass(frozen=True, slots=True)
class Member:
    """One process or log of a run. ``process`` only where its pid means something here."""

    role: str
    rank: int | None
    file: str | None
    node: str | None = None
    process: ProcessId | None = None
    pid: int | None = None
    state: RankState = "unknown"
    exit_code: int | None = None
    device: str | None = None
    offset_us: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """What a source says now; the names mean what they mean in :class:`~mswb.flows.runview.RunView`."""

    kind: SourceKind
    title: str
    source_path: str
    members: tuple[Member, ...] = ()
    run_id: str | None = None
    state: RunState = "unknown"
    host: str | None = None
    cwd: str | None = None
    backend: str | None = None
    log_dir: str | None = None
    started: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    command_line: tuple[str, ...] = ()
    first_failure: Failed | None = None
    problems: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


class Watched(Protocol):
    """A source."""

    def look(self, alive: Alive) -> Told:
        """What is known now; ``alive`` are the processes of the last answer that still run.

        Raises:
            MswbError: the folder is missing or unreadable.
        """
        ...


def watched(source: Run | Path | ForeignRun, settings: Settings) -> Watched:
    """The source for what a person chose. Logs of a run that is recorded here are taken as that run."""
    if isinstance(source, Run):
        return RecordedRun(source)
    if isinstance(source, ForeignRun):
        return LiveForeign(source)
    run = _run_of_folder(source, settings)
    return RecordedRun(run) if run is not None else LogFolder(source)


class RecordedRun:
    """A run that mswb started: its record tells all but the progress."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._stamp = 0
        self._spec: JobSpec | None = None
        self._problems: tuple[Finding, ...] = ()

    def look(self, alive: Alive) -> Told:
        """See :class:`Watched`. A broken record is told in ``problems``, never raised."""
        self._reload()
        run, status = self._run, self._run.status
        state = run_state(run)
        told = Told("run", run.id, str(run.folder), run_id=run.id, state=state, problems=self._problems)
        if self._spec is not None:
            told = _with_spec(told, self._spec)
        if status is None:
            return replace(told, members=tuple(_members(self._spec, (), None, state, here=False)))
        failed = status.first_failure
        return replace(
            told,
            title=status.title or told.title,
            host=status.host,
            cwd=status.cwd,
            backend=status.backend,
            log_dir=status.log_dir or told.log_dir,
            started=status.started or status.created,
            ended=status.ended,
            exit_code=status.exit_code,
            command_line=tuple(status.command_line) or told.command_line,
            first_failure=Failed(failed.role, failed.rank, failed.exit_code, failed.time) if failed else None,
            members=tuple(_members(self._spec, status.processes, status.host, state, here=is_here(status))),
        )

    def _reload(self) -> None:
        if self._spec is None:
            try:
                self._spec, self._problems = self._run.spec, ()
            except MswbError as error:
                self._problems = (error.finding,)
        try:
            stamp = os.stat(self._run.folder / STATUS_FILE).st_mtime_ns
        except OSError:
            return
        if stamp != self._stamp:
            self._stamp, self._run = stamp, load_run(self._run.folder)


class _Presence:
    """Whether a training's processes were seen alive, and when they were gone."""

    def __init__(self) -> None:
        self.seen = False
        self.ended: float | None = None

    def note(self, run: ForeignRun | None, alive: Alive) -> None:
        """Take in which processes are alive now."""
        mine = run is not None and any(process.id in alive for process in run.processes)
        if mine:
            self.seen, self.ended = True, None
        elif self.seen and self.ended is None:
            self.ended = time.time()

    @property
    def state(self) -> RunState:
        return "running" if self.seen and self.ended is None else "unknown"


class LogFolder:
    """Logs of any layout; their processes when they are found on this host."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._logs: LogSet | None = None
        self._status: RunStatus | None = None
        self._ranks: dict[str, int | None] = {}
        self._asked: dict[str, int] = {}
        self._next_list = self._next_find = 0.0
        self._stamps: dict[str, int] = {}
        self._offsets: Mapping[str, int] = {}
        self._foreign: ForeignRun | None = None
        self._presence = _Presence()
        self._finder = Finder()
        self._notes: tuple[str, ...] = ()
        self._state: object = None
        self._told: Told | None = None

    def look(self, alive: Alive) -> Told:
        """See :class:`Watched`."""
        now = time.monotonic()
        if now >= self._next_list:
            self._list()
            self._next_list = now + max(LIST_S, (time.monotonic() - now) / _LIST_SHARE)
        assert self._logs is not None
        self._read_ranks()
        self._find(now)
        self._presence.note(self._foreign, alive)
        state = (id(self._logs), self._foreign, frozenset(alive), self._presence.ended, self._notes)
        if self._told is None or state != self._state:
            self._state, self._told = state, self._tell(alive)
        return self._told

    def _tell(self, alive: Alive) -> Told:
        assert self._logs is not None
        told = Told("folder", self._path.name or str(self._path), str(self._path), log_dir=self._logs.root)
        processes = _by_log(self._foreign)
        members = tuple(self._member(file, processes.get(file.path), alive) for file in self._logs.files)
        if self._status is not None:
            told = _with_status(told, self._status)
        elif self._foreign is not None:
            told = _with_foreign(told, self._foreign, self._presence)
        return replace(told, members=members, notes=self._notes)

    def _list(self) -> None:
        """Search for logs again when a folder has changed."""
        if self._logs is not None and self._stamps == _stamps(self._stamps):
            return
        found = discover(self._path)
        if self._logs is not None and self._logs.files and not _share(self._logs, found):
            self._notes = (f"a newer run has begun in {self._path}",)
            self._stamps = _stamps(self._stamps)
            return
        known = {file.path for file in found.files}
        gone = [file for file in self._logs.files if file.path not in known] if self._logs is not None else []
        self._logs = replace(found, files=(*found.files, *gone))
        self._stamps = _stamps({found.root, *(os.path.dirname(file.path) for file in self._logs.files)})
        self._status = next(iter(_statuses(found)), None)
        nodes = {file.node_hint for file in self._logs.files}
        self._offsets = clock_offsets(self._logs.files) if len(nodes) > 1 else {}

    def _read_ranks(self) -> None:
        """The ranks by the logs' own words, a few files at a time; until then those of their names count."""
        assert self._logs is not None
        end = time.monotonic() + _RANKS_S
        for file in self._logs.files:
            asked = self._asked.get(file.path, 0)
            if asked >= _HEAD_BYTES or (asked and self._ranks.get(file.path) is not None):
                continue
            size = _size(file.path)
            if size != asked:
                self._asked[file.path] = size
                before, rank = self._ranks.get(file.path, file.rank_hint), rank_of(file)
                self._ranks[file.path] = rank
                self._told = self._told if rank == before else None
                if time.monotonic() > end:
                    return

    def _find(self, now: float) -> None:
        """Look for the processes that write these logs now; only when some log grew a moment ago."""
        assert self._logs is not None
        if self._status is not None or now < self._next_find:
            return
        self._next_find = now + FIND_S
        newest = max((_mtime(file.path) for file in self._logs.files), default=0.0)
        if time.time() - newest < _FRESH_S:
            paths = {os.path.realpath(file.path) for file in self._logs.files}
            runs = self._finder.find()
            mine = (run for run in runs if not run.elsewhere and paths & {log.path for log in run.logs})
            self._foreign = next(mine, self._foreign)

    def _member(self, file: LogFile, process: ForeignProcess | None, alive: Alive) -> Member:
        rank = self._ranks.get(file.path, file.rank_hint)
        role = "other" if file.role in ("unknown", "merged") else file.role
        role = "worker" if role == "other" and rank is not None else role
        member = Member(role, rank, file.path, file.node_hint, offset_us=self._offsets.get(file.node_hint or "", 0))
        recorded = _recorded(self._status, role, rank)
        if recorded is not None:
            state = _ended_state(recorded) if recorded.state == "ended" else "unknown"
            return replace(member, pid=recorded.pid, state=state, exit_code=recorded.exit_code)
        return member if process is None else _with_process(member, process, alive)


class LiveForeign:
    """A training that runs on this host and was not started by mswb."""

    def __init__(self, run: ForeignRun) -> None:
        self._run = run
        self._finder = Finder()
        self._next_find = time.monotonic() + FIND_S
        self._presence = _Presence()

    def look(self, alive: Alive) -> Told:
        """See :class:`Watched`."""
        self._renew(alive)
        run, presence = self._run, self._presence
        shown = alive if presence.seen else {process.id for process in run.processes}  # at first nobody has looked yet
        members = [_foreign_member(process, run, shown) for process in run.processes]
        taken = {member.file for member in members}
        members += [
            Member(log.role, log.rank, log.path, log.node, offset_us=log.offset_us)
            for log in run.logs
            if log.path not in taken
        ]
        told = Told("foreign", run.title, run.log_dir or run.cwd or "", tuple(members), log_dir=run.log_dir)
        return _with_foreign(told, run, presence)

    def _renew(self, alive: Alive) -> None:
        """Notice the end, and from time to time the processes that were started since."""
        self._presence.note(self._run, alive)
        if self._presence.ended is None and time.monotonic() >= self._next_find:
            self._next_find = time.monotonic() + FIND_S
            same = (run for run in self._finder.find() if run.key == self._run.key)
            found = next(same, None)
            if found is not None:
                self._run = _with_departed(found, self._run)


def _run_of_folder(path: Path, settings: Settings) -> Run | None:
    """The run whose logs these are, if its record is among ours."""
    try:
        logs = discover(path)
        for status in _statuses(logs):
            run = find_run(settings, status.id)
            if run.status is not None and run.spec.log_dir and os.path.samefile(run.spec.log_dir, _folder(logs)):
                return run
    except (MswbError, OSError):
        pass
    return None


def _folder(logs: LogSet) -> str:
    record = logs.evidence.get("run.json")
    return os.path.dirname(record) if record else logs.root


def _statuses(logs: LogSet) -> Iterator[RunStatus]:
    for path in (logs.status_path, logs.evidence.get("run.json")):
        if path is not None:
            try:
                yield read_record(Path(path), RunStatus)
            except MswbError:  # a foreign run.json is no record
                pass


def _with_spec(told: Told, spec: JobSpec) -> Told:
    return replace(
        told, title=spec.title, cwd=spec.cwd, backend=spec.backend, log_dir=spec.log_dir, command_line=spec.command_line
    )


def _with_status(told: Told, status: RunStatus) -> Told:
    """The record that lies beside logs from elsewhere: what it says of the end."""
    over = status.state == "ended"
    state: RunState = "unknown"
    if over:
        state = "stopped" if status.stopped_by == "user" else "succeeded" if status.exit_code == 0 else "failed"
    failed = status.first_failure
    return replace(
        told,
        title=status.title or told.title,
        run_id=status.id,
        state=state,
        host=status.host,
        cwd=status.cwd,
        backend=status.backend,
        started=status.started,
        ended=status.ended,
        exit_code=status.exit_code,
        command_line=tuple(status.command_line),
        first_failure=Failed(failed.role, failed.rank, failed.exit_code, failed.time) if failed else None,
    )


@dataclass(frozen=True, slots=True)
class _Planned:
    log: str | None
    env: Mapping[str, str] = field(default_factory=dict)


def _plan(spec: JobSpec | None) -> dict[tuple[str, int | None], _Planned]:
    """The processes that a run is meant to have, by role and rank."""
    if spec is None:
        return {}
    found: dict[tuple[str, int | None], _Planned] = {}
    for rank, log in sorted(spec.worker_logs.items()):
        found["worker", rank] = _Planned(log)
    if spec.scheduler_log:
        found["scheduler", None] = _Planned(spec.scheduler_log)
    for one in spec.processes:
        found[one.role, one.rank] = _Planned(one.log, one.env)
    return found


def _members(
    spec: JobSpec | None, processes: Collection[ProcessStatus], host: str | None, state: Display, *, here: bool
) -> Iterator[Member]:
    """The processes that were found and those still awaited."""
    found: dict[tuple[str, int | None], ProcessStatus] = {(one.role, one.rank): one for one in processes}
    planned = _plan(spec)
    awaited: RankState = "starting" if state in ("starting", "running") else "unknown"
    for key in dict.fromkeys((*planned, *found)):
        role, rank = key
        plan, one = planned.get(key, _Planned(None)), found.get(key)
        shown = "other" if role == "command" else role
        device = plan.env.get("DEVICE_ID")
        if one is None:
            yield Member(shown, rank, plan.log, host, state=awaited, device=device)
            continue
        process = ProcessId(one.pid, one.start_time) if here and one.state != "ended" else None
        now = _ended_state(one) if one.state == "ended" else _live_state(one, state)
        yield Member(shown, rank, one.log or plan.log, host, process, one.pid, now, one.exit_code, device)


def _live_state(one: ProcessStatus, run: Display) -> RankState:
    if run not in ("starting", "running", "stopping"):
        return "unknown"
    return "starting" if one.state == "starting" else "running"


def _ended_state(one: ProcessStatus) -> RankState:
    if one.exit_code is None:
        return "killed" if one.ended_by_us else "unknown"
    if one.exit_code < 0 or (one.ended_by_us and one.exit_code):
        return "killed"
    return "failed" if one.exit_code else "ended"


def _recorded(status: RunStatus | None, role: str, rank: int | None) -> ProcessStatus | None:
    for one in status.processes if status is not None else ():
        if one.role == role and (role != "worker" or one.rank == rank):
            return one
    return None


def _by_log(run: ForeignRun | None) -> dict[str, ForeignProcess]:
    found: dict[str, ForeignProcess] = {}
    for process in run.processes if run is not None else ():
        for path in process.logs:
            found.setdefault(path, process)
    return found


def _with_process(member: Member, process: ForeignProcess, alive: Alive) -> Member:
    running = process.id in alive
    role = "worker" if process.role == "single" else process.role
    return replace(
        member,
        role=role,
        rank=member.rank if member.rank is not None else process.rank,
        process=process.id,
        pid=process.pid,
        state="running" if running else "unknown",
        device=process.devices,
    )


def _foreign_member(process: ForeignProcess, run: ForeignRun, alive: Alive) -> Member:
    member = Member("worker", process.rank, process.log or next(iter(process.logs), None), run.node)
    return _with_process(member, process, alive)


def _with_foreign(told: Told, run: ForeignRun, presence: _Presence) -> Told:
    return replace(
        told,
        title=run.title,
        state=presence.state if presence.seen or told.kind == "folder" else "running",
        host=run.node,
        cwd=run.cwd,
        backend=run.launcher,
        started=run.started,
        ended=presence.ended,
        command_line=run.command,
    )


def _with_departed(found: ForeignRun, before: ForeignRun) -> ForeignRun:
    """The run as it is now, with the processes that have ended since: their logs stay of interest."""
    now = {process.id for process in found.processes}
    gone = tuple(process for process in before.processes if process.id not in now)
    logs = {log.path: log for log in (*before.logs, *found.logs)}
    return replace(found, processes=(*found.processes, *gone), logs=tuple(logs.values()))


def _share(one: LogSet, other: LogSet) -> bool:
    return bool({file.path for file in one.files} & {file.path for file in other.files})


def _stamps(folders: Collection[str]) -> dict[str, int]:
    found = {}
    for folder in folders:
        try:
            found[folder] = os.stat(folder).st_mtime_ns
        except OSError:
            found[folder] = -1
    return found


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
