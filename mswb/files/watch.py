"""Be woken when files change, and know where that is impossible.

One watchdog observer serves the whole process (an inotify instance each is scarce: 128 a user). A folder is in one of
four states: its *events* wake us; it is *busy*, with so many events that asking every few milliseconds is cheaper; it
is *polled*, because its file system is a network one (inotify sees only this host's changes) or the inotify limits are
used up; or it is *missing* so far.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from mswb.files.mounts import filesystem_type, is_network

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver, ObservedWatch

POLL_S = 0.1
"""Seconds between two looks at a folder without events."""
BUSY_STEP_S = 0.002
"""Least seconds between two looks at a busy folder."""
_BUSY_EVENTS = 30  # so many events within _BUSY_WINDOW_S make a folder busy
_BUSY_WINDOW_S = 0.1
_BUSY_STEP_A_FILE_S = 20e-6  # a look at a file without news costs 5 us: a quarter of a core at most goes into these
_QUIET_S = 0.5  # a busy folder without news for so long gets its events back
_SWEEP_S = 5.0  # everything is looked at this often, in case an event was lost unseen
_LIMITS = frozenset({errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM})

Identity = tuple[int, int]
State = Literal["events", "busy", "polled", "missing"]


@dataclass(frozen=True, slots=True)
class Changes:
    """What may have changed: these paths, and anything in these folders."""

    paths: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.paths or self.folders)


@dataclass(slots=True)
class _Folder:
    path: str
    state: State
    handler: _Handler | None = None
    identity: Identity | None = None
    due: float = 0.0
    last_news: float = 0.0
    quiet: bool = False
    step: float = BUSY_STEP_S
    window_start: float = 0.0
    window_events: int = 0


class Waker:
    """Waits for changes in some folders. Any thread may call its methods; one at a time waits.

    Args:
        events: whether to be woken by events at all; for many files that grow all the time, polling costs less.

    Attributes:
        notes: why folders are polled although events would be better, each reason once, as sentences for the user.
    """

    def __init__(self, *, events: bool = True) -> None:
        self.notes: list[str] = []
        self._events = events
        self._folders: dict[str, _Folder] = {}
        self._condition = threading.Condition()
        self._changed: set[str] = set()
        self._look_at: set[str] = set()
        self._woken = False
        self._next_sweep = time.monotonic() + _SWEEP_S
        self._attached = False

    def watch(self, folder: str) -> None:
        """Wake for changes directly in ``folder``, which may be missing so far. The first wait reports it whole."""
        if folder in self._folders:
            return
        entry = _Folder(folder, "missing")
        self._subscribe(entry)
        with self._condition:
            self._folders[folder] = entry
            self._look_at.add(folder)

    def state(self, folder: str) -> State:
        """How changes in a watched folder are noticed at present."""
        return self._folders[folder].state

    def looked(self, folder: str, *, news: bool, files: int) -> None:
        """Tell how a look at ``folder`` went: whether it brought news, and how many files were looked at."""
        entry = self._folders.get(folder)
        if entry is not None:
            entry.step = max(BUSY_STEP_S, _BUSY_STEP_A_FILE_S * files)
            now = time.monotonic()
            if news:
                entry.last_news = now
            entry.quiet = now - entry.last_news > _QUIET_S  # told by a look: one that came late says nothing yet

    def wake(self) -> None:
        """Make the present or the next :meth:`wait` return at once."""
        with self._condition:
            self._woken = True
            self._condition.notify_all()

    def wait(self, timeout: float) -> Changes:
        """Block until something may have changed, :meth:`wake` is called, or ``timeout`` seconds are over."""
        end = time.monotonic() + timeout
        while True:
            now = time.monotonic()
            due = self._due(now)
            with self._condition:
                changes = Changes(frozenset(self._changed), frozenset(self._look_at | due))
                self._changed.clear()
                self._look_at.clear()
                if changes or self._woken or now >= end:
                    self._woken = False
                    return changes
                self._condition.wait(self._next_due(end) - now)

    def close(self) -> None:
        """Stop watching. The last waker of the process ends the observer's threads."""
        with self._condition:
            entries = list(self._folders.values())
            self._folders.clear()
        for entry in entries:
            self._unsubscribe(entry)
        if self._attached:
            self._attached = False
            _SHARED.detach(self._lost)
        self.wake()

    def _due(self, now: float) -> set[str]:
        """Folders to look at because of the time; also where states change."""
        sweep = now >= self._next_sweep
        if sweep:
            self._next_sweep = now + _SWEEP_S
        due = set()
        for entry in list(self._folders.values()):
            if sweep or (entry.state != "events" and entry.due <= now):
                self._renew(entry, now)
                due.add(entry.path)
        return due

    def _renew(self, entry: _Folder, now: float) -> None:
        """Go to the state that fits. The look that follows finds what changed before the events began."""
        if entry.state == "busy":
            if entry.handler is not None:
                self._unsubscribe(entry)
                entry.last_news, entry.quiet = now, False
            elif entry.quiet:
                self._subscribe(entry)
        elif entry.state == "missing" or (entry.state == "events" and entry.identity != _identity(entry.path)):
            self._unsubscribe(entry)
            self._subscribe(entry)
        entry.due = now + (entry.step if entry.state == "busy" else POLL_S)

    def _next_due(self, end: float) -> float:
        timed = [entry.due for entry in self._folders.values() if entry.state != "events"]
        return min([end, self._next_sweep, *timed])

    def _subscribe(self, entry: _Folder) -> None:
        entry.identity = _identity(entry.path)
        entry.window_events = 0
        if entry.identity is None:
            entry.state = "missing"
            return
        if not self._events:
            entry.state = "polled"
            return
        reason = self._obstacle(entry)
        entry.state = "events" if reason is None else "polled"
        if reason is not None and reason not in self.notes:
            self.notes.append(reason)

    def _obstacle(self, entry: _Folder) -> str | None:
        """Schedule the folder's events, or say why not."""
        kind = filesystem_type(entry.path)
        if is_network(kind):
            return f"{entry.path} is on a network file system ({kind}): it is looked at every {POLL_S:g} s"
        try:
            if not self._attached:
                _SHARED.attach(self._lost)
                self._attached = True
            handler = _Handler(self, entry)
            _SHARED.subscribe(entry.path, entry.identity, handler)
            entry.handler = handler
        except OSError as problem:
            if problem.errno in _LIMITS:
                return f"the inotify limits of this host are used up ({problem.strerror}): files are polled"
            return f"{entry.path} can't be watched ({problem.strerror}): it is looked at every {POLL_S:g} s"
        return None

    def _unsubscribe(self, entry: _Folder) -> None:
        handler, entry.handler = entry.handler, None
        if handler is not None:
            _SHARED.unsubscribe(entry.path, handler)

    def _event(self, entry: _Folder, paths: tuple[str, ...]) -> None:
        """Note an event; called by the observer's thread."""
        now = time.monotonic()
        with self._condition:
            if now - entry.window_start > _BUSY_WINDOW_S:
                entry.window_start, entry.window_events = now, 0
            entry.window_events += 1
            if entry.window_events > _BUSY_EVENTS and entry.state == "events":
                entry.state = "busy"
            self._changed.update(paths)
            self._condition.notify_all()

    def _lost(self) -> None:
        """The kernel dropped events: anything may have changed."""
        with self._condition:
            self._look_at.update(self._folders)
            self._condition.notify_all()


