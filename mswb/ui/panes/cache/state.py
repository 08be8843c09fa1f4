"""What the Cache pane knows beside the list itself, as one value; and the changes that messages make to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mswb.cache.check import Checked
from mswb.cache.entries import UNVERIFIED, Entry, from_item
from mswb.files.items import Item
from mswb.findings import Finding, load_catalogue
from mswb.flows.cache_checks import Step

Status = Literal["running", "done", "cancelled", "failed"]
WORST = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, slots=True)
class Known:
    """What a check told of an entry; it holds while size and time of the entry are what they were."""

    entry: Entry
    checked: Checked | None
    size_bytes: int
    modified: float


@dataclass(frozen=True, slots=True)
class Work:
    """One verification.

    Attributes:
        paths: the entries that are checked.
        steps: how far each of those in work is.
        done, bad: entries that are done, and those of them with errors or warnings.
    """

    number: int
    paths: frozenset[str]
    status: Status = "running"
    steps: Mapping[str, Step] = field(default_factory=dict)
    done: int = 0
    bad: int = 0


@dataclass(frozen=True, slots=True)
class CacheState:
    """All of the session.

    Attributes:
        known: what checks told, by path.
        base: what a look told beside the items themselves (holders, numbers of file caches), by path.
        more: what a closer look told (load times, source, holders), by path; None while it is looked.
        place: the place whose entries are listed; "" for all.
        works: the verifications, the oldest first.
    """

    known: Mapping[str, Known] = field(default_factory=dict)
    base: Mapping[str, Entry] = field(default_factory=dict)
    more: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    place: str = ""
    works: tuple[Work, ...] = ()
    numbers: int = 0

    @property
    def running(self) -> tuple[Work, ...]:
        """The verifications that go on."""
        return tuple(work for work in self.works if work.status == "running")

    def work_of(self, path: str) -> Work | None:
        """The verification that checks an entry now."""
        return next((work for work in reversed(self.running) if path in work.paths), None)

    def shares(self) -> dict[str, float | None]:
        """The entries in work and how much of each is done (None: not known yet)."""
        found: dict[str, float | None] = {}
        for work in self.running:
            found.update({path: step.done / step.total if step.total else None for path, step in work.steps.items()})
        return found

    def of(self, item: Item) -> Known | None:
        """What a check told of an entry as it is now."""
        known = self.known.get(item.path)
        if known is None or (known.size_bytes, known.modified) != (item.size_bytes, item.modified):
            return None
        return known


@dataclass(frozen=True, slots=True)
class Told:
    """What a verification has sent: the entries that are done, and how far the others are."""

    found: tuple[tuple[Entry, Checked | None], ...]
    steps: Mapping[str, Step]


def begun(state: CacheState, paths: Sequence[str]) -> CacheState:
    """A verification begins."""
    number = state.numbers + 1
    return replace(state, works=(*state.works[-20:], Work(number, frozenset(paths))), numbers=number)


def told(state: CacheState, number: int, news: Told) -> CacheState:
    """A verification goes on."""
    bad = sum(is_bad(entry) for entry, _ in news.found)
    done = {entry.path for entry, _ in news.found}

    def go_on(work: Work) -> Work:
        steps = {path: step for path, step in {**work.steps, **news.steps}.items() if path not in done}
        return replace(work, steps=steps, done=work.done + len(done), bad=work.bad + bad)

    known = {entry.path: Known(entry, checked, entry.size_bytes, entry.modified) for entry, checked in news.found}
    return replace(_changed(state, number, go_on), known={**state.known, **known})


def ended(state: CacheState, number: int, status: Status) -> CacheState:
    """A verification is over."""
    return _changed(state, number, lambda work: replace(work, status=status, steps={}))


def based(state: CacheState, base: Mapping[str, Entry]) -> CacheState:
    """A look has told this beside its items."""
    return replace(state, base=base)


def rebased(state: CacheState, stores: Mapping[str, Entry]) -> CacheState:
    """File caches have changed; who uses them is as it was."""

    def with_users(entry: Entry) -> Entry:
        before = state.base.get(entry.path)
        users = before.more.get("holders") if before is not None else None
        return replace(entry, more={**entry.more, "holders": users}) if users else entry

    return replace(state, base={**state.base, **{path: with_users(entry) for path, entry in stores.items()}})


def placed(state: CacheState, place: str) -> CacheState:
    """List one place only, or (``""``) all."""
    return replace(state, place=place)


def learnt(state: CacheState, path: str, facts: Mapping[str, Any] | None) -> CacheState:
    """A closer look at an entry begins (None) or has told this."""
    return replace(state, more={**state.more, path: facts})


def forgotten(state: CacheState, paths: Sequence[str]) -> CacheState:
    """These entries have changed: what was told of them holds no more."""
    gone = set(paths)
    return replace(
        state,
        known={path: one for path, one in state.known.items() if path not in gone},
        more={path: one for path, one in state.more.items() if path not in gone},
    )


def entry_of(item: Item, state: CacheState) -> Entry:
    """All that is known of an item as an entry."""
    known, base = state.of(item), state.base.get(item.path)
    if base is None:
        return known.entry if known is not None else from_item(item)
    if known is None and (base.size_bytes, base.modified) == (item.size_bytes, item.modified):
        return base
    entry = known.entry if known is not None else from_item(item)
    return replace(entry, name=base.name, more={**base.more, **entry.more})


def is_bad(entry: Entry) -> bool:
    """Whether something is wrong with an entry."""
    return any(finding.severity != "note" for finding in entry.findings)


def severity_of(entry: Entry) -> str:
    """How bad it is; "ok" for what was checked and is fine, "" for what nobody checked."""
    if entry.findings:
        return min((one.severity for one in entry.findings), key=lambda one: WORST[one])
    if entry.status in ("ok", UNVERIFIED):
        return "ok" if entry.status == "ok" else ""
    from mswb.flows.inventory import severity_of as glance_severity

    code = load_catalogue().get(entry.status)
    return glance_severity(entry.form, entry.status) or (code.severity if code is not None else "")


def findings_of(item: Item, state: CacheState) -> tuple[Finding, ...]:
    """What is wrong with an entry, by its check or else by the glance."""
    from mswb.flows.cache_checks import glanced

    return glanced(entry_of(item, state)).findings


def _changed(state: CacheState, number: int, change: Any) -> CacheState:
    return replace(state, works=tuple(change(one) if one.number == number else one for one in state.works))
