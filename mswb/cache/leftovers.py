"""Folders that frameworks leave behind, each as one entry: their names are fixed, and their listings must agree."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mswb.cache.strangers import KERNEL_FOLDER, belongs
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


_RANK = re.compile(r"rank_\d+$")
_PRODUCT = re.compile(r"Ascend\d\w*$")
"""What CANN names a folder of kernels after: the chip."""


def _always(names: Names, parent: str) -> bool:
    return True


def _holds(form: str, folder: str = "") -> Callable[[Names, str], bool]:
    """At least one name is of this form; a folder of other things has only the name of such a cache."""
    return lambda names, parent: any(belongs(form, folder, names))


def _compiled(names: Names, parent: str) -> bool:
    return not names or any(belongs("kernel-cache", "", names)) or any(map(KERNEL_FOLDER.match, names))


def _kernel_cache(names: Names, parent: str) -> bool:
    return _compiled(names, parent) or any(map(_PRODUCT.match, names))


def _dumped(folder: str) -> Callable[[Names, str], bool]:
    return lambda names, parent: _RANK.match(parent) is not None and any(belongs("dump", folder, names))


def _spilled(names: Names, parent: str) -> bool:
    return bool(names) and all(belongs("cache-spill", "", names))


_RULES = (
    _Rule(re.compile(r"graph_cache$"), _holds("compile-cache"), "compile-cache", "graphs of one rank"),
    _Rule(re.compile(r"akg_kernel_meta$"), _compiled, "kernel-cache", "compiled graph kernels (AKG)"),
    _Rule(KERNEL_FOLDER, _compiled, "kernel-cache", "compiled operators (Ascend TBE)"),
    _Rule(re.compile(r"kernel_cache$"), _kernel_cache, "kernel-cache", "compiled operators (CANN)"),
    _Rule(re.compile(r"aoe_data$"), _always, "tuning-base", "tuning results of CANN; expensive to make again"),
    _Rule(re.compile(r"somas_meta$"), _holds("memory-plan"), "memory-plan", "solutions of the memory-reuse solver"),
    _Rule(re.compile(r"graph_kernel_dump$"), _holds("dump", "graph_kernel_dump"), "dump", "graph kernels as text"),
    *(
        _Rule(re.compile(rf"{name}$"), _dumped(name), "dump", "what a failed or debugged compile left")
        for name in ("om", "rdr", "ir")
    ),
    _Rule(
        re.compile(r"\.decrypt_mindrecord$"),
        _holds("plain-copy"),
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
