"""The demo: a small real two-rank training that fails, on whatever interpreter there is."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from mswb.env.interpreter import find_interpreter
from mswb.files.safety import make_private_dir
from mswb.flows.run import Prepared, prepare
from mswb.launch.diagnose import Diagnosis
from mswb.settings import Settings


@dataclass(frozen=True, slots=True)
class Demo:
    """A prepared demo: where it lies, what it runs, and whether that is real MindSpore."""

    folder: Path
    prepared: Prepared
    mindspore_version: str | None
    python: str


def prepare_demo(
    settings: Settings, folder: Path, python: str | None = None, environ: Mapping[str, str] | None = None
) -> Demo:
    """Write the training into ``folder`` and prepare its launch: msrun with MindSpore, else plain processes.

    Raises:
        MswbError: the folder can't be written, or no interpreter was found.
    """
    env = os.environ if environ is None else environ
    interpreter = find_interpreter(python, settings, env)
    real = interpreter.mindspore_version is not None
    script = make_private_dir(folder) / "train.py"
    source = "train_mindspore.py" if real else "train_plain.py"
    with resources.as_file(resources.files("mswb.inside.demo") / source) as path:
        shutil.copyfile(path, script)
    backend = ["--backend", "msrun" if real else "direct", "--master_port", str(free_port())]
    workers = ["--worker_num", "2", "--local_worker_num", "2", "--cluster_time_out", "120"]
    arguments = ["--python", interpreter.path, *backend, *workers, "train.py"]
    prepared = prepare(arguments, settings, env, str(folder.absolute()))
    return Demo(folder, prepared, interpreter.mindspore_version, interpreter.path)


def as_planned(diagnosis: Diagnosis) -> bool:
    """Whether the failure that the demo is made to have was found: an exception of rank 1's own script."""
    if diagnosis.root is None:
        return False
    root = diagnosis.findings[diagnosis.root]
    return (root.code, root.where.rank, root.values.get("exception")) == ("script-exception", 1, "KeyError")


def free_port() -> int:
    """A port that is free now, so that the demo does not meet another job on the default one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
