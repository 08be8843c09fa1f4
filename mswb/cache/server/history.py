"""What a server wrote into its own log: when it made each session, the key of its shared memory, its spill folder.

The program itself tells none of this later, and the log is named after the pid, so it speaks of dead servers too.
Needs a server with log level 0 or 1 (1 is its default).
"""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from mswb.cache.server.running import BASE
from mswb.files.safety import open_regular
from mswb.findings import MswbError

MAX_BYTES = 64 << 20
"""Of a longer log the beginning is read."""
_TIME = re.compile(r":(\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d)\.(\d{3})\.(\d{3}) \[")
_SESSION = re.compile(r"Server generated new session id (\d+)")
_KEY = re.compile(r"Shared memory key (\d+)")
_SPILL = re.compile(r"CacheServer will use disk folder: (/[^\n]*)")
_PORT = re.compile(r"listening on port (\d+)")


@dataclass(frozen=True, slots=True)
class History:
    """One server's life. ``sessions``: seconds since the epoch at which each was made. ``log``: the file."""

    log: str = ""
    sessions: dict[int, float] = field(default_factory=dict)
    shm_key: int | None = None
    spill: str | None = None
    port: int | None = None


def of(pid: int, base: str = BASE) -> History:
    """The history of the server that had this pid; empty when it left no log that can be read."""
    path = max(logs(base, str(pid)), default="")
    if not path:
        return History()
    try:
        with open(open_regular(path), encoding="utf-8", errors="replace") as file:
            return read(file.read(MAX_BYTES).splitlines(), path)
    except (MswbError, OSError):
        return History()


def read(lines: Iterable[str], log: str = "") -> History:
    """The history that the lines of a log tell."""
    sessions: dict[int, float] = {}
    found: dict[re.Pattern[str], str] = {}
    for line in lines:
        session = _SESSION.search(line)
        when = _when(line) if session else None
        if session and when is not None:
            sessions.setdefault(int(session.group(1)), when)
        for pattern in (_KEY, _SPILL, _PORT):
            match = pattern.search(line)
            if match:
                found.setdefault(pattern, match.group(1).strip())
    key, port = found.get(_KEY), found.get(_PORT)
    return History(
        log, sessions, int(key) & 0xFFFFFFFF if key else None, found.get(_SPILL), int(port) if port else None
    )


def logs(base: str = BASE, pid: str = "*") -> list[str]:
    """The logs of servers, of one pid or all: ``mindspore.HOST.USER.log.INFO.<date>-<time>.<pid>``, links left out.

    Of one pid the greatest name is that of its last owner.
    """
    above = glob.escape(base)
    folders = (os.path.join(above, "cache", "log"), os.path.join(above, "*", "cache", "log"))
    names = (path for folder in folders for path in glob.iglob(os.path.join(folder, f"mindspore.*.log.INFO.*.{pid}")))
    return [path for path in names if os.path.isfile(path) and not os.path.islink(path)]


def _when(line: str) -> float | None:
    """The time of a record, local to the host; seconds since the epoch."""
    found = _TIME.search(line)
    if found is None:
        return None
    try:
        whole = time.mktime(time.strptime(found.group(1), "%Y-%m-%d-%H:%M:%S"))
    except (ValueError, OverflowError):
        return None
    return whole + int(found.group(2)) / 1e3 + int(found.group(3)) / 1e6
