"""The Cache pane with what it knows beside the list: verifications, faults, places, plans, bytes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from mswb.cache.check import Checked, Fault, findings_of
from mswb.cache.entries import Entry, from_item
from mswb.cache.server.answers import Cached
from mswb.cache.server.manage import Session
from mswb.cache.server.running import Server
from mswb.files.items import Item
from mswb.findings import make
from mswb.flows.cache_checks import Step
from mswb.flows.cache_served import Served
from mswb.plan import Action, Outcome, Plan
from mswb.signals import ProcessId
from mswb.ui.panes.cache import state as caches
from mswb.ui.panes.cache.plan_screen import PlanScreen
from mswb.ui.panes.cache.rows import arrange
from mswb.ui.panes.cache.server_screen import ServerScreen
from mswb.ui.panes.cache.state import CacheState, Told, Work
from mswb.ui.panes.inventory import state as states
from mswb.ui.panes.inventory.state import Found, InventoryState
from mswb.ui.screens.hexview.screen import HexScreen
from tests.ui.scenes.inventory import CACHE, MIB
from tests.ui.scenes.stage import NOW, PROJECT, STORE, Scene, Stage
from tests.unit.inventories import DATA

TRAIN, VAL = f"{PROJECT}/data/train.mindrecord", f"{PROJECT}/data/val.mindrecord"
PART = f"{PROJECT}/data/imagenet/part-00017-of-01024.tfrecord"
IMAGES = Item(
    "file-cache", f"{STORE}/imagenet_train/0f3c9a77d1e2b4c6", 246 * MIB, 246 * MIB, NOW - 7200, "20,000 samples"
)
OLD = Item(
    "file-cache", f"{STORE}/imagenet_val/77aa01c2d3e4f506", 31 * MIB, 31 * MIB, NOW - 9e5, "its source has changed"
)
SPILL = Item("cache-spill", "/data/spill/kYq0cA", 52 * MIB, 52 * MIB, NOW - 6e4, "rows of a dead server", "orphan")
ITEMS = (*CACHE, IMAGES, OLD, SPILL)
NUMBERS = {
    "hit_rate": 0.983,
    "avg_load_time_ms": 12.4,
    "last_used": NOW - 600,
    "holders": ["process 4711 (python): has it mapped"],
}
BASE = {
    IMAGES.path: replace(from_item(IMAGES), name="imagenet_train", status="ok", records=20_000, more=NUMBERS),
    OLD.path: replace(from_item(OLD), name="imagenet_val", status="stale-source", records=5000),
}
FAULTS = (
    Fault("corrupted", "the data CRC is 1a2b3c4d, the data gives 5e6f7081", offset=1690, record=10, length=169),
    Fault("corrupted", "the length CRC does not fit", offset=5070, record=30, length=12, byte=5078),
)


def entry(item: Item, status: str, *faults: Fault, records: int = 50) -> tuple[Entry, Checked]:
    """What a check told of an item."""
    checked = Checked(status, records, records - len(faults), faults, len(faults))
    found = findings_of(item.path, "TFRecord" if item.path == PART else "MindRecord", checked)
    told = replace(from_item(item), status=status, records=records, intact_records=records - len(faults))
    return replace(told, findings=found), checked


def by_path(path: str) -> Item:
    return next(item for item in ITEMS if item.path == path)


def verified(work: Work | None = None) -> CacheState:
    """Two files were verified, one of them is damaged."""
    state = replace(CacheState(base=BASE, numbers=1), works=(work,) if work else ())
    found = (entry(by_path(PART), "corrupted", *FAULTS), entry(by_path(TRAIN), "ok", records=50_000))
    return caches.told(state, 1, Told(found, {}))


def listed(known: CacheState, items: Sequence[Item] = ITEMS) -> InventoryState:
    """A finished look, with the rows that this knowledge makes."""
    rows = arrange(items, known, str(PROJECT), STORE, NOW)
    return states.finished(states.new_state(str(PROJECT)), Found(rows, folders=14, files=1502))


def shows(known: CacheState, *keys: str, **named: object) -> Scene:
    """The pane with this knowledge, and keys pressed in it."""

    async def play(stage: Stage) -> None:
        stage.pane.show(listed(known))
        stage.pane.show_caches(known)
        await stage.settled()
        stage.pane.table.focus()
        await stage.press(*keys)

    return Scene(play, pane="cache", **named)  # type: ignore[arg-type]


STEPS = {TRAIN: Step(1, 3, TRAIN, 430, 1000, "bytes"), VAL: Step(1, 3, VAL)}
RUNNING = Work(1, frozenset({PART, TRAIN, VAL}), steps=STEPS)
PLAN = Plan(
    (
        Action("write-tfrecord", f"{PART[:-9]}.repaired.tfrecord", "", 0, "48 of 50 records, 8,112 bytes"),
        Action("trash", f"{PROJECT}/data/val.mindrecord", "1:2", 4096, "truncated"),
    ),
    ("records 10 and 30 are lost", "freed when the trash is emptied: 'mswb cache trash empty'"),
)
NOTHING = Plan((), ("left alone, in use: data/val.mindrecord: process 4711 (python)",))
DONE = (Outcome(PLAN.actions[0], True), Outcome(PLAN.actions[1], False, "it is in use: process 4711 (python)"))


def planned(*outcomes: Outcome, plan: Plan = PLAN, keys: Sequence[str] = (), **named: object) -> Scene:
    """A plan over the pane, and what became of it."""

    async def play(stage: Stage) -> None:
        screen = PlanScreen(
            "Repair part-00017: this will be done",
            plan,
            str(PROJECT),
            lambda one: one.finished(outcomes) if outcomes else None,
        )
        await stage.app.push_screen(screen)
        await stage.settled()
        await stage.press(*(["a"] if outcomes else []), *keys)

    return Scene(play, pane="cache", **named)  # type: ignore[arg-type]


def seen(name: str, *faults: Fault, form: str = "tfrecord", keys: Sequence[str] = (), **named: object) -> Scene:
    """The bytes of a file from its first fault on."""

    async def play(stage: Stage) -> None:
        path = str(DATA / name) if (DATA / name).exists() else name
        found = findings_of(path, "TFRecord", Checked("corrupted", faults=faults, faults_total=len(faults)))
        start = faults[0].offset if faults else 0
        await stage.app.push_screen(HexScreen(stage.app.context, path, form, found, start or 0))
        await stage.settled()
        await stage.press(*keys)

    return Scene(play, pane="cache", **named)  # type: ignore[arg-type]


SERVER = Server(ProcessId(4711, 99), os.getuid(), 50052, 16, "/data/spill", 4, 1, 0.8, "", NOW - 4000)
SERVED = Served(
    (SERVER, replace(SERVER, process=ProcessId(812, 7), uid=12_345, port=50053, spill=None)),
    (
        Session(1456416665, 50052, (Cached(1456416665, 780643093, 120, 40, 786_432, 0),), NOW - 3000),
        Session(2003, 50052, (), NOW - 900),
    ),
    (
        make(
            "stale-session", values={"session": 2003, "port": 50052, "reason": "1 changed: data/a.tfrecord"}, lang="en"
        ),
    ),
)


def serving(found: Served) -> Scene:
    """The servers over the pane."""

    async def play(stage: Stage) -> None:
        await stage.app.push_screen(ServerScreen(lambda screen: screen.show(found)))

    return Scene(play, pane="cache")


SCENES = {
    "listed": shows(CacheState(base=BASE)),
    "one_place": shows(CacheState(base=BASE), "p", "p", "j"),
    "chinese": shows(verified(), config='lang = "zh"\n'),
    "ascii": shows(verified(RUNNING), options={"ascii": True}, small=True),
    "verifying": shows(verified(RUNNING)),
    "faults": shows(verified(), "d"),
    "numbers_details": shows(CacheState(base=BASE), "j", "j", "j", "j", "j", "d"),
    "findings": shows(verified(), "d", "n", "n", "enter", small=True),
    "plan": planned(),
    "plan_done": planned(*DONE, small=True),
    "plan_whole": planned(*DONE, keys=("j", "enter"), small=True),
    "plan_nothing": planned(plan=NOTHING, small=True),
    "server": serving(SERVED),
    "bytes": seen("good.tfrecord", *FAULTS),
    "bytes_far": seen("good.tfrecord", replace(FAULTS[0], byte=1840), small=True),
    "bytes_chinese": seen("good.tfrecord", *FAULTS, config='lang = "zh"\n', small=True),
    "bytes_gone": seen("missing.tfrecord", *FAULTS, small=True),
}
"""Every state of the pane beyond the list."""
