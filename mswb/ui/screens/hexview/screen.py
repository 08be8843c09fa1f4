"""The hex view: the bytes of one file, from a fault on, and what each of its faults is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from mswb.cache.bytesview import ROW, Mark, Source, fault_of, marks
from mswb.files.safety import printable
from mswb.findings import Finding, language
from mswb.ui import keymap
from mswb.ui.context import Context
from mswb.ui.glyphs import glyph
from mswb.ui.messages import Copy
from mswb.ui.screens.base import PacedModal
from mswb.ui.screens.hexview.lines import Layout, layout, next_place
from mswb.ui.screens.hexview.view import CHUNK, HexRows
from mswb.ui.widgets.keybar import KeyBar
from mswb.ui.widgets.table.units import bytes_text

_WORDS = {
    "reading": ("reading", "正在读取"),
    "go": ("Go to byte (decimal, or 0x...):", "跳转到字节（十进制，或 0x…）："),
    "no": ("that is no byte of this file", "该文件没有这个字节"),
    "fault": ("fault", "故障"),
    "fault at": ("fault at", "故障位于"),
    "byte": ("byte", "字节"),
    "of": ("of", "/"),
    "row": ("row", "行"),
}


def word(name: str) -> str:
    """The words of this name, in the language of this process."""
    return _WORDS[name][language() == "zh"]


class HexScreen(PacedModal[None]):
    """Looks at one file.

    Args:
        form: the kind of the entry the file is of, which tells what its bytes mean.
        findings: what is wrong with the file.
        offset: the byte to begin with.
    """

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("hexview")
    DEFAULT_CSS = """
    HexScreen { background: $background; }
    HexScreen #hex-title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    HexScreen #hex-reason { height: auto; max-height: 2; padding: 0 1; }
    HexScreen #hex-place { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, context: Context, path: str, form: str, findings: Sequence[Finding], offset: int) -> None:
        super().__init__()
        self.context, self.path = context, path
        self._form = form
        self._findings = tuple(one for one in findings if one.where.file == path and one.where.offset is not None)
        self._places = tuple(place_of(one) for one in self._findings)
        named = (place for one, place in zip(self._findings, self._places, strict=True) if one.where.offset == offset)
        self._start = next(named, offset)

    def compose(self) -> ComposeResult:
        name = printable(os.path.basename(self.path))
        yield Static(f"{name}  {word('reading')}{glyph('ellipsis')}", id="hex-title", markup=False)
        yield Static("", id="hex-reason", markup=False)
        yield HexRows()
        yield Static("", id="hex-place", markup=False)
        yield KeyBar()

    @property
    def rows(self) -> HexRows:
        """The rows of bytes."""
        return self.query_one(HexRows)

    def on_mount(self) -> None:
        self.rows.focus()

        def opened(_: object) -> tuple[int, tuple[Mark, ...]]:
            source = Source(self.path)
            try:
                return source.size, marks(self._form, source, [fault_of(one) for one in self._findings])
            finally:
                source.close()

        self.context.tasks.start(word("reading"), opened, self._opened, failed=self._failed, quiet=True)

    def _opened(self, found: tuple[int, tuple[Mark, ...]]) -> None:
        if self.is_mounted:
            self.rows.show(layout(*found), self._start)

    def _failed(self, problem: Finding) -> None:
        if self.is_mounted:
            self.query_one("#hex-reason", Static).update(printable(problem.title))

    @on(HexRows.Wanted)
    def _wanted(self, event: HexRows.Wanted) -> None:
        event.stop()
        chunk, path = event.chunk, self.path

        def read(_: object) -> bytes:
            source = Source(path)  # of its own: the screen may be closed meanwhile
            try:
                return source.read(chunk * CHUNK, CHUNK)
            finally:
                source.close()

        self.context.tasks.start(
            word("reading"),
            read,
            lambda data: self.rows.fill(chunk, data) if self.is_mounted else None,
            failed=lambda problem: self.rows.fill(chunk, b"") if self.is_mounted else None,
            quiet=True,
        )

    # -- what is told of the place

    @on(HexRows.Moved)
    def _moved(self, event: HexRows.Moved) -> None:
        event.stop()
        shown, here = self.rows.shown, self.rows.offset_here
        title = f"{printable(os.path.basename(self.path))}  {bytes_text(shown.size)} ({shown.size:,} B)"
        number = self._fault_at(shown, here)
        if number is not None:
            title += f"  {glyph('dot')} {word('fault')} {number + 1} {word('of')} {len(self._findings)}"
        self.query_one("#hex-title", Static).update(title)
        self.query_one("#hex-reason", Static).update(
            "" if number is None else f"{glyph('error')} {printable(self._findings[number].title)}"
        )
        place = None if number is None else self._places[number]
        self.query_one("#hex-place", Static).update(place_text(shown, here, place))

    def _fault_at(self, shown: Layout, offset: int) -> int | None:
        """The fault that the cursor is on, or the last one above it."""
        places = self._places
        above = [index for index, place in enumerate(places) if shown.line_of(place) <= self.rows.cursor]
        return max(above, key=lambda index: (places[index], -index), default=0 if places else None)

    # -- keys

    def action_step(self, rows: int) -> None:
        """Move by rows."""
        self.rows.move(rows)

    def action_turn(self, pages: int) -> None:
        """Move by pages."""
        self.rows.move(pages * max(1, self.rows.size.height - 1))

    def action_edge(self, end: bool) -> None:
        """To the first or last byte."""
        self.rows.go_to(self.rows.shown.size - 1 if end else 0)

    def action_fault(self, step: int) -> None:
        """To the next damaged place, or the one before."""
        self._go([mark.start for mark in self.rows.shown.marks if mark.fault], step)

    def action_record(self, step: int) -> None:
        """To the next place with a name, or the one before."""
        self._go([mark.start for mark in self.rows.shown.marks], step)

    def _go(self, places: Sequence[int], step: int) -> None:
        lines = {self.rows.shown.line_of(place): place for place in places}
        line = next_place(tuple(lines), self.rows.cursor, step)
        if line is not None:
            self.rows.go_to(lines[line])

    def action_place(self) -> None:
        """Ask for an offset, and go there."""
        from mswb.ui.screens.ask import Ask

        def answered(text: str | None) -> None:
            if text and text.strip():
                offset = offset_of(text)
                if offset is None or offset >= self.rows.shown.size:
                    self.app.notify(word("no"), severity="warning", markup=False)
                else:
                    self.rows.go_to(offset)

        self.app.push_screen(Ask(word("go")), answered)

    def action_copy(self) -> None:
        """Copy the row."""
        self.post_message(Copy(self.rows.row_text(), word("row")))

    def action_close(self) -> None:
        """Back to the pane."""
        self.dismiss(None)


