"""GRAPH_BUILD: what the graph compiler did, from its real records or from lines in the article's form.

Real form (GLOG_v=1, or MS_SUBMODULE_LOG_v={PIPELINE:1}): about 25 actions, each with ``Status record: start X
action.`` and ``end X action.``, then the number of graphs and nodes; inside an action, passes. What ``@jit`` compiles
tells its 38 actions as ``Pass X start ...`` and ``Pass X end.`` from a source file of its own. Article's form:
``[GRAPH_BUILD] GraphId: 12345, NodeCount: 287, InputShapes: [(32,3)]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mswb.launch.logs import Block
from mswb.launch.records import Record

MARK = "[GRAPH_BUILD]"
MAX_NAMES = 2000
"""Phases, passes and shapes kept of one build; a healthy one has under a hundred."""
MAX_BUILDS = 10_000

_STARTED = re.compile(r"Start compiling, phase: (\S+)")
_NETWORK = re.compile(r"Start compiling '([^']{1,1000})'")
_ACTION = re.compile(r"Status record: (start|end) (\S+) action\.")
_COUNTS = re.compile(r"Extra status record: total func graphs: (\d+), total nodes: (\d+)")
_PASS = re.compile(r"Pass (\S+) (start \.\.\.|end\.)")
_JIT_SOURCE = "/jit_executor_py.cc"
_GRAPH = re.compile(r"Status record: (start|end) compile function graph: (\S+?)\.?$")
_ARGUMENT = re.compile(r"Arg\[\d+\]: AbstractTensor\(shape: (\([\d, -]*\))")


@dataclass(frozen=True, slots=True)
class Phase:
    """One action of the compiler. Times are in microseconds like a record's; ``end`` is None while it runs."""

    name: str
    start: int
    end: int | None = None
    func_graphs: int | None = None
    nodes: int | None = None

    @property
    def duration_us(self) -> int | None:
        return None if self.end is None else self.end - self.start


@dataclass(frozen=True, slots=True)
class GraphBuild:
    """One compilation. ``number`` is the line it begins at; ``optimizers`` are the passes that ran, in order.

    ``failed_pass`` and ``reason`` are set when it failed: by the article's words, or by an exception in mid-action.
    ``open_pass`` is the pass that has begun and not ended. ``jit``: compiled by ``@jit``, whose actions are others.
    """

    number: int
    pid: int | None = None
    graph_id: str | None = None
    network: str | None = None
    node_count: int | None = None
    input_shapes: tuple[str, ...] = ()
    optimizers: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()
    open_pass: str | None = None
    failed_pass: str | None = None
    reason: str | None = None
    jit: bool = False

    @property
    def open_phase(self) -> Phase | None:
        """The action that has begun and not ended: where it is, hangs, or failed."""
        return next((phase for phase in reversed(self.phases) if phase.end is None), None)

    @property
    def duration_us(self) -> int | None:
        """From the first action's start to the last end seen."""
        ends = [phase.end for phase in self.phases if phase.end is not None]
        return max(ends) - self.phases[0].start if ends else None


@dataclass(slots=True)
class _Build:
    """A build under construction."""

    number: int
    pid: int | None
    graph_id: str | None = None
    network: str | None = None
    node_count: int | None = None
    input_shapes: list[str] = field(default_factory=list)
    optimizers: list[str] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    open_passes: list[str] = field(default_factory=list)
    failed_pass: str | None = None
    reason: str | None = None
    jit: bool = False

    def frozen(self) -> GraphBuild:
        return GraphBuild(
            self.number,
            self.pid,
            self.graph_id,
            self.network,
            self.node_count,
            tuple(self.input_shapes),
            tuple(self.optimizers),
            tuple(self.phases),
            self.open_passes[-1] if self.open_passes else None,
            self.failed_pass,
            self.reason,
            self.jit,
        )

    @property
    def compiling(self) -> bool:
        return bool(self.phases) and self.phases[-1].end is None


