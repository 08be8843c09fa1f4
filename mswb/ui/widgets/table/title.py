"""The title line of a table: what it holds, how many of how many rows, the filter, the groups, the marks."""

from __future__ import annotations

from rich.text import Text
from textual.widget import Widget

from mswb.ui.glyphs import glyph
from mswb.ui.widgets.table.text import safe
from mswb.ui.widgets.table.view import Shape, View
from mswb.ui.widgets.table.words import word


class TableTitle(Widget):
    """One line; drawn only when its words change."""

    DEFAULT_CSS = """
    TableTitle { height: 1; width: 1fr; background: $surface; color: $foreground; }
    TableTitle > .table-title--notes { color: $text-muted; }
    TableTitle > .table-title--problem { color: $warning; }
    """
    COMPONENT_CLASSES = {"table-title--notes", "table-title--problem"}  # noqa: RUF012 (Textual's own form)

    def __init__(self, title: str, *, always: bool = True) -> None:
        super().__init__()
        self.title = title
        self._always = always
        self.display = always
        self._count = ""
        self._notes = ""
        self._problem = ""
        self._drawn = ""

    def show(self, view: View, shape: Shape, marks: int, busy: bool) -> None:
        """Say what the table shows, and what was asked of it."""
        found = (count_text(view), notes_text(view, shape, marks, busy), view.problem, self.title)
        if found != (self._count, self._notes, self._problem, self._drawn):
            self._count, self._notes, self._problem, self._drawn = found
            self.display = self._always or bool(self._notes or self._problem)
            self.refresh()

    def render(self) -> Text:
        line = Text(no_wrap=True, overflow="ellipsis", end="")
        line.append(f" {safe(self.title)}" if self.title else "", style="bold")
        line.append(f" {self._count}" if self._always else "")
        if self._notes:
            line.append(f"  {self._notes}", style=self.get_component_rich_style("table-title--notes"))
        if self._problem:
            style = self.get_component_rich_style("table-title--problem")
            line.append(f"  {glyph('warning')} {safe(self._problem)}", style=style)
        line.truncate(self.size.width, overflow="ellipsis")
        return line


def count_text(view: View) -> str:
    """``12 of 1,000,000`` while a filter hides rows, else ``1,000,000``."""
    shown, every = len(view.rows), len(view.data)
    return (
        f"{every:,}"
        if not view.shape.filter.strip()
        else word("{shown} of {all}", shown=f"{shown:,}", all=f"{every:,}")
    )


def notes_text(view: View, shape: Shape, marks: int, busy: bool) -> str:
    """The filter, the groups, the marks, and whether work goes on."""
    notes = []
    if shape.filter.strip():
        notes.append(word("filter {text}", text=safe(shape.filter.strip())))
    if shape.group is not None:
        title = safe(view.data.column(shape.group).title)
        notes.append(word("by {title} ({groups})", title=title, groups=f"{len(view.groups):,}"))
    if marks:
        notes.append(word("{marks} marked", marks=f"{marks:,}"))
    if busy:
        notes.append(word("working"))
    return f" {glyph('dot')} ".join(notes)
