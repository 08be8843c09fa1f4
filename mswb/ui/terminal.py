"""What kind of terminal this is: whether it can be drawn on, and whether it shows more than ASCII."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from rich.cells import cell_len

from mswb.findings import MswbError, stop

_DRAWN = str.maketrans(
    "─━│┃┄┆┌┐└┘├┤┬┴┼╭╮╰╯▏▎▍▌▋▊▉█▔▁▂▃▄▅▆▇░▒▓·•…→←▲▼▶◀✓✖■◆▸▾❯–—“”‘’",
    "--||-|+++++++++++++||||####-__..::#.:#.*~><^v><vX#*+->--\"\"''",
)


def unfit(environ: Mapping[str, str], ttys: Sequence[bool]) -> MswbError | None:
    """Why the workbench can't be drawn here, or None. ``ttys``: whether input, output and error are terminals."""
    term = environ.get("TERM", "")
    if not all(ttys):
        reason = "standard input, output and error are not all a terminal"
    elif term in ("dumb", ""):
        reason = f"TERM is {term or 'not set'}"
    else:
        return None
    return stop("terminal-unfit", values={"reason": reason})


def ttys() -> tuple[bool, ...]:
    """Whether this process's input, output and error (on which Textual draws) are terminals."""
    return tuple(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def wants_ascii(environ: Mapping[str, str]) -> bool:
    """Whether the locale names a character set that is not UTF-8.

    Python turns LANG=C into LC_CTYPE=C.UTF-8 for itself (PEP 538), which says nothing about the terminal. With no
    locale variable at all the terminal is taken for UTF-8, as they all are where nobody said otherwise.
    """
    chosen = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    if chosen == "C.UTF-8" and not environ.get("LC_ALL") and environ.get("LANG") in ("C", "POSIX"):
        return True
    return bool(chosen) and "utf" not in chosen.lower()


def to_ascii(text: str) -> str:
    """The same text with nothing but ASCII, each character as wide as before."""
    if text.isascii():
        return text
    return "".join(char if char.isascii() else "?" * cell_len(char) for char in text.translate(_DRAWN))
