"""How a session looks and which keys it has: theme files and the user's key map, applied to the app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.app import App

from mswb.findings import Finding, make
from mswb.settings import Settings
from mswb.ui import keymap, themes


def apply_themes(
    app: App[Any], settings: Settings, wanted: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Register all themes and use the first of ``wanted`` that exists, else the default.

    Returns:
        The names of all themes, and what is wrong with files that can't be used.
    """
    loaded = themes.load_themes(themes.folders(settings))
    for theme in loaded.themes.values():
        app.register_theme(theme)
    app.theme = next((name for name in wanted if name in loaded.themes), themes.DEFAULT)
    return tuple(sorted(loaded.themes)), loaded.problems


def apply_keys(app: App[Any], settings: Settings) -> tuple[Finding, ...]:
    """Use the user's ``[keys]``; returns what is wrong with them."""
    usable, problems = keymap.overrides(settings.tables.get("keys", {}))
    app.set_keymap(usable)
    return tuple(make("config-invalid", values={"name": "[keys]", "reason": problem}) for problem in problems)
