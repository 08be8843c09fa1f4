"""What of a changed region is sent: only its own cells.

Textual 8.2 cuts the line of a region at its right end only, and sends everything left of it in the same widget again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor

if TYPE_CHECKING:
    from rich.console import RenderableType


class CroppedUpdate(ChopsUpdate):
    """Changed spans of the screen, cut at both ends."""

    def render_segments(self, console: Console) -> str:
        """The text for the terminal."""
        parts: list[str] = []
        for y, first, last in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                start, stop = max(x, first), min(end, last)
                if strip is not None and start < stop:
                    parts.append(Control.move_to(start, y).segment.text)
                    parts.append(strip.crop(start - x, stop - x).render(console))
        return "".join(parts)


class FrameCompositor(Compositor):
    """Textual's compositor with updates that are cut at both ends."""

    def render_update(self, *arguments: Any, **named: Any) -> RenderableType | None:
        """What has to be drawn now."""
        update = super().render_update(*arguments, **named)
        if isinstance(update, ChopsUpdate):
            return CroppedUpdate(update.chops, update.spans, update.chop_ends)
        return update
