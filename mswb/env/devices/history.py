"""The last two minutes of every counter, for sparklines: a fixed ring a counter, gaps kept as None."""

from __future__ import annotations

from collections import deque

from mswb.env.devices.sample import DeviceCounters, HostCounters, Sample

SIZE = 120
HOST = "host"
"""The key of the host's counters."""
_DEVICE = ("utilization_percent", "memory_percent", "temperature_c", "power_w")
_OF_HOST = (
    "cpu_used_percent",
    "memory_percent",
    "disk_read_bps",
    "disk_write_bps",
    "network_in_bps",
    "network_out_bps",
)


class History:
    """Rings of the counters of each device, by its key, and of the host (``HOST``).

    Args:
        size: samples kept of each counter.
    """

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._rings: dict[tuple[str, str], deque[float | None]] = {}

    def add(self, sample: Sample) -> None:
        """Take one sample in. A device that is away gets gaps, and is forgotten when only gaps are left."""
        values = _values(HOST, sample.host, _OF_HOST)
        for device in sample.devices:
            values |= _values(device.key, device, _DEVICE)
        for place in self._rings.keys() | values.keys():
            ring = self._rings.setdefault(place, deque(maxlen=self._size))
            ring.append(values.get(place))
        self._rings = {place: ring for place, ring in self._rings.items() if place in values or any_known(ring)}

    def values(self, key: str, counter: str, count: int | None = None) -> tuple[float | None, ...]:
        """The newest ``count`` values (or all), oldest first; fewer while there are not yet so many."""
        ring = tuple(self._rings.get((key, counter), ()))
        return ring if count is None else ring[max(0, len(ring) - count) :]


def any_known(values: deque[float | None]) -> bool:
    """Whether at least one value is known."""
    return any(value is not None for value in values)


def _values(
    key: str, counters: DeviceCounters | HostCounters, names: tuple[str, ...]
) -> dict[tuple[str, str], float | None]:
    return {(key, name): getattr(counters, name) for name in names}
