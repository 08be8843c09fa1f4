"""The supervision of one run: start its processes, see who ends first, end the rest, write it all down.

One loop in one thread; every disk access that could block is done by the threads of recorder, logwatch and merge.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from mswb.jobs import ending, procs, roles
from mswb.jobs.cgroup import oom_kills
from mswb.jobs.ending import Cast, Step
from mswb.jobs.logwatch import LogWatch
from mswb.jobs.procs import Process
from mswb.jobs.recorder import EVENTS_FILE, Recorder
from mswb.jobs.spec import (
    MSWB_EVENTS,
    MSWB_RUN_ID,
    Event,
    FirstFailure,
    JobSpec,
    ProcessSpec,
    ProcessStatus,
    RunStatus,
)
from mswb.jobs.watch import Ended, Watch
from mswb.signals import ProcessId, identify, send

TICK_S = 0.1
ENDING_TICK_S = 0.04
HEARTBEAT_S = 1.0
COPY_S = 5.0
LINGER_S = 5.0
"""How long what a finished run left behind may go on before it is ended."""
CONSOLE_WAIT_S = 0.5
CODE_WAIT_S = 1.5
"""msrun looks at its workers, and prints a bad exit code, once a second."""
SCHEDULER_DOUBT_S = 0.8
TRACEBACK_DOUBT_S = 3.0
"""How long a dead scheduler waits for a worker that has written its traceback: MindSpore takes seconds to shut down."""
_BLAME = ("worker", "command", "scheduler", "launcher")
SCAN_SHARE = 20
"""A scan of /proc is repeated after this many times its own duration at the earliest: under 5 % of one core."""
STOPPED, KILLED, NOT_FOUND, NOT_STARTED = 130, 137, 127, 126
"""Exit codes of a run, as a shell has them: stopped, killed, no such program, program can't be started."""


