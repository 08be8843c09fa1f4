"""Fields of a form, one row each: a label, a text or a choice, and beside it what is wrong with it.

A row is two widgets only, since a form has many: the row draws label and problem itself. No cursor blinks, so an idle
form sends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive, reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from mswb.files.safety import UNSAFE
from mswb.ui import keymap
from mswb.ui.glyphs import glyph

LABEL_CELLS = 18


class Entry(Input):
    """A text on one row; Up, Down and Enter go on to the neighbours. Control characters never get in.

    What stands there is selected when a key brings the focus, so that typing replaces it. Without the focus a long text
    is shown from its beginning, with it where the cursor is; a mark stands where it goes on.
    """

    SELECTS: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("form_entry")
    DEFAULT_CSS = """
    Entry { width: 1fr; background: $boost; }
    Entry:focus { background-tint: $foreground 10%; }
    """

    virtual_size: Reactive[Size] = Reactive(Size(0, 0))
    """Textual lays the whole screen out when the length of a text changes; on a row of fixed size nothing moves."""

    def __init__(self, text: str = "", *, placeholder: str = "") -> None:
        super().__init__(text, placeholder=placeholder, compact=True, select_on_focus=self.SELECTS)
        self.cursor_blink = False

    def validate_value(self, value: str) -> str:
        """What a paste brings may hold anything."""
        return UNSAFE.sub("", value.replace("\t", " "))

    def action_next(self) -> None:
        """Go on to the next field."""
        self.screen.focus_next()

    def watch_value(self) -> None:
        self._bring_in_sight()

    def on_focus(self) -> None:
        self._bring_in_sight()

    def on_blur(self) -> None:
        self.scroll_to(0, 0, force=True, animate=False)  # a click counts from what is seen

    def _bring_in_sight(self) -> None:
        """Scroll to the cursor: the text may be shorter than what was scrolled to."""
        self.scroll_to_region(Region(self._cursor_offset, 0, 1, 1), force=True, animate=False)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if y or width < 4 or not self.value:
            return super().render_line(y)
        if self.has_focus:
            strip, start = super().render_line(y), self.scroll_offset.x
            cursor = self._cursor_offset - self.cursor_at_end - start
        else:
            strip, start, cursor = Strip([Segment(self.value, self.rich_style)]), 0, -1
            strip = strip.adjust_cell_length(width, self.rich_style)
        mark = Strip([Segment(glyph("ellipsis"), self.rich_style)])
        if start > 0 and cursor != 0:
            strip = Strip.join([mark, strip.crop(mark.cell_length)])
        if start + width < cell_len(self.value) and cursor != width - 1:
            strip = Strip.join([strip.crop(0, width - mark.cell_length), mark])
        return strip


class FilterEntry(Entry):
    """A filter of the fields below: Down goes to the first one that matches, not to the heading above it."""

    class Left(Message):
        """The first match is wanted."""

    def action_next(self) -> None:
        """Go to the first match; without a filter, on."""
        if self.value.strip():
            self.post_message(self.Left())
        else:
            super().action_next()


class PathEntry(Entry):
    """A path: Tab completes it and goes on when there is nothing to complete, Ctrl+O offers what there is."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("form_path")

    class Wanted(Message):
        """Completion is wanted, or (``offer``) a list to choose from."""

        def __init__(self, entry: PathEntry, offer: bool) -> None:
            super().__init__()
            self.entry = entry
            self.offer = offer

    def action_complete(self) -> None:
        """Complete the path."""
        self.post_message(self.Wanted(self, False))

    def action_offer(self) -> None:
        """Offer what could stand here."""
        self.post_message(self.Wanted(self, True))


