"""Every run that a folder knows: those of mswb, log folders that nobody recorded, and what runs without mswb.

A list that is looked at once a second: records are read again only when their file changed, and the looks that cost
more (folders of logs, the process table) are taken every few seconds.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mswb.flows.runview import RunState, SourceKind
from mswb.flows.verdicts import VERDICT_FILE, Verdict, kept
from mswb.jobs.runs import Run, is_here, load_run, run_state
from mswb.jobs.spec import FirstFailure, RunStatus
from mswb.settings import Settings

if TYPE_CHECKING:
    from mswb.launch.foreign import Finder, ForeignRun

COSTLY_S = 4.0
"""Seconds between two looks at log folders and at the process table."""
MAX_FOLDERS = 100
"""Log folders listed of one project folder; the newest."""
ASKED_LOGS = 64
"""Logs of a folder that are asked when they were written, about."""
MAX_RUNS = 2000
"""Runs of mswb in the list; the newest."""
FRESH_S = 60.0
"""A log that grew so recently belongs to a run that goes on."""
Stamp = tuple[int, ...]

_LOG_FOLDER = re.compile(r"(?i).*logs?(?:[_-].*)?$|output$")
_RUN_FOLDER = re.compile(r"\d{8}_\d{6}_\d+(?:_\d+)?$")
_LOG_FILE = re.compile(r"(?i).*\.log(?:\.\d+)?$")


@dataclass(frozen=True, slots=True)
class KnownRun:
    """One line of the list.

    Attributes:
        key: the same from look to look: ``run:ID``, ``folder:PATH`` or ``foreign:PID``.
        name: the run's id, or the folder's path below the project.
        title: the script, as it is asked for.
        started: seconds since the epoch, as is ``ended``; of a log folder, ``ended`` is when it last grew.
        here: whether it is of this host, so that it can be stopped from here.
        source: what to watch.
        problem: what is unreadable, or what the supervisor had to say.
        told: what a diagnosis found after its end, if one was made.
        mine: whether it is the user's own, as every recorded run and every log folder counts.
    """

    key: str
    kind: SourceKind
    name: str
    title: str
    state: RunState
    started: float | None
    ended: float | None
    ranks: int | None
    exit_code: int | None
    first_failure: FirstFailure | None
    host: str
    here: bool
    cwd: str
    log_dir: str | None
    pids: tuple[int, ...]
    source: Run | Path | ForeignRun
    problem: str = ""
    mine: bool = True
    told: Verdict | None = None

    @property
    def live(self) -> bool:
        """Whether its processes run."""
        return self.state in ("starting", "running", "stopping")

    @property
    def run(self) -> Run | None:
        """The record of mswb; None for what mswb did not start."""
        return self.source if isinstance(self.source, Run) else None


@dataclass(frozen=True, slots=True)
class _Record:
    """A run folder as it was read last. ``place`` is the real path of its logs, ``local``: it is of our folder."""

    stamp: Stamp | None
    run: Run
    place: str
    local: bool
    line: KnownRun


class Lister:
    """Looks again and again at the runs of one project folder; use from one thread at a time.

    Attributes:
        elsewhere: the user's live runs of other folders that the last look has left out.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.elsewhere = 0
        self._settings = settings
        self._folder = os.path.realpath(folder)
        self._records: dict[str, _Record] = {}
        self._costly_at = -COSTLY_S
        self._folders: tuple[KnownRun, ...] = ()
        self._foreign: tuple[KnownRun, ...] = ()
        self._finder: Finder | None = None

    def look(
        self, *, everywhere: bool = False, opened: Sequence[Path] = (), now: float | None = None
    ) -> list[KnownRun]:
        """The runs as they are now, the newest first.

        Args:
            everywhere: those of all folders, not only of this one.
            opened: log folders or files that the person opened; they are listed wherever they are.
        """
        clock = time.time() if now is None else now
        self._records = {record.run.id: record for record in self._read()}
        if clock - self._costly_at >= COSTLY_S or clock < self._costly_at:
            self._costly_at = clock
            self._folders = tuple(_log_folders(self._folder, self._settings["log_dir"], clock))
            self._foreign = tuple(from_foreign(found) for found in self._find_foreign())
        taken = {record.place for record in self._records.values()} - {""}
        shown = [record.line for record in self._records.values() if everywhere or record.local]
        adopted = {pid for record in self._records.values() if record.line.live for pid in record.line.pids}
        strangers = [one for one in self._foreign if not adopted.intersection(one.pids)]
        foreign = [one for one in strangers if everywhere or (one.mine and self._is_local(one))]
        far = [record.line for record in self._records.values() if record.line.live and not record.local]
        far += [one for one in strangers if one.mine and one not in foreign]
        self.elsewhere = 0 if everywhere else len(far)
        taken |= {_real(one.log_dir) for one in foreign}
        folders = [*(from_path(path, self._folder, clock) for path in opened), *self._folders]
        shown += foreign + [one for one in folders if one.log_dir not in taken]
        unique = {one.key: one for one in reversed(shown)}
        return sorted(unique.values(), key=lambda one: (-(one.started or one.ended or 0.0), one.key))

    def _read(self) -> Iterator[_Record]:
        """Every run folder; one that ended and was not written since is as it was."""
        try:
            names = sorted((name for name in os.listdir(self._settings.runs_dir) if name[0] != "."), reverse=True)
        except OSError:
            return
        for name in names[:MAX_RUNS]:
            folder = self._settings.runs_dir / name
            stamp = _stamp_of(folder)
            before = self._records.get(name)
            if before is None or before.stamp != stamp or stamp is None:
                if folder.is_dir() and not folder.is_symlink():
                    yield self._record(load_run(folder), stamp)
            elif before.line.ended is None:  # a supervisor can die without a word
                yield replace(before, line=from_run(before.run))
            else:
                yield before

    def _find_foreign(self) -> tuple[ForeignRun, ...]:
        from mswb.flows.adopt import foreign_runs  # it and what it needs take longer than a first look may
        from mswb.launch.foreign import Finder

        self._finder = self._finder or Finder()
        return foreign_runs(self._settings, self._finder)

    def _record(self, run: Run, stamp: Stamp | None) -> _Record:
        line = from_run(run)
        log_dir = _real(line.log_dir)
        return _Record(stamp, run, log_dir, self._is_local(line) or run.status is None, line)

    def _is_local(self, line: KnownRun) -> bool:
        """Whether it works or writes its logs in our folder."""
        places = (_real(line.cwd), _real(line.log_dir))
        return any(f"{place}{os.sep}".startswith(f"{self._folder.rstrip(os.sep)}{os.sep}") for place in places)


