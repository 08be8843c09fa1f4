"""Trainings that mswb did not start: real processes that look like them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mswb.jobs import procs
from mswb.launch.foreign import ForeignRun, find_foreign
from mswb.launch.foreign import sight as sight_module
from tests.unit.launch.yard import TRAINEE, Yard, cluster, trainee
from tests.waiting import wait_until

MSRUN = Path(__file__).parent.parent / "jobs" / "children" / "msrun.py"
RANK = MSRUN.with_name("rank.py")


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    yard = Yard(tmp_path.resolve())
    yield yard
    yard.close()


def only(yard: Yard) -> ForeignRun:
    found = yard.found()
    assert len(found) == 1, found
    return found[0]


def shape(run: ForeignRun) -> list[tuple[str, int | None]]:
    return [(one.role, one.rank) for one in run.processes]


def start_msrun(yard: Yard, *words: str) -> subprocess.Popen[bytes]:
    """A fake msrun of that name, whose ranks have a data loader each and a tail beside them."""
    program = yard.script("msrun", MSRUN.read_text())
    argv = [sys.executable, program, str(yard.folder), str(len(words)), "0.2", str(RANK), "forever", *words]
    return yard.start(argv, {"MS_SCHED_HOST": "127.0.0.1", "MS_SCHED_PORT": "8118"}, out="console.txt")


def test_a_real_msrun_started_by_hand(yard: Yard) -> None:
    launcher = start_msrun(yard, "grandchild+forever", "grandchild+forever")
    yard.until("ready_worker_0", "ready_worker_1", "ready_scheduler")
    run = only(yard)
    assert shape(run) == [("launcher", None), ("scheduler", None), ("worker", 0), ("worker", 1)]
    assert (run.launcher, run.title, run.address, run.mine) == ("msrun", "rank.py", "127.0.0.1:8118", True)
    assert run.processes[0].pid == launcher.pid
    assert run.key == f"{launcher.pid}:{run.processes[0].id.start_time}"
    assert [one.devices for one in run.workers] == ["0", "1"]
    assert run.log_dir == str(yard.folder)
    names = [(os.path.basename(log.path), log.role, log.rank) for log in run.logs]
    assert names == [
        ("worker_0.log", "worker", 0),
        ("worker_1.log", "worker", 1),
        ("scheduler.log", "scheduler", None),
        ("console.txt", "launcher", None),
    ]


def test_msrun_before_its_ranks(yard: Yard) -> None:
    program = yard.script("msrun", "import time; time.sleep(600)")
    yard.start([sys.executable, program, "--worker_num", "4", "--join=True", "train.py", "--epochs", "3"])
    run = wait_until(lambda: (yard.found() or [None])[0])
    assert (shape(run), run.title, run.script, run.log_dir) == ([("launcher", None)], "train.py", "train.py", None)


def test_the_ranks_of_a_dead_msrun_are_still_one_run(yard: Yard) -> None:
    launcher = start_msrun(yard, "grandchild+forever", "forever")
    yard.until("ready_worker_0", "ready_worker_1", "ready_scheduler")
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    run = only(yard)
    assert shape(run) == [("scheduler", None), ("worker", 0), ("worker", 1)]
    assert (run.launcher, run.log_dir) == ("cluster", str(yard.folder))


def test_a_cluster_from_a_shell_script(yard: Yard) -> None:
    """As the documentation of dynamic cluster shows it: no launcher, no session of their own, data loaders below."""
    lines = ["#!/bin/sh", "export MS_SCHED_HOST=127.0.0.1 MS_SCHED_PORT=9111 MS_WORKER_NUM=2"]
    for name, role in (("sched", "MS_SCHED"), ("a", "MS_WORKER"), ("b", "MS_WORKER")):
        command = " ".join(trainee(yard.folder, f"load+spawn:ready:loader_{name},forever+ready:{name}+forever"))
        node = {"a": "MS_NODE_ID=0 ", "b": "MS_NODE_ID=1 "}.get(name, "")
        lines.append(f"MS_ROLE={role} {node}{command} > {name}.txt 2>&1 &")
    yard.start([yard.script("run.sh", "\n".join([*lines, "wait"]))])
    yard.until("sched", "a", "b", "loader_sched", "loader_a", "loader_b")
    run = only(yard)
    assert shape(run) == [("scheduler", None), ("worker", 0), ("worker", 1)]
    assert [one.pid for one in run.processes] == [yard.pid("sched"), yard.pid("a"), yard.pid("b")]
    assert (run.launcher, run.expected) == ("cluster", 2)
    assert [one.log for one in run.processes] == [str(yard.folder / name) for name in ("sched.txt", "a.txt", "b.txt")]


def test_two_schedulers_are_two_runs(yard: Yard) -> None:
    for port in (9001, 9002):
        for node in ("0", "1"):
            yard.train("load", cluster("MS_WORKER", port, MS_NODE_ID=node))
    runs = yard.found()
    ports = [cluster("", port)["MS_SCHED_PORT"] for port in (9001, 9002)]
    assert sorted((run.address, len(run.workers)) for run in runs) == [(f"127.0.0.1:{port}", 2) for port in ports]


def test_the_wrapper_is_not_the_worker(yard: Yard) -> None:
    """A Python that only starts the training carries the same environment."""
    yard.train("spawn:load,ready:inner,forever+wait:inner", cluster("MS_WORKER", 9003))
    assert [one.pid for one in only(yard).processes] == [yard.pid("inner")]


def test_a_worker_that_still_imports_counts(yard: Yard) -> None:
    pid = yard.train("spawn:ready:loader,forever+wait:loader", cluster("MS_WORKER", 9004))
    assert [one.pid for one in only(yard).processes] == [pid]


def test_tails_and_shells_with_a_role_are_no_workers(yard: Yard) -> None:
    yard.touch("worker_0.log")
    tail = yard.start(["tail", "-f", "worker_0.log"], cluster("MS_WORKER", 9005))
    shell = yard.start(["/bin/sh", "-c", "sleep 600; true"], cluster("MS_WORKER", 9005))
    pid = yard.train("load", cluster("MS_WORKER", 9005))
    assert {tail.pid, shell.pid} <= set(yard.pids())
    assert [one.pid for one in only(yard).processes] == [pid]


def test_a_single_process_is_known_by_its_libraries(yard: Yard) -> None:
    child = yard.start(trainee(yard.folder, "ready:up+wait:go+load+spawn:load,forever+ready:loaded+forever"))
    yard.until("up")
    assert yard.found() == []
    yard.touch("go")
    run = wait_until(lambda: (yard.found() or [None])[0])
    assert shape(run) == [("single", None)]
    assert (run.processes[0].pid, run.launcher, run.title) == (child.pid, "single", "trainee.py")


def test_two_single_processes_are_two_runs(yard: Yard) -> None:
    assert {yard.train("load"), yard.train("load")} == {run.processes[0].pid for run in yard.found()}


def test_an_exec_is_seen_although_the_name_stays(yard: Yard) -> None:
    yard.start(trainee(yard.folder, "ready:up+wait:go+become:load,forever"))
    yard.until("up")
    assert yard.found() == []
    yard.touch("go")
    assert wait_until(yard.found)


def test_a_rank_table_joins_ranks_of_several_sessions(yard: Yard) -> None:
    for rank in ("1", "0"):
        yard.train("load", {"RANK_ID": rank, "RANK_TABLE_FILE": "/etc/rt.json"}, out=f"train{rank}.log")
    assert shape(only(yard)) == [("worker", 0), ("worker", 1)]


def test_ranks_of_several_sessions_without_a_table_are_several_runs(yard: Yard) -> None:
    for rank in ("1", "0"):
        yard.train("load", {"RANK_ID": rank, "RANK_SIZE": "2"})
    assert sorted(shape(run) for run in yard.found()) == [[("worker", 0)], [("worker", 1)]]


def test_ranks_that_one_script_starts_are_one_run(yard: Yard) -> None:
    command = " ".join(trainee(yard.folder, "load+forever"))
    lines = ["#!/bin/sh", "export RANK_SIZE=2 RANK_TABLE_FILE=/etc/rt.json"]
    lines += [f"RANK_ID={rank} DEVICE_ID={rank + 4} {command} > rank{rank}.log &" for rank in range(2)]
    yard.start([yard.script("run.sh", "\n".join([*lines, "wait"]))])
    wait_until(lambda: len(yard.found()) == 1 and len(yard.found()[0].workers) == 2)
    run = only(yard)
    assert (run.launcher, shape(run), run.expected) == ("ranks", [("worker", 0), ("worker", 1)], 2)
    assert [one.devices for one in run.workers] == ["4", "5"]


def test_a_rank_number_that_two_inherited_joins_nobody(yard: Yard) -> None:
    """RANK_ID=0 set for a whole login, as many hosts with NPUs have it."""
    command = " ".join(trainee(yard.folder, "load+forever"))
    yard.start(["/bin/sh", "-c", f"{command} & {command} & wait"], {"RANK_ID": "0", "DEVICE_ID": "0"})
    wait_until(lambda: len(yard.found()) == 2)
    assert [shape(run) for run in yard.found()] == [[("worker", 0)], [("worker", 0)]]


def test_mpirun(yard: Yard) -> None:
    """The ranks write into pipes of mpirun's, which writes all to its own output."""
    text = [f"#!{sys.executable}", "import os, subprocess, sys", "children = []", "for rank in range(2):"]
    text.append("    env = {**os.environ, 'OMPI_COMM_WORLD_RANK': str(rank), 'OMPI_COMM_WORLD_SIZE': '2'}")
    text.append("    words = ['load', f'ready:m{rank}', 'forever']")
    text.append(f"    argv = {trainee(yard.folder, '')[:-1]!r} + ['+'.join(words)]")
    text.append("    children.append(subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE))")
    text.append("for child in children: child.wait()")
    launcher = yard.start([yard.script("mpirun", "\n".join(text))], out="out.log")
    yard.until("m0", "m1")
    run = only(yard)
    assert (run.launcher, shape(run)) == ("mpirun", [("launcher", None), ("worker", 0), ("worker", 1)])
    assert run.processes[0].pid == launcher.pid
    assert [(log.path, log.role) for log in run.logs] == [(str(yard.folder / "out.log"), "launcher")]
    assert run.log_dir is None


