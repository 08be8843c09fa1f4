"""What a member of a run told of its own result: a training can end well and be worth nothing all the same.

``mswb/inside`` appends such words to the events of the run; the shim reads them once, when all has ended well.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from mswb.jobs.recorder import EVENTS_FILE
from mswb.jobs.spec import Event

STALE_SOURCE = "stale-source"
"""The event of a training that a dataset cache server gave old rows; ``mswb/inside/server_cache.py`` writes it."""
EXIT_CODE = 1
"""The exit code of a run whose processes all ended with 0 and whose result is flawed."""
MAX_BYTES = 64 << 20


def flaw(folder: Path) -> str:
    """What is wrong with the result of a run that ended well; empty when nothing was told."""
    try:
        descriptor = os.open(folder / EVENTS_FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            lines = [line for line in file.read(MAX_BYTES).splitlines() if STALE_SOURCE.encode() in line]
    except OSError:
        return ""
    return next((f"it trained on old rows: {text}" for line in lines if (text := _told(line))), "")


def _told(line: bytes) -> str:
    try:
        event = msgspec.json.decode(line, type=Event)
    except (msgspec.DecodeError, msgspec.ValidationError):  # any member may write to this file
        return ""
    return event.text[:400] if event.event == STALE_SOURCE else ""
