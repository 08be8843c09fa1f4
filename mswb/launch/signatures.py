"""The known lines of a failure, as data: ``signatures.toml``.

A signature never decides alone. Which of the hits of all ranks is the root is told by the kinds, the priorities and
the times together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any, Literal, NamedTuple

from mswb.findings import Language, Severity, parse_toml

Kind = Literal["root", "wrapper", "victim", "note", "benign"]
MAX_TEXT = 65_536
"""Characters of a line that are searched."""
MAX_VALUE = 400
"""Characters of a value: titles hold them."""
RE2_BYTES = 256 << 20
"""What RE2's automata may take; they take far less, and only as they are walked."""
_NAMED = re.compile(r"\(\?P<\w+>")


@dataclass(frozen=True, slots=True)
class Signature:
    """One kind of line.

    Args:
        id: a name that never changes.
        code: the finding's code; empty for benign lines.
        kind: ``root`` is a cause; ``wrapper`` a consequence or a summary of one told elsewhere; ``victim`` a rank
            that waited in vain for another; ``note`` is worth knowing, and no failure; ``benign`` looks bad and is not,
            so it is never reported.
        priority: the higher, the nearer to the cause.
        regex: what is searched in the line; the named groups are the finding's values.
        sample: a real line.
        severity: in place of the catalogue's.
        constants: values that the line doesn't spell.
        hint: advice for this very case, by language, to stand before the catalogue's.
    """

    id: str
    code: str
    kind: Kind
    priority: int
    regex: re.Pattern[str]
    sample: str
    severity: Severity | None = None
    ints: frozenset[str] = frozenset()
    constants: Mapping[str, str] = field(default_factory=dict)
    hint: Mapping[Language, str] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        # Between processes only the id travels: a compiled regex is costly to send.
        return signature_of, (self.id,)

    def values(self, match: re.Match[str]) -> dict[str, Any]:
        """The values of a match. A group ``op2`` fills ``op``: two branches of a regex can't share a name."""
        found: dict[str, Any] = dict(self.constants)
        for group, text in match.groupdict().items():
            if text:
                name = group.rstrip("0123456789")
                found[name] = int(text) if name in self.ints else text.strip()[:MAX_VALUE]
        return found


class Match(NamedTuple):
    """A signature that was found in a line, with the values it names."""

    signature: Signature
    values: dict[str, Any]


@lru_cache(maxsize=1)
def load_signatures() -> tuple[Signature, ...]:
    """All signatures, the highest priority first."""
    text = resources.files("mswb.launch").joinpath("signatures.toml").read_text(encoding="utf-8")
    entries = [_signature(raw) for raw in parse_toml(text)["signature"]]
    return tuple(sorted(entries, key=lambda entry: -entry.priority))


def signature_of(id: str) -> Signature:  # noqa: A002
    """The signature with this id; KeyError for none."""
    return _by_id()[id]


def match_line(line: str) -> list[Match]:
    """Every signature that this line shows, the highest priority first; at most :data:`MAX_TEXT` characters count."""
    line = line[:MAX_TEXT]
    signatures = load_signatures()
    found = []
    # One walk of RE2 over the line tells which of all signatures fit; re then reads the values of these few.
    for index in sorted(_set().Match(line) or ()):
        match = signatures[index].regex.search(line)
        if match is not None:
            found.append(Match(signatures[index], signatures[index].values(match)))
    return found


@lru_cache(maxsize=1)
def candidates() -> Any:
    """An RE2 over raw bytes that finds the lines any signature but a benign one might fit, in one pass."""
    import re2

    options = re2.Options()
    options.max_mem = RE2_BYTES
    options.encoding = re2.Options.Encoding.LATIN1
    parts = [_NAMED.sub("(?:", one.regex.pattern) for one in load_signatures() if one.kind != "benign"]
    return re2.compile(("(?m:" + "|".join(f"(?:{part})" for part in parts) + ")").encode("ascii"), options)


@lru_cache(maxsize=1)
def _by_id() -> dict[str, Signature]:
    return {signature.id: signature for signature in load_signatures()}


@lru_cache(maxsize=1)
def _set() -> Any:
    import re2

    options = re2.Options()
    options.max_mem = RE2_BYTES
    patterns = re2.Set.SearchSet(options)
    for signature in load_signatures():
        patterns.Add(signature.regex.pattern)
    patterns.Compile()
    return patterns


def _signature(raw: dict[str, Any]) -> Signature:
    return Signature(
        id=raw["id"],
        code=raw.get("code", ""),
        kind=raw.get("kind", "root"),
        priority=raw["priority"],
        regex=re.compile(raw["regex"], re.ASCII),
        sample=raw["sample"],
        severity=raw.get("severity"),
        ints=frozenset(raw.get("ints", ())),
        constants=raw.get("constants", {}),
        hint=raw.get("hint", {}),
    )
