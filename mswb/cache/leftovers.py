"""Folders that frameworks leave behind, each as one entry: their names are fixed, and their listings must agree."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mswb.files.items import Guess

Names = Sequence[str]


@dataclass(frozen=True, slots=True)
class _Rule:
    """``folder`` must match the base name, ``agrees`` the names inside (the second argument: the parent's name)."""

    folder: re.Pattern[str]
    agrees: Callable[[Names, str], bool]
    kind: str
    detail: str
    status: str = ""


_SPILL = re.compile(r"IMG\d{5}\.LB$")
_GRAPH = re.compile(r".*(?:compile_cache_\d+|compile_dependency\.hash|backinfo\.json)")
_RANK = re.compile(r"rank_\d+$")


def _always(names: Names, parent: str) -> bool:
    return True


def _compiled(names: Names, parent: str) -> bool:
    return (
        not names or any(name.endswith((".o", ".json", ".info", ".cce", ".lock")) for name in names) or _nested(names)
    )


def _nested(names: Names) -> bool:
    return any(name.startswith("kernel_meta") for name in names)


def _in_rank(names: Names, parent: str) -> bool:
    return _RANK.match(parent) is not None


def _spilled(names: Names, parent: str) -> bool:
    return bool(names) and all(_SPILL.match(name) for name in names)


def _cached_graphs(names: Names, parent: str) -> bool:
    return any(_GRAPH.match(name) for name in names)


_RULES = (
    _Rule(re.compile(r"graph_cache$"), _cached_graphs, "compile-cache", "graphs of one rank"),
    _Rule(re.compile(r"kernel_meta(?:_.*)?$"), _compiled, "kernel-cache", "compiled operators (Ascend TBE)"),
    _Rule(re.compile(r"akg_kernel_meta$"), _compiled, "kernel-cache", "compiled graph kernels (AKG)"),
    _Rule(re.compile(r"kernel_cache$"), _always, "kernel-cache", "compiled operators (CANN)"),
    _Rule(re.compile(r"aoe_data$"), _always, "tuning-base", "tuning results of CANN; expensive to make again"),
    _Rule(re.compile(r"somas_meta$"), _always, "memory-plan", "solutions of the memory-reuse solver"),
    _Rule(re.compile(r"graph_kernel_dump$"), _always, "dump", "graph kernels as text"),
    _Rule(re.compile(r"(?:om|rdr|ir)$"), _in_rank, "dump", "what a failed or debugged compile left"),
    _Rule(
        re.compile(r"\.decrypt_mindrecord$"),
        _always,
        "plain-copy",
        "plaintext copies of encrypted MindRecords",
        "orphan",
    ),
    _Rule(re.compile(r"\.mindnlp$"), _always, "download", "models and data sets of mindnlp"),
    _Rule(re.compile(r".{36}$"), _spilled, "cache-spill", "rows that a dataset cache server spilled"),
)


def sniff_folder(path: str, names: Names) -> Guess | None:
    """What a folder is, by its name, its parent's, and the names in it."""
    parent, name = os.path.split(path)
    above = os.path.basename(parent)
    for rule in _RULES:
        if rule.folder.match(name) and rule.agrees(names, above):
            return Guess(rule.kind, rule.detail, f"a folder called {name}" + _inside(names), rule.status)
    return None


def _inside(names: Names) -> str:
    return f" with {', '.join(sorted(names)[:3])}" if names else ", empty"
