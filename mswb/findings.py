"""The one currency of every diagnosis: what is wrong, where exactly, why, and what to do.

The words live in ``mswb/catalogue/*.toml``, once for each code and in English and Chinese. A finding is made with
:func:`make`, which looks the code up and fills the values in; nothing else writes titles, causes or advice.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, get_args

Severity = Literal["note", "warning", "error"]
Language = Literal["en", "zh"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Where:
    """A place. ``line`` counts from 1, ``offset`` is in bytes from 0, ``time`` is ISO 8601 local to the node."""

    node: str | None = None
    rank: int | None = None
    file: str | None = None
    line: int | None = None
    offset: int | None = None
    time: str | None = None

    def __str__(self) -> str:
        place = self.file or ""
        if place and self.line is not None:
            place += f":{self.line}"
        elif place and self.offset is not None:
            place += f" at byte {self.offset}"
        rank = "" if self.rank is None else f"rank {self.rank}"
        return " ".join(part for part in (rank, place) if part) or (self.node or "")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong (or worth knowing). ``consequence_of`` is the index of its root in the same report."""

    code: str
    severity: Severity
    title: str
    where: Where = Where()
    evidence: str = ""
    cause: str = ""
    advice: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    consequence_of: int | None = None


class MswbError(Exception):
    """A finding that stops a command. ``exit_code`` is 2 for wrong usage or unreadable input, 1 for a failed job."""

    def __init__(self, finding: Finding, exit_code: int = 2) -> None:
        super().__init__(finding.title)
        self.finding = finding
        self.exit_code = exit_code

    def __str__(self) -> str:
        """One clear line: where, what, what to do."""
        place = str(self.finding.where)
        parts = [f"{place}: {self.finding.title}" if place else self.finding.title]
        parts += self.finding.advice[:1]
        return "; ".join(part.rstrip(".") for part in parts)


@dataclass(frozen=True, slots=True)
class Words:
    """What a catalogue entry says in one language. The texts may hold ``{name}`` of a finding's values."""

    title: str
    cause: str
    advice: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One catalogue entry: a code, its usual severity, and its words."""

    code: str
    severity: Severity
    en: Words
    zh: Words

    def words(self, lang: Language) -> Words:
        return self.zh if lang == "zh" else self.en


@lru_cache(maxsize=1)
def load_catalogue() -> Mapping[str, Entry]:
    """All entries of ``mswb/catalogue/*.toml`` by code.

    Raises:
        ValueError: a code stands twice or an entry lacks a field: a defect of the product, not of the user.
    """
    from importlib import resources  # takes as long as all other imports here

    entries: dict[str, Entry] = {}
    for file in sorted(resources.files("mswb.catalogue").iterdir(), key=lambda item: item.name):
        if not file.name.endswith(".toml"):
            continue
        for code, raw in parse_toml(file.read_text(encoding="utf-8")).items():
            if code in entries:
                raise ValueError(f"{file.name}: code {code!r} stands twice in the catalogue")
            if raw["severity"] not in SEVERITIES:
                raise ValueError(f"{file.name}: {code!r} has the unknown severity {raw['severity']!r}")
            entries[code] = Entry(code, raw["severity"], _words(raw["en"]), _words(raw["zh"]))
    return entries


_chosen: list[Language] = []


def choose_language(name: str) -> None:
    """Speak ``zh...`` or English from now on in this process; an empty name leaves it to the environment."""
    _chosen[:] = [_language_of(name)] if name else []


def language(environ: Mapping[str, str] | None = None) -> Language:
    """The language to speak: the chosen one, else MSWB_LANG, else the locale variables, else English."""
    if _chosen and environ is None:
        return _chosen[0]
    env = os.environ if environ is None else environ
    for name in ("MSWB_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = env.get(name)
        if value:
            return _language_of(value)
    return "en"


def _language_of(name: str) -> Language:
    return "zh" if name.lower().startswith("zh") else "en"


def make(
    code: str,
    *,
    where: Where = Where(),
    evidence: str = "",
    severity: Severity | None = None,
    lang: Language | None = None,
    values: Mapping[str, Any] | None = None,
    extra_advice: Sequence[str] = (),
) -> Finding:
    """A finding in the catalogue's words, with ``values`` filled into them.

    Args:
        code: a code of the catalogue; an unknown one is a KeyError, since it is our defect.
        severity: overrides the catalogue's.
        extra_advice: sentences put before the catalogue's advice.
    """
    entry = load_catalogue()[code]
    words = entry.words(lang or language())
    known = dict(values or {})
    advice = tuple(extra_advice) + tuple(fill_commands(text, known) for text in words.advice)
    return Finding(
        code=code,
        severity=severity or entry.severity,
        title=_fill(words.title, known).rstrip(),
        where=where,
        evidence=evidence,
        cause=_fill(words.cause, known),
        advice=advice,
        values=known,
    )


def stop(code: str, *, exit_code: int = 2, **arguments: Any) -> MswbError:
    """The error that stops a command; takes what :func:`make` takes."""
    return MswbError(make(code, **arguments), exit_code)


def as_consequence(finding: Finding, root: int) -> Finding:
    """The same finding, marked as a consequence of the finding at index ``root``."""
    return replace(finding, consequence_of=root)


class _Blank(dict[str, Any]):
    """Leaves an unknown ``{name}`` readable instead of failing in the middle of an error report."""

    def __missing__(self, key: str) -> str:
        return "?"


def _fill(text: str, values: Mapping[str, Any]) -> str:
    return text.format_map(_Blank(values)) if "{" in text else text


_COMMAND = re.compile(r"(?<![\w/~.-])(?:mswb|ssh|chmod|kill|python -m pip) [a-z0-9{-][^:;,()：；，。（）]*")
"""A command in an advice, up to the words that say what it does."""
_ARGUMENT = re.compile(r"(?<=[ =])\{(\w+)\}")


def fill_commands(text: str, values: Mapping[str, Any]) -> str:
    """A text with ``values`` filled in; arguments of a command are quoted, since people copy it to a shell."""
    parts, at = [], 0
    for command in _COMMAND.finditer(text):
        quoted = {name: argument(values[name]) for name in _ARGUMENT.findall(command[0]) if name in values}
        parts += [_fill(text[at : command.start()], values), _fill(command[0], {**values, **quoted})]
        at = command.end()
    return "".join([*parts, _fill(text[at:], values)])


def argument(value: Any) -> str:
    """A value as one argument of a command for a shell; a relative path that looks like an option is no option."""
    text = str(value)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def _words(raw: Mapping[str, Any]) -> Words:
    return Words(raw["title"], raw["cause"], tuple(raw["advice"]))


def parse_toml(text: str) -> dict[str, Any]:
    """TOML as a dictionary, under Python 3.10 too.

    Raises:
        ValueError: it is no TOML; the message names line and column.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    table: dict[str, Any] = tomllib.loads(text)
    return table
