"""Many ranks: the first failure over all of them, and the rank that the others waited for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.launch.reports import Expected, check_good, check_root, report_of
from tests.unit.launch.runs import (
    ascend,
    goodbye,
    joined,
    raised,
    record,
    registered,
    scheduler,
    steps,
    timed_out,
    waited_in_collective,
    worker_died,
    write,
)

SOCKET = "Getting socket times out. Reason: The remote does not initiate a connect request."
NOTIFY = "The wait execution of the Notify register times out. Reason: no record from remote rank [3]."
OLD = (1.0, 1.0)
"""A modification time of long ago: nothing writes there any more."""


def _gave_up(code: str) -> list[str]:
    text = SOCKET if code == "EI0006" else NOTIFY
    return [*raised("RuntimeError: Call aclrtSynchronizeStream failed", inside=True), *ascend(code, text)]


def _consequences(report: dict[str, Any], code: str) -> list[int]:
    """The ranks of the findings with this code that are folded under the root."""
    folded = [one for one in report["findings"] if one["consequence_of"] == report["root"] and one["code"] == code]
    return sorted(one["where"]["rank"] for one in folded if one["where"]["rank"] is not None)


@pytest.mark.parametrize("code", ["EI0006", "EI0002"])
def test_seven_of_eight_timed_out_and_one_tells_why(tmp_path: Path, code: str) -> None:
    for rank in range(8):
        own = raised("ValueError: bad label in row 512") if rank == 5 else _gave_up(code)
        lines = [*joined(1000 + rank, rank, 10), *steps(1, 5), *own, goodbye(1000 + rank, 140 + rank)]
        write(tmp_path, f"node-{rank // 4}/worker_{rank % 4}.log", lines)
    report = report_of(tmp_path)
    check_root(report, Expected("script-exception", "node-1/worker_1.log", (5,), "ValueError: bad label"))
    assert _consequences(report, "collective-timeout") == [0, 1, 2, 3, 4, 6, 7]


def test_seven_of_eight_timed_out_and_one_is_silent(tmp_path: Path) -> None:
    for rank in range(8):
        own = ["loading the index ..."] if rank == 6 else _gave_up("EI0006")
        write(tmp_path, f"rank_{rank}/train.log", [*joined(1000 + rank, rank, 10), *own])
    report = report_of(tmp_path)
    check_root(report, Expected("collective-timeout", "rank_6/train.log", (6,), "loading the index"))
    assert _consequences(report, "collective-timeout") == [0, 1, 2, 3, 4, 5, 7]
    assert "rank 6" in report["findings"][report["root"]]["title"]


def test_the_scheduler_blames_the_victim_of_a_collective(tmp_path: Path) -> None:
    place = "mindspore/ccsrc/cluster/topology/meta_server_node.cc:548] UpdateTopoState"
    blame = "The node: 0 is timed out. It may exit with exception, please check this node's log."
    write(tmp_path, "scheduler.log", [*scheduler(), record("ERROR", "DISTRIBUTED", 900, 75, blame, place)])
    write(tmp_path, "worker_0.log", [*joined(7, 0, 10), "rank id: 0", *waited_in_collective(7, 42)])
    write(tmp_path, "worker_1.log", [*joined(8, 1, 10), "rank id: 1", "preprocessing epoch 0"])
    check_root(report_of(tmp_path), Expected("collective-timeout", "worker_1.log", (1,), "preprocessing epoch 0"))


def test_a_card_in_use_on_one_rank(tmp_path: Path) -> None:
    busy = ascend(
        "EJ0001", "Failed to initialize the HCCP process. Reason: Maybe the last training process is running."
    )
    write(tmp_path, "worker_0.log", [*joined(7, 0), *_gave_up("EI0006")])
    write(tmp_path, "worker_1.log", [*joined(8, 1), *raised("RuntimeError: initialization failed", inside=True), *busy])
    check_root(report_of(tmp_path), Expected("device-busy", "worker_1.log", (1,), "EJ0001"))


def test_one_failure_among_1024_ranks(tmp_path: Path) -> None:
    for rank in range(1024):
        pid = 10_000 + rank
        own: list[str] = []
        if rank == 777:
            own = [*raised("ZeroDivisionError: division by zero"), goodbye(pid, 21)]
        elif rank % 8 == 1:
            own = waited_in_collective(pid, 51)
        write(tmp_path, f"worker_{rank}.log", [*joined(pid, rank, 10), *steps(1, 4), *own])
    report = report_of(tmp_path)
    check_root(report, Expected("script-exception", "worker_777.log", (777,), "^ZeroDivisionError"))
    assert [rank["rank"] for rank in report["ranks"]] == list(range(1024))


def test_the_earlier_of_two_exceptions(tmp_path: Path) -> None:
    for rank, (second, text) in enumerate([(30, "RuntimeError: peer gone"), (25, "AssertionError: bad batch")]):
        lines = [*joined(7 + rank, rank), record("WARNING", "ME", 7 + rank, second, "x"), *raised(text)]
        write(tmp_path, f"worker_{rank}.log", [*lines, goodbye(7 + rank, second + 0.5)])
    check_root(report_of(tmp_path), Expected("script-exception", "worker_1.log", (1,), "AssertionError: bad batch"))


def test_the_same_exception_everywhere_is_one_cause(tmp_path: Path) -> None:
    for rank in range(4):
        own = raised("NameError: name 'optm' is not defined")
        write(tmp_path, f"worker_{rank}.log", [*joined(7 + rank, rank, 1), *own, goodbye(7 + rank, 2)])
    check_root(report_of(tmp_path), Expected("script-exception", "worker_0.log", (0,), "NameError: name 'optm'"))


def test_clocks_that_differ_turn_no_order_around(tmp_path: Path) -> None:
    joins = registered(900, 9, range(4), 4, per_node=2)
    write(tmp_path, "a/scheduler.log", [*scheduler(900, 5), *joins])
    for rank in range(4):
        ahead, pid = (3600 if rank >= 2 else 0), 50 + rank
        own = []
        if rank == 2:
            error = record("ERROR", "ME", pid, 20 + ahead, "x")
            own = [error, *raised("StopIteration: shard 2 has no rows"), goodbye(pid, 20.2 + ahead)]
        elif rank == 0:
            own = [record("WARNING", "ME", pid, 25, "x"), *raised("ValueError: no gradient"), goodbye(pid, 25.2)]
        write(tmp_path, f"{'ab'[rank // 2]}/worker_{rank % 2}.log", [*joined(pid, rank, 10.002 + ahead), *own])
    report = report_of(tmp_path)
    check_root(report, Expected("script-exception", "b/worker_0.log", (2,), "StopIteration"))
    skew = next(one for one in report["findings"] if one["code"] == "clock-skew")
    assert skew["values"]["skew_s"] == pytest.approx(3600, abs=1)


def test_the_rank_is_what_the_log_says(tmp_path: Path) -> None:
    write(tmp_path, "worker_0.log", [*joined(7, 5), *raised("KeyError: 'x'")])
    write(tmp_path, "worker_1.log", joined(8, 4))
    report = report_of(tmp_path)
    check_root(report, Expected("script-exception", "worker_0.log", (5,), "KeyError"))
    assert [(rank["rank"], Path(rank["file"]).name) for rank in report["ranks"]] == [
        (4, "worker_1.log"),
        (5, "worker_0.log"),
    ]


def test_equal_names_on_two_nodes(tmp_path: Path) -> None:
    for rank in range(4):
        own = raised("KeyError: 'y'") if rank == 2 else []
        write(tmp_path, f"10.0.0.{rank // 2 + 1}/worker_{rank % 2}.log", [*joined(7 + rank, rank), *own])
    report = report_of(tmp_path)
    check_root(report, Expected("script-exception", "10.0.0.2/worker_0.log", (2,), "KeyError: 'y'"))
    assert [rank["node"] for rank in report["ranks"]] == ["10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2"]


def test_logs_of_an_earlier_and_bigger_run_mislead_nobody(tmp_path: Path) -> None:
    unregistered = record("WARNING", "DISTRIBUTED", 900, 30, "Node 0 has unregistered.")
    write(tmp_path, "scheduler.log", [*scheduler(900, 5), *registered(900, 9, [0], 1), unregistered])
    write(tmp_path, "worker_0.log", [*joined(7, 0, 10), *steps(1, 9), goodbye(7, 30)])
    write(tmp_path, "worker_1.log", [*joined(3, 1, -9000), *raised("KeyError: 'old'"), goodbye(3, -8900)])
    write(tmp_path, "rc.txt", ["rc=0"])
    report = report_of(tmp_path)
    check_good(report)
    assert [one["code"] for one in report["findings"]] == ["stale-logs"]


def test_too_few_workers(tmp_path: Path) -> None:
    lines = [*scheduler(), *registered(900, 9, [0, 1, 3], 4), *timed_out(900, 610, "MS_SCHED")]
    write(tmp_path, "scheduler.log", lines)
    for rank in (0, 1, 3):
        write(tmp_path, f"worker_{rank}.log", timed_out(7 + rank, 610.5, "MS_WORKER"))
    report = report_of(tmp_path)
    check_root(
        report, Expected("wrong-worker-count", "scheduler.log", (None,), values={"registered": 3, "expected": 4})
    )
    assert set(_consequences(report, "cluster-timeout")) == {0, 1, 3}


def test_a_worker_that_never_joined(tmp_path: Path) -> None:
    write(tmp_path, "scheduler.log", [*scheduler(), *registered(900, 9, [0], 2), *timed_out(900, 610, "MS_SCHED")])
    write(tmp_path, "worker_0.log", timed_out(7, 610.5, "MS_WORKER"))
    write(tmp_path, "worker_1.log", ["loading the index of the dataset", "still loading"])
    check_root(report_of(tmp_path), Expected("cluster-timeout", "worker_1.log", (1,), "still loading"))


def test_a_lost_scheduler(tmp_path: Path) -> None:
    text = "Failed to connect to the meta server. Maybe it has exited."
    write(tmp_path, "worker_0.log", [*joined(7, 0), *steps(1, 5), record("ERROR", "DISTRIBUTED", 7, 61, text)])
    check_root(report_of(tmp_path), Expected("scheduler-lost", "worker_0.log", (0,), "meta server"))


@pytest.mark.parametrize("code", ["rc=-15", "143", None])
def test_the_rank_that_is_a_step_behind(tmp_path: Path, code: str | None) -> None:
    for rank in range(4):
        log = write(tmp_path, f"worker_{rank}.log", [*joined(7 + rank, rank), *steps(1, 10 if rank == 3 else 11)])
        os.utime(log, OLD)
    if code is not None:
        write(tmp_path, "rc.txt", [code])
    report = report_of(tmp_path)
    check_root(report, Expected("hang", "worker_3.log", (3,), "step: 9"))
    assert report["findings"][report["root"]]["values"]["waiting_ranks"] == [0, 1, 2]


def test_msrun_names_the_process_that_was_killed(tmp_path: Path) -> None:
    for rank in (0, 1):
        write(tmp_path, f"worker_{rank}.log", [*joined(7 + rank, rank), *steps(1, 9)])
    write(tmp_path, "console.txt", [worker_died(8, 60, -9)])
    write(tmp_path, "rc.txt", ["1"])
    root = Expected("killed-by-signal", "worker_1.log", (1,), "step: 8", "SIGKILL", {"exit_code": -9})
    check_root(report_of(tmp_path), root)


def test_the_console_alone_names_the_rank(tmp_path: Path) -> None:
    """tail -f mixes the ranks' lines there; msrun's own traceback is only its last word."""
    both = [line for pair in zip(joined(7, 0), joined(8, 1), strict=True) for line in pair]
    own = [*raised("KeyError: 1"), goodbye(8, 5), worker_died(8, 6, 1)]
    last = raised("RuntimeError: Distributed job exited with exception. Please check logs in directory: /x.")
    write(tmp_path, "console.txt", [*both, *own, *last])
    write(tmp_path, "rc.txt", ["1"])
    check_root(report_of(tmp_path), Expected("script-exception", "console.txt", (1, None), "^KeyError: 1$"))
