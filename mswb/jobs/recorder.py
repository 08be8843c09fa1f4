"""Writing the run folder from a thread of its own, so that a slow or dead disk never delays the supervision.

Events are written in order and before the status that follows them; of several statuses that wait, only the last is
written.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from pathlib import Path

from mswb.files.safety import write_atomic
from mswb.findings import MswbError
from mswb.jobs.spec import Event, RunStatus, encode

STATUS_FILE = "status.json"
EVENTS_FILE = "events.jsonl"
COPY_FILE = "run.json"


class Recorder:
    """The only writer of a run's status and, beside the jobs themselves, of its events."""

    def __init__(self, folder: Path, copy_folder: Path | None) -> None:
        self._folder = folder
        self._copy = copy_folder / COPY_FILE if copy_folder else None
        self._queue: queue.SimpleQueue[bytes | tuple[bytes, bool] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()
        self.problem = ""

    def event(self, event: Event) -> None:
        """Append a line to events.jsonl."""
        self._queue.put(event_line(event))

    def status(self, status: RunStatus, *, copy: bool) -> None:
        """Replace status.json, and with ``copy`` also run.json in the log folder."""
        self._queue.put((encode(status), copy and self._copy is not None))

    def close(self, timeout_s: float) -> bool:
        """Wait until all is written; False when the disk did not take it in time."""
        self._queue.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        last = False
        while not last:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            last = None in batch
            self._write(batch)

    def _write(self, batch: list[bytes | tuple[bytes, bool] | None]) -> None:
        lines = b"".join(item for item in batch if isinstance(item, bytes))
        statuses = [item for item in batch if isinstance(item, tuple)]
        # A full disk must not end the supervision, nor keep one file from being written because of another.
        try:
            if lines:
                append_events(self._folder, lines)
        except OSError as problem:
            self.problem = str(problem)
        try:
            if statuses:
                self._write_status(statuses[-1][0], any(copy for _, copy in statuses))
        except (OSError, MswbError) as problem:
            self.problem = str(problem)

    def _write_status(self, raw: bytes, copy: bool) -> None:
        # The copy first: whoever sees the final status may read the log folder at once.
        if copy and self._copy is not None:
            with contextlib.suppress(MswbError):  # the log folder may be full, read-only or gone
                write_atomic(self._copy, raw)
        write_atomic(self._folder / STATUS_FILE, raw)


def event_line(event: Event) -> bytes:
    """One event as a line of events.jsonl."""
    return encode(event) + b"\n"


def append_events(folder: Path, lines: bytes) -> None:
    """Append whole lines to events.jsonl with one write, so that several writers never mix within a line.

    Raises:
        OSError: the file can't be written.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(folder / EVENTS_FILE, flags, 0o600)
    try:
        os.write(descriptor, lines)
    finally:
        os.close(descriptor)
