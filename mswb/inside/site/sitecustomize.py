"""First on PYTHONPATH of every process that mswb launches: runs boot.py, then the user's own sitecustomize."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location


def prepare(own: str) -> None:
    """Run the boot.py that lies beside the folder ``own``; the process goes on whatever comes of it."""
    try:
        spec = spec_from_file_location("mswb_boot", os.path.join(os.path.dirname(own), "boot.py"))
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        module.boot()
    except Exception as problem:
        sys.stderr.write("mswb: boot.py: %r\n" % (problem,))


def hand_over(own: str) -> None:
    """Leave ``own`` off ``sys.path`` and run the sitecustomize that would have been found without us.

    What that one raises is the user's own: Python reports it as it always does.
    """
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != own]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_OWN = os.path.dirname(os.path.abspath(__file__))
prepare(_OWN)
hand_over(_OWN)
