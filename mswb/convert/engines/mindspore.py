"""Real MindSpore, in a child process that a model may crash."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from mswb.convert.graph import Array

START_S = 120.0
"""Seconds that importing MindSpore may take."""


class EngineError(Exception):
    """A model did not run; the text is the engine's. ``crashed`` when the process died."""

    def __init__(self, reason: str, *, crashed: bool = False) -> None:
        super().__init__(reason)
        self.crashed = crashed


class MindSpore:
    """A process of the user's interpreter that runs MindIR files; started when first needed, again after a crash.

    Args:
        python: the interpreter.
        device: CPU, GPU or Ascend.
        limit_s: seconds that one model may take.
    """

    def __init__(
        self, python: str, *, device: str = "CPU", limit_s: float = 600.0, env: Mapping[str, str] | None = None
    ) -> None:
        self._python = python
        self._device = device
        self._limit_s = limit_s
        self._env = {**(os.environ if env is None else env), "GLOG_v": "4", "MS_SUBMODULE_LOG_v": "{}"}
        self._child: subprocess.Popen[bytes] | None = None
        self._answers = -1
        self._folder = tempfile.TemporaryDirectory(prefix="mswb-run-")
        self._rest = b""

    def __enter__(self) -> MindSpore:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._end()
        self._folder.cleanup()

    def run(self, model: str, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of a model, in the order of its graph.

        Raises:
            EngineError: it does not load, does not run, crashed, or took too long.
        """
        if self._child is None or self._child.poll() is not None:
            self._start()
        given, found = (str(Path(self._folder.name) / name) for name in ("inputs.npz", "outputs.npz"))
        np.savez(given, **{str(at): array for at, array in enumerate(inputs)})
        answer = self._ask({"model": os.path.abspath(model), "inputs": given, "outputs": found})
        if "error" in answer:
            raise EngineError(answer["error"])
        with np.load(found, allow_pickle=False) as arrays:
            return [arrays[str(at)] for at in range(answer["outputs"])]

    def _start(self) -> None:
        self._end()
        script = str(resources.files("mswb.inside") / "mindir_run.py")
        self._answers, theirs = os.pipe()
        self._rest = b""
        command = [self._python, "-u", script, str(theirs), self._device]
        try:
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                pass_fds=(theirs,), env=self._env, cwd=self._folder.name, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(theirs)
        self._answer(START_S)

    def _ask(self, request: Mapping[str, str]) -> dict[str, Any]:
        assert self._child is not None and self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(request).encode() + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise self._death() from None
        return self._answer(self._limit_s)

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
        return EngineError(f"the process of MindSpore died with {how}", crashed=code < 0)

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
