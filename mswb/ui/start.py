"""``mswb ui``: is this a terminal that can be drawn on, and with what options; then the workbench."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mswb.findings import stop
from mswb.settings import Settings, load_settings
from mswb.ui import terminal
from mswb.ui.context import Options

if TYPE_CHECKING:
    from mswb.ui.app import Workbench

SLOW_ESCAPE_MS = "400"
"""On a slow link an arrow key may come in two parts: how long to wait for the second."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("path", required=False)
@click.option(
    "--theme",
    default="",
    metavar="NAME",
    help="Colours: dark, light, high-contrast, colour-blind, ansi16, or a theme of yours.",
)
@click.option("--slow-link", is_flag=True, help="Send little: redraw once a second at most, below 10 KB/s.")
@click.option("--ascii/--unicode", "ascii_only", default=None, help="Draw with ASCII only (found from the locale).")
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal, for selecting text.")
@click.option("--no-counters", is_flag=True, help="No live counters in the top row.")
@click.option("--read-only", is_flag=True, help="Start, stop and change nothing.")
def ui(
    path: str | None,
    theme: str,
    slow_link: bool,
    ascii_only: bool | None,
    no_mouse: bool,
    no_counters: bool,
    read_only: bool,
) -> int:
    """Open the workbench here, or on PATH: a folder, a log folder of any run, a run's id, a profile, a model."""
    settings = load_settings()
    options = Options(
        ascii=terminal.wants_ascii(os.environ) if ascii_only is None else ascii_only,
        slow_link=slow_link,
        read_only=read_only,
        mouse=not no_mouse,
        counters=not no_counters,
        theme=theme,
    )
    return open_workbench(settings, options, path)


def open_workbench(settings: Settings, options: Options, path: str | None = None) -> int:
    """Run the workbench until it is left; returns the exit code.

    Raises:
        MswbError: ``terminal-unfit``, ``theme-unknown``, ``path-missing`` and the like; nothing was drawn.
    """
    problem = terminal.unfit(os.environ, terminal.ttys())
    if problem is not None:
        raise problem
    folder, target = _place(settings, path)
    if options.slow_link:
        os.environ.setdefault("ESCDELAY", SLOW_ESCAPE_MS)
    _check_theme(settings, options)
    from mswb.ui.app import Workbench

    app = Workbench(settings, folder, target=target, options=options)
    return asyncio.run(_session(app, options)) or 0


async def _session(app: Workbench, options: Options) -> int | None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGHUP, signal.SIGTERM):
        loop.add_signal_handler(number, app.leave)
    return await app.run_async(mouse=options.mouse)


def _place(settings: Settings, path: str | None) -> tuple[Path, Path | None]:
    """The project folder, and what to open in it."""
    if path is None:
        return Path.cwd(), None
    from mswb.flows.open_path import resolve_logs

    found = resolve_logs(path, settings).absolute()
    return (found, None) if _is_project(found) else (Path.cwd(), found)


def _is_project(path: Path) -> bool:
    """Whether to work in this folder rather than to open it: it holds more than the logs of one run."""
    from mswb.flows.open_path import kind_of

    return path.is_dir() and kind_of(path) == "folder"


def _check_theme(settings: Settings, options: Options) -> None:
    wanted = options.theme or settings["theme"]
    if not wanted:
        return
    from mswb.ui import themes

    places = themes.folders(settings)
    known = themes.load_themes(places).themes
    if wanted not in known:
        raise stop(
            "theme-unknown", values={"name": wanted, "known": ", ".join(sorted(known)), "folder": str(places[-1])}
        )
