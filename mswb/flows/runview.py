"""A watched run as data: what a face draws of it, whether mswb started it or not.

Everything is frozen and made anew for each snapshot. None always means "not known", never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mswb.findings import Finding
from mswb.jobs.runs import Display
from mswb.launch.logview.source import ShownLog

SourceKind = Literal["run", "folder", "foreign"]
"""``run``: started by mswb, it has a record; ``folder``: logs only; ``foreign``: live, but not started by mswb."""
RunState = Literal[Display, "unknown"]
"""A run's state as ``mswb jobs list`` names it; ``unknown`` for logs that nobody recorded the end of."""
RankState = Literal["starting", "running", "silent", "ended", "failed", "killed", "unknown"]
"""``ended`` is well ended; ``killed`` by a signal or by us; ``silent`` wrote nothing for ``silence_s`` though alive."""
RankPhase = Literal["starting", "cluster", "compiling", "training", "ended"]
"""How far a rank is: starting up, joining the cluster, compiling a graph, training, or ended."""


@dataclass(frozen=True, slots=True)
class RankView:
    """One process of a run (or one log, where no process is known).

    Attributes:
        role: ``worker``, ``scheduler``, ``launcher`` or ``other``.
        node: the machine's name, where known.
        exit_code: negative for a signal.
        phase_text: what it does within its phase, for example the compiler's action or the network's name.
        phase_done: of ``phase_total``: cluster tries or nodes, or compiler actions.
        step: the last step printed, of ``steps``; ``epoch`` of ``epochs`` alike.
        loss: the last one printed; NaN and infinity stay what they are.
        step_ms: milliseconds of a step, printed or measured between two steps.
        eta_s: seconds to the last step, at the speed of the latest steps.
        last_line_age_s: seconds since the log last grew.
        lines: lines counted so far, as are ``errors`` (and above) and ``warnings``; None before the first piece.
        counted: how much of the log is counted, from 0 to 1.
        cpu_percent: of one core, of the process and all below it.
        rss_bytes: resident memory of the same.
        device: the label of its device (``GPU0``), else the number that its environment names.
        file: its log, absolute; None where it has none.
    """

    role: str
    rank: int | None
    node: str | None = None
    pid: int | None = None
    state: RankState = "unknown"
    exit_code: int | None = None
    phase: RankPhase | None = None
    phase_text: str = ""
    phase_done: int | None = None
    phase_total: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    step_ms: float | None = None
    eta_s: float | None = None
    last_line_age_s: float | None = None
    lines: int | None = None
    errors: int | None = None
    warnings: int | None = None
    counted: float = 0.0
    cpu_percent: float | None = None
    rss_bytes: int | None = None
    device: str | None = None
    device_memory_bytes: int | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far the whole run is: its slowest and its fastest worker, and the first rank's loss.

    ``eta_s`` is the slowest worker's, in seconds.
    """

    step: int | None = None
    step_max: int | None = None
    steps: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    loss: float | None = None
    eta_s: float | None = None
    compiling: int = 0
    training: int = 0
    ended: int = 0
    failed: int = 0
    silent: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """The process that ended badly first, by the run's own record. ``time`` is in seconds since the epoch."""

    role: str
    rank: int | None
    exit_code: int
    time: float


@dataclass(frozen=True, slots=True)
class RunView:
    """A run at one moment.

    Attributes:
        version: rises with every change, so that equal numbers need no drawing.
        source_path: the run's folder, or the log folder or file that is watched.
        started: seconds since the epoch, as is ``ended``.
        ranks: workers by rank, then scheduler, launcher and others.
        logs: all logs, in the order of ``ranks``, to give to the log view.
        counted: how much of all logs is counted, from 0 to 1.
        problems: what could not be read.
        notes: sentences for the user, for example that files are polled.
    """

    version: int
    kind: SourceKind
    title: str
    source_path: str
    run_id: str | None = None
    state: RunState = "unknown"
    host: str | None = None
    cwd: str | None = None
    backend: str | None = None
    log_dir: str | None = None
    started: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    command_line: tuple[str, ...] = ()
    ranks: tuple[RankView, ...] = ()
    logs: tuple[ShownLog, ...] = ()
    progress: RunProgress = RunProgress()
    first_failure: Failed | None = None
    counted: float = 0.0
    problems: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def live(self) -> bool:
        """Whether more is to come."""
        return self.ended is None and self.state in ("starting", "running", "stopping", "unknown", "silent")
