"""Says what a Python interpreter is and which MindSpore it would import, without importing it. Prints one JSON line.

Runs in the training interpreter as ``python probe.py``: Python 3.9+, standard library only, about 100 ms.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable

MARK = "MSWB-PROBE "
PACKAGES = ("mindspore", "mindspore-ascend", "mindspore-gpu", "mindspore-dev")


def facts() -> dict[str, str | None]:
    """The interpreter, its folders, and the versions of MindSpore and NumPy that its import system would find."""
    import sysconfig
    from importlib.util import find_spec

    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != os.path.dirname(__file__)]
    spec = find_spec("mindspore")
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    return {
        "version": "%d.%d.%d" % sys.version_info[:3],
        "implementation": sys.implementation.name,
        "executable": sys.executable,
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "purelib": sysconfig.get_paths()["purelib"],
        "mindspore_path": folders[0] if folders else None,
        "mindspore_version": version_of(folders[0]) if folders else None,
        "numpy_version": distribution_version(("numpy",)),
    }


def version_of(folder: str) -> str:
    """The version of the MindSpore in ``folder``: of its own version.py, else of an installed distribution."""
    try:
        with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
            match = re.search(r"__version__\s*=\s*['\"]([\w.+-]{1,40})['\"]", file.read(4096))
    except (OSError, UnicodeDecodeError):
        match = None
    return match.group(1) if match else distribution_version(PACKAGES) or "unknown"


def distribution_version(names: Iterable[str]) -> str | None:
    """The version of the first installed distribution among ``names``, or None."""
    from importlib import metadata

    for name in names:
        try:
            return metadata.version(name)
        except Exception:  # not installed, or its metadata is damaged
            continue
    return None


if __name__ == "__main__":
    print(MARK + json.dumps(facts()), flush=True)
