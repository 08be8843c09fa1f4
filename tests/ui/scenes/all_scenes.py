"""Every scene by its name."""

from __future__ import annotations

from tests.ui.scenes import caches, convert, curves, form, inventory, launch, logs, machine, shell, tables
from tests.ui.scenes.stage import Scene

GROUPS = (launch, inventory, caches, convert, machine, tables, logs, curves, form, shell)
SCENES: dict[str, Scene] = {
    f"{group.__name__.rpartition('.')[2]}/{name}": scene for group in GROUPS for name, scene in group.SCENES.items()
}
