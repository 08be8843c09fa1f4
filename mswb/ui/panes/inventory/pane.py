"""A pane that lists what lies in the folder: the table, the details, one honest line about what is not there yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static

from mswb.files.items import Item
from mswb.files.safety import printable
from mswb.findings import Finding, language
from mswb.ui import keymap
from mswb.ui.context import Context
from mswb.ui.glyphs import glyph
from mswb.ui.messages import Copy, OpenPath, ShowFindings
from mswb.ui.panes.base import Pane
from mswb.ui.panes.inventory import state as states
from mswb.ui.panes.inventory.details import DetailsPart, details_text, log_folder
from mswb.ui.panes.inventory.look import look
from mswb.ui.panes.inventory.rows import HERE, NAME_CELLS, Rows, folder_of, status_colour, status_text
from mswb.ui.panes.inventory.state import Found, InventoryState
from mswb.ui.panes.inventory.words import empty_text, title_text, word
from mswb.ui.tasks import Ticket
from mswb.ui.widgets.table.data import Column
from mswb.ui.widgets.table.widget import Table

if TYPE_CHECKING:
    from mswb.flows.inventory import Domain


@dataclass(frozen=True, slots=True)
class Shelf:
    """What one of the panes looks for, and its words (English, Chinese).

    ``nothing`` is said of an empty list, ``later`` of what this version can't do; ``outside`` tells that there are
    places beyond the folder to look at.
    """

    domain: Domain
    task: str
    nothing: tuple[str, str]
    later: tuple[str, str]
    outside: bool = False


def columns() -> tuple[Column, ...]:
    """The columns of the table; 80 columns hold the first five."""
    return (
        Column("name", word("name"), width=NAME_CELLS, cut="path"),
        Column("kind", word("kind"), width=17),
        Column("status", word("status"), width=19, style=status_colour, show=status_text, optional=True),
        Column("size", word("size"), "bytes", width=9),
        Column("age", word("age"), "age", width=5, total=False),
        Column("files", word("files"), "number", width=6, hide_below=100),
        Column("folder", word("folder"), width=28, hide_below=100, cut="start"),
        Column("detail", word("detail"), width=60, hide_below=100),
        Column("key", "", width=1, hide_below=10_000),
    )


class InventoryTable(Table):
    """The table of entries: copying means their paths."""

    @property
    def at_top(self) -> bool:
        """Whether the cursor is on the first line, or nowhere."""
        row = self.cursor_row
        return row is None or self.view.line_of(row) == 0

    def paths(self) -> list[str]:
        """The paths of the marked entries, else of the one under the cursor."""
        row = self.cursor_row
        rows = self.marked or (() if row is None else (row,))
        return [str(self.data.value(one, "key")).split(" ", 1)[1] for one in rows]

    def action_copy(self) -> None:
        """Copy the paths."""
        paths = self.paths()
        if paths:
            self.post_message(Copy("\n".join(paths), "path" if len(paths) == 1 else f"{len(paths)} paths"))


class InventoryPane(Pane):
    """Give a subclass its :class:`Shelf`."""

    SHELF: ClassVar[Shelf]
    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("inventory")
    WIDE = 140
    """Columns from which the details stand beside the list."""
    DEFAULT_CSS = """
    InventoryPane .inventory-body { height: 1fr; }
    InventoryPane InventoryTable { height: 1fr; width: 1fr; }
    InventoryPane .inventory-details { display: none; width: 1fr; height: 1fr; }
    InventoryPane .inventory-empty { display: none; height: 1fr; padding: 1 2; color: $text-muted; }
    InventoryPane.-empty InventoryTable { height: 3; }
    InventoryPane.-empty .inventory-empty { display: block; }
    InventoryPane .inventory-feet { height: auto; }
    InventoryPane .inventory-foot { height: 1; width: 1fr; padding: 0 1; color: $text-muted; text-wrap: nowrap;
        text-overflow: ellipsis; }
    InventoryPane .inventory-foot.-detail { color: $foreground; }
    InventoryPane.-over Horizontal > Vertical { display: none; }
    InventoryPane.-over .-detail, InventoryPane.-beside .-detail { display: none; }
    InventoryPane.-over .inventory-details { display: block; }
    InventoryPane.-beside .inventory-details { display: block; width: 46; border-left: tall $panel; }
    """

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.state = states.new_state(os.path.realpath(context.folder))

    def compose(self) -> ComposeResult:
        with Horizontal(classes="inventory-body"):
            with Vertical():
                yield InventoryTable(self.columns(), keys_column="key", empty="-")
                yield Static("", classes="inventory-empty", markup=False)
            yield self.make_details()
        with Vertical(classes="inventory-feet"):
            yield Static("", classes="inventory-foot -detail", markup=False)
            yield Static(self.SHELF.later[language() == "zh"], classes="inventory-foot -later", markup=False)

    # -- what a pane may have of its own

    def columns(self) -> tuple[Column, ...]:
        """The columns of the table."""
        return columns()

    def make_details(self) -> Widget:
        """The part that shows all of one entry."""
        return DetailsPart()

    def shown_rows(self, rows: Rows) -> Mapping[str, Sequence[Any]]:
        """The columns of the table for these rows."""
        return rows.arrays

    def show_details(self, item: Item | None) -> None:
        """Draw the details of an entry."""
        self.query_one(DetailsPart).show(item, self._more(item))

    def line_of(self, item: Item) -> str:
        """Where an entry lies and what it is, in one row."""
        return foot_text(item, self.state.root)

    def look(self, ticket: Ticket, state: InventoryState) -> Found:
        """Find what there is; runs in a thread."""
        context = self.context
        domain, redraw_s = self.SHELF.domain, context.options.redraw_s
        return look(ticket, state.root, domain, context.settings, state.everywhere, redraw_s)

    # -- the state and its drawing

    @property
    def table(self) -> InventoryTable:
        """The list."""
        return self.query_one(InventoryTable)

    @property
    def details(self) -> Widget:
        """The details of the entry under the cursor."""
        return self.query_one(".inventory-details")

    @property
    def current(self) -> Item | None:
        """The entry under the cursor."""
        return self.state.item(self.table.cursor_row) if self.is_mounted else None

    @property
    def is_wide(self) -> bool:
        """Whether the details stand beside the list."""
        return self.app.size.width >= self.WIDE

    def show(self, state: InventoryState) -> None:
        """Draw a state, whatever was drawn before."""
        before, self.state = self.state, state
        if not self.is_mounted:
            return
        self.set_class(state.details and not self.is_wide, "-over")
        self.set_class(self.is_wide, "-beside")
        table = self.table
        if before.found.rows is not state.found.rows or not len(table.data):
            untouched = not before.looked and table.at_top
            table.set_data(self.shown_rows(state.found.rows))
            if untouched:  # what comes later may be sorted above what was first
                table.action_top()
        table.set_title(printable(title_text(state)))
        self._draw_empty()
        table.group_by(state.group)
        self._reach()
        self._draw_details()
        self.refresh_bindings()
        if before.details != state.details:
            self.call_after_refresh(self._focus_front)

    def change(self, change: Callable[..., InventoryState], *arguments: Any) -> None:
        """Replace the state by ``change(state, *arguments)`` and draw it."""
        self.show(change(self.state, *arguments))

    def _focus_front(self) -> None:
        """Put the focus on what is to be seen, unless the person is elsewhere."""
        if self.app.screen is self.screen and self.is_on_screen:
            (self.details if self.has_class("-over") else self.table).focus()

    def _draw_empty(self) -> None:
        """An empty list leaves room to say what would be in it; the table stays, since the keys are its pane's."""
        empty = not self.state.found.rows.items
        self.set_class(empty, "-empty")
        if empty:
            words = empty_text(self.state, self.SHELF.nothing[language() == "zh"], self.SHELF.outside)
            self.query_one(".inventory-empty", Static).update(words)

    def _draw_details(self) -> None:
        item = self.current
        if self.is_wide or self.state.details:
            self.show_details(item)
        self.query_one(".-detail", Static).update("" if item is None else self.line_of(item))

    def _more(self, item: Item | None) -> str:
        """What a closer look at an entry has told, if there was one."""
        more = self.state.more
        return more[1] if more is not None and item is not None and more[0] == item.path else ""

    def _reach(self) -> None:
        """Put the cursor on the entry that was asked for: the path itself, or the entry that it is part of."""
        wanted = self.state.wanted
        if wanted is None:
            return
        row = row_for(self.state.found.rows.items, wanted)
        if row is not None and self.table.move_to(row):
            self.state = states.settled(self.state)

    # -- the life of the pane

    def on_mount(self) -> None:
        self.show(self.state)

    def on_resize(self, event: Resize) -> None:
        self.show(self.state)

    def on_pane_shown(self) -> None:
        if not self.state.looked and not self.state.looking:
            self.action_look()

    def open_path(self, path: Path) -> bool:
        """Show an entry; outside the folder, what lies there is listed instead."""
        wanted = os.path.realpath(path)
        if not _inside(wanted, self.state.root):
            self._look_at(wanted if os.path.isdir(wanted) else os.path.dirname(wanted), wanted)
        else:
            self.change(lambda state: states.with_details(states.wanting(state, wanted), True))
        return True

    # -- looking

    def _look_at(self, root: str, wanted: str | None = None) -> None:
        self.change(states.rooted, root, wanted)
        self.action_look()

    def action_look(self) -> None:
        """Look again at what lies in the folder."""
        state, shelf, context = self.state, self.SHELF, self.context
        self.change(states.started)
        context.tasks.start(
            f"{shelf.task} {os.path.basename(state.root)}",
            lambda ticket: self.look(ticket, state),
            self._finished,
            received=self._received,
            failed=self._failed,
            group=f"inventory-{shelf.domain}",
        )

    def _received(self, found: Found) -> None:
        self.change(states.received, found)

    def _finished(self, found: Found) -> None:
        self.change(states.finished, found)
        wanted = self.state.wanted
        if wanted is None or not self.is_mounted:
            return
        beside = os.path.dirname(wanted)
        if beside.startswith(self.state.root) and beside != self.state.root:  # in a folder that a look leaves out
            self._look_at(beside, wanted)
        else:
            self.change(lambda state: states.with_details(states.settled(state), False))

    def _failed(self, problem: Finding) -> None:
        self.change(states.failed, problem)

    # -- messages of the parts

    @on(Table.Highlighted)
    def _highlighted(self, event: Table.Highlighted) -> None:
        event.stop()
        self._draw_details()
        self.refresh_bindings()

    @on(Table.Chosen)
    def _chosen(self, event: Table.Chosen) -> None:
        event.stop()
        self.choose()

    def choose(self) -> None:
        """What Enter does with the entry under the cursor."""
        self.action_details()

    # -- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys that do something now; the key bar shows these."""
        needs = {
            "outside": self.SHELF.outside,
            "notes": bool(self.state.found.notes),
            "open": self.current is not None,
            "details": self.current is not None,
            "copy_details": self.current is not None,
            "close_details": self._in_details,
            "back": self._in_details or self.state.root != self.state.home,
        }
        return needs.get(action, True)

    @property
    def _in_details(self) -> bool:
        """Whether the details lie over the list, or the person is in those beside it."""
        over = self.state.details and not self.is_wide
        return over or (self.is_mounted and self.details.has_focus)

    def action_details(self) -> None:
        """Open the details over the list, or go into them where they stand beside it; again: back to the list."""
        if self.is_wide:
            (self.table if self.details.has_focus else self.details).focus()
        else:
            self.change(states.with_details, not self.state.details)

    def action_open(self) -> None:
        """Open the logs of the entry in the Launch pane; what nothing reads yet has its path copied."""
        item = self.current
        logs = log_folder(item) if item is not None else None
        if logs is not None:
            self.post_message(OpenPath(Path(logs)))
        elif item is not None:
            self.post_message(Copy(item.path, "path"))
            self.app.notify(word("copied"), markup=False)

    def action_outside(self) -> None:
        """The places outside the folder too, or no longer."""
        self.change(states.elsewhere)
        self.action_look()

    def action_regroup(self) -> None:
        """Group by kind, by folder, or not."""
        self.change(states.regrouped)

    def action_notes(self) -> None:
        """What could not be looked at."""
        self.post_message(ShowFindings(self.state.found.notes, word("notes")))

    def action_copy_path(self) -> None:
        """Copy the path of the entry."""
        self.table.action_copy()

    def action_copy_details(self) -> None:
        """Copy all that is known of the entry."""
        item = self.current
        if item is not None:
            self.post_message(Copy(details_text(item, more=self._more(item)).plain, "details"))

    def action_close_details(self) -> None:
        """From the details to the list."""
        self.action_details()

    def action_back(self) -> None:
        """From the details to the list; from another folder to the project."""
        if self._in_details:
            self.action_close_details()
        elif self.state.root != self.state.home:
            self._look_at(self.state.home)


def foot_text(item: Item, root: str) -> str:
    """Where an entry lies and what it is, in one row."""
    place = folder_of(item, root)
    return printable(item.detail if place == HERE else f"{place} {glyph('dot')} {item.detail}")


def row_for(items: tuple[Item, ...], wanted: str) -> int | None:
    """The row of a path: of its own entry, of the entry it is part of, else of the first entry in it."""
    own = [row for row, item in enumerate(items) if item.path == wanted]
    around = [row for row, item in enumerate(items) if _inside(wanted, item.path)]
    within = [row for row, item in enumerate(items) if _inside(item.path, wanted)]
    return next(iter([*own, *around, *within]), None)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
