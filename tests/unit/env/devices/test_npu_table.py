"""npu-smi's text as rows: tables of its generations, and text of any kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.env.devices.npu_table import (
    MIB,
    Chip,
    ChipProcess,
    aicore_of,
    bandwidth_of,
    parse_info,
    parse_usages,
)

FILES = Path(__file__).parents[3] / "fixtures/npu_smi"


def read(name: str) -> str:
    return (FILES / name).read_text()


@pytest.mark.parametrize(
    ("name", "version", "count", "place", "chip"),
    [
        (
            "310_20.2.txt", "20.2.0", 4, 3,
            Chip(0, 3, 3, "310", "OK", "0000:08:00.0", 12.8, 47.0, 21.0, 2460 * MIB, 8192 * MIB),
        ),
        (
            "910A_21.0.txt", "21.0.2", 4, 2,
            Chip(2, 0, 2, "910A", "Alarm", "0000:41:00.0", 70.3, 37.0, 60.0, 2048 * MIB, 32768 * MIB),
        ),
        (
            "310P_23.0.txt", "23.0.rc3", 2, 0,
            Chip(0, 0, 0, "310P3", "OK", None, None, 51.0, None, 3841 * MIB, 21527 * MIB),
        ),
        (
            "910B_24.1.txt", "24.1.rc2", 8, 3,
            Chip(3, 0, None, "910B3", "OK", "0000:82:00.0", 94.5, 39.0, 90.0, 60123 * MIB, 65536 * MIB),
        ),
        (
            "910_93_25.3.txt", "25.3.rc1", 8, 5,
            Chip(2, 1, 5, "Ascend910", "OK", "0000:92:00.1", None, 35.0, 25.0, 3405 * MIB, 65536 * MIB),
        ),
        (
            "910_93_26.0.txt", "26.0.rc2", 2, 1,
            Chip(7, 1, 15, "Ascend910", "Warning", "0000:83:00.0", None, 52.0, None, 15242 * MIB, 65536 * MIB),
        ),
    ],
)  # fmt: skip
def test_generations(name: str, version: str, count: int, place: int, chip: Chip) -> None:
    table = parse_info(read(name))
    assert (table.version, len(table.chips), table.dropped) == (version, count, 0)
    assert table.chips[place] == chip


def test_processes() -> None:
    assert parse_info(read("910B_24.1.txt")).processes == (
        ChipProcess(2, 0, 1333902, "python", 57709 * MIB),
        ChipProcess(3, 0, 1333903, None, 57709 * MIB),
    )
    assert parse_info(read("910_93_26.0.txt")).processes == (
        ChipProcess(7, 0, 692318, "python3", 12417 * MIB, 218),
        ChipProcess(7, 1, 692319, "python3", 12418 * MIB, None),
    )


@pytest.mark.parametrize(("name", "aicore", "bandwidth"), [("usages_910B.txt", 63, 41), ("usages_310P.txt", 58, 22)])
def test_usages(name: str, aicore: float, bandwidth: float) -> None:
    usages = parse_usages(read(name))
    assert (aicore_of(usages), bandwidth_of(usages)) == (aicore, bandwidth)


def test_usages_that_say_nothing() -> None:
    usages = parse_usages("Aicore Usage Rate(%) : NA\nHBM Bandwidth Usage Rate(%) : 400\nnothing\n: 3\n")
    assert (aicore_of(usages), bandwidth_of(usages)) == (None, None)


def test_a_damaged_line_costs_only_its_chip() -> None:
    lines = read("910B_24.1.txt").splitlines()
    broken = next(number for number, line in enumerate(lines) if "0000:C2:00.0" in line)
    table = parse_info("\n".join(lines[:broken] + lines[broken + 1 :]))
    assert [chip.card for chip in table.chips] == [0, 2, 3, 4, 5, 6, 7]
    assert table.dropped == 1


@pytest.mark.parametrize(
    ("cell", "used", "total"),
    [("0  0 / 0  0 / 0", None, None), ("0  7 / 9  0 / 0", 7, 9), ("0  7 / 9  3 / 4", 3, 4), ("0  7 / 9", 7, 9)],
)
def test_a_memory_that_is_not_there_is_none(cell: str, used: int | None, total: int | None) -> None:
    (chip,) = parse_info(f"{HEADS}| 0 910B3 | OK | 90 40 0 / 0 |\n| 0 0 | 0:1 | {cell} |\n").chips
    assert chip.memory_used_bytes == (None if used is None else used * MIB)
    assert chip.memory_total_bytes == (None if total is None else total * MIB)


HEADS = """\
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
"""
unknown = st.sampled_from(["NA", "-"])
small = st.integers(0, 99999)
chips = st.lists(
    st.builds(
        Chip,
        card=st.integers(0, 999),
        chip=st.integers(0, 9),
        device=small,
        name=st.sampled_from(["910B3", "Ascend910", "310P3", "Ascend 910 Pro"]),
        health=st.sampled_from(["OK", "Warning", "Alarm", "Critical"]),
        bus_id=st.just("0000:9D:00.0"),
        power_w=st.none() | st.integers(0, 9999).map(lambda tenth: tenth / 10),
        temperature_c=st.none() | st.integers(0, 120).map(float),
        aicore_percent=st.none() | st.integers(0, 100).map(float),
        memory_used_bytes=small.map(lambda count: count * MIB),
        memory_total_bytes=st.integers(1, 99999).map(lambda count: count * MIB),
    ),
    max_size=16,
)


def drawn(chip: Chip, missing: str, gap: str) -> str:
    def number(value: float | None) -> str:
        return missing if value is None else f"{value:g}"

    used, total = (chip.memory_used_bytes or 0) // MIB, (chip.memory_total_bytes or 0) // MIB
    one = f"{number(chip.power_w)}   {number(chip.temperature_c)}   0    / 0"
    two = f"{number(chip.aicore_percent)}    0{gap}/ 0      {used}{gap}/ {total}"
    return (
        f"| {chip.card}     {chip.name} | {chip.health} | {one} |\n"
        f"| {chip.chip}   {chip.device} | {chip.bus_id} | {two} |\n+------+\n"
    )


@given(chips, unknown, st.sampled_from(["", " ", "    "]))
def test_what_is_drawn_is_read(rows: list[Chip], missing: str, gap: str) -> None:
    text = HEADS + "".join(drawn(chip, missing, gap) for chip in rows)
    table = parse_info(text)
    assert table.chips == tuple(rows)
    assert table.dropped == 0


@given(chips, st.data())
def test_a_cut_text_gives_the_rows_before_the_cut(rows: list[Chip], data: st.DataObject) -> None:
    text = HEADS + "".join(drawn(chip, "NA", " ") for chip in rows)
    cut = data.draw(st.integers(0, len(text)))
    found = parse_info(text[:cut]).chips
    whole = [chip for chip in found if chip in rows]
    assert len(found) - len(whole) <= 1  # the row of the cut may have lost its tail
    assert tuple(found[: len(whole)]) == tuple(rows[: len(whole)])


alphabet = st.sampled_from("|+-=/:.()% \n0123456789٣²ANPUChipProcess idoc\x1b\x00中")


@given(st.text(alphabet, max_size=400), st.booleans())
def test_any_text_is_survived(text: str, after_heads: bool) -> None:
    parse_usages(text)
    table = parse_info(HEADS + text if after_heads else text)
    assert all(chip.memory_total_bytes is None or chip.memory_total_bytes > 0 for chip in table.chips)


def test_numbers_beyond_reason() -> None:
    digits = "9" * 6000
    text = (
        HEADS + f"| {digits} 910 | OK | {digits} 4 0 / 0 |\n| {digits} 0 | 0:0 | {digits} 0 / 0 {digits} / {digits} |\n"
    )
    assert parse_info(text).chips == ()
    assert parse_usages(f"Aicore Usage Rate(%) : {digits}") == {}
