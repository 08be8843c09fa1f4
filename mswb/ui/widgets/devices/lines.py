"""The counters of the host and its devices as lines: pieces of text with the name of a theme variable each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size

from mswb.env.devices.history import HOST, History
from mswb.env.devices.sample import DeviceCounters, HostCounters, Sample
from mswb.files.safety import printable
from mswb.ui.glyphs import bar, glyph, spark
from mswb.ui.widgets.counters import UNKNOWN, mean, memory_text, percent_text

Piece = tuple[str, str]
"""A text and the theme variable of its colour; "" is the usual one."""
Line = tuple[Piece, ...]
FULL_PERCENT = 95.0
"""Memory fuller than this is drawn as a warning."""
HOT_C = 85.0
WIDE = 120
"""Cells from which on a device's line holds its name."""
_LABEL, _NAME, _MUTED = 8, 24, "text-muted"
_STATES = {"warning": ("warning", "warning"), "alarm": ("error", "error"), "lost": ("error", "error")}


def all_lines(sample: Sample, history: History, width: int, detailed: bool) -> tuple[Line, ...]:
    """Everything above the process table: host, devices, and what is missing and why."""
    lines = [*host_lines(sample.host, history, width)]
    for device in sample.devices:
        lines.append(device_line(device, history, width))
        if detailed and device.state != "lost":
            lines.append(detail_line(device, width))
    return tuple(lines) + tuple(note_lines(sample, width))


def host_lines(host: HostCounters, history: History, width: int) -> Iterator[Line]:
    """Processors, memory, disk and network, each processor."""
    yield _meter("cpu", host.cpu_used_percent, _cpu_words(host), _history(history, HOST, "cpu_used_percent"), width)
    yield _meter("memory", host.memory_percent, _memory_words(host), _history(history, HOST, "memory_percent"), width)
    yield _row("disk", _io_words(host), width)
    if len(host.core_percents) > 1:
        yield (("cores".ljust(_LABEL), _MUTED), (_cores(host.core_percents, width - _LABEL), "accent"))


def device_line(device: DeviceCounters, history: History, width: int) -> Line:
    """A device in one line: shares as bars, temperature and power, what is wrong, then clock and last moments."""
    head = [(_padded(device.label, _LABEL), "")]
    if width >= WIDE:
        head.append((_padded(device.name or UNKNOWN, _NAME) + " ", _MUTED))
    if device.state == "lost":
        head.append((f"{glyph('error')} LOST  ", "error"))
        return (*head, *_rest(", ".join(_identity(device, width)), width - _size(head)))
    cells = _bar_cells(width)
    pieces = [*head, *_busy(device, cells), *_memory(device, cells), *_heat(device), *_troubles(device)]
    clock = _unit(device.clock_mhz, "MHz", 9)
    if _size(pieces) + len(clock) <= width:
        pieces.append((clock, ""))
    left = width - _size(pieces) - 1
    tail = _history(history, device.key, "utilization_percent")[-left:] if left > 3 else ""
    return (*pieces, (" " + tail if tail else "", "accent"))


def detail_line(device: DeviceCounters, width: int) -> Line:
    """What does not fit the first line, under it."""
    return ((" " * _LABEL, ""), *_rest(", ".join(_details(device, width)), width - _LABEL))


def note_lines(sample: Sample, width: int) -> Iterator[Line]:
    """One line for each thing that is missing or wrong, with its sign; quiet ones muted."""
    for device in sample.devices:
        if device.note:
            severity, style = _STATES.get(device.state, ("note", _MUTED))
            sign = glyph(severity if severity in ("error", "warning") else "note")
            yield tuple(_rest(f"{sign} {device.note}", width, style))
    for note in sample.notes:
        yield tuple(_rest(f"{glyph('note')} {note}", width))


def _meter(label: str, share: float | None, forms: Iterable[str], tail: str, width: int) -> Line:
    """A share as number and bar, words about it, and at the right its last moments where there is room."""
    style = "warning" if share is not None and share >= FULL_PERCENT else "accent"
    lead = (
        (label.ljust(_LABEL), _MUTED),
        (percent_text(share).rjust(4) + " ", ""),
        (bar(share_of(share), _bar_cells(width)), style),
        ("  ", ""),
    )
    room = width - _size(lead)
    words = _fitting(forms, room)
    left = room - cell_len(words) - 2
    shown = "  " + tail[-left:] if left >= 4 and tail else ""
    return (*lead, (words, ""), (shown, "accent"))


def _bar_cells(width: int) -> int:
    return 10 + max(0, width - WIDE) // 6


def share_of(percent: float | None) -> float | None:
    """A percentage as a share of one."""
    return None if percent is None else percent / 100


def _row(label: str, forms: Iterable[str], width: int) -> Line:
    return ((label.ljust(_LABEL), _MUTED), (_fitting(forms, width - _LABEL), ""))


def _busy(device: DeviceCounters, cells: int) -> Iterable[Piece]:
    share = device.utilization_percent
    yield percent_text(share).rjust(4) + " ", ""
    yield bar(share_of(share), cells) + "  ", "accent"


def _memory(device: DeviceCounters, cells: int) -> Iterable[Piece]:
    share = device.memory_percent
    full = share is not None and share >= FULL_PERCENT
    yield (memory_text(device.memory_used_bytes, device.memory_total_bytes) or UNKNOWN).rjust(10) + " ", ""
    yield bar(share_of(share), cells) + " ", "warning" if full else "accent"


def _heat(device: DeviceCounters) -> Iterable[Piece]:
    hot = device.temperature_c is not None and device.temperature_c >= HOT_C
    yield _unit(device.temperature_c, "C", 5), "warning" if hot else ""
    limit = "" if device.power_limit_w is None else f"/{device.power_limit_w:.0f}"
    yield (UNKNOWN if device.power_w is None else f"{device.power_w:.0f}{limit}W").rjust(10), ""


