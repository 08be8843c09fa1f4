"""The network settings of the NPUs: ``/etc/hccn.conf``, and ``~/.hccn.conf`` as the article has it.

Plain ``key_N=value`` lines, N = physical device. Errors where there are NPUs, warnings elsewhere.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mswb.env.host import Host
from mswb.findings import Finding, Severity, Where, make
from mswb.launch.environment import EnvOverlay

MAX_BYTES = 1 << 20
KNOWN = ("address", "netmask", "netdetect", "gateway", "send_arp_status", "tls_enable", "ipv6_address")
_LINE = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*?)_(\d{1,4})\s*=\s*(\S+)\s*")
_OTHERS = re.compile(r"\s*(?:ipv6_|arp|route|prefix_length|mtu|ip_rule|ip_route|ntp|roce|udp|bond|vlan)\w*\s*=.*")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Setting:
    """One line: ``key_device=value``; lines count from 1."""

    key: str
    device: int
    value: str
    line: int


def check(overlay: EnvOverlay, host: Host) -> Iterator[Finding]:
    """Check the files that are there."""
    paths = (os.path.join(host.root, "etc/hccn.conf"), os.path.join(overlay.get("HOME", "/root"), ".hccn.conf"))
    severity: Severity = "error" if host.ascend else "warning"
    for path in paths:
        if os.path.lexists(path):
            yield from check_file(path, severity, host.ascend)


def check_file(path: str, severity: Severity, devices: tuple[int, ...] = ()) -> Iterator[Finding]:
    """What is wrong in one hccn.conf. ``devices`` are those of the host; empty when it has none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_BYTES)
    except OSError as problem:
        yield make("hccn-unreadable", severity=severity, values={"path": path, "reason": problem.strerror})
        return
    say = _Say(path, severity)
    settings, strange = read(text)
    for line, content in strange:
        yield say("hccn-syntax", line, content, severity="warning", text=content)
    yield from _duplicates(settings, say)
    yield from _addresses(settings, say)
    yield from _tls(settings, say)
    absent = sorted({one.device for one in settings} - set(devices)) if devices else []
    if absent:
        yield say("hccn-device-absent", None, "", severity="warning", devices=", ".join(map(str, absent)))


def read(text: str) -> tuple[list[Setting], list[tuple[int, str]]]:
    """The settings, and the lines that are none (number and content)."""
    settings: list[Setting] = []
    strange: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match and match[1] in KNOWN:
            settings.append(Setting(match[1], int(match[2]), match[3], number))
        elif line.strip() and not line.lstrip().startswith("#") and not _OTHERS.fullmatch(line):
            strange.append((number, line.strip()[:200]))
    return settings, strange


class _Say:
    """Makes findings about one file."""

    def __init__(self, path: str, severity: Severity) -> None:
        self._path, self._severity = path, severity

    def __call__(
        self, code: str, line: int | None, evidence: str, *, severity: Severity | None = None, **values: Any
    ) -> Finding:
        where = Where(file=self._path, line=line)
        return make(code, severity=severity or self._severity, where=where, evidence=evidence, values=values)


def _duplicates(settings: list[Setting], say: _Say) -> Iterator[Finding]:
    seen: dict[tuple[str, int], Setting] = {}
    users: dict[str, Setting] = {}
    for one in settings:
        earlier = seen.get((one.key, one.device))
        if earlier is not None and earlier.value != one.value:
            yield say("hccn-twice", one.line, _text(one), name=f"{one.key}_{one.device}", first_line=earlier.line)
        seen[one.key, one.device] = one
        other = users.setdefault(one.value, one) if one.key == "address" else one
        if other.device != one.device:
            yield say("hccn-address-shared", one.line, _text(one), address=one.value, one=other.device, two=one.device)


def _addresses(settings: list[Setting], say: _Say) -> Iterator[Finding]:
    by_device: dict[int, dict[str, Setting]] = {}
    for one in settings:
        by_device.setdefault(one.device, {})[one.key] = one
    for device, table in sorted(by_device.items()):
        yield from _one_device(device, table, say)


def _one_device(device: int, table: Mapping[str, Setting], say: _Say) -> Iterator[Finding]:
    for key in ("address", "netmask", "gateway", "netdetect", "ipv6_address"):
        one = table.get(key)
        if one is not None and not _plausible(key, one.value):
            yield say("hccn-value", one.line, _text(one), name=f"{key}_{device}", value=one.value)
    network = _network(table)
    for key in ("gateway", "netdetect"):
        one, address = table.get(key), _address(table.get(key))
        if one is not None and network is not None and address is not None and address not in network:
            yield say(
                "hccn-gateway", one.line, _text(one), name=f"{key}_{device}", value=one.value, network=str(network)
            )
    own, gateway = table.get("address"), table.get("gateway")
    if own is not None and gateway is not None and own.value == gateway.value:
        yield say("hccn-value", gateway.line, _text(gateway), name=f"gateway_{device}", value=gateway.value)


def _plausible(key: str, value: str) -> bool:
    if key == "netmask":
        return _is_mask(value)
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    usable = not (address.is_multicast or address.is_unspecified or address.is_loopback)
    return usable if key in ("address", "ipv6_address") else not address.is_multicast


def _is_mask(value: str) -> bool:
    """One run of set bits from the left."""
    try:
        bits = int(ipaddress.IPv4Address(value))
    except ValueError:
        return False
    inverted = bits ^ 0xFFFFFFFF
    return bits != 0 and inverted & (inverted + 1) == 0


def _network(table: Mapping[str, Setting]) -> ipaddress.IPv4Network | None:
    address, mask = table.get("address"), table.get("netmask")
    if address is None or mask is None or not _is_mask(mask.value):
        return None
    try:
        return ipaddress.IPv4Network(f"{address.value}/{mask.value}", strict=False)
    except ValueError:
        return None


def _address(one: Setting | None) -> Address | None:
    try:
        return None if one is None else ipaddress.ip_address(one.value)
    except ValueError:
        return None


def _tls(settings: list[Setting], say: _Say) -> Iterator[Finding]:
    """Mixed settings make HCCL's connections fail (EI0006)."""
    rows = [one for one in settings if one.key == "tls_enable"]
    wrong = next((one for one in rows if one.value not in ("0", "1")), None)
    if wrong is not None:
        yield say("hccn-value", wrong.line, _text(wrong), name=f"tls_enable_{wrong.device}", value=wrong.value)
    elif len({one.value for one in rows}) > 1:
        on = ", ".join(str(one.device) for one in rows if one.value == "1")
        yield say("hccn-tls-mixed", rows[0].line, "; ".join(map(_text, rows[:16])), on=on)


def _text(one: Setting) -> str:
    return f"{one.key}_{one.device}={one.value}"
