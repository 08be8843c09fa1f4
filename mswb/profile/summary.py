"""What ``mswb prof show`` says of one profile: devices, causes, operators, steps and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mswb.findings import Finding, Where, make
from mswb.profile.devices import CAUSES, Device, Usage, devices, lanes, usage
from mswb.profile.load import Profile
from mswb.profile.operators import Operator, operators
from mswb.profile.steps import Step, steps
from mswb.profile.waits import Wait, waits

WORTH = 0.1
"""The share of the window from which on a cause is told as a finding."""


@dataclass(frozen=True, slots=True)
class DeviceSummary:
    """One device over the whole window, in each step, and its longest waits."""

    usage: Usage
    by_step: tuple[Usage, ...]
    waits: tuple[Wait, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """One profile; ``window_ns`` runs from the first start to the last end of all that was kept."""

    profile: Profile
    window_ns: int
    devices: tuple[DeviceSummary, ...]
    operators: tuple[Operator, ...]
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]


def summarise(profile: Profile) -> Summary:
    """All that is computed of one profile."""
    timeline = profile.timeline
    low, high = timeline.window
    found = steps(timeline)
    parts = tuple(_device(profile, device, found) for device in devices(timeline))
    findings = (*_damage(profile), *(one for part in parts for one in _causes(profile, part)))
    return Summary(profile, high - low, parts, operators(timeline), found, findings)


def median_step_ns(found: Sequence[Step], warm_up: int = 1) -> int | None:
    """The typical step, without the first ones, which compile; None without steps."""
    rest = found[warm_up:] or found
    return int(np.median([step.end - step.start for step in rest])) if rest else None


def _device(profile: Profile, device: Device, found: Sequence[Step]) -> DeviceSummary:
    timeline = profile.timeline
    lane = lanes(timeline, device)
    whole = usage(lane, *timeline.window)
    return DeviceSummary(
        whole, tuple(usage(lane, step.start, step.end) for step in found), waits(timeline, lane, found)
    )


def _damage(profile: Profile) -> list[Finding]:
    events = profile.timeline.events
    if not events.dropped:
        return []
    values = {"kept": events.kept, "read": events.read, "dropped": events.dropped}
    return [make("damaged-profile", where=Where(file=profile.path, offset=events.first_drop), values=values)]


def _causes(profile: Profile, part: DeviceSummary) -> list[Finding]:
    """The causes that cost a tenth of the window or more, the most expensive first."""
    window = part.usage.window
    found = []
    for cause in sorted(CAUSES, key=lambda name: -part.usage.by_cause[name]):
        spent = part.usage.by_cause[cause]
        if not window or spent < WORTH * window:
            continue
        worst = next((wait for wait in part.waits if wait.cause == cause and wait.span), None)
        values = {
            "share_pct": round(100 * spent / window, 1),
            "idle_us": spent / 1000,
            "span": worst.span if worst is not None else "",
            "device": part.usage.device.device,
        }
        at = f" ({worst.span})" if worst is not None else ""
        where = Where(rank=profile.rank, file=profile.path)
        found.append(make(f"idle-{cause}", where=where, values={**values, "at": at}))
    return found
