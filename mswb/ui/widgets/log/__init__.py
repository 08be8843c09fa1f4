"""The log view: files of any size, one or many merged by time, followed, filtered, searched."""

from mswb.ui.widgets.log.panel import LogPanel

__all__ = ["LogPanel"]
