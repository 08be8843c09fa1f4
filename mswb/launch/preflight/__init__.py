"""Checks made before anything starts, one subject a module."""

from __future__ import annotations

from mswb.env.host import Host
from mswb.env.interpreter import Interpreter
from mswb.findings import Finding
from mswb.launch.command import LaunchRequest
from mswb.launch.environment import EnvOverlay


def check(
    request: LaunchRequest, interpreter: Interpreter, overlay: EnvOverlay, host: Host | None = None
) -> list[Finding]:
    """What would make this launch fail, or surprise: errors stand in its way, warnings and notes do not."""
    return [*request.notes]
