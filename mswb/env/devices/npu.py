"""Ascend NPUs through ``npu-smi``: started as a child in English with a time-out, and never asked often.

One ``npu-smi info`` takes from 0.1 s to several seconds, so this belongs behind a
:class:`mswb.env.devices.source.Source`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from mswb.env.devices.npu_table import (
    Chip,
    ChipProcess,
    NpuTable,
    aicore_of,
    bandwidth_of,
    parse_info,
    parse_usages,
)
from mswb.env.devices.sample import DeviceCounters, DeviceProcess, DeviceState, Reading, as_lost

TIMEOUT_S = 20.0
LOST_AFTER_S = 60.0
TOOL = "npu-smi"
_HEALTH: Mapping[str, DeviceState] = {"ok": "ok", "na": "ok", "warning": "warning"}
_PROFILING = "the AI core's share is not told while the chip is profiled or shared"


class NpuSmi:
    """The NPUs of this host. Not for two threads at once.

    Args:
        environ: where PATH is looked up; by default this process's environment.
        timeout_s: after which npu-smi is ended.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._environ, self._timeout, self._clock = environ, timeout_s, clock
        self._good: tuple[Reading, float] | None = None
        self._usages: dict[int, dict[str, float]] = {}
        self._turn = 0

    def present(self) -> bool:
        """Whether there is an npu-smi to ask."""
        return shutil.which(TOOL, path=self._env().get("PATH")) is not None

    def read(self) -> Reading:
        """One reading of all NPUs; takes as long as npu-smi does."""
        text, problem = self._ask("info")
        table = parse_info(text)
        if not table.chips:
            return self._without(problem or "npu-smi shows no NPU")
        self._ask_usages(table)
        notes = [problem] if problem else []
        if table.dropped:
            notes.append(f"{table.dropped} lines of npu-smi could not be read")
        reading = self._reading(table, tuple(notes))
        self._good = (reading, self._clock())
        return reading

    def _without(self, problem: str) -> Reading:
        """The last good reading with its age; the chips are lost when npu-smi has failed for long."""
        if self._good is None:
            return Reading(notes=(problem,))
        good, read_at = self._good
        age = self._clock() - read_at
        if age < LOST_AFTER_S:
            return replace(good, devices=tuple(replace(one, age_s=age) for one in good.devices), notes=(problem,))
        lost = (as_lost(one, f"{one.label} is lost: {problem}") for one in good.devices)
        return Reading(tuple(lost), notes=(problem,))

    def _reading(self, table: NpuTable, notes: tuple[str, ...]) -> Reading:
        chips_of = Counter(chip.card for chip in table.chips)
        devices: dict[tuple[int, int], DeviceCounters] = {}
        for place, chip in enumerate(table.chips):
            number = _number(chip, place, chips_of)
            devices[chip.card, chip.chip] = _counters(chip, number, self._usages.get(chip.card, {}))
        processes = (_process(one, devices) for one in table.processes)
        return Reading(tuple(devices.values()), tuple(one for one in processes if one is not None), notes)

    def _ask_usages(self, table: NpuTable) -> None:
        """For cards whose table does not show the AI core's share: one card a reading, since each takes its time."""
        single = Counter(chip.card for chip in table.chips)
        wanting = [chip.card for chip in table.chips if chip.aicore_percent is None and single[chip.card] == 1]
        self._usages = {card: usages for card, usages in self._usages.items() if card in wanting}
        if wanting:
            card = wanting[self._turn % len(wanting)]
            self._turn += 1
            self._usages[card] = parse_usages(self._ask("info", "-t", "usages", "-i", str(card))[0])

    def _env(self) -> Mapping[str, str]:
        return os.environ if self._environ is None else self._environ

    def _ask(self, *arguments: str) -> tuple[str, str]:
        """What npu-smi prints, and a sentence when it fails."""
        env = {**self._env(), "LANG": "C", "LC_ALL": "C"}
        path = shutil.which(TOOL, path=env.get("PATH"))
        if path is None:
            return "", "no Ascend driver: npu-smi not found"
        try:
            code, raw = _run([path, *arguments], env, self._timeout)
        except subprocess.TimeoutExpired:
            return "", f"npu-smi gave no answer within {self._timeout:g} s"
        except OSError as problem:
            return "", f"npu-smi cannot be started: {problem.strerror}"
        text = raw.decode("utf-8", "replace")
        return text, f"npu-smi ended with exit code {code}{_last_words(text)}" if code else ""


def _run(command: list[str], env: Mapping[str, str], timeout_s: float) -> tuple[int, bytes]:
    """Exit code and output. At the end of the time the whole group is ended: a child of it may hold the pipe open."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env,
        start_new_session=True,
    ) as child:
        try:
            output, _ = child.communicate(timeout=timeout_s)
            return child.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise


def _last_words(text: str) -> str:
    lines = text.strip().splitlines()
    return f": {lines[-1].strip()[:120]}" if lines else ""


def _number(chip: Chip, place: int, chips_of: Mapping[int, int]) -> int:
    """CANN's number: as told, else the card's where each card has one chip (910B), else the place in the table."""
    if chip.device is not None:
        return chip.device
    return chip.card if all(count == 1 for count in chips_of.values()) else place


def _counters(chip: Chip, number: int, usages: Mapping[str, float]) -> DeviceCounters:
    aicore = chip.aicore_percent if chip.aicore_percent is not None else aicore_of(usages)
    health = (chip.health or "na").lower()
    state = _HEALTH.get(health, "alarm")
    words = [f"npu-smi calls its health {chip.health}"] * (state != "ok") + [_PROFILING] * (aicore is None)
    return DeviceCounters(
        key=f"npu:{chip.card}.{chip.chip}",
        kind="npu",
        label=f"NPU{number}",
        number=number,
        name=_full_name(chip.name),
        bus_id=chip.bus_id,
        state=state,
        utilization_percent=aicore,
        memory_busy_percent=bandwidth_of(usages),
        memory_used_bytes=chip.memory_used_bytes,
        memory_total_bytes=chip.memory_total_bytes,
        temperature_c=chip.temperature_c,
        power_w=chip.power_w,
        note="; ".join(words),
    )


def _full_name(name: str | None) -> str | None:
    """The tool says ``910B3`` for what everybody calls Ascend 910B3."""
    return f"Ascend {name}" if name and name[0].isdigit() else name


def _process(one: ChipProcess, devices: Mapping[tuple[int, int], DeviceCounters]) -> DeviceProcess | None:
    device = devices.get((one.card, one.chip))
    if device is None:
        return None
    pid = one.pid if one.container_pid is None else one.container_pid
    return DeviceProcess(device.key, pid, command=one.name, device_memory_bytes=one.memory_bytes)
