"""The colours of theme variables as styles for single pieces of text."""

from __future__ import annotations

from rich.style import Style
from textual.color import Color


def coloured(base: Style, value: str | None) -> Style:
    """The style that draws a theme variable's colour over ``base``; nothing where the theme lacks it."""
    if not value:
        return Style()
    colour = parse_variable(value)
    if base.bgcolor is not None and not base.bgcolor.is_default:
        colour = Color.from_rich_color(base.bgcolor) + colour
    elif colour.auto:
        return Style(dim=True)
    return Style.from_color(colour.rich_color)


def parse_variable(value: str) -> Color:
    """A colour as theme variables hold it: ``#aabbcc``, ``#aabbcc 30%``, ``auto 60%``, ``ansi_red``."""
    name, _, share = value.partition(" ")
    percent = float(share.rstrip("%")) if share else 100.0
    if name == "auto":
        return Color.automatic(percent)
    colour = Color.parse(name)
    return colour.with_alpha(percent / 100) if share else colour
