"""Networks as files: exported by a child process, read back with inputs and outputs; none of it imports MindSpore."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from mswb.convert.verify.compare import compare

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Trial:
    """Inputs, and the outputs that MindSpore gives for them; ``half`` when it computed these in half precision."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    half: bool = False


@dataclass(frozen=True)
class Exported:
    """What became of one network: ``done``, ``failed`` with a reason, or ``crashed`` when MindSpore died of it."""

    name: str
    state: str
    reason: str = ""


def export(folder: Path, only: Sequence[str] = (), *, builtin: bool = False) -> list[Exported]:
    """Export networks in a child process, and in another one what comes after one that crashed.

    Args:
        only: names, or patterns with ``*``; all when there is none.
        builtin: by MindSpore's own ONNX exporter, instead of to MindIR with its outputs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    progress = folder / "progress.jsonl"
    progress.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.networks.export", str(folder.resolve()), "--only", ",".join(only)]
    python_path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    while True:
        lines = list(_lines(progress))
        after = ["--after", lines[-1]["name"]] if lines else []
        ran = subprocess.run(
            [*command, *after, *["--builtin"] * builtin],
            cwd=folder,  # MindSpore leaves folders of its own where it runs
            env={**os.environ, "GLOG_v": "4", "PYTHONPATH": python_path},
            capture_output=True,
            text=True,
        )
        found = list(_lines(progress))
        if len(found) == len(lines) and ran.returncode:
            raise RuntimeError(f"the export does not start: {ran.stderr[-2000:]}")
        if not ran.returncode:
            break
    ended = {one["name"]: one for one in found}
    names = {"started": "crashed"}
    return [
        Exported(one["name"], names.get(one["state"], one["state"]), one.get("reason", "")) for one in ended.values()
    ]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def trials(folder: Path, name: str) -> list[Trial]:
    """The inputs and outputs of an exported network."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
        half = "half" in arrays.files
        return [
            Trial(tuple(_all(arrays, f"{at}.in.")), tuple(_all(arrays, f"{at}.out.")), half)
            for at in range(len({key.split(".")[0] for key in arrays.files} - {"half"}))
        ]


def _all(arrays: Any, prefix: str) -> Iterator[Array]:
    for at in range(sum(key.startswith(prefix) for key in arrays.files)):
        yield arrays[f"{prefix}{at}"]


def _rounded(one: Array, expected: Array, half: bool) -> tuple[Array, Array]:
    """Both in float16, whose limits then decide, where numbers of half precision were widened to float32."""
    widened = half and one.dtype == expected.dtype == np.float32
    return (one.astype(np.float16), expected.astype(np.float16)) if widened else (one, expected)


def differs(model: str, wanted: Sequence[Trial]) -> str:
    """In what onnxruntime's outputs of an ONNX file are not MindSpore's; empty when they are.

    Raises:
        Exception: what onnxruntime raises when it rejects the file.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    for at, trial in enumerate(wanted):
        if len(names) != len(trial.inputs):
            return f"{len(names)} inputs instead of {len(trial.inputs)}"
        found = session.run(None, dict(zip(names, trial.inputs, strict=True)))
        if len(found) != len(trial.outputs):
            return f"{len(found)} outputs instead of {len(trial.outputs)}"
        for place, (one, expected) in enumerate(zip(found, trial.outputs, strict=True)):
            result = compare(*_rounded(np.asarray(one), expected, trial.half))
            if result.verdict != "passed":
                return f"trial {at}, output {place}: {result.reason}, max abs error {result.max_abs_error}"
    return ""
