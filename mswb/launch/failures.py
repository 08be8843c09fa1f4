"""From one scanned log to the failures it tells of: tracebacks, fatal signals, error records, and stacks.

Only the surroundings of what the scan found are parsed, so a log of any size costs little.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any, Literal

from mswb.files.safety import open_regular, printable_block
from mswb.findings import Language, MswbError, Severity
from mswb.launch.lines import Line
from mswb.launch.logs import Block, blocks
from mswb.launch.progress import parse_step
from mswb.launch.records import parse_record
from mswb.launch.scan import FileScan
from mswb.launch.signatures import Match, match_line
from mswb.launch.tracebacks import Frame, NetFrame, Stack, Traceback

Kind = Literal["root", "wrapper", "victim", "note"]
WINDOW = 64 << 10
"""Bytes read behind a place of interest; a traceback with its sections is shorter."""
MAX_WINDOWS = 60
MAX_AFTER = 400
"""Lines behind a traceback in which a step of the training is looked for."""
LOOK_BACK = 128 << 10
"""How far before a line without a time the last record is searched."""
CLUSTER_CODES = frozenset(
    {"cluster-timeout", "wrong-worker-count", "cluster-peer-lost", "scheduler-lost", "worker-exit", "job-exit"}
)
"""What a process says when another one failed."""
ASYNC_CODE = "async-error-after-success"
_WORKER_EXIT = re.compile(r"Worker process (?P<pid>\d+) exit with exception\. Error code: (?P<code>-?\d+)")
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib/python3|^<|^mindspore/|/mswb/inside/(?!demo/)")
"""Files that are none of the user's own; ``mswb/inside`` runs in every training that caches."""
_ASYNC = re.compile(r"\] WorkerJoin\] WorkerJoin failed: ")
_FATAL = re.compile(r"Fatal Python error: (.*)$")
_SIGNALS = {"Segmentation fault": 11, "Aborted": 6, "Bus error": 7, "Floating point exception": 8,
            "Floating-point exception": 8, "Illegal instruction": 4}  # fmt: skip
_SOURCE = ("    ", '  File "')
"""How a traceback's frames and the code they quote begin."""
_PATH = re.compile(r"(?<![\w:])/[\w.+@%-]+(?:/[\w.+@%-]+)+")
_LIST = re.compile(r"\bfiles?:\s*$")
"""The end of a line below which files are listed."""
_DATA_FILE = re.compile(r"The corresponding data files? (?:is|are): (.+?)(?:\. |\.?\s*$)")
"""MindSpore's words for the file that a row came from; a reason may follow, or nothing."""
MAX_TOLD = 12
"""Lines of a traceback above a sentence that still leave it in the evidence as it is shown."""
_CODE = (".py", ".cc", ".h", ".cpp", ".ir", ".so")
STOPS = frozenset({"KeyboardInterrupt", "SystemExit"})


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's own code."""

    file: str
    line: int
    function: str

    def values(self) -> dict[str, Any]:
        return {"script_file": self.file, "script_line": self.line, "function": self.function}


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure as one log tells it. ``line`` is that of the statement itself; ``time`` is in microseconds on the
    node's own clock, taken from the record before it where it has none. ``survived``: steps of the
    training follow it in the log. ``plain_code``: the code that an asynchronous error has when the process ended badly.
    """

    code: str
    kind: Kind
    priority: int
    line: int
    offset: int
    time: int | None
    evidence: str
    values: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity | None = None
    hint: Mapping[Language, str] = field(default_factory=dict)
    survived: bool = False
    plain_code: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a process stood when its stacks were asked for (or when an interrupt reached it)."""

    line: int
    offset: int
    evidence: str
    place: Place | None
    in_framework: bool


@dataclass(frozen=True, slots=True)
class Told:
    """All that a log tells of failures, in the order of its lines."""

    failures: tuple[Failure, ...]
    standing: Standing | None
    notes: tuple[Failure, ...] = ()


