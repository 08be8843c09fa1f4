"""The devices of a timeline and how each spent the window: computing, communicating, or waiting, and for what.

The formulas (all on half-open intervals in integer nanoseconds, clipped to the window)::

    compute, communication   union of the spans with that role
    busy                     compute | communication
    overlap                  compute & communication
    idle                     window - busy
    not computing            window - compute = idle + communication - overlap

The time without computing is split by cause, in this order, each moment under the first that holds:

1. communication: only communication ran;
2. data: the device took the next batch, or the host stood in the data pipeline;
3. communication: the host waited for a peer;
4. copy: memory was copied or filled;
5. sync: the host waited for the device, which had nothing to do;
6. host: the host was at work (Python, launching, compiling);
7. unknown: nothing in the trace was going on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mswb.profile.intervals import NO_SPANS, Spans, clip, complement, intersect, join, subtract, union
from mswb.profile.operators import ON_DEVICE
from mswb.profile.timeline import Role, Timeline, Track

CAUSES = ("data", "communication", "host", "sync", "copy", "unknown")
"""The causes that a report names, in its order."""
HOST_DATA = re.compile(
    r"GetNext|DataLoader|dataloader|__next__|_iter(?:ator)?\b|dataset|DataQueue|data_queue|fetch|prefetch|create_tuple|create_dict",
    re.I,
)
"""Host spans that stand in the data pipeline."""
HOST_PEER = re.compile(r"(?:all_?reduce|barrier|c10d|nccl|hccl|hcom|notify_?wait|recv|gloo)", re.I)
"""Host spans that wait for another rank."""
_NUMBER = re.compile(r"(?:NPU|GPU|device)[ :#_]*(\d+)", re.I)
_WHOLE = 0.9
"""A host span that takes this share of the window (or of a step) says nothing of what is within it."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device: its tracks (codes of the timeline), its number and rank where the trace tells them."""

    tracks: tuple[int, ...]
    device: int | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """How a device spent a window; times in nanoseconds. ``by_cause`` sums to ``window - compute``."""

    device: Device
    window: int
    compute: int
    communication: int
    overlap: int
    busy: int
    idle: int
    by_cause: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Lanes:
    """The sets of one device that usages are computed from, for any window."""

    device: Device
    compute: Spans
    communication: Spans
    data: Spans
    copy: Spans
    host_data: Spans
    host_peer: Spans
    sync: Spans
    host: Spans


def devices(timeline: Timeline) -> tuple[Device, ...]:
    """The devices, by number. Tracks without a number are one device together."""
    used = np.unique(timeline.track[timeline.having(*ON_DEVICE)]).tolist()
    by_kernel = timeline.having(Role.COMPUTE, Role.COMMUNICATION)
    if not by_kernel.any():
        return ()
    groups: dict[int | None, list[int]] = {}
    for track in used:
        groups.setdefault(_number(timeline.tracks[track]), []).append(track)
    ordered = sorted(groups.items(), key=lambda item: (item[0] is not None, item[0] or 0))
    return tuple(
        Device(tuple(tracks), number, next((timeline.tracks[track].rank for track in tracks), None))
        for number, tracks in ordered
    )


def lanes(timeline: Timeline, device: Device) -> Lanes:
    """The sets of a device. What the host does is the same for all devices of a trace."""
    mine = np.isin(timeline.track, device.tracks)
    length = timeline.end - timeline.start
    low, high = timeline.window
    telling = length < _WHOLE * (high - low)
    host = timeline.having(Role.HOST) & telling
    data = _named(timeline, HOST_DATA) & host
    peer = _named(timeline, HOST_PEER) & host & ~data
    return Lanes(
        device,
        _union(timeline, mine & timeline.having(Role.COMPUTE)),
        _union(timeline, mine & timeline.having(Role.COMMUNICATION)),
        _union(timeline, mine & timeline.having(Role.DATA)),
        _union(timeline, mine & timeline.having(Role.COPY)),
        _union(timeline, data),
        _union(timeline, peer),
        _union(timeline, timeline.having(Role.SYNC)),
        _union(timeline, host),
    )


def usage(lane: Lanes, low: int, high: int) -> Usage:
    """How the device spent ``[low, high)``."""
    compute, communication = clip(lane.compute, low, high), clip(lane.communication, low, high)
    busy = join(compute, communication)
    overlap = intersect(compute, communication)
    causes = dict.fromkeys(CAUSES, 0)
    for cause, spans in idle_parts(lane, low, high):
        causes[cause] += spans.total
    window = high - low
    return Usage(
        lane.device, window, compute.total, communication.total, overlap.total, busy.total, window - busy.total, causes
    )


def idle_parts(lane: Lanes, low: int, high: int) -> list[tuple[str, Spans]]:
    """The time of ``[low, high)`` in which the device did not compute, in disjoint parts with their causes."""
    left = complement(lane.compute, low, high)
    parts: list[tuple[str, Spans]] = []
    for cause, spans in (
        ("communication", lane.communication),
        ("data", join(lane.data, lane.host_data)),
        ("communication", lane.host_peer),
        ("copy", lane.copy),
        ("sync", lane.sync),
        ("host", lane.host),
    ):
        found = intersect(left, spans)
        if found:
            parts.append((cause, found))
            left = subtract(left, found)
    return [*parts, ("unknown", left)] if left else parts


def _union(timeline: Timeline, chosen: npt.NDArray[np.bool_]) -> Spans:
    return union(timeline.start[chosen], timeline.end[chosen]) if chosen.any() else NO_SPANS


def _named(timeline: Timeline, pattern: re.Pattern[str]) -> npt.NDArray[np.bool_]:
    return np.array([pattern.search(name) is not None for name in timeline.names] or [False])[timeline.name]


def _number(track: Track) -> int | None:
    """The device that a track belongs to, by the name of its process."""
    if track.device is not None:
        return track.device
    match = _NUMBER.search(track.process_name or track.process)
    return int(match.group(1)) if match is not None else None
