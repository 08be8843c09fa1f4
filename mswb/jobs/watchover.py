"""The supervision of a run that we did not start: watch its processes, name the first failure, let it end as it does.

A signal is sent on request only (``jobs stop``, or ``end_peers`` after a failure), and only to the adopted processes
and what descends from them, each by pid and start time.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from mswb.jobs import cgroup, ending, procs
from mswb.jobs.procs import Process
from mswb.jobs.recorder import Recorder
from mswb.jobs.spec import AdoptedProcess, JobSpec, ProcessStatus, RunStatus
from mswb.jobs.supervise import STOPPED, Supervisor
from mswb.signals import ProcessId

FAMILY_S = 5.0
"""How often the descendants are looked up, so that one whose parent has died is still known as one."""
_RANKS = ("worker", "scheduler")
INTERRUPT_WAIT_S = 1.2
"""How long msrun takes from killing its workers on Ctrl+C to its own end, as a rule."""


class Keeper(Supervisor):
    """Watches an adopted run to its end."""

    def __init__(self, folder: Path, spec: JobSpec, status: RunStatus, recorder: Recorder) -> None:
        first = spec.adopted[0].pid
        self._counters = cgroup.counters(cgroup.ROOT, Path(f"/proc/{first}/cgroup"))
        self._family: set[ProcessId] = set()
        self._next_family = 0.0
        super().__init__(folder, spec, status, recorder)

    def end_everything(self) -> list[Process]:
        """Nothing: a failure of ours must not end a run that others started."""
        return []

    def _start(self) -> None:
        self.status.state = "running"
        for one in self.spec.adopted:
            self._track(ProcessId(one.pid, one.start_time), _first_status(one))
        self.status.started = min(one.started for one in self.status.processes)
        self._event("adopted", text=f"{len(self.spec.adopted)} processes that ran already")
        self._note()

    def _judge(self) -> None:
        if self._steps or self._unknown or self._done:
            return
        over = all(one.state == "ended" for one in self.status.processes)
        if self._was_interrupted():
            self._note_interrupt()
            self._done = over
        elif self._suspects and self.status.first_failure is None:
            if self._is_settled():
                self._on_failure(self._first_bad())
        else:
            self._done = over

    def _was_interrupted(self) -> bool:
        """Whether msrun got Ctrl+C: it kills its workers then, and ends well, which it never does otherwise."""
        killed = any(one.exit_code == -signal.SIGKILL for one in self._of("worker"))
        return self.spec.under_msrun and killed and any(one.exit_code == 0 for one in self._of("launcher"))

    def _note_interrupt(self) -> None:
        if self.status.stopped_by is None:
            self.status.stopped_by, self.status.exit_code = "user", STOPPED
            self.status.first_failure = None  # it may have been named while msrun was slow to end
            self._event("stopping", text="msrun was interrupted, and killed its workers")
            self._note()

    def _is_settled(self) -> bool:
        """Whether it is known who failed; kills without a word of msrun may be its own, and then it ends soon."""
        if not self._console_was_read() or self._only_scheduler_so_far():
            return False
        if not self._may_be_interrupt():
            return True
        self._logwatch.ask_codes()
        return time.time() > (self._suspects[0].ended or 0.0) + INTERRUPT_WAIT_S or not self._launcher_lives()

    def _may_be_interrupt(self) -> bool:
        killed = all(one.exit_code == -signal.SIGKILL and one.role in _RANKS for one in self._suspects)
        return self.spec.under_msrun and killed and not self._logwatch.codes

    def _launcher_lives(self) -> bool:
        return any(one.state != "ended" for one in self._of("launcher"))

    def _on_failure(self, status: ProcessStatus) -> None:
        if self.spec.end_peers:
            self._fail(status)
        else:
            self._name_first(status)
            self._note()

    def _result(self) -> int | None:
        """The launcher's exit code, else the first failure's, else 0 when all are known to be well; else unknown."""
        codes = [one.exit_code for one in self._of("launcher")]
        if self.status.first_failure is not None:
            codes = [self.status.first_failure.exit_code]
        elif not codes or None in codes:
            codes = [one.exit_code for one in self.status.processes if one.role != "launcher"]
        if None in codes:
            return next((code for code in codes if code), None)
        return next((code for code in codes if code), 0)

    def _oom_kills(self) -> int:
        return cgroup.count(self._counters)

    def _beat(self) -> None:
        if time.monotonic() >= self._next_family:
            self._next_family = time.monotonic() + max(FAMILY_S, 20 * self._scan_s)
            self._live()
        super()._beat()

    def _live(self, *, fresh: bool = False) -> list[Process]:
        """The adopted processes and their descendants, as far as they live; never what we descend from ourselves.

        In a container an adopted process may be pid 1, and then we are its child as everyone is.
        """
        began = time.monotonic()
        table = procs.scan()
        self._scan_s = time.monotonic() - began
        above = procs.ancestors(table, os.getpid())
        roots = {one.pid for one in self._tracked if one.pid in table and table[one.pid].id == one}
        known = {one.pid for one in self._family if one.pid in table and table[one.pid].id == one}
        below = (known | procs.descendants(table, roots - above)) - above
        self._family = {table[pid].id for pid in below}
        self.status.family = [(one.pid, one.start_time) for one in sorted(self._family)]
        return [table[pid] for pid in sorted(roots | below) if not table[pid].over]

    def _marks(self, table: dict[int, Process]) -> set[ProcessId]:
        return set()

    def _signal(self, processes: list[Process], number: int) -> None:
        # The handler that prints stacks is our own; in a process that we did not start the number may mean anything.
        if number != ending.STACK_SIGNAL:
            super()._signal(processes, number)


def _first_status(one: AdoptedProcess) -> ProcessStatus:
    return ProcessStatus(role=one.role, pid=0, start_time=0, rank=one.rank, log=one.log)
