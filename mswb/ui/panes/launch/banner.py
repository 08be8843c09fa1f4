"""The row that says what is wrong with the open run."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from mswb.ui.panes.launch.words import Banner


class BannerRow(Widget):
    """What is wrong, in one row; a click goes to the line."""

    DEFAULT_CSS = """
    BannerRow { height: 1; width: 1fr; padding: 0 1; text-style: bold; display: none; }
    BannerRow.-error { background: $error-muted; color: $text-error; }
    BannerRow.-warning { background: $warning-muted; color: $text-warning; }
    """

    class Pressed(Message):
        """The banner was clicked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.banner: Banner | None = None

    def show(self, banner: Banner | None) -> None:
        """Say this, or go away when there is nothing to say."""
        if banner == self.banner:
            return
        self.banner = banner
        self.display = banner is not None
        if banner is not None:
            self.set_class(banner.colour == "error", "-error")
            self.set_class(banner.colour == "warning", "-warning")
        self.refresh()

    def render(self) -> Text:
        text = self.banner.row(self.content_size.width) if self.banner is not None else ""
        return Text(text, no_wrap=True, end="")

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Pressed())
