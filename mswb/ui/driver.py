"""Textual's Linux driver with five habits of ours: it notices that the terminal has gone, asks the terminal how far
it is behind, lets each key and click wait for the one before, believes the terminal about its size rather than COLUMNS
and LINES (which tmux, sudo or a script may have handed down), and sends ASCII only where nothing else can be shown.

Textual 8.2's own input thread spins at full speed once its terminal is closed, if SIGHUP is ignored.
"""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Callable
from typing import Any

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from mswb.files.turns import TURN
from mswb.ui.pace import Pace
from mswb.ui.terminal import to_ascii
from mswb.ui.typeahead import IN_TURN, Typeahead

READ_BYTES = 4096


def driver_class(pace: Pace, *, ascii_only: bool, gone: Callable[[], None]) -> type[LinuxDriver]:
    """The driver for one session.

    Args:
        gone: called from the input thread when the terminal has hung up.
    """

    class TerminalDriver(LinuxDriver):
        """See the module."""

        _gone = False

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self._typeahead = Typeahead(self._app)

        def write(self, data: str) -> None:
            if self._gone:
                return
            text = to_ascii(data) if ascii_only else data
            pace.sent_bytes += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
            super().write(text)

        def flush(self) -> None:
            super().flush()

        def _get_terminal_size(self) -> tuple[int, int]:
            try:
                columns, rows = os.get_terminal_size(self.fileno)
            except OSError:
                return super()._get_terminal_size()
            return (columns, rows) if columns and rows else super()._get_terminal_size()

        def process_message(self, message: Message) -> None:
            if isinstance(message, events.CursorPosition):
                pace.answered(message.x)
            else:
                super().process_message(message)

        def send_message(self, message: Message) -> None:
            if isinstance(message, IN_TURN):
                TURN.hold()
                self._loop.call_soon_threadsafe(self._typeahead.put, message)
            else:
                super().send_message(message)

        def run_input_thread(self) -> None:
            parser, decode = XTermParser(self._debug), getincrementaldecoder("utf-8")("replace").decode
            with selectors.DefaultSelector() as selector:
                selector.register(self.fileno, selectors.EVENT_READ)
                while not self.exit_event.is_set():
                    if selector.select(0.1):
                        data = _read(self.fileno)
                        if not data:
                            self._hang_up()
                            return
                        for event in parser.feed(decode(data)):
                            self.process_message(event)
                    for event in parser.tick():
                        self.process_message(event)

        def stop_application_mode(self) -> None:
            if not self._gone:
                pace.settle(0.5)
            super().stop_application_mode()

        def _hang_up(self) -> None:
            self._gone = True
            gone()

    return TerminalDriver


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, READ_BYTES)
    except OSError:  # EIO: the other side of the pseudo terminal was closed
        return b""


def send(app: Any, text: str) -> None:
    """Write a control sequence to the terminal, if there is one."""
    driver = app._driver
    if text and driver is not None and not app.is_headless:
        driver.write(text)
