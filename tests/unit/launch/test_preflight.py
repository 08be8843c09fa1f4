"""The checks before a launch: each finds what is wrong, and says nothing about a healthy host."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mswb.env.host import Host, Memory
from mswb.env.interpreter import Interpreter
from mswb.findings import Finding, load_catalogue
from mswb.launch.command import parse_flags
from mswb.launch.preflight import check, ports
from tests.unit.launch.asking import GIB, HOST, PLAIN, WITH_MINDSPORE, ask, host, overlay
from tests.waiting import wait_until


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def findings(
    flags: str,
    tmp_path: Path,
    on: Host = HOST,
    environ: Mapping[str, str] | None = None,
    interpreter: Interpreter = WITH_MINDSPORE,
) -> list[Finding]:
    request = ask(flags.split(), tmp_path, environ)
    over = overlay(request, environ, interpreter, str(tmp_path / "logs" / "RUN"))
    return check(request, interpreter, over, on)


def codes(*arguments: Any, **named: Any) -> dict[str, str]:
    return {one.code: one.severity for one in findings(*arguments, **named)}


def test_a_good_launch_has_no_findings(tmp_path: Path, free_port: int) -> None:
    assert findings(f"--worker_num 2 --master_port {free_port}", tmp_path) == []


def test_this_host_can_be_asked_without_a_description_of_it(tmp_path: Path, free_port: int) -> None:
    request = ask(["--worker_num", "1", "--master_port", str(free_port)], tmp_path)
    found = check(request, WITH_MINDSPORE, overlay(request, os.environ))
    assert [one for one in found if one.severity == "error"] == []


# The cluster


def test_loopback_for_several_nodes(tmp_path: Path, free_port: int) -> None:
    found = codes(f"--worker_num 4 --local_worker_num 2 --master_port {free_port}", tmp_path)
    assert found == {"master-address-loopback": "warning", "node-rank-missing": "warning"}


def test_tls_is_refused(tmp_path: Path, free_port: int) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("")
    tls = "--enable_ssl --ssl_ca_path a --ssl_cert_path b --ssl_key_path c"
    assert codes(f"{tls} --master_port {free_port}", tmp_path) == {"tls-not-yet": "error"}


@pytest.mark.parametrize(
    ("flags", "on", "expected"),
    [
        ("--bind_core True", host(tools={}), {"binding-tool-missing": "warning"}),
        ("--bind_numa True", host(tools={}), {"binding-tool-missing": "warning"}),
        ("--bind_numa bind.json", host(tools={}), {"binding-tool-missing": "error"}),
        ("--bind_core True", host(has_cpuset_v1=False), {"binding-dropped": "warning"}),
        ("--bind_core True --backend direct", host(has_cpuset_v1=False), {}),
        ("--bind_core True --bind_numa True", HOST, {}),
    ],
)
def test_binding(flags: str, on: Host, expected: dict[str, str], tmp_path: Path, free_port: int) -> None:
    (tmp_path / "bind.json").write_text('{"bind_config": {"bind_memory_mode": "numa"}}')
    assert codes(f"{flags} --master_port {free_port}", tmp_path, on) == expected


# The interpreter


def test_msrun_needs_mindspore(tmp_path: Path) -> None:
    assert codes("", tmp_path, interpreter=PLAIN) == {"module-missing": "error"}


def test_direct_runs_a_plain_training_without_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import math\n")
    assert codes("--backend direct", tmp_path, interpreter=PLAIN) == {"plain-python-run": "note"}


def test_direct_needs_it_when_the_script_imports_it(tmp_path: Path) -> None:
    assert codes("--backend direct", tmp_path, interpreter=PLAIN) == {"module-missing": "error"}


def test_another_mindspore_in_the_working_directory(tmp_path: Path, free_port: int) -> None:
    (tmp_path / "mindspore").mkdir()
    (tmp_path / "mindspore" / "__init__.py").write_text("")
    (one,) = findings(f"--worker_num 1 --master_port {free_port}", tmp_path)
    assert (one.code, one.severity) == ("mindspore-shadowed", "warning")
    assert one.values["other"] == str(tmp_path / "mindspore")


def test_numpy_2_beside_mindspore(tmp_path: Path, free_port: int) -> None:
    newer = replace(WITH_MINDSPORE, numpy_version="2.1.0")
    flags = f"--worker_num 1 --master_port {free_port}"
    assert codes(flags, tmp_path, interpreter=newer) == {"package-incompatible": "warning"}
    assert codes(flags, tmp_path, interpreter=replace(newer, mindspore_version="3.0.0")) == {}


# The script


def test_a_script_that_does_not_compile(tmp_path: Path, free_port: int) -> None:
    (tmp_path / "train.py").write_text("import os\nif True\n    pass\n")
    ours = replace(WITH_MINDSPORE, version=f"{sys.version_info[0]}.{sys.version_info[1]}.9")
    flags = f"--worker_num 1 --master_port {free_port}"
    (one,) = findings(flags, tmp_path, interpreter=ours)
    assert (one.code, one.severity, one.where.line) == ("script-syntax", "error", 2)
    assert one.where.file == str(tmp_path / "train.py") and one.evidence == "if True"
    # Another Python may know a syntax that ours does not.
    assert codes(flags, tmp_path, interpreter=replace(ours, version="3.99.0")) == {"script-syntax": "warning"}


@pytest.mark.parametrize(
    ("script", "helper", "warned"),
    [
        ("import mindspore\nprint(1)\n", "", True),
        ("from mindspore.communication import init\ninit()\n", "", False),
        ("import mindspore as ms\nms.communication.init('hccl')\n", "", False),
        ("import torch_like\ninit_process_group()\n", "", False),
        ("import setup_cluster\n", "from mindspore.communication import init\ninit()\n", False),
        ("import setup_cluster\n", "def initialise(): pass\n", True),
    ],
)
def test_a_script_that_the_scheduler_would_run_whole(
    script: str, helper: str, warned: bool, tmp_path: Path, free_port: int
) -> None:
    (tmp_path / "train.py").write_text(script)
    (tmp_path / "setup_cluster.py").write_text(helper)
    flags = f"--worker_num 1 --master_port {free_port}"
    assert codes(flags, tmp_path) == ({"scheduler-runs-script": "warning"} if warned else {})
    assert codes("--sim_level 1", tmp_path) == {}  # a dry run has no scheduler


@pytest.mark.parametrize("content", [b"x = 1\0", b"(" * 5000, b"\xff\xfe\x00", b"# coding: no-such\n", b"PK\x03\x04"])
def test_odd_scripts_are_no_crash(content: bytes, tmp_path: Path, free_port: int) -> None:
    from mswb.launch.preflight.scripts import read_script

    request = ask([], tmp_path)
    (tmp_path / "train.py").write_bytes(content)
    read_script(request)


def test_modules_and_pytest_have_no_script_to_check(tmp_path: Path, free_port: int) -> None:
    for words in (["python", "-m", "pkg"], ["pytest", "tests"]):
        line = ["--worker_num", "1", "--master_port", str(free_port), *words]
        request = parse_flags(line, {}, str(tmp_path))
        assert check(request, WITH_MINDSPORE, overlay(request), HOST) == []


# Variables


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"GLOG_v": "DEBUG"}, {"variable-out-of-range": "error"}),
        ({"GLOG_v": "5"}, {"variable-out-of-range": "error"}),
        ({"GLOG_v": "1"}, {}),
        ({"GLOG_logtostderr": "0"}, {"variable-incomplete": "error"}),
        ({"GLOG_logtostderr": "0", "GLOG_log_dir": "/logs"}, {}),
        ({"HCCL_CONNECT_TIMEOUT": "60"}, {"variable-out-of-range": "warning"}),
        ({"HCCL_CONNECT_TIMEOUT": "120"}, {}),
        ({"HCCL_IF_BASE_PORT": "65530"}, {"variable-out-of-range": "warning"}),
        ({"HCCL_BUFFSIZE": "-1"}, {"variable-out-of-range": "warning"}),
        ({"HCCL_WHITELIST_DISABLE": "0"}, {"variable-incomplete": "warning"}),
        ({"MS_NODE_TIMEOUT": "soon"}, {"variable-out-of-range": "warning"}),
    ],
)
def test_variables(environ: dict[str, str], expected: dict[str, str], tmp_path: Path, free_port: int) -> None:
    assert codes(f"--worker_num 1 --master_port {free_port}", tmp_path, environ=environ) == expected


# Ports


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server


def test_a_scheduler_port_that_is_taken(tmp_path: Path, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    (one,) = findings(f"--worker_num 1 --master_port {port}", tmp_path)
    assert (one.code, one.severity, one.values["port"]) == ("port-in-use", "error", port)
    assert codes(f"--worker_num 1 --master_port {port} --sim_level 1", tmp_path) == {}
    assert codes(f"--worker_num 1 --backend direct --master_port {port} --python x", tmp_path, interpreter=PLAIN) == {
        "module-missing": "error"
    }


LISTEN = "import socket, sys; s = socket.socket(); s.bind(('127.0.0.1', int(sys.argv[1]))); s.listen(); input()"


def test_the_owner_of_a_port_is_named(tmp_path: Path, free_port: int) -> None:
    words = [sys.executable, "-c", LISTEN, str(free_port)]
    env = {**os.environ, "MS_ROLE": "MS_SCHED"}
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=env) as owner:
        try:
            wait_until(lambda: ports.refusal("127.0.0.1", free_port))
            (one,) = findings(f"--worker_num 1 --master_port {free_port}", tmp_path)
        finally:
            owner.kill()
    assert one.values["pid"] == owner.pid
    assert f"pid {owner.pid}" in one.evidence and "MS_SCHED" in one.evidence and str(free_port) in one.evidence


def test_a_closed_connection_is_no_obstacle(tmp_path: Path, listener: socket.socket) -> None:
    """A port in TIME_WAIT can be listened on, as the scheduler does it."""
    port = listener.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port)):
        accepted, _ = listener.accept()
        accepted.close()
        listener.close()
    assert ports.refusal("127.0.0.1", port) is None


def test_a_port_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    monkeypatch.setattr(ports, "refusal", lambda ip, port: errno.EACCES)
    assert codes("--worker_num 1 --master_port 80", tmp_path) == {"port-forbidden": "error"}


def test_hccl_s_ports_are_checked_where_there_are_npus(tmp_path: Path, listener: socket.socket, free_port: int) -> None:
    base = max(1024, listener.getsockname()[1] - 3)
    environ = {"HCCL_IF_BASE_PORT": str(base)}
    flags = f"--worker_num 1 --master_port {free_port}"
    (one,) = findings(flags, tmp_path, host(ascend=(0,)), environ)
    assert one.code == "hccl-ports-busy" and str(listener.getsockname()[1]) in one.values["ports"]
    assert codes(flags, tmp_path, environ=environ) == {}
    ranged = {**environ, "HCCL_HOST_SOCKET_PORT_RANGE": "50000-50100"}
    assert codes(flags, tmp_path, host(ascend=(0,)), ranged) == {}


# Resources


@pytest.mark.parametrize(
    ("on", "workers", "expected"),
    [
        (host(memory=Memory(4 * GIB, 1 * GIB, None)), 2, {"memory-tight": "warning"}),
        (host(memory=Memory(4 * GIB, 2 * GIB, None)), 2, {}),
        (host(memory=Memory(0, 0, None)), 2, {}),
        (host(open_files=(1024, 4096)), 8, {}),
        (host(open_files=(256, 4096)), 1, {"open-file-limit": "warning"}),
        (host(open_files=(-1, -1)), 8, {}),
        (host(cpus=(0, 1)), 2, {}),
        (host(cpus=(0, 1)), 3, {"workers-over-cpus": "note"}),
        (host(cpu_quota=2.0), 3, {"workers-over-cpus": "note"}),
    ],
)
def test_resources(on: Host, workers: int, expected: dict[str, str], tmp_path: Path, free_port: int) -> None:
    assert codes(f"--worker_num {workers} --master_port {free_port}", tmp_path, on) == expected


def test_many_ranks_need_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = "--worker_num 128 --local_worker_num 8 --node_rank 1 --master_addr 203.0.113.7"
    (one,) = findings(flags, tmp_path, host(open_files=(1024, 4096)))
    assert one.code == "open-file-limit" and one.values == {"limit": 1024, "needed": 1280}


@pytest.mark.parametrize(
    ("script", "mib", "expected"),
    [
        ("GeneratorDataset(x)\n", 64, {"shared-memory-too-small": "warning"}),
        ("GeneratorDataset(x)\n", 1024, {}),
        ("pass\n", 64, {}),
    ],
)
def test_shared_memory(script: str, mib: int, expected: dict[str, str], tmp_path: Path, free_port: int) -> None:
    (tmp_path / "train.py").write_text(f"init()\n{script}")
    on = host(shm_total=mib << 20)
    assert codes(f"--worker_num 1 --master_port {free_port}", tmp_path, on) == expected


def test_a_full_disk(tmp_path: Path, free_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from mswb.launch.preflight import resources

    nearly = os.statvfs_result((4096, 4096, 10_000, 100, 100, 1000, 500, 500, 0, 255))
    monkeypatch.setattr(resources.os, "statvfs", lambda path: nearly)
    assert codes(f"--worker_num 1 --master_port {free_port}", tmp_path) == {"log-space-low": "warning"}


# Devices


@pytest.mark.parametrize(
    ("script", "visible", "workers", "expected"),
    [
        ("init()", None, 8, {}),
        ("init()", None, 9, {"device-not-visible": "error"}),
        ("init(); ms.set_device('CPU')", None, 9, {"device-not-visible": "warning"}),
        ("init()", "0,1", 2, {}),
        ("init()", "0,1", 3, {"device-not-visible": "error"}),
        ("init()", "0,9", 2, {"device-not-visible": "error"}),
        ("init()", "all", 2, {"visible-devices-unreadable": "error"}),
    ],
)
def test_a_device_for_each_worker(
    script: str, visible: str | None, workers: int, expected: dict[str, str], tmp_path: Path, free_port: int
) -> None:
    (tmp_path / "train.py").write_text(script)
    environ = {"HCCL_HOST_SOCKET_PORT_RANGE": "auto"} | ({"ASCEND_RT_VISIBLE_DEVICES": visible} if visible else {})
    on = host(ascend=tuple(range(8)))
    flags = f"--worker_num {workers} --master_port {free_port}"
    assert codes(flags, tmp_path, on, environ) == expected
    assert codes(flags, tmp_path, HOST, environ) == {}
    assert codes(f"{flags} --sim_level 1", tmp_path, on, environ) == {}


def test_every_code_of_the_checks_is_in_the_catalogue() -> None:
    import re

    folder = Path(__file__).parents[3] / "mswb"
    files = [
        *(folder / "launch" / "preflight").glob("*.py"),
        *(folder / "env").glob("*.py"),
        folder / "launch/command.py",
    ]
    used = {code for file in files for code in re.findall(r'(?:make|say|stop)\(\s*"([a-z-]+)"', file.read_text())}
    used |= {code for file in files for code in re.findall(r'yield "([a-z-]+)"', file.read_text())}
    assert len(used) > 30 and used <= set(load_catalogue())
