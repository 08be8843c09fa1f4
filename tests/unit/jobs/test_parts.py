"""The pure parts: roles from /proc, ladders, merged lines, log growth, cgroup counters, stat lines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.jobs import cgroup, ending, procs
from mswb.jobs.ending import Cast
from mswb.jobs.logwatch import Growth, LogWatch, console_codes
from mswb.jobs.merge import Copies, Merger, prefixed
from mswb.jobs.procs import Process
from mswb.jobs.roles import Known, Logs, Witness, find
from mswb.signals import ProcessId, is_over, read_stat
from tests.waiting import wait_until


def process(pid: int, *, parent: int = 1, session: int = 1, name: str = "python", over: bool = False) -> Process:
    return Process(ProcessId(pid, pid), parent, session, session, name, over)


# Roles

NOBODY = Known()
LOGS = Logs.of({0: "/log/worker_0.log", 1: "/log/worker_1.log"}, "/log/scheduler.log")


def role_of(one: Process, env: dict[str, str], stdout: str | None, known: Known = NOBODY):
    found = find([one], LOGS, known, lambda _: Witness(env, stdout))
    return (found[0].role, found[0].rank) if found else None


WORKER = {"MS_ROLE": "MS_WORKER", "RANK_ID": "0"}
LEADER = process(7, session=7)
MEMBER = process(7, session=5)


@pytest.mark.parametrize(
    ("one", "env", "stdout", "role"),
    [
        (LEADER, WORKER, "/log/worker_1.log", ("worker", 1)),  # RANK_ID is an inherited 0
        (LEADER, {**WORKER, "MS_NODE_ID": "1"}, "/elsewhere", ("worker", 1)),
        (LEADER, {**WORKER, "DEVICE_ID": "1"}, None, ("worker", 1)),
        (LEADER, WORKER, "/log/host_name_12.log", ("worker", 12)),
        (LEADER, {"RANK_ID": "5"}, "/log/worker_0.log", ("worker", 0)),  # simulation: no MS_ROLE
        (MEMBER, {"MS_ROLE": "MS_SCHED", "RANK_ID": "0"}, "/log/scheduler.log", ("scheduler", None)),
        (MEMBER, WORKER, "/log/launcher.log", None),  # tail, grep
        (MEMBER, WORKER, "/log/worker_1.log", None),  # a data loader of the worker
        (LEADER, {}, "/log/worker_1.log", None),  # forked, not executed yet
        (MEMBER, {"MS_ROLE": "MS_SCHED"}, None, None),
    ],
)
def test_roles(one: Process, env: dict[str, str], stdout: str | None, role: object) -> None:
    assert role_of(one, env, stdout) == role


def test_zombies_by_elimination() -> None:
    """A zombie shows nothing but its session, its name and its place in the order."""
    dead = [
        process(5, session=1, over=True),
        process(6, session=6, over=True),
        process(7, session=7, over=True),
        process(8, session=1, name="tail", over=True),
    ]
    found = find(dead, LOGS, Known(), lambda _: Witness({}, None))
    assert [(one.role, one.rank, one.log) for one in found] == [
        ("scheduler", None, "/log/scheduler.log"),
        ("worker", 0, "/log/worker_0.log"),
        ("worker", 1, "/log/worker_1.log"),
    ]
    assert role_of(process(6, session=6, over=True), {}, None, known=Known(frozenset({0}), True)) == ("worker", 1)


# Ladders

LAUNCHER, SCHEDULER, TAIL, RANKS, LOADER = 10, 11, 12, [13, 14], 15
TREE = [
    process(LAUNCHER),
    process(SCHEDULER, parent=LAUNCHER),
    process(TAIL, parent=LAUNCHER, name="tail"),
    *(process(pid, parent=LAUNCHER) for pid in RANKS),
    process(LOADER, parent=13),
]
CAST = Cast(frozenset(RANKS), SCHEDULER, LAUNCHER)


def pids(processes: list[Process]) -> list[int]:
    return [one.pid for one in processes]


def test_ctrl_c_reaches_the_training_and_waits_for_the_workers_only() -> None:
    stacks, interrupt, terminate, kill = ending.on_stop(5.0)
    assert pids(ending.targets(stacks, TREE, CAST)) == [SCHEDULER, *RANKS]
    assert pids(ending.targets(interrupt, TREE, CAST)) == [SCHEDULER, *RANKS, LOADER]
    assert pids(ending.awaited(interrupt, TREE, CAST)) == RANKS
    assert ending.spares_launcher(interrupt, TREE, CAST)
    assert pids(ending.targets(terminate, TREE, CAST)) == pids(TREE)
    assert (kill.number, kill.repeat) == (signal.SIGKILL, True)


def test_without_workers_the_launcher_is_not_spared() -> None:
    alone = [process(LAUNCHER)]
    cast = Cast(frozenset(), None, LAUNCHER)
    interrupt = ending.on_stop(5.0)[1]
    assert not ending.spares_launcher(interrupt, alone, cast)
    assert pids(ending.awaited(interrupt, alone, cast)) == [LAUNCHER]
    assert [step.number for step in ending.on_stop(5.0, importing=True)] == [signal.SIGTERM, signal.SIGKILL]


def test_a_failure_is_over_within_two_seconds() -> None:
    assert sum(step.wait_s for step in ending.after_failure()[:-1]) <= 1.0


# The merged log


def test_merge(tmp_path: Path) -> None:
    worker, launcher, target = tmp_path / "w.log", tmp_path / "l.log", tmp_path / "m.log"
    merger = Merger([("worker_0", str(worker)), ("launcher", str(launcher))], str(target))
    worker.write_text("one\ntwo\n")
    wait_until(lambda: target.exists() and target.read_text().count("\n") == 2)
    launcher.write_text("Start worker\none\ntwo\none\n")
    wait_until(lambda: target.read_text().count("\n") == 4)
    with worker.open("a") as file:
        file.write("cut off in the mid")
    assert merger.close(20)
    assert target.read_text() == (
        "[worker_0] one\n[worker_0] two\n[launcher] Start worker\n[launcher] one\n[worker_0] cut off in the mid\n"
    )
    assert target.stat().st_mode & 0o777 == 0o600


def test_merge_where_nothing_can_be_written(tmp_path: Path) -> None:
    merger = Merger([("worker_0", str(tmp_path / "w.log"))], str(tmp_path / "no folder" / "m.log"))
    assert merger.close(20)


@given(st.lists(st.binary(max_size=8).map(lambda raw: raw.replace(b"\n", b"") + b"\n")))
def test_prefixed_keeps_every_line(lines: list[bytes]) -> None:
    marked = prefixed(b"".join(lines), b"> ")
    assert marked.split(b"\n")[:-1] == [b"> " + line[:-1] for line in lines]


@given(st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"])), st.lists(st.sampled_from([b"x\n", b"y\n"])))
def test_copies_are_dropped_once_each(ranks: list[bytes], own: list[bytes]) -> None:
    copies = Copies()
    copies.note(b"".join(ranks))
    assert copies.drop(b"".join([*ranks, *own])) == b"".join(own)
    assert copies.drop(b"".join(ranks)) == b"".join(ranks)


# Logs


def test_growth() -> None:
    silent = Growth()
    assert silent.at(0, 100.0) == silent
    first = silent.at(10, 100.0)
    assert (first.last, first.longest_pause_s) == (100.0, 0.0)
    third = first.at(20, 130.0).at(30, 135.0)
    assert (third.last, third.longest_pause_s) == (135.0, 30.0)
    assert third.at(30, 500.0) == third


def test_logwatch(tmp_path: Path) -> None:
    log, console = tmp_path / "worker_0.log", tmp_path / "launcher.log"
    console.write_text("[ERROR] ME(1:2): Worker process 42 exit with exception. Error code: -9.\n")
    watch = LogWatch(str(console))
    watch.add(str(log))
    question = watch.ask_codes()
    wait_until(lambda: watch.answered >= question)
    assert watch.codes == {42: -9}
    log.write_text("x")
    wait_until(lambda: watch.growth[str(log)].last is not None)
    watch.close()


@given(st.binary())
def test_console_codes_of_anything(noise: bytes) -> None:
    line = b"\nWorker process 7 exit with exception. Error code: 3.\n"
    assert console_codes(noise + line)[7] == 3


# cgroup


@pytest.mark.parametrize(
    ("own", "file", "text", "count"),
    [
        ("0::/a/b\n", "a/b/memory.events", "low 0\noom 3\noom_kill 2\n", 2),
        ("0::/\n", "memory.events", "oom_kill 5\n", 5),
        ("0::/not/mounted/here\n", "memory.events", "oom_kill 6\n", 6),
        ("4:memory:/x\n0::/\n", "memory/x/memory.oom_control", "under_oom 0\noom_kill 4\n", 4),
        ("0::/a\n", "a/memory.events", "oom_kill many\n", 0),
        ("", "memory.events", "oom_kill 5\n", 0),
    ],
)
def test_oom_kills(tmp_path: Path, own: str, file: str, text: str, count: int) -> None:
    target = tmp_path / "cgroup" / file
    target.parent.mkdir(parents=True)
    target.write_text(text)
    (tmp_path / "own").write_text(own)
    assert cgroup.oom_kills(tmp_path / "cgroup", tmp_path / "own") == count


# /proc


def test_a_name_with_brackets_and_spaces(tmp_path: Path) -> None:
    code = "import signal; print(1, flush=True); signal.pause()"
    program = tmp_path / "a) Z 1 (b"
    program.symlink_to(sys.executable)
    with subprocess.Popen([program, "-S", "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        seen = procs.look(child.pid)
        child.kill()
    assert seen is not None
    assert (seen.name, seen.parent, seen.over) == ("a) Z 1 (b", os.getpid(), False)


def test_exit_codes_of_zombies() -> None:
    for code, expected in (("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", -9), ("", 0)):
        with subprocess.Popen([sys.executable, "-S", "-c", code]) as child:
            identity = procs.look(child.pid)
            assert identity is not None
            wait_until(lambda pid=child.pid: (stat := read_stat(pid)) is not None and is_over(stat[1]))
            assert procs.zombie_code(identity.id) == expected
        assert procs.zombie_code(identity.id) is None


def test_own_facts() -> None:
    own = procs.look(os.getpid())
    assert own is not None
    assert own.pid in procs.scan()
    assert own.parent in procs.ancestors(procs.scan(), own.pid)
    before = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    try:
        assert procs.catches(own.pid, signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not procs.catches(own.pid, signal.SIGUSR2)
    assert (procs.peak_memory(own.pid) or 0) > 1 << 20
    assert procs.arguments(own.pid)
    assert procs.owner(own.pid) == os.geteuid()


def test_nobody() -> None:
    free = 2**22 + 1  # above the largest pid_max
    assert procs.look(free) is None
    assert procs.environ(free) == {}
    assert procs.arguments(free) == ()
    assert procs.stdout_path(free) is None
    assert procs.peak_memory(free) is None
    assert procs.owner(free) is None
    assert not procs.catches(free, signal.SIGTERM)


@given(st.lists(st.tuples(st.integers(2, 30), st.integers(1, 30)), unique_by=lambda pair: pair[0]))
def test_descendants_of_any_table(pairs: list[tuple[int, int]]) -> None:
    """Also of a table with loops, which pid reuse during the scan can bring about."""
    table = {pid: process(pid, parent=parent) for pid, parent in pairs}
    below = procs.descendants(table, [1])
    assert all(table[pid].parent in below | {1} for pid in below)
    assert all(pid in below for pid, parent in pairs if parent == 1)
