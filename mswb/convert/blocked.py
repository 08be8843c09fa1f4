"""What can't be converted, told once for each operator and reason, with all its nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from mswb.findings import Finding, Where, make

MOST_NODES = 1000
"""Nodes of one finding that are named."""
SHORTEST = 3
"""Letters of an operator's name that is looked for inside an invented one."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """One node, or one input, that can't be converted.

    Attributes:
        code: of the finding.
        reason: one clause, or the data type for ``unsupported-dtype``.
        freeze: the input that would have to be a constant.
    """

    code: str
    node: str
    op: str
    reason: str = ""
    nearest: str = ""
    freeze: str = ""


def grouped(path: str, blocked: Iterable[Blocked], known: Collection[str]) -> list[Finding]:
    """One finding for each code, operator and reason, in the order of the first nodes.

    Args:
        known: the operators that can be converted.
    """
    groups: dict[tuple[str, ...], list[Blocked]] = {}
    for one in blocked:
        name = one.node if one.code == "unsupported-dtype" else ""
        groups.setdefault((one.code, one.op, one.reason, one.nearest, one.freeze, name), []).append(one)
    return [_finding(path, members, known) for members in groups.values()]


def _finding(path: str, members: list[Blocked], known: Collection[str]) -> Finding:
    first = members[0]
    near = _near(first.op, known) if first.code == "unsupported-op" else ""
    names = list(dict.fromkeys(one.node for one in members))
    more = len(members) - 1
    values = {
        "name": first.node,
        "op": first.op,
        "reason": first.reason,
        "nearest": first.nearest or "write it in another way",
        "freeze": first.freeze,
        "dtype": first.reason,
        "kind": "input",
        "near": f" (near: {near})" if near else "",
        "count": len(members),
        "more": f" (and {more} more node{'s' if more > 1 else ''})" if more else "",
        "nodes": names[:MOST_NODES],
    }
    return make(first.code, where=Where(node=first.node, file=path), values=values)


def _near(op: str, known: Collection[str]) -> str:
    """The operators that an invented one was made of, else the one that is spelt most like it."""
    name = op.rpartition(".")[2]
    if name in known:
        return ""
    inside = [one for one in known if len(one) >= SHORTEST and one in name]
    whole = [one for one in inside if not any(one != other and one in other for other in inside)]
    if whole:
        return ", ".join(sorted(whole, key=name.index))
    return ", ".join(get_close_matches(name, known, n=1))
