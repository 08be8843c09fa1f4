"""The Cache pane: caches, data files and leftovers by place; verified, mended, cleaned, and seen byte by byte."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.timer import Timer

from mswb.cache.check import CHECKERS
from mswb.cache.entries import Entry
from mswb.cache.locate import cache_root
from mswb.files.items import Item
from mswb.files.safety import printable
from mswb.findings import Finding, Where
from mswb.ui import keymap
from mswb.ui.context import Context
from mswb.ui.messages import Copy, ShowFindings
from mswb.ui.panes.cache import state as caches
from mswb.ui.panes.cache.details import CacheDetails, entry_text
from mswb.ui.panes.cache.foot import foot_text, line_text
from mswb.ui.panes.cache.look import look
from mswb.ui.panes.cache.mending import Mending
from mswb.ui.panes.cache.places import PlacesBar
from mswb.ui.panes.cache.rows import NO_ROWS, CacheRows, arrange, columns, in_work, now
from mswb.ui.panes.cache.state import CacheState, Told, entry_of, findings_of
from mswb.ui.panes.cache.verifying import Verifying
from mswb.ui.panes.cache.words import word
from mswb.ui.panes.inventory import state as states
from mswb.ui.panes.inventory.look import SHARE
from mswb.ui.panes.inventory.pane import InventoryPane, Shelf, row_for
from mswb.ui.panes.inventory.rows import Rows
from mswb.ui.panes.inventory.state import Found, InventoryState
from mswb.ui.tasks import Task, Ticket
from mswb.ui.widgets.lines import LineView
from mswb.ui.widgets.table.data import Column

if TYPE_CHECKING:
    from textual.widget import Widget

    from mswb.flows.cache_served import Served

FEW = 2_000
"""So many entries are arranged at once; more of them in a thread."""
TICK_S = 1.0
BASELINES = ("tfrecord", "mindrecord")
"""Kinds whose baselines tell the record that has changed."""


class CachePane(InventoryPane, inherit_bindings=False):
    """What training leaves on the disk, and what it reads."""

    BINDINGS: ClassVar[list[BindingType]] = [*keymap.bindings("cache"), *keymap.bindings("inventory")]
    WIDE = 120
    DEFAULT_CSS = """
    CachePane.-beside .inventory-details { width: 48; }
    """
    SHELF: ClassVar[Shelf] = Shelf(
        "cache",
        "Look for caches in",
        (
            "No caches, data files or checkpoints here (TFRecord, MindRecord, arrays, compile and kernel caches …).",
            "此处没有缓存、数据文件或检查点（TFRecord、MindRecord、数组、编译缓存、算子缓存 …）。",
        ),
        ("", ""),
        outside=True,
    )

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.caches = CacheState()
        self.store = os.path.realpath(cache_root(os.environ))
        self.verifying = Verifying(self)
        self.mending = Mending(self)
        self._to_verify: tuple[str, ...] = ()
        self._to_show = ""
        self._since = 0.0
        self._is_shown = False
        self._cost_s = 0.0
        self._arranging: Task[tuple[CacheRows, float]] | None = None
        self._arrange_again = False
        self._live: Task[None] | None = None
        self._clock: Timer | None = None

    def compose(self) -> ComposeResult:
        yield PlacesBar()
        yield from super().compose()

    def columns(self) -> tuple[Column, ...]:
        return columns()

    def make_details(self) -> Widget:
        return CacheDetails()

    def shown_rows(self, rows: Rows) -> Mapping[str, Sequence[Any]]:
        return in_work(rows, self.caches.shares())

    def show_details(self, item: Item | None) -> None:
        self.query_one(CacheDetails).show(item, self.caches)

    def line_of(self, item: Item) -> str:
        return line_text(item, self.state.root, self.caches)

    # -- the state and its drawing

    @property
    def rows(self) -> CacheRows:
        """The entries as they are listed."""
        rows = self.state.found.rows
        return rows if isinstance(rows, CacheRows) else NO_ROWS

    def show(self, state: InventoryState) -> None:
        if not isinstance(state.found.rows, CacheRows):  # nothing was looked at yet
            state = states.rearranged(state, self._arranged(state.found.rows.items, self.caches))
        super().show(state)
        if self.is_mounted:
            self._draw_caches()

    def show_caches(self, state: CacheState) -> None:
        """Draw what is known of the entries, whatever was drawn before."""
        before, self.caches = self.caches, state
        if not self.is_mounted:
            return
        if before.known is not state.known or before.place != state.place:
            self._rearrange()
        if before.shares() != state.shares():
            self.table.set_data(self.shown_rows(self.state.found.rows))
        self._draw_caches()
        self._draw_details()
        self.refresh_bindings()
        self._wind(bool(state.running))

    def change_caches(self, change: Callable[..., CacheState], *arguments: Any) -> None:
        """Replace what is known by ``change(known, *arguments)`` and draw it."""
        self.show_caches(change(self.caches, *arguments))

    def news(self, number: int, told: Told) -> None:
        """A verification has found something."""
        began = time.monotonic()
        self.change_caches(caches.told, number, told)
        self._cost_s = time.monotonic() - began

    @property
    def news_s(self) -> float:
        """Least seconds between two pieces of news: drawing them takes a part of the time only, however many rows."""
        return max(self.context.options.redraw_s, 2 * SHARE * self._cost_s)

    def _draw_caches(self) -> None:
        self.query_one(PlacesBar).show(self.rows.sums, self.caches.place)

    def _draw_details(self) -> None:
        super()._draw_details()
        item = self.current
        self.query_one(".-later").update(foot_text(item, self.caches))  # type: ignore[attr-defined]
        if item is not None and (self.is_wide or self.state.details):
            self._look_closer(item)

    def _wind(self, on: bool) -> None:
        """While something is verified, see to it that what was cancelled elsewhere is known here."""
        if on and self._clock is None:
            self._clock = self.set_interval(TICK_S, self.verifying.settle)
        elif not on and self._clock is not None:
            self._clock.stop()
            self._clock = None

    # -- the list

    def look(self, ticket: Ticket, state: InventoryState) -> Found:
        known, self._since = self.caches, time.time()

        def arranged(items: Sequence[Item], base: Mapping[str, Entry]) -> CacheRows:
            with_base = caches.based(known, base or known.base)
            return arrange(items, with_base, state.root, self.store, now())

        return look(ticket, state.root, self.store, state.everywhere, arranged)

    def _arranged(self, items: Sequence[Item], known: CacheState) -> CacheRows:
        return arrange(items, known, self.state.root, self.store, now())

    def _rearrange(self, items: Sequence[Item] | None = None) -> None:
        """Put the entries in order with what is known now; many of them in a thread."""
        every = self.rows.every if items is None else tuple(items)
        if len(every) <= FEW:
            self._take_rows(self._arranged(every, self.caches))
            return
        if self._arranging is not None and items is None:
            self._arrange_again = True
            return
        known = self.caches

        def work(_: object) -> tuple[CacheRows, float]:
            began = time.monotonic()
            return self._arranged(every, known), time.monotonic() - began

        self._arranging = self.context.tasks.start(
            word("looking"), work, self._arranged_many, group="cache-arrange", quiet=True
        )

    def _arranged_many(self, made: tuple[CacheRows, float]) -> None:
        rows, cost_s = made
        began = time.monotonic()
        self._take_rows(rows)
        cost_s += time.monotonic() - began
        if self._arrange_again:  # it stays marked as going on until then, so that this takes its share of time only
            self._arrange_again = False
            self.set_timer(SHARE * cost_s, self._arrange_now)
        else:
            self._arranging = None

    def _arrange_now(self) -> None:
        self._arranging = None
        self._rearrange()

    def _take_rows(self, rows: CacheRows) -> None:
        self.change(states.rearranged, rows)

    def _finished(self, found: Found) -> None:
        if isinstance(found.rows, CacheRows):
            self.caches = caches.based(self.caches, found.rows.base)
        super()._finished(found)
        if self.caches.known or self.caches.place:
            self._rearrange()  # something may have been found meanwhile
        self._follow()
        wanted, self._to_verify = self._to_verify, ()
        self.verify_paths(wanted)
        new = next((row for row, item in enumerate(self.rows.items) if item.path == self._to_show), None)
        if new is not None:
            self.table.move_to(new)
        self._to_show = ""

    def look_and_verify(self, paths: Sequence[str], show: str = "") -> None:
        """Something was changed: look again, verify these entries, new ones too, and put the cursor on one."""
        self._to_verify = tuple(dict.fromkeys((*self._to_verify, *paths)))
        self._to_show = show
        self.change_caches(caches.forgotten, paths)
        self.action_look()

    def _follow(self) -> None:
        """Watch what is listed: a new or changed cache appears by itself."""
        if not self._is_shown:
            return
        root, items, since, base = self.state.root, self.rows.every, self._since, self.caches.base

        def work(ticket: Ticket) -> None:
            from mswb.flows.cache_facts import followed

            for news in followed(root, items, ticket.wait, since, base):
                ticket.send(news)

        self._live = self.context.tasks.start(
            word("looking"), work, lambda _: None, received=self._followed, group="cache-live", quiet=True
        )

    def _followed(self, news: tuple[Sequence[Item], Mapping[str, Entry]]) -> None:
        """The files have changed."""
        items, stores = news
        self.caches = caches.rebased(self.caches, stores)
        self._rearrange(items)

    def on_pane_shown(self) -> None:
        self._is_shown = True
        super().on_pane_shown()
        if self.state.looked and not self.state.looking and self._live is None:
            self.action_look()

    def on_pane_hidden(self) -> None:
        """A hidden pane watches nothing; what changed meanwhile is looked for when it is shown again."""
        self._is_shown = False
        if self._live is not None:
            self._live.cancel()
            self._live = None

    # -- one entry

    def _look_closer(self, item: Item) -> None:
        """Ask who uses an entry, and what else can be told of it, once."""
        if item.path in self.caches.more:
            return
        self.change_caches(caches.learnt, item.path, None)

        def told(facts: Mapping[str, Any]) -> None:
            self.change_caches(caches.learnt, item.path, facts)

        def work(_: object) -> Mapping[str, Any]:
            from mswb.flows.cache_facts import closer

            return closer(item)

        self.context.tasks.start(word("looking"), work, told, failed=lambda _: told({}), quiet=True)

    def open_place(self, where: Where) -> bool:
        """Show a byte of a file."""
        if where.file is None or where.offset is None:
            return False
        item = self._item_of(where.file)
        if item is None:
            return False
        self.show_bytes(item, where.file, where.offset)
        return True

    def _item_of(self, path: str) -> Item | None:
        items = self.rows.every
        row = row_for(items, os.path.realpath(path))
        beside = next((one for one in items if f"{one.path}.db" == path), None)
        return items[row] if row is not None else beside

    def show_bytes(self, item: Item, path: str, offset: int) -> None:
        """Open the hex view of a file of an entry."""
        from mswb.ui.screens.hexview.screen import HexScreen

        form = item.kind if not path.endswith(".db") else ""
        self.app.push_screen(HexScreen(self.context, path, form, findings_of(item, self.caches), offset))

    # -- messages of the parts

    @on(PlacesBar.Chosen)
    def _place_chosen(self, event: PlacesBar.Chosen) -> None:
        event.stop()
        self.change_caches(caches.placed, event.place)

    @on(LineView.Chosen)
    def _line_chosen(self, event: LineView.Chosen) -> None:
        event.stop()
        item = self.current
        if item is not None and event.line.finding is not None:
            self._show_findings(item, event.line.finding)

    def _show_findings(self, item: Item, first: int = 0) -> None:
        name = printable(os.path.basename(item.path))
        self.post_message(ShowFindings(findings_of(item, self.caches), f"{word('faults of')} {name}", first))

    # -- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        needs = _NEEDS.get(action)
        return needs(self) if needs is not None else super().check_action(action, parameters)

    def _marked(self) -> list[Item]:
        """The marked entries, else the one under the cursor."""
        if not self.is_mounted:
            return []
        table = self.table
        row = table.cursor_row
        rows = table.marked or (() if row is None else (row,))
        return [item for item in map(self.state.item, rows) if item is not None]

    def _wanted(self) -> list[Item]:
        """Those that can be verified."""
        return [item for item in self._marked() if item.kind in CHECKERS]

    def action_verify(self) -> None:
        """Verify the marked entries, or the one under the cursor."""
        self._verify(self._wanted())

    def action_verify_all(self) -> None:
        """Verify all that is listed."""
        self._verify([item for item in self.state.found.rows.items if item.kind in CHECKERS])

    def _verify(self, items: Sequence[Item]) -> None:
        idle = [item for item in items if self.caches.work_of(item.path) is None]
        if idle:
            self.verifying.begin([entry_of(item, self.caches) for item in idle])
        elif not items:
            self.app.notify(word("nothing to verify"), markup=False)

    def verify_paths(self, paths: Sequence[str]) -> None:
        """Verify entries by their paths, as far as they are listed."""
        wanted = set(paths)
        items = [item for item in self.rows.every if item.path in wanted and item.kind in CHECKERS]
        if items:
            self._verify(items)

    def action_stop(self) -> None:
        """Stop the verification of the entry under the cursor, else the newest."""
        item, running = self.current, self.caches.running
        work = self.caches.work_of(item.path) if item is not None else None
        if work is not None or running:
            self.verifying.stop(work or running[-1])

    def action_repair(self) -> None:
        """Show what can be mended of the marked entries, or of the one under the cursor."""
        if not self._refused():
            self.mending.repair(self._marked())

    def action_clean(self) -> None:
        """Show what would go to the trash of the marked entries, or of the one under the cursor."""
        if not self._refused():
            self.mending.clean(self._marked())

    def action_undo(self) -> None:
        """Show what the last clean or repair would bring back."""
        if not self._refused():
            self.mending.undo()

    def action_baseline(self) -> None:
        """Record the checksums of the marked files, or of the one under the cursor."""
        if not self._refused():
            self.mending.baseline(self._marked())

    def action_server(self) -> None:
        """The dataset cache servers, their sessions and what these have cached."""
        from mswb.ui.panes.cache.server_screen import ServerScreen

        settings, tasks = self.context.settings, self.context.tasks

        def look(screen: ServerScreen) -> None:
            def ask(_: object) -> Served:
                from mswb.flows.cache_served import served

                return served(settings, os.environ)

            tasks.start(word("server"), ask, screen.show, failed=screen.failed, group="cache-server")

        self.app.push_screen(ServerScreen(look))

    def action_open(self) -> None:
        """Show the place of the finding under the cursor, or of the first one; without any what the list does."""
        item = self.current
        if item is not None and self._place_of(item) is not None:
            self.action_bytes()
        else:
            super().action_open()

    def _findings_here(self, item: Item) -> Sequence[Finding]:
        """The findings, the one under the cursor of the details first."""
        findings = findings_of(item, self.caches)
        line = self.query_one(CacheDetails).current if self.details.has_focus else None
        if line is None or line.finding is None:
            return findings
        return [findings[line.finding], *findings]

    def action_bytes(self) -> None:
        """The bytes of the entry, from its first fault on."""
        item = self.current
        if item is None:
            return
        place = self._place_of(item)
        if place is not None:
            self.show_bytes(item, *place)
        elif os.path.isfile(item.path):
            self.show_bytes(item, item.path, 0)

    def _place_of(self, item: Item) -> tuple[str, int] | None:
        """The file and byte of the finding under the cursor, or of the first one that has a place."""
        places = [one.where for one in self._findings_here(item) if one.where.file and os.path.isfile(one.where.file)]
        places.sort(key=lambda where: where.offset is None)
        return (places[0].file or "", places[0].offset or 0) if places else None

    def action_bad(self, step: int) -> None:
        """To the next entry with a fault, or the one before, in the order of the table."""
        table = self.table
        row = table.cursor_row
        line = table.view.line_of(row) if row is not None else None
        places = {one: place for one in self.rows.bad if (place := table.view.line_of(one)) is not None}
        after = [one for one, place in places.items() if line is None or (place - line) * step > 0]
        if after:
            table.move_to(min(after, key=lambda one: places[one] * step))

    def action_place(self) -> None:
        """List the next place alone; after the last one all of them."""
        known = ["", *(one.place for one in self.rows.sums)]
        at = known.index(self.caches.place) if self.caches.place in known else 0
        self.change_caches(caches.placed, known[(at + 1) % len(known)])

    async def action_filter(self) -> None:
        """Open the filter line of the table."""
        await self.table.action_filter()

    def action_copy_details(self) -> None:
        item = self.current
        if item is not None:
            self.post_message(Copy(entry_text(item, self.caches), "details"))

    def _refused(self) -> bool:
        """Whether nothing may be changed; says so."""
        if self.context.options.read_only:
            self.app.notify(word("read only"), severity="warning", markup=False)
        return self.context.options.read_only

    def open_path(self, path: Path) -> bool:
        self.change_caches(caches.placed, "")
        return super().open_path(path)


_NEEDS: Mapping[str, Callable[[CachePane], bool]] = {
    "verify": lambda pane: bool(pane._wanted()),
    "stop": lambda pane: bool(pane.caches.running),
    "bytes": lambda pane: pane.current is not None and not pane.current.path.startswith("shm:"),
    "place": lambda pane: len(pane.rows.sums) > 1,
    "repair": lambda pane: any(findings_of(one, pane.caches) for one in pane._marked()),
    "clean": lambda pane: pane.current is not None,
    "baseline": lambda pane: any(one.kind in BASELINES for one in pane._marked()),
    "bad": lambda pane: bool(pane.rows.bad),
}
"""When the keys of this pane do something; asked for each key by itself, and often."""
