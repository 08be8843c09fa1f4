"""The table of panes: name, title, and where the code is that is loaded when the pane is first shown."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from mswb.findings import language
from mswb.ui.context import Context
from mswb.ui.panes.base import Pane


class Entry(NamedTuple):
    """One pane. ``target`` is ``module:class``."""

    title: str
    zh: str
    target: str

    @property
    def words(self) -> str:
        """The title in the language of this process."""
        return self.zh if language() == "zh" else self.title


PANES = {
    "launch": Entry("Launch", "启动", "mswb.ui.panes.launch.pane:LaunchPane"),
    "cache": Entry("Cache", "缓存", "mswb.ui.panes.cache.pane:CachePane"),
    "profile": Entry("Profile", "性能", "mswb.ui.panes.profile.pane:ProfilePane"),
    "convert": Entry("Convert", "转换", "mswb.ui.panes.convert.pane:ConvertPane"),
}
FIRST = "launch"
PANE_OF_KIND = {"logs": "launch", "cache": "cache", "profile": "profile", "model": "convert"}
"""Which pane shows what :func:`mswb.flows.open_path.kind_of` recognised."""


def make_pane(name: str, context: Context) -> Pane:
    """Load and make a pane; its id is ``pane-NAME``."""
    module, _, attribute = PANES[name].target.partition(":")
    pane: Pane = getattr(import_module(module), attribute)(context, id=f"pane-{name}")
    return pane
