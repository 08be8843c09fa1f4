"""How far a rank is: joining the cluster, compiling, or training at step N; and the step and loss lines of scripts.

The forms of step lines are data (:data:`STEP_FORMS`): MindSpore's LossMonitor and TimeMonitor, MindFormers' callback,
and the prints that people write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mswb.launch.graphs import GraphReader
from mswb.launch.logs import Block

Phase = Literal["starting", "cluster", "compiling", "running"]

_NUMBER = r"(?:[-+]?(?:\d{1,20}\.?\d{0,20}(?:[eE][-+]?\d{1,4})?|nan|inf(?:inity)?))"
_GAP = r"[^\n]{0,120}?"


@dataclass(frozen=True, slots=True)
class StepForm:
    """A form of line that tells of a step. Its groups: epoch, epochs, step, steps, loss, step_ms."""

    name: str
    pattern: re.Pattern[str]
    sample: str


def _form(name: str, pattern: str, sample: str) -> StepForm:
    return StepForm(name, re.compile(pattern, re.IGNORECASE), sample)


STEP_FORMS: tuple[StepForm, ...] = (
    _form(
        "mindformers",
        r"epoch:\[ *(?P<epoch>\d+)/ *(?P<epochs>\d+)\], *step:\[ *(?P<step>\d+)/ *(?P<steps>\d+)\], *"
        rf"loss: *\[? *(?P<loss>{_NUMBER})(?:{_GAP}per_step_time: *(?P<step_ms>\d+(?:\.\d+)?) *ms)?",
        "{ Epoch:[  1/  2], step:[   20/  100], loss: 10.512, per_step_time: 1234ms, lr: 1e-05, overflow cond: False",
    ),
    _form(
        "loss-monitor",
        rf"\bepoch: (?P<epoch>\d+) step: (?P<step>\d+), loss is (?P<loss>{_NUMBER})\b",
        "epoch: 1 step: 3, loss is 0.5",
    ),
    _form(
        "time-monitor",
        r"\bepoch time: *[\d.]+ ms, per step time: *(?P<step_ms>\d+(?:\.\d+)?) ms",
        "Train epoch time: 5012.345 ms, per step time: 50.123 ms",
    ),
    _form(
        "step",
        rf"(?:\bepochs?\W{{0,3}}(?P<epoch>\d+)(?:\s*/\s*(?P<epochs>\d+))?{_GAP})?"
        rf"\b(?:global[ _]?)?(?:steps?|iter(?:ation)?|batch)\W{{0,3}}(?P<step>\d+)(?:\s*(?:/|of)\s*(?P<steps>\d+))?"
        rf"(?:{_GAP}\bloss[^\w\n+-]{{0,3}}(?:is )?(?P<loss>{_NUMBER})(?![\w.]))?",
        "epoch 2 step 5/10 loss 7.87",
    ),
    _form(
        "bar",
        r"(?:\bepoch\W{0,3}(?P<epoch>\d+)(?:/(?P<epochs>\d+))?[^\n|]{0,80}?)?\d{1,3}%\|[^|\n]{0,200}\| *"
        rf"(?P<step>\d+)/(?P<steps>\d+)(?:{_GAP}\bloss[^\w\n+-]{{0,3}}(?P<loss>{_NUMBER})(?![\w.]))?",
        "Epoch 1/3:  40%|####      | 4/10 [00:02<00:03, 1.9it/s, loss=0.41]",
    ),
    _form(
        "epoch",
        rf"\bepochs?\W{{0,3}}(?P<epoch>\d+)(?:\s*/\s*(?P<epochs>\d+))?{_GAP}"
        rf"\bloss[^\w\n+-]{{0,3}}(?:is )?(?P<loss>{_NUMBER})(?![\w.])",
        "epoch 3/10, loss: nan",
    ),
)
_MAYBE = re.compile(r"(?i)step|epoch|iter|batch|%\|")
_CLUSTER = re.compile(r"Topology build timed out\., retry\((\d+)/(\d+)\)")
_REGISTERED = re.compile(r"Currently registered node number: (\d+), expected node number: (\d+)")
MAX_STEP_LINE = 600
"""Characters of a line in which a step is looked for."""
ACTIONS = 25
"""Actions of one compilation in MindSpore 2.10; other versions differ by a few."""
_LAST_ACTIONS = frozenset({"task_emit", "execute"})
_READY = re.compile(r"Cluster is successfully initialized\.|This node \S+ rank id: ")


@dataclass(frozen=True, slots=True)
class Step:
    """What a step line says; what it doesn't is None. ``loss`` may be NaN or infinite; ``number`` is its line."""

    number: int
    step: int | None
    steps: int | None
    epoch: int | None
    epochs: int | None
    loss: float | None
    step_ms: float | None
    time: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The last thing known of a rank. ``done`` of ``total``: cluster tries or nodes, actions, or steps.

    ``text`` is the compiler's action and the network for "compiling"; ``number`` is the line that says so.
    """

    phase: Phase
    number: int
    done: int | None = None
    total: int | None = None
    text: str = ""
    step: Step | None = None
    time: int | None = None


def parse_step(text: str, number: int = 0, time: int | None = None) -> Step | None:
    """The step that one line tells of; None for any other line. Only its first characters are looked at."""
    if not _MAYBE.search(text, 0, MAX_STEP_LINE):
        return None
    text = text[:MAX_STEP_LINE]
    for form in STEP_FORMS:
        match = form.pattern.search(text)
        if match is not None:
            found = match.groupdict()
            return Step(
                number,
                _whole(found.get("step")),
                _whole(found.get("steps")),
                _whole(found.get("epoch")),
                _whole(found.get("epochs")),
                _real(found.get("loss")),
                _real(found.get("step_ms")),
                time,
            )
    return None


def steps_of(blocks: Iterable[Block]) -> Iterable[Step]:
    """The steps that free text and records of Python loggers tell of, in the order of the log."""
    for block in blocks:
        if block.kind not in ("text", "record"):
            continue
        record = block.record
        for line in block.lines:
            is_head = record is not None and line is block.lines[0]
            if is_head and record is not None and not record.from_python:
                continue
            text = record.text if is_head and record is not None else line.text
            step = parse_step(text, line.number, record.time if record is not None else None)
            if step is not None:
                yield step


class ProgressReader:
    """Knows the progress after each block that it is fed."""

    def __init__(self) -> None:
        self.progress = Progress("starting", 1)
        self._graphs = GraphReader()

    def feed(self, block: Block) -> None:
        """Take the next block of a log."""
        self._graphs.feed(block)
        for step in steps_of((block,)):
            self.progress = Progress("running", step.number, step.step, step.steps, "", step, step.time)
        if block.record is None:
            return
        record = block.record
        if match := _CLUSTER.search(record.text) or _REGISTERED.search(record.text):
            done, total = int(match.group(1)), int(match.group(2))
            self.progress = Progress("cluster", block.number, done, total, time=record.time)
        elif _READY.match(record.text):
            self.progress = Progress("starting", block.number, time=record.time)
        elif record.module == "PIPELINE" and record.text.startswith(("Status record: ", "Start compiling")):
            self.progress = self._compiling(block.number, record.time)

    def _compiling(self, number: int, time: int) -> Progress:
        build = self._graphs.latest
        if build is None:
            return self.progress
        running = build.open_phase
        if running is None and build.phases and build.phases[-1].name in _LAST_ACTIONS:
            return Progress("running", number, time=time)
        name = running.name if running is not None else build.network or ""
        return Progress("compiling", number, len(build.phases), ACTIONS, name, time=time)


def progress_of(blocks: Iterable[Block]) -> Progress:
    """How far the rank is whose log ``blocks`` are."""
    reader = ProgressReader()
    for block in blocks:
        reader.feed(block)
    return reader.progress


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) < 20 else None


def _real(text: str | None) -> float | None:
    return float(text) if text is not None else None
