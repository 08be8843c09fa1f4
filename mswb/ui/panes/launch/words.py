"""The sentences of the Launch pane: states, the title row, the banner. Pure: data in, text out."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from mswb.files.safety import printable
from mswb.ui.glyphs import glyph
from mswb.ui.panes.launch.speech import word

if TYPE_CHECKING:
    from mswb.flows.known_runs import KnownRun
    from mswb.flows.runview import RunView
    from mswb.launch.diagnose import Diagnosis
    from mswb.ui.panes.launch.state import LaunchState, OpenRun

SIGNS: dict[str, tuple[str, str, str]] = {
    # state: (glyph, word, theme variable)
    "starting": ("starting", "starting", "text-muted"),
    "running": ("running", "running", "accent"),
    "stopping": ("stopping", "stopping", "warning"),
    "succeeded": ("ok", "succeeded", "success"),
    "failed": ("error", "failed", "error"),
    "stopped": ("stopped", "stopped", "warning"),
    "lost": ("lost", "lost", "error"),
    "silent": ("lost", "silent", "warning"),
    "broken": ("error", "broken", "error"),
    "ended": ("ok", "ended", "success"),
    "over": ("dot", "over", "text-muted"),
    "killed": ("stopped", "killed", "warning"),
    "hang": ("warning", "hangs", "error"),
    "foreign": ("running", "foreign", "accent"),
    "logs": ("dot", "logs", "text-muted"),
    "unknown": ("dot", "unknown", "text-muted"),
}
"""How each state of a run or rank is drawn; the word alone says all."""

MAX_FOLDER = 32
"""Characters of the folder beside a word about runs of other folders."""


@dataclass(frozen=True, slots=True)
class Banner:
    """The one row that says what is wrong now. ``hint`` names the keys; ``colour`` is a theme variable."""

    text: str
    hint: str
    colour: str

    def row(self, width: int) -> str:
        """The row in ``width`` cells: first the text, then as many keys as there is room for."""
        text = printable(self.text)
        room = width - cell_len(text) - 2
        hint = next((hint for hint in (self.hint, self._first_key) if cell_len(hint) <= room), "")
        if hint:
            return f"{set_cell_size(text, width - cell_len(hint))}{hint}"
        if room < -2:
            text = f"{set_cell_size(text, max(0, width - 1))}{glyph('ellipsis')}"
        return set_cell_size(text, max(0, width))

    @property
    def _first_key(self) -> str:
        return self.hint.replace("，", ", ").partition(", ")[0]


def state_word(state: str) -> str:
    """Glyph and word of a state."""
    sign, name, _ = SIGNS.get(state, SIGNS["unknown"])
    return f"{glyph(sign)} {word(name)}"


def state_colour(shown: object) -> str:
    """The theme variable for what :func:`state_word` gave."""
    said = str(shown).partition(" ")[2]
    return next((colour for _, name, colour in SIGNS.values() if word(name) == said), "")


def run_state(one: KnownRun, diagnosis: Diagnosis | None) -> str:
    """The state to show of a run: what is known of the end counts more than that nobody recorded it."""
    if one.kind == "foreign":
        return "foreign"
    if is_hang(diagnosis) and one.state == "running":
        return "hang"
    if one.kind == "folder" and diagnosis is not None and diagnosis.verdict in ("failed", "succeeded"):
        return diagnosis.verdict
    if one.kind == "folder" and one.state == "unknown":
        return "logs" if diagnosis is None else verdict_state(diagnosis)
    return "over" if one.state == "ended" else one.state  # an adopted run whose exit code nobody saw


def verdict_state(diagnosis: Diagnosis) -> str:
    """The verdict as a state, where it says more than ``unknown``."""
    stopped = diagnosis.verdict == "unknown" and any(one.code == "stopped-by-user" for one in diagnosis.findings)
    return "stopped" if stopped else diagnosis.verdict


def is_hang(diagnosis: Diagnosis | None) -> bool:
    """Whether the run stands still by this diagnosis."""
    return diagnosis is not None and diagnosis.root is not None and diagnosis.findings[diagnosis.root].code == "hang"


def verdict_text(one: KnownRun, diagnosis: Diagnosis | None) -> str:
    """Why a run ended as it did, as far as it is known."""
    if diagnosis is not None and diagnosis.root is not None:
        root = diagnosis.findings[diagnosis.root]
        return _with_rank(root.where.rank, root.title)
    if one.told is not None and one.told.title:
        return _with_rank(one.told.rank, one.told.title)
    if one.first_failure is not None:
        first = one.first_failure
        return f"{_first(_who(first.role, first.rank))}, {exit_text(first.exit_code)}"
    if one.state == "failed" and not one.problem:
        return exit_text(one.exit_code)
    if one.kind == "foreign":
        pids = " ".join(map(str, one.pids[:6])) + (" …" if len(one.pids) > 6 else "")
        return word("pids {pids}, not started by mswb", pids=pids)
    return one.problem


def _with_rank(rank: int | None, title: str) -> str:
    who = f"rank {rank}"
    return title if rank is None or title.startswith(f"{who} ") else f"{who}: {title}"


def exit_text(code: int | None) -> str:
    """An exit code for people: a signal has its name."""
    if code is None:
        return word("exit code unknown")
    return word("exit code {code}", code=code) if code >= 0 else word("ended by {signal}", signal=_signal(code))


def span(seconds: float | None) -> str:
    """A length of time in at most six cells: ``8s``, ``3m05s``, ``2h07m``, ``4d03h``; empty when unknown."""
    if seconds is None or not isfinite(seconds) or not 0 <= seconds < 1e9:
        return ""
    whole = int(seconds)
    for size, small, names in ((86400, 3600, "dh"), (3600, 60, "hm"), (60, 1, "ms")):
        if whole >= size:
            return f"{whole // size}{names[0]}{whole % size // small:02d}{names[1]}"
    return f"{whole}s"


def list_title(state: LaunchState) -> str:
    """What the list holds; the table says how many those are."""
    if not state.listing.loaded:
        return f"{word('Runs')}  {word('looking')} {glyph('ellipsis')}"
    far = state.listing.elsewhere
    folder = state.folder
    if far and len(folder) > MAX_FOLDER:  # the header shows it whole
        folder = f"{glyph('ellipsis')}{folder[-MAX_FOLDER:]}"
    where = word("all folders") if state.listing.everywhere else folder
    more = f"  ({word('{count} running elsewhere: v', count=far)})" if far else ""
    return printable(f"{word('Runs of {where}', where=where)}{more}")


def title_text(state: LaunchState) -> str:
    """The first row of an open run: state, script, progress."""
    run, known = state.open, state.current
    if run is None:
        return ""
    view = run.view
    if view is None:
        return printable(f"{known.title or known.name if known else run.key}  {word('reading')} {glyph('ellipsis')}")
    parts = [state_word(open_state(run, known)), view.title, *progress_parts(view, state.now)]
    return printable("  ".join(part for part in parts if part))


def open_state(run: OpenRun, known: KnownRun | None) -> str:
    """The state of the open run."""
    view = run.view
    if known is not None and known.kind != "run":
        return run_state(known, run.diagnosis)
    state = view.state if view is not None else known.state if known is not None else "unknown"
    if is_hang(run.diagnosis) and state == "running":
        return "hang"
    return verdict_state(run.diagnosis) if state == "unknown" and run.diagnosis is not None else state


def progress_parts(view: RunView, now: float) -> list[str]:
    """Step of total, loss, speed and time to go, each only where it is known."""
    one = view.progress
    speeds = [rank.step_ms for rank in view.ranks if rank.step_ms is not None]
    return [
        _of("epoch", one.epoch, one.epochs),
        _of("step", one.step, one.steps),
        f"{word('loss')} {loss_text(one.loss)}" if one.loss is not None else "",
        word("{ms} ms/step", ms=f"{max(speeds):.0f}") if speeds else "",
        word("ETA {span}", span=span(one.eta_s)) if one.eta_s is not None and view.live else "",
        word("{count} compiling", count=one.compiling) if one.compiling else "",
        word("{count} silent", count=one.silent) if one.silent else "",
        _took(view, now),
    ]


def loss_text(loss: float) -> str:
    """A loss in few cells; NaN and infinity as they are."""
    return f"{loss:.4g}"


def banner_of(state: LaunchState) -> Banner | None:
    """What must not be missed of the open run: who failed first and where to look; None while all is well."""
    run = state.open
    if run is None:
        return None
    found = _failed_banner(run) or _hang_banner(run)
    if found is not None:
        return found
    known = state.current
    current = open_state(run, known)
    if current == "lost":
        return Banner(f"{glyph('lost')} {word('lost: its supervisor died')}", word("D: what is known"), "error")
    if current == "stopping":
        text = word("stopping: its processes get time to end")
        return Banner(f"{glyph('stopping')} {text}", word("x: kill them"), "warning")
    return None


def _failed_banner(run: OpenRun) -> Banner | None:
    diagnosis = run.diagnosis
    if diagnosis is not None and diagnosis.root is not None and diagnosis.verdict == "failed":
        root = diagnosis.findings[diagnosis.root]
        first = word("{who} failed first: ", who=f"rank {root.where.rank}") if root.where.rank is not None else ""
        return Banner(f"{glyph('error')} {first}{root.title}", word("o: to the line, d: details"), "error")
    failed = run.view.first_failure if run.view is not None else None
    if failed is None:
        return None
    why = f"{word('finding out why')} {glyph('ellipsis')}" if run.diagnosing else word("D: why")
    who = _who(failed.role, failed.rank)
    first = word("{who} failed first: ", who=who)
    return Banner(f"{glyph('error')} {first}{exit_text(failed.exit_code)}", why, "error")


def _hang_banner(run: OpenRun) -> Banner | None:
    if is_hang(run.diagnosis) and run.diagnosis is not None and run.diagnosis.root is not None:
        root = run.diagnosis.findings[run.diagnosis.root]
        return Banner(f"{glyph('warning')} {root.title}", word("o: to the line, d: details"), "warning")
    view = run.view
    if view is None or not view.progress.silent or not view.live:
        return None
    ages = [rank.last_line_age_s for rank in view.ranks if rank.state == "silent" and rank.last_line_age_s is not None]
    since = word(" for {span}", span=span(min(ages))) if ages else ""
    count = view.progress.silent
    return Banner(f"{glyph('warning')} {_silent(count)}{since}", word("D: what holds it up"), "warning")


def _silent(count: int) -> str:
    return word("1 rank is silent") if count == 1 else word("{count} ranks are silent", count=count)


def _first(who: str) -> str:
    return word("{who} failed first", who=who)


def _of(name: str, done: int | None, total: int | None) -> str:
    if done is None:
        return ""
    return f"{word(name)} {done}" if total is None else f"{word(name)} {done}/{total}"


def _took(view: RunView, now: float) -> str:
    if view.started is None:
        return ""
    if view.ended is None:
        return span(now - view.started)
    return word("took {span}", span=span(view.ended - view.started))


def _who(role: str, rank: int | None) -> str:
    return role if rank is None else f"rank {rank}"


def _signal(code: int) -> str:
    import signal

    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
