"""What parts of the workbench say to each other. They bubble up to the app, which knows who answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from mswb.findings import Finding, Where

if TYPE_CHECKING:  # they load much, and the first frame needs none of it
    from mswb.env.devices.history import History
    from mswb.env.devices.sample import Sample
    from mswb.jobs.runs import Run
    from mswb.launch.diagnose import Diagnosis


class ShowFindings(Message):
    """Open the findings view over the pane, with the cursor on the finding of index ``first``."""

    def __init__(self, findings: Sequence[Finding], title: str, first: int = 0) -> None:
        super().__init__()
        self.findings = tuple(findings)
        self.title = title
        self.first = first


class OpenPlace(Message):
    """Show the place of a finding: a log line, a file offset."""

    def __init__(self, where: Where) -> None:
        super().__init__()
        self.where = where


class OpenPath(Message):
    """Open a file or folder in the pane that its content belongs to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path


class Copy(Message):
    """Put a text on the clipboard; ``what`` names it in the answer ("line", "finding")."""

    def __init__(self, text: str, what: str) -> None:
        super().__init__()
        self.text = text
        self.what = what


class RunFinished(Message):
    """A run that is watched has ended, and was diagnosed."""

    def __init__(self, run: Run, diagnosis: Diagnosis) -> None:
        super().__init__()
        self.run = run
        self.diagnosis = diagnosis


class Sampled(Message, bubble=False):
    """The counters of this machine were read; the screen in front gets it."""

    def __init__(self, sample: Sample, history: History) -> None:
        super().__init__()
        self.sample = sample
        self.history = history


class TasksChanged(Message):
    """A task started, went on or ended."""
