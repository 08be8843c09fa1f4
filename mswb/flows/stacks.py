"""Where each rank of a live run stands: every rank prints its stacks into its own log, and goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mswb.jobs.control import request_stacks
from mswb.jobs.runs import Run
from mswb.jobs.spec import ProcessStatus
from mswb.launch.failures import read_part, standing_of
from mswb.launch.logs import Block, blocks

WAIT_S = 3.0
"""A rank answers at once, unless its process is stopped or the host is overloaded."""
READ = 1 << 20
"""Bytes read of what a log grew by."""
_LOOK_S, _QUIET_S = 0.05, 0.2


@dataclass(frozen=True, slots=True)
class Standing:
    """One process. ``text`` are its stacks, empty when none were printed; ``place`` is the user's own line."""

    role: str
    rank: int | None
    pid: int
    file: str | None
    place: str
    text: str


def ask_stacks(run: Run, wait_s: float = WAIT_S) -> list[Standing]:
    """Have the ranks of a run print where they stand, and read it.

    Raises:
        MswbError: ``run-elsewhere`` for a live run of another host.
    """
    before = {path: _size(path) for path in _logs(run)}
    asked = request_stacks(run)
    deadline = time.monotonic() + wait_s
    waiting = [one for one in asked if one.log]
    while waiting and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
        waiting = [one for one in waiting if not _is_there(one, before)]
    time.sleep(_QUIET_S if asked else 0.0)  # the last lines may still be on their way
    return [_read(one, before) for one in asked]


def _logs(run: Run) -> list[str]:
    return [one.log for one in run.status.processes if one.log] if run.status is not None else []


def _is_there(one: ProcessStatus, before: Mapping[str, int]) -> bool:
    return next(_stacks(one, before), None) is not None


def _stacks(one: ProcessStatus, before: Mapping[str, int]) -> Iterator[Block]:
    if one.log:
        raw = read_part(one.log, before.get(one.log, 0), READ)
        yield from (block for block in blocks(raw.splitlines(keepends=True)) if block.kind == "stacks")


def _read(one: ProcessStatus, before: Mapping[str, int]) -> Standing:
    found = list(_stacks(one, before))
    text = "\n".join(line.rstrip("\n") for block in found for line in block.texts)
    known = next((known for block in reversed(found) if (known := standing_of(block))), None)
    place = known.place if known is not None else None
    said = f"{place.function} ({place.file}:{place.line})" if place is not None else ""
    return Standing(one.role, one.rank, one.pid, one.log, said, text)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