@dataclass(frozen=True, eq=False)
class _Handler:
    """What watchdog calls for each event of one folder."""

    waker: Waker
    entry: _Folder

    def dispatch(self, event: Any) -> None:
        paths = (os.fsdecode(path) for path in (event.src_path, event.dest_path) if path)
        self.waker._event(self.entry, tuple(paths))


class _LostEvents(logging.Handler):
    """Watchdog tells of a queue overflow in its log only; the words must not reach the terminal we draw on."""

    def __init__(self, shared: _SharedObserver) -> None:
        super().__init__(logging.WARNING)
        self._shared = shared

    def emit(self, record: logging.LogRecord) -> None:
        for callback in self._shared.listeners():
            callback()


@dataclass(slots=True)
class _Subscription:
    """One folder's events and who wants them."""

    identity: Identity | None
    watch: ObservedWatch
    handlers: list[_Handler]


class _SharedObserver:
    """The one observer of the process; it runs while somebody is attached."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._observer: BaseObserver | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._subscriptions: dict[str, _Subscription] = {}
        self._log_handler = _LostEvents(self)

    def listeners(self) -> list[Callable[[], None]]:
        return list(self._callbacks)

    def attach(self, lost: Callable[[], None]) -> None:
        """Have the observer run; ``lost`` is called when events were dropped."""
        with self._lock:
            if self._observer is None:
                self._observer = _start_observer()
                logger = logging.getLogger("watchdog")
                logger.addHandler(self._log_handler)
                logger.propagate = False
            self._callbacks.append(lost)

    def subscribe(self, folder: str, identity: Identity | None, handler: _Handler) -> None:
        """Have ``handler`` called for the folder's events.

        Raises:
            OSError: the inotify limits are used up, or the folder can't be watched.
        """
        with self._lock:
            known = self._subscriptions.get(folder)
            if known is not None and known.identity == identity:
                known.handlers.append(handler)
                self._running.add_handler_for_watch(cast(Any, handler), known.watch)
                return
            handlers = [handler]
            if known is not None:  # another folder has this path now: the old one's events are of no use to anyone
                self._unschedule(folder)
                handlers += known.handlers
            watch = self._running.schedule(cast(Any, handler), folder, event_filter=_event_types())
            self._subscriptions[folder] = _Subscription(identity, watch, handlers)
            for other in handlers[1:]:
                self._running.add_handler_for_watch(cast(Any, other), watch)

    def unsubscribe(self, folder: str, handler: _Handler) -> None:
        with self._lock:
            known = self._subscriptions.get(folder)
            if known is None or handler not in known.handlers:
                return
            known.handlers.remove(handler)
            if known.handlers:
                self._running.remove_handler_for_watch(cast(Any, handler), known.watch)
            else:
                self._unschedule(folder)

    @property
    def _running(self) -> BaseObserver:
        assert self._observer is not None
        return self._observer

    def _unschedule(self, folder: str) -> None:
        known = self._subscriptions.pop(folder)
        try:
            self._running.unschedule(known.watch)
        except KeyError:  # its emitter ended by itself: the folder is gone
            pass

    def detach(self, lost: Callable[[], None]) -> None:
        with self._lock:
            self._callbacks.remove(lost)
            if self._callbacks or self._observer is None:
                return
            observer, self._observer = self._observer, None
            self._subscriptions.clear()
            logging.getLogger("watchdog").removeHandler(self._log_handler)
        observer.stop()
        observer.join()


_SHARED = _SharedObserver()


def _start_observer() -> BaseObserver:
    from watchdog.observers import Observer

    observer = Observer()
    observer.start()
    return observer


def _event_types() -> list[Any]:
    """Not "opened" and "closed": our own reading makes those."""
    from watchdog import events

    return [
        events.FileModifiedEvent,
        events.FileCreatedEvent,
        events.FileMovedEvent,
        events.FileDeletedEvent,
        events.DirCreatedEvent,
        events.DirMovedEvent,
    ]


def _identity(folder: str) -> Identity | None:
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino
