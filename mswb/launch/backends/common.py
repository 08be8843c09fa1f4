"""What the backends share: the names of the logs, the environment under all processes, the frame of a job."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from time import time

from mswb.env.interpreter import Interpreter, wrapper_folder
from mswb.findings import stop
from mswb.jobs.spec import JobSpec, ProcessSpec
from mswb.launch.addresses import source_address
from mswb.launch.command import LaunchRequest
from mswb.launch.environment import EnvOverlay

SCHEDULER_LOG = "scheduler.log"
LAUNCHER_LOG = "launcher.log"


def frame(
    request: LaunchRequest,
    overlay: EnvOverlay,
    interpreter: Interpreter,
    run_id: str,
    log_folder: str,
    run_folder: str,
    processes: tuple[ProcessSpec, ...],
    *,
    has_scheduler: bool,
    command_line: tuple[str, ...],
) -> JobSpec:
    """The job around ``processes``. Writes a wrapper for PATH into the run folder where the interpreter needs one.

    Raises:
        MswbError: ``tls-not-yet``; ``path-unwritable``.
    """
    if request.tls is not None:
        raise stop("tls-not-yet")
    return JobSpec(
        id=run_id,
        kind="launch",
        title=request.program.title,
        cwd=request.cwd,
        env=_environ(overlay, interpreter, run_folder),
        processes=processes,
        backend=request.backend,
        script=request.script,
        log_dir=log_folder,
        merged_log=os.path.join(os.path.dirname(log_folder), f"msrun_{run_id}.log"),
        worker_logs=worker_logs(request, log_folder),
        scheduler_log=os.path.join(log_folder, SCHEDULER_LOG) if has_scheduler else None,
        expected_workers=request.local_worker_num,
        created=time(),
        command_line=command_line,
    )


def worker_logs(request: LaunchRequest, log_folder: str) -> dict[int, str]:
    """The log of each worker by rank (by local index where MindSpore assigns the ranks), named as msrun names them."""
    stem = log_stem(request)
    numbers = request.log_numbers
    ranks = (request.sim_rank_id,) if request.sim_rank_id is not None else numbers
    return {rank: os.path.join(log_folder, f"{stem}_{number}.log") for rank, number in zip(ranks, numbers, strict=True)}


def log_stem(request: LaunchRequest) -> str:
    """``worker``, or ``--worker_log_name`` with ``{ip}`` and ``{hostname}`` filled in as msrun does it."""
    if not request.worker_log_name:
        return "worker"
    address = source_address(request.master.ip) or request.master.ip
    return re.sub(r"\{ip\}", address, request.worker_log_name).replace("{hostname}", socket.gethostname())


def _environ(overlay: EnvOverlay, interpreter: Interpreter, run_folder: str) -> dict[str, str]:
    environ = overlay.environ()
    if interpreter.folder_with_python is None:
        folder = wrapper_folder(interpreter, Path(run_folder) / "bin")
        environ["PATH"] = os.pathsep.join((folder, environ.get("PATH", os.defpath)))
    return environ
