"""npu-smi as a child: language, time-out, failure, and what becomes of its numbers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mswb.env.devices.npu import LOST_AFTER_S, NpuSmi
from mswb.env.devices.npu_table import MIB
from mswb.env.devices.procs import scan
from tests.waiting import wait_until

FILES = Path(__file__).parents[3] / "fixtures/npu_smi"


def environ(text: str, **more: str) -> dict[str, str]:
    return {
        "PATH": f"{FILES / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "LANG": "zh_CN.UTF-8",
        "NPU_SMI_TEXT": str(FILES / text),
        "NPU_SMI_USAGES": str(FILES / "usages_310P.txt"),
        **more,
    }


def test_cards_of_one_chip_are_counted_by_card() -> None:
    reading = NpuSmi(environ("910B_24.1.txt")).read()
    assert [(one.label, one.number) for one in reading.devices] == [(f"NPU{number}", number) for number in range(8)]
    third = reading.devices[2]
    assert (third.name, third.utilization_percent, third.memory_total_bytes) == ("Ascend 910B3", 90.0, 65536 * MIB)
    assert [(one.device, one.pid) for one in reading.processes] == [("npu:2.0", 1333902), ("npu:3.0", 1333903)]
    assert reading.notes == ()


def test_cards_of_two_chips_are_counted_by_chip() -> None:
    reading = NpuSmi(environ("910_93_25.3.txt")).read()
    assert [(one.key, one.number) for one in reading.devices][:3] == [("npu:0.0", 0), ("npu:0.1", 1), ("npu:1.0", 2)]


def test_health_and_the_pid_inside_the_container() -> None:
    reading = NpuSmi(environ("910_93_26.0.txt")).read()
    good, bad = reading.devices
    assert (good.state, bad.state) == ("ok", "warning")
    assert "npu-smi calls its health Warning" in bad.note and bad.utilization_percent is None
    assert [one.pid for one in reading.processes] == [218, 692319]


def test_what_the_table_lacks_is_asked_for(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    npu = NpuSmi(environ("310P_23.0.txt", NPU_SMI_SEEN=str(seen)))
    first, second = npu.read().devices
    assert (first.utilization_percent, first.memory_busy_percent) == (58.0, 22.0)
    assert (second.utilization_percent, second.memory_busy_percent) == (0.0, None)
    assert seen.read_text().splitlines() == ["C info", "C info -t usages -i 0"]


def test_a_shared_chip_is_not_at_zero() -> None:
    (first, _) = NpuSmi(environ("310P_23.0.txt", NPU_SMI_USAGES="/dev/null")).read().devices
    assert first.utilization_percent is None
    assert "not told" in first.note


def test_no_tool() -> None:
    npu = NpuSmi({"PATH": "/nowhere"})
    assert not npu.present()
    assert npu.read().notes == ("no Ascend driver: npu-smi not found",)


def test_the_time_runs_out(tmp_path: Path) -> None:
    """What npu-smi itself started is ended with it."""
    group = tmp_path / "group"
    npu = NpuSmi(environ("910B_24.1.txt", NPU_SMI_SECONDS="300", NPU_SMI_GROUP=str(group)), timeout_s=3.0)
    assert npu.read().notes == ("npu-smi gave no answer within 3 s",)
    session = int(group.read_text())
    wait_until(lambda: not [one for one in scan().values() if one.session == session and not one.over])


@pytest.mark.parametrize(("text", "code", "note"), [
    ("usages_910B.txt", "1", "npu-smi ended with exit code 1: Chip ID                        : 0"),
    ("/dev/null", "255", "npu-smi ended with exit code 255"),
    ("/dev/null", "0", "npu-smi shows no NPU"),
])  # fmt: skip
def test_a_failure_is_told(text: str, code: str, note: str) -> None:
    reading = NpuSmi(environ(text, NPU_SMI_CODE=code)).read()
    assert (reading.devices, reading.notes) == ((), (note,))


def test_a_failure_later_ages_the_devices_and_then_loses_them() -> None:
    now = [100.0]
    env = environ("910_93_25.3.txt")
    npu = NpuSmi(env, clock=lambda: now[0])
    assert npu.read().devices[0].age_s == 0
    env["NPU_SMI_TEXT"] = "/dev/null"
    now[0] += 7
    aged = npu.read()
    assert aged.devices[0].age_s == 7 and aged.devices[0].power_w == 170.5
    now[0] += LOST_AFTER_S
    lost = npu.read().devices[0]
    assert (lost.state, lost.power_w, lost.name) == ("lost", None, "Ascend910")
