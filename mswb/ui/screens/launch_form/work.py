"""What the launch form has done beside the event loop: looking at this host, starting, completing paths."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mswb.files.complete import complete, folders_only, scripts_only
from mswb.files.safety import printable
from mswb.findings import MswbError
from mswb.launch import form
from mswb.launch.form import SCRIPT
from mswb.launch.presets import Launch, Launches
from mswb.settings import Settings
from mswb.ui.screens.launch_form.state import Checked
from mswb.ui.screens.launch_form.text import say
from mswb.ui.screens.pick import Row

if TYPE_CHECKING:
    from mswb.jobs.runs import Run


class Offer(NamedTuple):
    """How far a text is certain, and what it may become: rows to show and the text of each."""

    text: str
    rows: tuple[Row, ...]
    values: tuple[str, ...]


class Entry(NamedTuple):
    """A preset or an earlier launch as the list shows it; ``preset`` is its name, or nothing."""

    row: Row
    launch: Launch
    preset: str


def look(arguments: tuple[str, ...], settings: Settings, folder: Path) -> Checked:
    """What these arguments would do; nothing starts."""
    from mswb.flows.run import prepare, processes  # they load much

    try:
        prepared = prepare(arguments, settings, cwd=str(folder), checked=True)
    except MswbError as error:
        return Checked(arguments, refused=error.finding)
    return Checked(arguments, prepared, processes(prepared))


def start(arguments: tuple[str, ...], settings: Settings, folder: Path) -> Run | Checked:
    """Start the launch; what stands in its way comes back instead.

    Raises:
        MswbError: what can't be understood, a folder that can't be made, a supervisor that does not come up.
    """
    from mswb.flows import run

    prepared = run.prepare(arguments, settings, cwd=str(folder))
    if prepared.blocked:
        return Checked(arguments, prepared, run.processes(prepared))
    return run.start(prepared, settings)


def candidates(name: str, text: str, settings: Settings, folder: Path, *, offer: bool) -> Offer:
    """What the text of a path field may become; of the interpreter, when a list is wanted, those that are known."""
    if offer and form.fields().get(name) is not None and form.fields()[name].kind == "program":
        return _interpreters(settings, folder)
    found = complete("" if offer and name == SCRIPT else text, folder, _wanted(name))
    scripts = [one for one in found.candidates if not one.endswith("/")]
    if name == SCRIPT and not text and len(scripts) == 1 and not offer:
        return Offer(scripts[0], (Row(printable(scripts[0])),), (scripts[0],))  # the folders beside it are not meant
    return Offer(found.text, tuple(Row(printable(one)) for one in found.candidates), found.candidates)


def entries(launches: Launches, now: float, *, changeable: bool = True) -> list[Entry]:
    """The rows of presets, then of the history with the age of each."""
    named = [
        Entry(
            _row(_origin(one.origin), f"{one.name}: ", one.launch, deletable=changeable and one.origin == "user"),
            one.launch,
            one.name,
        )
        for one in launches.presets
    ]
    return named + [Entry(_row(age(now - one.time), "", one), one, "") for one in launches.history]


def age(seconds: float) -> str:
    """How long ago, in one number: ``3 min``, ``2 h``, ``5 d``."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return say("now", "刚才")


def _row(kind: str, name: str, launch: Launch, *, deletable: bool = False) -> Row:
    line = shlex.join(launch.arguments)
    hidden = ", ".join(launch.withheld)
    detail = printable(f"mswb run {line}", 600)
    if hidden:
        detail += "\n" + printable(say(f"without the values of {hidden}", f"不含 {hidden} 的值"))
    return Row(printable(f" {kind:<8} {name}{line}"), detail, deletable)


def _origin(origin: str) -> str:
    return say("preset", "预设") if origin == "user" else say("project", "项目")


def _wanted(name: str) -> Callable[[str], bool]:
    if name == SCRIPT:
        return scripts_only
    return folders_only if form.fields()[name].kind == "folder" else lambda file: True


def _interpreters(settings: Settings, folder: Path) -> Offer:
    from mswb.env.interpreter import candidates as known
    from mswb.env.interpreter import probe

    rows = []
    found = known(settings, os.environ, folder)
    for one in found:
        try:
            about = probe(one, settings, os.environ)
        except MswbError as error:
            words = str(error.finding.values.get("reason", error.finding.title))
        else:
            version = about.mindspore_version
            words = f"Python {about.version}, " + (f"MindSpore {version}" if version else "no MindSpore")
        rows.append(Row(printable(f" {one.path}  {words}"), printable(one.source)))
    return Offer("", tuple(rows), tuple(one.path for one in found))
