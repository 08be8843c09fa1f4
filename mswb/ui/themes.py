"""Themes are TOML files: ours in ``themes/``, the user's in ``themes/`` beside the configuration file.

A file's name is the theme's name; a user's file replaces ours of the same name. Fields are those of
:class:`textual.theme.Theme`; what a file leaves out comes from ``dark.toml``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

from mswb.findings import Finding, Where, make, parse_toml
from mswb.settings import Settings

DEFAULT = "dark"
MAX_BYTES = 64 << 10
_GROUND = {"foreground", "background", "surface", "panel", "boost"}
_COLOURS = _GROUND | {"primary", "secondary", "accent", "success", "warning", "error"}
_NUMBERS = frozenset({"luminosity_spread", "text_alpha"})
_SWITCHES = frozenset({"dark", "ansi"})
_KNOWN = {field.name for field in fields(Theme)} - {"name"}


@dataclass(frozen=True, slots=True)
class Loaded:
    """The themes that can be used, by name, and what is wrong with the others."""

    themes: Mapping[str, Theme]
    problems: tuple[Finding, ...]


def folders(settings: Settings) -> tuple[Path, ...]:
    """Where themes are looked for; a later folder wins."""
    package = Path(__file__).resolve().parent.parent
    ours = package / "_themes"  # in a wheel; in a checkout they are at its top
    return (ours if ours.is_dir() else package.parent / "themes", settings.config_file.parent / "themes")


def load_themes(places: Iterable[Path]) -> Loaded:
    """Read every ``*.toml`` of the folders; a bad file costs a finding and nothing else."""
    base: dict[str, Any] = {}
    themes: dict[str, Theme] = {}
    problems: list[Finding] = []
    for path in _files(places):
        try:
            raw = _read(path)
            if path.stem == DEFAULT and not base:
                base = raw
            themes[path.stem] = parse_theme(path.stem, raw, base)
        except (OSError, ValueError) as problem:
            values = {"file": str(path), "reason": str(problem)}
            problems.append(make("theme-invalid", where=Where(file=str(path)), values=values))
    return Loaded(themes, tuple(problems))


def parse_theme(name: str, raw: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> Theme:
    """A theme from the content of its file, on top of ``base``.

    Raises:
        ValueError: an unknown field, or a value that is no colour, number or switch; the message names it.
    """
    ansi = bool(raw.get("ansi"))
    merged = dict(raw) if ansi else {**(base or {}), **raw}
    if base and not ansi and raw.get("dark", True) == base.get("dark", True):
        merged["variables"] = {**base.get("variables", {}), **raw.get("variables", {})}
    elif "variables" not in raw:
        merged.pop("variables", None)
    if "primary" not in merged:
        raise ValueError("it has no 'primary' colour")
    for field, value in merged.items():
        _check(field, value)
    return Theme(name=name, **merged)


def watch(places: Iterable[Path], changed: Callable[[], None], cancelled: Callable[[], bool]) -> None:
    """Call ``changed`` whenever a theme file of the folders was written; returns when ``cancelled()``."""
    from mswb.files.watch import Waker

    waker = Waker()
    try:
        for place in places:
            waker.watch(str(place))
        before = _stamps(places)
        while not cancelled():
            waker.wait(1.0)
            after = _stamps(places)
            if after != before:
                before = after
                changed()
    finally:
        waker.close()


def _files(places: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for place in places:
        inside = sorted(place.glob("*.toml"), key=lambda path: (path.stem != DEFAULT, path.name))
        found += inside
    return found


def _stamps(places: Iterable[Path]) -> dict[str, tuple[int, int]]:
    stamps = {}
    for path in _files(places):
        try:
            status = path.stat()
        except OSError:
            continue
        stamps[os.fspath(path)] = (status.st_mtime_ns, status.st_size)
    return stamps


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError("it is not a regular file")
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 10} KiB")
    return parse_toml(data.decode("utf-8"))


def _check(field: str, value: Any) -> None:
    if field not in _KNOWN:
        raise ValueError(f"unknown field {field!r}")
    if field in _COLOURS:
        _check_colour(field, value)
    elif field in _NUMBERS and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise ValueError(f"{field} must be a number, not {value!r}")
    elif field in _SWITCHES and not isinstance(value, bool):
        raise ValueError(f"{field} must be true or false, not {value!r}")
    elif field == "variables" and not _is_texts(value):
        raise ValueError("[variables] must hold texts only")


def _check_colour(field: str, value: Any) -> None:
    try:
        Color.parse(value)
    except (ColorParseError, TypeError, AttributeError):
        raise ValueError(f"{field} is no colour: {value!r}") from None


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
