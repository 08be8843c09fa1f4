"""The key map as data: ``keys/*.toml`` holds every key of the workbench, one file a context, one table an action.

A binding's id is ``CONTEXT.ACTION`` (``log.search``); the user overrides it by that name in config.toml::

    [keys]
    "log.search" = "slash,ctrl+f"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from textual.binding import Binding

from mswb.findings import language, parse_toml


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of the key map. ``keys`` are Textual key names, comma separated."""

    id: str
    keys: str
    action: str
    help: str
    zh: str
    show: bool
    priority: bool

    def words(self) -> str:
        """What the key does, in the language of this process."""
        return self.zh if language() == "zh" else self.help


GENERIC = frozenset({"table", "overlay"})
"""Contexts whose keys are the same in every list, or in everything that lies over a pane."""

CHARACTERS = {
    "slash": "/",
    "question_mark": "?",
    "colon": ":",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "ampersand": "&",
    "exclamation_mark": "!",
    "asterisk": "*",
    "equals_sign": "=",
    "plus": "+",
    "minus": "-",
}
"""What Textual's names of keys stand for, where they type something."""


@lru_cache(maxsize=1)
def contexts() -> tuple[str, ...]:
    """The names of all contexts."""
    names = (file.name for file in resources.files("mswb.ui").joinpath("keys").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@lru_cache(maxsize=64)
def keys_of(context: str) -> tuple[Key, ...]:
    """The keys of one context, in the order of its file."""
    text = resources.files("mswb.ui").joinpath("keys").joinpath(f"{context}.toml").read_text(encoding="utf-8")
    return tuple(_key(context, name, raw) for name, raw in parse_toml(text).items())


def bindings(context: str) -> list[Any]:
    """The keys of one context as a widget's BINDINGS (a list that Textual's type allows)."""
    return [
        Binding(key.keys, key.action, key.words(), show=key.show, priority=key.priority, id=key.id)
        for key in keys_of(context)
    ]


def words_of(binding: Binding) -> str:
    """What a binding does, in the language of this process (which may be chosen after the classes are made)."""
    key = _by_id().get(binding.id or "")
    return key.words() if key is not None else binding.description


def overrides(table: Mapping[str, Any]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The user's ``[keys]`` as a Textual key map, and a sentence for each entry that can't be used."""
    known = _by_id()
    usable: dict[str, str] = {}
    problems: list[str] = []
    for name, value in table.items():
        if name not in known:
            problems.append(f"[keys] names {name}, which is no action; press ? for the names")
        elif not isinstance(value, str) or not value:
            problems.append(f"[keys] {name} must be a text of key names such as 'x' or 'slash,ctrl+f'")
        else:
            usable[name] = value
    return usable, tuple(problems)


@lru_cache(maxsize=1)
def _by_id() -> Mapping[str, Key]:
    return {key.id: key for context in contexts() for key in keys_of(context)}


def _key(context: str, name: str, raw: Mapping[str, Any]) -> Key:
    return Key(
        id=f"{context}.{name}",
        keys=raw["key"],
        action=raw["action"],
        help=raw["help"],
        zh=raw["zh"],
        show=raw.get("show", False),
        priority=raw.get("priority", False),
    )
