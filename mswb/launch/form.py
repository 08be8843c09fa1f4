"""The launch form without a screen: fields with their words, and the two views of one launch, fields and command line.

``Values`` is what both views show: :func:`read_line` makes it of a typed line, :func:`line` writes it back. Nothing is
lost on the way, so that a person can go on in whichever view suits (see ``form.toml`` for the fields).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from mswb.files.safety import UNSAFE
from mswb.findings import Finding, Language, MswbError, parse_toml
from mswb.launch.flags import FLAGS, Flag, spelling, split_flags
from mswb.launch.usage import refuse

Kind = Literal["number", "choice", "text", "path", "folder", "program", "switch", "list"]
SCRIPT = "script"
SCRIPT_ARGUMENTS = "arguments"
LINE = "line"
"""Names of the three fields that are no flags: the script, its arguments, and the whole command line."""
OFF = ("", "false")
"""Texts of a switch that is not given."""
_WITHOUT_FIELD = ("help",)  # each field shows its own help
_NAMED = re.compile(r"--([a-z_]+)")


@dataclass(frozen=True, slots=True)
class Field:
    """One flag as a field. ``choices`` are the texts of a ``choice``; ``default`` is what an empty field means."""

    flag: Flag
    group: str
    kind: Kind
    choices: tuple[str, ...]
    essential: bool
    defaults: Mapping[Language, str]
    meanings: Mapping[Language, str]

    @property
    def name(self) -> str:
        return self.flag.name

    def default(self, lang: Language) -> str:
        """What an empty field means, in words."""
        return self.defaults[lang]

    def meaning(self, lang: Language) -> str:
        """What the flag does, in one sentence."""
        return self.meanings[lang]


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that belong together. ``titles`` by language; the fields without the essential ones."""

    key: str
    titles: Mapping[Language, str]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """A launch as texts, nothing read yet. ``given``: by flag, one text each, more where a flag may repeat."""

    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    program: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """What the field ``name`` shows: a flag's text (a list as shell words), the script, or its arguments."""
        if name == SCRIPT:
            return self.program[0] if self.program else ""
        if name == SCRIPT_ARGUMENTS:
            return shlex.join(self.program[1:])
        texts = self.given.get(name, ())
        return shlex.join(texts) if FLAGS[name].many else "".join(texts[-1:])

    def with_text(self, name: str, text: str) -> Values:
        """The same launch with one field changed; an empty text takes a flag out.

        Raises:
            MswbError: ``usage`` for a quote without its partner.
        """
        if name == SCRIPT:
            return replace(self, program=(text, *self.program[1:]) if text or self.program[1:] else ())
        if name == SCRIPT_ARGUMENTS:
            words = split(text)
            return replace(self, program=(self.text(SCRIPT), *words) if words or self.text(SCRIPT) else ())
        texts = split(text) if FLAGS[name].many else (text,) if text else ()
        others = {other: kept for other, kept in self.given.items() if other != name}
        return replace(self, given={**others, name: texts} if texts else others)


@lru_cache(maxsize=1)
def fields() -> Mapping[str, Field]:
    """All fields by name, in the order of ``form.toml``; every flag but ``--help`` is one."""
    return {name: _field(FLAGS[name], raw) for name, raw in _data()["flags"].items()}


@lru_cache(maxsize=1)
def groups() -> tuple[Group, ...]:
    """The groups of the fields that are not essential, in their order."""
    members = [one for one in fields().values() if not one.essential]
    titles: Mapping[str, Mapping[Language, str]] = _data()["groups"]
    return tuple(Group(key, words, tuple(one for one in members if one.group == key)) for key, words in titles.items())


def essentials() -> tuple[Field, ...]:
    """The fields that every launch is likely to need."""
    return tuple(one for one in fields().values() if one.essential)


