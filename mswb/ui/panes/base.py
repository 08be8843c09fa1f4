"""What the app asks of a pane."""

from __future__ import annotations

from pathlib import Path

from textual.containers import Container

from mswb.findings import Where
from mswb.ui.context import Context


class Pane(Container):
    """One of the four tabs. It is composed when it is first shown, and stays mounted.

    A hidden pane neither polls nor draws; its tasks go on, and their results are there when it is shown again.
    """

    DEFAULT_CSS = "Pane { height: 1fr; width: 1fr; }"

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.context = context

    def on_pane_shown(self) -> None:
        """The pane is in front now."""

    def on_pane_hidden(self) -> None:
        """Another pane is in front now, or the app ends."""

    def open_place(self, where: Where) -> bool:
        """Show a place; False when this pane can't."""
        return False

    def open_path(self, path: Path) -> bool:
        """Open a file or folder; False when this pane can't."""
        return False
