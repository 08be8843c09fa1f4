"""Signals that reach only the process that was meant: a pid counts only together with its start time.

The kernel gives a pid away again as soon as its owner is reaped. The start time (field 22 of /proc/PID/stat, clock
ticks since boot) tells the two apart; a pidfd, where the kernel has them (5.3), closes the gap between the check and
the signal.
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Ladder = Sequence[tuple[int, float]]
"""Signals in order, each with the seconds to wait before the next."""

END_LADDER: Ladder = ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))
# struct pidfd_info: a mask of what is asked and answered, ids, and at its end the wait status; _IOWR(0xFF, 11, 64).
_PIDFD_INFO = struct.Struct("Q52si")
_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_EXIT = 1 << 3
STAT_BYTES = 4096
"""More than /proc/PID/stat can hold: 52 numbers and a name of 15 bytes."""


@dataclass(frozen=True, slots=True, order=True)
class ProcessId:
    """A process of this boot, for ever: its pid, and its start time in clock ticks since boot."""

    pid: int
    start_time: int


def read_stat(pid: int | str) -> tuple[str, list[str]] | None:
    """The command name and the fields 3.. of /proc/PID/stat; None when there is no such process."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        raw = os.read(descriptor, STAT_BYTES)
    except OSError:  # ESRCH: it was reaped between the two calls
        return None
    finally:
        os.close(descriptor)
    # The name may hold spaces and brackets: the last bracket is the one that ends it.
    opening, closing = raw.find(b"("), raw.rfind(b")")
    fields = raw[closing + 2 :].split()
    if opening < 0 or closing < 0 or len(fields) < 20:
        return None
    return raw[opening + 1 : closing].decode("utf-8", "replace"), [field.decode("ascii") for field in fields]


def identify(pid: int) -> ProcessId | None:
    """Who has this pid now; None for nobody. A zombie still has it."""
    stat = read_stat(pid)
    return None if stat is None else ProcessId(pid, int(stat[1][19]))


def is_over(fields: Sequence[str]) -> bool:
    """Whether stat fields are those of a process whose last thread has ended, reaped or not."""
    return fields[0] in "ZXx" and int(fields[17]) <= 1


def is_alive(process: ProcessId) -> bool:
    """Whether exactly this process still runs; a zombie does not."""
    stat = read_stat(process.pid)
    return stat is not None and int(stat[1][19]) == process.start_time and not is_over(stat[1])


def open_pidfd(process: ProcessId) -> int | None:
    """A pidfd of exactly this process; None when it is gone, or the kernel or this Python has no pidfds."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return None
    # Checked after the open: from here on the descriptor can't turn to another process.
    if identify(process.pid) == process:
        return descriptor
    os.close(descriptor)
    return None


def reaped_code(pidfd: int) -> int | None:
    """The exit code (negative: the signal) of a process that its parent has reaped, from a pidfd opened before.

    None while it is not reaped, and on kernels without PIDFD_INFO_EXIT (Linux 6.15, include/uapi/linux/pidfd.h).
    """
    answer = bytearray(_PIDFD_INFO.size)
    _PIDFD_INFO.pack_into(answer, 0, _PIDFD_INFO_EXIT, b"", 0)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, answer)
    except OSError:
        return None
    mask, _, status = _PIDFD_INFO.unpack(answer)
    return os.waitstatus_to_exitcode(status) if mask & _PIDFD_INFO_EXIT else None


def send(process: ProcessId, number: int) -> bool:
    """Send a signal to exactly this process; False when it is gone, replaced, or not ours to signal."""
    descriptor = open_pidfd(process)
    try:
        if descriptor is not None:
            signal.pidfd_send_signal(descriptor, number)
        elif not is_alive(process):
            return False
        else:
            os.kill(process.pid, number)
    except OSError:
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return True


def end(processes: Iterable[ProcessId], ladder: Ladder = END_LADDER) -> list[ProcessId]:
    """Signal these processes step by step until they have ended; returns those that still live.

    A stopped process is continued, since only SIGKILL reaches it otherwise. Takes at most the sum of the ladder's
    waits.
    """
    left = [process for process in processes if is_alive(process)]
    for number, wait_s in ladder:
        for process in left:
            if send(process, number) and number != signal.SIGKILL:
                send(process, signal.SIGCONT)
        left = _still_alive(left, wait_s)
        if not left:
            break
    return left


def _still_alive(processes: list[ProcessId], wait_s: float) -> list[ProcessId]:
    deadline = time.monotonic() + wait_s
    left = [process for process in processes if is_alive(process)]
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = [process for process in left if is_alive(process)]
    return left
