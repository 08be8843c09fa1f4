"""The Cache pane: caches, data files and checkpoints of the folder, and of all places that gather such things."""

from __future__ import annotations

from typing import ClassVar

from mswb.ui.panes.inventory.pane import InventoryPane, Shelf


class CachePane(InventoryPane):
    """What training leaves on the disk, and what it reads."""

    SHELF: ClassVar[Shelf] = Shelf(
        "cache",
        "Look for caches in",
        (
            "No caches, data files or checkpoints here (TFRecord, MindRecord, arrays, compile and kernel caches …).",
            "此处没有缓存、数据文件或检查点（TFRecord、MindRecord、数组、编译缓存、算子缓存 …）。",
        ),
        (
            "A glance tells the status; verify, repair and clean come with a later version.",
            "状态仅为快速查看的结果；校验、修复与清理将在后续版本提供。",
        ),
        outside=True,
    )
