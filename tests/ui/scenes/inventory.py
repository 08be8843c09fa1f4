"""The Cache, Profile and Convert panes in every state."""

from __future__ import annotations

from dataclasses import replace

from mswb.files.items import Item
from mswb.findings import Where, make
from mswb.ui.panes.cache.rows import arrange
from mswb.ui.panes.cache.state import CacheState
from mswb.ui.panes.inventory import state as states
from mswb.ui.panes.inventory.rows import rows_of
from mswb.ui.panes.inventory.state import Found, InventoryState
from tests.ui.scenes.stage import NOW, PROJECT, STORE, Scene, Stage

MIB = 1 << 20


def item(kind: str, path: str, size: int, detail: str, status: str = "", age: float = 3600.0, files: int = 1) -> Item:
    return Item(kind, f"{PROJECT}/{path}", size, size, NOW - age, detail, status, "its first bytes", files)


CACHE = (
    item("mindrecord", "data/train.mindrecord", 812 * MIB, "50,000 rows, 3 fields, index beside it", files=2),
    item("mindrecord", "data/val.mindrecord", 4096, "ends within a page", "truncated", 90),
    item(
        "tfrecord", "data/imagenet/part-00017-of-01024.tfrecord", 144 * MIB, "first record good, 1,281 bytes", age=9e5
    ),
    item("checkpoint", "out/resnet-90_625.ckpt", 98 * MIB, "161 parameters", age=86_400 * 40),
    item("npy", "data/标签/训练集标签.npy", 391 * 1024, "int64 (50000,)"),
    item(
        "tfrecord", "data/lfs.tfrecord", 130, "a pointer: the file itself was not fetched (git lfs pull)", "lfs-pointer"
    ),
    item(
        "csv", "a very long name of a table that nobody can read to its end without a wide screen.csv", 12, "2 columns"
    ),
)
PROFILE = (
    item(
        "mindspore-profile",
        "prof/node1_6906_20261130040509433_ascend_ms",
        31 * MIB,
        "MindSpore 2.10 on Ascend, rank 0",
        files=14,
    ),
    item("chrome-trace", "prof/trace.json", 9 * MIB, "Chrome trace, complete events"),
)
MODELS = (
    item("onnx", "models/net.onnx", 46 * MIB, "opset 17, PyTorch 2.4, 1 input, 1 output"),
    item("mindir", "models/net.mindir", 45 * MIB, "MindIR 0.1.1, resnet50_Net_0", files=3),
    item("mindir", "models/big.mindir", 2 * MIB, "weights beside it are missing", "external-data-missing", files=1),
    item("ms", "models/net.ms", 12 * MIB, "MindSpore Lite 2.3"),
)
INSIDE = (
    str(PROJECT / "models" / "net.onnx"),
    "Made by pytorch 2.4\n  ir_version 8\n  opset ai.onnx 17\nGraphs 1\n  main: 122 nodes\n"
    "    in  x float32 [N, 3, 224, 224]\n    out y float32 [N, 1000]\nOperators 122\n  53 Conv\n  49 Relu\n  16 Add",
)
"""What a look into a model has told."""
NOTES = (
    make(
        "inventory-unreadable",
        where=Where(file=f"{PROJECT}/data/locked"),
        values={"path": f"{PROJECT}/data/locked", "reason": "Permission denied"},
        lang="en",
    ),
)


def looked(items: tuple[Item, ...], **facts: object) -> InventoryState:
    """A finished look that found these entries."""
    rows = rows_of(items, str(PROJECT), NOW)
    state = states.finished(states.new_state(str(PROJECT)), Found(rows, folders=12, files=1480))
    return replace(state, **facts)  # type: ignore[arg-type]


def cached(items: tuple[Item, ...], **facts: object) -> InventoryState:
    """The same for the Cache pane, which has more to tell of each."""
    rows = arrange(items, CacheState(), str(PROJECT), STORE, NOW)
    state = states.finished(states.new_state(str(PROJECT)), Found(rows, folders=12, files=1480))
    return replace(state, **facts)  # type: ignore[arg-type]


def shows(pane: str, state: InventoryState, *keys: str, **named: object) -> Scene:
    """The pane with this state, and keys pressed in it."""

    async def play(stage: Stage) -> None:
        stage.pane.show(state)
        await stage.settled()
        if not state.details:
            stage.pane.table.focus()
        await stage.press(*keys)

    return Scene(play, pane=pane, **named)  # type: ignore[arg-type]


NOTHING = states.finished(states.new_state(str(PROJECT)), Found(files=3))
LOOKING = states.started(states.new_state(str(PROJECT)))
WITH_NOTES = replace(cached(CACHE), found=replace(cached(CACHE).found, notes=NOTES, skipped=2))
SCENES = {
    **{f"{pane}_empty": shows(pane, NOTHING) for pane in ("cache", "profile", "convert")},
    "cache": shows("cache", cached(CACHE)),
    "profile": shows("profile", looked(PROFILE)),
    "convert": shows("convert", looked(MODELS)),
    "looking": shows("cache", LOOKING, small=True),
    "looking_found": shows("cache", states.received(LOOKING, cached(CACHE[:3]).found), small=True),
    "looking_again": shows("cache", replace(states.started(cached(CACHE)), seen=211), small=True),
    "failed": shows("cache", states.failed(LOOKING, NOTES[0]), small=True),
    "everywhere": shows("cache", cached(CACHE, everywhere=True), small=True),
    "elsewhere": shows("cache", cached(CACHE, root=f"{PROJECT}/data"), small=True),
    "notes": shows("cache", WITH_NOTES, small=True),
    "by_kind": shows("cache", cached(CACHE, group="kind")),
    "by_folder": shows("cache", cached(CACHE, group="folder"), "z"),
    "filtered": shows("cache", cached(CACHE), "f", *"record", "enter"),
    "filter_open": shows("cache", cached(CACHE), "f", *"标签", small=True),
    "nothing_left": shows("cache", cached(CACHE), "f", *"zzz", "enter", small=True),
    "marked": shows("cache", cached(CACHE), "space", "j", "j", "space", small=True),
    "details": shows("cache", cached(CACHE, details=True)),
    "details_model": shows("convert", looked(MODELS, more=INSIDE), "j", "d"),
    "chinese": shows("cache", cached(CACHE), config='lang = "zh"\n'),
    "read_only": shows("cache", cached(CACHE), options={"read_only": True}, small=True),
}
"""Every state of the three panes."""