def matches(one: Field, needle: str) -> bool:
    """Whether a field is meant by a filter text: all its words stand in the name or in the meaning, in any case."""
    stock = " ".join((one.name, one.name.replace("_", "-"), *one.meanings.values())).lower()
    return all(word in stock for word in needle.lower().split())


def read_arguments(argv: Sequence[str]) -> Values:
    """The values that a command line gives; of a flag given twice the last text, as in a launch.

    Raises:
        MswbError: ``usage`` for an unknown flag or a missing value; what a text means is not looked at.
    """
    given: dict[str, tuple[str, ...]] = {}
    pairs, program = split_flags(argv)
    for flag, text in pairs:
        given[flag.name] = (*given.get(flag.name, ()), text) if flag.many else (text,)
    kept = {name: texts for name, texts in given.items() if name not in _WITHOUT_FIELD and not _is_off(name, texts)}
    return Values(kept, program)


def arguments(values: Values) -> tuple[str, ...]:
    """The command line that gives these values, flags in the order of the help."""
    words = [word for name in FLAGS for text in values.given.get(name, ()) for word in _words(FLAGS[name], text)]
    first = values.program[0] if values.program else ""
    end = ("--",) if first.startswith("-") and first != "-" else ()
    return (*words, *end, *values.program)


def read_line(text: str) -> Values:
    """The values of a typed line, cut as a shell cuts words; a leading ``mswb run`` may stand there.

    Raises:
        MswbError: ``usage``.
    """
    words = split(text)
    return read_arguments(words[2:] if words[:2] == ("mswb", "run") else words)


def line(values: Values) -> str:
    """The command line as a person would type it behind ``mswb run``."""
    return shlex.join(arguments(values))


def split(text: str) -> tuple[str, ...]:
    """Words as a shell cuts them.

    Raises:
        MswbError: ``usage`` for a quote without its partner.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise refuse("quote-open", value=text) from None


def problem(name: str, text: str) -> Finding | None:
    """What is wrong with the text of one field by itself, or None."""
    try:
        words = split(text) if name == SCRIPT_ARGUMENTS or (name in FLAGS and FLAGS[name].many) else (text,)
        if name in FLAGS and text:
            for word in words:
                FLAGS[name].read(name, word)
    except MswbError as error:
        return error.finding
    return None


def field_of(finding: Finding) -> str | None:
    """The field that a refused command line is about: the flag it names, or the script; None when it is neither."""
    values = finding.values
    if str(values.get("mistake", "")).startswith("script-"):
        return SCRIPT
    named = [str(values["flag"])] if "flag" in values else _NAMED.findall(finding.title)
    return next((name for name in named if name in fields()), None)


def can_be_shown(argv: Sequence[str]) -> bool:
    """Whether a form may show these words: control characters can't be edited on one line of a terminal."""
    return not any(UNSAFE.search(word) or "\t" in word for word in argv)


def _data() -> dict[str, Any]:
    return parse_toml(resources.files("mswb.launch").joinpath("form.toml").read_text(encoding="utf-8"))


def _field(flag: Flag, raw: Mapping[str, Any]) -> Field:
    default = raw.get("default", "")
    return Field(
        flag,
        raw["group"],
        raw["kind"],
        tuple(raw.get("choices", ())),
        raw.get("essential", False),
        {"en": default, "zh": raw.get("default_zh", default)},
        {"en": flag.help, "zh": raw["zh"]},
    )


def _is_off(name: str, texts: tuple[str, ...]) -> bool:
    return FLAGS[name].switch and texts[-1].strip().lower() in OFF[1:]


def _words(flag: Flag, text: str) -> tuple[str, ...]:
    """One flag with its text; joined by ``=`` where the text would be taken for a flag, or is no plain ``true``."""
    if flag.switch:
        return (f"--{flag.name}",) if text == "true" else (f"--{flag.name}={text}",)
    return (f"--{flag.name}={text}",) if spelling(text) else (f"--{flag.name}", text)
