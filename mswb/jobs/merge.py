"""One log of a whole run: every finished line of every log, with its process in front, as it is written.

Runs in a thread that nothing waits for but the very end of the run, so neither a slow disk nor a flood of output
delays the supervision.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from mswb.files.follow import Block, Follower
from mswb.findings import MswbError
from mswb.jobs.spec import JobSpec

PAUSE_S = 0.1
ROUND_BYTES = 1 << 20
"""Bytes that one log delivers at a time: what bounds the memory."""
LAUNCHER = "launcher"
REMEMBERED = 200_000
"""Lines of the ranks that may wait for their copy in the console of msrun."""

Source = tuple[str, str]
"""The name to put in front of each line, and the path."""


def sources(spec: JobSpec) -> list[Source]:
    """The logs of a run, the launcher's console last."""
    own = [(f"worker_{rank}", path) for rank, path in sorted(spec.worker_logs.items())]
    own += [("scheduler", spec.scheduler_log)] if spec.scheduler_log else []
    named = [(one.role if one.rank is None else f"{one.role}_{one.rank}", one.log) for one in spec.processes]
    unique = {path: name for name, path in [*own, *named]}
    return sorted(((name, path) for path, name in unique.items()), key=lambda item: item[0] == LAUNCHER)


class Merger:
    """Merges the logs of a run into ``target`` until :meth:`close`."""

    def __init__(self, logs: Sequence[Source], target: str) -> None:
        self._ranks = [(name, Follower(path)) for name, path in logs if name != LAUNCHER]
        self._launchers = [(name, Follower(path)) for name, path in logs if name == LAUNCHER]
        self._copies = Copies() if self._launchers else None
        self._target = target
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name="merge", daemon=True)
        self._thread.start()

    def close(self, timeout_s: float) -> bool:
        """Merge what is left; False when that is not done in time."""
        self._ending.set()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(self._target, flags, 0o600)
        except OSError:  # the ranks' own logs are whole all the same
            return
        try:
            self._merge(descriptor)
        finally:
            os.close(descriptor)

    def _merge(self, descriptor: int) -> None:
        last = False
        while not last:
            last = self._ending.is_set()
            wrote = self._round(descriptor, _poll)
            while any(follower.behind for _, follower in (*self._ranks, *self._launchers)):
                wrote = self._round(descriptor, _poll)
            if last:
                self._round(descriptor, Follower.finish)
            elif not wrote:
                self._ending.wait(PAUSE_S)
        for _, follower in (*self._ranks, *self._launchers):
            follower.close()

    def _round(self, descriptor: int, take: Callable[[Follower], list[Block]]) -> bool:
        # The launcher is read first and written last: what tail copied of a rank is then among the rank's lines.
        console = [(name, _take(follower, take)) for name, follower in self._launchers]
        wrote = False
        for name, follower in self._ranks:
            wrote |= self._write(descriptor, name, _take(follower, take))
            while follower.behind:
                self._write(descriptor, name, _take(follower, take))
        for name, blocks in console:
            wrote |= self._write(descriptor, name, blocks)
        return wrote

    def _write(self, descriptor: int, name: str, blocks: list[Block]) -> bool:
        merged = b"".join(self._lines(name, block) for block in blocks)
        with suppress(OSError):  # a full disk: these lines are lost here, not in the ranks' own logs
            while merged:
                merged = merged[os.write(descriptor, merged) :]
        return bool(blocks)

    def _lines(self, name: str, block: Block) -> bytes:
        data = block.data + b"\n" if block.unfinished else block.data
        if self._copies is not None:
            data = self._copies.drop(data) if name == LAUNCHER else self._copies.note(data)
        return prefixed(data, f"[{name}] ".encode())


class Copies:
    """Tells which lines of msrun's console are only its tails' copies of the ranks' lines. Keeps hashes, not lines."""

    def __init__(self) -> None:
        self._waiting: dict[int, int] = {}
        self._order: deque[int] = deque()

    def note(self, data: bytes) -> bytes:
        """Remember the lines of a rank; returns them unchanged."""
        for line in data.splitlines(keepends=True):
            key = hash(line)
            self._waiting[key] = self._waiting.get(key, 0) + 1
            self._order.append(key)
        while len(self._order) > REMEMBERED:
            self._forget(self._order.popleft())
        return data

    def drop(self, data: bytes) -> bytes:
        """The lines of the console that no rank wrote."""
        return b"".join(line for line in data.splitlines(keepends=True) if not self._forget(hash(line)))

    def _forget(self, key: int) -> bool:
        count = self._waiting.get(key, 0)
        if count > 1:
            self._waiting[key] = count - 1
        elif count == 1:
            del self._waiting[key]
        return count > 0


def prefixed(data: bytes, prefix: bytes) -> bytes:
    """Whole lines, each with ``prefix`` in front."""
    return prefix + data[:-1].replace(b"\n", b"\n" + prefix) + b"\n" if data else b""


def _poll(follower: Follower) -> list[Block]:
    return follower.poll(ROUND_BYTES)


def _take(follower: Follower, take: Callable[[Follower], list[Block]]) -> list[Block]:
    try:
        return take(follower)
    except MswbError:  # not readable now; the next round tries again
        return []
