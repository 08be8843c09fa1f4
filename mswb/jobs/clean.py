"""Which run folders may go: only those of runs that have ended. The log folders beside the user's code stay."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from pathlib import Path

from mswb.jobs.runs import Run, find_run, list_runs, run_state
from mswb.plan import Action, Plan, delete_folder
from mswb.settings import Settings

ENDED = frozenset({"succeeded", "failed", "stopped", "ended", "broken"})


def clean_plan(
    settings: Settings, *, older_than: float | None = None, keep: int | None = None, ids: Collection[str] = ()
) -> Plan:
    """The plan that deletes folders of ended runs.

    Args:
        older_than: only runs that ended at least so many seconds ago.
        keep: spare the newest so many of the ended runs.
        ids: only these runs (ids, beginnings of ids, paths); one that has not ended becomes a warning.

    Raises:
        MswbError: ``run-unknown`` or ``run-ambiguous`` for an id.
    """
    chosen = [find_run(settings, name) for name in ids] if ids else list_runs(settings)
    ended = [run for run in chosen if run_state(run) in ENDED][keep or 0 :]
    old = [run for run in ended if older_than is None or time.time() - _end(run) >= older_than]
    busy = [run for run in chosen if run_state(run) not in ENDED] if ids else []
    warnings = tuple(f"{run.id} has not ended ({run_state(run)}): it stays" for run in busy)
    return Plan(tuple(_actions(settings, old)), warnings)


def _actions(settings: Settings, runs: Iterable[Run]) -> Iterable[Action]:
    for run in runs:
        title = run.status.title if run.status else run.problem
        yield delete_folder(run.folder, detail=f"{run_state(run)}: {title}")
    for folder in _half_deleted(settings.runs_dir):
        yield delete_folder(folder, detail="a deletion that was interrupted")


def _half_deleted(runs_dir: Path) -> list[Path]:
    return sorted(runs_dir.glob(".*.deleting"))


def _end(run: Run) -> float:
    if run.status is not None and run.status.ended is not None:
        return run.status.ended
    return run.folder.stat().st_mtime
