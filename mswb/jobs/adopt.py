"""Taking a running training under watch that mswb did not start: a run folder and a shim of its own, nothing else.

The processes notice nothing, and the folders they write to are not touched: what is known of the run stays in ours.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from mswb.files.safety import make_private_dir
from mswb.findings import stop
from mswb.jobs import control, procs, runs
from mswb.jobs.runs import Run
from mswb.jobs.spec import ADOPTED, MSWB_RUN_ID, AdoptedProcess, JobSpec
from mswb.settings import Settings
from mswb.signals import ProcessId, is_alive


def adopted_by(settings: Settings) -> Mapping[ProcessId, str]:
    """The processes that live adopted runs of this host watch, with the run's id."""
    return {
        ProcessId(one.pid, one.start_time): run.id
        for run in runs.list_runs(settings)
        if run.status is not None and run.status.backend == ADOPTED and runs.is_here(run.status) and runs.is_live(run)
        for one in run.status.processes
    }


def adopt(spec: JobSpec, settings: Settings) -> Run:
    """Start a shim that watches the processes ``spec.adopted`` until they have ended.

    Raises:
        MswbError: ``adopt-no-process``, ``adopt-other-user``, ``adopt-own-run`` or ``adopt-already`` naming the process
            that can't be adopted; those of :func:`mswb.jobs.control.start`.
    """
    with _one_at_a_time(make_private_dir(settings.runs_dir)):
        known = adopted_by(settings)
        for one in spec.adopted:
            refuse_unfit(one, known)
        return control.start(spec, settings)


def refuse_unfit(one: AdoptedProcess, known: Mapping[ProcessId, str]) -> None:
    """Say why a process can't be adopted.

    Args:
        known: see :func:`adopted_by`.

    Raises:
        MswbError: as :func:`adopt` does.
    """
    process = ProcessId(one.pid, one.start_time)
    owner = procs.owner(one.pid)
    if not is_alive(process) or owner is None:
        raise stop("adopt-no-process", values={"pid": one.pid})
    if owner != os.geteuid():
        raise stop("adopt-other-user", values={"pid": one.pid, "owner": procs.user_name(owner)})
    if process in known:
        raise stop("adopt-already", values={"pid": one.pid, "id": known[process]})
    if run_id := procs.environ(one.pid).get(MSWB_RUN_ID):
        raise stop("adopt-own-run", values={"pid": one.pid, "id": run_id})


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Two clients that adopt at once must see each other; a file system without locks goes without."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
