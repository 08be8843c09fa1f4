"""States of the Launch pane as literals: what a pane shows that never looked at a disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mswb.findings import Finding, Where, make
from mswb.flows.known_runs import KnownRun
from mswb.flows.runview import Failed, RankView, RunProgress, RunView
from mswb.launch.diagnose import Diagnosis, RankState
from mswb.launch.logview.source import ShownLog
from mswb.ui.panes.launch.state import LaunchState, Listing, OpenRun

NOW = 1_796_000_000.0
LOGS = "/project/ms_run_log/20261130_040000_9"
LINE = "KeyError: 4"


def known(name: str, state: str = "running", **facts: object) -> KnownRun:
    """One line of the list; started 90 s ago unless told otherwise."""
    values: dict[str, object] = {
        **{"key": f"run:{name}", "kind": "run", "name": name, "title": "train.py", "state": state},
        **{"started": NOW - 90, "ended": None, "ranks": 2, "exit_code": None, "first_failure": None},
        **{"host": "node-0", "here": True, "cwd": "/project", "log_dir": LOGS, "pids": (101, 102)},
        **{"source": Path(LOGS)},
        **facts,
    }
    return KnownRun(**values)  # type: ignore[arg-type]


RUNNING = known("20261130_040000_9")
FAILED = known("20261130_030000_8", "failed", started=NOW - 3700, ended=NOW - 3600, exit_code=1, title="结果.py")
SUCCEEDED = known("20261129_120000_7", "succeeded", started=NOW - 90_000, ended=NOW - 89_000, exit_code=0)
STOPPED = known("20261129_110000_6", "stopped", started=NOW - 93_000, ended=NOW - 92_500, exit_code=130)
LOST = known("20261128_110000_5", "lost", started=NOW - 193_000, title="lost.py")
FOREIGN = known(
    "msrun 4711",
    kind="foreign",
    key="foreign:4711:99",
    ranks=8,
    title="pretrain.py",
    pids=(4711, 4712, 4713),
    started=NOW - 7200,
)
FOLDER = known(
    "msrun_log",
    "unknown",
    kind="folder",
    key="folder:/project/msrun_log",
    title="",
    started=None,
    ended=NOW - 864_000,
    ranks=4,
)
EVERY = (RUNNING, FAILED, FOREIGN, SUCCEEDED, STOPPED, LOST, FOLDER)


def rank(number: int, **facts: object) -> RankView:
    """A worker that trains."""
    values: dict[str, object] = {
        **{"role": "worker", "rank": number, "pid": 200 + number, "state": "running", "phase": "training"},
        **{"step": 40 + number % 3, "steps": 100, "loss": 0.5 + number / 100, "step_ms": 350.0, "last_line_age_s": 1.0},
        **{"lines": 1000, "errors": 0, "warnings": 3, "counted": 1.0, "cpu_percent": 97.5, "rss_bytes": 3 << 30},
        **{"device": f"NPU{number % 8}", "device_memory_bytes": 30 << 30, "file": f"{LOGS}/worker_{number}.log"},
        **facts,
    }
    return RankView(**values)  # type: ignore[arg-type]


def view(ranks: tuple[RankView, ...], state: str = "running", **facts: object) -> RunView:
    """A run of these ranks."""
    values: dict[str, object] = {
        **{"version": 1, "kind": "run", "title": "train.py", "source_path": LOGS, "run_id": "20261130_040000_9"},
        **{"state": state, "log_dir": LOGS, "started": NOW - 90, "ranks": ranks, "counted": 1.0},
        **{"logs": tuple(ShownLog(one.file, one.role, one.rank) for one in ranks if one.file)},
        **{"progress": RunProgress(step=40, step_max=42, steps=100, loss=0.52, eta_s=21.0, training=len(ranks))},
        **facts,
    }
    return RunView(**values)  # type: ignore[arg-type]


def exception(number: int, where_line: int = 12) -> Finding:
    """A script's exception of one rank."""
    where = Where(
        node="node-0", rank=number, file=f"{LOGS}/worker_{number}.log", line=where_line, time="2026-11-30T04:01:30"
    )
    values = {"who": f"rank {number}", "rank": number, "exception": "KeyError", "message": "4"}
    return make(
        "script-exception",
        where=where,
        evidence=f"Traceback (most recent call last):\n{LINE}",
        values=values,
        lang="en",
    )


def failed_diagnosis() -> Diagnosis:
    """Rank 1 failed first; rank 0 ended in consequence."""
    root = exception(1)
    after = replace(exception(0, 30), consequence_of=0, title="rank 0 lost its peer")
    skew = make("clock-skew", where=Where(node="node-1"), values={"node": "node-1", "skew_s": 2.5}, lang="en")
    ranks = tuple(
        RankState(one, "node-0", "worker", f"{LOGS}/worker_{one}.log", "failed", 1, None, None, {}) for one in (0, 1)
    )
    return Diagnosis("failed", 0, ranks, (root, after, skew), LOGS, "20261130_040000_9")


