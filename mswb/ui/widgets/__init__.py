"""Widgets that any pane may use."""
