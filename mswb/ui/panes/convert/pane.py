"""The Convert pane: the models of the folder."""

from __future__ import annotations

from typing import ClassVar

from mswb.ui.panes.inventory.pane import InventoryPane, Shelf


class ConvertPane(InventoryPane):
    """Which models there are, in which format and version."""

    SHELF: ClassVar[Shelf] = Shelf(
        "model",
        "Look for models in",
        (
            "No models here (ONNX, MindIR, MindSpore Lite, AIR, Ascend OM).",
            "此处没有模型（ONNX、MindIR、MindSpore Lite、AIR、昇腾 OM）。",
        ),
        (
            "Convert, verify and lint come with a later version.",
            "转换、校验与检查将在后续版本提供。",
        ),
    )
