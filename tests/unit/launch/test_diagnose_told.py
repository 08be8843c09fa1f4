"""What a diagnosis claims beside its root is true: who was ended, whether the job ended well, what a process is."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.launch.diagnose import Diagnosis, diagnose
from tests.unit.launch.runs import goodbye, joined, record, registered, scheduler, worker_died, write
from tests.unit.launch.samples import LAUNCH

LATER = 4e9


def titles(found: Diagnosis) -> list[str]:
    return [one.title for one in found.findings]


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSWB_LANG", "en")


def test_the_launcher_that_reports_a_killed_worker_was_not_killed_itself() -> None:
    found = diagnose(LAUNCH / "sigkill_worker", now=LATER)
    assert not any(title.startswith("launcher was ended") for title in titles(found))
    assert titles(found).count("rank 1 was ended by SIGKILL") == 2


def test_without_any_log_of_the_workers_it_was_a_worker(tmp_path: Path) -> None:
    write(tmp_path, "console.txt", ["Start worker process with rank id:0", worker_died(7, 5, -9)])
    assert titles(diagnose(tmp_path, now=LATER))[0] == "a worker was ended by SIGKILL"


def test_an_asynchronous_error_of_a_job_that_failed_does_not_claim_that_it_ended_well() -> None:
    found = diagnose(LAUNCH / "py_oom", now=LATER)
    assert found.ranks[0].exit_code == 1
    assert [one.code for one in found.findings] == ["host-out-of-memory"]


def test_an_asynchronous_error_that_no_signature_knows(tmp_path: Path) -> None:
    place = "mindspore/ccsrc/runtime/pipeline/async_rqueue.cc:267] WorkerJoin"
    write(tmp_path, "console.txt", [record("ERROR", "RUNTIME_FRAMEWORK", 7, 1, "WorkerJoin failed: odd end", place)])
    write(tmp_path, "rc.txt", ["rc=3"])
    assert titles(diagnose(tmp_path, now=LATER))[0] == "the training script raised an asynchronous error: odd end"


def test_a_plain_program_is_a_process_not_a_launcher() -> None:
    found = diagnose(LAUNCH / "py_segv", now=LATER)
    assert titles(found)[0] == "process was ended by SIGSEGV"
    assert [one.role for one in found.ranks] == ["unknown"]
    assert [one.role for one in diagnose(LAUNCH / "args_no_script", now=LATER).ranks] == ["launcher"]


def test_an_empty_log_is_no_good_end(tmp_path: Path) -> None:
    write(tmp_path, "worker_0.log", [*joined(7, 0), goodbye(7, 9)])
    write(tmp_path, "worker_1.log", [])
    write(tmp_path, "scheduler.log", [])
    assert diagnose(tmp_path, now=LATER).verdict == "unknown"
    assert diagnose(tmp_path).verdict == "running"
    write(tmp_path, "worker_1.log", [*joined(8, 1), goodbye(8, 9)])
    assert diagnose(tmp_path, now=LATER).verdict == "succeeded"


def test_the_ranks_of_a_job_that_ended_well_have_ended() -> None:
    found = diagnose(LAUNCH / "glog1", now=LATER)
    assert found.verdict == "succeeded"
    assert {one.state for one in found.ranks} == {"ended"}


def test_the_evidence_of_a_hang_begins_with_what_the_rank_itself_printed() -> None:
    root = diagnose(LAUNCH / "hang_sigINT", now=LATER).findings[0]
    assert root.code == "hang"
    own, _, last = root.evidence.split("\n")
    assert own.startswith("rank id: 1") and "TcpConnection is constructed" in last


def test_a_job_that_goes_on_says_which_workers_it_waits_for(tmp_path: Path) -> None:
    write(tmp_path, "worker_0.log", joined(7, 0, 2))
    write(tmp_path, "worker_1.log", joined(8, 1, 2))
    write(tmp_path, "scheduler.log", [*scheduler(), *registered(900, 2, [0, 1], 3)])
    found = diagnose(tmp_path)
    assert found.verdict == "running" and found.root is None
    assert titles(found) == ["2 of 3 workers have registered; the job waits for the others"]
    assert found.findings[0].where.line == 3 and "node number: 2" in found.findings[0].evidence
    write(tmp_path, "scheduler.log", [*scheduler(), *registered(900, 2, [0, 1, 2], 3)])
    assert titles(diagnose(tmp_path)) == []


def test_tracebacks_are_counted() -> None:
    assert diagnose(LAUNCH / "py_gather", now=LATER).ranks[0].tracebacks == 1
