"""The header's counters: what is kept when there is little room."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.env.devices.history import History
from mswb.env.devices.sample import DeviceCounters, HostCounters, Sample
from mswb.ui.glyphs import set_ascii
from mswb.ui.widgets.counters import counters_text, memory_text
from tests.ui.machines import GIB, HOST, LIMITED, gpu, history, lost, machine


def words(sample: Sample, width: int) -> str:
    return counters_text(sample, history(sample), width).plain


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (80, "no device cpu 23% ▂ mem 41/64G"),
        (29, "no device cpu 23% mem 41/64G"),
        (18, "no device cpu 23%"),
        (9, "no device"),
        (4, "no d"),
        (0, ""),
    ],
)
def test_no_device(width: int, line: str) -> None:
    assert words(machine(), width) == line


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (80, "GPU0 40% 12/80G 61C 210W ▃ cpu 23% ▂ mem 41/64G"),
        (34, "GPU0 40% 12/80G 61C 210W ▃ cpu 23%"),
        (26, "GPU0 40% 12/80G 61C 210W ▃"),
        (21, "GPU0 40% 12/80G 61C ▃"),
        (16, "GPU0 40% 12/80G"),
        (8, "GPU0 40%"),
        (5, "GPU0"),
    ],
)
def test_one_device(width: int, line: str) -> None:
    assert words(machine(gpu(0)), width) == line


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (80, "8 GPU 44% avg 96/640G 68C max 1.7kW ▃ cpu 23% ▂ mem 41/64G"),
        (24, "8 GPU 44% avg 96/640G ▃"),
        (14, "8 GPU 44% avg"),
    ],
)
def test_several_devices(width: int, line: str) -> None:
    assert words(machine(*(gpu(number) for number in range(8))), width) == line


def test_a_lost_device_is_said_before_figures() -> None:
    sample = machine(gpu(0), lost(1))
    assert words(sample, 30) == "2 GPU 1 lost 40% avg 12/80G ▃"
    assert words(sample, 14) == "2 GPU 1 lost"
    assert words(machine(lost(0)), 14) == "1 GPU 1 lost"


def test_unknown_is_a_dash_and_parts_of_sums_are_not_sums() -> None:
    blind = DeviceCounters("k", "npu", "NPU0", 0)
    assert words(machine(blind, host=HostCounters()), 80) == "NPU0 - cpu -"
    mixed = machine(gpu(0), replace(gpu(1), memory_used_bytes=None, power_w=None))
    assert words(mixed, 80) == "2 GPU 40% avg -/160G 62C max ▃ cpu 23% ▂ mem 41/64G"


def test_the_group_is_the_host_inside_a_container() -> None:
    assert words(machine(host=LIMITED), 80) == "no device cpu 75% ▆ mem 12.0/16.0G"


def test_old_counters_say_so() -> None:
    assert words(machine(replace(gpu(0), age_s=12.0)), 26) == "GPU0 40% 12/80G ▃ 12s old"


def test_instances_are_not_counted_twice() -> None:
    part = DeviceCounters("MIG-0", "mig", "GPU0.0", parent="GPU-0", memory_used_bytes=GIB)
    assert words(machine(gpu(0), part), 15) == "GPU0 40% 12/80G"


def test_moments_of_several_devices_are_averaged() -> None:
    low = replace(gpu(0), utilization_percent=0.0), replace(gpu(1), utilization_percent=0.0)
    high = replace(gpu(0), utilization_percent=100.0), replace(gpu(1), utilization_percent=100.0)
    one, two = machine(*low, host=HOST), machine(*high, host=HOST)
    assert "▁█" in counters_text(two, history(one, two), 80).plain


def test_ascii() -> None:
    set_ascii(True)
    try:
        assert words(machine(gpu(0)), 80).isascii()
    finally:
        set_ascii(False)


@pytest.mark.parametrize(
    ("used", "total", "text"),
    [
        (12 * GIB, 80 * GIB, "12/80G"),
        (3 * GIB, 8 * GIB, "3.0/8.0G"),
        (300 << 20, 512 << 20, "300/512M"),
        (None, 80 * GIB, "-/80G"),
        (5 * GIB, None, "5.0/-G"),
        (None, None, ""),
        (0, 80 * GIB, "0/80G"),
    ],
)
def test_memory(used: int | None, total: int | None, text: str) -> None:
    assert memory_text(used, total) == text


@given(st.integers(0, 200), st.lists(st.sampled_from([gpu(0), gpu(1), lost(2), DeviceCounters("n", "npu", "NPU9", 9)])))
def test_it_never_exceeds_its_width(width: int, devices: list[DeviceCounters]) -> None:
    assert counters_text(machine(*devices), History(), width).cell_len <= width
