"""The Profile pane: the profiles and traces of the folder."""

from __future__ import annotations

from typing import ClassVar

from mswb.ui.panes.inventory.pane import InventoryPane, Shelf


class ProfilePane(InventoryPane):
    """Which profiles there are, of which rank, and whether anything was captured."""

    SHELF: ClassVar[Shelf] = Shelf(
        "profile",
        "Look for profiles in",
        (
            "No profiles here (MindSpore, Ascend, Chrome, Kineto and Perfetto traces, nsys and nvprof exports …).",
            "此处没有性能数据（MindSpore、Ascend、Chrome、Kineto、Perfetto、nsys、nvprof …）。",
        ),
        (
            "Timeline, operators and waits come with a later version; o opens the logs.",
            "时间线、算子与等待分析将在后续版本提供；o 打开该性能数据自带的日志。",
        ),
    )
