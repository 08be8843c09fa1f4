"""From what a person types to the thing itself: a path, or the name of a run; and what kind of thing it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mswb.findings import MswbError, stop
from mswb.settings import Settings

if TYPE_CHECKING:
    from mswb.files.tree import Listing
    from mswb.jobs.runs import Run
    from mswb.launch.discover import LogFile

Kind = Literal["logs", "cache", "profile", "model", "folder"]

_PROJECT = frozenset({".git", "pyproject.toml", "setup.cfg", "setup.py"})
_SOURCES = (".py", ".ipynb")
_RANKS = ("worker", "scheduler", "merged")
_DEPTH, _LIMIT = 4, 5000
"""How much of a folder is looked at to tell what it is."""


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
    from mswb.jobs.spec import ADOPTED

    log_dir = run.spec.log_dir
    if run.spec.backend == ADOPTED:  # it knows which of the files in the folder of others are the run's
        return run.folder
    linked = (run.folder / "log").is_symlink()
    return run.folder if linked or not log_dir or not os.path.isdir(log_dir) else Path(log_dir)


def kind_of(path: str | os.PathLike[str]) -> Kind:
    """What a path holds, by its content. "folder" is a project, a mixture, or nothing that any pane knows.

    Raises:
        MswbError: ``path-missing`` or ``path-unreadable``.
    """
    name = os.path.realpath(path)
    return _kind_of_folder(name) if os.path.isdir(name) else _kind_of_single(name)


def _kind_of_single(path: str) -> Kind:
    """A file: what it is by content, else a log when it is text that is no source."""
    from mswb.flows.inventory import NEVER, kind_of_file
    from mswb.launch.discover import discover

    known = kind_of_file(path)
    if known is not None:
        return known[0]
    try:
        discover(path)
    except MswbError as error:
        if error.finding.code == "path-missing" or not os.access(path, os.R_OK):
            raise
        return "folder"
    return "folder" if path.rpartition(".")[2].lower() in NEVER - {"log"} else "logs"


def _kind_of_folder(path: str) -> Kind:
    """A run folder or a log folder of ranks; else the one kind of thing that lies in it."""
    from mswb.files.tree import listing
    from mswb.flows.inventory import claimed
    from mswb.launch.discover import discover

    here = listing(path)
    whole = claimed(here)
    if whole is not None:
        return whole[0]
    logs = discover(path).files
    if "spec.json" in here.files or _holds_ranks(logs, 0 if _is_project(here) else 1):
        return "logs"
    return "folder" if _is_project(here) else _only_kind(path, logs)


def _is_project(here: Listing) -> bool:
    """Sources beside it make a folder a project: somebody works in it."""
    return any(name.endswith(_SOURCES) or name in _PROJECT for name in here.names)


def _holds_ranks(logs: Sequence[LogFile], depth: int) -> bool:
    return any(log.role in _RANKS and log.name.count("/") <= depth for log in logs)


def _only_kind(path: str, logs: Sequence[LogFile]) -> Kind:
    """The kind of all that lies in the folder. A console's text beside a profile belongs to it."""
    from mswb.flows.inventory import domain_of, scan, within

    items = [item for batch in scan(path, depth=_DEPTH, limit=_LIMIT) for item in batch.items]
    wholes = [item.path for item in items if os.path.isdir(item.path)]
    loose = [log for log in logs if not any(within(log.path, whole) for whole in wholes)]
    found = {domain_of(item.kind) for item in items}
    if len(found) == 1 and (not loose or "profile" in found):
        return found.pop()
    return "logs" if loose and not found else "folder"
