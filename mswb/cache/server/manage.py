"""What a person does with a server: start and stop it, make and destroy sessions, ask for their numbers."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mswb.cache.server import admin, answers, explain, history, sources
from mswb.cache.server.admin import Admin, Start, call
from mswb.cache.server.answers import Cached
from mswb.cache.server.running import Server, look
from mswb.cache.server.sources import NOTHING
from mswb.findings import Finding, MswbError, make, stop
from mswb.inside.server_cache import Note
from mswb.settings import Settings
from mswb.signals import ProcessId, is_alive

STOP_WAIT_S = 15.0
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Session:
    """A session with its caches. ``created``: seconds since the epoch, None where no log tells it.

    ``notes``: the pipelines of trainings under ``mswb run`` that used it; ``changes``: what has changed since they
    filled it. ``compared``: a person named the data, and it was compared with the time of the session.
    """

    id: int
    port: int
    caches: tuple[Cached, ...] = ()
    created: float | None = None
    notes: tuple[Note, ...] = ()
    changes: sources.Changes = NOTHING
    compared: bool = False

    @property
    def status(self) -> str:
        """``stale-source``, ``ok``, or ``unverified`` where nobody knows what it was filled from."""
        if self.changes:
            return "stale-source"
        return "ok" if self.compared or self.notes else "unverified"


def start(program: Admin, wanted: Start) -> Server:
    """Start a server and see that it is there.

    Raises:
        MswbError: ``cache-server-running``, ``cache-server-spill``, ``cache-server-refused`` and those of
            :func:`mswb.cache.server.explain.unreachable`.
    """
    running = _mine(wanted.port)
    if running is not None:
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(running.started))
        raise stop(
            "cache-server-running",
            values={"port": wanted.port, "pid": running.process.pid, "since": since},
            exit_code=1,
        )
    if wanted.spill is not None:
        _prepare(wanted.spill)
    words = wanted.words()
    answer = call(program, *words, timeout_s=admin.START_TIMEOUT_S)
    made = answers.started(answer.text)
    server = _mine(wanted.port)
    if answer.code or made is None or server is None:
        raise _failed(wanted.port, words, answer.text, wanted.spill)
    return server


def stop_server(program: Admin, port: int) -> Server | None:
    """Stop a server and wait until its process has ended; returns what it was.

    Raises:
        MswbError: it does not answer, or does not end.
    """
    server = _mine(port)
    words = ["--stop", "-p", str(port)]
    answer = call(program, *words)
    if answer.code:
        raise _failed(port, words, answer.text, None)
    if server is not None and not _ended(server.process):
        raise admin.refused(tuple(words), f"process {server.process.pid} is still there after {STOP_WAIT_S:.0f} s")
    return server


def create(program: Admin, port: int) -> int:
    """Make a session and return its number.

    Raises:
        MswbError: no server answers, or it refuses.
    """
    words = ["--generate_session", "-p", str(port)]
    answer = call(program, *words)
    session = answers.created(answer.text)
    if answer.code or session is None:
        raise _failed(port, words, answer.text, None)
    return session


def destroy(program: Admin, port: int, session: int) -> None:
    """Destroy a session with all its rows; a training that uses it dies.

    Raises:
        MswbError: ``cache-session-unknown``, no server answers, or it refuses.
    """
    words = ["--destroy_session", str(session), "-p", str(port)]
    answer = call(program, *words)
    if answer.code and answers.failure(answer.text) == "session-unknown":
        raise unknown_session(port, session, rows(program, port))
    if answer.code:
        raise _failed(port, words, answer.text, None)


def rows(program: Admin, port: int) -> tuple[Cached, ...]:
    """The caches of all sessions of a server.

    Raises:
        MswbError: no server answers; the finding says why.
    """
    found = admin.list_sessions(program, port)
    if found is None:
        raise MswbError(explain.unreachable(port, look(), os.getuid()), 1)
    return found


def sessions(program: Admin, port: int, settings: Settings) -> list[Session]:
    """The sessions of a server with what is known of their making and of the files they were filled from.

    Raises:
        MswbError: no server answers.
    """
    found = rows(program, port)
    server = _mine(port)
    made = history.of(server.process.pid).sessions if server else {}
    result = []
    for number in dict.fromkeys(row.session for row in found):
        began = server.started if server is not None else 0.0  # what is older was of an earlier server
        noted = sources.notes_of(settings.runs_dir, number)
        notes = tuple(one for one in noted if one.port == port and one.time >= began)
        caches = tuple(row for row in found if row.session == number)
        result.append(Session(number, port, caches, made.get(number), notes, sources.of_notes(notes)))
    return result


def unknown_session(port: int, session: int, known: Sequence[Cached]) -> MswbError:
    """The error for a session that a server does not have."""
    numbers = ", ".join(map(str, dict.fromkeys(row.session for row in known))) or "none"
    return stop("cache-session-unknown", values={"port": port, "session": session, "known": numbers}, exit_code=1)


def stale(session: int, port: int, changes: sources.Changes, *, sure: bool) -> Finding:
    """The finding for a session that serves rows of files that have changed; its code is the status, stale-source.

    Args:
        sure: what filled it was noted; otherwise only the time of the session is known, and a change may have come
            between that and the first row.
    """
    values = {
        "session": session,
        "port": port,
        "reason": str(changes),
        "added": list(changes.added[: sources.MAX_NAMED]),
        "removed": list(changes.removed[: sources.MAX_NAMED]),
        "changed": list(changes.changed[: sources.MAX_NAMED]),
        "code": list(changes.code),
    }
    return replace(make("stale-session" if sure else "stale-session-maybe", values=values), code="stale-source")


def _mine(port: int) -> Server | None:
    server = look().server(port)
    return server if server is not None and server.uid == os.getuid() else None


def _prepare(folder: str) -> None:
    """Make the spill folder, which the server itself does not."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise stop("cache-server-spill", values={"path": folder, "reason": reason}) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise stop("cache-server-spill", values={"path": folder, "reason": os.strerror(errno.EACCES)})


def _failed(port: int, words: Sequence[str], text: str, spill: str | None) -> MswbError:
    """The error of a call that failed, by what the program said."""
    kind = answers.failure(text)
    if kind == "unreachable":
        return MswbError(explain.unreachable(port, look(), os.getuid()), 1)
    problem = answers.spill_problem(text)
    if kind == "spill" or problem is not None:
        reason = os.strerror(problem[1]) if problem else answers.reason(text)
        return stop("cache-server-spill", values={"path": spill or "", "reason": reason})
    return admin.refused(tuple(words), answers.reason(text))


def _ended(process: ProcessId) -> bool:
    deadline = time.monotonic() + STOP_WAIT_S
    while is_alive(process) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    return not is_alive(process)


def compared(session: Session, paths: Sequence[str]) -> tuple[Session, list[Finding]]:
    """A session with what has become of the data at ``paths`` since it was made, and the findings about it.

    Without paths only what a training under ``mswb run`` has noted is compared.

    Raises:
        MswbError: ``path-missing``.
    """
    found: list[Finding] = []
    changes, created = session.changes, session.created
    if paths:
        if created is None:
            running = _mine(session.port)
            created = running.started if running else None
            found.append(make("session-time-unknown", values={"session": session.id}))
        for path in paths:
            if not os.path.exists(path):
                raise stop("path-missing", values={"path": path})
        filled = any(row.rows for row in session.caches)
        changes += sources.since(paths, created) if created is not None and filled else NOTHING
    if changes:
        found.append(stale(session.id, session.port, changes, sure=bool(session.changes)))
    return replace(session, changes=changes, created=created, compared=bool(paths)), found
