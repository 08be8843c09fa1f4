"""How fast the command line answers, and that it loads nothing heavy for it.

Peer: ``python -c pass``. The bar is for the difference, which is what our imports cost.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from tests.benchmarks.common import Context, Row, bench, in_turn

HEAVY = ("textual", "numpy", "onnx", "onnxruntime", "mindspore", "re2", "watchdog", "cryptography")
_COMMANDS = (["--help"], ["jobs", "list"])
_LOADED = """
import runpy, sys
sys.argv = ["mswb", *sys.argv[1:]]
try:
    runpy.run_module("mswb", run_name="__main__")
except SystemExit:
    pass
finally:
    loaded = [name for name in HEAVY if name in sys.modules]
    print("loaded:", *loaded, file=sys.stderr)
"""


@bench
def startup(context: Context) -> Iterator[Row]:
    """``mswb --help`` and ``mswb jobs list``."""
    environment = dict(os.environ, MSWB_STATE_DIR=str(context.temp / "state"))
    times = 3 if context.quick else 15

    def run(command: list[str]) -> None:
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    for arguments in _COMMANDS:
        command = [sys.executable, "-m", "mswb", *arguments]
        ours, bare = in_turn(times, [lambda c=command: run(c), lambda: run([sys.executable, "-c", "pass"])])
        name = f"mswb {' '.join(arguments)}"
        yield Row(f"{name}: imports, ms", (ours - bare) * 1000, 150, "python -c pass", bare * 1000)
        yield Row(f"{name}: heavy modules loaded", len(_loaded(arguments, environment)), 0)


def _loaded(arguments: list[str], environment: dict[str, str]) -> list[str]:
    """Which of the heavy modules the command imports.

    Raises:
        AssertionError: the command did not get to its end.
    """
    code = f"HEAVY = {HEAVY!r}\n{_LOADED}"
    child = subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True)
    lines = [line for line in child.stderr.splitlines() if line.startswith("loaded:")]
    if len(lines) != 1:
        raise AssertionError(f"mswb {' '.join(arguments)}: {child.stderr}")
    return lines[0].split()[1:]
