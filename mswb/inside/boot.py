"""What every launched Python process does before its script: the search path, and a signal that prints its stacks.

Run by ``site/sitecustomize.py`` at the start of every process, so it imports only what is built in; Python 3.9+.

* The working directory comes first on ``sys.path``, before the script's own folder (MSWB_CWD_FIRST holds it, when the
  two differ). Python puts the script's folder in front only after sitecustomize, so an audit hook waits for that.
* In a rank (MS_ROLE or MSWB_RANK is set, or it is a dry run) SIGRTMIN+5 writes the stacks of all threads to standard
  error, whatever the process is doing.
"""

from __future__ import annotations

import os
import sys

CWD_FIRST = "MSWB_CWD_FIRST"
STACK_SIGNAL_OFFSET = 5
"""SIGRTMIN + 5: mswb/jobs/ending.py sends it."""


def boot() -> None:
    """Prepare this process."""
    in_rank = is_rank()
    if in_rank:
        print_stacks_on_signal()
    # Only the script itself gets it, not the programs that the script starts.
    folder = os.environ.pop(CWD_FIRST, "") if in_rank else os.environ.get(CWD_FIRST, "")
    if folder and not getattr(sys.flags, "safe_path", False):
        sys.addaudithook(FirstOnPath(folder))


def is_rank() -> bool:
    """Whether this process is a scheduler or a worker, and not the launcher."""
    dry_run = "MS_SIMULATION_LEVEL" in os.environ and "DEVICE_ID" in os.environ
    return "MS_ROLE" in os.environ or "MSWB_RANK" in os.environ or dry_run


def print_stacks_on_signal() -> None:
    """Let SIGRTMIN+5 print where every thread stands, from the signal handler itself, even in a blocked call."""
    # The signal module proper costs milliseconds for its enumerations.
    import _signal  # type: ignore[import-not-found]
    import faulthandler

    faulthandler.register(_signal.SIGRTMIN + STACK_SIGNAL_OFFSET, file=2, all_threads=True, chain=False)


class FirstOnPath:
    """An audit hook that puts ``folder`` before the script's folder at the moment the script starts, and then rests."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, event: str, arguments: object) -> None:
        if event == "cpython.run_file" and self.folder:
            sys.path.insert(0, self.folder)
            self.folder = ""


if __name__ == "mswb_boot":
    boot()