class Supervisor:
    """Runs one job to its end. ``status`` is the truth; the recorder writes copies of it."""

    def __init__(self, folder: Path, spec: JobSpec, status: RunStatus, recorder: Recorder) -> None:
        self.spec = spec
        self.status = status
        self._folder = folder
        self._recorder = recorder
        self._watch = Watch()
        consoles = [one.log for one in spec.processes if one.role == "launcher"]
        consoles += [one.log for one in spec.adopted if one.role == "launcher" and one.log]
        self._logwatch = LogWatch(consoles[0] if consoles else None)
        self._rank_logs = roles.Logs.of(spec.worker_logs, spec.scheduler_log)
        self._tracked: dict[ProcessId, ProcessStatus] = {}
        self._unknown: dict[ProcessId, float] = {}
        self._suspects: list[ProcessStatus] = []
        self._question: tuple[int, float] | None = None
        self._signalled: set[ProcessId] = set()
        self._marked: set[ProcessId] = set()
        self._steps: list[Step] = []
        self._step_until: float | None = None
        self._all_well_since: float | None = None
        self._next_scan = self._next_beat = self._next_copy = 0.0
        self._oom_before = self._oom_kills()
        self._scan_s = 0.0
        self._done = False

    def run(self) -> None:
        """Start everything and return when nothing of the run is left."""
        self._start()
        while not self._done:
            ended, numbers = self._watch.wait(max(ENDING_TICK_S, 4 * self._scan_s) if self._steps else TICK_S)
            for number in numbers:
                self._on_signal(number)
            for one in ended:
                self._on_end(one)
            self._resolve_codes()
            self._find_ranks()
            self._judge()
            self._go_on_ending()
            self._beat()
        self._logwatch.close()
        if self.status.exit_code is None:
            self.status.exit_code = self._result()

    def end_everything(self) -> list[Process]:
        """Kill every member at once, whatever state the supervision is in; returns those that still live."""
        until = time.monotonic() + ending.KILL_WAIT_S
        left = self._live(fresh=True)
        while left and time.monotonic() < until:
            for process in left:
                send(process.id, signal.SIGKILL)
            self._watch.wait(ENDING_TICK_S)
            left = self._live(fresh=True)
        return left

    # Start

    def _start(self) -> None:
        self.status.state = "running"
        self.status.started = time.time()
        for process in self.spec.processes:
            try:
                self._spawn(process)
            except OSError as problem:
                self._could_not_start(process, problem)
                break
        self._note()

    def _spawn(self, spec: ProcessSpec) -> None:
        os.makedirs(os.path.dirname(spec.log), mode=0o700, exist_ok=True)
        log = os.open(spec.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        own = {MSWB_RUN_ID: self.spec.id, MSWB_EVENTS: str(self._folder / EVENTS_FILE)}
        try:
            child = subprocess.Popen(
                spec.argv,
                cwd=self.spec.cwd,
                env={**self.spec.env, **spec.env, **own},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)
        child.returncode = 0  # reaped by the watch; Popen must not wait for it a second time
        process = identify(child.pid)
        assert process is not None, "a child can't be gone before we reap it"
        self._track(process, ProcessStatus(role=spec.role, pid=0, start_time=0, rank=spec.rank, log=spec.log))

    def _could_not_start(self, process: ProcessSpec, problem: OSError) -> None:
        missing = isinstance(problem, FileNotFoundError)
        self.status.exit_code = NOT_FOUND if missing else NOT_STARTED
        named = os.fsdecode(problem.filename) if problem.filename else process.argv[0]
        self.status.message = f"the {process.role} could not be started: {named}: {problem.strerror}"
        self._event("not-started", text=self.status.message, role=process.role, rank=process.rank)
        self.status.stopped_by = "failure"
        self._begin(ending.after_failure())

    def _track(self, process: ProcessId, status: ProcessStatus) -> None:
        status.pid, status.start_time = process.pid, process.start_time
        status.state, status.started = "running", procs.started_at(process)
        self._tracked[process] = status
        self.status.processes.append(status)
        if status.log:
            self._logwatch.add(status.log)
        self._watch.add(process)
        word = "worker-found" if status.role == "worker" else "started"
        self._event(word, of=status)

    # What happens

    def _on_signal(self, number: int) -> None:
        # SIGHUP: the terminal closed and the run goes on. After a failure everything ends within two seconds anyway.
        if number == signal.SIGHUP or self.status.stopped_by == "failure":
            return
        again = self.status.stopped_by == "user"
        only_leftovers = bool(self._steps) and not again
        kill = number == signal.SIGUSR1 or again or only_leftovers
        self.status.stop_requested = self.status.stop_requested or time.time()
        if not only_leftovers:
            self.status.stopped_by = "user"
            self.status.exit_code = KILLED if kill else STOPPED
        self._event("stopping", text="kill" if kill else "stop")
        importing = self._cast().launcher is not None and not self._of("worker")
        self._begin((ending.KILL,) if kill else ending.on_stop(self.spec.stop_grace_s, importing=importing))

    def _on_end(self, ended: Ended) -> None:
        status = self._tracked[ended.process]
        status.state, status.ended = "ended", time.time()
        status.ended_by_us = ended.process in self._signalled
        self._next_scan = 0.0  # a launcher that ended leaves its workers to us
        if ended.code is None and not self._steps:
            self._unknown[ended.process] = time.monotonic() + CODE_WAIT_S
            return
        self._conclude_process(status, ended.code)

    def _conclude_process(self, status: ProcessStatus, code: int | None) -> None:
        status.exit_code = code
        if self.status.first_failure is not None:
            self._mark_killed_by_msrun(status)
        if code and not self._steps:
            self._suspects.append(status)
        self._event("process-ended", of=status, exit_code=code)
        self._note()

    def _mark_killed_by_msrun(self, peer: ProcessStatus) -> None:
        """After the first failure msrun SIGKILLs the peers, for the same reason as we would."""
        if self.spec.under_msrun and peer.role == "worker" and peer.exit_code == -signal.SIGKILL:
            peer.ended_by_us = True

    def _resolve_codes(self) -> None:
        """Take a code that we came too late for from msrun's console; give up after a while."""
        for process, until in list(self._unknown.items()):
            self._logwatch.ask_codes()
            code = self._code_by_msrun(process.pid)
            if code is not None or time.monotonic() > until or self._steps:
                del self._unknown[process]
                self._conclude_process(self._tracked[process], code)

    def _code_by_msrun(self, pid: int) -> int | None:
        well = any(status.exit_code == 0 for status in self._of("launcher"))
        return self._logwatch.codes.get(pid, 0 if well else None)  # it exits 0 only when all of them did

    def _find_ranks(self) -> None:
        launcher = self._cast().launcher
        if launcher is None or self._steps or time.monotonic() < self._next_scan:
            return
        began = time.monotonic()
        table = procs.scan()
        known = {process.pid for process in self._tracked}
        children = [one for one in table.values() if one.parent in (launcher, os.getpid()) and one.pid not in known]
        ranks = frozenset(status.rank for status in self._of("worker") if status.rank is not None)
        parts = roles.Known(ranks, self.spec.scheduler_log is None or bool(self._of("scheduler")))
        for found in roles.find(children, self._rank_logs, parts):
            fresh = ProcessStatus(role=found.role, pid=0, start_time=0, rank=found.rank, log=found.log)
            self._track(found.process.id, fresh)
            self._note()
        missing = len(self._of("worker")) < max(1, self.spec.expected_workers)
        pause = TICK_S if missing else HEARTBEAT_S
        self._next_scan = time.monotonic() + max(pause, SCAN_SHARE * (time.monotonic() - began))

    def _judge(self) -> None:
        """Decide whether the run goes on: a failure ends it, so does the end of all its processes."""
        if self._steps or self._unknown or self._done:
            return
        if self._suspects and self.spec.kind == "launch":
            if self._console_was_read() and not self._only_scheduler_so_far():
                self._fail(self._first_bad())
        elif all(status.state == "ended" for status in self.status.processes):
            self._begin(ending.leftovers(LINGER_S, self.spec.stop_grace_s))
        elif self._all_workers_well():
            self._all_well_since = self._all_well_since or time.monotonic()
            if time.monotonic() > self._all_well_since + self.spec.scheduler_grace_s:
                self._event("stopping", text="all workers ended well, scheduler or launcher did not end")
                self._begin(ending.leftovers(0.0, self.spec.stop_grace_s))

    def _console_was_read(self) -> bool:
        """Whether msrun has had its say, where it may know better.

        It may have reaped a worker before we ever saw it, and the SIGKILL we see is its own, of a peer. It prints the
        pid and code of the one that failed before it kills, so a look into its console after the death settles it.
        """
        doubtful = all(one.role == "launcher" or one.exit_code == -signal.SIGKILL for one in self._suspects)
        if not doubtful or self._cast().launcher is None:
            return True
        if self._question is None:
            self._question = (self._logwatch.ask_codes(), time.monotonic() + CONSOLE_WAIT_S)
        number, until = self._question
        return self._logwatch.answered >= number or time.monotonic() > until

    def _only_scheduler_so_far(self) -> bool:
        """Whether to wait a moment for a worker: the scheduler runs the same script, started first, and dies first.

        A missing module or a typo ends all of them, and then the rank is what a person looks for.
        """
        only = all(one.role == "scheduler" for one in self._suspects)
        undecided = [status for status in self._of("worker") if status.state != "ended"]
        if not only or not undecided:
            return False
        waited = time.time() - (self._suspects[0].ended or 0.0)
        if waited < SCHEDULER_DOUBT_S:
            self._logwatch.ask_failing([status.log for status in undecided if status.log])
            return True
        return waited < TRACEBACK_DOUBT_S and self._logwatch.failing

    def _first_bad(self) -> ProcessStatus:
        """Who failed first: by msrun's word, else the first worker; msrun's own end is only an echo."""
        for pid, code in self._logwatch.codes.items():
            return self._named_by_msrun(pid, code)
        first = min(self._suspects, key=lambda one: _BLAME.index(one.role))
        # After the last worker msrun waits in the kernel for the scheduler, so nobody else ever sees its code.
        unseen = [status for status in self._of("scheduler") if status.state == "ended" and status.exit_code is None]
        if first.role == "launcher" and first.exit_code == 1 and unseen and self._all_workers_well():
            unseen[0].exit_code = first.exit_code
            return unseen[0]
        return first

    def _named_by_msrun(self, pid: int, code: int) -> ProcessStatus:
        known = next((status for status in self._of("worker") if status.pid == pid), None)
        if known is None:
            missing = sorted(set(self.spec.worker_logs) - {status.rank for status in self._of("worker")})
            rank = missing[0] if len(missing) == 1 else None
            log = self.spec.worker_logs.get(missing[0]) if len(missing) == 1 else None
            now = time.time()
            known = ProcessStatus(role="worker", pid=pid, start_time=0, rank=rank, log=log, state="ended", ended=now)
            self.status.processes.append(known)
        known.exit_code = code
        return known

    def _all_workers_well(self) -> bool:
        workers = self._of("worker")
        enough = len(workers) >= max(1, self.spec.expected_workers)
        return enough and all(status.state == "ended" for status in workers)

    def _oom_kills(self) -> int:
        return oom_kills()

    def _result(self) -> int | None:
        """The exit code of a run that nothing failed in and nobody stopped."""
        deciding = self._of("launcher") or self._of("command")
        codes = [status.exit_code for status in deciding if not status.ended_by_us]
        return next((code for code in codes if code), 0)

    def _fail(self, status: ProcessStatus) -> None:
        self._name_first(status)
        self.status.exit_code = status.exit_code or 0
        self.status.stopped_by = "failure"
        self._begin(ending.after_failure())

    def _name_first(self, status: ProcessStatus) -> None:
        code = status.exit_code or 0
        when = status.ended or time.time()
        self.status.first_failure = FirstFailure(
            role=status.role, rank=status.rank, pid=status.pid, exit_code=code, time=when
        )
        self.status.oom_kills = max(0, self._oom_kills() - self._oom_before)
        for peer in self._suspects:
            if peer is not status:
                self._mark_killed_by_msrun(peer)
        self._event("first-failure", of=status, exit_code=code)

    # The end

    def _begin(self, steps: Sequence[Step]) -> None:
        self._steps = list(steps)
        self._step_until = None
        self._marked = self._marks(procs.scan())
        if self.status.stopped_by:
            self.status.state = "stopping"
        self._note()

    def _go_on_ending(self) -> None:
        while self._steps and not self._done:
            step, live = self._steps[0], self._live()
            if not live and not self._live(fresh=True):
                self._done = all(status.state == "ended" for status in self.status.processes)
                return
            self._send_step(step, live)
            until = self._step_until or 0.0
            if ending.awaited(step, live, self._cast()) and time.monotonic() < until:
                return
            self._next_step(live)

    def _send_step(self, step: Step, live: list[Process]) -> None:
        if self._step_until is not None and not step.repeat:
            return
        if self._step_until is None:
            self._step_until = time.monotonic() + step.wait_s
        cast = self._cast()
        if ending.spares_launcher(step, live, cast):
            self._signal([one for one in live if one.pid == cast.launcher], signal.SIGSTOP)
        if step.number:
            self._signal(ending.targets(step, live, cast), step.number)

    def _signal(self, processes: list[Process], number: int) -> None:
        for process in processes:
            if number == ending.STACK_SIGNAL:
                if procs.catches(process.pid, number) and send(process.id, number):
                    self._event("stacks", of=self._tracked[process.id])
                continue
            if send(process.id, number) and number != signal.SIGSTOP:
                self._signalled.add(process.id)
            if number in (signal.SIGTERM, signal.SIGINT):
                send(process.id, signal.SIGCONT)

    def _next_step(self, live: list[Process]) -> None:
        self._steps.pop(0)
        self._step_until = None
        self._marked |= self._marks(procs.scan())
        if not self._steps:
            stuck = ", ".join(f"{one.pid} ({one.name})" for one in live[:20])
            self.status.message = f"these processes hang in the kernel and could not be ended: {stuck}"
            self._done = True

    def _live(self, *, fresh: bool = False) -> list[Process]:
        """The members that have not ended: our descendants, and who carries our mark; never ourselves."""
        began = time.monotonic()
        table = procs.scan()
        self._scan_s = time.monotonic() - began
        if fresh:
            self._marked |= self._marks(table)
        pids = procs.descendants(table, [os.getpid()])
        pids |= {one.pid for one in self._marked if one.pid in table and table[one.pid].id == one}
        return [table[pid] for pid in sorted(pids) if not table[pid].over]

    def _marks(self, table: dict[int, Process]) -> set[ProcessId]:
        above = procs.ancestors(table, os.getpid())
        return {table[pid].id for pid in procs.marked(table, self.spec.id) - above}

    # What is written down

    def _beat(self) -> None:
        if time.monotonic() < self._next_beat:
            return
        self._next_beat = time.monotonic() + HEARTBEAT_S
        for status in self.status.processes:
            growth = self._logwatch.growth.get(status.log or "")
            # What a log gains after a stop was asked for is the stacks and last words, no sign of progress.
            if growth is not None and not (
                self.status.stop_requested and (growth.last or 0.0) > self.status.stop_requested
            ):
                status.last_output, status.longest_pause_s = growth.last, growth.longest_pause_s
            if status.state == "running":
                status.peak_rss_bytes = procs.peak_memory(status.pid) or status.peak_rss_bytes
        self.status.oom_kills = max(0, self._oom_kills() - self._oom_before)
        self._note(copy=time.monotonic() >= self._next_copy)

    def _note(self, *, copy: bool = True) -> None:
        self.status.heartbeat = time.time()
        if copy:
            self._next_copy = time.monotonic() + COPY_S
        self._recorder.status(self.status, copy=copy)

    def _event(self, word: str, *, of: ProcessStatus | None = None, **keys: object) -> None:
        about = {"rank": of.rank, "role": of.role, "pid": of.pid} if of else {}
        self._recorder.event(Event(time=time.time(), event=word, **{**about, **keys}))  # type: ignore[arg-type]

    def _of(self, role: str) -> list[ProcessStatus]:
        return [status for status in self.status.processes if status.role == role]

    def _cast(self) -> Cast:
        launchers = [status.pid for status in self._of("launcher")] if self.spec.under_msrun else []
        schedulers = [status.pid for status in self._of("scheduler")]
        workers = frozenset(status.pid for status in self._of("worker"))
        return Cast(workers, next(iter(schedulers), None), next(iter(launchers), None))
