"""Whatever is written on a screen can be read: the pictures tell the colours of every text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.cells import cell_len
from textual.color import Color

from tests.ui.pictures import FOLDER, read

ENOUGH = 4.5
"""Contrast of a text with its ground, as the Web Content Accessibility Guidelines (AA) want it."""
DIMMED = ("stop", "stop_many", "kill", "adopt", "ask", "pick", "pick_last", "drawer", "drawer_ascii", "drawer_empty")
DIMMED += ("palette", "palette_search", "details", "details_block")
"""Scenes where a screen shines through another one."""
DRAWN = frozenset("│▊█▁▂▃▄▅▆▇▏▎░·…")
"""Lines, bars and the like, which nobody reads."""


def texts(name: str) -> Iterator[tuple[str, str]]:
    """Each text of a picture with its style, as words."""
    screen = read((FOLDER / name).read_text(encoding="utf-8"))
    for number, row in enumerate(screen.rows, 1):
        cells = [part for char in row for part in (char, *[""] * (cell_len(char) - 1)) if cell_len(char)]
        column = 0
        for style, width in screen.looks[number]:
            text = "".join(cells[column : column + width]).strip()
            column += width
            if set(text) - DRAWN - {" "}:
                yield text, style


def contrast(style: str) -> float:
    """The contrast ratio of ``#rrggbb on #rrggbb``; 21 where the terminal's own colours are meant."""
    fore, _, back, *_ = style.split(" ")
    if not (fore.startswith("#") and back.startswith("#")):
        return 21.0
    bright, dark = sorted((_luminance(fore), _luminance(back)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in Color.parse(colour).normalized
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


NAMES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.txt"))


@pytest.mark.parametrize("name", [one for one in NAMES if one.rpartition("/")[2].rpartition("-")[0] not in DIMMED])
def test_every_text_can_be_read(name: str) -> None:
    faint = {(text, style) for text, style in texts(name) if contrast(style) < ENOUGH}
    assert not faint
