"""Follow one growing file without losing a byte: whole lines, restarts marked, memory bounded.

Reads with ``pread`` only: a map of a file that is cut meanwhile ends the process with SIGBUS. Rules after ``tail -F``:
the descriptor is kept and drained before another file at the same path is opened. What ``tail`` misses is seen too: a
file that is cut and has outgrown the old offset between two looks (msrun opens its worker logs with "w").
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mswb.files.safety import open_regular
from mswb.findings import MswbError

Start = Literal["begin", "end"] | int
Restart = Literal["truncated", "rotated", "replaced"]

CHUNK = 1 << 20
"""Bytes of one read."""
MAX_CARRY = 1 << 20
"""Bytes of an unfinished line that are held back; a longer line is passed on in pieces."""
POLL_LIMIT = 8 << 20
"""Bytes one poll delivers before it lets other files have their turn."""
_HEAD = 256
_TAIL = 64
_SETTLED_NS = 50_000_000  # file times move in ticks (4 ms, FAT 2 s aside): a younger one may hide a second change


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive bytes of a file.

    ``data`` is whole lines, each with its newline, unless :attr:`unfinished`. ``offset`` is that of the first byte.
    ``restart`` says that the file begins anew with this block: "truncated" (cut in place), "rotated" (renamed, a new
    one in its place) or "replaced" (deleted or overwritten by a rename); its ``data`` may then be empty.
    """

    data: bytes
    offset: int
    restart: Restart | None = None

    @property
    def unfinished(self) -> bool:
        """A piece of a line: the next block goes on with it, or has ``restart`` set, which ends it."""
        return bool(self.data) and not self.data.endswith(b"\n")


def last_state(line: bytes) -> bytes:
    r"""What a terminal shows of a line rewritten with ``\r`` (progress bars): its last non-empty state.

    A newline at the end stays.
    """
    if b"\r" not in line:
        return line
    end = b"\n" if line.endswith(b"\n") else b""
    return line.rstrip(b"\r\n").rpartition(b"\r")[2] + end


