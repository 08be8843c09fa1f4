"""The rank table (JSON, versions 1.0 and 1.2): numbers are texts; ranks, devices and addresses each stand once.

Source: CANN's rank table configuration. A table that does not fit is what EI0004 and EI0014 report after minutes.
"""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Iterator
from typing import Any

from mswb.findings import Finding, Where, make
from mswb.launch.command import LaunchRequest
from mswb.launch.environment import EnvOverlay

MAX_BYTES = 64 << 20


def check(request: LaunchRequest, overlay: EnvOverlay) -> Iterator[Finding]:
    """Check the table of ``--rank_table_file`` or RANK_TABLE_FILE."""
    path = request.rank_table_file or overlay.get("RANK_TABLE_FILE")
    if path:
        yield from check_file(os.path.join(request.cwd, path), request.worker_num)


def check_file(path: str, worker_num: int) -> Iterator[Finding]:
    """What is wrong in one rank table."""
    where = Where(file=path)
    try:
        with open(path, "rb") as file:
            table = json.loads(file.read(MAX_BYTES))
    except OSError as problem:
        yield make("rank-table-unreadable", where=where, values={"reason": problem.strerror})
        return
    except ValueError as problem:
        line = getattr(problem, "lineno", None)
        yield make("rank-table-syntax", where=Where(file=path, line=line), values={"reason": str(problem)})
        return
    except RecursionError:
        yield make("rank-table-syntax", where=where, values={"reason": "nested too deeply"})
        return
    for code, values in _problems(table, worker_num):
        yield make(code, where=where, values=values)


Problem = tuple[str, dict[str, Any]]


def _problems(table: Any, worker_num: int) -> Iterator[Problem]:
    if isinstance(table, dict) and "deploy_mode" in table and "group_list" in table:
        yield "rank-table-old", {}
        return
    servers = _objects(table.get("server_list")) if isinstance(table, dict) else []
    if not servers or not all(_objects(one.get("device")) for one in servers):
        yield "rank-table-form", {}
        return
    if table.get("status") != "completed":
        yield "rank-table-status", {"status": table.get("status")}
    if str(table.get("server_count")) != str(len(servers)):
        yield "rank-table-count", {"name": "server_count", "said": table.get("server_count"), "found": len(servers)}
    yield from _ranks(servers, worker_num)
    yield from _devices(servers)


def _objects(value: Any) -> list[dict[str, Any]]:
    """``value`` when it is a list of objects, else an empty list."""
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else []


def _ranks(servers: list[dict[str, Any]], worker_num: int) -> Iterator[Problem]:
    ranks = [str(device.get("rank_id")) for server in servers for device in server["device"]]
    if len(ranks) != worker_num:
        yield "rank-table-count", {"name": "rank_id", "said": worker_num, "found": len(ranks)}
    wanted = {str(number) for number in range(len(ranks))}
    wrong = sorted(set(ranks) ^ wanted)
    if wrong or len(set(ranks)) != len(ranks):
        repeated = sorted({rank for rank in ranks if ranks.count(rank) > 1}) if len(ranks) <= 4096 else []
        yield "rank-table-ranks", {"wrong": ", ".join([*wrong, *repeated][:8])}


def _devices(servers: list[dict[str, Any]]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    names = [str(server.get("server_id")) for server in servers]
    if len(set(names)) != len(names):
        yield "rank-table-twice", {"what": "server_id", "value": next(one for one in names if names.count(one) > 1)}
    for server in servers:
        ids = [str(device.get("device_id")) for device in server["device"]]
        double = next((one for index, one in enumerate(ids) if one in ids[:index]), None)
        if double is not None:
            yield "rank-table-twice", {"what": "device_id", "value": double}
        for device in server["device"]:
            yield from _address(device, owners, needed=len(servers) > 1)


def _address(device: dict[str, Any], owners: dict[str, str], *, needed: bool) -> Iterator[Problem]:
    value, rank = device.get("device_ip"), str(device.get("rank_id"))
    if value is None and not needed:
        return
    try:
        ipaddress.ip_address(str(value))
    except ValueError:
        yield "rank-table-address", {"rank": rank, "value": value}
        return
    if owners.setdefault(str(value), rank) != rank:
        yield "rank-table-twice", {"what": "device_ip", "value": value}