class GraphReader:
    """Collects graph builds from blocks that are fed one after the other; processes are kept apart by pid.

    Args:
        keep: the latest builds that are kept; of :data:`MAX_BUILDS`, the first ones.
    """

    def __init__(self, *, keep: int = MAX_BUILDS) -> None:
        self._keep = keep
        self._builds: list[_Build] = []
        self._by_pid: dict[int | None, _Build] = {}
        self._shapes: dict[int | None, list[str]] = {}

    @property
    def builds(self) -> tuple[GraphBuild, ...]:
        """What was found so far, in the order of the log."""
        return tuple(build.frozen() for build in self._builds)

    @property
    def latest(self) -> GraphBuild | None:
        """The build that began last."""
        return self._builds[-1].frozen() if self._builds else None

    def feed(self, block: Block) -> None:
        """Take the next block of a log."""
        if len(self._builds) >= MAX_BUILDS:
            return
        if block.record is not None:
            self._take_record(block, block.record)
        elif block.traceback is not None:
            self._take_failure(block)
        if MARK in block.text:
            self._take_article(block)

    def _take_record(self, block: Block, record: Record) -> None:
        text = record.text
        if record.module not in ("PIPELINE", "RUNTIME_FRAMEWORK", "OPTIMIZER"):
            return
        if text.startswith("New cached args"):
            self._shapes[record.pid] = _ARGUMENT.findall(block.text)[:MAX_NAMES]
        elif match := _STARTED.match(text):
            self._open(block.number, record.pid)
        elif match := _NETWORK.match(text):
            self._of(block.number, record.pid).network = match.group(1)
        elif match := _ACTION.match(text):
            self._take_action(block.number, record, match.group(1) == "start", match.group(2))
        elif match := _COUNTS.match(text):
            self._take_counts(record.pid, int(match.group(1)), int(match.group(2)))
        elif is_jit_action(record) and (match := _PASS.match(text)):
            self._take_action(block.number, record, match.group(2).startswith("start"), match.group(1))
            self._of(block.number, record.pid).jit = True
        elif match := _PASS.match(text):
            _take_pass(self._of(block.number, record.pid), match.group(1), match.group(2).startswith("start"))
        elif match := _GRAPH.match(text):
            self._of(block.number, record.pid).graph_id = match.group(2)

    def _open(self, number: int, pid: int | None) -> _Build:
        build = _Build(number, pid, input_shapes=self._shapes.pop(pid, []))
        self._builds.append(build)
        if len(self._builds) > self._keep:
            del self._builds[0]
        self._by_pid[pid] = build
        return build

    def _of(self, number: int, pid: int | None) -> _Build:
        return self._by_pid.get(pid) or self._open(number, pid)

    def _take_action(self, number: int, record: Record, starts: bool, name: str) -> None:
        build = self._of(number, record.pid)
        if starts:
            if any(phase.name == name for phase in build.phases):  # the same action again: another graph
                build = self._open(number, record.pid)
            if len(build.phases) < MAX_NAMES:
                build.phases.append(Phase(name, record.time))
            return
        for position in range(len(build.phases) - 1, -1, -1):
            phase = build.phases[position]
            if phase.name == name and phase.end is None:
                build.phases[position] = Phase(name, phase.start, record.time)
                break
        build.open_passes.clear()

    def _take_counts(self, pid: int, func_graphs: int, nodes: int) -> None:
        build = self._by_pid.get(pid)
        if build is None:
            return
        build.node_count = nodes
        if build.phases and build.phases[-1].end is not None:
            last = build.phases[-1]
            build.phases[-1] = Phase(last.name, last.start, last.end, func_graphs, nodes)

    def _take_failure(self, block: Block) -> None:
        """An exception while an action is open ends the compilation there."""
        build = self._by_pid.get(block.pid)
        if build is None or not build.compiling or build.failed_pass is not None or block.traceback is None:
            return
        build.failed_pass = build.open_passes[-1] if build.open_passes else build.phases[-1].name
        build.reason = block.message.partition("\n")[0]

    def _take_article(self, block: Block) -> None:
        for line in block.lines:
            for entry in line.text.split(MARK)[1:]:
                self._take_entry(line.number, dict(key_values(entry)))

    def _take_entry(self, number: int, values: dict[str, str]) -> None:
        build = self._by_pid.get(None)
        if build is None or "GraphId" in values:
            build = self._open(number, None)
        build.graph_id = values.get("GraphId", build.graph_id)
        if values.get("NodeCount", "").isdigit():
            build.node_count = int(values["NodeCount"])
        _extend(build.input_shapes, list_items(values.get("InputShapes", "")))
        _extend(build.optimizers, list_items(values.get("Optimizer", "")))
        build.failed_pass = values.get("Failed at Pass", build.failed_pass)
        build.reason = values.get("Reason", build.reason)


