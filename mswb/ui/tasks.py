"""Work beside the event loop: each task is a thread that can report, be cancelled, and fail without harm.

A task's outcome reaches the one who started it on the event loop, whatever pane is in front by then.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from mswb.findings import Finding, MswbError, make
from mswb.jobs.progress import Progress

T = TypeVar("T")
State = Literal["running", "done", "failed", "cancelled"]
KEPT = 50
"""Tasks that are listed after their end."""


class Ticket:
    """What the work of a task gets to say how far it is, and to ask whether it is still wanted."""

    def __init__(self, send: Callable[[Any], None] = lambda value: None) -> None:
        self._cancelled = threading.Event()
        self.progress: Progress | None = None
        self.send = send
        """Hand a value to the ``received`` of the task, on the event loop, while the work goes on."""

    def cancelled(self) -> bool:
        """Whether nobody wants the result any more; long work asks often and returns."""
        return self._cancelled.is_set()

    def report(self, done: float, total: float | None = None, unit: str = "", text: str = "") -> None:
        """Tell the progress; drawn when the drawer is open."""
        self.progress = Progress(done, total, unit, text)

    def wait(self, seconds: float) -> bool:
        """Pause; returns at once, and True, when the work is cancelled."""
        return self._cancelled.wait(seconds)

    def cancel(self) -> None:
        """Ask the work to end."""
        self._cancelled.set()


@dataclass(eq=False)
class Task(Generic[T]):
    """One piece of work. Times are ``time.monotonic()`` seconds."""

    number: int
    title: str
    group: str
    quiet: bool
    work: Callable[[Ticket], T]
    done: Callable[[T], None]
    failed: Callable[[Finding], None] | None
    ticket: Ticket = field(default_factory=Ticket)
    state: State = "running"
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    finding: Finding | None = None

    def cancel(self) -> None:
        """Ask the work to end; its result is dropped."""
        if self.state == "running":
            self.state, self.ended = "cancelled", time.monotonic()
            self.ticket.cancel()

    @property
    def elapsed_s(self) -> float:
        """Seconds it has run so far, or ran."""
        return (self.ended or time.monotonic()) - self.started


class Tasks:
    """All tasks of the session.

    Args:
        deliver: has a function called on the event loop, from any thread (dropped when the app has gone).
        told: called on the event loop when a listed task changes.
        unheard: called with the finding of a failed task that nobody else handles.
    """

    def __init__(
        self,
        deliver: Callable[[Callable[[], None]], None],
        told: Callable[[], None] = lambda: None,
        unheard: Callable[[Finding], None] = lambda finding: None,
    ) -> None:
        self._deliver, self._told, self._unheard = deliver, told, unheard
        self._numbers = itertools.count(1)
        self._all: list[Task[Any]] = []

    @property
    def listed(self) -> tuple[Task[Any], ...]:
        """The tasks a person may want to see, the newest first."""
        return tuple(task for task in reversed(self._all) if not task.quiet)

    @property
    def running(self) -> int:
        """How many listed tasks run."""
        return sum(task.state == "running" for task in self.listed)

    def start(
        self,
        title: str,
        work: Callable[[Ticket], T],
        done: Callable[[T], None],
        *,
        failed: Callable[[Finding], None] | None = None,
        received: Callable[[Any], None] | None = None,
        group: str = "",
        quiet: bool = False,
    ) -> Task[T]:
        """Start a piece of work in a thread; call on the event loop.

        Args:
            received: called on the event loop with each value that the work sends before its end.
            group: an earlier task of the same group is cancelled first.
            quiet: not worth listing (periodic looks).
        """
        if group:
            for other in self._all:
                if other.group == group:
                    other.cancel()
        task = Task(next(self._numbers), title, group, quiet, work, done, failed)
        if received is not None:
            task.ticket.send = lambda value: self._deliver(lambda: self._receive(task, received, value))
        self._all.append(task)
        self._forget()
        threading.Thread(target=self._run, args=(task,), name=f"task {title}", daemon=True).start()
        if not quiet:
            self._told()
        return task

    def cancel_all(self) -> None:
        """Nothing is wanted any more: the session ends."""
        for task in self._all:
            task.cancel()

    def _run(self, task: Task[T]) -> None:
        try:
            result = task.work(task.ticket)
        except MswbError as error:
            finding = error.finding
        except Exception as problem:  # a defect of ours must not end the session
            finding = defect(task.title, problem)
        else:
            self._deliver(lambda: self._finish(task, result))
            return
        self._deliver(lambda: self._fail(task, finding))

    def _finish(self, task: Task[T], result: T) -> None:
        if task.state != "running":
            self._settled(task)
            return
        task.state, task.ended = "done", time.monotonic()
        self._end(task)
        self._call(task, task.done, result)

    def _fail(self, task: Task[T], finding: Finding) -> None:
        if task.state != "running":
            self._settled(task)
            return
        task.state, task.ended, task.finding = "failed", time.monotonic(), finding
        self._end(task)
        self._call(task, task.failed or self._unheard, finding)

    def _settled(self, task: Task[Any]) -> None:
        """A cancelled task's work has come to its end, too."""
        if not task.quiet:
            self._told()

    def _receive(self, task: Task[T], received: Callable[[Any], None], value: Any) -> None:
        if task.state == "running":
            self._call(task, received, value)

    def _call(self, task: Task[T], handler: Callable[[Any], None], value: Any) -> None:
        """A defect in what draws a result must not end the session either."""
        try:
            handler(value)
        except Exception as problem:
            self._unheard(defect(task.title, problem))

    def _end(self, task: Task[Any]) -> None:
        if task.quiet:
            self._all.remove(task)
        else:
            self._told()

    def _forget(self) -> None:
        over = [task for task in self._all if task.state != "running"]
        for task in [one for one in over if one.quiet] + over[:-KEPT]:
            if task in self._all:
                self._all.remove(task)


def defect(title: str, problem: Exception) -> Finding:
    """An exception that nobody expected, as a finding."""
    import traceback

    frame = traceback.extract_tb(problem.__traceback__)[-1]
    values = {"doing": title, "reason": f"{type(problem).__name__}: {problem}"}
    evidence = "".join(traceback.format_exception(problem)[-6:])
    return make("workbench-defect", evidence=evidence, values=values | {"place": f"{frame.name}:{frame.lineno}"})
