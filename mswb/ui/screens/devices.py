"""Counters of this machine: host, devices, and the processes that hold them, once a second."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.widgets import Static

from mswb.env.devices.history import History
from mswb.env.devices.sample import DeviceProcess, ProcessCounters, RankLink, Sample
from mswb.files.safety import printable
from mswb.findings import language
from mswb.settings import host_name
from mswb.ui import keymap
from mswb.ui.context import Context
from mswb.ui.messages import Sampled
from mswb.ui.screens.base import PacedScreen
from mswb.ui.widgets.devices.board import Board
from mswb.ui.widgets.devices.lines import all_lines
from mswb.ui.widgets.keybar import KeyBar
from mswb.ui.widgets.table.data import Column
from mswb.ui.widgets.table.widget import Table

DETAILED_DEVICES = 4
"""With more devices than this, details come only when asked for."""
_PARTS = ("both", "counters", "processes")


class DevicesScreen(PacedScreen[None]):
    """Drawn from the app's samples (:class:`mswb.ui.messages.Sampled`); reads nothing itself.

    Args:
        sample, history: what is there already, so that the first frame is not empty.
    """

    DEFAULT_CSS = """
    DevicesScreen #devices-title { height: 1; background: $panel; text-style: bold; padding: 0 1; }
    DevicesScreen Board { padding: 0 1; }
    DevicesScreen.-counters Table, DevicesScreen.-processes Board { display: none; }
    """
    BINDINGS: ClassVar = [*keymap.bindings("devices"), *keymap.bindings("overlay")]

    def __init__(self, context: Context, sample: Sample | None = None, history: History | None = None) -> None:
        super().__init__()
        self.context = context
        self._sample = sample
        self._history = history or History()
        self._detailed: bool | None = None
        self._part = _PARTS[0]

    def compose(self) -> ComposeResult:
        yield Static(f"{_say('Machine', '机器')}  {printable(host_name())}", id="devices-title", markup=False)
        yield Board(id="devices-board")
        yield Table(
            columns(),
            id="devices-processes",
            keys_column="key",
            title=_say("Processes on devices, and ranks", "占用设备的进程和各 rank"),
            empty=_say("no process holds a device, no rank is here", "没有进程占用设备，也没有 rank"),
        )
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(Table).focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    @on(Sampled)
    def _sampled(self, message: Sampled) -> None:
        self.show(message.sample, message.history)

    def show(self, sample: Sample, history: History) -> None:
        """Draw another sample."""
        self._sample, self._history = sample, history
        self._draw()

    @property
    def detailed(self) -> bool:
        """Whether each device has its second line: as chosen, else when there are few."""
        count = len(self._sample.devices) if self._sample else 0
        return count <= DETAILED_DEVICES if self._detailed is None else self._detailed

    def action_details(self) -> None:
        """Show more of each device, or less."""
        self._detailed = not self.detailed
        self._draw()

    def action_parts(self) -> None:
        """Go through both parts, counters alone, processes alone."""
        self._part = _PARTS[(_PARTS.index(self._part) + 1) % len(_PARTS)]
        for name in _PARTS[1:]:
            self.set_class(self._part == name, f"-{name}")
        (self.query_one(Board) if self._part == "counters" else self.query_one(Table)).focus()
        self.call_after_refresh(self._draw)

    def action_close(self) -> None:
        """Go back."""
        self.dismiss()

    def _most_lines(self, table: Table) -> int:
        """Lines the counters may take: what few processes leave, and always the larger part."""
        room = self.size.height - 2
        return room if self._part == "counters" else max(room * 65 // 100, room - len(table.data) - 2)

    def _draw(self) -> None:
        if self._sample is None or not self.is_mounted:
            return
        board, table = self.query_one(Board), self.query_one(Table)
        arrays = process_arrays(self._sample)
        if arrays != table.data.arrays:
            table.set_data(arrays)
        board.styles.max_height = self._most_lines(table)
        width = board.content_size.width or self.size.width - 2
        board.show(all_lines(self._sample, self._history, width, self.detailed))


def columns() -> tuple[Column, ...]:
    """The process table."""
    return (
        Column("device", _say("device", "设备"), "text"),
        Column("pid", "pid", "number", show=str, total=False),
        Column("user", _say("user", "用户"), "text", hide_below=70),
        Column("rank", "rank", "number", total=False),
        Column("run", _say("run", "运行"), "text", hide_below=120),
        Column("memory", _say("memory", "显存"), "bytes"),
        Column("busy", _say("busy", "占用"), "number", show=_percent),
        Column("cpu", "CPU", "number", show=_percent),
        Column("rss", "RSS", "bytes", hide_below=70),
        Column("command", _say("command", "命令"), "text"),
        Column("key", "", "text", hide_below=10**6),
    )


def process_arrays(sample: Sample) -> dict[str, list[Any]]:
    """Rows of the process table: what the driver names, then ranks that their variables tie to a device, or that train
    on the host alone."""
    use = {one.pid: one for one in sample.ranks}
    rows = [_of_process(one) for one in sample.processes]
    linked = (link for link in sample.links if link.source == "environment")
    rows += [_of_link(one, use.get(one.pid)) for one in linked if one.device is not None or one.pid in use]
    labels = {device.key: device.label for device in sample.devices}
    for row in rows:
        row["key"] = f"{row['device']} {row['pid']}"
        row["device"] = labels.get(row["device"], row["device"])
    return {column.key: [row[column.key] for row in rows] for column in columns()}


def _of_process(one: DeviceProcess) -> dict[str, Any]:
    elsewhere = _say("(another pid namespace)", "（其他 pid 命名空间）")
    return {
        "device": one.device,
        "pid": one.pid,
        "user": one.user,
        "rank": one.rank,
        "run": one.run,
        "memory": one.device_memory_bytes,
        "busy": one.utilization_percent,
        "cpu": one.cpu_percent,
        "rss": one.rss_bytes,
        "command": f"{elsewhere} {one.command or ''}".strip() if one.foreign else one.command,
    }


def _of_link(link: RankLink, use: ProcessCounters | None) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(("user", "memory", "busy"))
    command = _say("(rank and device by its variables)", "（由环境变量得知）")
    if link.device is None:
        command = f"({link.role or _say('process of a training', '训练进程')})"
    counters = {"cpu": use.cpu_percent, "rss": use.rss_bytes} if use is not None else {"cpu": None, "rss": None}
    told = {"device": link.device or "-", "pid": link.pid, "rank": link.rank, "run": link.run, "command": command}
    return empty | counters | told


def _percent(value: float) -> str:
    return f"{value:.0f}%"


def _say(english: str, chinese: str) -> str:
    return chinese if language() == "zh" else english
