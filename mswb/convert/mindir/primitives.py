"""The operators that MindSpore 2.10 knows: the inputs of each, and which have no kernel for the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib import resources

from mswb.findings import parse_toml

LONGEST = 64
"""Characters of a name that one with a similar spelling is looked for."""


@dataclass(frozen=True, slots=True)
class Known:
    """``inputs`` names the inputs, in order, of operators that take all their arguments so.

    ``attributes`` are those that a kernel can't do without, each with its kind (word, number or tuple; with "?" where
    it may be absent); ``names`` are all operators.
    """

    inputs: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, Mapping[str, str]]
    names: frozenset[str]
    not_on_cpu: frozenset[str]

    def near(self, name: str) -> str:
        """The known operator that is spelt most alike, or ""."""
        if len(name) > LONGEST:
            return ""
        folded = {known.casefold(): known for known in self.names}
        exact = folded.get(name.casefold())
        return exact or next(iter(get_close_matches(name, self.names, 1, 0.75)), "")


@lru_cache(maxsize=1)
def known() -> Known:
    """The table of the package, read once."""
    raw = parse_toml((resources.files(__package__) / "primitives.toml").read_text(encoding="utf-8"))
    inputs = {name: tuple(words.split()) for name, words in raw["inputs"].items()}
    names = frozenset(inputs) | frozenset(raw["others"].split())
    return Known(inputs, raw["attributes"], names, frozenset(raw["not_on_cpu"].split()))
