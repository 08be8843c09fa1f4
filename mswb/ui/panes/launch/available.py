"""Which keys of the Launch pane do something now; the key bar shows these and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mswb.flows.known_runs import KnownRun
    from mswb.ui.panes.launch.state import LaunchState


@dataclass(frozen=True, slots=True)
class Here:
    """Where the person is: the state, the run that keys are about, and whether the list has the focus."""

    state: LaunchState
    target: KnownRun | None
    on_list: bool

    @property
    def in_run(self) -> bool:
        """Whether the focus is in an open run."""
        return self.state.open is not None and not self.on_list


def _stoppable(here: Here) -> bool:
    one = here.target
    return one is not None and one.kind == "run" and one.live


def _adoptable(here: Here) -> bool:
    return here.target is not None and here.target.kind == "foreign" and here.target.mine


def _diagnosed(here: Here) -> bool:
    """Whether anything was found out about the open run."""
    run = here.state.open
    return run is not None and run.diagnosis is not None and bool(run.diagnosis.findings)


WHEN: Mapping[str, Callable[[Here], bool]] = {
    "restart": lambda here: here.target is not None and here.target.kind == "run",
    "stop": _stoppable,
    "kill": _stoppable,
    "adopt": _adoptable,
    "attach": lambda here: here.target is not None and (here.target.live or here.target.kind == "foreign"),
    "side": lambda here: here.in_run,
    "jump": lambda here: here.in_run and _diagnosed(here),
    "diagnose": lambda here: here.target is not None,
    "curves": lambda here: here.target is not None,
    "search": lambda here: here.in_run,
    "maximise": lambda here: here.in_run and not here.state.side,
    "resize": lambda here: here.in_run and not here.state.side,
    "back": lambda here: here.state.level == "run" or here.state.open is not None,
    "copy_finding": _diagnosed,
}
CHANGES = frozenset({"new", "restart", "stop", "kill", "adopt"})
"""What a session started with ``--read-only`` refuses."""


def available(action: str, here: Here) -> bool:
    """Whether an action does something now; one that is not named here always does."""
    if action in CHANGES and here.state.read_only:
        return False
    when = WHEN.get(action)
    return when is None or when(here)
