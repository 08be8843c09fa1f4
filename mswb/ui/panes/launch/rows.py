"""The rows of the two tables of the Launch pane, as columns: runs, and the ranks of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mswb.files.safety import printable
from mswb.ui.glyphs import glyph
from mswb.ui.panes.launch.words import run_state, state_word, verdict_text
from mswb.ui.widgets.table.units import age_text

if TYPE_CHECKING:
    from mswb.flows.known_runs import KnownRun
    from mswb.flows.runview import RankView
    from mswb.ui.panes.launch.state import LaunchState, OpenRun

Arrays = dict[str, list[Any]]
_BADNESS = {"failed": 0, "killed": 1, "silent": 2, "starting": 3, "running": 3, "unknown": 4, "ended": 5}
OVER = frozenset({"ended", "failed", "killed"})
"""States of a rank that is no more."""
_ROLES = {"worker": 0, "other": 1, "scheduler": 2, "launcher": 3}
SHORT_ROLES = {"scheduler": "sched", "launcher": "msrun", "other": "log", "worker": "?"}
"""What stands in the place of a rank where there is none."""


def run_arrays(state: LaunchState) -> Arrays:
    """The columns of the list of runs; ``key`` names the row."""
    runs = state.listing.runs
    results = [state.results.get(one.key) for one in runs]
    return {
        "key": [one.key for one in runs],
        "state": [state_word(run_state(one, result)) for one, result in zip(runs, results, strict=True)],
        "age": [_age(one, state.listing.time) for one in runs],
        "ranks": [one.ranks for one in runs],
        "script": [printable(one.title or one.name) for one in runs],
        "verdict": [printable(verdict_text(one, result)) for one, result in zip(runs, results, strict=True)],
        "run": [printable(one.name) for one in runs],
        "folder": [printable(one.cwd) for one in runs],
        "host": [printable(one.host) for one in runs],
    }


def rank_arrays(run: OpenRun) -> Arrays:
    """The columns of the ranks grid; ``key`` names the row, ``file`` its log."""
    ranks = ordered(run)
    first = first_failed(run)
    width = max((len(str(one.rank)) for one in ranks if one.rank is not None), default=1)
    return {
        "key": [rank_key(one) for one in ranks],
        "rank": [who(one, width) for one in ranks],
        "state": [state_word(one.state) + (f" {glyph('mark')}1st" if one == first else "") for one in ranks],
        "phase": [phase_text(one) for one in ranks],
        "step": [one.step for one in ranks],
        "loss": [one.loss for one in ranks],
        "last": [None if one.state in OVER else _coarse(one.last_line_age_s) for one in ranks],
        "errors": [one.errors for one in ranks],
        "warnings": [one.warnings for one in ranks],
        "cpu": [one.cpu_percent for one in ranks],
        "memory": [one.rss_bytes for one in ranks],
        "device": [printable(one.device or "") for one in ranks],
        "device_memory": [one.device_memory_bytes for one in ranks],
        "exit": [one.exit_code for one in ranks],
        "pid": [one.pid for one in ranks],
        "node": [printable(one.node or "") for one in ranks],
    }


def rank_key(one: RankView) -> str:
    """The same for a process from look to look."""
    return f"{one.role}:{one.rank}:{one.file}"


def who(one: RankView, width: int = 1) -> str:
    """The rank, right in ``width`` cells so that its text sorts as its number; else the role."""
    return f"{one.rank:>{width}}" if one.rank is not None else SHORT_ROLES.get(one.role, one.role)


def ordered(run: OpenRun) -> Sequence[RankView]:
    """The processes in the order asked for: the worst first, or by number."""
    ranks = explained(run)
    if run.order == "number":
        return sorted(ranks, key=_number)
    first = first_failed(run)
    return sorted(ranks, key=lambda one: (one != first, _BADNESS.get(one.state, 4), not one.errors, _number(one)))


def explained(run: OpenRun) -> tuple[RankView, ...]:
    """The processes; of those whose end nobody recorded, as the diagnosis found them in their logs."""
    ranks = run.view.ranks if run.view is not None else ()
    if run.diagnosis is None or all(one.state != "unknown" for one in ranks):
        return ranks
    told = {one.file: one for one in run.diagnosis.ranks if one.state != "unknown"}
    return tuple(
        replace(one, state=told[one.file].state, exit_code=told[one.file].exit_code)
        if one.state == "unknown" and one.file in told
        else one
        for one in ranks
    )


def first_failed(run: OpenRun) -> RankView | None:
    """The process that failed first: by the diagnosis, else by the run's own record."""
    ranks = explained(run)
    diagnosis = run.diagnosis
    if diagnosis is not None and diagnosis.root is not None and diagnosis.verdict == "failed":
        where = diagnosis.findings[diagnosis.root].where
        by_file = next((one for one in ranks if where.file is not None and one.file == where.file), None)
        if by_file is not None:
            return by_file
        return next((one for one in ranks if where.rank is not None and one.rank == where.rank), None)
    failed = run.view.first_failure if run.view is not None else None
    if failed is None:
        return None
    return next((one for one in ranks if (one.role, one.rank) == (failed.role, failed.rank)), None)


def phase_text(one: RankView) -> str:
    """How far a rank is before its steps say it, and what it does."""
    if one.phase is None or one.state in OVER:
        return ""
    done = "" if one.phase_done is None else f" {one.phase_done}"
    total = f"/{one.phase_total}" if done and one.phase_total is not None else ""
    text = f" {one.phase_text}" if one.phase_text and one.phase != "training" else ""
    return printable(f"{one.phase}{done}{total}{text}")


def _number(one: RankView) -> tuple[int, float]:
    return _ROLES.get(one.role, 1), one.rank if one.rank is not None else float("inf")


def _age(one: KnownRun, now: float) -> float | None:
    """How long ago a run began; in whole minutes once it is over, so that a list at rest is not drawn every second."""
    since = one.started if one.started is not None else one.ended
    if since is None:
        return None
    return _coarse(now - since) if one.live else max(0.0, (now - since) // 60 * 60)


def age_words(value: float) -> str:
    """An age in the list of runs; 0 is what is over and began less than a minute ago."""
    return age_text(value) if value else "<1m"


def _coarse(age: float | None) -> float | None:
    """An age as coarse as it is drawn, so that equal rows need no drawing."""
    if age is None:
        return None
    return max(0.0, age // 1) if age < 60 else age // 60 * 60
