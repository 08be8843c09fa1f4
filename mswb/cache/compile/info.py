"""What ``mswb cache info`` tells of a folder of graphs: which run it is for, and who has sealed it."""

from __future__ import annotations

import os
from typing import Any

from mswb.cache.compile import key as keys
from mswb.cache.compile.sniff import GRAPH_NAME


def info(path: str) -> dict[str, Any]:
    """The key and the seal of a folder of graphs, as keys of a report; what is not known is left out."""
    found: dict[str, Any] = {"graphs": {name: os.path.getsize(os.path.join(path, name)) for name in _graphs(path)}}
    try:
        key, seal = keys.read_key(path), keys.read_seal(path)
    except ValueError as problem:
        return {**found, "problem": str(problem)}
    if key is not None:
        found |= {
            "key": key.key,
            "script": key.script,
            "command": " ".join(key.words),
            "created": key.created,
            "git": key.git,
            "versions": {name: version for name, version in key.versions.items() if version},
            "workers": key.world.get("workers", ""),
            "environment": key.environment,
            "files": len(key.code) + len(key.inputs),
        }
    found["sealed"] = seal is not None
    if seal is not None:
        found |= {"run": seal.run, "ended": seal.ended}
    return {name: value for name, value in found.items() if value not in (None, "", {})}


def _graphs(path: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(path) if GRAPH_NAME.match(name))
    except OSError:
        return []
