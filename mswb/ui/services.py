"""What goes on beside the panes: the training Python's name, counters, theme files, the end of runs."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mswb.files.safety import printable
from mswb.findings import language
from mswb.ui import clip, counters, driver, notify, themes
from mswb.ui.messages import Sampled
from mswb.ui.tasks import Ticket

if TYPE_CHECKING:
    from textual.app import App
    from textual.notifications import SeverityLevel

    from mswb.env.devices.sample import Sample
    from mswb.env.interpreter import Interpreter
    from mswb.jobs.runs import Run
    from mswb.launch.diagnose import Diagnosis
    from mswb.ui.app import Workbench


_SEVERITIES: Mapping[str, SeverityLevel] = {"succeeded": "information", "stopped": "warning", "ended": "warning"}
"""How the toast about the end of a run looks."""


SETTLED_S = 3.0
"""Seconds after the start when what is loaded then stays for the session."""


def start_services(app: Workbench) -> None:
    """Start what the header shows and what watches the theme files."""
    app.set_timer(SETTLED_S, lambda: settle_heap(app))
    _look_for_interpreter(app)
    if app.context.options.counters:
        _count(app)
    places = themes.folders(app.context.settings)
    app.context.tasks.start(
        "Themes",
        lambda ticket: themes.watch(places, lambda: ticket.send(None), ticket.cancelled),
        lambda done: None,
        received=lambda value: app.reload_themes(),
        quiet=True,
    )


def settle_heap(app: App[Any]) -> None:
    """Spare the collector the objects that are there now: looking at all modules takes it 60 ms, in which no key is
    answered. Not in tests, which have many sessions in one process."""
    if not app.is_headless:
        gc.freeze()


def interpreter_words(interpreter: Interpreter) -> str:
    """``Python 3.11.9, MindSpore 2.10.0``, or that it has none."""
    has = f"MindSpore {interpreter.mindspore_version}" if interpreter.mindspore_version else "no MindSpore"
    return printable(f"Python {interpreter.version}, {has}")


def interpreter_short(interpreter: Interpreter) -> str:
    """The same for a narrow terminal: ``py 3.11 ms 2.10``."""

    def brief(version: str) -> str:
        return ".".join(version.split(".")[:2])

    has = f"ms {brief(interpreter.mindspore_version)}" if interpreter.mindspore_version else "no ms"
    return printable(f"py {brief(interpreter.version)} {has}")


def _look_for_interpreter(app: Workbench) -> None:
    settings = app.context.settings

    def work(ticket: Ticket) -> tuple[str, str]:
        from mswb.env.interpreter import find_interpreter

        found = find_interpreter(None, settings, os.environ)
        return interpreter_words(found), interpreter_short(found)

    def show(words: tuple[str, str]) -> None:
        app.show_header(interpreter=words[0], interpreter_short=words[1])

    none = ("no training Python", "no Python")
    app.context.tasks.start("Training Python", work, show, failed=lambda finding: show(none), quiet=True)


def _count(app: Workbench) -> None:
    from mswb.env.devices.history import History
    from mswb.ui.widgets.counters import counters_text

    history = app.history = History()

    def show(sample: Sample) -> None:
        history.add(sample)
        app.sample = sample
        for screen in app.screen_stack[-1:]:
            screen.post_message(Sampled(sample, history))
        app.show_header(counters=counters_text(sample, history, app.size.width // 2))

    slow = app.context.options.slow_link
    period_s = counters.SLOW_PERIOD_S if slow else counters.PERIOD_S
    counters.start(app.context.tasks, show, str(app.context.folder), period_s)


def copy(app: Workbench, text: str, what: str) -> None:
    """Put a text on the terminal's clipboard and into the file beside the state."""
    sequence = clip.osc52(text)
    if sequence is not None:
        driver.send(app, sequence)
    app.context.tasks.start(
        "Copy",
        lambda ticket: clip.keep(app.context.settings, text),
        lambda path: app.notify(copied_text(what, str(path), sequence is not None), markup=False),
        quiet=True,
    )


def copied_text(what: str, path: str, on_clipboard: bool) -> str:
    """What is said of a copy; ``what`` is a thing ("row") or a count of them ("3 rows")."""
    if language() == "zh":
        return f"已将{what}复制到{'剪贴板和' if on_clipboard else '（剪贴板放不下）'} {path}"
    named = what if what[:1].isdigit() else f"the {what}"
    return f"Copied {named} {'to the clipboard and' if on_clipboard else '(too long for the clipboard)'} to {path}"


def tell_end(app: Workbench, run: Run, diagnosis: Diagnosis) -> None:
    """A run has ended: a toast, the bell, OSC 9, and the user's command."""
    root = diagnosis.findings[diagnosis.root].title if diagnosis.root is not None else None
    how = end_word(run, diagnosis)
    title = notify.title_of(run.id, how, root)
    app.notify(title, severity=_SEVERITIES.get(how, "error"), markup=False)
    app.bell()
    driver.send(app, notify.osc9(title))
    command = notify.command_of(app.context.settings.tables.get("notify", {}))
    if command is not None:
        app.context.tasks.start(
            "Notify",
            lambda ticket: notify.run_command(command, _report(diagnosis), os.environ, title),
            lambda done: None,
        )


def end_word(run: Run, diagnosis: Diagnosis) -> str:
    """How a run ended: by its logs, and where these can't say, by its record (``stopped``, say)."""
    from mswb.jobs.runs import run_state

    return run_state(run) if diagnosis.verdict == "unknown" else diagnosis.verdict


def _report(diagnosis: Diagnosis) -> Mapping[str, Any]:
    from mswb.launch.diagnose import to_report

    return to_report(diagnosis)
