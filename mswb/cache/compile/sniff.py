"""The compile cache of one rank: ``compile_cache_N.mindir`` files and one ``compile_dependency.hash``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from mswb.files import wire
from mswb.files.items import Guess, Item
from mswb.files.peek import Peek

GRAPH_NAME = re.compile(r"(?:[A-Z_]+_?)?(?:backend_)?compile_cache_\d+\.mindir$")
HASH_NAME = re.compile(r".*compile_dependency\.hash$")
_HEX = re.compile(rb"[0-9a-f]{64}\s?$")
_PARTS = ("compile-graph", "compile-hash")


def sniff(peek: Peek) -> Guess | None:
    """A cached graph, or the hash of the script and modules that it was compiled from."""
    if GRAPH_NAME.match(peek.name):
        return _graph(peek)
    if HASH_NAME.match(peek.name):
        fits = _HEX.match(peek.head) is not None
        reason = "its name, and 64 hex digits" if fits else "its name"
        detail = "hash of the script" if fits else "no hash: 64 hex digits were expected"
        return Guess("compile-hash", detail, reason, "" if fits else "corrupted")
    return None


def join(items: Sequence[Item]) -> list[Item]:
    """The graphs and the hash of one folder as one entry, named after the folder."""
    parts = [item for item in items if item.kind in _PARTS]
    if not parts:
        return list(items)
    return [*(item for item in items if item.kind not in _PARTS), _entry(parts)]


def _graph(peek: Peek) -> Guess:
    version = wire.text(peek, wire.scan(peek, limit=8).first(5))
    made = f"written by MindSpore {version}" if version else "no MindIR"
    return Guess("compile-graph", made, "its name, and a MindIR header", "" if version else "corrupted")


def _entry(parts: Sequence[Item]) -> Item:
    graphs = [part for part in parts if part.kind == "compile-graph"]
    versions = sorted({part.detail for part in graphs})
    hashed = any(part.kind == "compile-hash" for part in parts)
    notes = [f"{len(graphs)} graphs" if len(graphs) != 1 else "1 graph", *versions]
    damaged = any(part.status for part in parts)
    if not hashed:
        notes.append("no hash of the script: it will not be used")
    return Item(
        "compile-cache",
        os.path.dirname(parts[0].path),
        sum(part.size_bytes for part in parts),
        sum(part.disk_bytes for part in parts),
        max(part.modified for part in parts),
        ", ".join(notes),
        "corrupted" if damaged else "" if hashed and graphs else "interrupted",
        "files named compile_cache_N.mindir and compile_dependency.hash",
        len(parts),
    )
