"""First on PYTHONPATH of every process that mswb launches: runs boot.py, then the user's own sitecustomize.

Imports nothing that Python has not loaded already: this runs at the start of every process.
"""

from __future__ import annotations

import os
import sys


def run_boot(path: str) -> None:
    """Run boot.py; the process goes on whatever comes of it."""
    try:
        with open(path, encoding="utf-8") as file:
            code = compile(file.read(), path, "exec")
        exec(code, {"__name__": "mswb_boot", "__file__": path})
    except Exception as problem:
        sys.stderr.write("mswb: %s: %r\n" % (path, problem))


def hand_over(own: str) -> None:
    """Leave ``own`` off ``sys.path`` and import the sitecustomize that would have been found without us.

    What that one raises is the user's own: Python reports it as it always does.
    """
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != own]
    ours = sys.modules.pop("sitecustomize")
    try:
        __import__("sitecustomize")
    except ImportError as problem:
        if problem.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", ours)


_OWN = os.path.dirname(os.path.abspath(__file__))
run_boot(os.path.join(os.path.dirname(_OWN), "boot.py"))
hand_over(_OWN)
