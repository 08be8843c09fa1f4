"""How far a rank is: joining the cluster, compiling, or training at step N.

What step lines look like is data: ``progress.toml``, read by :mod:`mswb.launch.forms`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mswb.launch.forms import BUILT_IN, Forms, Step
from mswb.launch.graphs import MAX_BUILDS, GraphReader, is_jit_action
from mswb.launch.logs import Block

__all__ = ["STEP_FORMS", "Phase", "Progress", "ProgressReader", "Step", "parse_step", "progress_of", "steps_of"]

STEP_FORMS = BUILT_IN.steps
Phase = Literal["starting", "cluster", "compiling", "running"]

_CLUSTER = re.compile(r"Topology build timed out\., retry\((\d+)/(\d+)\)")
_REGISTERED = re.compile(r"Currently registered node number: (\d+), expected node number: (\d+)")
ACTIONS = 25
"""Actions of one compilation in MindSpore 2.10; other versions differ by a few."""
JIT_ACTIONS = 38
"""The same for what ``@jit`` compiles."""
_COMPILING = ("Status record: ", "Start compiling")
_LAST_ACTIONS = frozenset({"task_emit", "execute"})
_READY = re.compile(r"Cluster is successfully initialized\.|This node \S+ rank id: ")

MARKS = (
    r"Status record: |Start compiling|Extra status record|/jit_executor_py\.cc:\d+\] .{0,40}Pass |\[GRAPH_BUILD\]"
    r"|Topology build timed out|Currently registered node number|Cluster is successfully|This node \S+ rank id: "
)
"""A pattern of RE2 for the lines about cluster and compiler, to find them in much else."""


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
    """The step that one line tells of by the built-in forms; None for any other line."""
    return BUILT_IN.step(text, number, time)


def steps_of(blocks: Iterable[Block], forms: Forms = BUILT_IN) -> Iterable[Step]:
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
            step = forms.step(text, line.number, record.time if record is not None else None)
            if step is not None:
                yield step


class ProgressReader:
    """Knows the progress after each block that it is fed.

    Args:
        keep: graph builds that are remembered; the progress needs the last one only.
    """

    def __init__(self, forms: Forms = BUILT_IN, *, keep: int = MAX_BUILDS) -> None:
        self.progress = Progress("starting", 1)
        self._forms = forms
        self._graphs = GraphReader(keep=keep)

    def feed(self, block: Block) -> None:
        """Take the next block of a log."""
        self._graphs.feed(block)
        for step in steps_of((block,), self._forms):
            self.take_step(step)
        if block.record is None:
            return
        record = block.record
        if match := _CLUSTER.search(record.text) or _REGISTERED.search(record.text):
            done, total = int(match.group(1)), int(match.group(2))
            self.progress = Progress("cluster", block.number, done, total, time=record.time)
        elif _READY.match(record.text):
            self.progress = Progress("starting", block.number, time=record.time)
        elif record.module == "PIPELINE" and (record.text.startswith(_COMPILING) or is_jit_action(record)):
            self.progress = self._compiling(block.number, record.time)

    def take_step(self, step: Step) -> None:
        """The rank was at this step, unless its words only recall an earlier one."""
        if step.recalls(self.progress.step):
            return
        self.progress = Progress("running", step.number, step.step, step.steps, "", step, step.time)

    def _compiling(self, number: int, time: int) -> Progress:
        build = self._graphs.latest
        if build is None:
            return self.progress
        running = build.open_phase
        if running is None and build.phases and build.phases[-1].name in _LAST_ACTIONS:
            return Progress("running", number, time=time)
        name = running.name if running is not None else build.network or ""
        total = JIT_ACTIONS if build.jit else ACTIONS
        return Progress("compiling", number, len(build.phases), total, name, time=time)


def progress_of(blocks: Iterable[Block]) -> Progress:
    """How far the rank is whose log ``blocks`` are."""
    reader = ProgressReader()
    for block in blocks:
        reader.feed(block)
    return reader.progress
