"""Removing what dead servers left, as actions of a plan; each looks again, right before it does anything."""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Callable, Iterable, Mapping

from mswb.cache.entries import Entry
from mswb.cache.server.leftovers import user_of
from mswb.cache.server.running import Host, Segment, look
from mswb.cache.trash.moves import doers as trash_doers
from mswb.cache.trash.moves import trash_action
from mswb.plan import Action, Doer, Plan, path_identity

_IPC_RMID = 0
_PREFIX = "shm:"


def actions(entries: Iterable[Entry]) -> tuple[Action, ...]:
    """What would be removed of the orphans among some entries; everything else is left alone.

    A folder of spilled rows is not in it: it goes to the trash like any other folder, see :func:`spills`.
    """
    return tuple(action for entry in entries for action in _actions(entry) if entry.status == "orphan")


def spills(entries: Iterable[Entry]) -> list[Entry]:
    """The orphans that are folders."""
    return [entry for entry in entries if entry.form == "cache-spill" and entry.status == "orphan"]


def in_use(path: str) -> bool:
    """Whether a live server may own a folder of spilled rows, as of now."""
    return user_of(path, look(), os.lstat(path).st_mtime) is not None


def _actions(entry: Entry) -> list[Action]:
    maker = _MAKERS.get(entry.form)
    return maker(entry) if maker is not None else []


def _unlink(entry: Entry) -> list[Action]:
    try:
        return [Action("remove-socket", entry.path, path_identity(entry.path), 0, entry.detail)]
    except OSError:
        return []


def _release(entry: Entry) -> list[Action]:
    if not entry.more.get("known"):
        return []  # the key alone proves nothing: another program may have chosen it
    found = _segment(entry.path, look())
    return (
        [Action("remove-shared-memory", entry.path, _identity(found), found.resident_bytes, entry.detail)]
        if found
        else []
    )


_MAKERS: Mapping[str, Callable[[Entry], list[Action]]] = {"dataset-cache": _unlink, "shared-memory": _release}


def _do_unlink(action: Action) -> str:
    try:
        about = os.lstat(action.target)
    except FileNotFoundError:
        return "it is gone already"
    if not stat.S_ISSOCK(about.st_mode) or path_identity(action.target) != action.identity:
        return "something else has taken its place"
    host = look(os.path.dirname(action.target))
    one = next((item for item in host.sockets if item.path == action.target), None)
    if one is None or one.listening or any(server.port == one.port for server in host.servers):
        return "a server uses it now"
    os.unlink(action.target)
    return ""


def _do_release(action: Action) -> str:
    host = look()
    found = _segment(action.target, host)
    if found is None:
        return "it is gone already"
    if _identity(found) != action.identity:
        return "another segment has taken its place"
    if found.attached or any(server.process.pid == found.maker for server in host.servers):
        return "a process uses it"
    if found.uid != os.getuid():
        return "it belongs to another user"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.shmctl(ctypes.c_int(found.id), ctypes.c_int(_IPC_RMID), None):
        return os.strerror(ctypes.get_errno())
    return ""


KINDS: Mapping[str, Doer] = {"remove-socket": _do_unlink, "remove-shared-memory": _do_release}
"""For :func:`mswb.plan.apply`."""


def _segment(path: str, host: Host) -> Segment | None:
    number = int(path.removeprefix(_PREFIX))
    return next((one for one in host.segments if one.id == number), None)


def _identity(one: Segment) -> str:
    """A segment's number is given away again; the key, the maker and the time of creation tell the owners apart."""
    return f"{one.id}:{one.key:08x}:{one.maker}:{one.created:.0f}"


def plan(entries: Iterable[Entry]) -> Plan:
    """All that can be removed of the orphans among some entries; folders of spilled rows go to the trash."""
    found = list(entries)
    folders = tuple(trash_action(entry.path, entry.detail, freed=entry.disk_bytes) for entry in spills(found))
    unknown = [one for one in found if one.form == "shared-memory" and one.status == "orphan" and not one.more["known"]]
    notes = tuple(
        f"{one.path} ({one.name}) is left alone: neither a socket nor a log proves that a cache server made it; "
        f"if you know it: ipcrm -m {one.path.removeprefix(_PREFIX)}"
        for one in unknown
    )
    return Plan((*actions(found), *folders), notes)


def doers() -> dict[str, Doer]:
    """What does the actions of :func:`plan`."""
    return {**KINDS, **trash_doers("left by a dataset cache server", refuse=_refuse)}


def _refuse(path: str) -> str:
    return "a server uses it now" if in_use(path) else ""
