"""``mswb devices``: text and JSON, with and without devices."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from mswb.cli import devices
from mswb.cli.app import run
from mswb.env.devices.npu import NpuSmi
from mswb.env.devices.sampler import Sampler
from tests.unit.env.devices.worlds import NoDevices, NoHost

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests/fixtures"
COMMAND = [sys.executable, "-m", "mswb", "devices"]


def environ(text: str) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{FIXTURES / 'npu_smi/bin'}{os.pathsep}{os.environ['PATH']}",
        "NPU_SMI_TEXT": str(FIXTURES / "npu_smi" / text),
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
    }


def ask(*arguments: str, text: str) -> str:
    command = [*COMMAND, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environ(text), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_devices(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Also on a host that has some."""
    bare = Sampler(host=NoHost(), nvml=NoDevices(), npu=NpuSmi({"PATH": "/nowhere"}))
    monkeypatch.setattr(devices, "Sampler", lambda: bare)
    monkeypatch.setattr(devices, "BASELINE_S", 0.0)
    assert run(["devices"]) == 0
    shown = capsys.readouterr().out
    assert "devices    none" in shown
    assert "no Ascend driver: npu-smi not found" in shown
    assert "cpu        - of unknown processors, load unknown" in shown


def test_npus() -> None:
    lines = ask(text="910B_24.1.txt").splitlines()
    assert next(line for line in lines if line.startswith("NPU2")).split() == [
        "NPU2", "Ascend", "910B3", "90%", "58.7", "GiB", "of", "64.0", "GiB", "38C", "94W", "-", "ok",
    ]  # fmt: skip
    assert any("(another pid namespace) python" in line for line in lines)


def test_json_is_a_report() -> None:
    schema = json.loads((FIXTURES / "report.schema.json").read_text())
    report = json.loads(ask("--format", "json", text="910_93_26.0.txt"))
    jsonschema.validate(report, schema)
    assert report["schema"] == "mswb.devices/1"
    good, bad = (one for one in report["devices"] if one["kind"] == "npu")
    assert (good["utilization_percent"], bad["utilization_percent"], bad["state"]) == (95.0, None, "warning")
    assert report["host"]["memory_used_bytes"] > 0
    assert {one["pid"]: one["foreign"] for one in report["processes"]}[692319] is True


def test_watching_until_interrupted() -> None:
    watching = subprocess.Popen(
        [*COMMAND, "--watch", "--format", "json"],
        cwd=ROOT, env=environ("/dev/null"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert watching.stdout is not None
    lines = [watching.stdout.readline() for _ in range(2)]
    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=60)
    assert [json.loads(line)["schema"] for line in lines] == ["mswb.devices/1"] * 2
    assert watching.returncode == 130 and said.strip() == "mswb: interrupted"
