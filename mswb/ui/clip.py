"""Copying: by OSC 52 to the terminal's own clipboard, which works over SSH, and to a file, which always works."""

from __future__ import annotations

import base64
from pathlib import Path

from mswb.files.safety import make_private_dir, write_atomic
from mswb.settings import Settings

MAX_OSC_BYTES = 72_000
"""Terminals drop longer sequences; what is longer is in the file only."""
FILE = "clip.txt"


def osc52(text: str) -> str | None:
    """The sequence that sets the clipboard, or None when terminals would not take so much."""
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    return f"\x1b]52;c;{encoded}\x07" if len(encoded) <= MAX_OSC_BYTES else None


def keep(settings: Settings, text: str) -> Path:
    """Write the text to ``clip.txt`` of the state folder (0600).

    Raises:
        MswbError: ``path-unwritable``.
    """
    path = make_private_dir(settings.state_dir) / FILE
    write_atomic(path, text.encode("utf-8", "replace"))
    return path
