"""Scheduler and workers started by us, each by exec in a process group of its own, by the dynamic-cluster contract.

The variables are those that msrun 2.10 gives its children (``_Node.run`` in _api.py), so a script can't tell the two
apart; no process inherits a device context, because nothing above it ever loaded MindSpore. With an interpreter
without MindSpore no scheduler is started: nothing would answer it, and each rank is a plain Python training.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from mswb.env.host import TOOLS, available_cpus, available_numa_nodes
from mswb.env.interpreter import Interpreter
from mswb.jobs.spec import JobSpec, ProcessSpec
from mswb.launch.backends.common import SCHEDULER_LOG, frame, worker_logs
from mswb.launch.binding import Kind, prefix
from mswb.launch.command import LaunchRequest
from mswb.launch.environment import EnvOverlay

PLOG = "ASCEND_PROCESS_LOG_PATH"


def job_spec(
    request: LaunchRequest,
    overlay: EnvOverlay,
    interpreter: Interpreter,
    run_id: str,
    log_folder: str,
    run_folder: str,
) -> JobSpec:
    """The job whose processes are the scheduler (on the master node, with MindSpore) and this node's workers.

    Raises:
        MswbError: ``tls-not-yet``; ``path-unwritable`` when a wrapper for PATH can't be written.
    """
    started = processes(request, overlay, interpreter, log_folder)
    return frame(
        request,
        overlay,
        interpreter,
        run_id,
        log_folder,
        run_folder,
        started,
        has_scheduler=started[0].role == "scheduler",
        command_line=request.program.command(interpreter.path),
    )


def processes(
    request: LaunchRequest, overlay: EnvOverlay, interpreter: Interpreter, log_folder: str
) -> tuple[ProcessSpec, ...]:
    """The processes in the order of their start: the scheduler where this node runs it, then the workers."""
    command = request.program.command(interpreter.path)
    binder = _Binder(request, overlay)
    workers = tuple(_workers(request, overlay, command, log_folder, binder))
    if request.is_master and interpreter.mindspore_version is not None:
        return (_scheduler(request, overlay, command, log_folder, binder), *workers)
    return workers


class _Binder:
    """The binding prefix of each process; asks the host once."""

    def __init__(self, request: LaunchRequest, overlay: EnvOverlay) -> None:
        import shutil

        self._request = request
        self._available: dict[Kind, tuple[int, ...]] = {"core": available_cpus(), "numa": available_numa_nodes()}
        path = overlay.get("PATH", os.defpath)
        self._tools = [tool for tool in TOOLS if shutil.which(tool, path=path)]

    def prefix(self, local_rank: int | None) -> tuple[str, ...]:
        asked = self._request
        return prefix(
            local_rank, asked.local_worker_num, asked.bind_core, asked.bind_numa, self._available, self._tools
        )


def _scheduler(
    request: LaunchRequest, overlay: EnvOverlay, command: tuple[str, ...], log_folder: str, binder: _Binder
) -> ProcessSpec:
    env = {**_common(request), "MS_ROLE": "MS_SCHED", "RANK_ID": "0", **_plog(overlay, "scheduler")}
    argv = (*binder.prefix(None), *command)
    return ProcessSpec(role="scheduler", argv=argv, log=os.path.join(log_folder, SCHEDULER_LOG), env=env)


def _workers(
    request: LaunchRequest, overlay: EnvOverlay, command: tuple[str, ...], log_folder: str, binder: _Binder
) -> Iterator[ProcessSpec]:
    for index, (rank, log) in enumerate(worker_logs(request, log_folder).items()):
        env = {**_common(request), **_worker(request, index, rank), **_plog(overlay, f"rank_{rank}")}
        yield ProcessSpec(role="worker", argv=(*binder.prefix(index), *command), log=log, rank=rank, env=env)


def _common(request: LaunchRequest) -> dict[str, str]:
    env = {"MS_WORKER_NUM": str(request.worker_num), "RANK_SIZE": str(request.worker_num)}
    if request.rank_table_file:
        env["RANK_TABLE_FILE"] = request.rank_table_file
    if request.sim_level is not None:
        return {**env, "MS_SIMULATION_LEVEL": str(request.sim_level)}
    env.update(MS_SCHED_HOST=request.master.ip, MS_SCHED_PORT=str(request.master_port))
    return {**env, "MS_TOPO_TIMEOUT": str(request.cluster_time_out)}


def _worker(request: LaunchRequest, index: int, rank: int) -> dict[str, str]:
    env = {"DEVICE_ID": str(index), "MSWB_RANK": str(rank)}
    if not request.is_simulation:
        env["MS_ROLE"] = "MS_WORKER"
    if request.sim_rank_id is not None:
        env["RANK_ID"] = str(request.sim_rank_id)
    elif request.first_rank is not None:  # else MindSpore assigns it, and a guess of ours would mislead the script
        env.update(RANK_ID=str(rank), MS_NODE_ID=str(rank))
    return env


def _plog(overlay: EnvOverlay, name: str) -> dict[str, str]:
    """A folder of its own for each process's CANN logs, unless the user chose one."""
    ours = next((entry for entry in overlay.entries if entry.name == PLOG and entry.origin == "mswb"), None)
    return {PLOG: os.path.join(ours.value, name)} if ours else {}
