"""What all our screens share: they draw at the pace of the terminal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from textual.screen import ModalScreen, Screen

from mswb.files.turns import TURN
from mswb.ui import driver
from mswb.ui.frames import FrameCompositor
from mswb.ui.pace import Pace

if TYPE_CHECKING:
    _Base = Screen[Any]
else:
    _Base = object

Result = TypeVar("Result")
GATHER_S = 0.002
"""How long a frame waits for what belongs to it, such as a moved cursor for the row that tells where it is."""


class Paced(_Base):
    """Puts the next frame off while the terminal has not taken the last one; what changes meanwhile is drawn at once
    with it. Textual's timer asks again by itself."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._compositor = FrameCompositor()
        self._gathering: asyncio.TimerHandle | None = None

    def _on_timer_update(self) -> None:
        if self._pace is None or self.app.is_headless:
            super()._on_timer_update()
        elif self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(GATHER_S, self._draw_frame)

    def _draw_frame(self) -> None:
        self._gathering = None
        pace = self._pace
        if self.is_running and (pace is None or pace.ready()):
            super()._on_timer_update()

    def _compositor_refresh(self) -> None:
        if self._covered:
            # Textual would draw the whole screen in front for each change behind it. Coming back draws everything.
            self._compositor._dirty_regions.clear()
            self._dirty_widgets.clear()
            return
        pace = self._pace
        before = pace.sent_bytes if pace is not None else 0
        super()._compositor_refresh()
        if pace is not None and pace.sent_bytes > before:
            driver.send(self.app, pace.frame())
            TURN.give_back()

    @property
    def _covered(self) -> bool:
        """Whether a screen that hides everything is in front."""
        front = self.app.screen
        return front is not self and front.styles.background.a == 1

    @property
    def _pace(self) -> Pace | None:
        """None in a bare app, as tests use it."""
        return getattr(self.app, "pace", None)


class PacedScreen(Paced, Screen[Result]):
    """A full screen."""


class PacedModal(Paced, ModalScreen[Result]):
    """A screen that lies over another one."""
