"""A process that answers requests, one line of JSON each, and that what it runs may crash."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

START_S = 120.0
"""Seconds that the imports of the process may take."""


class EngineError(Exception):
    """A model did not run; the text is the engine's. ``crashed`` when the process died."""

    def __init__(self, reason: str, *, crashed: bool = False) -> None:
        super().__init__(reason)
        self.crashed = crashed


class Child:
    """The process: started when first needed, and again after a crash.

    Args:
        command: what to start; a descriptor that answers are written to takes the place of ``{}``.
        what: what it is called in errors.
        limit_s: seconds that one request may take.
    """

    def __init__(self, command: Sequence[str], what: str, limit_s: float, env: Mapping[str, str]) -> None:
        self._command = command
        self._what = what
        self._limit_s = limit_s
        self._env = env
        self._child: subprocess.Popen[bytes] | None = None
        self._answers = -1
        self._folder = tempfile.TemporaryDirectory(prefix="mswb-run-")
        self._rest = b""
        self.version = ""
        """What the process says of itself when it is ready."""

    @property
    def folder(self) -> Path:
        """A folder for what is exchanged, which goes with the process."""
        return Path(self._folder.name)

    def close(self) -> None:
        """End the process."""
        self._end()
        self._folder.cleanup()

    def start(self) -> None:
        """Start it unless it runs.

        Raises:
            EngineError: it does not get ready.
        """
        if self._child is not None and self._child.poll() is None:
            return
        self._end()
        self._answers, theirs = os.pipe()
        self._rest = b""
        command = [str(theirs) if part == "{}" else part for part in self._command]
        try:
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                pass_fds=(theirs,), env=self._env, cwd=self._folder.name, start_new_session=True,
            )  # fmt: skip
        except OSError as problem:
            raise EngineError(f"{self._what} does not start: {problem.strerror}") from None
        finally:
            os.close(theirs)
        self.version = str(self._answer(START_S).get("ready", ""))

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            EngineError: the process crashed, took too long, or says what is wrong.
        """
        self.start()
        assert self._child is not None and self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(request).encode() + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise self._death() from None
        answer = self._answer(self._limit_s)
        if "error" in answer:
            raise EngineError(str(answer["error"]))
        return answer

    def _answer(self, limit_s: float) -> dict[str, Any]:
        until = time.monotonic() + limit_s
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                self._end()
                raise EngineError(f"no answer within {limit_s:g} s")
            piece = os.read(self._answers, 1 << 16)
            if not piece:
                raise self._death()
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _death(self) -> EngineError:
        code = self._child.wait() if self._child is not None else 0
        self._end()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return EngineError(f"the process of {self._what} died with {how}", crashed=code < 0)

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            if child.poll() is None:
                child.kill()
            child.wait()
            if child.stdin is not None:
                child.stdin.close()
        if self._answers >= 0:
            os.close(self._answers)
            self._answers = -1
