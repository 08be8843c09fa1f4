"""The thread behind a log view: it follows the files, does the model's work in steps, and answers questions.

One thread and one waker serve all files of a view, beside the thread that reads the visible lines. The one who draws
asks for things with :meth:`LogEngine.do` and :meth:`LogEngine.ask`, and reads :attr:`LogEngine.snapshot`.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from mswb.files.followset import descriptor_budget
from mswb.files.turns import TURN
from mswb.files.watch import Changes, Waker
from mswb.launch.logview.finding import Ground
from mswb.launch.logview.model import LogModel
from mswb.launch.logview.reading import LineReader
from mswb.launch.logview.source import ShownLog
from mswb.launch.logview.state import Snapshot

T = TypeVar("T")
PACE_S = 0.2
"""Least seconds between two looks at files that grow."""
HIDDEN_PACE_S = 1.0
_IDLE_S = 5.0


class LogEngine:
    """Follows some files and keeps their snapshot.

    Args:
        changed: called by our thread when there is a new snapshot.
        arrived: called by our thread when lines that were missing have been read.
        deliver: has a function called by the one who draws, from any thread.
        failed: called by our thread with a defect of ours; the thread goes on.
    """

    def __init__(
        self,
        changed: Callable[[], None],
        arrived: Callable[[], None],
        deliver: Callable[[Callable[[], None]], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self.snapshot = Snapshot()
        self.reader = LineReader(arrived)
        self.hidden = False
        self._changed, self._deliver, self._failed = changed, deliver, failed
        self._model = LogModel()
        self._waker = Waker()
        self._watched: dict[str, dict[str, None]] = {}
        self._looked_at: frozenset[str] = frozenset()
        self._next_look = self._next_tail = 0.0
        self._read_from: object = None
        self._jobs: deque[Callable[[], None]] = deque()
        self._nudge = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def open(self, logs: Sequence[ShownLog]) -> None:
        """Show these files instead of the present ones."""
        self._queue(lambda: self._open(logs))

    def add(self, logs: Sequence[ShownLog]) -> None:
        """Show these files too."""
        self._queue(lambda: self._add(logs))

    def do(self, work: Callable[[LogModel], object]) -> None:
        """Have the model told something."""
        self._queue(lambda: (work(self._model), None)[1])

    def ask(self, question: Callable[[LogModel, Ground, Callable[[], bool]], T], answer: Callable[[T], None]) -> None:
        """Have a question answered; ``answer`` is called by the one who draws. The next question ends this one."""

        def work() -> None:
            found = question(self._model, self._ground(), self._interrupted)
            self._publish()
            self._deliver(lambda: answer(found))

        self._queue(work)

    def close(self) -> None:
        """End the threads and give everything back. Nothing is delivered any more."""
        self._closed = True
        self.reader.close()
        self._wake()

    def _queue(self, job: Callable[[], None]) -> None:
        self._jobs.append(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mswb-log", daemon=True)
            self._thread.start()
        self._wake()

    def _wake(self) -> None:
        self._nudge.set()
        self._waker.wake()

    def _interrupted(self) -> bool:
        """Asked between two pieces of work, which is also where they wait for their turn."""
        TURN.wait()
        return self._closed or bool(self._jobs)

    def _run(self) -> None:
        try:
            while not self._closed:
                try:
                    self._round()
                except Exception as problem:
                    self._failed(problem)
                    self._nudge.wait(_IDLE_S)
        finally:
            self._waker.close()
            self._model.close()

    def _round(self) -> None:
        """Do what was asked for, work until nothing is left, and wait for news."""
        self._nudge.clear()
        while self._jobs:
            self._jobs.popleft()()
        if not self._model.is_built and time.monotonic() >= self._next_tail:
            self._show_tail()
        before = self._model.bytes_indexed
        more = self._model.step(self._interrupted)
        for folder in self._looked_at:
            news = self._model.bytes_indexed != before
            self._waker.looked(folder, news=news, files=len(self._watched.get(folder, ())))
        self._looked_at = frozenset()
        self._publish()
        if not more and not self._interrupted():
            self._take(self._waker.wait(_IDLE_S), self._next_look - time.monotonic())
        elif self._model.is_built and time.monotonic() >= self._next_look:
            # What is written meanwhile does not wait for work that takes long; but the first build must come to an end.
            self._take(self._waker.wait(0.0), 0.0)

    def _take(self, changes: Changes, pause: float) -> None:
        """Have the model look at what may have changed, but not more often than is good."""
        if changes and pause > 0 and not self._interrupted():
            self._nudge.wait(pause)
        self._next_look = time.monotonic() + (HIDDEN_PACE_S if self.hidden else PACE_S)
        self._looked_at = changes.folders
        for path in changes.paths.union(*(self._watched.get(folder, ()) for folder in changes.folders)):
            self._model.changed(path)

    def _publish(self) -> None:
        indexes = self._model.indexes()
        read_from = [(number, index.generation) for number, index in indexes.items()]
        if read_from != self._read_from:
            self.reader.use(indexes)
            self._read_from = read_from
        if not self._closed:
            self.snapshot = self._model.snapshot()
            self._changed()

    def _open(self, logs: Sequence[ShownLog]) -> None:
        self._model.close()
        self._waker.close()
        self._waker, self._watched = Waker(), {}
        self._model = LogModel(logs, descriptor_budget(), self.reader.forget)
        self._read_from = None
        self._show_tail()
        self._publish()
        self._watch(logs)

    def _show_tail(self) -> None:
        """Until all lines are counted, the ends of the files are followed alone; that takes little of the time."""
        begun = time.monotonic()
        self._model.show_tail()
        self._next_tail = time.monotonic() + max(PACE_S, (time.monotonic() - begun) * 10)

    def _add(self, logs: Sequence[ShownLog]) -> None:
        self._model.add(logs)
        self._watch(logs)

    def _watch(self, logs: Sequence[ShownLog]) -> None:
        for log in logs:
            folder = os.path.dirname(log.path)
            self._watched.setdefault(folder, {})[log.path] = None
            self._waker.watch(folder)

    def _ground(self) -> Ground:
        seen = self._model.snapshot()
        offsets = {number: log.offset_us for number, log in enumerate(seen.files)}
        return Ground(seen.rows, seen.passing, self._model.indexes(), offsets)
