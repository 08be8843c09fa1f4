"""What the Launch pane shows, as one frozen value: replaced by messages, never changed, drawn by the widgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # the first frame needs none of it
    from mswb.findings import Finding
    from mswb.flows.known_runs import KnownRun
    from mswb.flows.runview import RunView
    from mswb.launch.diagnose import Diagnosis
    from mswb.launch.timeline import PhaseSpan

Level = Literal["runs", "run"]
"""Whether the list of runs or an open run is in front (both, on a wide terminal)."""
Side = Literal["", "details", "timeline"]
"""What lies over or beside the run."""
Order = Literal["worst", "number"]
Part = Literal["", "grid", "log"]
"""The part of a run that has all the room; none: they share it."""

GRID_ROWS = 6
MIN_GRID_ROWS, MAX_GRID_ROWS = 1, 200


@dataclass(frozen=True, slots=True)
class Listing:
    """The runs as they were at ``time`` (seconds since the epoch); ``loaded`` is False before the first look.

    ``elsewhere`` counts the live ones of other folders, which are not listed.
    """

    runs: tuple[KnownRun, ...] = ()
    time: float = 0.0
    loaded: bool = False
    everywhere: bool = False
    elsewhere: int = 0


@dataclass(frozen=True, slots=True)
class OpenRun:
    """The run that is open.

    Attributes:
        key: its :attr:`KnownRun.key`.
        view: None before the first look at its logs.
        logs: paths of the logs in the log view; empty for all of them, merged.
        diagnosing: a diagnosis is being made.
        phases: what each rank did when; None before they were read.
    """

    key: str
    view: RunView | None = None
    diagnosis: Diagnosis | None = None
    diagnosing: bool = False
    logs: tuple[str, ...] = ()
    phases: tuple[PhaseSpan, ...] | None = None
    order: Order = "worst"


@dataclass(frozen=True, slots=True)
class LaunchState:
    """All that the pane shows.

    Attributes:
        folder: the project folder.
        now: seconds since the epoch, for ages.
        results: the latest diagnosis of each run, by its key.
        grid_rows: rows of the ranks grid while it shares the room with the log.
    """

    folder: str
    listing: Listing = Listing()
    now: float = 0.0
    level: Level = "runs"
    open: OpenRun | None = None
    side: Side = ""
    maximised: Part = ""
    grid_rows: int = GRID_ROWS
    results: Mapping[str, Diagnosis] = field(default_factory=dict)
    read_only: bool = False

    def known(self, key: str) -> KnownRun | None:
        """The line of the list with this key."""
        return next((one for one in self.listing.runs if one.key == key), None)

    @property
    def current(self) -> KnownRun | None:
        """The line of the list that belongs to the open run."""
        return None if self.open is None else self.known(self.open.key)


def listed(state: LaunchState, listing: Listing) -> LaunchState:
    """The state after a look at the runs."""
    return replace(state, listing=listing, now=listing.time)


def opened(state: LaunchState, key: str) -> LaunchState:
    """The state with this run open; the result of an earlier diagnosis is there at once."""
    if state.open is not None and state.open.key == key:
        return replace(state, level="run")
    run = OpenRun(key, diagnosis=state.results.get(key))
    return replace(state, level="run", open=run, side="", maximised="")


def closed(state: LaunchState) -> LaunchState:
    """The state with no run open."""
    return replace(state, level="runs", open=None, side="", maximised="")


def ended_between(before: Listing, after: Listing) -> tuple[KnownRun, ...]:
    """The runs of mswb that lived at the first look and had ended at the second."""
    lived = {one.key for one in before.runs if one.live and one.kind == "run"}
    return tuple(one for one in after.runs if one.key in lived and not one.live)


def watched(state: LaunchState, key: str, view: RunView, now: float) -> LaunchState:
    """The state after a look at the open run; a late word of another run changes nothing."""
    if state.open is None or state.open.key != key:
        return state
    return replace(state, open=replace(state.open, view=view), now=now)


def phased(state: LaunchState, key: str, phases: tuple[PhaseSpan, ...]) -> LaunchState:
    """The state with the phases of this run's ranks."""
    if state.open is None or state.open.key != key:
        return state
    return replace(state, open=replace(state.open, phases=phases))


def diagnosing(state: LaunchState, key: str, going_on: bool) -> LaunchState:
    """The state while a diagnosis of this run is made, and when it has failed."""
    if state.open is None or state.open.key != key:
        return state
    return replace(state, open=replace(state.open, diagnosing=going_on))


def root_of(state: LaunchState) -> Finding | None:
    """The root cause of what is wrong with the open run, as far as it is known."""
    diagnosis = state.open.diagnosis if state.open is not None else None
    return None if diagnosis is None or diagnosis.root is None else diagnosis.findings[diagnosis.root]


def diagnosed(state: LaunchState, key: str, diagnosis: Diagnosis) -> LaunchState:
    """The state with the result of a diagnosis."""
    state = replace(state, results={**state.results, key: diagnosis})
    if state.open is None or state.open.key != key:
        return state
    return replace(state, open=replace(state.open, diagnosis=diagnosis, diagnosing=False))


def back(state: LaunchState) -> LaunchState:
    """One level back: from what lies over the run, from the part that has all room, from the run to the list."""
    if state.side:
        return replace(state, side="")
    if state.maximised:
        return replace(state, maximised="")
    return replace(state, level="runs")


def toggled(state: LaunchState, side: Side) -> LaunchState:
    """The state with ``side`` open, or closed when it was open."""
    return replace(state, side="" if state.side == side else side)


def maximised(state: LaunchState, part: Part) -> LaunchState:
    """The state with all room given to a part, or shared again."""
    return replace(state, maximised="" if state.maximised else part)


def resized(state: LaunchState, rows: int) -> LaunchState:
    """The state with so many more rows (fewer when negative) for the ranks grid."""
    return replace(state, grid_rows=max(MIN_GRID_ROWS, min(MAX_GRID_ROWS, state.grid_rows + rows)))


def shown_logs(state: LaunchState, logs: tuple[str, ...]) -> LaunchState:
    """The state with these logs in the log view; none: all of them."""
    return state if state.open is None else replace(state, open=replace(state.open, logs=logs))


def in_log(state: LaunchState) -> LaunchState:
    """The state with the log of the open run to be seen."""
    return replace(state, level="run", side="", maximised="log" if state.maximised == "log" else "")


def reordered(state: LaunchState) -> LaunchState:
    """The ranks in the other order: worst first, or by number."""
    if state.open is None:
        return state
    order: Order = "number" if state.open.order == "worst" else "worst"
    return replace(state, open=replace(state.open, order=order))
