"""Checks made before anything starts, one subject a module.

A check reads and never writes, takes milliseconds, and says what it found as findings: an error stands in the way of
the launch, warnings and notes do not. Where a check can't tell (no permission, another Python's syntax), it is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mswb.env.host import Host, read_host
from mswb.env.interpreter import Interpreter
from mswb.findings import Finding
from mswb.launch.command import LaunchRequest
from mswb.launch.environment import EnvOverlay
from mswb.launch.preflight import cluster, devices, hccn, interpreters, ports, ranktable, resources, scripts, variables
from mswb.launch.preflight.scripts import Script, read_script


@dataclass(frozen=True, slots=True)
class Subject:
    """Everything that a check may look at."""

    request: LaunchRequest
    interpreter: Interpreter
    overlay: EnvOverlay
    host: Host
    script: Script


CHECKS: tuple[Callable[[Subject], Iterable[Finding]], ...] = (
    lambda one: cluster.check(one.request, one.host),
    lambda one: interpreters.check(one.request, one.interpreter, one.overlay, one.script),
    lambda one: scripts.check(one.request, one.interpreter, one.script),
    lambda one: variables.check(one.overlay),
    lambda one: ports.check(one.request, one.interpreter, one.overlay, one.host),
    lambda one: resources.check(one.request, one.interpreter, one.overlay, one.host, one.script),
    lambda one: devices.check(one.request, one.overlay, one.host, one.script),
    lambda one: hccn.check(one.overlay, one.host),
    lambda one: ranktable.check(one.request, one.overlay),
)


def check(
    request: LaunchRequest, interpreter: Interpreter, overlay: EnvOverlay, host: Host | None = None
) -> list[Finding]:
    """What would make this launch fail or surprise; what was decided for the user is in ``request.notes``.

    Args:
        host: this host by default.
    """
    facts = host or read_host(path=overlay.get("PATH"))
    subject = Subject(request, interpreter, overlay, facts, read_script(request))
    return [finding for one in CHECKS for finding in one(subject)]
