"""Processes beside their devices: real ones, started here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mswb.env.devices import procs
from tests.waiting import wait_until


@contextmanager
def child(code: str, stdout: Path | None = None, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python that runs ``code``, then waits for its standard input to close; leads a session."""
    out = os.open(stdout or os.devnull, os.O_WRONLY | os.O_CREAT)
    process = subprocess.Popen(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('ready', file=sys.stderr, flush=True)\nsys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE, start_new_session=True,
        env={**os.environ, **variables},
    )  # fmt: skip
    try:
        assert process.stderr is not None and process.stderr.readline() == b"ready\n"
        yield process
    finally:
        process.communicate()
        os.close(out)


def test_a_worker_is_known_by_its_log_and_its_variables(tmp_path: Path) -> None:
    named = {"MS_ROLE": "MS_WORKER", "RANK_ID": "0", "DEVICE_ID": "3", "MSWB_RUN_ID": "r1"}
    with child("pass", tmp_path / "worker_5.log", **named) as process:
        found = procs.trainer_of(process.pid)
        assert found is not None
        assert (found.role, found.rank, found.run, found.variables["DEVICE_ID"]) == ("worker", 5, "r1", "3")
        assert "PATH" not in found.variables
        assert process.pid in {one.pid for one in procs.find_trainers(procs.scan())}


def test_rank_by_variables_and_strangers() -> None:
    with child("pass", MS_ROLE="MS_WORKER", RANK_ID="7") as process:
        found = procs.trainer_of(process.pid)
        assert found is not None and found.rank == 7
    with child("pass", MS_ROLE="MS_SCHED", RANK_ID="0") as process:
        found = procs.trainer_of(process.pid)
        assert found is not None and (found.role, found.rank) == ("scheduler", None)
        assert process.pid not in {one.pid for one in procs.find_trainers(procs.scan())}
    assert procs.trainer_of(os.getpid()) is None


def tree_of_two(root: int) -> list[procs.Stat]:
    tree = procs.trees(procs.scan(), [root])[root]
    return tree if len(tree) == 2 else []


def test_trees_and_their_sums() -> None:
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'input()'], stdin=0)"
    with child(code) as process:
        table = wait_until(
            lambda: one if len(procs.trees(one := procs.scan(), [process.pid])[process.pid]) == 2 else {}
        )
        tree = procs.trees(table, [process.pid])[process.pid]
        shares = {stat.pid: 30.0 for stat in tree}
        found = procs.counters(process.pid, tree, shares)
        assert (found.cpu_percent, found.processes) == (60.0, 2)
        assert found.rss_bytes == sum(stat.rss_bytes for stat in tree) > 0
    assert procs.counters(5, [], {}) == procs.ProcessCounters(5, None, None, 0)


def test_shares_between_two_looks() -> None:
    shares = procs.CpuShares()
    one = procs.Stat(9, 1, 9, 100, "python", False, 10.0, 0)
    later = procs.Stat(9, 1, 9, 100, "python", False, 11.5, 0)
    other = procs.Stat(9, 1, 9, 200, "another", False, 90.0, 0)
    assert shares.share(one, now=1.0) is None
    assert shares.share(later, now=2.0) == 150.0
    assert shares.share(other, now=3.0) is None  # the pid went to another process
    shares.keep(())
    assert shares.share(other, now=4.0) is None


def test_who_and_what() -> None:
    assert procs.user_of(os.getpid()) is not None
    assert "python" in (procs.command_of(os.getpid()) or "")
    assert procs.user_of(1 << 23) is None and procs.command_of(1 << 23) is None and procs.look(1 << 23) is None


@pytest.mark.parametrize("initial", [True, False])
def test_whose_pid_it_is(initial: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the first namespace a pid is what it says; in another one its process must hold a device."""
    namespace = procs._FIRST_PID_NAMESPACE if initial else "pid:[4026532000]"
    monkeypatch.setattr(procs, "_namespace", lambda: namespace)
    assert procs.is_here(os.getpid()) is initial
    assert not procs.is_here(1 << 23)
    monkeypatch.setattr(procs, "_DEVICE_NODES", (str(tmp_path),))
    with open(tmp_path / "nvidia0", "wb"):
        assert procs.is_here(os.getpid())
