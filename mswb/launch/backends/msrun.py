"""The real msrun, as ``python -m mindspore.parallel.cluster.run`` in the training interpreter, never by name from PATH.

It always joins. Its ``tail -f`` processes are left out (``--tail_worker_log=-2`` names no worker): the ranks' logs are
followed directly, and a slim container may lack ``/usr/bin/tail``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from mswb.env.interpreter import Interpreter
from mswb.jobs.spec import JobSpec, ProcessSpec
from mswb.launch.backends.common import LAUNCHER_LOG, frame
from mswb.launch.binding import Binding
from mswb.launch.command import LaunchRequest
from mswb.launch.environment import EnvOverlay

MODULE = "mindspore.parallel.cluster.run"
NO_WORKER = -2


def job_spec(
    request: LaunchRequest,
    overlay: EnvOverlay,
    interpreter: Interpreter,
    run_id: str,
    log_folder: str,
    run_folder: str,
) -> JobSpec:
    """The job that runs the real msrun of ``interpreter``; its workers are found below it by their log files.

    Raises:
        MswbError: ``tls-not-yet``; ``path-unwritable`` when a wrapper for PATH can't be written.
    """
    argv = command(request, overlay, interpreter.path, log_folder)
    launcher = ProcessSpec(role="launcher", argv=argv, log=os.path.join(log_folder, LAUNCHER_LOG))
    return frame(
        request,
        overlay,
        interpreter,
        run_id,
        log_folder,
        run_folder,
        (launcher,),
        has_scheduler=request.is_master,
        command_line=argv,
    )


def command(request: LaunchRequest, overlay: EnvOverlay, python: str, log_folder: str) -> tuple[str, ...]:
    """The command line of the real msrun."""
    flags = (f"--{name}={value}" for name, value in _flags(request, overlay, log_folder))
    return (python, "-m", MODULE, *flags, *request.program.words)


def _flags(request: LaunchRequest, overlay: EnvOverlay, log_folder: str) -> Iterator[tuple[str, object]]:
    yield "worker_num", request.worker_num
    yield "local_worker_num", request.local_worker_num
    yield "master_addr", request.master.ip
    yield "master_port", request.master_port
    if request.node_rank >= 0:
        yield "node_rank", request.node_rank
    yield "log_dir", log_folder
    yield "join", True
    yield "cluster_time_out", request.cluster_time_out
    yield "tail_worker_log", NO_WORKER
    for name, binding in (("bind_core", request.bind_core), ("bind_numa", request.bind_numa)):
        if binding:
            yield name, _text(binding)
    if request.sim_level is not None and overlay.get("MS_SIMULATION_LEVEL") != str(request.sim_level):
        yield "sim_level", request.sim_level
    if request.sim_rank_id is not None:
        yield "sim_rank_id", request.sim_rank_id
    if request.rank_table_file:
        yield "rank_table_file", request.rank_table_file
    if request.worker_log_name:
        yield "worker_log_name", request.worker_log_name


def _text(binding: Binding) -> str:
    if binding.file is not None:
        return binding.file
    return "True" if binding.automatic else json.dumps({key: [ids] for key, ids in binding.table.items()})
