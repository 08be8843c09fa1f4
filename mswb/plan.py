"""Plans: the only way to change a disk or to end a process. Shown first, applied second.

Planning only reads. Each action carries the identity of its target as it was when the plan was made (inode and device
of a path, pid and start time of a process); :func:`apply` does an action only while that identity still holds.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mswb.signals import END_LADDER, ProcessId, end, is_alive


@dataclass(frozen=True, slots=True)
class Action:
    """One exact change.

    kind: a key of :data:`KINDS`. target: a path, or ``pid N (name)``. identity: see :func:`path_identity` and
    :func:`process_identity`. bytes: disk space that is freed. detail: for people.
    """

    kind: str
    target: str
    identity: str
    bytes: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions in the order they will be done, and what a person should know before agreeing."""

    actions: tuple[Action, ...]
    warnings: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """The disk space that all actions free together."""
        return sum(action.bytes for action in self.actions)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one action; ``reason`` says why it was not done."""

    action: Action
    done: bool
    reason: str = ""


Doer = Callable[[Action], str]
"""Does one action after checking its identity; returns why it was not done, or an empty text."""


def apply(plan: Plan, kinds: Mapping[str, Doer] | None = None) -> list[Outcome]:
    """Do every action whose target is still what it was; one that fails does not stop the others.

    Args:
        kinds: more kinds of action, beside :data:`KINDS`.
    """
    known = {**KINDS, **(kinds or {})}
    outcomes: list[Outcome] = []
    for action in plan.actions:
        try:
            reason = known[action.kind](action)
        except OSError as problem:
            reason = f"{problem.strerror}: {problem.filename}" if problem.filename else str(problem.strerror)
        outcomes.append(Outcome(action, not reason, reason))
    return outcomes


def to_report(plan: Plan, outcomes: list[Outcome] | None = None) -> dict[str, Any]:
    """The keys of a JSON report of kind mswb.plan/1: ``actions`` (with ``done`` and ``reason`` once applied)."""
    rows = [asdict(action) for action in plan.actions]
    for row, outcome in zip(rows, outcomes or [], strict=False):
        row.update(done=outcome.done, reason=outcome.reason)
    return {"actions": rows, "warnings": list(plan.warnings), "bytes": plan.bytes, "applied": outcomes is not None}


def path_identity(path: str | os.PathLike[str]) -> str:
    """``inode:device`` of the path itself, links not followed.

    Raises:
        OSError: there is no such path.
    """
    found = os.lstat(path)
    return f"{found.st_ino}:{found.st_dev}"


def process_identity(process: ProcessId) -> str:
    """``pid:start_time`` with the start time in clock ticks since boot."""
    return f"{process.pid}:{process.start_time}"


def delete_folder(path: Path, *, detail: str = "") -> Action:
    """The action that deletes a folder with everything in it; links in it are deleted, never followed.

    Raises:
        OSError: there is no such folder.
    """
    return Action("delete-folder", str(path), path_identity(path), folder_bytes(path), detail)


def end_process(process: ProcessId, name: str, *, detail: str = "") -> Action:
    """The action that ends a process: SIGTERM, and SIGKILL after a grace."""
    return Action("end-process", f"pid {process.pid} ({name})", process_identity(process), detail=detail)


def folder_bytes(path: Path) -> int:
    """The disk space that a folder's files take, links and unreadable folders not followed."""
    total = 0
    for root, _, files in os.walk(path, onerror=None, followlinks=False):
        for name in files:
            try:
                total += os.lstat(os.path.join(root, name)).st_blocks * 512
            except OSError:
                continue
    return total


def _delete_folder(action: Action) -> str:
    path = Path(action.target)
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return "it is gone already"
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder any more"
    if path_identity(path) != action.identity:
        return "another folder has taken its place"
    # Renamed first: between the check and the end of the deletion nobody finds half a folder under the old name,
    # and a folder that was swapped in meanwhile shows by its identity.
    doomed = path.with_name(f".{path.name}.{found.st_ino}.deleting")
    os.rename(path, doomed)
    if path_identity(doomed) != action.identity:
        os.rename(doomed, path)
        return "another folder has taken its place"
    shutil.rmtree(doomed)
    return ""


def _end_process(action: Action) -> str:
    pid, _, start_time = action.identity.partition(":")
    process = ProcessId(int(pid), int(start_time))
    if not is_alive(process):
        return "it has ended already, or its pid belongs to another process now"
    return "it did not end, not even after SIGKILL" if end([process], END_LADDER) else ""


KINDS: Mapping[str, Doer] = {"end-process": _end_process, "delete-folder": _delete_folder}
"""What :func:`apply` can do; a later part passes its own kinds beside these."""
