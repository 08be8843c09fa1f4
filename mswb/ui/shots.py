"""Screenshots from real runs: ``python -m mswb.ui.shots FOLDER`` writes an SVG and a PNG of each scene.

A workspace is made in a temporary folder: MindSpore writes models, data and a profile, one training fails, one goes
well and is still going on. Then the workbench is opened on it and driven by keys, as a person would.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from mswb.files.safety import write_atomic
from mswb.flows.demo import free_port, prepare_demo
from mswb.flows.run import prepare, start
from mswb.jobs.control import wait
from mswb.jobs.runs import Run
from mswb.settings import Settings, load_settings
from mswb.ui.app import Workbench

SMALL, LARGE = (80, 24), (160, 45)
PATIENCE_S = 60.0
LONG_STEPS = "600"


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture: keys to press (a text in angle brackets is waited for on the screen), and the terminal's size."""

    name: str
    size: tuple[int, int]
    keys: tuple[str, ...]


OPENED = ("<training>",)  # the newest live run is opened by itself
LISTED = (*OPENED, "escape", "<failed>")
FAILED = (*LISTED, "G", "enter", "<failed first>")
SCENES = (
    Scene("runs", SMALL, LISTED),
    Scene("root-cause", LARGE, (*FAILED, "<What to do>", "o", "<KeyError: 4>")),
    Scene("root-cause-80x24", SMALL, (*FAILED, "d", "<What to do>")),
    Scene("running", LARGE, (*OPENED, "<per step time>")),
    Scene("curves", LARGE, (*OPENED, "<loss>", "c", "<Log scale>")),
    Scene("new-run", LARGE, (*OPENED, "n", "<worker_num>")),
    Scene("machine", LARGE, (*OPENED, "M", "<memory>")),
    Scene("cache", LARGE, (*OPENED, "2", "<train.mindrecord>")),
    Scene("profile", SMALL, (*OPENED, "3", "<MindSpore profile>")),
    Scene("convert", SMALL, (*OPENED, "4", "<net.mindir>")),
    Scene("operators", LARGE, (*OPENED, "4", "<net.mindir>", "f", *"mindir", "enter", "V", "<Tensors>")),
    Scene("help", SMALL, (*OPENED, "question_mark", "<filter the keys>")),
)


def main(arguments: Sequence[str]) -> int:
    """Make all scenes, or those named behind the folder."""
    if not arguments:
        print("usage: python -m mswb.ui.shots FOLDER [SCENE...]", file=sys.stderr)
        return 2
    target = Path(arguments[0])
    wanted = [scene for scene in SCENES if not arguments[1:] or scene.name in arguments[1:]]
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mswb-shots-") as temp:
        project = Path(temp) / "mnist"
        settings = load_settings({**os.environ, "MSWB_STATE_DIR": f"{temp}/state", "MSWB_CONFIG": f"{temp}/none"})
        run = make_workspace(project, settings)
        try:
            for scene in wanted:
                svg = asyncio.run(take(scene, settings, project))
                write_atomic(target / f"{scene.name}.svg", svg, mode=0o644)
                write_atomic(target / f"{scene.name}.png", to_png(svg), mode=0o644)
                print(target / f"{scene.name}.svg")
        finally:
            _stop(run)
    return 0


def make_workspace(project: Path, settings: Settings) -> Run:
    """Fill a folder: files by MindSpore, a run that failed, and one that goes on, which is returned.

    Raises:
        MswbError: the training interpreter can't be found, or a run can't be started.
    """
    demo = prepare_demo(settings, project)
    for name in ("make_files.py", "train_long.py"):
        with resources.as_file(resources.files("mswb.inside.demo") / name) as path:
            shutil.copyfile(path, project / name)
    subprocess.run([demo.python, "make_files.py"], cwd=project, check=True, stdout=subprocess.DEVNULL, stderr=2)
    wait(start(demo.prepared, settings))
    words = ["--python", demo.python, "--master_port", str(free_port()), "--worker_num", "2", "--local_worker_num", "2"]
    return start(prepare([*words, "train_long.py", LONG_STEPS], settings, os.environ, str(project)), settings)


async def take(scene: Scene, settings: Settings, project: Path) -> str:
    """Drive the workbench to a scene; returns its SVG.

    Raises:
        TimeoutError: a text that was waited for did not come.
    """
    app = Workbench(settings, project)
    async with app.run_test(size=scene.size) as pilot:
        for key in scene.keys:
            if key.startswith("<"):
                await _shown(pilot, key.strip("<>"))
            else:
                await pilot.press(key)
        await pilot.pause(1.5)
        return app.export_screenshot(title=f"mswb {project.name}")


async def _shown(pilot: Pilot[Any], text: str) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE_S
    while text not in screen_text(pilot.app):
        if loop.time() > end:
            raise TimeoutError(f"{text} did not come within {PATIENCE_S:g} s:\n{screen_text(pilot.app)}")
        await pilot.pause(0.1)


def screen_text(app: Any) -> str:
    """What a screen shows, one text a row."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def to_png(svg: str) -> bytes:
    """The same picture as PNG, with this host's monospaced fonts.

    Raises:
        ImportError: resvg-py is not installed (``pip install resvg-py``).
    """
    from resvg_py import svg_to_bytes

    return bytes(svg_to_bytes(svg_string=svg, monospace_family="DejaVu Sans Mono", zoom=1.0))


def _stop(run: Run) -> None:
    from mswb.jobs.control import request_stop

    request_stop(run, kill=True)
    wait(run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
