"""The screen of the four panes: header, tabs, the pane in front, key bar."""

from __future__ import annotations

from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from mswb.findings import Where
from mswb.ui.context import Context
from mswb.ui.panes import registry
from mswb.ui.panes.base import Pane
from mswb.ui.screens.base import PacedScreen
from mswb.ui.widgets.header import Header, HeaderState
from mswb.ui.widgets.keybar import KeyBar
from mswb.ui.widgets.tabbar import TabBar


class MainScreen(PacedScreen[None]):
    """Panes are loaded and composed when they are first shown, and stay."""

    def __init__(self, context: Context, header: HeaderState) -> None:
        super().__init__(id="main")
        self.context = context
        self.header = header
        self.front = ""
        self._focus: dict[str | None, Widget | None] = {}

    def compose(self) -> ComposeResult:
        yield Header(self.header, id="header")
        yield TabBar([(name, entry.words) for name, entry in registry.PANES.items()], self.front, id="tabs")
        yield ContentSwitcher(id="panes")
        yield KeyBar(id="keys")

    def show_header(self, state: HeaderState) -> None:
        """Say something else in the top row."""
        self.header = state
        self.query_one(Header).show(state)

    def draw_tabs(self) -> None:
        """Mark the tab in front, and say how much goes on beside it."""
        running = self.context.tasks.running
        for bar in self.query(TabBar):
            bar.show(self.front, f"{running} at work" if running else "")

    def pane(self, name: str) -> Pane | None:
        """A pane that was shown before."""
        return self.query_one_optional(f"#pane-{name}", Pane)

    async def show_pane(self, name: str) -> Pane:
        """Bring a pane to the front."""
        switcher, before = self.query_one(ContentSwitcher), self.pane(self.front) if self.front else None
        found = self.pane(name)
        if found is None:
            found = registry.make_pane(name, self.context)
            await switcher.mount(found)
        if found is not before:
            if before is not None:
                self._focus[before.id] = self.focused
                before.on_pane_hidden()
            self.front, switcher.current = name, found.id
            self.draw_tabs()
            found.on_pane_shown()
            self.call_after_refresh(self._focus_in, found)
        return found

    async def choose_pane(self, name: str) -> None:
        """Leave what lies over the panes, and bring one to the front."""
        while self.app.screen is not self:
            self.app.pop_screen()
        await self.show_pane(name)

    def _focus_in(self, pane: Pane) -> None:
        """Focus what had the focus when the pane was last in front, else its first part that takes it."""
        chosen = self._focus.get(pane.id)
        if chosen is None or not chosen.is_attached:
            chosen = next((one for one in pane.query("*") if one.focusable and one.display), None)
        if chosen is not None and (self.focused is None or pane not in self.focused.ancestors):
            self.set_focus(chosen)

    @on(TabBar.Chosen)
    async def _tab_chosen(self, event: TabBar.Chosen) -> None:
        await self.show_pane(event.name)

    async def open_path(self, kind: str, path: Path) -> bool:
        """Show a file or folder of a known kind; False when the pane can't."""
        pane = await self.show_pane(registry.PANE_OF_KIND.get(kind, self.front) or registry.FIRST)
        return pane.open_path(path)

    async def open_place(self, where: Where) -> bool:
        """Show a place in the pane that can, the one in front first; False when none can."""
        for name in dict.fromkeys((self.front, *registry.PANES)):
            found = self.pane(name)
            if found is not None and found.open_place(where):
                await self.show_pane(name)
                return True
        return False
