"""The raw operator records that MindSpore's CPU profiler leaves in FRAMEWORK/, also where nothing was analysed.

One line an operator: ``full_name;HostCpuOps;start_ns,dur_ms,tid start_ns,dur_ms,tid ...``. The number in the name of
the file is the rank.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

import numpy as np

from mswb.profile.roles import roles
from mswb.profile.timeline import Codebook, Events, Timeline, Track

NAME = re.compile(r"cpu_op_execute_timestamp_(\d+)\.txt$")
_RUN = re.compile(rb"(\d{1,19}),(\d{1,12}(?:\.\d{1,9})?(?:[eE]-?\d{1,3})?),(-?\d{1,19})$")


def read(path: str, cancelled: Callable[[], bool] = lambda: False) -> Timeline:
    """The timeline of one ``cpu_op_execute_timestamp_R.txt``; a run that is cut or damaged is dropped and counted.

    Raises:
        OSError: it can't be read.
    """
    match = NAME.search(os.path.basename(path))
    rank = int(match.group(1)) if match is not None else None
    names, threads = Codebook(), Codebook()
    rows: list[tuple[int, int, int, int]] = []
    seen = 0
    first_drop: int | None = None
    offset = 0
    with open(path, "rb") as file:
        for line in file:
            head, _, runs = line.partition(b";HostCpuOps;")
            code = names[head.decode("utf-8", "replace")]
            for run in runs.split():
                seen += 1
                found = _RUN.match(run)
                length = _nanoseconds(found.group(2)) if found is not None else None
                if found is None or length is None or int(found.group(1)) >= 1 << 62:
                    first_drop = offset if first_drop is None else first_drop
                    continue
                rows.append((int(found.group(1)), length, code, threads[found.group(3).decode()]))
            offset += len(line)
            if cancelled():
                break
    table = np.array(rows, np.int64).reshape(-1, 4)
    order = np.lexsort((-table[:, 1], table[:, 0]))
    start, length_ns, name, track = table[order].T
    tracks = tuple(Track("CPU OP", thread, "CPU OP", f"thread {thread}", rank) for thread in threads.texts)
    codes = (track.astype(np.int32), np.zeros(len(table), np.int16), name.astype(np.int32))
    return Timeline(
        start,
        start + length_ns,
        codes[2],
        codes[0],
        roles(*codes, tracks, ("",), names.texts),
        np.zeros(len(table), np.int64),
        names.texts,
        tracks,
        events=Events(seen, len(rows), seen - len(rows), first_drop),
    )


def _nanoseconds(milliseconds: bytes) -> int | None:
    try:
        value = int(Decimal(milliseconds.decode()) * 1_000_000)
    except (InvalidOperation, ValueError, OverflowError):
        return None
    return value if 0 <= value < 1 << 60 else None