class Follower:
    """Delivers what is appended to one file, over truncation, rotation, replacement and deletion.

    A file that is not there yet is waited for. What can't be delivered: bytes written and cut away between two polls,
    and a file that came and went between two polls.

    Args:
        path: the file; it need not exist.
        start: "begin"; "end" (the last unfinished line, if there is one, is still delivered whole); or an offset in
            bytes.
        hold: keep the descriptor open between polls. Without it a renamed file is searched for in its folder, so that
            its last lines are still read.
    """

    def __init__(self, path: str | os.PathLike[str], *, start: Start = "begin", hold: bool = True) -> None:
        self.path = os.fspath(path)
        self.offset = 0
        self.behind = False
        """The last poll stopped at its limit: more is waiting."""
        self._start: Start = start
        self._size_at_start = 0
        if start == "end":  # of a file that appears later all is new, of one that is there what comes from now on
            status = _status(self.path)
            self._size_at_start = 0 if status is None else status.st_size
        self._hold = hold
        self._fd: int | None = None
        self._identity: tuple[int, int] | None = None
        self._carry = b""
        self._head = b""
        self._tail = b""
        self._seen: tuple[int, int] | None = None
        self._restart: Restart | None = None

    @property
    def partial(self) -> bytes:
        r"""The unfinished last line as a terminal would show it now (its state after the last ``\r``)."""
        return last_state(self._carry)

    def poll(self, limit: int = POLL_LIMIT) -> list[Block]:
        """What is new since the last poll, at most about ``limit`` bytes (then :attr:`behind` is set).

        Raises:
            MswbError: ``path-unreadable``: it may not be read, or isn't a regular file.
        """
        self.behind = False
        blocks: list[Block] = []
        try:
            for block in self._look(limit):
                blocks.append(block)
        except OSError:  # a stale NFS handle, an I/O error: open it afresh next time
            self._close_descriptor()
        except MswbError:
            if not blocks:  # else what was read of the former file comes first; the next poll raises again
                raise
        if not self._hold:
            self._close_descriptor()
        return blocks

    def finish(self) -> list[Block]:
        """All that is left, the unfinished last line included: its writer is dead, or we stop here."""
        blocks = self.poll()
        while self.behind:
            blocks += self.poll()
        return [*blocks, *self._flush()]

    def close(self) -> None:
        """Give the descriptor back. A later poll goes on where this one ended."""
        self._close_descriptor()

    def _look(self, limit: int) -> Iterator[Block]:
        budget = limit
        status = _status(self.path)
        if self._identity is not None and status is not None and _identity(status) != self._identity:
            for block in self._read_old(budget):
                budget -= len(block.data)
                yield block
            if self.behind:
                return
            yield from self._flush()
            self._leave()
        if self._fd is None and (self._unchanged(status) or not self._open()):
            return
        same = status is not None and _identity(status) == self._identity
        yield from self._read_current(budget, status if same else None)

    def _unchanged(self, status: os.stat_result | None) -> bool:
        return status is not None and (status.st_size, status.st_mtime_ns) == self._seen

    def _read_old(self, limit: int) -> Iterator[Block]:
        """The rest of the file that is no longer at our path."""
        if self._fd is None:
            self._fd = _find_renamed(self.path, self._identity)
        if self._fd is not None:
            yield from self._read_current(limit)

    def _read_current(self, limit: int, status: os.stat_result | None = None) -> Iterator[Block]:
        assert self._fd is not None
        status = status or os.fstat(self._fd)
        if self._unchanged(status):
            return
        if not self._is_same(status.st_size):
            yield from self._flush()
            self._begin_anew("truncated")
        yield from self._read(status.st_size, limit)
        settled = time.time_ns() - status.st_mtime_ns > _SETTLED_NS
        self._seen = (status.st_size, status.st_mtime_ns) if settled and not self.behind else None

    def _is_same(self, size: int) -> bool:
        """Whether the bytes before our offset are still the ones we read."""
        assert self._fd is not None
        if size < self.offset:
            return False
        head = os.pread(self._fd, len(self._head), 0)
        return head == self._head and self._tail == os.pread(self._fd, len(self._tail), self.offset - len(self._tail))

    def _read(self, size: int, limit: int) -> Iterator[Block]:
        assert self._fd is not None
        done = 0
        while self.offset < size:
            if done >= limit:
                self.behind = True
                break
            data = os.pread(self._fd, min(size - self.offset, CHUNK), self.offset)
            if not data:  # cut meanwhile: the next poll sees it
                break
            done += len(data)
            yield from self._take(data)
        if self._restart is not None:
            yield self._block(b"", self.offset - len(self._carry))

    def _take(self, data: bytes) -> Iterator[Block]:
        begin = self.offset - len(self._carry)
        if self.offset < _HEAD and len(self._head) == self.offset:
            self._head += data[: _HEAD - self.offset]
        self.offset += len(data)
        self._tail = data[-_TAIL:] if len(data) >= _TAIL else (self._tail + data)[-_TAIL:]
        cut = data.rfind(b"\n") + 1
        whole = self._carry + data
        if cut:
            cut += len(self._carry)
        elif len(whole) > MAX_CARRY:
            cut = whole.rfind(b"\r") + 1 or len(whole)
        self._carry = whole[cut:]
        if cut:
            yield self._block(whole[:cut], begin)

    def _block(self, data: bytes, offset: int) -> Block:
        block = Block(data, offset, self._restart)
        self._restart = None
        return block

    def _flush(self) -> Iterator[Block]:
        """The unfinished line as a block of its own."""
        if self._carry:
            data, self._carry = self._carry, b""
            yield self._block(data, self.offset - len(data))

    def _leave(self) -> None:
        """Another file is at our path: forget the drained one."""
        links = 0 if self._fd is None else os.fstat(self._fd).st_nlink
        self._close_descriptor()
        self._identity = None
        self._begin_anew("rotated" if links else "replaced")

    def _begin_anew(self, why: Restart) -> None:
        self._restart = why
        self.offset = 0
        self._head = self._tail = b""
        self._seen = None

    def _open(self) -> bool:
        descriptor = _open_or_none(self.path)
        if descriptor is None:
            return False
        status = os.fstat(descriptor)
        first = self._identity is None
        if not first and _identity(status) != self._identity:  # replaced just now: the next poll drains the old one
            os.close(descriptor)
            return False
        self._fd, self._identity = descriptor, _identity(status)
        if first and self._restart is None:
            self._go_to_start(status.st_size)
        return True

    def _go_to_start(self, size: int) -> None:
        assert self._fd is not None
        if self._start == "end":
            self.offset = _last_line_start(self._fd, min(size, self._size_at_start))
        elif self._start != "begin":
            self.offset = self._start
        self._start = "begin"
        if self.offset:
            self._head = os.pread(self._fd, min(_HEAD, self.offset), 0)
            self._tail = os.pread(self._fd, min(_TAIL, self.offset), max(0, self.offset - _TAIL))

    def _close_descriptor(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _open_or_none(path: str) -> int | None:
    if _status(path) is None:
        return None
    try:
        return open_regular(path)
    except MswbError as problem:
        if problem.finding.code == "path-missing":  # deleted between the two calls
            return None
        raise


def _find_renamed(path: str, identity: tuple[int, int] | None) -> int | None:
    """A descriptor of the file with this identity, renamed within its folder."""
    folder = os.path.dirname(path) or "."
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_symlink() and _identity(entry.stat(follow_symlinks=False)) == identity:
                    return _open_or_none(entry.path)
    except OSError:
        pass
    return None


def _last_line_start(descriptor: int, size: int) -> int:
    """Offset behind the last newline; ``size`` when none is within :data:`MAX_CARRY` bytes of the end."""
    begin = max(0, size - MAX_CARRY)
    data = os.pread(descriptor, size - begin, begin)
    newline = data.rfind(b"\n")
    if newline < 0:
        return 0 if begin == 0 else size
    return begin + newline + 1