def is_jit_action(record: Record) -> bool:
    """Whether this record is of an action of ``@jit``'s compiler."""
    return record.source_file.endswith(_JIT_SOURCE) and record.text.startswith("Pass ")


def graph_builds(blocks: Iterable[Block]) -> tuple[GraphBuild, ...]:
    """All compilations that ``blocks`` tell of."""
    reader = GraphReader()
    for block in blocks:
        reader.feed(block)
    return reader.builds


def key_values(text: str) -> Iterator[tuple[str, str]]:
    """The pairs of ``Key: value, Key: value``; commas inside brackets or quotes don't count, ``Reason`` is the rest."""
    for part in _top_level(text):
        key, colon, value = part.partition(":")
        if not colon:
            continue
        if key.strip() == "Reason":
            yield "Reason", text[text.index(part) :].partition(":")[2].strip()
            return
        yield key.strip(), value.strip()


def list_items(text: str) -> list[str]:
    """The items of ``[a, b]``; a text without brackets is one item, an empty one none."""
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    return [item.strip() for item in _top_level(inner) if item.strip()]


def _top_level(text: str) -> Iterator[str]:
    """``text`` cut at the commas outside of brackets and quotes."""
    depth = begin = 0
    quote = ""
    for position, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[({":
            depth += 1
        elif char in "])}":
            depth = max(0, depth - 1)
        elif char == "," and not depth:
            yield text[begin:position]
            begin = position + 1
    yield text[begin:]


def render_article(build: GraphBuild) -> list[str]:
    """The build's facts as lines in the article's form, which :func:`graph_builds` reads back."""
    head = [("GraphId", build.graph_id or build.network or f"line-{build.number}")]
    if build.node_count is not None:
        head.append(("NodeCount", str(build.node_count)))
    if build.input_shapes:
        head.append(("InputShapes", f"[{', '.join(build.input_shapes)}]"))
    rows = [head]
    if build.optimizers:
        rows.append([("Optimizer", f"[{', '.join(build.optimizers)}]")])
    rows += [[("Phase", phase.name), ("Microseconds", _duration(phase))] for phase in build.phases]
    if build.failed_pass:
        rows.append([("Failed at Pass", build.failed_pass), ("Reason", build.reason or "unknown")])
    return [f"{MARK} {', '.join(f'{key}: {value}' for key, value in row)}" for row in rows]


def _duration(phase: Phase) -> str:
    return "running" if phase.duration_us is None else str(phase.duration_us)


def _take_pass(build: _Build, name: str, starts: bool) -> None:
    if starts:
        _extend(build.open_passes, [name])
        _extend(build.optimizers, [name])
    elif name in build.open_passes:
        build.open_passes.remove(name)


def _extend(names: list[str], more: list[str]) -> None:
    """Add names up to :data:`MAX_NAMES`."""
    names += more[: max(0, MAX_NAMES - len(names))]
