"""The known words of a data failure, as data: ``rules.toml``; and the files that a text names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from typing import Any

from mswb.findings import parse_toml

MAX_LINE = 20_000
"""Characters of a line that are searched; MindSpore puts raw bytes of records into its messages."""
NEAR = 8
"""Lines below a hit in which files may be named."""
MAX_FILES = 200
_NAMED = re.compile(r"\(\?P<\w+>")
_WORD = re.compile(r"""[^\s'"`,;<>|\x00-\x1f\\]+""")
_DATA = re.compile(
    r"\.(?:tf_?records?(?:-\d+-of-\d+)?|mind_?records?\d*|record|records|db|shard|part|idx|gz|npz?|h5|hdf5|lmdb|parquet|"
    r"arrow|csv|bin|ckpt|safetensors|mindir)\d*$"
)
_SOURCES = re.compile(r"\.(?:py[cx]?|cc|cpp|c|h|hpp|so(?:\.\d+)*|log|txt|sh|ya?ml|toml)$")


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of line; see the head of ``rules.toml``. ``regex`` is one of RE2: no line can make it slow."""

    id: str
    code: str
    regex: Any
    sample: str
    forms: frozenset[str] = frozenset()
    ask: str = ""
    quiet: bool = False
    aside: bool = False
    rest: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that was found. ``file`` and ``line`` (from 1) say where; ``paths`` are what the text names near it.

    ``named`` are those of them that the words themselves are about.
    """

    rule: Rule
    text: str
    values: dict[str, Any] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None
    named: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def load_rules() -> tuple[Rule, ...]:
    """All rules in the order of the file."""
    import re2

    return tuple(
        Rule(
            raw["id"],
            raw["code"],
            re2.compile(raw["regex"]),
            raw["sample"],
            frozenset(raw.get("forms", ())),
            raw.get("ask", ""),
            raw.get("quiet", False),
            raw.get("aside", False),
            raw.get("rest", False),
        )
        for raw in _raw()
    )


@lru_cache(maxsize=1)
def _any() -> Any:
    """A regex that every line fits which fits a rule; most lines are told by this one search."""
    import re2

    return re2.compile("|".join(f"(?:{_NAMED.sub('(?:', raw['regex'])})" for raw in _raw()))


def _raw() -> list[dict[str, Any]]:
    text = resources.files("mswb.cache.triage").joinpath("rules.toml").read_text(encoding="utf-8")
    rules: list[dict[str, Any]] = parse_toml(text)["rule"]
    return rules


def find(lines: Iterable[str], file: str | None = None) -> list[Hit]:
    """The first hit of each rule, with the files named in its line and just below.

    Later hits of a rule add the files that they name.
    """
    rows = [line[:MAX_LINE] for line in lines]
    found: dict[str, Hit] = {}
    for number, line in enumerate(rows):
        if _any().search(line) is None:
            continue
        told = False
        for rule in load_rules():
            match = None if rule.rest and told else rule.regex.search(line)
            if match is None:
                continue
            told = True
            values = _values(match)
            near = () if rule.ask == "file" else paths_in("\n".join(rows[number : number + NEAR]))
            named = tuple(values.pop("paths", ()))
            hit = Hit(rule, line.strip(), values, _few((*named, *near)), file, number + 1, _few(named))
            found[rule.id] = joined(found.get(rule.id), hit)
    return list(found.values())


def joined(known: Hit | None, hit: Hit) -> Hit:
    """The first of two hits of a rule, with the files that both name."""
    if known is None:
        return hit
    return replace(known, paths=_few((*known.paths, *hit.paths)), named=_few((*known.named, *hit.named)))


def paths_in(text: str) -> tuple[str, ...]:
    """What looks like the name of a data file: with its folder, or with a usual suffix. Nothing is looked up."""
    words = (word.strip("()[]{}:.!?=").rpartition("=")[2] for word in _WORD.findall(text))
    return _few(word for word in words if _looks_like_data(word))


def _looks_like_data(word: str) -> bool:
    if len(word) < 3 or len(word) > 4096 or "://" in word or "/site-packages/" in word or _SOURCES.search(word):
        return False
    return _DATA.search(word) is not None or (word.startswith("/") and word.count("/") > 1)


def _values(match: Any) -> dict[str, Any]:
    """The named groups; ``path`` and ``path2`` go to ``paths``, a trailing number of a name is dropped."""
    found: dict[str, Any] = {}
    paths: list[str] = []
    for name, text in match.groupdict().items():
        if not text:
            continue
        plain = name.rstrip("0123456789")
        if plain == "path":
            paths.append(text.strip().rstrip("."))
        else:
            found[plain] = text.strip()[:400]
    return {**found, "paths": paths} if paths else found


def _few(paths: Iterable[str]) -> tuple[str, ...]:
    unique = list(dict.fromkeys(path for path in paths if path))
    return tuple(unique[:MAX_FILES])


def resolve(names: Sequence[str], folders: Sequence[str]) -> list[str]:
    """The files that exist among some names, looked for in ``folders`` when they are relative, or have moved.

    A name of a file that is not there counts as the same name directly in one of the folders.
    """
    found: dict[str, None] = {}
    for name in names:
        choices = [name] if os.path.isabs(name) else []
        choices += [os.path.join(folder, name) for folder in folders if not os.path.isabs(name)]
        choices += [os.path.join(folder, os.path.basename(name)) for folder in folders]
        path = next((path for path in choices if os.path.exists(path)), None)
        if path is not None:
            found[os.path.abspath(path)] = None
    return list(found)
