"""The jobs of the two backends: what is started, with which variables, and where its logs go."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mswb.env.interpreter import Interpreter
from mswb.findings import MswbError
from mswb.jobs.spec import JobSpec
from mswb.launch.backends import direct, msrun
from tests.unit.launch.asking import PLAIN, WITH_MINDSPORE, ask, overlay

BACKENDS = {"msrun": msrun.job_spec, "direct": direct.job_spec}


def job(
    flags: str,
    tmp_path: Path,
    interpreter: Interpreter = WITH_MINDSPORE,
    environ: Mapping[str, str] | None = None,
) -> JobSpec:
    request = ask(flags.split(), tmp_path, environ)
    logs = str(tmp_path / "logs" / "RUN")
    result = overlay(request, environ, interpreter, logs)
    return BACKENDS[request.backend](request, result, interpreter, "RUN", logs, str(tmp_path / "run"))


# Both


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_frame_of_a_job(backend: str, tmp_path: Path) -> None:
    spec = job(f"--worker_num 2 --backend {backend}", tmp_path)
    logs = tmp_path / "logs" / "RUN"
    assert (spec.id, spec.kind, spec.backend, spec.title) == ("RUN", "launch", backend, "train.py")
    assert (spec.cwd, spec.script) == (str(tmp_path), str(tmp_path / "train.py"))
    assert spec.worker_logs == {0: str(logs / "worker_0.log"), 1: str(logs / "worker_1.log")}
    assert spec.scheduler_log == str(logs / "scheduler.log")
    assert spec.merged_log == str(tmp_path / "logs" / "msrun_RUN.log")
    assert spec.expected_workers == 2 and spec.env["HCCL_CONNECT_TIMEOUT"] == "600"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("flags", "logs", "scheduler"),
    [
        ("--worker_num 4 --local_worker_num 2 --node_rank 1", {2: "worker_2.log", 3: "worker_3.log"}, True),
        ("--worker_num 4 --local_worker_num 2", {0: "worker_0.log", 1: "worker_1.log"}, True),
        ("--worker_num 4 --local_worker_num 1 --master_addr 203.0.113.7", {0: "worker_0.log"}, False),
        ("--worker_num 1 --worker_log_name job", {0: "job_0.log"}, True),
        ("--worker_num 1 --worker_log_name job_{ip}_x", {0: "job_127.0.0.1_x_0.log"}, True),
        ("--worker_num 8 --sim_level 1 --sim_rank_id 3", {3: "worker_0.log"}, False),
        ("--worker_num 2 --sim_level 1", {0: "worker_0.log", 1: "worker_1.log"}, False),
    ],
)
def test_log_names_are_those_of_msrun(
    backend: str, flags: str, logs: dict[int, str], scheduler: bool, tmp_path: Path
) -> None:
    spec = job(f"{flags} --backend {backend}", tmp_path)
    assert {rank: os.path.basename(path) for rank, path in spec.worker_logs.items()} == logs
    assert (spec.scheduler_log is not None) is scheduler


def test_the_host_name_in_a_log_name(tmp_path: Path) -> None:
    spec = job("--worker_num 1 --worker_log_name {hostname}", tmp_path)
    assert os.path.basename(spec.worker_logs[0]) == f"{socket.gethostname()}_0.log"


@pytest.mark.parametrize("backend", BACKENDS)
def test_tls_is_refused_honestly(backend: str, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("")
    flags = "--enable_ssl --ssl_ca_path a --ssl_cert_path b --ssl_key_path c"
    with pytest.raises(MswbError) as error:
        job(f"{flags} --backend {backend}", tmp_path)
    assert error.value.finding.code == "tls-not-yet"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wrapper_leads_python_to_an_interpreter_under_another_name(backend: str, tmp_path: Path) -> None:
    odd = tmp_path / "an odd 'place'"
    odd.mkdir()
    (odd / "python3.99").symlink_to(sys.executable)
    interpreter = replace(WITH_MINDSPORE, path=str(odd / "python3.99"))
    spec = job(f"--worker_num 1 --backend {backend}", tmp_path, interpreter, {"PATH": "/usr/bin:/bin"})
    first = Path(spec.env["PATH"].split(":")[0])
    assert first == tmp_path / "run" / "bin"
    for name in ("python", "python3"):
        assert stat.S_IMODE((first / name).stat().st_mode) == 0o700
        words = [str(first / name), "-c", "import sys; print(sys.argv)", "a b"]
        assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() == "['-c', 'a b']"


# msrun


def test_the_command_of_real_msrun(tmp_path: Path) -> None:
    spec = job("--worker_num 2 --master_port 9000 --cluster_time_out -1", tmp_path)
    (launcher,) = spec.processes
    logs = str(tmp_path / "logs" / "RUN")
    assert launcher.role == "launcher" and launcher.log == os.path.join(logs, "launcher.log")
    assert list(launcher.argv) == [
        sys.executable,
        "-m",
        "mindspore.parallel.cluster.run",
        "--worker_num=2",
        "--local_worker_num=2",
        "--master_addr=127.0.0.1",
        "--master_port=9000",
        f"--log_dir={logs}",
        "--join=True",
        "--cluster_time_out=-1",
        "--tail_worker_log=-2",
        "train.py",
    ]
    assert spec.command_line == launcher.argv


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--worker_num 4 --local_worker_num 2 --node_rank 1", ["--node_rank=1"]),
        ("--bind_core True", ["--bind_core=True"]),
        ('--bind_core {"device0":["0"]}', ['--bind_core={"device0": ["0"]}']),
        ("--bind_numa true", ["--bind_numa=True"]),
        ("--sim_level 1 --sim_rank_id 3", ["--sim_level=1", "--sim_rank_id=3", "--local_worker_num=1"]),
        ("--rank_table_file train.py", ["--rank_table_file={cwd}/train.py"]),
        ("--worker_log_name w_{ip}", ["--worker_log_name=w_{ip}"]),
        ("--join False", ["--join=True"]),
        ("--tail_worker_log 0", ["--tail_worker_log=-2"]),
        ("--master_addr localhost:9000", ["--master_port=9000"]),
    ],
)
def test_flags_reach_msrun(flags: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    argv = job(flags, tmp_path).processes[0].argv
    for word in words:
        assert word.replace("{cwd}", str(tmp_path)) in argv


def test_a_dry_run_of_the_environment_is_left_to_it(tmp_path: Path) -> None:
    argv = job("", tmp_path, environ={"MS_SIMULATION_LEVEL": "1"}).processes[0].argv
    assert not any(word.startswith("--sim_level") for word in argv)


# direct


def test_scheduler_and_workers_by_the_contract(tmp_path: Path) -> None:
    spec = job("--worker_num 2 --master_port 9000 --cluster_time_out 60 --backend direct", tmp_path)
    scheduler, first, second = spec.processes
    cluster = {"MS_WORKER_NUM": "2", "RANK_SIZE": "2", "MS_SCHED_HOST": "127.0.0.1", "MS_SCHED_PORT": "9000"}
    cluster["MS_TOPO_TIMEOUT"] = "60"
    plog = str(tmp_path / "logs" / "RUN" / "plog")
    assert scheduler.role == "scheduler"
    assert scheduler.env == {
        **cluster,
        "MS_ROLE": "MS_SCHED",
        "RANK_ID": "0",
        "ASCEND_PROCESS_LOG_PATH": f"{plog}/scheduler",
    }
    assert (first.role, first.rank, second.rank) == ("worker", 0, 1)
    own = {"MS_ROLE": "MS_WORKER", "RANK_ID": "1", "MS_NODE_ID": "1", "DEVICE_ID": "1", "MSWB_RANK": "1"}
    assert second.env == {**cluster, **own, "ASCEND_PROCESS_LOG_PATH": f"{plog}/rank_1"}
    assert first.argv == scheduler.argv == (sys.executable, "train.py")
    assert first.log == spec.worker_logs[0] and scheduler.log == spec.scheduler_log


def test_workers_of_another_node(tmp_path: Path) -> None:
    flags = "--worker_num 4 --local_worker_num 2 --node_rank 1 --master_addr 203.0.113.7 --backend direct"
    spec = job(flags, tmp_path)
    assert [(one.role, one.rank, one.env["RANK_ID"], one.env["DEVICE_ID"]) for one in spec.processes] == [
        ("worker", 2, "2", "0"),
        ("worker", 3, "3", "1"),
    ]
    assert spec.processes[0].env["MS_SCHED_HOST"] == "203.0.113.7"


def test_an_unknown_rank_is_not_guessed(tmp_path: Path) -> None:
    spec = job("--worker_num 4 --local_worker_num 2 --backend direct", tmp_path)
    workers = [one for one in spec.processes if one.role == "worker"]
    assert all("RANK_ID" not in one.env and "MS_NODE_ID" not in one.env for one in workers)
    assert [one.rank for one in workers] == [0, 1]


def test_a_dry_run_has_no_cluster(tmp_path: Path) -> None:
    (worker,) = job("--worker_num 8 --sim_level 1 --sim_rank_id 3 --backend direct", tmp_path).processes
    assert worker.env["RANK_ID"] == "3" and worker.env["MS_SIMULATION_LEVEL"] == "1"
    assert not {"MS_ROLE", "MS_SCHED_HOST", "MS_TOPO_TIMEOUT"} & set(worker.env)


def test_without_mindspore_nobody_would_answer_a_scheduler(tmp_path: Path) -> None:
    spec = job("--worker_num 2 --backend direct", tmp_path, PLAIN)
    assert [one.role for one in spec.processes] == ["worker", "worker"]
    assert spec.scheduler_log is None


def test_a_plog_folder_of_the_user_is_kept(tmp_path: Path) -> None:
    spec = job("--worker_num 1 --backend direct", tmp_path, environ={"ASCEND_PROCESS_LOG_PATH": "/mine"})
    assert all("ASCEND_PROCESS_LOG_PATH" not in one.env for one in spec.processes)
    assert spec.env["ASCEND_PROCESS_LOG_PATH"] == "/mine"


def test_the_rank_table_is_exported(tmp_path: Path) -> None:
    spec = job("--worker_num 1 --rank_table_file train.py --backend direct", tmp_path)
    assert {one.env["RANK_TABLE_FILE"] for one in spec.processes} == {str(tmp_path / "train.py")}


def test_binding_stands_in_front(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "available_cpus", lambda: (0, 1, 2, 3))
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "taskset").write_text("#!/bin/sh\n")
    (tools / "taskset").chmod(0o755)
    environ = {"PATH": str(tools)}
    spec = job("--worker_num 2 --bind_core True --backend direct", tmp_path, environ=environ)
    assert [one.argv[:3] for one in spec.processes] == [
        (sys.executable, "train.py"),
        ("taskset", "-c", "0-1"),
        ("taskset", "-c", "2-3"),
    ]


SHOW = """
import json, os, sys
import helper
names = ("RANK_ID", "RANK_SIZE", "DEVICE_ID", "MS_ROLE", "HCCL_CONNECT_TIMEOUT", "PYTHONUNBUFFERED")
told = {"path": sys.path[:2], "argv": sys.argv[1:], "helper": helper.WHO}
print(json.dumps({**told, **{name: os.environ[name] for name in names}}))
"""


def test_a_plain_training_runs_by_its_job(tmp_path: Path) -> None:
    """The processes of a job, run as they stand: a script in another folder, the working directory first."""
    from mswb.launch.command import parse_flags

    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(SHOW)
    (tmp_path / "code" / "helper.py").write_text("WHO = 'the older copy beside the script'")
    (tmp_path / "helper.py").write_text("WHO = 'the working directory'")
    words = ["--worker_num", "2", "--backend", "direct", "code/train.py", "--x", "1"]
    request = parse_flags(words, dict(os.environ), str(tmp_path))
    result = overlay(request, dict(os.environ), PLAIN, str(tmp_path / "RUN"))
    spec = direct.job_spec(request, result, PLAIN, "RUN", str(tmp_path / "RUN"), str(tmp_path / "run"))
    for rank, one in enumerate(spec.processes):
        env = {**spec.env, **one.env}
        done = subprocess.run(one.argv, cwd=spec.cwd, env=env, capture_output=True, text=True, check=True)
        told = json.loads(done.stdout)
        assert told["path"] == [str(tmp_path), str(tmp_path / "code")]
        assert told["helper"] == "the working directory" and told["argv"] == ["--x", "1"]
        assert (told["RANK_ID"], told["RANK_SIZE"], told["DEVICE_ID"]) == (str(rank), "2", str(rank))
        assert told["MS_ROLE"] == "MS_WORKER" and told["HCCL_CONNECT_TIMEOUT"] == "600"
