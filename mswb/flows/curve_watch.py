"""The curves of one rank of a run, kept up to date; which ranks there are to choose from."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from mswb.findings import Finding, MswbError
from mswb.flows.rankviews import helpers_of, shown_log
from mswb.flows.watch import Source
from mswb.flows.watched import Watched, watched
from mswb.launch.curves import CurveLog, Curves
from mswb.launch.forms import BUILT_IN, forms_of
from mswb.launch.logview.source import ShownLog
from mswb.settings import Settings

LIST_S = 2.0
"""Seconds between two looks at which ranks there are."""
_ROLES = {"worker": 0, "other": 1, "launcher": 2}


@dataclass(frozen=True, slots=True)
class CurveSource:
    """A run to draw curves of, and what to call it."""

    title: str
    source: Source


@dataclass(frozen=True, slots=True)
class CurveView:
    """The curves of one log as they are now.

    Attributes:
        log: whose they are; None when the run has no log yet.
        logs: the logs to choose from, workers by rank.
        read: how much of the log was read, from 0 to 1; ``offset`` is that in bytes.
        problems: patterns of the configuration that can't be used.
    """

    title: str
    log: ShownLog | None = None
    logs: tuple[ShownLog, ...] = ()
    curves: Curves = field(default_factory=Curves)
    read: float = 0.0
    offset: int = 0
    problems: tuple[Finding, ...] = ()


class CurveWatch:
    """Reads the curves of one rank at a time. For one thread."""

    def __init__(self, source: CurveSource, settings: Settings) -> None:
        self._source = source
        self._settings = settings
        self._watched: Watched | None = None
        self._logs: tuple[ShownLog, ...] = ()
        self._next_list = 0.0
        self._forms = BUILT_IN
        self._problems: tuple[Finding, ...] = ()
        self._open: CurveLog | None = None

    def look(self, path: str | None = None, cancelled: Callable[[], bool] | None = None) -> CurveView:
        """The curves of the log at ``path``, of the first rank when it is None or is no log of the run.

        Returns early, with what there is, when ``cancelled()``.

        Raises:
            MswbError: the folder or the log can't be read.
        """
        self._list()
        log = next((one for one in self._logs if one.path == path), self._logs[0] if self._logs else None)
        if log is None:
            return CurveView(self._source.title, problems=self._problems)
        if self._open is None or self._open.path != log.path:
            self._open = CurveLog(log.path, self._forms)
        curves = self._open.read(time.time(), cancelled)
        opened = self._open
        return CurveView(self._source.title, log, self._logs, curves, _share(opened), opened.offset, self._problems)

    def _list(self) -> None:
        if self._watched is None:
            try:
                self._forms = forms_of(self._settings)
            except MswbError as error:
                self._problems = (error.finding,)
            self._watched = watched(self._source.source, self._settings)
        if time.monotonic() < self._next_list:
            return
        self._next_list = time.monotonic() + LIST_S
        members = self._watched.look(()).members
        helpers = helpers_of(member.role for member in members)
        shown = (one for one in members if one.role in _ROLES and one.role not in helpers)
        found = {member.file: shown_log(member) for member in shown if member.file}
        self._logs = tuple(sorted(found.values(), key=_order))


def _order(log: ShownLog) -> tuple[int, float, str]:
    return _ROLES[log.role], log.rank if log.rank is not None else float("inf"), log.path


def _share(log: CurveLog) -> float:
    try:
        size = os.stat(log.path).st_size
    except OSError:
        return 0.0
    return min(1.0, log.offset / size) if size and log.behind else 1.0