def from_run(run: Run) -> KnownRun:
    """A run of mswb as a line of the list."""
    status = run.status
    if status is None:
        return KnownRun(
            f"run:{run.id}", "run", run.id, "", run_state(run), _id_time(run.id), None, None, None, None,
            "", False, "", None, (), run, run.problem,
        )  # fmt: skip
    return KnownRun(
        key=f"run:{run.id}",
        kind="run",
        name=run.id,
        title=_script(status),
        state=run_state(run),
        started=status.created,
        ended=status.ended,
        ranks=status.expected_workers or sum(one.role == "worker" for one in status.processes) or None,
        exit_code=status.exit_code,
        first_failure=status.first_failure,
        host=status.host,
        here=is_here(status),
        cwd=status.cwd,
        log_dir=status.log_dir,
        pids=tuple(one.pid for one in status.processes if one.state != "ended"),
        source=run,
        problem=status.message,
        told=kept(run) if status.state == "ended" else None,
    )


def from_path(path: Path, folder: str, now: float) -> KnownRun:
    """A log folder or log file as a line of the list."""
    real = os.path.realpath(path)
    name = os.path.relpath(real, folder) if real.startswith(folder + os.sep) else real
    count, last = _log_files(real)
    state: RunState = "running" if last is not None and now - last < FRESH_S else "unknown"
    return KnownRun(
        key=f"folder:{real}",
        kind="folder",
        name=name,
        title="",
        state="unknown" if os.path.isfile(os.path.join(real, "run.json")) else state,
        started=None,
        ended=last,
        ranks=count or None,
        exit_code=None,
        first_failure=None,
        host="",
        here=False,
        cwd=os.path.dirname(real),
        log_dir=real,
        pids=(),
        source=Path(real),
    )


def _log_folders(folder: str, log_dir: str, now: float) -> list[KnownRun]:
    """Folders below ``folder`` that hold logs of a run: its log folders themselves, or their runs."""
    found: dict[str, None] = {}
    for place in (os.path.join(folder, log_dir), *_children(folder, _LOG_FOLDER)):
        for candidate in (place, *_children(place, _LOG_FOLDER)):
            runs = _children(candidate, _RUN_FOLDER)
            found.update(dict.fromkeys(runs if runs else [candidate] if _log_files(candidate)[0] else []))
    newest = sorted(found, key=lambda path: os.path.getmtime(path) if os.path.isdir(path) else 0.0)[-MAX_FOLDERS:]
    return [from_path(Path(path), folder, now) for path in newest]


def _children(folder: str, pattern: re.Pattern[str]) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                entry.path
                for entry in entries
                if pattern.match(entry.name) and not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []


def _log_files(path: str) -> tuple[int, float | None]:
    """How many logs lie directly in a folder (or that the path is one), and when they were last written; of very many
    only some are asked, as all ranks of a run write."""
    try:
        if not os.path.isdir(path):
            return 1, os.stat(path).st_mtime
        with os.scandir(path) as entries:
            logs = [entry for entry in entries if _LOG_FILE.match(entry.name) and entry.is_file(follow_symlinks=False)]
        asked = logs[:: len(logs) // ASKED_LOGS + 1]
        return len(logs), max((entry.stat(follow_symlinks=False).st_mtime for entry in asked), default=None)
    except OSError:
        return 0, None


def _script(status: RunStatus) -> str:
    return os.path.basename(status.script) if status.script else status.title


def _stamp_of(folder: Path) -> Stamp | None:
    """What changes whenever the record or the verdict of a run is written; None without a record."""
    status = _stamp(folder / "status.json")
    return None if status is None else (*status, *(_stamp(folder / VERDICT_FILE) or ()))


def _stamp(path: Path) -> Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _id_time(run_id: str) -> float | None:
    try:
        return time.mktime(time.strptime(run_id[:15], "%Y%m%d_%H%M%S"))
    except (ValueError, OverflowError):
        return None


def _real(path: str | None) -> str:
    return os.path.realpath(path) if path else ""


def from_foreign(found: ForeignRun) -> KnownRun:
    """A live training that mswb did not start as a line of the list."""
    return KnownRun(
        key=f"foreign:{found.key}",
        kind="foreign",
        name=f"{found.launcher} {found.processes[0].pid}" if found.processes else found.launcher,
        title=os.path.basename(found.script) if found.script else found.title,
        state="running",
        started=found.started,
        ended=None,
        ranks=found.expected or len(found.workers) or None,
        exit_code=None,
        first_failure=None,
        host=found.node,
        here=True,
        cwd=found.cwd or "",
        log_dir=found.log_dir,
        pids=tuple(one.pid for one in found.processes),
        source=found,
        mine=found.mine,
    )