class LineEntry(Entry):
    """The whole command line; Up and Down go through earlier ones. Too much to be replaced by a letter."""

    SELECTS: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("form_line")

    class Recalled(Message):
        """An older (-1) or newer (1) line is wanted."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def action_recall(self, step: int) -> None:
        """Ask for an older or newer line."""
        self.post_message(self.Recalled(step))


class Choice(Widget, can_focus=True):
    """One of a few words, the empty one among them; a switch is the choice between nothing and ``true``."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("form_choice")
    DEFAULT_CSS = """
    Choice { width: 1fr; height: 1; background: $boost; }
    Choice:focus { background: $block-cursor-background; color: $block-cursor-foreground; }
    """
    value: reactive[str] = reactive("", init=False)

    class Changed(Message):
        """Another word was chosen."""

        def __init__(self, choice: Choice, value: str) -> None:
            super().__init__()
            self.choice = choice
            self.value = value

        @property
        def control(self) -> Choice:
            return self.choice

    def __init__(self, words: Sequence[str], *, default: str, switch: bool) -> None:
        super().__init__()
        self._words = ("", *words)
        self._default = default
        self._switch = switch

    def watch_value(self, value: str) -> None:
        self.post_message(self.Changed(self, value))

    def render(self) -> Text:
        if self._switch:
            on = self.value.strip().lower() not in ("", "false")
            return Text("[x]" if on else "[ ]", no_wrap=True)
        words = (self.value, "") if self.value else (self._default, "dim")
        return Text.assemble("< ", words, " >", no_wrap=True, overflow="ellipsis")

    def on_click(self, event: events.Click) -> None:
        self.focus()
        self.action_turn(-1 if event.x < 2 and not self._switch else 1)

    def action_turn(self, step: int) -> None:
        """Take the next or previous word; a word that is none of them is before the first.

        The empty word shows the default, so the default itself is no station of its own: each turn is to be seen.
        """
        words = [word for word in self._words if self._switch or word != self._default]
        now = self.value if self._switch or self.value != self._default else ""
        at = words.index(now) if now in words else -1
        self.value = words[(at + step) % len(words)]

    def on_key(self, event: events.Key) -> None:
        letter = event.character.lower() if event.character and event.is_printable else ""
        fitting = [word for word in self._words if letter.strip() and word.lower().startswith(letter)]
        if fitting and not self._switch:
            event.stop()
            at = fitting.index(self.value) + 1 if self.value in fitting else 0
            self.value = fitting[at % len(fitting)]


class FieldRow(Widget):
    """A label, one editor, and under it what is wrong with it."""

    DEFAULT_CSS = f"""
    FieldRow {{ layout: horizontal; height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }}
    FieldRow.-wrong {{ height: 2; }}
    FieldRow > Entry, FieldRow > Choice {{ margin-left: {LABEL_CELLS}; }}
    """

    def __init__(self, field: str, label: str, editor: Entry | Choice) -> None:
        super().__init__(id=f"row-{field}")
        self.field = field
        self.editor = editor
        self._label = label
        self._told = editor.value
        self._problem = ""
        self._given = False

    def compose(self) -> ComposeResult:
        yield self.editor

    def show(self, text: str, problem: str, *, given: bool) -> None:
        """Show this text without telling anybody, and what is wrong with it; ``given``: it is not the default.

        A text that is just being typed stays: what is to be shown does not know of it yet.
        """
        if self.editor.value == self._told and self._told != text:
            with self.editor.prevent(Input.Changed, Choice.Changed):
                self.editor.value = self._told = text
        if (problem, given) != (self._problem, self._given):
            self._problem, self._given = problem, given
            self.set_class(bool(problem), "-wrong")
            self.refresh()

    def heard(self, text: str) -> None:
        """Note that its form knows of this text."""
        self._told = text

    def render(self) -> Content:
        label = (f" {self._label}", "$foreground bold" if self._given else "$text-muted")
        problem = (f"\n  {glyph('error')} {self._problem}", "$text-error") if self._problem else ""
        return Content.assemble(label, problem)

    def on_click(self) -> None:
        self.editor.focus()


class Fold(Widget, can_focus=True):
    """A heading whose fields open and close."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("form_fold")
    DEFAULT_CSS = """
    Fold { height: 1; width: 1fr; color: $text-accent; text-style: bold; }
    Fold:hover { background: $boost; }
    Fold:focus { background: $block-cursor-background; color: $block-cursor-foreground; }
    """
    is_open: reactive[bool] = reactive(False, init=False)

    class Turned(Message):
        """It was opened or closed."""

        def __init__(self, fold: Fold) -> None:
            super().__init__()
            self.fold = fold

    def __init__(self, key: str, title: str, count: int) -> None:
        super().__init__(id=f"fold-{key}")
        self.key = key
        self._title = title
        self._count = count

    def watch_is_open(self) -> None:
        self.post_message(self.Turned(self))

    def render(self) -> Text:
        sign = glyph("unfold" if self.is_open else "fold")
        return Text.assemble(f"{sign} {self._title} ", (f"({self._count})", "dim"), no_wrap=True, overflow="ellipsis")

    def on_click(self) -> None:
        self.action_turn()

    def action_turn(self) -> None:
        """Open it, or close it."""
        self.is_open = not self.is_open

    def action_set(self, is_open: bool) -> None:
        """Open it (True) or close it."""
        self.is_open = is_open
