"""The shape of the cluster: addresses and node ranks that fit together, and what this version can't start."""

from __future__ import annotations

from collections.abc import Iterator

from mswb.env.host import Host
from mswb.findings import Finding, Severity, make
from mswb.launch.command import LaunchRequest


def check(request: LaunchRequest, host: Host) -> Iterator[Finding]:
    """Loopback masters and missing node ranks of several nodes; TLS; binding without its tools."""
    if request.tls is not None:
        yield make("tls-not-yet")
    if not request.is_single_node and not request.is_simulation:
        if request.master.is_loopback:  # two launches on one host are a way to try several nodes: no error
            yield make("master-address-loopback", severity="warning")
        if request.node_rank < 0:
            yield make("node-rank-missing")
    yield from _binding(request, host)


def _binding(request: LaunchRequest, host: Host) -> Iterator[Finding]:
    """msrun goes on unbound, with a warning, when a tool is missing; with a binding file it fails."""
    wanted = (("bind_core", "taskset", request.bind_core), ("bind_numa", "numactl", request.bind_numa))
    for flag, tool, binding in wanted:
        if binding and tool not in host.tools:
            severity: Severity = "error" if binding.file else "warning"
            yield make("binding-tool-missing", severity=severity, values={"flag": flag, "tool": tool})
    if request.bind_core and request.backend == "msrun" and not host.has_cpuset_v1:
        yield make("binding-dropped")