def test_a_script_of_the_users_that_starts_ranks_is_the_launcher(yard: Yard) -> None:
    """It imports MindSpore itself, as msrun does."""
    code = (
        "import os, subprocess, sys\n"
        "script, folder = sys.argv[1:]\n"
        "for rank in '01':\n"
        "    words = f'load+ready:s{rank}+forever'\n"
        "    env = {**os.environ, 'RANK_ID': rank}\n"
        "    subprocess.Popen([sys.executable, '-S', script, folder, words], env=env)\n"
        "sys.argv = [script, folder, 'load+forever']\n"
        "exec(open(script).read())\n"
    )
    launcher = yard.start([sys.executable, "-S", "-c", code, TRAINEE, str(yard.folder)])
    yard.until("s0", "s1")
    run = wait_until(lambda: next((one for one in yard.found() if len(one.processes) == 3), None))
    assert shape(run) == [("launcher", None), ("worker", 0), ("worker", 1)]
    assert run.processes[0].pid == launcher.pid


def test_logs_are_what_is_open_for_writing(yard: Yard) -> None:
    glog = yard.folder / "rank_0" / "logs"
    glog.mkdir(parents=True)
    written = glog / "mindspore.host.user.log.INFO.20261130-101010.77"
    for name in ("other.log", "gone.log", "data.bin"):
        yard.touch(name)
    words = f"load+open:{written}+read:other.log+open:gone.log+remove:gone.log+open:data.bin"
    yard.train(words, out="train.out")
    run = only(yard)
    assert run.processes[0].logs == (str(yard.folder / "train.out"), str(written))
    assert run.log_dir == str(yard.folder)


