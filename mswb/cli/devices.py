"""``mswb devices``: the counters of this host and its accelerators, once or every second."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from datetime import datetime
from io import StringIO
from typing import Any

import click

from mswb.cli import output
from mswb.cli.sizes import human_bytes
from mswb.env.devices.sample import DeviceCounters, DeviceProcess, HostCounters, Sample
from mswb.env.devices.sampler import Sampler

FIRST_PATIENCE_S = 10.0
"""How long the first look waits for each kind of device; npu-smi takes seconds on a busy host."""
BASELINE_S = 0.5
"""Between the two looks of a single report: shares and rates need two."""
PERIOD_S = 1.0
_HOME, _END_OF_LINE, _BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


@click.command()
@click.option("--watch", is_flag=True, help="Show them every second until Ctrl+C; one JSON object a line for programs.")
@output.format_option
def devices(watch: bool, form: str) -> int:
    """Show the counters of this host, its GPUs and NPUs, and the processes that hold them."""
    sampler = Sampler()
    try:
        show = _emit if form == "json" else _draw if watch and sys.stdout.isatty() else _print
        sampler.sample(patience_s=FIRST_PATIENCE_S)
        time.sleep(BASELINE_S)
        show(sampler.sample())
        while watch:
            time.sleep(PERIOD_S)
            show(sampler.sample())
    finally:
        sampler.close()
    return 0


def _emit(sample: Sample) -> None:
    host = asdict(sample.host) | {
        name: getattr(sample.host, name) for name in ("cpu_used_percent", "memory_limit_bytes", "memory_used_bytes")
    }
    rest = {name: getattr(sample, name) for name in ("devices", "processes", "links", "notes")}
    moment = datetime.fromtimestamp(sample.time).isoformat(timespec="microseconds")
    output.emit("devices", (), time=moment, host=host, **rest)


def _draw(sample: Sample) -> None:
    """In place, cut to the terminal's height."""
    text = StringIO()
    with redirect_stdout(text):
        _print(sample)
    lines = text.getvalue().splitlines()[: shutil.get_terminal_size((80, 24)).lines - 1]
    sys.stdout.write(_HOME + "".join(f"{line}{_END_OF_LINE}\n" for line in lines) + _BELOW)
    sys.stdout.flush()


def _print(sample: Sample) -> None:
    words = () if sample.devices else (("devices", "none"),)
    output.show_table(["", ""], [*_host_rows(sample.host), *words])
    if sample.devices:
        print()
        output.show_table(
            ["device", "name", "busy", "memory", "temp", "power", "clock", "state"],
            [_device_row(one) for one in sample.devices],
            right=(2, 3, 4, 5, 6),
        )
    if sample.processes:
        print()
        output.show_table(
            ["device", "pid", "user", "rank", "memory", "busy", "cpu", "command"],
            [_process_row(sample, one) for one in sample.processes],
            right=(1, 3, 4, 5, 6),
        )
    if sample.links:
        print()
        rows = [_link_row(sample, link.rank, link.device, link.pid, link.source) for link in sample.links]
        output.show_table(["rank", "device", "pid", "known by"], rows)
    notes = [*sample.notes, *(one.note for one in sample.devices if one.note)]
    for note in notes:
        print(output.safe_line(f"{output.mark('note')} {note}"))


def _host_rows(host: HostCounters) -> Iterator[Sequence[str]]:
    load = "load unknown" if host.load is None else "load " + " ".join(f"{value:.2f}" for value in host.load)
    yield "cpu", f"{_percent(host.cpu_percent)} of {len(host.core_percents) or 'unknown'} processors, {load}"
    group = host.cgroup
    if group is not None and group.cpu_quota is not None:
        waited = "" if group.throttled_percent is None else f", waited in {group.throttled_percent:.0f}% of the periods"
        yield "cpu limit", f"{_percent(group.cpu_percent)} of {group.cpu_quota:g} processors (cgroup{waited})"
    yield "memory", f"{_pair(host.memory_used_bytes, host.memory_limit_bytes)}{_whose(host)}"
    if host.swap_total_bytes:
        yield "swap", _pair(host.swap_used_bytes, host.swap_total_bytes)
    yield "disk", f"{_size(host.disk_free_bytes)} free of {_size(host.disk_total_bytes)}"
    yield "disk rate", f"read {_rate(host.disk_read_bps)}, write {_rate(host.disk_write_bps)}"
    yield "network", f"in {_rate(host.network_in_bps)}, out {_rate(host.network_out_bps)}"


def _whose(host: HostCounters) -> str:
    if host.cgroup is None or host.cgroup.memory_limit_bytes is None:
        return ""
    kills = f"; {host.cgroup.oom_kills} processes killed for want of memory" if host.cgroup.oom_kills else ""
    return f" (the cgroup's limit; the host has {_size(host.memory_total_bytes)}{kills})"


def _device_row(one: DeviceCounters) -> Sequence[str]:
    limit = "" if one.power_limit_w is None else f"/{one.power_limit_w:.0f}"
    state = one.state if one.age_s == 0 else f"{one.state}, {one.age_s:.0f} s old"
    return (
        one.label,
        one.name or "-",
        _percent(one.utilization_percent),
        _pair(one.memory_used_bytes, one.memory_total_bytes),
        _number(one.temperature_c, "C"),
        "-" if one.power_w is None else f"{one.power_w:.0f}{limit}W",
        _number(one.clock_mhz, "MHz"),
        state + (f", {one.ecc_errors} ECC errors" if one.ecc_errors else ""),
    )


def _process_row(sample: Sample, one: DeviceProcess) -> Sequence[str]:
    device = sample.device(one.device)
    return (
        device.label if device else one.device,
        str(one.pid),
        one.user or "-",
        _number(one.rank, ""),
        _size(one.device_memory_bytes, "-"),
        _percent(one.utilization_percent),
        _percent(one.cpu_percent),
        f"(another pid namespace) {one.command or ''}".rstrip() if one.foreign else one.command or "-",
    )


def _link_row(sample: Sample, rank: int | None, key: str | None, pid: int, source: str) -> Sequence[str]:
    device = sample.device(key)
    return _number(rank, ""), device.label if device else "-", str(pid), source


def _pair(used: int | None, total: int | None) -> str:
    return "-" if used is None and total is None else f"{_size(used)} of {_size(total)}"


def _size(count: int | None, unknown: str = "unknown") -> str:
    return unknown if count is None else human_bytes(count)


def _rate(value: float | None) -> str:
    return "unknown" if value is None else f"{human_bytes(int(value))}/s"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}%"


def _number(value: Any, unit: str) -> str:
    return "-" if value is None else f"{value:.0f}{unit}"
