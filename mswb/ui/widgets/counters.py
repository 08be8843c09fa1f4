"""The header's one line of live counters: devices first, the host after them, as much as fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from mswb.env.devices.history import HOST, History
from mswb.env.devices.sample import DeviceCounters, HostCounters, Sample
from mswb.ui.glyphs import spark

SPARK_CELLS = 8
STALE_S = 5.0
"""Older counters than this say their age."""
UNKNOWN = "-"
_GIB, _MIB = 1 << 30, 1 << 20


class _Part(NamedTuple):
    """A piece of the line; the pieces of the highest ``cost`` go first when there is no room."""

    cost: int
    text: str
    style: str = ""


def counters_text(sample: Sample, history: History, width: int) -> Text:
    """The line in at most ``width`` cells; pure. Several devices are summed up; none is one quiet word."""
    parts = [part for part in (*_devices(sample, history), *_host(sample.host, history)) if part.text]
    while len(parts) > 1 and _width(parts) > width:
        parts.remove(max(parts, key=lambda part: part.cost))
    text = Text(" ").join([Text(part.text, style=part.style) for part in parts])
    text.truncate(max(0, width))
    return text


def memory_text(used: int | None, total: int | None) -> str:
    """``12/80G``, ``3.1/8.0G``, ``300/512M``; empty when neither is known."""
    if used is None and total is None:
        return ""
    unit, letter = (_GIB, "G") if max(used or 0, total or 0) >= _GIB else (_MIB, "M")
    digits = 1 if max(used or 0, total or 0) < 32 * _GIB and unit == _GIB else 0
    return "/".join(UNKNOWN if size is None else f"{size / unit:.{digits}f}" for size in (used, total)) + letter


def percent_text(value: float | None) -> str:
    """``45%``, or a dash for what is not known."""
    return UNKNOWN if value is None else f"{value:.0f}%"


def power_text(watts: float | None) -> str:
    """``210W``, ``1.9kW``; empty when it is not known."""
    if watts is None:
        return ""
    return f"{watts:.0f}W" if watts < 1000 else f"{watts / 1000:.1f}kW"


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of those that are known."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _width(parts: Sequence[_Part]) -> int:
    return sum(cell_len(part.text) for part in parts) + len(parts) - 1


def _devices(sample: Sample, history: History) -> list[_Part]:
    whole = [one for one in sample.devices if one.kind != "mig"]
    if not whole:
        return [_Part(0, "no device", "dim")]
    if len(whole) == 1 and whole[0].state != "lost":
        return _one(whole[0], history)
    lost = sum(one.state == "lost" for one in whole)
    return [
        _Part(0, _counted(whole)),
        _Part(1, f"{lost} lost" if lost else "", "bold"),
        *_all([one for one in whole if one.state != "lost"], history),
    ]


def _one(device: DeviceCounters, history: History) -> list[_Part]:
    return [
        _Part(0, device.label),
        _Part(1, percent_text(device.utilization_percent)),
        _Part(4, memory_text(device.memory_used_bytes, device.memory_total_bytes)),
        _Part(6, _degrees(device.temperature_c)),
        _Part(7, power_text(device.power_w)),
        _Part(5, _spark(history, [device.key], "utilization_percent")),
        _Part(3, _age([device])),
    ]


def _all(devices: Sequence[DeviceCounters], history: History) -> list[_Part]:
    """Several devices: mean share, memory in all, the hottest, power in all."""
    share = mean(one.utilization_percent for one in devices)
    hottest = max((one.temperature_c for one in devices if one.temperature_c is not None), default=None)
    return [
        _Part(2, "" if share is None else f"{share:.0f}% avg"),
        _Part(4, memory_text(_sum(devices, "memory_used_bytes"), _sum(devices, "memory_total_bytes"))),
        _Part(6, "" if hottest is None else f"{_degrees(hottest)} max"),
        _Part(7, power_text(_sum(devices, "power_w"))),
        _Part(5, _spark(history, [one.key for one in devices], "utilization_percent")),
        _Part(3, _age(devices)),
    ]


def _host(host: HostCounters, history: History) -> list[_Part]:
    memory = memory_text(host.memory_used_bytes, host.memory_limit_bytes)
    return [
        _Part(8, f"cpu {percent_text(host.cpu_used_percent)}"),
        _Part(10, _spark(history, [HOST], "cpu_used_percent")),
        _Part(9, f"mem {memory}" if memory else ""),
    ]


def _counted(devices: Sequence[DeviceCounters]) -> str:
    """``8 GPU``, ``8 NPU 1 GPU``."""
    kinds = [one.kind.upper() for one in devices]
    return " ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def _sum(devices: Sequence[DeviceCounters], name: str) -> int | None:
    """The sum over all; None unless each is known, since a part of a sum misleads."""
    values = [getattr(one, name) for one in devices]
    return sum(values) if values and None not in values else None


def _degrees(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}C"


def _age(devices: Sequence[DeviceCounters]) -> str:
    oldest = max((one.age_s for one in devices), default=0.0)
    return f"{oldest:.0f}s old" if oldest >= STALE_S else ""


def _spark(history: History, keys: Sequence[str], counter: str) -> str:
    """The newest values as bars; of several devices the mean at each moment."""
    rows = [history.values(key, counter, SPARK_CELLS) for key in keys]
    longest = max((len(row) for row in rows), default=0)
    padded = [(None,) * (longest - len(row)) + row for row in rows]
    values = [mean(moment) for moment in zip(*padded, strict=True)]
    return spark(values, 0.0, 100.0) if mean(values) is not None else ""
