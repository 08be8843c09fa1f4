"""From a member of a run, its log and its processes to what is drawn of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from mswb.flows.runview import RankPhase, RankView, RunProgress
from mswb.flows.watched import Member
from mswb.jobs.usage import TreeUsage
from mswb.launch.logview.source import ShownLog
from mswb.launch.ranklog import RankLog

if TYPE_CHECKING:
    from mswb.env.devices.sample import DeviceProcess, Sample

LIVE = frozenset({"starting", "running", "silent"})
"""States of a process that goes on."""
_HELPERS = frozenset({"launcher", "scheduler"})
_PHASES: Mapping[str, RankPhase] = {
    "starting": "starting",
    "cluster": "cluster",
    "compiling": "compiling",
    "running": "training",
}
_ROLES = {"worker": 0, "other": 1, "scheduler": 2, "launcher": 3}


def rank_view(member: Member, log: RankLog | None, now: float, silence_s: float, *, trains: bool = True) -> RankView:
    """One process as its record and its log show it at ``now`` (seconds since the epoch).

    Args:
        trains: whether steps in its log are its own; see :func:`helpers_of`.
    """
    age = None if log is None or log.last_output is None else max(0.0, now - log.last_output)
    state = member.state
    speaks = member.role in ("worker", "other")  # a launcher has nothing to say all day
    if state == "running" and speaks and age is not None and age > silence_s:
        state = "silent"
    known = log.progress if log is not None else None
    if not trains and known is not None and known.phase == "running":
        known = None
    phase: RankPhase | None = _PHASES[known.phase] if known is not None else None
    if state in ("ended", "failed", "killed"):
        phase = "ended"
    elif phase is None and state in LIVE:
        phase = "starting"
    before_steps = known is not None and known.phase in ("cluster", "compiling")
    step = log.step if log is not None and trains else None
    live = state in LIVE or (state == "unknown" and age is not None and age < silence_s)
    return RankView(
        role=member.role,
        rank=member.rank,
        node=member.node,
        pid=member.pid,
        state=state,
        exit_code=member.exit_code,
        phase=phase,
        phase_text=known.text if known is not None else "",
        phase_done=known.done if known is not None and before_steps else None,
        phase_total=known.total if known is not None and before_steps else None,
        epoch=step.epoch if step is not None else None,
        epochs=step.epochs if step is not None else None,
        step=step.step if step is not None else None,
        steps=step.steps if step is not None else None,
        loss=step.loss if step is not None else None,
        step_ms=log.step_ms if log is not None and trains else None,
        eta_s=log.eta_s if log is not None and trains and live else None,
        last_line_age_s=age,
        lines=log.lines if log is not None and log.present else None,
        errors=log.errors if log is not None and log.present else None,
        warnings=log.warnings if log is not None and log.present else None,
        counted=log.counted if log is not None else 0.0,
        device=member.device,
        file=member.file,
    )


def helpers_of(roles: Iterable[str]) -> frozenset[str]:
    """The roles that only help others to train, where there are others.

    The steps in a launcher's log are those of its command line, or of a worker whose log it repeats.
    """
    return frozenset() if _HELPERS.issuperset(roles) else _HELPERS


class DeviceUse:
    """What a sample of the devices says of each process; made once for all ranks."""

    def __init__(self, sample: Sample | None) -> None:
        self._held: dict[int, list[DeviceProcess]] = {}
        self._linked: dict[int, list[str]] = {}
        self._labels: dict[str, str] = {}
        for process in sample.processes if sample is not None else ():
            if not process.foreign:
                self._held.setdefault(process.pid, []).append(process)
        for link in sample.links if sample is not None else ():
            if link.device is not None:
                self._linked.setdefault(link.pid, []).append(link.device)
        for device in sample.devices if sample is not None else ():
            self._labels[device.key] = device.label

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceUse):
            return NotImplemented
        mine, others = (self._held, self._linked, self._labels), (other._held, other._linked, other._labels)
        return mine == others

    def of(self, pids: Collection[int]) -> tuple[str, int | None]:
        """The labels of the devices that these processes hold (empty when unknown), and the memory they hold there."""
        held = [process for pid in pids for process in self._held.get(pid, ())]
        keys = [process.device for process in held] or [key for pid in pids for key in self._linked.get(pid, ())]
        labels = sorted({self._labels[key] for key in keys if key in self._labels}, key=lambda text: (len(text), text))
        memory = [process.device_memory_bytes for process in held if process.device_memory_bytes is not None]
        return ", ".join(labels), sum(memory) if memory else None


def with_usage(view: RankView, usage: TreeUsage, devices: DeviceUse) -> RankView:
    """The view with what its processes use, of the host and of the devices."""
    label, memory = devices.of(usage.pids)
    return replace(
        view,
        cpu_percent=usage.cpu_percent,
        rss_bytes=usage.rss_bytes,
        device=label or view.device,
        device_memory_bytes=memory,
    )


def shown_log(member: Member) -> ShownLog:
    """The member's log as the log view is told of it."""
    assert member.file is not None
    return ShownLog(member.file, member.role, member.rank, member.node, member.offset_us)


def progress_of(ranks: Collection[RankView]) -> RunProgress:
    """How far the whole run is, by its workers."""
    workers = [one for one in ranks if one.role == "worker"]
    behind = min((one for one in workers if one.step is not None), key=_how_far, default=None)
    ahead = max((one for one in workers if one.step is not None), key=_how_far, default=None)
    etas = [one.eta_s for one in workers if one.eta_s is not None]
    return RunProgress(
        step=behind.step if behind is not None else None,
        step_max=ahead.step if ahead is not None else None,
        steps=behind.steps if behind is not None else None,
        epoch=behind.epoch if behind is not None else None,
        epochs=behind.epochs if behind is not None else None,
        loss=next((one.loss for one in sorted(workers, key=rank_order) if one.loss is not None), None),
        eta_s=max(etas, default=None),
        compiling=sum(one.phase == "compiling" for one in workers),
        training=sum(one.phase == "training" for one in workers),
        ended=sum(one.state == "ended" for one in workers),
        failed=sum(one.state in ("failed", "killed") for one in workers),
        silent=sum(one.state == "silent" for one in workers),
    )


def counted_share(logs: Iterable[RankLog]) -> float:
    """How much of some logs is counted, from 0 to 1."""
    sizes = [(log.size, log.left) for log in logs]
    total = sum(size for size, _ in sizes)
    return 1.0 - sum(left for _, left in sizes) / total if total else 1.0


def rank_order(one: RankView) -> tuple[int, float, str, str]:
    """Workers by rank, then the others."""
    rank = one.rank if one.rank is not None else float("inf")
    return _ROLES.get(one.role, 1), rank, one.node or "", one.file or ""


def _how_far(one: RankView) -> tuple[int, int]:
    return one.epoch or 0, one.step or 0
