"""``mswb cache server``: MindSpore's dataset cache server, without importing MindSpore."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from mswb.cli import cache_server_text as text
from mswb.cli import output
from mswb.findings import Finding, language
from mswb.settings import Settings, load_settings

if TYPE_CHECKING:
    from mswb.cache.server.admin import Admin
    from mswb.cache.server.manage import Session

KIND = "cache_server"
DEFAULT_PORT = 50052
_TERMINAL_REST_S = 1.0

_port = click.option(
    "-p",
    "--port",
    type=click.IntRange(1025, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port of the server.",
)
_only = click.option("-p", "--port", type=click.IntRange(1025, 65535), help="Only of the server with this port.")
_spills = click.option("-s", "--spill", "spills", multiple=True, help="A spill folder to look into, beside known ones.")
_python = click.option("--python", help="The Python that trains; its MindSpore has the server.")


@click.group()
def server() -> None:
    """MindSpore's dataset cache server: start, stop, sessions, what its numbers mean, leftovers of dead ones."""


@server.command()
@_port
@click.option("--host", default="127.0.0.1", show_default=True, help="Address, which must be this host's.")
@click.option("-w", "--workers", type=click.IntRange(1, 100), help="Threads that serve; it chooses by default.")
@click.option("-s", "--spill", help="Folder for rows that do not fit into memory; made when it is missing.")
@click.option("-l", "--log-level", type=click.IntRange(0, 4), help="Level of its log; 1 tells when sessions were made.")
@_python
@output.format_option
def start(
    port: int, host: str, workers: int | None, spill: str | None, log_level: int | None, python: str | None, form: str
) -> int:
    """Start a server for this user, in the background."""
    from mswb.cache.server import manage
    from mswb.cache.server.admin import Start

    folder = None if spill is None else os.path.abspath(os.path.expanduser(spill))
    with _doing("starting", form, port=port):
        found = manage.start(_admin(python), Start(port, host, workers, folder, log_level))
    if form == "json":
        _emit([], servers=[text.server_row(found)])
        return 0
    words = text.WORDS[language()]
    _say("started", pid=found.process.pid, port=port, spill=found.spill or words["nowhere"])
    _say("session", port=port)
    return 0


@server.command()
@_port
@_python
@output.format_option
def stop(port: int, python: str | None, form: str) -> int:
    """Stop a server; its sessions and rows go too."""
    from mswb.cache.server import manage

    with _doing("stopping", form, port=port):
        found = manage.stop_server(_admin(python), port)
    if form == "json":
        _emit([], stopped=port, servers=[text.server_row(found)] if found else [])
    else:
        _say("stopped", port=port)
    return 0


@server.command()
@_only
@_spills
@output.format_option
def status(port: int | None, spills: tuple[str, ...], form: str) -> int:
    """Servers of this host, and what dead ones left.

    No server is asked.
    """
    from mswb.cache.entries import to_row
    from mswb.cache.server.leftovers import leftovers, of_port
    from mswb.cache.server.running import look

    host = look()
    servers = [one for one in host.servers if port in (None, one.port)]
    entries = of_port(leftovers(host, [os.path.abspath(path) for path in spills]), port)
    findings = [finding for entry in entries for finding in entry.findings]
    if form == "json":
        _emit(
            findings, servers=[text.server_row(one) for one in host.servers], entries=[to_row(one) for one in entries]
        )
    else:
        text.show_servers(servers)
        print()
        text.show_leftovers([entry for entry in entries if entry.status != "ok"])
    return 0


@server.command()
@_port
@_python
@output.format_option
def sessions(port: int, python: str | None, form: str) -> int:
    """The sessions of a server, and which are stale."""
    return _report_sessions(port, None, python, form)


@server.command()
@click.argument("session", type=click.IntRange(1, 0xFFFFFFFF), required=False)
@_port
@_python
@output.format_option
def stats(session: int | None, port: int, python: str | None, form: str) -> int:
    """What is cached, and what 'n/a' means.

    For SESSION, or for all.
    """
    return _report_sessions(port, session, python, form, explained=True)


@server.group()
def session() -> None:
    """Create or destroy a session."""


@session.command("create")
@_port
@_python
@output.format_option
def create(port: int, python: str | None, form: str) -> int:
    """Make a session, whose number DatasetCache takes."""
    from mswb.cache.server import manage

    number = manage.create(_admin(python), port)
    if form == "json":
        _emit([], session=number, port=port)
    else:
        _say("created", session=number, port=port)
        _say("use", session=number, port=port)
    return 0


@session.command("destroy")
@click.argument("number", type=click.IntRange(1, 0xFFFFFFFF), metavar="SESSION")
@_port
@_python
@output.format_option
def destroy(number: int, port: int, python: str | None, form: str) -> int:
    """Destroy SESSION with all its rows; a training that uses it dies."""
    from mswb.cache.server import manage

    manage.destroy(_admin(python), port, number)
    if form == "json":
        _emit([], session=number, port=port)
    else:
        _say("destroyed", session=number, port=port)
    return 0


