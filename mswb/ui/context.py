"""What every pane and screen is given: settings, the folder, the tasks, and how this terminal wants it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mswb.settings import Settings
from mswb.ui.tasks import Tasks


@dataclass(frozen=True, slots=True)
class Options:
    """How this session runs. ``slow_link``: redraw at 1 Hz at most and send little; ``read_only``: change nothing;
    ``counters``: sample devices and host once a second; ``theme``: the one to use, whatever the settings say."""

    ascii: bool = False
    slow_link: bool = False
    read_only: bool = False
    mouse: bool = True
    counters: bool = True
    theme: str = ""

    @property
    def redraw_s(self) -> float:
        """Least seconds between two drawings of something that lives."""
        return 1.0 if self.slow_link else 0.25


@dataclass(frozen=True, slots=True)
class Context:
    """``folder`` is the project; ``target`` is what the command line asked to open, if anything."""

    settings: Settings
    folder: Path
    tasks: Tasks
    options: Options = Options()
    target: Path | None = None
