"""What changes the disk from the Cache pane: repair, clean, undo, baselines. A plan is shown before it is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from mswb.cache.check import Checked
from mswb.cache.entries import Entry
from mswb.files.items import Item
from mswb.files.safety import printable
from mswb.findings import Finding, Where, stop
from mswb.plan import Outcome, Plan
from mswb.ui.glyphs import glyph
from mswb.ui.panes.cache.plan_screen import PlanScreen, result_text
from mswb.ui.panes.cache.state import Told, entry_of
from mswb.ui.panes.cache.words import word
from mswb.ui.tasks import Ticket

if TYPE_CHECKING:
    from mswb.ui.panes.cache.pane import CachePane

T = TypeVar("T")
Found = tuple[Entry, "Checked | None"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan that is ready to be shown, what does it, and which entries it is about."""

    title: str
    plan: Plan
    apply: Callable[[], Sequence[Outcome]]
    paths: tuple[str, ...] = ()


class Mending:
    """What is planned and done for one pane."""

    def __init__(self, pane: CachePane) -> None:
        self._pane = pane

    def repair(self, items: Sequence[Item]) -> None:
        """Verify what was not verified yet, and show what would be done."""
        known = self._found(items)

        def work(ticket: Ticket) -> Prepared | None:
            from mswb.flows.cache_repairs import plan_repairs

            found = checked(ticket, known)
            repairs = plan_repairs(found)
            if not repairs.parts:
                return None
            plan, name = repairs.plan, _name([entry for entry, _ in found])
            paths = tuple(entry.path for entry, _ in found)
            return Prepared(word("plan repair", name=name), plan, lambda: repairs.apply(plan), paths)

        self._prepare(f"{word('repairing')} {_name([entry for entry, _ in known])}", work, word("nothing to repair"))

    def clean(self, items: Sequence[Item]) -> None:
        """Show what would go to the trash."""
        pane = self._pane
        entries = [entry_of(item, pane.caches) for item in items]
        root, everywhere = pane.state.root, pane.state.everywhere

        def work(ticket: Ticket) -> Prepared | None:
            from mswb.flows.cache_chosen import prepare_chosen

            ready = prepare_chosen(entries, root, ticket.cancelled, system=everywhere)
            return Prepared(word("plan clean"), ready.plan, lambda: ready.apply("mswb ui: clean"))

        self._prepare(f"{word('cleaning')} {_name(entries)}", work, word("clean none"))

    def undo(self) -> None:
        """Show what taking back the last operation would do."""

        def work(ticket: Ticket) -> Prepared | None:
            from mswb.flows.cache_undo import prepare

            ready = prepare()
            return None if ready is None else Prepared(word("plan undo"), ready.plan, ready.apply)

        self._prepare(word("undoing"), work, word("undo none"))

    def baseline(self, items: Sequence[Item]) -> None:
        """Record the checksums of data files, when all of each is whole."""
        pane, known = self._pane, self._found(items)

        def work(ticket: Ticket) -> int:
            return write_baselines(ticket, checked(ticket, known))

        def done(count: int) -> None:
            sign, text = ("ok", word("baseline done", count=count)) if count else ("warning", word("baseline none"))
            pane.app.notify(f"{glyph(sign)} {text}", markup=False)

        title = f"{word('baseline')} {_name([entry for entry, _ in known])}"
        pane.context.tasks.start(title, telling(work), done, received=lambda news: pane.news(0, news))

    # -- the way of every plan: made in a thread, shown, applied in a thread

    def _found(self, items: Sequence[Item]) -> list[Found]:
        """Entries with what their checks found, where they were checked as they are now."""
        state = self._pane.caches
        found = [(entry_of(item, state), state.of(item)) for item in items]
        return [(entry, known.checked if known is not None else None) for entry, known in found]

    def _prepare(self, title: str, work: Callable[[Ticket], Prepared | None], nothing: str) -> None:
        pane = self._pane

        def ready(prepared: Prepared | None) -> None:
            if prepared is None or not (prepared.plan.actions or prepared.plan.warnings):
                pane.app.notify(nothing, markup=False)
            elif pane.is_on_screen and pane.app.screen is pane.screen:
                self._show(title, prepared)
            else:
                pane.app.notify(word("plan ready", title=title), markup=False)

        pane.context.tasks.start(
            title, telling(work), ready, received=lambda news: pane.news(0, news), group="cache-plan"
        )

    def _show(self, title: str, prepared: Prepared) -> None:
        pane = self._pane

        def apply(screen: PlanScreen) -> None:
            def failed(problem: Finding) -> None:
                screen.failed(problem.title)
                pane.app.notify(printable(problem.title), severity="error", markup=False)

            pane.context.tasks.start(
                title,
                lambda _: prepared.apply(),
                lambda outcomes: self._done(screen, prepared, outcomes),
                failed=failed,
            )

        pane.app.push_screen(PlanScreen(prepared.title, prepared.plan, pane.state.root, apply))

    def _done(self, screen: PlanScreen, prepared: Prepared, outcomes: Sequence[Outcome]) -> None:
        pane = self._pane
        if screen.is_mounted:
            screen.finished(outcomes)
        else:
            pane.app.notify(result_text(outcomes), markup=False)
        done = [one.action.target for one in outcomes if one.done]
        pane.look_and_verify([*prepared.paths, *done], done[0] if done else "")


def telling(work: Callable[[Ticket], T]) -> Callable[[Ticket], T]:
    """The same work; that a file has gone, or can't be read, is no defect of ours."""

    def told(ticket: Ticket) -> T:
        try:
            return work(ticket)
        except OSError as problem:
            values = {"path": problem.filename or "", "reason": problem.strerror or str(problem)}
            raise stop("cache-unreadable", where=Where(file=problem.filename), values=values) from None

    return told


def checked(ticket: Ticket, known: Sequence[Found]) -> list[Found]:
    """All entries with what a check found; those that were not checked yet are."""
    from mswb.flows.cache_checks import verify

    open_ = [index for index, (_, found) in enumerate(known) if found is None]
    result = list(known)

    def told(step: object) -> None:
        ticket.report(len(result) - len(open_), len(result))

    for index, entry, found in verify([known[index][0] for index in open_], cancelled=ticket.cancelled, told=told):
        result[open_[index]] = (entry, found)
        ticket.send(Told(((entry, found),), {}))
    return result


def write_baselines(ticket: Ticket, found: Sequence[Found]) -> int:
    """Baselines of what is whole; how many were written."""
    from mswb.cache import baseline
    from mswb.cache.check import Watch

    watch = Watch(ticket.cancelled, lambda done, total, unit: ticket.report(done, total, unit))
    whole = [entry for entry, told in found if told is not None and told.status == "ok"]
    good = [entry for entry in whole if entry.form in baseline.PIECES]
    for entry in good:
        baseline.write(baseline.make(entry.path, entry.form, watch))
    return len(good)


def _name(entries: Sequence[Entry]) -> str:
    return printable(os.path.basename(entries[0].path)) if len(entries) == 1 else f"{len(entries):,}"
