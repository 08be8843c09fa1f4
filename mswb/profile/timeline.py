"""What any trace becomes: spans in columns, tracks, counters and links, all in integer nanoseconds.

Readers fill a :class:`Builder`, one a format; analyses read the :class:`Timeline` that it makes. Nothing in it depends
on the format it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from mswb.profile.intervals import Times

Codes = npt.NDArray[np.int32]
NONE = -1
"""No track, no name, no link."""


class Role(IntEnum):
    """What a span says of its time."""

    HOST = 0
    """Work of the host: Python, the framework, calls of the driver."""
    COMPUTE = 1
    """A kernel or task that computes on the device."""
    COMMUNICATION = 2
    """A collective or a transfer between devices."""
    COPY = 3
    """A copy or a fill of memory on the device."""
    DATA = 4
    """The device waits for the next batch (GetNext)."""
    SYNC = 5
    """The host waits for the device."""
    STEP = 6
    """The mark of a training step."""
    OVERLAY = 7
    """A view of other spans: scopes, planes, derived rows. Never added to anything."""


@dataclass(frozen=True, slots=True)
class Track:
    """A row of a trace: a thread of a process, or a stream of a device.

    ``process`` and ``thread`` are as the trace spells them; ``rank`` and ``device`` where they are known.
    """

    process: str
    thread: str
    process_name: str = ""
    thread_name: str = ""
    rank: int | None = None
    device: int | None = None
    on_device: bool = False


@dataclass(frozen=True, slots=True)
class Counter:
    """A series of numbers over time; ``time`` in nanoseconds."""

    name: str
    track: int
    time: Times
    value: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Events:
    """How many events of the source were read, kept and dropped; ``first_drop`` is a byte offset."""

    read: int = 0
    kept: int = 0
    dropped: int = 0
    first_drop: int | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """All spans of a trace, by start, then the longer one first.

    Attributes:
        start, end: nanoseconds; ``end >= start``.
        name, track: codes into ``names`` and ``tracks``.
        role: values of :class:`Role`.
        link: the number that a launch on the host and its kernel on the device share; 0 for none.
        columns: further numbers of some spans (``registers``, ``shared_memory``, ``bytes``): NaN where there is none.
    """

    start: Times
    end: Times
    name: Codes
    track: Codes
    role: npt.NDArray[np.uint8]
    link: Times
    names: tuple[str, ...]
    tracks: tuple[Track, ...]
    counters: tuple[Counter, ...] = ()
    columns: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    events: Events = Events()

    def __len__(self) -> int:
        return len(self.start)

    @property
    def window(self) -> tuple[int, int]:
        """First start and last end of all spans; (0, 0) of none."""
        return (int(self.start[0]), int(self.end.max())) if len(self) else (0, 0)

    def having(self, *roles: Role) -> npt.NDArray[np.bool_]:
        """Which spans have one of these roles."""
        return np.isin(self.role, [int(role) for role in roles])


class Codebook:
    """Texts and the small numbers that stand for them, in the order of their first use."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def __getitem__(self, text: str) -> int:
        return self.codes.setdefault(text, len(self.codes))

    def all(self, texts: Iterable[str]) -> list[int]:
        """The codes of many texts."""
        codes, new = self.codes, self.codes.setdefault
        return [codes[text] if text in codes else new(text, len(codes)) for text in texts]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self.codes)


@dataclass
class Column:
    """Numbers that arrive in batches."""

    dtype: npt.DTypeLike
    parts: list[npt.NDArray[np.generic]] = field(default_factory=list)

    def add(self, values: Sequence[float] | npt.NDArray[np.generic]) -> None:
        self.parts.append(np.asarray(values, dtype=self.dtype))

    def array(self) -> npt.NDArray[np.generic]:
        """All of them; the batches are given back."""
        whole = np.concatenate(self.parts) if self.parts else np.empty(0, self.dtype)
        self.parts.clear()
        return whole
