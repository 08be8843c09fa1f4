"""From what a person types to the thing itself: a path, or the name of a run."""

from __future__ import annotations

from pathlib import Path

from mswb.findings import MswbError, stop
from mswb.settings import Settings


def resolve_logs(text: str, settings: Settings) -> Path:
    """The log folder or file that ``text`` names: an existing path, else a run's id, prefix or ``latest``.

    Raises:
        MswbError: ``path-missing`` when it is neither.
    """
    from mswb.jobs.runs import find_run

    path = Path(text).expanduser()
    if path.exists():
        return path
    try:
        run = find_run(settings, text)
    except MswbError:
        raise stop("path-missing", values={"path": text}) from None
    if run.spec.log_dir and Path(run.spec.log_dir).is_dir():
        return Path(run.spec.log_dir)
    return run.folder
