"""The launch form, its lists and its questions, from states as literals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mswb.env.interpreter import Interpreter
from mswb.findings import Finding, make
from mswb.flows.run import Prepared
from mswb.jobs.spec import ProcessSpec
from mswb.launch import form
from mswb.launch.addresses import Master
from mswb.launch.command import LaunchRequest
from mswb.launch.environment import EnvEntry, EnvOverlay
from mswb.launch.presets import Launch, Launches, Preset
from mswb.launch.program import Program
from mswb.ui.screens.ask import Ask
from mswb.ui.screens.launch_form.screen import LaunchForm
from mswb.ui.screens.launch_form.state import Checked, FormState
from mswb.ui.screens.pick import Pick, Row
from mswb.ui.widgets.form.fields import Fold
from tests.ui.scenes.stage import PROJECT, Scene, Stage

WORDS = ("--worker_num", "4", "--local_worker_num", "4", "train.py", "--lr", "0.1")
PYTHON = Interpreter(
    "/opt/ms/bin/python", "3.11.9", "/opt/ms", "/opt/ms/lib", "2.10.0", "/opt/ms/lib/mindspore", "1.26.4", "settings"
)
LOGS = f"{PROJECT}/ms_run_log/RUN"
REQUEST = LaunchRequest(
    str(PROJECT),
    Program(WORDS[4:], f"{PROJECT}/train.py"),
    Master("127.0.0.1", "127.0.0.1", True),
    worker_num=4,
    local_worker_num=4,
)
OVERLAY = EnvOverlay(
    (
        EnvEntry("GLOG_v", "2", "advice"),
        EnvEntry("MS_COMPILER_CACHE_PATH", f"{PROJECT}/.cache/a folder with a rather long name/graphs", "article"),
        EnvEntry("MSWB_RUN_ID", "RUN", "mswb"),
        EnvEntry("HCCL_CONNECT_TIMEOUT", "600", "user"),
    ),
    ("RANK_ID",),
    {},
    LOGS,
)
ARGV = ("/opt/ms/bin/python", "-m", "mindspore.parallel.cluster.run", *WORDS[:4], f"--log_dir={LOGS}", *WORDS[4:])
PROCESSES = (ProcessSpec(role="launcher", argv=ARGV, log=f"{LOGS}/launcher.log"),)
BUSY = make("port-in-use", values={"port": 8118, "holder": "pid 4711 python", "free": 8119}, lang="en")
LOOPBACK = make("master-address-loopback", values={"host": "127.0.0.1", "master": "127.0.0.1"}, lang="en")
LAUNCHES = Launches(
    (
        Preset("night", Launch(("--worker_num", "8", "train.py", "--epochs", "90"))),
        Preset("smoke", Launch(("--worker_num", "1", "train.py", "--steps", "5")), "project"),
    ),
    (Launch(WORDS, ("HF_TOKEN",)), Launch(("训练.py", "--学习率", "0.1"))),
)


def state(words: tuple[str, ...] = WORDS, *found: Finding, **facts: Any) -> FormState:
    """A form that holds this launch, which was looked at and had these findings."""
    values = form.read_arguments(words)
    made = FormState(values, values, launches=LAUNCHES)
    prepared = Prepared(REQUEST, PYTHON, OVERLAY, found, made.arguments)
    return replace(made, checked=Checked(made.arguments, prepared, PROCESSES), **facts)


def shows(shown: FormState, *keys: str, **named: Any) -> Scene:
    """The form with this state; it asks neither disk nor host."""

    async def play(stage: Stage) -> None:
        screen = LaunchForm(stage.app.context, ())
        screen.ask = lambda title, work, done: None  # type: ignore[method-assign]
        await stage.app.push_screen(screen)
        await stage.until(lambda: len(screen.query(Fold)) == len(form.groups()))
        screen.state = shown
        screen._show()
        await stage.settled()
        await stage.press(*keys)

    return Scene(play, **named)


def over(screen: Callable[[], Any], *keys: str) -> Scene:
    """A list or a question over the form."""

    async def play(stage: Stage) -> None:
        await shows(state()).play(stage)
        await stage.app.push_screen(screen())
        await stage.settled()
        await stage.press(*keys)

    return Scene(play)


ROWS = (
    Row(" preset   night: --worker_num 8 train.py --epochs 90", "mswb run --worker_num 8 train.py --epochs 90", True),
    Row(" project  smoke: --worker_num 1 train.py --steps 5", "mswb run --worker_num 1 train.py --steps 5"),
    Row(" 3 min    训练.py --学习率 0.1", "mswb run 训练.py --学习率 0.1\nwithout the values of HF_TOKEN"),
)
SCENES = {
    "empty": shows(FormState(launches=LAUNCHES)),
    "ready": shows(state()),
    "ready_preset": shows(state(source="night")),
    "checking": shows(replace(state(), checked=None)),
    "warnings": shows(state(WORDS, LOOPBACK)),
    "blocked": shows(state(WORDS, BUSY, LOOPBACK)),
    "refused": shows(replace(state(), checked=Checked(state().arguments, refused=BUSY))),
    "wrong": shows(state(), "tab", "tab", "end", "x"),
    "missing": shows(state(withheld=("HF_TOKEN",))),
    "starting": shows(state(starting=True)),
    "read_only": shows(state(read_only=True), options={"read_only": True}),
    "line": shows(state(), "shift+tab"),
    "preview": shows(state(WORDS, LOOPBACK), "f6"),
    "flags": shows(state(), "ctrl+g", "down", "enter"),
    "filter": shows(state(), "ctrl+g", *"time"),
    "start": shows(state(), "shift+tab", "enter"),
    "chinese": shows(state(WORDS, LOOPBACK), config='lang = "zh"\n'),
    "ascii": shows(state(WORDS, LOOPBACK), options={"ascii": True}),
    "pick": over(lambda: Pick("Presets and earlier launches", ROWS)),
    "pick_last": over(lambda: Pick("Presets and earlier launches", ROWS), "G"),
    "ask": over(lambda: Ask("Save this launch as a preset; its name:", "night", lambda text: "replaces the preset")),
}
"""Every state of the form."""
