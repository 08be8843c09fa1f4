"""What a command line says: whether it is real msrun's, and which script it starts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise

from mswb.findings import MswbError
from mswb.launch.program import script_of

MSRUN_MODULE = "mindspore.parallel.cluster.run"


def is_msrun(command: Sequence[str]) -> bool:
    """Whether a command line is real msrun's: its console script, or its module under a Python."""
    head = [os.path.basename(word) for word in command[:2]]
    return "msrun" in head or ("-m", MSRUN_MODULE) in pairwise(command[:10])


def script_started(command: Sequence[str]) -> str | None:
    """The user's script in the command line of a worker or of msrun; None for a module, a text or a prompt."""
    if is_msrun(command):
        return next(iter(_words_behind_flags(command)), None)
    try:
        return script_of(command[1:])
    except MswbError:
        return None


def _words_behind_flags(command: Sequence[str]) -> Sequence[str]:
    """What follows msrun's flags, each of which has a value, behind ``=`` or as the next word."""
    words = list(command[1:])
    while words and os.path.basename(words[0]) != "msrun" and words[0] != MSRUN_MODULE:
        words.pop(0)
    words = words[1:] or list(command[1:])
    while words and words[0].startswith("-"):
        words = words[1 if "=" in words[0] else 2 :]
    return words