def read_failures(scan: FileScan) -> Told:
    """The failures of one log, and where its process stood."""
    found: list[Failure] = []
    standing: Standing | None = None
    for block in _interesting_blocks(scan):
        if block.kind == "stacks":
            standing = standing_of(block) or standing
        elif block.root_exception is not None and block.root_exception.type in STOPS:
            standing = standing or _interrupted(block)
        else:
            failure = _failure(block, scan)
            if failure is not None:
                found.append(failure)
    failures = [one for one in found if one.kind != "note"]
    return Told(_asynchronous(failures), standing, tuple(one for one in found if one.kind == "note"))


def _asynchronous(found: Sequence[Failure]) -> tuple[Failure, ...]:
    """PyNative's worker thread tells at exit what went wrong in it; a script that met the error told it before."""
    told = any(failure.kind == "root" and not _ASYNC.search(failure.evidence) for failure in found)
    return tuple(
        replace(failure, code=ASYNC_CODE, plain_code=failure.code, kind="wrapper" if told else "root")
        if failure.evidence and _ASYNC.search(failure.evidence.partition("\n")[0])
        else failure
        for failure in found
    )


def time_before(path: str, offset: int) -> int | None:
    """The time of the last record before the byte ``offset``, in microseconds; None when there is none near."""
    start = max(0, offset - LOOK_BACK)
    for line in reversed(read_part(path, start, offset - start).split(b"\n")):
        record = parse_record(line.decode("utf-8", "replace"))
        if record is not None:
            return record.time
    return None


def user_place(frames: Iterable[Frame], net: Iterable[NetFrame] = ()) -> Place | None:
    """The innermost line of the user's own code; a line of the compiled network beats the call that compiled it."""
    own_net = [frame for frame in net if not _LIBRARY.search(frame.file)]
    if own_net:
        return Place(own_net[-1].file, own_net[-1].line, "construct")
    own = [frame for frame in frames if not _LIBRARY.search(frame.file)]
    return Place(own[-1].file, own[-1].line, own[-1].func) if own else None


def _interesting_blocks(scan: FileScan) -> Iterator[Block]:
    for line, offset, length in _windows(scan):
        raw = read_part(scan.path, offset, length)
        yield from blocks(raw.splitlines(keepends=True) if b"\r" not in raw else _lines(raw), line, offset)


