"""The key of a cache, and what has changed between two keys: files, code, columns, or versions."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple

VERSIONED = ("mindspore", "numpy", "PIL", "cv2")
"""Packages whose version counts for every cache, where they are loaded; others count where the code uses them."""
SHORT = 16
"""Digits of the key that name the folder."""


class Change(NamedTuple):
    """One thing that differs: a finding code, and in words what."""

    status: str
    reason: str


def versions(packages: Mapping[str, str]) -> Dict[str, str]:
    """The versions that count: of Python (byte code differs between them) and of the packages used."""
    found = {"python": ".".join(platform.python_version_tuple()[:2]), **packages}
    for name in VERSIONED:
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found


def key_of(parts: Mapping[str, Any]) -> str:
    """The key in hex: the sha256 of its parts in one canonical text."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> List[Change]:
    """What differs between the parts of two keys, the source first."""
    found: List[Change] = []
    if _of(old, "source") != _of(new, "source"):
        found.append(Change("stale-source", "its files have changed"))
    code = _changed(_of(old, "code"), _of(new, "code"))
    nodes = _changed(_pairs(old.get("pipeline")), _pairs(new.get("pipeline")))
    if code or nodes:
        found.append(Change("stale-code", "; ".join((*code, *nodes))))
    elif not found and old.get("attributes") != new.get("attributes"):
        found.append(Change("stale-source", "what the source keeps in its attributes has changed"))
    if old.get("columns") != new.get("columns"):
        found.append(Change("schema-changed", f"columns {old.get('columns')} before, {new.get('columns')} now"))
    moved = _changed_versions(_of(old, "versions"), _of(new, "versions"))
    if moved:
        found.append(Change("version-mismatch", moved))
    if old.get("count") != new.get("count"):
        found.append(Change("count-mismatch", f"{old.get('count')} samples before, {new.get('count')} now"))
    if (old.get("version"), old.get("salt")) != (new.get("version"), new.get("salt")):
        found.append(Change("stale-code", f"version {old.get('version')!r} before, {new.get('version')!r} now"))
    return found


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Tuple[str, ...]:
    changed = [f"{name} changed" for name in old if name in new and old[name] != new[name]]
    removed = [f"{name} is gone" for name in old if name not in new]
    added = [f"{name} is new" for name in new if name not in old]
    return tuple((*changed, *removed, *added)[:6])


def _changed_versions(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return ", ".join(f"{name} {old.get(name, 'absent')} before, {new.get(name, 'absent')} now" for name in names)


def _of(parts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = parts.get(name)
    return value if isinstance(value, dict) else {}


def _pairs(nodes: Any) -> Dict[str, str]:
    """Nodes by their place in the pipeline, so that a node that is put in between is told as new."""
    found: Dict[str, str] = {}
    for pair in nodes if isinstance(nodes, (list, tuple)) else ():
        name, number = str(pair[0]), 1
        while name in found:
            number += 1
            name = f"{pair[0]} ({number})"
        found[name] = str(pair[1])
    return found


def order_of(nodes: Sequence[Sequence[str]]) -> List[List[str]]:
    """Nodes as the parts of a key hold them."""
    return [[str(label), str(digest)] for label, digest in nodes]
