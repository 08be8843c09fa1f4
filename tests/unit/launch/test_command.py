"""Every flag of real msrun and of the article, in every form, to the request it means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mswb.launch.binding import Binding
from mswb.launch.command import LaunchRequest, parse_flags
from mswb.launch.flags import FLAGS
from tests.unit.launch.asking import ask

MEANINGS: list[tuple[str, str, str, Any]] = [
    ("worker_num", "4", "worker_num", 4),
    ("local_worker_num", "4", "local_worker_num", 4),
    ("master_addr", "localhost", "master.host", "localhost"),
    ("master_port", "9000", "master_port", 9000),
    ("node_rank", "0", "node_rank", 0),
    ("cluster_time_out", "-1", "cluster_time_out", -1),
    ("bind_core", "TRUE", "bind_core", Binding(automatic=True)),
    ("bind_core", "false", "bind_core", Binding()),
    (
        "bind_core",
        '{"device0":["0"],"scheduler":["0"]}',
        "bind_core",
        Binding(table={"device0": "0", "scheduler": "0"}),
    ),
    ("bind_numa", "True", "bind_numa", Binding(automatic=True)),
    ("sim_level", "1", "sim_level", 1),
    ("worker_log_name", "w_{ip}", "worker_log_name", "w_{ip}"),
    ("tail_worker_log", "1,0", "tail", (0, 1)),
    ("tail_worker_log", "-1", "tail", None),
    ("log_level", "INFO", "log_level", 1),
    ("log_level", "info", "log_level", 1),
    ("log_level", "Debug", "log_level", 0),
    ("log_level", "WARNING", "log_level", 2),
    ("log_level", "error", "log_level", 3),
    ("log_level", "Critical", "log_level", 4),
    ("log_level", "3", "log_level", 3),
    ("join", "True", "detach", False),
    ("join", "true", "detach", False),
    ("join", "FALSE", "detach", True),
    ("backend", "direct", "backend", "direct"),
    ("backend", "msrun", "backend", "msrun"),
    ("python", "/usr/bin/python3", "python", "/usr/bin/python3"),
    ("env", "A=b=c", "env", {"A": "b=c"}),
    ("env", "EMPTY=", "env", {"EMPTY": ""}),
    ("no_env", "HCCL_BUFFSIZE", "no_env", frozenset({"HCCL_BUFFSIZE"})),
    ("format", "json", "form", "json"),
    ("format", "TEXT", "form", "text"),
]
SWITCHES = [
    ("detach", "detach"),
    ("skip_check", "skip_check"),
    ("trace_kernels", "trace_kernels"),
    ("verbose", "verbose"),
]
# What other tests of this file cover, since it needs a file or another flag.
ELSEWHERE = {"log_dir", "sim_rank_id", "rank_table_file", "help"} | {name for name in FLAGS if "ssl" in name}


def look(request: LaunchRequest, path: str) -> Any:
    value: Any = request
    for name in path.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize(("flag", "text", "field", "meaning"), MEANINGS)
def test_a_flag_means_the_same_in_every_form(flag: str, text: str, field: str, meaning: Any, tmp_path: Path) -> None:
    dashed = flag.replace("_", "-")
    for form in ([f"--{flag}", text], [f"--{flag}={text}"], [f"--{dashed}", text], [f"--{dashed}={text}"]):
        assert look(ask(form, tmp_path), field) == meaning


@pytest.mark.parametrize(("flag", "field"), SWITCHES)
def test_a_switch_takes_no_value_but_may_be_given_one(flag: str, field: str, tmp_path: Path) -> None:
    assert look(ask([], tmp_path), field) is False
    assert look(ask([f"--{flag}"], tmp_path), field) is True
    assert look(ask([f"--{flag}=false"], tmp_path), field) is False


def test_no_flag_is_forgotten_here() -> None:
    assert {row[0] for row in MEANINGS} | {row[0] for row in SWITCHES} | ELSEWHERE == set(FLAGS)


def test_every_flag_says_what_it_does() -> None:
    assert all(len(flag.help) > 10 and flag.help.endswith((".", ")", ").")) for flag in FLAGS.values())
    assert FLAGS["worker_num"].usage == "--worker_num N"
    assert FLAGS["detach"].usage == "--detach"


def test_defaults_are_those_of_msrun(tmp_path: Path) -> None:
    request = ask([], tmp_path)
    assert (request.worker_num, request.local_worker_num, request.node_rank) == (8, 8, -1)
    assert (request.master.ip, request.master_port, request.cluster_time_out) == ("127.0.0.1", 8118, 600)
    assert not request.bind_core and not request.bind_numa and request.tail is None and request.backend == "msrun"
    assert request.notes == () and not request.detach


def test_the_article_s_command(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    line = (
        "--worker_num 8 --local_worker_num 8 --master_addr 127.0.0.1:8080 --log_level INFO train.py --device_target GPU"
    )
    request = parse_flags(line.split(), {}, str(tmp_path))
    assert (request.master.ip, request.master_port, request.log_level) == ("127.0.0.1", 8080, 1)
    assert request.program.words == ("train.py", "--device_target", "GPU")
    assert request.script == str(tmp_path / "train.py")


@pytest.mark.parametrize("level", ["debug", "--log-level"])
def test_the_article_spells_log_level_with_a_dash(level: str, tmp_path: Path) -> None:
    assert ask(["--log-level", "DEBUG"], tmp_path).log_level == 0


def test_of_a_flag_given_twice_the_last_counts(tmp_path: Path) -> None:
    assert ask(["--worker_num", "2", "--worker_num", "4"], tmp_path).worker_num == 4


def test_variables_may_be_given_many_times(tmp_path: Path) -> None:
    request = ask(["--env", "A=1", "--env=B=2", "--env", "A=3", "--no-env", "X", "--no_env=Y"], tmp_path)
    assert request.env == {"A": "3", "B": "2"}
    assert request.no_env == {"X", "Y"}


# Addresses


@pytest.mark.parametrize(
    ("text", "ip", "port"),
    [
        ("127.0.0.1:9000", "127.0.0.1", 9000),
        ("localhost:9000", None, 9000),
        ("[::1]:9000", "::1", 9000),
        ("[::1]", "::1", 8118),
        ("::1", "::1", 8118),
        ("10.255.0.1", "10.255.0.1", 8118),
    ],
)
def test_the_master_address_may_carry_the_port(text: str, ip: str | None, port: int, tmp_path: Path) -> None:
    request = ask(["--master_addr", text, "--backend", "direct"], tmp_path)
    assert request.master_port == port
    assert ip is None or request.master.ip == ip


def test_master_port_wins_and_a_difference_is_said(tmp_path: Path) -> None:
    request = ask(["--master_addr", "127.0.0.1:9000", "--master_port", "9001"], tmp_path)
    assert request.master_port == 9001
    assert [note.code for note in request.notes] == ["master-port-twice"]
    assert ask(["--master_addr", "127.0.0.1:9000", "--master_port", "9000"], tmp_path).notes == ()


def test_only_the_node_with_the_master_address_runs_the_scheduler(tmp_path: Path) -> None:
    assert ask(["--master_addr", "127.0.0.1"], tmp_path).is_master
    elsewhere = ask(["--master_addr", "203.0.113.7", "--worker_num", "16"], tmp_path)
    assert not elsewhere.is_master
    assert not ask(["--sim_level", "0"], tmp_path).is_master


# Numbers of workers


@pytest.mark.parametrize(
    ("flags", "total", "local", "noted"),
    [
        (["--worker_num", "2"], 2, 2, "local_worker_num"),
        (["--worker_num", "16"], 16, 16, "local_worker_num"),
        (["--worker_num", "8"], 8, 8, None),
        (["--local_worker_num", "2"], 2, 2, "worker_num"),
        (["--worker_num", "4", "--local_worker_num", "2"], 4, 2, None),
        (["--worker_num", "16", "--master_addr", "203.0.113.7"], 16, 8, None),
        (["--worker_num", "4", "--master_addr", "203.0.113.7"], 4, 4, "local_worker_num"),
        (["--local_worker_num", "4", "--master_addr", "203.0.113.7"], 8, 4, None),
        (["--local_worker_num", "16", "--master_addr", "203.0.113.7"], 16, 16, "worker_num"),
    ],
)
def test_one_number_gives_the_other(
    flags: list[str], total: int, local: int, noted: str | None, tmp_path: Path
) -> None:
    request = ask(flags, tmp_path)
    assert (request.worker_num, request.local_worker_num) == (total, local)
    told = [note.values["flag"] for note in request.notes if note.code == "worker-number-matched"]
    assert told == ([noted] if noted else [])


@pytest.mark.parametrize(
    ("flags", "first", "numbers"),
    [
        (["--worker_num", "2", "--local_worker_num", "2"], 0, (0, 1)),
        (["--worker_num", "4", "--local_worker_num", "2", "--node_rank", "1"], 2, (2, 3)),
        (["--worker_num", "4", "--local_worker_num", "2"], None, (0, 1)),
        (["--worker_num", "2", "--local_worker_num", "2", "--node_rank", "3"], 0, (0, 1)),
    ],
)
def test_ranks_of_a_node(flags: list[str], first: int | None, numbers: tuple[int, ...], tmp_path: Path) -> None:
    request = ask(flags, tmp_path)
    assert request.first_rank == first
    assert request.log_numbers == numbers


def test_a_node_rank_without_effect_is_noted(tmp_path: Path) -> None:
    codes = [note.code for note in ask(["--node_rank", "3"], tmp_path).notes]
    assert codes == ["node-rank-ignored"]


# Dry runs


def test_a_dry_run_of_one_rank_is_one_process(tmp_path: Path) -> None:
    request = ask(["--worker_num", "64", "--sim_level", "1", "--sim_rank_id", "3"], tmp_path)
    assert (request.worker_num, request.local_worker_num, request.sim_rank_id) == (64, 1, 3)


def test_a_dry_run_of_very_many_workers_is_rank_0_alone(tmp_path: Path) -> None:
    flags = ["--worker_num", "1024", "--local_worker_num", "1024", "--sim_level", "0"]
    request = ask(flags, tmp_path)
    assert (request.local_worker_num, request.sim_rank_id) == (1, 0)


def test_a_dry_run_may_come_from_the_environment(tmp_path: Path) -> None:
    request = ask([], tmp_path, {"MS_SIMULATION_LEVEL": "2", "RANK_ID": "5"})
    assert (request.sim_level, request.sim_rank_id, request.local_worker_num) == (2, 5, 1)
    assert ask(["--sim_level", "0"], tmp_path, {"MS_SIMULATION_LEVEL": "2"}).sim_level == 0


# The program


@pytest.mark.parametrize(
    ("words", "script", "command"),
    [
        (["train.py", "--worker_num", "9"], "train.py", ["PY", "train.py", "--worker_num", "9"]),
        (["python", "-u", "train.py", "x"], "train.py", ["PY", "-u", "train.py", "x"]),
        (["python3", "-W", "error", "train.py"], "train.py", ["PY", "-W", "error", "train.py"]),
        (["python", "-X", "dev", "-u", "train.py"], "train.py", ["PY", "-X", "dev", "-u", "train.py"]),
        (["python", "-m", "pkg.train", "--x"], None, ["PY", "-m", "pkg.train", "--x"]),
        (["python", "-um", "pkg.train"], None, ["PY", "-um", "pkg.train"]),
        (["python", "-c", "pass"], None, ["PY", "-c", "pass"]),
        (["pytest", "-q", "tests"], None, ["PY", "-m", "pytest", "-q", "tests"]),
    ],
)
def test_what_is_started(words: list[str], script: str | None, command: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    request = parse_flags(words, {}, str(tmp_path))
    assert request.script == (str(tmp_path / script) if script else None)
    assert list(request.program.command("PY")) == command


def test_everything_behind_the_script_is_the_script_s(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    request = parse_flags(["--worker_num=2", "train.py", "--join", "perhaps", "--", "-x"], {}, str(tmp_path))
    assert request.program.words == ("train.py", "--join", "perhaps", "--", "-x")
    assert "flag-after-script" in [note.code for note in request.notes]


def test_a_flag_that_stands_in_front_too_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    request = parse_flags(["--worker_num=8", "train.py", "--worker_num=2"], {}, str(tmp_path))
    assert request.notes == ()


def test_two_dashes_end_the_flags(tmp_path: Path) -> None:
    (tmp_path / "-odd.py").write_text("")
    assert parse_flags(["--", "-odd.py"], {}, str(tmp_path)).program.words == ("-odd.py",)
    assert parse_flags(("--", "-odd.py"), {}, str(tmp_path)).program.words == ("-odd.py",)


def test_a_folder_with_main_is_a_script(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("")
    assert parse_flags(["app"], {}, str(tmp_path)).script == str(tmp_path / "app")


def test_help_needs_nothing_else(tmp_path: Path) -> None:
    assert parse_flags(["--help"], {}, str(tmp_path)).help
    assert parse_flags(["-h"], {}, str(tmp_path)).help


# Files


def test_paths_are_made_absolute(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text("{}")
    request = ask(["--rank_table_file", "table.json", "--log_dir", "logs"], tmp_path)
    assert request.rank_table_file == str(tmp_path / "table.json")
    assert request.log_dir == str(tmp_path / "logs")
    assert not (tmp_path / "logs").exists()


def test_a_binding_file(tmp_path: Path) -> None:
    config = {
        "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "none"},
        "bind_cpu": {"device0": {"main": "0"}},
    }
    (tmp_path / "bind.json").write_text(json.dumps(config))
    binding = ask(["--bind_numa", "bind.json"], tmp_path).bind_numa
    assert binding.file == str(tmp_path / "bind.json") and binding.config == config and binding


def test_tls_files_are_kept(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).write_text("")
    flags = ["--enable_ssl", "--ssl_ca_path", "ca", "--ssl_cert_path=cert", "--ssl_key_path", "./key"]
    request = ask([*flags, "--ssl_strict_host", "cluster"], tmp_path)
    assert request.tls is not None
    assert (request.tls.key, request.tls.strict_host) == (str(tmp_path / "key"), "cluster")
    assert ask(["--enable_ssl=False"], tmp_path).tls is None
