"""The dataset cache servers over the pane: their sessions, what each has cached, and what is wrong with it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from mswb.files.safety import printable
from mswb.findings import Finding
from mswb.ui import keymap
from mswb.ui.glyphs import glyph
from mswb.ui.messages import ShowFindings
from mswb.ui.panes.cache.rows import status_colour, status_text
from mswb.ui.panes.cache.words import word
from mswb.ui.screens.base import PacedModal
from mswb.ui.widgets.keybar import KeyBar
from mswb.ui.widgets.table.data import Column
from mswb.ui.widgets.table.widget import Table

if TYPE_CHECKING:
    from mswb.cache.server.running import Server
    from mswb.flows.cache_served import Served

_SIGNS = {"ok": "ok", "stale-source": "error"}


class ServerScreen(PacedModal[None]):
    """What the servers say; ``look`` asks them again and hands the answer to :meth:`show` or :meth:`failed`."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("cache_server")
    DEFAULT_CSS = """
    ServerScreen { background: $background; }
    ServerScreen #server-title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    ServerScreen #server-list { height: auto; max-height: 8; padding: 0 1; color: $text-muted; }
    ServerScreen #server-notes { height: auto; max-height: 8; padding: 0 1; }
    """

    def __init__(self, look: Callable[[ServerScreen], None]) -> None:
        super().__init__()
        self._look = look
        self._findings: tuple[Finding, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static(word("server"), id="server-title", markup=False)
        yield Static(f"{word('looking')}{glyph('ellipsis')}", id="server-list", markup=False)
        yield Table(columns(), title=word("sessions"), empty=word("no sessions"))
        yield Static("", id="server-notes", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(Table).focus()
        self._look(self)

    def show(self, found: Served) -> None:
        """Draw an answer."""
        if not self.is_attached:
            return
        self._findings = found.findings
        lines = [server_text(one) for one in found.servers] or [word("no server")]
        self.query_one("#server-list", Static).update("\n".join(lines))
        self.query_one(Table).set_data(rows(found))
        notes = [f"{glyph(one.severity)} {printable(one.title)}" for one in found.findings]
        self.query_one("#server-notes", Static).update("\n".join(notes[:6]))
        self.refresh_bindings()

    def failed(self, problem: Finding) -> None:
        """Say why there is no answer."""
        if self.is_attached:
            self.query_one("#server-list", Static).update(f"{glyph('error')} {printable(problem.title)}")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There may be nothing to explain."""
        return action != "findings" or bool(self._findings)

    def action_look(self) -> None:
        """Ask again."""
        self._look(self)

    def action_findings(self) -> None:
        """What the numbers mean."""
        self.post_message(ShowFindings(self._findings, word("server")))

    def action_close(self) -> None:
        """Back to the pane."""
        self.dismiss(None)


def server_text(one: Server) -> str:
    """A server in a line."""
    since = time.strftime("%m-%d %H:%M", time.localtime(one.started))
    whose = "" if one.uid == os.getuid() else f" {glyph('dot')} {word('of user', uid=one.uid)}"
    spill = printable(one.spill) if one.spill else word("no spill")
    return word("server line", port=one.port, pid=one.process.pid, since=since, spill=spill) + whose


def columns() -> tuple[Column, ...]:
    """Of the caches of sessions."""
    return (
        Column("session", word("session"), "number", width=11, show=str, total=False),
        Column("port", word("port"), "number", width=6, show=str, total=False),
        Column("status", word("status"), width=14, style=status_colour, show=status_text),
        Column("memory", word("in memory"), "number", width=10),
        Column("disk", word("spilled"), "number", width=9),
        Column("row", word("a row"), "bytes", width=10, total=False),
        Column("size", word("size"), "bytes", width=10),
        Column("created", word("created"), "time", width=12, total=False, optional=True),
        Column("cache", word("cache"), "number", width=12, show=str, total=False, hide_below=100),
    )


def rows(found: Served) -> dict[str, list[Any]]:
    """A row a cache; a session without one has a row, too."""
    listed = [(one, cache) for one in found.sessions for cache in (one.caches or (None,))]
    return {
        "session": [one.id for one, _ in listed],
        "port": [one.port for one, _ in listed],
        "status": [f"{_SIGNS.get(one.status, 'note')} {one.status}" for one, _ in listed],
        "memory": [None if cache is None else cache.in_memory for _, cache in listed],
        "disk": [None if cache is None else cache.on_disk for _, cache in listed],
        "row": [None if cache is None else cache.row_bytes for _, cache in listed],
        "size": [None if cache is None else cache.size_bytes for _, cache in listed],
        "created": [one.created for one, _ in listed],
        "cache": [None if cache is None else cache.cache for _, cache in listed],
    }
