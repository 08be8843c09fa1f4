"""The command palette: every action that works where you are, the panes, the themes, and what a finding code means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from mswb.findings import language, load_catalogue, make

if TYPE_CHECKING:
    from mswb.ui.app import Workbench

Command = tuple[str, str, Callable[[], Any]]


class WorkbenchCommands(Provider):
    """Actions and themes at once; finding codes only when searched for, since there are many."""

    async def discover(self) -> Hits:
        for words, explanation, run in self._commands():
            yield DiscoveryHit(words, run, help=explanation)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for words, explanation, run in [*self._commands(), *self._codes()]:
            score = matcher.match(words)
            if score > 0:
                yield Hit(score, matcher.highlight(words), run, help=explanation)

    @property
    def _workbench(self) -> Workbench:
        return cast("Workbench", self.app)

    def _commands(self) -> Iterator[Command]:
        screen = self.screen
        seen: set[str] = set()
        for key, active in screen.active_bindings.items():
            name = active.binding.id or active.binding.action
            if active.enabled and active.binding.description and name not in seen:
                seen.add(name)
                display = self.app.get_key_display(active.binding)
                yield active.binding.description, f"{display}  {name}", partial(self._press, key)
        for theme in self._workbench.theme_names:
            yield f"Theme: {theme}", "use this theme from now on", partial(self._workbench.choose_theme, theme)

    def _press(self, key: str) -> None:
        self.app.simulate_key(key)

    def _codes(self) -> Iterator[Command]:
        for code, entry in load_catalogue().items():
            yield f"Explain: {code}", entry.words(language()).title, partial(self._explain, code)

    def _explain(self, code: str) -> None:
        from mswb.ui.screens.findings import FindingsScreen

        self.app.push_screen(FindingsScreen([make(code)], code))
