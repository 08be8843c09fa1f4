"""A defect that the session can't survive: the trace goes to a file, the terminal gets one line."""

from __future__ import annotations

import traceback
from contextlib import suppress

from mswb.files.safety import make_private_dir, printable, write_atomic
from mswb.findings import MswbError
from mswb.settings import Settings

FILE = "crash.txt"
EXIT_CODE = 70
"""EX_SOFTWARE of sysexits.h."""


def keep(settings: Settings, error: Exception) -> str:
    """Write the trace to ``crash.txt`` of the state folder (0600); returns the words for the person."""
    path = settings.state_dir / FILE
    with suppress(MswbError):  # then the words alone must do
        write_atomic(make_private_dir(settings.state_dir) / FILE, "".join(traceback.format_exception(error)))
    reason = printable(f"{type(error).__name__}: {error}")
    return f"mswb: a defect ended the workbench ({reason}); runs go on. Please report {path}"