def _troubles(device: DeviceCounters) -> Iterable[Piece]:
    if device.state != "ok":
        severity, style = _STATES[device.state]
        yield f" {glyph(severity)} {device.state}", style
    if device.ecc_errors:
        yield f" {glyph('error')} ECC {device.ecc_errors}", "error"
    if device.age_s:
        yield f" {device.age_s:.0f}s old", _MUTED


def _details(device: DeviceCounters, width: int) -> Iterator[str]:
    """The most telling first, since the end may be cut."""
    if width < WIDE and device.name:
        yield printable(device.name)
    if device.mig:
        yield "MIG on"
    if device.performance_state is not None:
        yield f"P{device.performance_state}"
    if device.memory_busy_percent is not None:
        yield f"memory busy {device.memory_busy_percent:.0f}%"
    if device.ecc_enabled is not None:
        yield f"ECC {device.ecc_errors} errors" if device.ecc_enabled and device.ecc_errors is not None else "ECC off"
    if device.fan_percent is not None:
        yield f"fan {device.fan_percent:.0f}%"
    clocks = ((device.clock_max_mhz, "clock at most"), (device.memory_clock_mhz, "memory clock"))
    yield from (f"{words} {value} MHz" for value, words in clocks if value is not None)
    yield from list(_identity(device, WIDE))


def _identity(device: DeviceCounters, width: int) -> Iterator[str]:
    """Who it is; a wide line has the name already."""
    words = (device.name if width < WIDE else None, f"bus {device.bus_id}" if device.bus_id else None, device.uuid)
    yield from (printable(word) for word in words if word)


def _cpu_words(host: HostCounters) -> Iterator[str]:
    """The words about the processors, the longest first."""
    count = host.usable_cpus or len(host.core_percents)
    group = host.cgroup
    load = "" if host.load is None else ", load " + " ".join(f"{value:.2f}" for value in host.load)
    if group is None or group.cpu_quota is None:
        yield f"of {count} CPUs{load}" if count else load.removeprefix(", ")
        return
    quota = f"of {group.cpu_quota:g} CPUs"
    waits = f", waits {group.throttled_percent:.0f}%" if group.throttled_percent else ""
    yield f"{quota} (limit of the cgroup{waits}; all {count} of the host {percent_text(host.cpu_percent)}){load}"
    yield f"{quota} (cgroup{waits}; host {percent_text(host.cpu_percent)}){load}"
    yield f"{quota} (cgroup{waits})"


def _memory_words(host: HostCounters) -> Iterator[str]:
    """The words about the memory, the longest first."""
    used = memory_text(host.memory_used_bytes, host.memory_limit_bytes) or UNKNOWN
    swap = f"  swap {memory_text(host.swap_used_bytes, host.swap_total_bytes)}" if host.swap_total_bytes else ""
    group = host.cgroup
    if group is None or group.memory_limit_bytes is None:
        yield used + swap
        yield used
        return
    kills = f"  {glyph('error')} {group.oom_kills} killed for memory" if group.oom_kills else ""
    yield f"{used} (limit of the cgroup; the host has {_short(host.memory_total_bytes)}){kills}{swap}"
    yield f"{used} (cgroup; host {_short(host.memory_total_bytes)}){kills}{swap}"
    yield f"{used} (cgroup){kills}"


def _io_words(host: HostCounters) -> Iterator[str]:
    """The words about disk and network, the longest first."""
    free, total = _short(host.disk_free_bytes), _short(host.disk_total_bytes)
    read, write = _short(host.disk_read_bps), _short(host.disk_write_bps)
    come, go = _short(host.network_in_bps), _short(host.network_out_bps)
    yield f"{free} free of {total}, read {read}/s, write {write}/s    network in {come}/s, out {go}/s"
    yield f"{free} free of {total}, read {read}/s, write {write}/s, net {come}/s {go}/s"


def _short(value: float | None) -> str:
    """``977K``, ``2.4M``, ``100G``; a dash for what is not known."""
    if value is None:
        return UNKNOWN
    for letter in ("B", "K", "M", "G"):
        if value < 1000:
            return f"{value:.1f}{letter}" if value < 10 and letter != "B" else f"{value:.0f}{letter}"
        value /= 1024
    return f"{value:.1f}T"


def _fitting(words: Iterable[str], room: int) -> str:
    """The first, longest form that fits; else the last, cut."""
    forms = list(words)
    return next((form for form in forms if cell_len(form) <= room), _cut(forms[-1], room))


def _cores(shares: Sequence[float | None], width: int) -> str:
    """One bar a processor; where they are too many, the mean of neighbours."""
    step = -(-len(shares) // max(1, width))
    return spark([mean(shares[start : start + step]) for start in range(0, len(shares), step)], 0.0, 100.0)


def _history(history: History, key: str, counter: str) -> str:
    return spark(history.values(key, counter), 0.0, 100.0)


def _unit(value: float | None, unit: str, width: int) -> str:
    return (UNKNOWN if value is None else f"{value:.0f}{unit}").rjust(width)


def _rest(words: str, room: int, style: str = _MUTED) -> tuple[Piece, ...]:
    return ((_cut(printable(words), room), style),)


def _cut(text: str, room: int) -> str:
    """``text`` in at most ``room`` cells."""
    if cell_len(text) <= room:
        return text
    return set_cell_size(text, max(0, room - 1)) + glyph("ellipsis") if room > 0 else ""


def _padded(text: str, width: int) -> str:
    return set_cell_size(_cut(printable(text), width), width)


def _size(pieces: Iterable[Piece]) -> int:
    return sum(cell_len(text) for text, _ in pieces)
