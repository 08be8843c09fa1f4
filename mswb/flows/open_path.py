"""From what a person types to the thing itself: a path, or the name of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mswb.findings import MswbError, stop
from mswb.settings import Settings

if TYPE_CHECKING:
    from mswb.jobs.runs import Run


def resolve_logs(text: str, settings: Settings) -> Path:
    """The log folder or file that ``text`` names: an existing path, else a run's id, prefix or ``latest``.

    Raises:
        MswbError: ``path-missing`` when it is neither; ``no-runs``, ``run-ambiguous``.
    """
    from mswb.jobs.runs import find_run

    name = os.path.expanduser(text)
    if os.path.exists(name):  # unlike Path's, it answers also for a name that no file can have
        return Path(name)
    try:
        run = find_run(settings, text)
    except MswbError as error:
        if error.finding.code in ("no-runs", "run-ambiguous"):
            raise
        raise stop("path-missing", values={"path": text}) from None
    return logs_of(run)


def logs_of(run: Run) -> Path:
    """What to diagnose for a run: its folder, which knows the logs and has the record even when their disk is full."""
    log_dir = run.spec.log_dir
    linked = (run.folder / "log").is_symlink()
    return run.folder if linked or not log_dir or not os.path.isdir(log_dir) else Path(log_dir)
