"""A process that checks files for another one: a path a line comes in, progress and the answer go out, as JSON lines.

Whatever a damaged file does to the libraries that read it, it does it here. Started by :mod:`mswb.flows.cache_checks`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import BinaryIO, TypeVar

import msgspec

from mswb.cache.check import Checked, Options, Watch, checker
from mswb.findings import MswbError

REPORT_S = 0.2


Message = TypeVar("Message")


class Task(msgspec.Struct, frozen=True):
    """What to check."""

    path: str
    form: str
    options: Options


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Progress (``done`` of ``total``), or the end: ``checked``, or ``problem`` where the file can't be read."""

    done: int = 0
    total: int | None = None
    unit: str = ""
    checked: Checked | None = None
    problem: str = ""


def to_line(message: Task | Answer) -> bytes:
    """A message as a line of JSON. A path may hold bytes that are no text, which only escapes can carry."""
    return json.dumps(msgspec.to_builtins(message)).encode("ascii") + b"\n"


def from_line(line: bytes, kind: type[Message]) -> Message:
    """The message of a line."""
    return msgspec.convert(json.loads(line), type=kind)


def serve(source: BinaryIO, target: BinaryIO) -> None:
    """Answer every task that comes, until the other side closes."""
    for line in source:
        task = from_line(line, Task)
        _send(target, _answer(task, target))


def _answer(task: Task, target: BinaryIO) -> Answer:
    try:
        check = checker(task.form)
        if check is None:
            return Answer(problem=f"nothing can be verified of a {task.form}")
        return Answer(checked=check(task.path, task.options, Watch(report=_reporter(target))))
    except OSError as problem:
        return Answer(problem=problem.strerror or str(problem))
    except MswbError as problem:
        return Answer(problem=problem.finding.title)
    except MemoryError:
        return Answer(problem="it asks for more memory than there is")
    except Exception as problem:  # a defect of ours: told as one, and the other files are checked
        return Answer(problem=f"the check failed with {type(problem).__name__}: {problem}")


class _reporter:
    """Sends progress, but not more often than anybody looks."""

    def __init__(self, target: BinaryIO) -> None:
        self._target, self._next = target, 0.0

    def __call__(self, done: int, total: int | None, unit: str) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + REPORT_S
            _send(self._target, Answer(done=done, total=total, unit=unit))


def _send(target: BinaryIO, answer: Answer) -> None:
    target.write(to_line(answer))
    target.flush()


if __name__ == "__main__":
    # What a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)
