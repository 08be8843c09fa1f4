"""The lines of the devices screen as data, and which of their cells are drawn again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual._compositor import ChopsUpdate
from textual.strip import Strip

from mswb.env.devices.history import History
from mswb.env.devices.sample import DeviceCounters, HostCounters, Sample
from mswb.ui.frames import CroppedUpdate
from mswb.ui.widgets.devices.board import changed
from mswb.ui.widgets.devices.lines import Line, all_lines
from tests.ui.machines import LIMITED, gpu, history, lost, machine


def rows(sample: Sample, width: int, detailed: bool = False) -> list[str]:
    lines = all_lines(sample, history(sample), width, detailed)
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def test_host() -> None:
    assert rows(machine(), 100) == [
        "cpu      23% ██░░░░░░░░  of 4 CPUs, load 1.25 2.00 3.00  ▂",
        "memory   64% ██████░░░░  41/64G  swap 0.0/8.0G  ▅",
        "disk    100G free of 900G, read 977K/s, write 2.4M/s    network in 98K/s, out -/s",
        "cores   ▁▇ ▄",
    ]


def test_host_that_tells_nothing() -> None:
    assert rows(machine(host=HostCounters()), 80) == [
        "cpu        - ░░░░░░░░░░",
        "memory     - ░░░░░░░░░░  -",
        "disk    - free of -, read -/s, write -/s    network in -/s, out -/s",
    ]


@pytest.mark.parametrize(
    ("width", "cpu", "memory"),
    [
        (
            130,
            "cpu      75% ████████░░░  of 2 CPUs (limit of the cgroup, waits 12%; all 4 of the host 23%), "
            "load 1.25 2.00 3.00  ▆",
            "memory   75% ████████░░░  12.0/16.0G (limit of the cgroup; the host has 64G)  ✖ 1 killed for memory  "
            "swap 0.0/8.0G  ▆",
        ),
        (
            78,
            "cpu      75% ████████░░  of 2 CPUs (cgroup, waits 12%)  ▆",
            "memory   75% ████████░░  12.0/16.0G (cgroup)  ✖ 1 killed for memory  ▆",
        ),
    ],
)
def test_limits_are_the_truth(width: int, cpu: str, memory: str) -> None:
    found = rows(machine(host=LIMITED), width)
    assert found[:2] == [cpu, memory]


def test_a_device_at_both_sizes() -> None:
    sample = machine(replace(gpu(0), ecc_errors=3))
    assert rows(sample, 78)[4] == "GPU0     40% ████░░░░░░      12/80G ██░░░░░░░░   61C  210/700W ✖ ECC 3 ▃"
    wide = rows(sample, 158, detailed=True)
    assert wide[4].startswith("GPU0    NVIDIA H100 80GB HBM3     40% ██████░░░░░░░░░░") and "1755MHz ▃" in wide[4]
    assert wide[5] == (
        "        P0, memory busy 20%, ECC 3 errors, clock at most 1980 MHz, memory clock 2619 MHz, "
        "bus 00000000:10:00.0, GPU-0"
    )


def test_a_lost_device_keeps_its_name_and_has_no_figures() -> None:
    found = rows(machine(gpu(0), lost(1)), 78, detailed=True)
    assert found[6] == "GPU1    ✖ LOST  NVIDIA H100 80GB HBM3, bus 00000000:11:00.0, GPU-1"
    assert found[7] == "✖ GPU1 is lost: it no longer answers"


def test_unknown_is_never_zero() -> None:
    line = rows(machine(DeviceCounters("n", "npu", "NPU0", 0, state="warning", age_s=7.0)), 78)[4]
    assert "0%" not in line and "0C" not in line and "0W" not in line
    assert "▲ warning" in line and "7s old" in line


def test_hostile_names_and_notes() -> None:
    device = replace(gpu(0), name="\x1b]0;title\x07", note="\x1b[2J", state="alarm")
    shown = "\n".join(rows(machine(device, notes=("npu-smi said \x1b[31m",)), 130, detailed=True))
    assert "\x1b" not in shown and "\x07" not in shown


@given(st.integers(10, 220), st.booleans())
def test_no_line_exceeds_the_width(width: int, detailed: bool) -> None:
    sample = machine(gpu(0), lost(1), replace(gpu(2), name="显卡" * 30), host=LIMITED, notes=("没有驱动" * 40,))
    for line in all_lines(sample, History(), width, detailed):
        used = sum(cell_len(text) for text, _ in line)
        assert used <= max(width, 78)  # below 78 cells the figures of a device are cut by the widget


pieces = st.lists(
    st.tuples(st.text("ab 中▁█", max_size=6), st.sampled_from(["", "accent"])), max_size=5
).map(tuple)  # fmt: skip


def cells(line: Line) -> list[tuple[str, str]]:
    return [
        item for text, style in line for char in text for item in [(char, style)] + [("", style)] * (cell_len(char) - 1)
    ]


@given(pieces, pieces)
def test_drawing_the_changed_runs_gives_the_new_line(old: Line, new: Line) -> None:
    before, after = cells(old), cells(new)
    length = max(len(before), len(after))
    before += [(" ", "")] * (length - len(before))
    after += [(" ", "")] * (length - len(after))
    for start, end in changed(old, new):
        before[start:end] = after[start:end]
    assert [char for char, _ in before] == [char for char, _ in after]


def test_only_what_changed() -> None:
    old: Line = (("GPU0  12% ", ""), ("██████░░░░", "accent"), ("      same words here       ", ""), ("▁▂▃", "accent"))
    new: Line = (("GPU0  15% ", ""), ("██████░░░░", "accent"), ("      same words here       ", ""), ("▂▃▄", "accent"))
    assert changed(old, new) == [(7, 8), (48, 51)]
    assert changed(old, old) == []


@pytest.mark.parametrize(
    ("spans", "sent"),
    [
        ([(0, 3, 5)], ["\x1b[1;4H", "lo"]),
        ([(0, 0, 11)], ["\x1b[1;1H", "hello world"]),
        ([(0, 9, 14)], ["\x1b[1;10H", "ld", "\x1b[1;12H", "abc"]),
        ([(1, 1, 2)], ["\x1b[2;2H", "e"]),
    ],
)
def test_updates_are_cut_at_both_ends(spans: list[tuple[int, int, int]], sent: list[str]) -> None:
    from rich.console import Console

    line = {0: Strip([Segment("hello world")]), 11: Strip([Segment("abcdef")])}
    update: ChopsUpdate = CroppedUpdate([line, {**line, 11: None}], spans, [[11, 17], [11, 17]])
    assert update.render_segments(Console(force_terminal=True, color_system=None)) == "".join(sent)
