"""The words that a severity column draws with a sign and a colour, the worst first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mswb.findings import SEVERITIES
from mswb.ui.glyphs import glyph, severity_word


@dataclass(frozen=True, slots=True)
class Sign:
    """How a word is drawn: the name of its glyph, the theme variable of its colour; ``place`` 0 is the worst."""

    glyph: str
    style: str
    place: int


_ROWS = (
    ("error", "error", "error"),
    ("failed", "error", "error"),
    ("lost", "lost", "error"),
    ("warning", "warning", "warning"),
    ("stopping", "stopping", "warning"),
    ("stopped", "stopped", "warning"),
    ("starting", "starting", "accent"),
    ("running", "running", "accent"),
    ("note", "note", "text-muted"),
    ("succeeded", "ok", "success"),
    ("ok", "ok", "success"),
)
SIGNS: Mapping[str, Sign] = {word: Sign(name, style, place) for place, (word, name, style) in enumerate(_ROWS)}


def place_of(word: str) -> int:
    """Where a word sorts; words without a sign come after all others."""
    sign = SIGNS.get(word)
    return len(SIGNS) if sign is None else sign.place


def style_of(word: Any) -> str:
    """The theme variable of a word's colour; "" for none."""
    sign = SIGNS.get(word) if isinstance(word, str) else None
    return "" if sign is None else sign.style


def sign_text(word: str) -> str:
    """The sign and the word; severities in the language of this process."""
    sign = SIGNS.get(word)
    if sign is None:
        return word
    return next((severity_word(known) for known in SEVERITIES if known == word), f"{glyph(sign.glyph)} {word}")
