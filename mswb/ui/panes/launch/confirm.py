"""A small question over the pane: what exactly will be done, and whether to do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from mswb.ui import keymap
from mswb.ui.panes.launch.speech import word
from mswb.ui.screens.base import PacedModal


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        title: the question in one line.
        lines: what exactly it is about, a row each.
        answers: the possible answers besides no, each with the words of its key; the first one is what yes means.
    """

    title: str
    lines: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]


class Confirm(PacedModal[str]):
    """Asks a :class:`Question`; the result is the answer's name, empty for no."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("launch_confirm")
    DEFAULT_CSS = """
    Confirm { align: center middle; background: $background 60%; }
    Confirm > Vertical { width: 90%; max-width: 100; height: auto; max-height: 90%; background: $panel; padding: 1 2; }
    Confirm .title { text-style: bold; height: auto; }
    Confirm VerticalScroll { height: auto; max-height: 12; scrollbar-size-vertical: 1; }
    Confirm .lines { height: auto; color: $text-muted; }
    Confirm Horizontal { height: auto; }
    Confirm .answer { height: 1; margin-top: 1; width: auto; color: $text-accent; text-style: bold; }
    Confirm .answer:hover { background: $boost; }
    Confirm .answer.-later { margin-top: 0; }
    """

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.question = question

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self.question.title, classes="title", markup=False)
            with VerticalScroll(can_focus=False):
                yield Static("\n".join(self.question.lines), classes="lines", markup=False)
            for number, (name, words) in enumerate(self.question.answers):
                yield _Answer(name, words, later=number > 0)
            yield _Answer("", word("n, Esc: no"), later=True)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).can_focus = len(self.question.lines) > 12

    def action_yes(self) -> None:
        """The first answer."""
        self.dismiss(self.question.answers[0][0])

    def action_no(self) -> None:
        """None of the answers."""
        self.dismiss("")

    def action_answer(self, name: str) -> None:
        """The answer of this name; where a kill is all that is offered, a stop means that."""
        names = [known for known, _ in self.question.answers]
        if name in names:
            self.dismiss(name)
        elif name == "stop" and names == ["kill"]:
            self.dismiss("kill")


class _Answer(Static):
    """A row to click on."""

    def __init__(self, name: str, words: str, *, later: bool) -> None:
        super().__init__(words, classes="answer -later" if later else "answer", markup=False)
        self._answer = name

    def on_click(self) -> None:
        screen = self.screen
        if isinstance(screen, Confirm):
            screen.dismiss(self._answer)


def stop_question(
    run_id: str, members: Sequence[tuple[int, str]], *, stopping: bool = False, kill: bool = False
) -> Question:
    """Whether to end a run: its processes (pid and name) are shown.

    Args:
        stopping: it was asked to end already, so that a kill is all that is left.
        kill: it is to be killed without being asked to end first.
    """
    lines = tuple(f"pid {pid}  {name}" for pid, name in members) or (
        word("no process of it is left; its record gets an end"),
    )
    count = word("1 process") if len(members) == 1 else word("{count} processes", count=len(members))
    if stopping or kill:
        asked = "Run {id} is stopping; kill what is left, {count}?" if stopping else "Kill run {id} with its {count}?"
        return Question(word(asked, id=run_id, count=count), lines, (("kill", word("x, y: kill at once (SIGKILL)")),))
    stop = ("stop", word("x, y, Enter: stop (SIGINT, then SIGTERM, then SIGKILL)"))
    at_once = ("kill", word("X: kill them at once (SIGKILL)"))
    return Question(word("Stop run {id} with its {count}?", id=run_id, count=count), lines, (stop, at_once))


def adopt_question(title: str, pids: Sequence[tuple[int, str]]) -> Question:
    """Whether to watch over a run that mswb did not start."""
    lines = (
        *(f"pid {pid}  {name}" for pid, name in pids),
        "",
        word("adopting"),
    )
    return Question(word("Adopt {title}?", title=title), lines, (("adopt", word("y, Enter: adopt")),))