def test_a_pipe_into_tee_leads_to_its_file(yard: Yard) -> None:
    command = " ".join(trainee(yard.folder, "load+say:hello+ready:up+forever"))
    yard.start(["/bin/sh", "-c", f"{command} 2>&1 | tee train.txt > /dev/null"])
    yard.until("up", "train.txt")
    assert only(yard).processes[0].log == str(yard.folder / "train.txt")


def test_a_member_of_a_dead_supervisors_run_is_found(yard: Yard) -> None:
    """The mark alone does not count: its supervisor must live."""
    pid = yard.train("load", {"MSWB_RUN_ID": "gone", "MSWB_EVENTS": str(yard.folder / "gone" / "events.jsonl")})
    assert [one.pid for one in only(yard).processes] == [pid]


def test_a_probe_of_ours_is_no_training(yard: Yard) -> None:
    inside = yard.folder / "mswb" / "inside"
    inside.mkdir(parents=True)
    probe = inside / "probe.py"
    probe.write_text(Path(TRAINEE).read_text())
    yard.start([sys.executable, "-S", str(probe), str(yard.folder), "load+ready:up+forever"])
    yard.until("up")
    assert yard.found() == []


def test_processes_that_are_gone_are_no_error(yard: Yard) -> None:
    pid = yard.train("load", cluster("MS_WORKER", 9006))
    table = procs.scan()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: procs.environ(pid) == {})
    assert [run for run in find_foreign(table) if run.cwd == str(yard.folder)] == []


def test_a_second_look_reads_nothing_again(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.train("load", cluster("MS_WORKER", 9007))
    yard.start(["sleep", "600"])
    first = yard.found()
    read: list[int] = []
    monkeypatch.setattr(sight_module.procs, "owner", lambda pid: read.append(pid))
    assert yard.found() == first
    assert not set(read) & set(yard.pids())
