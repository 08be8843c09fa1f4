"""What every launched Python process does before its script: the search path, and a signal that prints its stacks.

Run by ``site/sitecustomize.py``; Python 3.9+, standard library only, under a millisecond. Two things:

* The working directory comes first on ``sys.path``, before the script's own folder (MSWB_CWD_FIRST holds it, when the
  two differ). Python puts the script's folder in front only after sitecustomize, so an audit hook waits for that.
* In a rank (MS_ROLE or MSWB_RANK is set, or RANK_ID in a dry run) SIGRTMIN+5 writes the stacks of all threads to
  standard error, whatever the process is doing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

CWD_FIRST = "MSWB_CWD_FIRST"
STACK_SIGNAL_OFFSET = 5
"""SIGRTMIN + 5: mswb/jobs/ending.py sends it."""


def boot() -> None:
    """Prepare this process."""
    in_rank = is_rank(os.environ)
    if in_rank:
        print_stacks_on_signal()
    # Only the script itself gets it, not the programs that the script starts.
    folder = os.environ.pop(CWD_FIRST, None) if in_rank else os.environ.get(CWD_FIRST)
    if folder and not getattr(sys.flags, "safe_path", False):
        sys.addaudithook(first_on_path(folder))


def is_rank(environ: Mapping[str, str]) -> bool:
    """Whether a process with this environment is a scheduler or a worker, and not the launcher."""
    dry_run = "MS_SIMULATION_LEVEL" in environ and "DEVICE_ID" in environ
    return "MS_ROLE" in environ or "MSWB_RANK" in environ or dry_run


def print_stacks_on_signal() -> None:
    """Let SIGRTMIN+5 print where every thread stands, from the signal handler itself, even in a blocked call."""
    import faulthandler
    import signal

    faulthandler.register(signal.SIGRTMIN + STACK_SIGNAL_OFFSET, file=2, all_threads=True, chain=False)


def first_on_path(folder: str) -> Callable[[str, tuple[object, ...]], None]:
    """An audit hook that puts ``folder`` before the script's folder, at the moment the script starts."""
    waiting = [folder]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if waiting and event == "cpython.run_file":
            sys.path.insert(0, waiting.pop())

    return hook
