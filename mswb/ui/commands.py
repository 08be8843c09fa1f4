"""The command palette: every action that works where you are, the panes, the themes, and what a finding code means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider

from mswb.findings import language, load_catalogue, make
from mswb.ui import keymap

if TYPE_CHECKING:
    from mswb.ui.app import Workbench

Command = tuple[str, str, Callable[[], Any]]


def place(binding: Binding) -> tuple[int, bool]:
    """First what is special to the pane, then the whole workbench's, at last cursor keys and the like."""
    context = (binding.id or "").partition(".")[0]
    return 2 if not context or context in keymap.GENERIC else int(context == "app"), not binding.show


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
        seen: set[str] = set()
        active_ones = sorted(self.screen.active_bindings.items(), key=lambda one: place(one[1].binding))
        for key, active in active_ones:
            name, words = active.binding.id or active.binding.action, keymap.words_of(active.binding)
            if active.enabled and words and words not in seen:
                seen.add(words)
                display = self.app.get_key_display(active.binding)
                yield words, f"{display}  {name}", partial(self._press, key)
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
