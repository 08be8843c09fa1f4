"""What the keys of the log do. Everything that reads a file is asked of the engine, and goes on when it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from textual.actions import SkipAction
from textual.widget import Widget

from mswb.files.levels import Level
from mswb.files.safety import printable
from mswb.findings import MswbError
from mswb.launch.logview import finding
from mswb.launch.logview.details import Details, details_of, text_of
from mswb.launch.logview.engine import LogEngine
from mswb.launch.logview.filters import NO_FILTER, Filter, format_filter, parse_filter
from mswb.launch.logview.finding import Ground
from mswb.launch.logview.model import LogModel
from mswb.launch.logview.rows import Place
from mswb.launch.logview.state import Snapshot
from mswb.ui.messages import Copy
from mswb.ui.widgets.log.prompt import Prompt
from mswb.ui.widgets.log.view import LogView
from mswb.ui.widgets.log.words import word

T = TypeVar("T")
Cancelled = Callable[[], bool]
Question = Callable[[LogModel, Ground, Cancelled], T]
_LEVELS = (Level.NONE, Level.INFO, Level.WARNING, Level.ERROR)
_PLACEHOLDERS = {
    "search": "search (small letters match both cases)",
    "filter": "level:warning rank:0-3 role:scheduler module:DEVICE pid:12 routine:no words !dropped",
    "keep": "show only lines that match",
    "drop": "hide lines that match",
}


class LogActions(Widget):
    """The actions; :class:`mswb.ui.widgets.log.body.LogBody` gives them what they work on."""

    view: LogView
    engine: LogEngine
    when_drawn: list[Callable[[], None]]
    """What waits for the next state."""
    prompt: Prompt
    wanted: Filter = NO_FILTER
    search: str = ""

    @property
    def snapshot(self) -> Snapshot:
        """What is drawn; the engine may be further already."""
        return self.view.snapshot

    def say(self, text: str, **values: object) -> None:
        """A passing remark."""
        self.app.notify(printable(word(text, **values)), markup=False, timeout=3)

    def ask(self, question: Question[T], answer: Callable[[T], None]) -> None:
        """Have the engine find something out; what it has changed is drawn first."""

        def received(found: T) -> None:
            self.draw()
            answer(found)

        self.engine.ask(question, received)

    def draw(self) -> None:
        """Draw the engine's newest state."""
        raise NotImplementedError

    # -- moving

    def action_move(self, rows: int) -> None:
        """Some lines down or up."""
        self.view.move_to(self.view.cursor + rows)

    def action_page(self, pages: float) -> None:
        """Some pages down or up."""
        self.view.page(int(pages * max(1, self.view.size.height - 1)))

    def action_top(self) -> None:
        """The first line."""
        self.view.move_to(0)

    def action_end(self) -> None:
        """The last line; what comes is followed."""
        self.view.move_to(self.view.count - 1, follow=True)

    def action_follow(self) -> None:
        """Follow, or stay here."""
        self.view.move_to(self.view.count - 1 if not self.view.following else self.view.cursor,
                          follow=not self.view.following)  # fmt: skip

    def action_shift(self, cells: int) -> None:
        """Along long lines."""
        self.view.shift(cells)

    def action_wrap(self) -> None:
        """All of long lines, or cut."""
        self.view.toggle_wrap()

    def action_raw(self) -> None:
        """Records as they are written, or short."""
        self.view.toggle_raw()

    def jump(self, place: Place | None) -> None:
        """To a line that passes the filter; it is unfolded where it is folded away."""
        row = self.snapshot.rows.row_of(place) if place is not None else None
        if place is None or row is None:
            return
        if self.snapshot.rows.kept.has(row):
            self.view.move_to(self.snapshot.rows.kept.rank(row), centre=True)
        else:
            self.ask(lambda model, ground, cancelled: model.unfold(place), lambda head: self.reveal(place))

    def reveal(self, place: Place) -> None:
        """To a line, or the next one shown."""
        shown = self.snapshot.rows.shown_of(place)
        if shown is not None:
            self.view.move_to(shown, centre=True)

    @property
    def row(self) -> int:
        """The row under the cursor, hidden ones counted."""
        rows = self.snapshot.rows
        return rows.kept.select(self.view.cursor) if 0 <= self.view.cursor < rows.count else 0

    def find(self, question: Callable[[Ground, int, Cancelled], T], answer: Callable[[T], None]) -> None:
        """Ask for something near the line under the cursor, whose row the question is given."""
        here = self.view.place

        def work(model: LogModel, ground: Ground, cancelled: Cancelled) -> T:
            return question(ground, (ground.rows.row_of(here) if here is not None else None) or 0, cancelled)

        self.ask(work, answer)

    # -- searching

    def action_search(self) -> None:
        """Ask what to search."""
        self.prompt.ask("search", word(_PLACEHOLDERS["search"]))

    def action_match(self, step: int) -> None:
        """To the next or previous match; round the end."""
        hits, rows = self.snapshot.hits, self.snapshot.rows
        if hits is None:
            self.say("nothing is searched yet: / asks what")
        elif not hits.count:
            self.say("no line matches {wanted}" if self.snapshot.hits_done else "still searching", wanted=self.search)
        else:
            at = hits.rank(self.row) + (hits.has(self.row) if step > 0 else -1)
            if not 0 <= at < hits.count:
                self.say("from the top again" if step > 0 else "from the end again")
            self.jump(rows.place_at(hits.select(at % hits.count)))

    def set_search(self, text: str) -> None:
        """Search, and go to the first match from here on."""
        self.search = text
        here = self.view.place
        self.question(lambda: self._first_match(here, text))

    def _first_match(self, here: Place | None, wanted: str) -> None:
        """Go there as soon as it is known to be the first."""
        snapshot = self.snapshot
        hits = snapshot.hits
        here = here or self.view.place  # typed before the lines were counted
        if not wanted or wanted != self.search:
            return
        if hits is None or here is None or snapshot.search != wanted:
            self.when_drawn.append(lambda: self._first_match(here, wanted))
            return
        row = snapshot.rows.row_of(here) or 0
        at = hits.rank(row)
        if hits.count and (snapshot.hits_done or (at < hits.count and snapshot.is_known(row, hits.select(at)))):
            self.jump(snapshot.rows.place_at(hits.select(at % hits.count)))
        elif snapshot.hits_done:
            self.say("no line matches {wanted}", wanted=self.search)
        else:
            self.when_drawn.append(lambda: self._first_match(here, wanted))

    # -- filtering

    def action_filter(self) -> None:
        """Ask for the whole filter."""
        self.prompt.ask("filter", word(_PLACEHOLDERS["filter"]), format_filter(self.wanted))

    def action_keep(self) -> None:
        """Ask what lines must match."""
        self.prompt.ask("keep", word(_PLACEHOLDERS["keep"]))

    def action_drop(self) -> None:
        """Ask what lines must not match."""
        self.prompt.ask("drop", word(_PLACEHOLDERS["drop"]))

    def action_level(self) -> None:
        """The next level: all, INFO, WARNING, ERROR."""
        at = _LEVELS.index(self.wanted.level) if self.wanted.level in _LEVELS else 0
        self.set_filter(replace(self.wanted, level=_LEVELS[(at + 1) % len(_LEVELS)]))

    def set_filter(self, wanted: Filter) -> None:
        """Show only what passes."""
        self.wanted = wanted
        self.question(lambda: None)

    def question(self, then: Callable[[], None]) -> None:
        """Put filter and search to the engine."""
        wanted, search, here = self.wanted, self.search, self.view.place

        def work(model: LogModel, ground: Ground, cancelled: Cancelled) -> None:
            model.ask(wanted, search, here)
            model.step(cancelled)

        self.ask(work, lambda nothing: then())

    def on_prompt_answered(self, event: Prompt.Answered) -> None:
        """The text that was asked for."""
        event.stop()
        self.view.focus()
        if event.text is None:
            return
        try:
            self._answered(event.purpose, event.text.strip() if event.purpose == "filter" else event.text)
        except MswbError as problem:
            self.app.notify(str(problem), severity="error", markup=False)

    def _answered(self, purpose: str, text: str) -> None:
        if purpose == "search":
            self.set_search(text)
        elif purpose == "filter":
            self.set_filter(parse_filter(text))
        elif purpose == "keep":
            self.set_filter(replace(self.wanted, keep=(*self.wanted.keep, text) if text else ()))
        else:
            self.set_filter(replace(self.wanted, drop=(*self.wanted.drop, text) if text else ()))

    # -- jumping

    def action_severe(self, level: str, step: int) -> None:
        """To the next or previous record of this level or a higher one, or traceback."""
        least = Level[level.upper()]

        def question(ground: Ground, here: int, cancelled: Cancelled) -> Place | None:
            row = finding.next_severe(ground, here, least, forward=step > 0, cancelled=cancelled)
            return None if row is None else ground.rows.place_at(row)

        def answer(place: Place | None) -> None:
            if place is None:
                self.say(f"no {level} {'below' if step > 0 else 'above'}")
            self.jump(place)

        self.find(question, answer)

    def action_silence(self, step: int) -> None:
        """To where nothing was logged for long."""

        def question(ground: Ground, here: int, cancelled: Cancelled) -> tuple[Place, int] | None:
            found = finding.next_silence(ground, here, forward=step > 0, cancelled=cancelled)
            return None if found is None else (ground.rows.place_at(found.row), found.length_us)

        def answer(found: tuple[Place, int] | None) -> None:
            if found is None:
                where = "below" if step > 0 else "above"
                self.say(f"no silence of {{seconds}} s {where}", seconds=finding.SILENCE_US // 1_000_000)
                return
            self.say("silent for {seconds} s after this line", seconds=f"{found[1] / 1e6:,.1f}")
            self.jump(found[0])

        self.find(question, answer)

    def action_time(self, seconds: int) -> None:
        """So many seconds later or earlier."""
        here = self.view.place
        if here is None:
            return

        def question(model: LogModel, ground: Ground, cancelled: Cancelled) -> Place | None:
            shown = finding.row_off_by(ground, here, seconds * 1_000_000)
            return None if shown is None else ground.rows.place(shown)

        def answer(place: Place | None) -> None:
            if place is None:
                self.say("no record near this line tells the time")
            self.jump(place)

        self.ask(question, answer)

    # -- folding and marks

    def action_routine(self) -> None:
        """Hide the records that every good run writes, or show them again."""
        self.set_filter(replace(self.wanted, routine=not self.wanted.routine))

    def action_resume(self) -> None:
        """Go on with indexing that was stopped."""
        if self.snapshot.work is None or not self.snapshot.work.stopped:
            raise SkipAction
        self.engine.do(LogModel.resume)

    def action_fold(self) -> None:
        """Fold what belongs to this line, or unfold it."""
        place = self.view.place
        if place is None:
            return

        def answer(head: Place | None) -> None:
            if head is None:
                self.say("nothing folds here")
            else:
                self.reveal(head)

        self.ask(lambda model, ground, cancelled: model.fold(place), answer)

    def action_fold_all(self) -> None:
        """Fold all tracebacks, sections and repetitions, or unfold everything."""
        self.ask(lambda model, ground, cancelled: model.fold_all(), lambda folding: None)

    def action_mark(self) -> None:
        """Set or remove a bookmark."""
        self.view.toggle_mark()

    def action_bookmark(self, step: int) -> None:
        """To the next or previous bookmark; round the end."""
        rows = self.snapshot.rows
        known = sorted(row for row in map(rows.row_of, self.view.marks) if row is not None)
        if not known:
            self.say("no bookmarks yet: m sets one")
            return
        here = self.row
        beyond = [row for row in known if (row > here if step > 0 else row < here)]
        self.jump(rows.place_at((beyond or known)[0 if step > 0 else -1]))

    # -- selecting and reading

    def action_select(self) -> None:
        """Begin a selection here, or end it."""
        self.view.picked_from = None if self.view.picked_from is not None else self.view.place
        self.view.redraw()

    def action_extend(self, rows: int) -> None:
        """Select further."""
        if self.view.picked_from is None:
            self.view.picked_from = self.view.place
        self.view.move_to(self.view.cursor + rows)

    def action_copy(self) -> None:
        """Copy the line, or the lines selected."""
        low, high = self.view.selected
        rows = self.snapshot.rows
        if self.view.place is None:
            return
        what = word("log line") if low == high else word("{count} log lines", count=f"{high - low + 1:,}")
        self.ask(
            lambda model, ground, cancelled: text_of(ground.indexes, map(rows.place, range(low, high + 1))),
            lambda text: self._copied(text, what),
        )

    def _copied(self, text: str, what: str) -> None:
        self.view.picked_from = None
        self.view.redraw()
        self.post_message(Copy(text, what))

    def action_details(self) -> None:
        """All of this line; pressed before the lines are counted, as soon as they are."""
        place = self.view.place
        if place is None and self.view.count:
            self.when_drawn.append(self.action_details)
        elif place is not None:
            log = self.snapshot.files[place.file]
            self.ask(
                lambda model, ground, cancelled: details_of(ground.indexes[place.file], log, place.line),
                self._show_details,
            )

    def _show_details(self, details: Details) -> None:
        from mswb.ui.widgets.log.details import LogDetails

        self.app.push_screen(LogDetails(details))

    def action_clear(self) -> None:
        """Step by step: the selection, the work that goes on, the search, the filter."""
        if self.view.picked_from is not None:
            self.view.picked_from = None
            self.view.redraw()
        elif self.snapshot.work is not None and not self.snapshot.built and not self.snapshot.work.stopped:
            self.engine.do(LogModel.stop)
        elif self.search:
            self.set_search("")
        elif self.wanted:
            self.set_filter(NO_FILTER)
        else:
            raise SkipAction
