"""The few signs the workbench draws beside words, in Unicode or, where a terminal can't show that, in ASCII."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from mswb.findings import Severity, language

_GLYPHS = {
    # name: (unicode, ascii)
    "error": ("✖", "X"),
    "warning": ("▲", "!"),
    "note": ("•", "-"),
    "ok": ("✓", "v"),
    "running": ("▶", ">"),
    "starting": ("◌", "o"),
    "stopping": ("◍", "o"),
    "stopped": ("■", "#"),
    "lost": ("?", "?"),
    "bullet": ("•", "*"),
    "fold": ("▸", "+"),
    "unfold": ("▾", "-"),
    "mark": ("◆", "*"),
    "bar": ("█", "#"),
    "empty": ("░", "."),
    "line": ("─", "-"),
    "pipe": ("│", "|"),
    "up": ("▲", "^"),
    "down": ("▼", "v"),
    "ellipsis": ("…", "~"),
    "arrow": ("→", "->"),
    "cursor": ("❯", ">"),
    "dot": ("·", "."),
}
_SPARKS = (" ▁▂▃▄▅▆▇█", " .:-=+*#@")
_WORDS: dict[Severity, tuple[str, str]] = {
    "error": ("ERROR", "错误"),
    "warning": ("WARN", "警告"),
    "note": ("NOTE", "提示"),
}
SEVERITY_STYLES: dict[Severity, str] = {"error": "$error", "warning": "$warning", "note": "$text-muted"}
"""The theme variable of each severity's colour."""

_mode = [0]


def set_ascii(on: bool) -> None:
    """Draw with ASCII only from now on, or no longer."""
    _mode[0] = int(on)


def is_ascii() -> bool:
    """Whether signs are drawn with ASCII only."""
    return bool(_mode[0])


def glyph(name: str) -> str:
    """The sign of this name."""
    return _GLYPHS[name][_mode[0]]


def spark(values: Sequence[float | None], low: float, high: float) -> str:
    """A row of bars, one a value; unknown values leave a gap, and the lowest known one still shows a line."""
    steps = _SPARKS[_mode[0]]
    span = (high - low) or 1.0
    top = len(steps) - 1
    return "".join(
        " " if value is None else steps[min(top, max(1, round((value - low) / span * top)))] for value in values
    )


def bar(share: float | None, width: int) -> str:
    """A bar of ``width`` cells filled by ``share`` (0 to 1); dots of the empty sign alone when it is unknown."""
    full = 0 if share is None else round(min(1.0, max(0.0, share)) * width)
    return glyph("bar") * full + glyph("empty") * (width - full)


def severity_word(severity: Severity) -> str:
    """The glyph and the word of a severity, in the language of this process."""
    return f"{glyph(severity)} {_WORDS[severity][language() == 'zh']}"


def severity_text(severity: Severity, style: str = "") -> Text:
    """The glyph and the word of a severity, in ``style`` (a rich style; widgets take it from their theme)."""
    return Text(severity_word(severity), style=style)
