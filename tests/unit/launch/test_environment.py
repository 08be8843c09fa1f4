"""Every variable of a launch with its origin; the user's own are never replaced."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mswb.launch import environment
from mswb.launch.environment import node_timeout_s, site_folder
from tests.unit.launch.asking import WITH_MINDSPORE, ask, overlay

TWELVE = {
    "HCCL_WHITELIST_DISABLE": ("1", "article"),
    "HCCL_CONNECT_TIMEOUT": ("600", "article"),
    "HCCL_EXEC_TIMEOUT": ("1836", "advice"),
    "HCCL_SOCKET_IFNAME": ("=lo", "advice"),
    "HCCL_IF_BASE_PORT": ("60000", "advice"),
    "HCCL_BUFFSIZE": ("200", "advice"),
    "ASCEND_PROCESS_LOG_PATH": ("/logs/RUN/plog", "mswb"),
    "ASCEND_GLOBAL_LOG_LEVEL": ("3", "advice"),
    "ASCEND_SLOG_PRINT_TO_STDOUT": ("0", "advice"),
    "ASCEND_RT_VISIBLE_DEVICES": ("0,1", "advice"),
    "MS_NODE_TIMEOUT": ("30", "advice"),
    "PYTHONUNBUFFERED": ("1", "mswb"),
}


def origins(result: environment.EnvOverlay) -> dict[str, tuple[str, str]]:
    return {one.name: (one.value, one.origin) for one in result.entries}


def test_the_twelve_are_set_with_their_origins(tmp_path: Path) -> None:
    found = origins(overlay(ask(["--worker_num", "2"], tmp_path)))
    assert {name: found[name] for name in TWELVE} == TWELVE
    assert found["PYTHONFAULTHANDLER"] == ("1", "mswb")


@pytest.mark.parametrize("name", [*TWELVE, "PYTHONFAULTHANDLER"])
def test_a_variable_of_the_user_is_kept(name: str, tmp_path: Path) -> None:
    request = ask(["--worker_num", "2"], tmp_path)
    result = overlay(request, {name: "mine"})
    assert origins(result)[name] == ("mine", "user")
    assert result.environ()[name] == "mine"
    assert origins(overlay(request, {name: ""}))[name] == ("", "user")


@pytest.mark.parametrize("name", TWELVE)
def test_no_env_leaves_a_variable_out(name: str, tmp_path: Path) -> None:
    result = overlay(ask(["--no_env", name], tmp_path), {name: "mine", "KEEP": "1"})
    assert name not in result.environ() and result.environ()["KEEP"] == "1"
    assert name in result.removed


@pytest.mark.parametrize("name", TWELVE)
def test_env_wins_over_everything(name: str, tmp_path: Path) -> None:
    result = overlay(ask(["--env", f"{name}=asked"], tmp_path), {name: "mine"})
    assert origins(result)[name] == ("asked", "option")


def test_the_log_level_becomes_glog_v(tmp_path: Path) -> None:
    assert "GLOG_v" not in origins(overlay(ask([], tmp_path)))
    assert origins(overlay(ask(["--log_level", "error"], tmp_path), {"GLOG_v": "2"}))["GLOG_v"] == ("3", "flag")
    debug = origins(overlay(ask(["--log_level", "0"], tmp_path)))
    assert debug["GLOG_v"] == ("0", "flag") and debug["ASCEND_GLOBAL_LOG_LEVEL"] == ("1", "flag")


def test_kernel_tracing_sets_its_tags(tmp_path: Path) -> None:
    assert "VLOG_v" not in origins(overlay(ask([], tmp_path)))
    found = origins(overlay(ask(["--trace_kernels"], tmp_path)))
    assert found["VLOG_v"] == ("(12901,12908)", "flag")


@pytest.mark.parametrize(("workers", "seconds"), [(1, 30), (8, 30), (9, 300), (128, 300), (129, 900), (4096, 900)])
def test_heartbeats_of_big_clusters_may_be_late(workers: int, seconds: int) -> None:
    assert node_timeout_s(workers) == seconds


def test_the_interface_is_that_of_the_route(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "source_interface", lambda ip: {"203.0.113.7": "eth7"}.get(ip))
    many = ["--worker_num", "16", "--local_worker_num", "8"]
    away = origins(overlay(ask([*many, "--master_addr", "203.0.113.7"], tmp_path)))
    assert away["HCCL_SOCKET_IFNAME"] == ("=eth7", "advice")
    unknown = origins(overlay(ask([*many, "--master_addr", "203.0.113.8"], tmp_path)))
    assert "HCCL_SOCKET_IFNAME" not in unknown


def test_loopback_is_no_interface_for_several_nodes(tmp_path: Path) -> None:
    found = origins(overlay(ask(["--worker_num", "2", "--local_worker_num", "1"], tmp_path)))
    assert "HCCL_SOCKET_IFNAME" not in found


def test_devices_of_a_container_are_not_renumbered(tmp_path: Path) -> None:
    found = origins(overlay(ask([], tmp_path), {"ASCEND_VISIBLE_DEVICES": "4-7"}))
    assert "ASCEND_RT_VISIBLE_DEVICES" not in found


# Search paths


def test_python_path_has_boot_then_the_working_directory_then_the_user_s(tmp_path: Path) -> None:
    result = overlay(ask([], tmp_path), {"PYTHONPATH": f"/mine::{tmp_path}:/more"})
    assert result["PYTHONPATH"].split(":") == [site_folder(), str(tmp_path), "/mine", "/more"]
    assert os.path.isfile(os.path.join(site_folder(), "sitecustomize.py"))


def test_python_path_of_env_is_kept_behind_ours(tmp_path: Path) -> None:
    result = overlay(ask(["--env", "PYTHONPATH=/asked"], tmp_path), {"PYTHONPATH": "/mine"})
    assert result["PYTHONPATH"].split(":") == [site_folder(), str(tmp_path), "/asked"]


def test_the_interpreter_s_folder_is_first_on_path(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("python", "python3"):
        (tmp_path / "bin" / name).symlink_to("/bin/sh")
    interpreter = replace(WITH_MINDSPORE, path=str(tmp_path / "bin" / "python"))
    result = overlay(ask([], tmp_path), {"PATH": "/usr/bin:/bin"}, interpreter)
    assert result["PATH"].split(":") == [str(tmp_path / "bin"), "/usr/bin", "/bin"]


def test_an_interpreter_under_another_name_leaves_path_to_the_backend(tmp_path: Path) -> None:
    (tmp_path / "python3.99").symlink_to("/bin/sh")
    interpreter = replace(WITH_MINDSPORE, path=str(tmp_path / "python3.99"))
    assert "PATH" not in origins(overlay(ask([], tmp_path), {"PATH": "/usr/bin"}, interpreter))


def test_the_working_directory_is_named_only_for_a_script_elsewhere(tmp_path: Path) -> None:
    from mswb.launch.command import parse_flags

    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "train.py").write_text("")
    (tmp_path / "link.py").symlink_to("sub/train.py")
    wanted = {"sub/train.py": True, "link.py": True, "pytest": True, "python": False}
    (tmp_path / "train.py").write_text("")
    for word, named in wanted.items():
        words = ["python", "-m", "x"] if word == "python" else [word]
        found = origins(overlay(parse_flags(words, {}, str(tmp_path))))
        assert ("MSWB_CWD_FIRST" in found) is named, word
    assert "MSWB_CWD_FIRST" not in origins(overlay(parse_flags(["train.py"], {}, str(tmp_path))))


# What does not pass


def test_variables_of_another_launch_do_not_leak_in(tmp_path: Path) -> None:
    leaked = {"MS_ROLE": "MS_WORKER", "RANK_ID": "7", "RANK_SIZE": "8", "DEVICE_ID": "7", "MSWB_RUN_ID": "other"}
    result = overlay(ask([], tmp_path), {**leaked, "KEEP": "1"})
    assert set(result.removed) == set(leaked)
    assert not set(leaked) & set(result.environ()) and result.environ()["KEEP"] == "1"


def test_a_dry_run_keeps_the_rank_of_the_environment(tmp_path: Path) -> None:
    environ = {"MS_SIMULATION_LEVEL": "1", "RANK_ID": "3", "RANK_SIZE": "64"}
    assert overlay(ask([], tmp_path, environ), environ).environ()["RANK_ID"] == "3"


def test_building_writes_nothing(tmp_path: Path) -> None:
    request = ask([], tmp_path)
    before = sorted(os.listdir(tmp_path))
    overlay(request, log_folder=str(tmp_path / "logs" / "RUN"))
    assert sorted(os.listdir(tmp_path)) == before