def _lines(raw: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(raw):
        end = raw.find(b"\n", start) + 1 or len(raw)
        yield raw[start:end]
        start = end


def _windows(scan: FileScan) -> list[tuple[int, int, int]]:
    """(first line, offset, length) of the parts worth parsing; places near each other share a window."""
    hits = [(hit.line, hit.offset) for hit in scan.hits if hit.signature.kind != "benign"]
    places = sorted({*scan.tracebacks, *scan.fatal, *scan.stacks, *hits}, key=lambda place: place[1])
    windows: list[list[int]] = []
    for line, offset in places:
        if windows and offset < windows[-1][1] + windows[-1][2]:
            windows[-1][2] = max(windows[-1][2], offset - windows[-1][1] + WINDOW)
        else:
            windows.append([line, offset, WINDOW])
    for one, following in pairwise(windows):
        one[2] = min(one[2], following[1] - one[1])
    kept = windows if len(windows) <= MAX_WINDOWS else windows[: MAX_WINDOWS - 20] + windows[-20:]
    return [(line, offset, length) for line, offset, length in kept]


def _failure(block: Block, scan: FileScan) -> Failure | None:
    if block.kind == "fatal":
        return _from_fatal(block, scan)
    if block.root_exception is not None and block.kind == "traceback":
        return _from_traceback(block, scan)
    return _from_signature(block, scan)


def _from_fatal(block: Block, scan: FileScan) -> Failure | None:
    match = _FATAL.search(block.lines[0].text)
    text = match.group(1) if match else block.lines[0].text
    number = next((code for name, code in _SIGNALS.items() if text.startswith(name)), None)
    threads = sorted(block.stacks, key=lambda stack: not stack.current)
    place = next((place for stack in threads if (place := _stack_place(stack))), None)
    values: dict[str, Any] = {"exception": text, "message": text, **(place.values() if place else {})}
    if number is not None:
        values |= {"signal": signal_name(number), "exit_code": -number}
    code = "killed-by-signal" if number is not None else "script-exception"
    time = time_before(scan.path, block.offset)
    return Failure(code, "root", 75, block.number, block.offset, time, _evidence(block), values)


def _from_traceback(block: Block, scan: FileScan) -> Failure:
    root = block.root_exception
    assert root is not None
    line = _exception_line(block, root)
    place = user_place(root.frames, block.net_frames) or _outer_place(block)
    said: dict[str, Any] = {
        "exception": root.type or "an exception",
        "message": root.message.split("\n", 1)[0].strip(),
        **(place.values() if place else {}),
    }
    kind: Kind
    best = _best_match(block)
    time = time_before(scan.path, block.offset)
    survived = _steps_follow(scan.path, block.lines[-1].offset + len(block.lines[-1].raw))
    if best is None:
        code = "launcher-usage" if _raised_by_launcher(root) else "script-exception"
        kind = "root" if root.type else "wrapper"  # cut short: what ended the process is told elsewhere
        return Failure(code, kind, 65, *line, time, _evidence(block), said, survived=survived)
    match, at = best
    signature = match.signature
    kind = "victim" if signature.kind == "victim" else "root"
    values = {**said, **match.values}
    if signature.kind == "wrapper" and signature.code in CLUSTER_CODES:
        kind = "wrapper"
    elif signature.kind == "wrapper":
        values = {**match.values, **said, "message": f"{said['exception']}: {said['message']}"}
    if signature.kind == "root":
        line = (at.number, at.offset)
    priority = signature.priority if kind == "wrapper" else max(signature.priority, 50)
    values = _with_path(_with_data_file(values, block), block)
    evidence = _evidence_from(block, at.number) if signature.kind == "root" else _evidence(block)
    return Failure(
        signature.code, kind, priority, *line, time, evidence, values, hint=signature.hint, survived=survived
    )


def _steps_follow(path: str, offset: int) -> bool:
    """Whether the training went on after a traceback: something caught the exception and printed it."""
    lines = read_part(path, offset, WINDOW).split(b"\n")[:MAX_AFTER]
    return any(parse_step(line.decode("utf-8", "replace")) for line in lines if not line.startswith(b"["))


def _from_signature(block: Block, scan: FileScan) -> Failure | None:
    lines = {hit.line for hit in scan.hits}
    found = [
        (match, line)
        for line in block.lines
        if line.number in lines
        for match in match_line(line.text)[:1]
        if match.signature.kind != "benign"
    ]
    if not found:
        return None
    match, line = max(found, key=lambda item: item[0].signature.priority)
    signature = match.signature
    place = user_place((), block.net_frames)
    time = block.record.time if block.record is not None else time_before(scan.path, block.offset)
    kind: Kind = signature.kind if signature.kind != "benign" else "wrapper"
    text = block.record.text if block.record is not None and line is block.lines[0] else line.text
    values = {"message": text[:300], **(place.values() if place else {}), **match.values, **_of_worker(text)}
    return Failure(
        signature.code, kind, signature.priority, line.number, line.offset, time, _evidence(block, line.number),
        _with_path(_with_data_file(values, block), block),
        signature.severity, signature.hint,
    )  # fmt: skip


def _of_worker(text: str) -> dict[str, Any]:
    """Whom msrun speaks of when it reports a worker's end: not of itself."""
    found = _WORKER_EXIT.search(text)
    return {"who": "a worker", "pid": int(found["pid"]), "exit_code": int(found["code"])} if found else {}


def _best_match(block: Block) -> tuple[Match, Line] | None:
    """The signature nearest to the cause among the block's messages, and its line; quoted source code says nothing."""
    found = [
        (match, line)
        for line in block.lines
        if not line.text.startswith(_SOURCE)
        for match in match_line(line.text)
        if match.signature.kind not in ("note", "benign")
    ]
    order = {"root": 0, "victim": 1, "wrapper": 2}
    return min(found, key=lambda one: (order[one[0].signature.kind], -one[0].signature.priority), default=None)


def _with_data_file(values: dict[str, Any], block: Block) -> dict[str, Any]:
    """``data_file``, where the block says which file the failing row came from; ``path`` is the same then."""
    texts = (line.text for line in block.lines if not line.text.startswith(_SOURCE))
    named = next((found[1] for text in texts if (found := _DATA_FILE.search(text))), "")
    return {"path": named, **values, "data_file": named} if named else values


def _with_path(values: dict[str, Any], block: Block) -> dict[str, Any]:
    """``path`` from the text around it, for findings about a file whose message names it on another line."""
    if values.get("path") or values.get("file"):
        return values
    texts = (text for line in block.lines if not (text := line.text).startswith(_SOURCE) or text.lstrip()[:1] == "/")
    paths = (path for text in texts for path in _PATH.findall(text))
    found = (path for path in paths if not path.endswith(_CODE) and not _LIBRARY.search(path))
    path = next(chain(_listed(block), found), None)
    return {**values, "path": path} if path else values


def _listed(block: Block) -> Iterator[str]:
    """The first entry of each list of files that a message gives below its line, relative paths too."""
    for line, after in pairwise(block.lines):
        entry = after.text.strip()
        if entry and after.text[:1].isspace() and _LIST.search(line.text) and not line.text.startswith(_SOURCE):
            yield entry


def _raised_by_launcher(root: Traceback) -> bool:
    return bool(root.frames) and "mindspore/parallel/cluster/" in root.frames[-1].file


def _exception_line(block: Block, root: Traceback) -> tuple[int, int]:
    """Number and offset of the line that states the exception; of the last line when the log ends before it."""
    first = root.message.split("\n", 1)[0].strip()
    for line in reversed(block.lines):
        text = line.text.strip()
        if root.type and text.startswith(root.type) and first in text:
            return line.number, line.offset
    for line in reversed(block.lines):
        if root.type and root.type in line.text and (not first or first in line.text):
            return line.number, line.offset
    return block.lines[-1].number, block.lines[-1].offset


def _outer_place(block: Block) -> Place | None:
    return user_place(block.traceback.frames) if block.traceback is not None else None


def standing_of(block: Block) -> Standing | None:
    """What a block of stacks tells: the main thread's place: faulthandler prints it last, or marks it current."""
    if not block.stacks:
        return None
    main = next((stack for stack in reversed(block.stacks) if _stack_place(stack)), None)
    if main is None:
        return None
    inner = main.frames[0].file if main.frames else ""
    return Standing(block.number, block.offset, _evidence(block), _stack_place(main), "mindspore" in inner)


def _interrupted(block: Block) -> Standing | None:
    root = block.root_exception
    assert root is not None
    inner = root.frames[-1].file if root.frames else ""
    place = user_place(root.frames)
    return Standing(block.number, block.offset, _evidence(block), place, "mindspore" in inner) if place else None


def _stack_place(stack: Stack) -> Place | None:
    return user_place(reversed(stack.frames))


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; ``signal 70`` where it has no name."""
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _evidence(block: Block, around: int | None = None) -> str:
    texts = block.texts
    if around is not None and len(texts) > 60:
        index = around - block.number
        texts = texts[max(0, index - 20) : index + 40]
    return printable_block("\n".join(texts).rstrip("\n"), limit=600)


def _evidence_from(block: Block, number: int) -> str:
    """The evidence with the line that tells the cause in sight: calls above it that would push it out are left out."""
    index = number - block.number
    texts = block.texts if index <= MAX_TOLD else ["…", *block.texts[index:]]
    return printable_block("\n".join(texts).rstrip("\n"), limit=600) if index > MAX_TOLD else _evidence(block)


def read_part(path: str, offset: int, length: int) -> bytes:
    """``length`` bytes of a regular file from ``offset`` on, fewer at its end; none when it can't be read any more."""
    try:
        descriptor = open_regular(path)
    except MswbError:  # deleted or replaced since it was scanned
        return b""
    try:
        return os.pread(descriptor, length, offset)
    finally:
        os.close(descriptor)