def place_of(finding: Finding) -> int:
    """The damaged byte of a finding: the very one where it is known, else where its record begins."""
    fault = fault_of(finding)
    return fault.byte if fault.byte is not None else fault.offset or 0


def place_text(shown: Layout, offset: int, fault: int | None = None) -> str:
    """Where a row is, in both ways of counting, and what its bytes are; with ``fault`` in it, that byte instead."""
    if fault is not None and offset <= fault < offset + ROW:
        return f"{word('fault at')} {_byte(fault)}{_names(shown, fault, fault + 1)}"
    other = "" if fault is None else f" {glyph('dot')} {word('fault at')} {_byte(fault)}"
    return f"{_byte(offset)}{other}{_names(shown, offset, offset + ROW)}"


def _byte(offset: int) -> str:
    return f"{word('byte')} {offset:,} = 0x{offset:x}"


def _names(shown: Layout, start: int, end: int) -> str:
    """What the bytes of a stretch are."""
    inside = [mark for mark in shown.marks if not mark.fault and mark.start < end and mark.end > start]
    return "  " + f" {glyph('dot')} ".join(printable(one.name, 60) for one in inside) if inside else ""


def offset_of(text: str) -> int | None:
    """The offset that a person typed; None when it is none."""
    cleaned = text.strip().lower().replace(",", "").replace("_", "")
    try:
        value = int(cleaned, 16 if cleaned.startswith("0x") else 10)
    except ValueError:
        return None
    return value if value >= 0 else None
