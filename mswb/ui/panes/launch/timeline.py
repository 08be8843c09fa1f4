"""The phases of a launch as text: a bar for each rank on one time axis, and what took longest. Pure.

A bar has one letter a cell, so that it reads without colours: s starting, j joining the cluster, C compiling,
L launching kernels, T training; a phase that never ended goes on to the end of the axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mswb.files.safety import printable
from mswb.findings import Where
from mswb.ui.glyphs import bar, glyph
from mswb.ui.panes.launch.rows import SHORT_ROLES
from mswb.ui.panes.launch.speech import word
from mswb.ui.panes.launch.words import span
from mswb.ui.widgets.lines import Line, wrap

if TYPE_CHECKING:
    from mswb.launch.timeline import PhaseSpan
    from mswb.ui.panes.launch.state import OpenRun

LETTERS = {"training": "T", "start": "s", "cluster": "j", "launch": "L", "compile": "C"}
"""Later ones are drawn over earlier ones where phases share a cell."""
LONGEST = 12
"""Phases listed below the bars."""
_SHARE, _WITH_SHARE = 12, 50  # cells of a share, and from which width on it is drawn


def timeline_lines(run: OpenRun, width: int, now: float | None = None) -> list[Line]:
    """The bars of all ranks in ``width`` cells, the longest phases below; ``now`` in seconds since the epoch."""
    phases = run.phases
    if phases is None:
        return [Line(f"{word('reading the logs')} {glyph('ellipsis')}", "text-muted")]
    if not phases:
        return [Line(row, "text-muted") for row in wrap(word("no phases"), width)]
    shown = [one for one in phases if one.role != "launcher"] or list(phases)
    return [*_bars(shown, width, _end(run, shown, now)), Line(""), *_longest(shown, width)]


def _end(run: OpenRun, phases: Sequence[PhaseSpan], now: float | None) -> int:
    """Where the axis ends: with the run, or now, where its record says when it began; else with the last record."""
    begin = min(one.start_us for one in phases)
    last = max(max(one.end_us or one.start_us for one in phases), begin + 1)
    view = run.view
    until = None if view is None else view.ended if view.ended is not None or not view.live else now
    if view is None or view.started is None or until is None:
        return last
    return max(last, begin + round((until - view.started) * 1e6))


def _bars(phases: Sequence[PhaseSpan], width: int, end: int) -> Iterator[Line]:
    begin = min(one.start_us for one in phases)
    by_rank: dict[tuple[str, int | None, str], list[PhaseSpan]] = {}
    for one in phases:
        by_rank.setdefault((one.role, one.rank, one.file), []).append(one)
    names = {key: _name(key[0], key[1]) for key in by_rank}
    lead = max(len(name) for name in names.values()) + 1
    room = max(10, width - lead)
    total = span((end - begin) / 1e6)
    yield Line(f"{'':{lead}}0s{total:>{room - 2}}", "text-muted")
    for key in sorted(by_rank, key=lambda key: (key[0] != "worker", key[1] if key[1] is not None else 1 << 30, key[2])):
        mine = by_rank[key]
        stuck = next((one for one in mine if one.end_us is None and one.kind in ("compile", "cluster")), None)
        drawn = _drawn(mine, begin, end, room)
        place = _place(stuck or mine[-1])
        yield Line(f"{names[key]:<{lead}}{drawn}", "warning" if stuck is not None else "", where=place)
    yield from (Line(row, "text-muted") for row in wrap(word("legend"), width))


def _drawn(phases: Sequence[PhaseSpan], begin: int, end: int, room: int) -> str:
    cells = [" "] * room
    latest = max(one.end_us or one.start_us for one in phases)  # prints carry no time: it trains on to the end
    for kind, letter in LETTERS.items():
        for one in phases:
            if one.kind != kind:
                continue
            first = min(room - 1, (one.start_us - begin) * room // (end - begin))
            last = (
                room
                if one.end_us is None or (kind == "training" and one.end_us >= latest)
                else -(-(one.end_us - begin) * room // (end - begin))
            )
            cells[first : max(last, first + 1)] = letter * (max(last, first + 1) - first)
    return "".join(cells[:room])


def _longest(phases: Sequence[PhaseSpan], width: int) -> Iterator[Line]:
    """What has not ended, then what took longest."""
    ended = [one for one in phases if one.duration_us is not None and one.kind != "training"]
    open_ones = [one for one in phases if one.end_us is None and one.kind != "training"]
    for one in open_ones[:LONGEST]:
        yield Line(_row(one, word("not ended"), width), "warning", where=_place(one))
    longest = sorted(ended, key=lambda one: -(one.duration_us or 0))[:LONGEST]
    most = max((one.duration_us or 0 for one in longest), default=0) or 1
    for one in longest:
        took = one.duration_us or 0
        seconds = f"{took / 1e6:.3f}s" if took < 10_000_000 else span(took / 1e6)
        share = f" {bar(took / most, _SHARE)}" if width >= _WITH_SHARE else ""
        yield Line(_row(one, f"{seconds:>9}{share}", width), where=_place(one))


def _row(one: PhaseSpan, end: str, width: int) -> str:
    what = one.name if one.kind == one.name else f"{one.kind} {one.name}"
    text = printable(f"{_name(one.role, one.rank):<6} {what}{f'  {one.text}' if one.text else ''}")
    room = max(8, width - len(end) - 1)
    return f"{wrap(text, room)[0]:<{room}} {end}"


def _name(role: str, rank: int | None) -> str:
    return f"r{rank}" if rank is not None else SHORT_ROLES.get(role, role)


def _place(one: PhaseSpan) -> Where | None:
    return Where(rank=one.rank, file=one.file, line=one.line) if one.line is not None else None
