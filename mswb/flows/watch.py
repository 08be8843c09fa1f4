"""Watch a run: what each rank does now, cheaply and without an end, whoever started it.

The work of a second is bounded whatever the ranks write: bytes are counted, few lines are parsed, with many logs each
is looked at once a second, and a log that was big at the start is counted in small pieces between the looks.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mswb.files.followset import FollowSet, Update
from mswb.files.turns import TURN
from mswb.findings import Finding, MswbError, stop
from mswb.flows.open_path import logs_of
from mswb.flows.rankviews import (
    LIVE,
    DeviceUse,
    counted_share,
    helpers_of,
    progress_of,
    rank_order,
    rank_view,
    shown_log,
    with_usage,
)
from mswb.flows.runview import Failed, RankView, RunProgress, RunView
from mswb.flows.watched import Member, Told, Watched, watched
from mswb.jobs.runs import Run
from mswb.jobs.usage import TreeMeter, TreeUsage
from mswb.launch.foreign import ForeignRun
from mswb.launch.forms import BUILT_IN, Forms, forms_of
from mswb.launch.ranklog import TAIL, RankLog
from mswb.settings import Settings
from mswb.signals import ProcessId

if TYPE_CHECKING:
    from mswb.env.devices.sample import Sample
    from mswb.launch.diagnose import Diagnosis

__all__ = ["Failed", "RankView", "RunProgress", "RunView", "RunWatch", "Source", "diagnosis"]

Source = Run | Path | ForeignRun

TICK_S = 1.0
"""Seconds between two looks at record, processes and ages."""
AGES_S = 10.0
"""Seconds after which ages are told anew of logs whose processes nobody knows."""
MANY = 64
"""Logs above which each is looked at once a second only, and less often the more there are."""
_PACE_S = 0.1  # least seconds between two intakes of news
_PACE_A_LOG_S = 0.002
_COUNT_S = 0.05  # seconds of counting in one step
_SMALLEST_TAIL = 16 << 10


class RunWatch:
    """Follows one run's logs, record and processes. It owns no thread: one thread calls :meth:`step` in a loop, and
    :meth:`snapshot` after it; :meth:`close` may come from another one, once the loop has ended.

    Args:
        source: a run of mswb; a log folder, a folder that holds one, or a log file; or a live training of others.
    """

    def __init__(self, source: Source, settings: Settings) -> None:
        self._source = source
        self._settings = settings
        self._watched: Watched | None = None
        self._told = Told("folder", "", "")
        self._logs: dict[str, RankLog] = {}
        self._uncounted: deque[RankLog] = deque()
        self._files = FollowSet([])
        self._meter = TreeMeter(TICK_S)
        self._usage: Mapping[ProcessId, TreeUsage] = {}
        self._forms: Forms = BUILT_IN
        self._problems: tuple[Finding, ...] = ()
        self._next_tick = self._next_intake = self._next_ages = 0.0
        self._stopped = threading.Event()
        self._version = 0
        self._views: dict[Member, RankView] = {}
        self._changed: set[str] = set()
        self._all_changed = True
        self._sample: Sample | None = None
        self._devices = DeviceUse(None)
        self._view: RunView | None = None

    def step(self, timeout: float) -> bool:
        """Wait for news for at most ``timeout`` seconds and take them in; whether the view has changed.

        The first step opens the run and returns at once.

        Raises:
            MswbError: ``path-missing`` or ``path-unreadable``: the folder that is watched can't be read.
        """
        version = self._version
        if self._watched is None:
            self._open()
            return True
        if not self._uncounted:
            self._wait(timeout)
        if time.monotonic() >= self._next_tick:
            self._tick()
        if self._uncounted:
            self._take(self._files.wait(0.0))
            self._count(time.monotonic() + min(timeout, _COUNT_S))
        return self._version != version

    def snapshot(self, sample: Sample | None = None) -> RunView:
        """The run as of the last step; ``sample`` (of the devices) adds each rank's device and device memory."""
        if sample is not self._sample:
            self._sample, before, self._devices = sample, self._devices, DeviceUse(sample)
            self._all_changed = self._all_changed or self._devices != before
        if self._view is None or self._all_changed or self._changed or self._view.version != self._version:
            ranks = self._rank_views(time.time())
            self._changed.clear()
            self._all_changed = False
            self._view = self._make_view(ranks)
        return self._view

    def close(self) -> None:
        """Give descriptors back; a step in another thread returns soon."""
        self._stopped.set()
        self._files.wake()
        self._files.close()

    def _make_view(self, ranks: tuple[RankView, ...]) -> RunView:
        told = self._told
        return RunView(
            version=self._version,
            kind=told.kind,
            title=told.title,
            source_path=told.source_path,
            run_id=told.run_id,
            state=told.state,
            host=told.host,
            cwd=told.cwd,
            backend=told.backend,
            log_dir=told.log_dir,
            started=told.started,
            ended=told.ended,
            exit_code=told.exit_code,
            command_line=told.command_line,
            ranks=ranks,
            logs=tuple(shown_log(member) for member in told.members if member.file),
            progress=progress_of(ranks),
            first_failure=told.first_failure,
            counted=counted_share(self._logs.values()),
            problems=(*told.problems, *self._problems, *self._files.problems.values()),
            notes=(*told.notes, *self._files.notes),
        )

    def _open(self) -> None:
        try:
            self._forms = forms_of(self._settings)
        except MswbError as error:
            self._problems = (error.finding,)
        self._watched = watched(self._source, self._settings)
        self._tick()
        self._take(self._files.wait(0.0))

    def _wait(self, timeout: float) -> None:
        """Wait for news, at a pace that many logs do not raise."""
        now = time.monotonic()
        end = min(now + timeout, self._next_tick)
        if self._next_intake > now and self._stopped.wait(max(0.0, min(end, self._next_intake) - now)):
            return
        if time.monotonic() < self._next_intake:
            return
        self._take(self._files.wait(max(0.0, end - time.monotonic())))

    def _take(self, updates: Iterable[Update]) -> None:
        for update in updates:
            log = self._logs.get(update.path)
            if log is not None:
                TURN.wait()
                log.take(update.blocks, update.partial)
                self._changed.add(update.path)
                self._version += 1
        pace = 0.0 if len(self._logs) <= MANY else _PACE_A_LOG_S * len(self._logs)
        self._next_intake = time.monotonic() + max(_PACE_S, pace)

    def _tick(self) -> None:
        """Once a second: record, folder, processes; and the ages of what lives."""
        assert self._watched is not None
        self._next_tick = time.monotonic() + TICK_S
        told = self._watched.look(self._usage.keys())
        if told != self._told:
            self._follow(told.members)
            if told.ended is not None and self._told.ended is None:
                self._take(self._files.finish())
            self._told = told
            self._renew()
        roots = {member.process for member in told.members if member.process is not None}
        usage = self._meter.measure(roots)
        lives = any(member.state in LIVE for member in told.members)
        if usage != self._usage or lives or time.monotonic() >= self._next_ages:
            self._usage = usage
            self._next_ages = time.monotonic() + AGES_S
            self._renew()

    def _renew(self) -> None:
        self._all_changed = True
        self._version += 1

    def _follow(self, members: Sequence[Member]) -> None:
        """Open the logs that are new."""
        new = [member.file for member in members if member.file is not None and member.file not in self._logs]
        if len(new) > MANY and not self._logs:
            self._files.close()
            self._files = FollowSet([], events=False)
        tail = max(_SMALLEST_TAIL, TAIL * MANY // max(MANY, len(new)))
        for path in dict.fromkeys(new):
            log = RankLog(path, self._forms)
            self._files.add(path, start=log.open(tail))
            self._logs[path] = log
            if log.left:
                self._uncounted.append(log)
        if len(self._logs) > MANY:
            for path in new:
                self._files.hide(path)

    def _count(self, end: float) -> None:
        """Count old parts of logs for some time."""
        while self._uncounted and not self._stopped.is_set():
            log = self._uncounted[0]
            TURN.wait()
            log.count()
            self._changed.add(log.path)
            self._version += 1
            if not log.left:
                self._uncounted.popleft()
            if time.monotonic() >= end:
                return

    def _rank_views(self, now: float) -> tuple[RankView, ...]:
        """The views of all members, made anew only where something has changed."""
        views: dict[Member, RankView] = {}
        helpers = helpers_of(member.role for member in self._told.members)
        silence_s = self._settings["silence_s"]
        for member in self._told.members:
            known = self._views.get(member)
            if known is None or self._all_changed or member.file in self._changed:
                log = self._logs.get(member.file) if member.file is not None else None
                known = rank_view(member, log, now, silence_s, trains=member.role not in helpers)
                usage = self._usage.get(member.process) if member.process is not None else None
                if usage is not None:
                    known = with_usage(known, usage, self._devices)
            views[member] = known
        self._views = views
        return tuple(sorted(views.values(), key=rank_order))


def diagnosis(
    source: Source,
    settings: Settings,
    cancelled: Callable[[], bool] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Why the run ended as it did; reads all of its logs.

    Args:
        cancelled: asked between the files; once it says yes, the diagnosis of what was read comes back.
        progress: called with (files done, files in all).

    Raises:
        MswbError: ``path-missing``, ``path-unreadable`` or ``no-logs``; also for a training whose output is no file.
    """
    from mswb.launch.diagnose import diagnose

    silence_s = settings["silence_s"]
    return diagnose(_logs_path(source), silence_s=silence_s, cancelled=cancelled, progress=progress)


def _logs_path(source: Source) -> Path:
    if isinstance(source, Run):
        return logs_of(source)
    if isinstance(source, Path):
        return source
    path = source.log_dir or next((log.path for log in source.logs), None)
    if path is None:
        raise stop("no-logs", values={"path": source.title})
    return Path(path)
