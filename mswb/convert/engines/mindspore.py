"""Real MindSpore, in a child process that a model may crash."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from mswb.convert.engines.child import Child, EngineError
from mswb.convert.graph import Array

__all__ = ["EngineError", "MindSpore"]


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
        script = str(resources.files("mswb.inside") / "mindir_run.py")
        quiet = {**(os.environ if env is None else env), "GLOG_v": "4", "MS_SUBMODULE_LOG_v": "{}"}
        self._child = Child([python, "-u", script, "{}", device], "MindSpore", limit_s, quiet)
        self._device = device

    def __enter__(self) -> MindSpore:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def title(self) -> str:
        """Version and device, once it has started."""
        return f"MindSpore {self._child.version} {self._device}"

    def close(self) -> None:
        """End the process."""
        self._child.close()

    def start(self) -> None:
        """Start the process now.

        Raises:
            EngineError: it does not import MindSpore.
        """
        self._child.start()

    def run(self, model: str, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of a model, in the order of its graph.

        Raises:
            EngineError: it does not load, does not run, crashed, or took too long.
        """
        given, found = (str(self._child.folder / name) for name in ("inputs.npz", "outputs.npz"))
        np.savez(given, **{str(at): array for at, array in enumerate(inputs)})
        answer = self._child.ask({"model": os.path.abspath(model), "inputs": given, "outputs": found})
        with np.load(found, allow_pickle=False) as arrays:
            return [arrays[str(at)] for at in range(answer["outputs"])]
