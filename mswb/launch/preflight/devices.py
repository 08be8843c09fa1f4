"""Whether each local worker has a device. Only where NPUs are present: elsewhere MindSpore 2.10 trains on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

from mswb.env.host import Host
from mswb.findings import Finding, Severity, make
from mswb.launch.command import LaunchRequest
from mswb.launch.environment import EnvOverlay
from mswb.launch.preflight.scripts import Script

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"


def check(request: LaunchRequest, overlay: EnvOverlay, host: Host, script: Script) -> Iterator[Finding]:
    """Visible devices against local workers, and ids that are not there."""
    if not host.ascend or request.is_simulation:
        return
    severity: Severity = "warning" if script.names_cpu else "error"
    entry = next((one for one in overlay.entries if one.name == VISIBLE and one.origin != "advice"), None)
    visible = host.ascend if entry is None else _ids(entry.value)
    if visible is None:
        values = {"name": VISIBLE, "value": entry.value if entry else ""}
        yield make("visible-devices-unreadable", severity=severity, values=values)
        return
    absent = next((number for number in visible if number not in host.ascend), None)
    if absent is not None:
        yield _not_visible(absent, host, severity)
    elif request.local_worker_num > len(visible):
        yield _not_visible(len(visible), host, severity)


def _not_visible(device: int, host: Host, severity: Severity) -> Finding:
    evidence = "devices of this host: " + ", ".join(f"/dev/davinci{number}" for number in host.ascend)
    return make("device-not-visible", severity=severity, evidence=evidence, values={"id": device})


def _ids(text: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    return tuple(int(part) for part in parts)
