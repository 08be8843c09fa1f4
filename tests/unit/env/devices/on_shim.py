"""Plays the scenarios named on the command line against the libnvidia-ml.so.1 that LD_LIBRARY_PATH leads to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.unit.env.devices.worlds import SCENARIOS, World, play


def show(world: World) -> None:
    lines = (f"{key} {value}\n" for key, value in world.items())
    Path(os.environ["MSWB_NVML_WORLD"]).write_text("".join(lines), encoding="ascii")


def main() -> None:
    for scenario in SCENARIOS:
        if scenario.name in sys.argv[1:]:
            scenario.check(play(scenario, None, show))
            print(f"passed: {scenario.name}")


if __name__ == "__main__":
    main()
