"""Operators of a timeline: how often each ran, how long in all, by itself, and typically."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from mswb.profile.nesting import self_times
from mswb.profile.timeline import Role, Timeline

ON_DEVICE = (Role.COMPUTE, Role.COMMUNICATION, Role.COPY, Role.DATA)
_OP = re.compile(r"(?P<type>[A-Za-z_]\w*?)-op\d+$")
_NUMBERED = re.compile(r"(?P<type>.+?)(?:[_#-]\d+)+$")


@dataclass(frozen=True, slots=True)
class Operator:
    """All runs of one name; times in nanoseconds. ``self_ns`` leaves out what ran within it on the same thread."""

    name: str
    type: str
    role: Role
    count: int
    total_ns: int
    self_ns: int
    median_ns: int
    min_ns: int
    max_ns: int


def operators(timeline: Timeline) -> tuple[Operator, ...]:
    """The operators of a trace, the longest first: what ran on the device, or every span where nothing did."""
    chosen = timeline.having(*ON_DEVICE)
    if not chosen.any():
        chosen = ~timeline.having(Role.OVERLAY)
    if not chosen.any():
        return ()
    own = self_times(timeline)[chosen]
    name = timeline.name[chosen]
    role = timeline.role[chosen]
    length = (timeline.end - timeline.start)[chosen]
    order = np.lexsort((length, name))
    name, role, length, own = name[order], role[order], length[order], own[order]
    first = np.flatnonzero(np.concatenate(([True], name[1:] != name[:-1])))
    last = np.append(first[1:], len(name)) - 1
    count = last - first + 1
    middle = (length[first + (count - 1) // 2] + length[first + count // 2]) // 2
    columns = (name[first], role[first], count, np.add.reduceat(length, first), np.add.reduceat(own, first), middle)
    rows = zip(*(column.tolist() for column in (*columns, length[first], length[last])), strict=True)
    found = [Operator(timeline.names[row[0]], type_of(timeline.names[row[0]]), Role(row[1]), *row[2:]) for row in rows]
    return tuple(sorted(found, key=lambda one: (-one.total_ns, one.name)))


def type_of(name: str) -> str:
    """The type in an operator's full name (``Default/net/MatMul-op12`` is MatMul); a kernel's name is its own type."""
    last = name.rpartition("/")[2]
    for pattern in (_OP, _NUMBERED):
        match = pattern.match(last)
        if match is not None and not last.endswith(")"):
            return match["type"]
    return last
