"""Keys and clicks go to the app one by one, each when the one before has been dealt with, as in a shell.

Textual 8.2 hands every key at once to whatever has the focus at that moment. Of keys that come in one piece (typed
ahead of a busy app or over a slow link, or sent by a program) the later ones then reach a part that is about to lose
the focus: of Enter and the text of the next field, the text would end in the field before. Here a key waits until all
messages that the one before led to have come up to the app.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from textual.app import ScreenStackError
from textual.errors import NoWidget
from textual.events import Key, MouseDown, MouseEvent, MouseUp, Paste

if TYPE_CHECKING:
    from textual.app import App
    from textual.message import Message
    from textual.message_pump import MessagePump
    from textual.screen import Screen

IN_TURN = (Key, Paste, MouseDown, MouseUp)
"""What waits for its turn. The pointer's moves and the wheel change no focus and come in great numbers."""
PATIENCE_S = 10.0
"""How long a key may keep the next one waiting."""
CHECK_S = 0.02
"""Seconds between two looks whether a part that is waited for is still there."""
WAKING_S = 3.0
"""How long the first key waits at most for something to have the focus."""
AT_ONCE = frozenset({"ctrl+c", "ctrl+z"})
"""Keys that wait for nobody; what was typed before them is forgotten."""


class Typeahead:
    """The keys of one session that wait for their turn."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._waiting: deque[Message] = deque()
        self._work: asyncio.Task[None] | None = None
        self._until = 0.0
        self._awake = False

    @property
    def busy(self) -> bool:
        """Whether anything waits or is being dealt with."""
        return self._work is not None

    def put(self, message: Message) -> None:
        """Take one of :data:`IN_TURN` from the terminal; to be called on the event loop."""
        if isinstance(message, Key) and message.key in AT_ONCE:
            self._waiting.clear()
            self._app.post_message(message)
            return
        self._waiting.append(message)
        if self._work is None:
            self._work = asyncio.create_task(self._hand_over())

    async def _hand_over(self) -> None:
        try:
            await self._wake()
            while self._waiting:
                before = self._screen
                self._until = time.monotonic() + PATIENCE_S
                message = self._waiting.popleft()
                self._app.post_message(message)
                await self._settle(message, before)
        finally:
            self._work = None

    async def _wake(self) -> None:
        """Wait for the first pane: what is typed while the app starts is meant for it."""
        until = time.monotonic() + WAKING_S
        while not self._awake:
            screen = self._screen
            self._awake = (screen is not None and screen.focused is not None) or time.monotonic() > until
            if not self._awake:
                await asyncio.sleep(CHECK_S)

    async def _settle(self, message: Message, before: Screen[Any] | None) -> None:
        """Wait for the key, which bubbles up to the app, then for what its action sent, then for a screen it opened."""
        await self._done(self._app)
        for _ in ("the key", "what it led to"):
            part = self._receiver(message)
            while part is not None:
                await self._done(part)
                part = part._parent
        screen = self._screen
        if screen is not None and screen is not before:
            await self._done(screen)
            await self._done(self._app)

    def _receiver(self, message: Message) -> MessagePump | None:
        screen = self._screen
        if screen is None:
            return None
        if isinstance(message, MouseEvent):
            try:
                return screen.get_widget_at(message.x, message.y)[0]
            except NoWidget:
                return screen
        return screen.focused or screen

    async def _done(self, part: MessagePump) -> None:
        """Wait until a part has done all that it was sent until now."""
        reached = asyncio.Event()
        if not part.call_later(reached.set):
            return
        while not reached.is_set() and part.is_running and time.monotonic() < self._until:
            try:
                await asyncio.wait_for(reached.wait(), CHECK_S)
            except asyncio.TimeoutError:
                continue

    @property
    def _screen(self) -> Screen[Any] | None:
        try:
            return self._app.screen
        except ScreenStackError:  # at the very start and end
            return None
