"""The main job on real MindSpore: every way a two-rank training ends, under both backends.

Each case runs ``mswb run``, then ``mswb diagnose`` on the logs it left; both must name the same rank, file and cause,
and no process of the run may remain.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.harness import Outcome, Workspace, finish, free_port, interrupt, marked_processes
from tests.waiting import wait_until

pytestmark = pytest.mark.mindspore
BACKENDS = ("msrun", "direct")
LONG_SILENCE_S = 15.0


@dataclass(frozen=True)
class Case:
    """What a training does and what must be said of it. ``statement`` stands in the log line that is named."""

    script: tuple[str, ...]
    code: str
    rank: int | None
    log: str
    statement: str
    evidence: str
    source_line: str = ""


CASES = {
    "exception": Case(("one_rank.py", "exception"), "script-exception", 1, "worker_1.log", "KeyError: 1",
                      "return parts[number]", "return parts[number]"),
    "sigkill": Case(("one_rank.py", "sigkill"), "killed-by-signal", 1, "worker_1.log", "", "SIGKILL"),
    "segfault": Case(("one_rank.py", "segfault"), "killed-by-signal", 1, "worker_1.log", "Segmentation fault",
                     "one_rank.py", "ctypes.string_at(0)"),
    "graph": Case(("shape_error.py",), "shape-mismatch", -1, "worker_", "MatMul", "MatMul",
                  "return ops.matmul(self.dense(x), self.weight)"),
    "data": Case(("damaged_data.py", "bad.tfrecord"), "data-file-corrupt", 1, "worker_1.log", "TFRecord",
                 "bad.tfrecord"),
    "absent": Case(("absent_peer.py",), "collective-timeout", 1, "worker_1.log", "", "wait_for_file",
                   "time.sleep(0.2)"),
}  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def flags(backend: str, *more: str) -> tuple[str, ...]:
    numbers = ("--worker_num", "2", "--local_worker_num", "2", "--cluster_time_out", "60")
    return ("run", "--format", "json", "--backend", backend, "--master_port", str(free_port()), *numbers, *more)


def check_place(found: dict[str, object], case: Case, folder: Path) -> None:
    where = found["where"]
    assert isinstance(where, dict)
    assert found["code"] == case.code
    assert where["rank"] == case.rank or case.rank == -1
    assert case.log in os.path.basename(where["file"])
    lines = Path(where["file"]).read_text(errors="replace").splitlines()
    assert case.statement in lines[where["line"] - 1]
    assert case.evidence in str(found["evidence"])
    assert found["cause"] and found["advice"]
    if case.source_line:
        values = found["values"]
        assert isinstance(values, dict)
        assert case.source_line in Path(values["script_file"]).read_text().splitlines()[values["script_line"] - 1]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_the_first_failure_is_named(workspace: Workspace, name: str, backend: str) -> None:
    case = CASES[name]
    ran = workspace.mswb(*flags(backend), workspace.script(case.script[0]), *case.script[1:])
    assert ran.code == 1, ran.stderr
    assert ran.report["schema"] == "mswb.diagnose/1" and ran.report["verdict"] == "failed"
    check_place(ran.root, case, workspace.folder)
    assert marked_processes(workspace.folder) == []

    again = workspace.mswb("diagnose", "ms_run_log", "--format", "json")
    assert again.code == 1
    check_place(again.root, case, workspace.folder)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_good_run_has_no_finding(workspace: Workspace, backend: str) -> None:
    ran = workspace.mswb(*flags(backend), workspace.script("train_ok.py"))
    assert ran.code == 0, ran.stderr
    assert ran.report["verdict"] == "succeeded"
    assert [one["code"] for one in ran.report["findings"] if one["severity"] != "note"] == []
    texts = [one.get("text", "") for one in ran.objects]
    assert sum("step 2 loss" in text for text in texts) >= 2
    merged = next(workspace.log_dir().glob("msrun_*.log")).read_text()
    assert "[worker_0] step 2 loss" in merged and "[worker_1] step 2 loss" in merged
    assert marked_processes(workspace.folder) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_port_in_use_is_seen_before_and_after_the_start(workspace: Workspace, backend: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = ("--master_port", str(taken.getsockname()[1]), "--cluster_time_out", "10")
        refused = workspace.mswb(*flags(backend, *port), workspace.script("train_ok.py"))
        assert refused.code == 1 and refused.root["code"] == "port-in-use"
        assert not workspace.log_dir().exists()
        ran = workspace.mswb(*flags(backend, *port, "--skip-check"), workspace.script("train_ok.py"))
    assert ran.code == 1 and ran.root["code"] == "port-in-use"
    assert os.path.basename(ran.root["where"]["file"]) == "scheduler.log"
    assert marked_processes(workspace.folder) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_too_few_workers_are_counted(workspace: Workspace, backend: str) -> None:
    numbers = ("--worker_num", "3", "--node_rank", "0", "--cluster_time_out", "25", "--skip-check")
    ran = workspace.mswb(*flags(backend, *numbers), workspace.script("train_ok.py"))
    assert ran.code == 1
    assert ran.root["code"] == "wrong-worker-count"
    assert (ran.root["values"]["registered"], ran.root["values"]["expected"]) == (2, 3)
    assert marked_processes(workspace.folder) == []


def stopped(workspace: Workspace, backend: str, ready: str, *script: str) -> Outcome:
    """Start, wait until rank 1 has written ``ready`` and then nothing for long, interrupt."""
    process = workspace.begin(*flags(backend), workspace.script(script[0]), *script[1:])
    begun = time.monotonic()
    try:
        wait_until(lambda: ready in workspace.text_of("worker_1.log"), timeout=150)
        # A rank may pause for seconds while it comes up; a hang is a silence of more than twice the longest pause.
        long = max(LONG_SILENCE_S, 2.2 * (time.monotonic() - begun))
        log = workspace.log_dir() / "latest" / "worker_1.log"
        wait_until(lambda: silence(log) > long, timeout=150)
        interrupt(process)
        return finish(process)
    finally:
        process.kill()


def silence(log: Path) -> float:
    return time.time() - log.stat().st_mtime


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hang_that_is_stopped_is_located(workspace: Workspace, backend: str) -> None:
    ran = stopped(workspace, backend, "rank id: 1", "one_rank.py", "hang")
    assert ran.code == 130, ran.stderr
    assert ran.report["verdict"] == "failed"
    assert ran.root["code"] == "hang"
    assert ran.root["where"]["rank"] == 1
    assert ran.root["values"]["function"] == "wait_for_lock"
    assert marked_processes(workspace.folder) == []
