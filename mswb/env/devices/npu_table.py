"""The text of ``npu-smi info`` as rows: pure, and tolerant of the generations of that tool.

A chip has two lines of three cells, whose columns the two head lines name::

    | NPU   Name       | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
    | Chip  Phy-ID     | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
    | 0     Ascend910  | OK            | 178.5       36                0    / 0             |
    | 0     0          | 0000:9D:00.0  | 0           0    / 0          3416 / 65536         |

Seen in public reports of 20.x to 26.x: the second column of the second line is ``Device``, ``Phy-ID`` or absent; 310
and 310P have no HBM; values are ``NA`` or ``-``; the blank before a slash may be missing; the second chip of a card
shows no power. The process table follows, from 26.0 on with the process id inside the container.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

MIB = 1 << 20
MAX_TEXT = 1 << 20
"""Characters that are read; sixteen chips with a hundred processes need a tenth of it."""
_VALUE = re.compile(r"[^\s/]+\s*/\s*[^\s/]+|[^\s/]+")
_PAIR = re.compile(r"(\d{1,12})\s*/\s*(\d{1,12})", re.ASCII)
_VERSION = re.compile(r"npu-smi\s+([\w.]+)")


@dataclass(frozen=True, slots=True)
class Chip:
    """One chip. ``card`` and ``chip`` address it for npu-smi; ``device`` is CANN's number where the table shows it."""

    card: int
    chip: int
    device: int | None = None
    name: str | None = None
    health: str | None = None
    bus_id: str | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    aicore_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ChipProcess:
    """One row of the process table; ``container_pid`` is the pid that the process has in its container, if told."""

    card: int
    chip: int
    pid: int
    name: str | None = None
    memory_bytes: int | None = None
    container_pid: int | None = None


@dataclass(frozen=True, slots=True)
class NpuTable:
    """All that ``npu-smi info`` said. ``dropped``: lines in the place of a chip that could not be read."""

    version: str | None = None
    chips: tuple[Chip, ...] = ()
    processes: tuple[ChipProcess, ...] = ()
    dropped: int = 0


def parse_info(text: str) -> NpuTable:
    """Read the output of ``npu-smi info``; whatever the text is, what can be read of it is returned."""
    text = text[:MAX_TEXT]
    version = _VERSION.search(text)
    rows = [_cells(line) for line in text.splitlines() if line.lstrip().startswith("|")]
    start = next((index for index, row in enumerate(rows) if _is_process_head(row)), len(rows))
    chips, dropped = _chips(rows[:start])
    processes = tuple(_processes(rows[start:]))
    return NpuTable(version.group(1) if version else None, tuple(chips), processes, dropped)


def parse_usages(text: str) -> dict[str, float]:
    """The numbers of ``npu-smi info -t usages`` by label in lower case; of the first chip where there are several."""
    found: dict[str, float] = {}
    for line in text[:MAX_TEXT].splitlines():
        label, _, word = line.partition(":")
        value = _float(word.strip())
        if value is not None:
            found.setdefault(" ".join(label.lower().split()), value)
    return found


def aicore_of(usages: Mapping[str, float]) -> float | None:
    """The AI core's share in what :func:`parse_usages` gave; the labels differ by driver."""
    return _usage(usages, r"ai\s?core.*usage")


def bandwidth_of(usages: Mapping[str, float]) -> float | None:
    """The share of the memory bandwidth in what :func:`parse_usages` gave: of HBM, else of DDR."""
    hbm = _usage(usages, r"hbm bandwidth")
    return hbm if hbm is not None else _usage(usages, r"bandwidth")


def _usage(usages: Mapping[str, float], pattern: str) -> float | None:
    found = (value for label, value in usages.items() if re.search(pattern, label))
    return next((value for value in found if 0 <= value <= 100), None)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _is_process_head(row: list[str]) -> bool:
    return any("process id" in cell.lower() for cell in row)