@server.command()
@click.option("--source", "paths", multiple=True, help="Folder or file that the cached pipeline reads.")
@click.option("--session", "number", type=click.IntRange(1, 0xFFFFFFFF), help="One session; all by default.")
@_port
@_python
@output.format_option
def check(paths: tuple[str, ...], number: int | None, port: int, python: str | None, form: str) -> int:
    """Whether data changed after it was cached.

    The server would go on serving the old rows. What trainings under 'mswb run' have cached is known. For others name
    the data with --source: its files are compared with the time at which the session was made. Exit code 1 when a
    session serves old rows.
    """
    from mswb.cache.server import manage

    settings = load_settings()
    with _doing("asking", form, port=port):
        found = _wanted(manage.sessions(_admin(python, settings), port, settings), port, number)
    with _doing("looking", form):
        compared = [manage.compared(one, paths) for one in found]
    checked = [one for one, _ in compared]
    findings = [finding for _, several in compared for finding in several]
    if form == "json":
        _emit(findings, sessions=[text.session_row(one) for one in checked])
        return int(any(one.changes for one in checked))
    output.show_findings(findings, lang=language())
    for one in checked:
        if not one.changes:
            _say("unknown" if one.status == "unverified" else "fresh", session=one.id, since=text.moment(one.created))
    return int(any(one.changes for one in checked))


@server.command()
@_only
@_spills
@click.option("--dry-run", is_flag=True, help="Show the plan, change nothing.")
@click.option("--force", is_flag=True, help="Do not ask.")
@output.format_option
def clean(port: int | None, spills: tuple[str, ...], dry_run: bool, force: bool, form: str) -> int:
    """Remove what dead servers of yours left.

    Sockets, shared memory, and spilled rows, which go to the trash.
    """
    from mswb.cache.server import removal
    from mswb.cache.server.leftovers import leftovers, of_port
    from mswb.cache.trash import journal
    from mswb.cli.plans import carry_out, report_plan, show_plan
    from mswb.plan import Outcome, Plan, apply

    plan = removal.plan(of_port(leftovers(spills=[os.path.abspath(path) for path in spills]), port))
    if form == "text":
        show_plan(plan, text.WORDS[language()]["nothing"])
    if dry_run or not plan.actions:
        return report_plan(plan, None, form)

    def do(agreed: Plan) -> list[Outcome]:
        with journal.operation("mswb cache server clean"):
            return apply(agreed, removal.doers())

    return carry_out(plan, force, form, do)


def _report_sessions(port: int, number: int | None, python: str | None, form: str, *, explained: bool = False) -> int:
    from mswb.cache.server import explain, manage
    from mswb.cache.server.running import look

    settings = load_settings()
    with _doing("asking", form, port=port):
        found = _wanted(manage.sessions(_admin(python, settings), port, settings), port, number)
    findings = [manage.stale(one.id, port, one.changes, sure=True) for one in found if one.changes]
    if explained:
        running = look().server(port)
        rows = [row for one in found for row in one.caches]
        findings += explain.of_sessions(rows, port, running.spill if running else None)
    if form == "json":
        _emit(findings, port=port, sessions=[text.session_row(one) for one in found])
    elif not found:
        _say("no-sessions", port=port)
    else:
        text.show_sessions(found, explained)
        if findings:
            print()
        output.show_findings(findings, lang=language())
    return int(any(finding.severity == "error" for finding in findings))


def _wanted(found: list[Session], port: int, number: int | None) -> list[Session]:
    from mswb.cache.server import manage

    chosen = [one for one in found if number in (None, one.id)]
    if number is not None and not chosen:
        raise manage.unknown_session(port, number, [row for one in found for row in one.caches])
    return chosen


def _admin(python: str | None, settings: Settings | None = None) -> Admin:
    from mswb.cache.server import admin
    from mswb.env.interpreter import find_interpreter

    known = load_settings() if settings is None else settings
    return admin.find(find_interpreter(python, known, os.environ), known)


def _emit(findings: Sequence[Finding], **keys: Any) -> None:
    output.emit(KIND, findings, **keys)


def _say(name: str, **values: Any) -> None:
    print(output.safe_line(text.WORDS[language()][name].format(**values)))


@contextmanager
def _doing(name: str, form: str, **values: Any) -> Iterator[None]:
    """While something runs, one line on a terminal says what and for how long already."""
    from threading import Event, Thread

    if form == "json" or not sys.stderr.isatty():
        yield
        return
    line, done, began = text.WORDS[language()][name].format(**values), Event(), time.monotonic()

    def tell() -> None:
        while not done.wait(_TERMINAL_REST_S):
            sys.stderr.write(f"\r\x1b[K{output.safe_line(line)}  {time.monotonic() - began:.0f} s")
            sys.stderr.flush()

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