def hang_diagnosis() -> Diagnosis:
    """Rank 3 stands still."""
    where = Where(rank=3, file=f"{LOGS}/worker_3.log", line=7)
    root = make("hang", where=where, values={"who": "rank 3", "rank": 3, "place": "waits in AllReduce"}, lang="en")
    return Diagnosis("running", 0, (), (root,), LOGS, "20261130_040000_9")


def state(*runs: KnownRun, **facts: object) -> LaunchState:
    """The list of these runs, looked at just now."""
    values: dict[str, object] = {"folder": "/project", "listing": Listing(runs, NOW, loaded=True), "now": NOW, **facts}
    return LaunchState(**values)  # type: ignore[arg-type]


def open_state(run: OpenRun, *runs: KnownRun, **facts: object) -> LaunchState:
    """A run open in front."""
    return state(*(runs or EVERY), open=run, level="run", **facts)


def moved(before: LaunchState, folder: str) -> LaunchState:
    """The same state with its logs in another folder."""
    run = before.open
    if run is None:
        return before

    def at(path: str | None) -> str | None:
        return None if path is None else path.replace(LOGS, folder)

    view, diagnosis = run.view, run.diagnosis
    if view is not None:
        ranks = tuple(replace(one, file=at(one.file)) for one in view.ranks)
        logs = tuple(replace(one, path=one.path.replace(LOGS, folder)) for one in view.logs)
        view = replace(view, ranks=ranks, logs=logs)
    if diagnosis is not None:
        found = tuple(replace(one, where=replace(one.where, file=at(one.where.file))) for one in diagnosis.findings)
        ends = tuple(replace(one, file=at(one.file)) for one in diagnosis.ranks)
        diagnosis = replace(diagnosis, findings=found, ranks=ends, path=folder)
    return replace(before, open=replace(run, view=view, diagnosis=diagnosis))


EMPTY = state()
READ_ONLY = state(read_only=True)
LISTED = state(*EVERY)
OPEN_RUNNING = open_state(OpenRun(RUNNING.key, view((rank(0), rank(1)))))
OPEN_COMPILING = open_state(
    OpenRun(
        RUNNING.key,
        view(
            tuple(
                rank(
                    one, phase="compiling", phase_text="task_emit", phase_done=20, phase_total=25, step=None, loss=None
                )
                for one in range(4)
            ),
            progress=RunProgress(compiling=4),
        ),
    )
)
OPEN_FAILED = open_state(
    OpenRun(
        FAILED.key,
        view(
            (rank(0, state="killed", exit_code=-15, errors=2), rank(1, state="failed", exit_code=1, errors=7)),
            "failed",
            ended=NOW - 10,
            first_failure=Failed("worker", 1, 1, NOW - 12),
        ),
        failed_diagnosis(),
    )
)
OPEN_SUCCEEDED = open_state(
    OpenRun(
        SUCCEEDED.key,
        view(
            (rank(0, state="ended", exit_code=0, phase="ended"), rank(1, state="ended", exit_code=0)),
            "succeeded",
            ended=NOW,
        ),
    )
)
OPEN_STOPPED = open_state(
    OpenRun(
        STOPPED.key, view((rank(0, state="killed", exit_code=-2), rank(1, state="killed")), "stopped", ended=NOW - 5)
    )
)
OPEN_HANG = open_state(
    OpenRun(
        RUNNING.key,
        view(
            tuple(rank(one, state="silent", last_line_age_s=62.0) for one in range(4)),
            progress=RunProgress(step=40, silent=4),
        ),
        hang_diagnosis(),
    )
)
OPEN_LOST = open_state(OpenRun(LOST.key, view((rank(0, state="unknown"),), "lost")))
OPEN_FOREIGN = open_state(
    OpenRun(FOREIGN.key, view(tuple(rank(one) for one in range(8)), kind="foreign", run_id=None, title="pretrain.py"))
)
OPEN_HUGE = open_state(OpenRun(RUNNING.key, view(tuple(rank(one) for one in range(1024)))))
STATES = {
    "empty": EMPTY,
    "read_only": READ_ONLY,
    "listed": LISTED,
    "running": OPEN_RUNNING,
    "compiling": OPEN_COMPILING,
    "failed": OPEN_FAILED,
    "failed_details": replace(OPEN_FAILED, side="details"),
    "succeeded": OPEN_SUCCEEDED,
    "stopped": OPEN_STOPPED,
    "hang": OPEN_HANG,
    "lost": OPEN_LOST,
    "foreign": OPEN_FOREIGN,
    "huge": OPEN_HUGE,
}
"""Every state that a snapshot shows, by its name."""