def _chips(rows: list[list[str]]) -> tuple[list[Chip], int]:
    """Pairs of data lines under the two head lines."""
    top: tuple[str, ...] = ()
    bottom: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    waiting: list[str] | None = None
    chips: list[Chip] = []
    dropped = 0
    for row in rows:
        if len(row) < 3:
            continue
        first = row[0].split()
        if first[:1] == ["NPU"]:
            top = _columns(row[2])
        elif first[:1] == ["Chip"]:
            second, bottom = _columns(row[0]), _columns(row[2])
        elif not bottom:
            continue
        elif waiting is None:
            waiting = row
        else:
            chip = _chip(waiting, row, (top, second, bottom))
            # A line that is no first line: perhaps the next one is, so only one is dropped.
            dropped += chip is None
            if chip is not None:
                chips.append(chip)
            waiting = row if chip is None else None
    return chips, dropped + (waiting is not None)


def _chip(one: list[str], two: list[str], heads: tuple[tuple[str, ...], ...]) -> Chip | None:
    top, second, bottom = heads
    card, _, name = one[0].partition(" ")
    numbers = two[0].split()
    # A second line begins with numbers only, and a first line has a name.
    if not _is_number(card) or not name.strip() or not numbers or not all(_is_number(word) for word in numbers):
        return None
    upper, lower = _values(top, one[2]), _values(bottom, two[2])
    used, total = _memory(lower)
    return Chip(
        card=int(card),
        chip=int(numbers[0]),
        device=int(numbers[1]) if len(numbers) > 1 and len(second) > 1 else None,
        name=name.strip(),
        health=one[1] or None,
        bus_id=two[1] if ":" in two[1] else None,
        power_w=_float(upper.get("power")),
        temperature_c=_float(upper.get("temp")),
        aicore_percent=_share(lower.get("aicore")),
        memory_used_bytes=used,
        memory_total_bytes=total,
    )


def _columns(head: str) -> tuple[str, ...]:
    """``Power(W)  Temp(C)  Hugepages-Usage(page)`` -> (power, temp, hugepages-usage)."""
    return tuple(word.split("(")[0].lower() for word in head.split())


def _values(columns: tuple[str, ...], cell: str) -> dict[str, str]:
    """Values under their columns. When some are missing, pairs (``a / b``) keep to the usage columns, in order."""
    values = _VALUE.findall(cell)
    if len(values) == len(columns):
        return dict(zip(columns, values, strict=True))
    usage = [name for name in columns if name.endswith("usage")]
    single = [name for name in columns if not name.endswith("usage")]
    pairs = [value for value in values if _PAIR.fullmatch(value)]
    others = [value for value in values if not _PAIR.fullmatch(value)]
    return dict(zip(usage, pairs, strict=False)) | dict(zip(single, others, strict=False))


def _memory(values: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Bytes used and in all: of HBM where the chip has it, else of its DDR; ``0 / 0`` is a memory that is not there."""
    for name in ("hbm-usage", "memory-usage"):
        pair = _PAIR.fullmatch(values.get(name, ""))
        if pair is not None and int(pair.group(2)) > 0:
            return int(pair.group(1)) * MIB, int(pair.group(2)) * MIB
    return None, None


def _processes(rows: Iterable[list[str]]) -> Iterator[ChipProcess]:
    columns: dict[str, int] = {}
    for row in rows:
        if _is_process_head(row):
            columns = {cell.lower(): index for index, cell in enumerate(row)}
            continue
        one = _process(row, columns)
        if one is not None:
            yield one


def _process(row: list[str], columns: Mapping[str, int]) -> ChipProcess | None:
    def cell(name: str) -> str:
        index = next((place for head, place in columns.items() if head.startswith(name)), len(row))
        return row[index] if index < len(row) else ""

    where, pid = row[0].split(), cell("process id")
    if not where or not all(map(_is_number, where)) or not _is_number(pid):
        return None
    memory, inside = cell("process memory"), cell("process id in container")
    return ChipProcess(
        card=int(where[0]),
        chip=int(where[1]) if len(where) > 1 else 0,
        pid=int(pid),
        name=cell("process name") or None,
        memory_bytes=int(memory) * MIB if _is_number(memory) else None,
        container_pid=int(inside) if _is_number(inside) else None,
    )


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) < 12


def _float(word: str | None) -> float | None:
    """A plain number; NA, - and what is no number are None."""
    return float(word) if word is not None and re.fullmatch(r"\d{1,9}(\.\d{1,9})?", word, re.ASCII) else None


def _share(word: str | None) -> float | None:
    value = _float(word)
    return value if value is not None and value <= 100 else None
