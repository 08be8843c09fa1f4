"""The dataset cache servers of this host and the sessions of ours: what each caches, and what that means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from mswb.cache.server import admin, explain, manage
from mswb.cache.server.manage import Session
from mswb.cache.server.running import Server, look
from mswb.env.interpreter import find_interpreter
from mswb.findings import Finding, MswbError
from mswb.settings import Settings


@dataclass(frozen=True, slots=True)
class Served:
    """Servers of all users; sessions of this user's servers alone, since others answer nobody else."""

    servers: tuple[Server, ...] = ()
    sessions: tuple[Session, ...] = ()
    findings: tuple[Finding, ...] = ()


def served(settings: Settings, environ: Mapping[str, str]) -> Served:
    """Ask every server of this user, without importing MindSpore.

    Raises:
        MswbError: there is a server of ours, but no MindSpore whose program could ask it.
    """
    servers = look().servers
    mine = [one for one in servers if one.uid == os.getuid()]
    if not mine:
        return Served(servers)
    program = admin.find(find_interpreter(None, settings, environ), settings)
    sessions: list[Session] = []
    findings: list[Finding] = []
    for server in mine:
        try:
            found = manage.sessions(program, server.port, settings)
        except MswbError as problem:
            findings.append(problem.finding)
            continue
        sessions += found
        findings += [manage.stale(one.id, server.port, one.changes, sure=True) for one in found if one.changes]
        rows = [row for one in found for row in one.caches]
        findings += explain.of_sessions(rows, server.port, server.spill)
    return Served(servers, tuple(sessions), tuple(findings))
