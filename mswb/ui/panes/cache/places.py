"""The places that caches lie in, with their totals: the row above the list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from mswb.files.items import Item
from mswb.ui.glyphs import glyph
from mswb.ui.panes.cache.words import word
from mswb.ui.widgets.table.units import bytes_text

PLACES = ("project", "store", "server", "system")
"""In the order of the row; ``""`` stands for all of them."""
_SERVER = frozenset({"cache-server", "cache-spill", "dataset-cache", "shared-memory"})


@dataclass(frozen=True, slots=True)
class Total:
    """The entries of a place, and the bytes they hold."""

    place: str
    count: int
    size_bytes: int


def place_of(item: Item, root: str, store: str) -> str:
    """The place that an entry lies in."""
    if _inside(item.path, store):
        return "store"
    if _inside(item.path, root):
        return "project"
    return "server" if item.kind in _SERVER or item.path.startswith("shm:") else "system"


def totals(items: Iterable[Item], root: str, store: str) -> tuple[Total, ...]:
    """The sums by place, of the places that have entries."""
    counts: dict[str, list[int]] = {place: [0, 0] for place in PLACES}
    for item in items:
        sums = counts[place_of(item, root, store)]
        sums[0] += 1
        sums[1] += item.size_bytes
    return tuple(Total(place, count, size) for place, (count, size) in counts.items() if count)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def short_bytes(size: int) -> str:
    """A size in few cells: ``512B``, ``1.5G``."""
    number, _, unit = bytes_text(size).partition(" ")
    return f"{number.removesuffix('.0')}{unit.removesuffix('iB')}"


class PlacesBar(Widget):
    """One row; a click on a place lists it alone."""

    DEFAULT_CSS = """
    PlacesBar { height: 1; width: 1fr; background: $panel; color: $text-muted; }
    PlacesBar > .places--chosen { color: $text-accent; text-style: bold; }
    """
    COMPONENT_CLASSES = {"places--chosen"}  # noqa: RUF012 (Textual's own form)

    class Chosen(Message):
        """A place was clicked on."""

        def __init__(self, place: str) -> None:
            super().__init__()
            self.place = place

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._totals: tuple[Total, ...] = ()
        self._place = ""

    def show(self, found: Sequence[Total], place: str) -> None:
        """Draw the sums; ``place`` is the one that is listed."""
        if (tuple(found), place) != (self._totals, self._place):
            self._totals, self._place = tuple(found), place
            self.refresh()

    def parts(self) -> list[tuple[str, str]]:
        """Each place with its words."""
        every = Total("", sum(one.count for one in self._totals), sum(one.size_bytes for one in self._totals))
        listed = [every, *self._totals] if len(self._totals) != 1 else list(self._totals)
        return [(one.place, self._words(one)) for one in listed if one.count or not self._totals]

    def _words(self, one: Total) -> str:
        sign = glyph("cursor") if one.place == self._place and len(self._totals) > 1 else " "
        return f"{sign}{word(f'place-{one.place}')} {one.count:,} {glyph('dot')} {short_bytes(one.size_bytes)} "

    def render(self) -> Text:
        row = Text(no_wrap=True, end="", overflow="ellipsis")
        style = self.get_component_rich_style("places--chosen")
        for place, text in self.parts():
            row.append(text, style=style if place == self._place and len(self._totals) > 1 else "")
        return row

    def on_click(self, event: events.Click) -> None:
        start = 0
        for place, text in self.parts():
            start += Text(text).cell_len
            if event.x < start:
                self.post_message(self.Chosen(place))
                return
