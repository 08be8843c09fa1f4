"""Odd evidence: no logs at all, logs that vanish or can't be read, words that only look deadly, ends from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.findings import MswbError, stop
from mswb.launch import scan
from mswb.launch.diagnose import Diagnosis, diagnose
from mswb.launch.discover import discover
from tests.unit.launch.runs import CALL, ended, goodbye, joined, raised, steps, write, write_status

LATER = 4e9
TIME_LIMIT = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-30T06:00:00 DUE TO TIME LIMIT ***"


def root(found: Diagnosis) -> tuple[str, str | None, int | None, int | None]:
    """(verdict, code, rank, line) of the root."""
    one = found.findings[found.root] if found.root is not None else None
    return found.verdict, one and one.code, one and one.where.rank, one and one.where.line


def test_exit_codes_are_all_there_is(tmp_path: Path) -> None:
    for rank, code in enumerate((0, 1, 137)):
        write(tmp_path, f"exit_code_{rank}", [str(code)])
    found = diagnose(tmp_path, now=LATER)
    assert root(found) == ("failed", "killed-by-signal", 2, None)
    assert {(one.rank, one.exit_code, one.state) for one in found.ranks} == {
        (0, 0, "ended"), (1, 1, "failed"), (2, -9, "killed")
    }  # fmt: skip


@pytest.mark.parametrize(("code", "verdict"), [("0", "succeeded"), ("139", "failed")])
def test_the_exit_code_of_the_job_is_all_there_is(tmp_path: Path, code: str, verdict: str) -> None:
    write(tmp_path, "exit_code", [code])
    assert diagnose(tmp_path, now=LATER).verdict == verdict


def test_a_file_that_tells_no_code_is_no_evidence(tmp_path: Path) -> None:
    write(tmp_path, "exit_code", ["hello"])
    with pytest.raises(MswbError) as caught:
        diagnose(tmp_path)
    assert caught.value.finding.code == "no-logs"


def test_logs_that_the_job_deleted(tmp_path: Path) -> None:
    """Our own record still knows who failed first."""
    logs = tmp_path / "gone"
    first, second = (f"{logs}/worker_{rank}.log" for rank in (0, 1))
    write_status(tmp_path, [ended(0, -15, ended_by_us=True, log=first), ended(1, 3, log=second)], exit_code=3)
    (tmp_path / "run.json").rename(tmp_path / "status.json")
    write(tmp_path, "spec.json", ["{}"])
    write(tmp_path, "shim.log", [])
    (tmp_path / "log").symlink_to(logs)
    found = diagnose(tmp_path, now=LATER)
    assert root(found) == ("failed", "unknown-failure", 1, None)
    assert {(one.rank, one.exit_code) for one in found.ranks} == {(0, -15), (1, 3)}


def test_a_log_that_cannot_be_read_is_named_and_the_others_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "worker_0.log", joined(7, 0))
    write(tmp_path, "worker_1.log", [*joined(8, 1), *raised("KeyError: 3")])
    real = scan.open_regular

    def refuse(path: str) -> int:
        if path.endswith("worker_0.log"):
            raise stop("path-unreadable", values={"path": path, "reason": "Permission denied"})
        return real(path)

    monkeypatch.setattr(scan, "open_regular", refuse)
    found = diagnose(tmp_path, now=LATER)
    assert root(found)[:3] == ("failed", "script-exception", 1)
    unread = [one for one in found.findings if one.code == "path-unreadable"]
    assert [(one.severity, one.where.rank) for one in unread] == [("warning", 0)]


@pytest.mark.parametrize("with_code", [True, False])
def test_words_of_a_deadly_signal_in_a_run_that_ended_well(tmp_path: Path, with_code: bool) -> None:
    text = [*joined(7, 0), "Segmentation fault handler installed", *steps(1, 5), goodbye(7, 60)]
    write(tmp_path, "worker_0.log", text)
    if with_code:
        write(tmp_path, "rc.txt", ["0"])
    assert root(diagnose(tmp_path, now=LATER)) == ("succeeded", None, None, None)


def test_a_traceback_behind_a_hole_of_nuls(tmp_path: Path) -> None:
    path = write(tmp_path, "worker_0.log", joined(7, 0))
    with path.open("ab") as file:
        file.write(b"\0" * 200_000 + "\n".join([*CALL, "KeyError: 3", ""]).encode())
    assert root(diagnose(tmp_path, now=LATER)) == ("failed", "script-exception", 0, 8)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("OSError: [Errno 98] 地址已在使用", "port-in-use"),
        ("OSError: [Errno 28] 设备上没有空间: '/ckpt/a.ckpt'", "disk-full"),
        ("OSError: [Errno 24] 打开的文件过多: '/data/1.jpg'", "open-file-limit"),
        ("FileNotFoundError: [Errno 2] 没有那个文件或目录: '/data/a'", "path-not-found"),
        ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", "device-out-of-memory"),
    ],
)
def test_errors_of_the_system_in_any_language(tmp_path: Path, line: str, code: str) -> None:
    write(tmp_path, "worker_0.log", [*joined(7, 0), *raised(line)])
    assert root(diagnose(tmp_path, now=LATER))[:3] == ("failed", code, 0)


def test_the_time_limit_of_slurm(tmp_path: Path) -> None:
    write(tmp_path, "slurm-7.out", [*joined(7, 0), *steps(1, 20), TIME_LIMIT])
    found = diagnose(tmp_path, now=LATER)
    assert root(found)[:2] == ("failed", "job-cancelled")
    assert "TIME LIMIT" in found.findings[0].title


@pytest.mark.parametrize(
    ("word", "code"), [("OOMKilled", "host-out-of-memory"), ("OOMKilled: false", "killed-by-signal")]
)
def test_what_kubernetes_says_of_memory(tmp_path: Path, word: str, code: str) -> None:
    write(tmp_path, "worker_0.log", [*joined(7, 0), *steps(1, 5)])
    write(tmp_path, "rc.txt", [word, "exit code: 137"])
    assert root(diagnose(tmp_path, now=LATER))[1] == code


def test_a_run_folder_whose_logs_are_there_is_read_as_before(tmp_path: Path) -> None:
    write(tmp_path / "logs", "worker_0.log", joined(7, 0))
    write(tmp_path, "spec.json", ["{}"])
    (tmp_path / "log").symlink_to(tmp_path / "logs")
    assert [file.name for file in discover(tmp_path).files] == ["worker_0.log"]


def test_the_record_that_knows_the_end_counts(tmp_path: Path) -> None:
    """The disk of the logs was full: run.json says "running" for ever, the run folder's own record knows better."""
    logs = tmp_path / "logs"
    write(logs, "worker_0.log", joined(7, 0))
    write_status(tmp_path, [ended(0, 3)], exit_code=3)
    (tmp_path / "run.json").rename(tmp_path / "status.json")
    write_status(logs, [], state="running", ended=None)
    write(tmp_path, "spec.json", ["{}"])
    (tmp_path / "log").symlink_to(logs)
    assert root(diagnose(tmp_path, now=LATER))[:3] == ("failed", "unknown-failure", 0)


def test_stacks_alone_tell_who_is_missing(tmp_path: Path) -> None:
    """Both ranks wrote the same steps; their stacks show one in MindSpore and one in the user's own code."""
    places = {0: "/opt/lib/python3.11/site-packages/mindspore/communication/comm_func.py", 1: "/home/u/load.py"}
    for rank, place in places.items():
        head = f"rank id: {rank}"
        stack = ["Current thread 0x00007fd2a65ecb80 (most recent call first):", f'  File "{place}", line 31 in wait',
                 '  File "/home/u/train.py", line 88 in <module>']  # fmt: skip
        write(tmp_path, f"worker_{rank}.log", [head, "step 1 loss 0.5", "step 2 loss 0.4", *stack])
    found = diagnose(tmp_path, now=LATER)
    assert root(found) == ("failed", "hang", 1, 4)
    assert found.findings[0].values["waiting_ranks"] == [0]
    assert found.findings[0].values["script_line"] == 31
