"""The header's counters and the devices screen, on machines of every kind."""

from __future__ import annotations

from dataclasses import replace

from mswb.env.devices.sample import Sample
from mswb.ui.screens.devices import DevicesScreen
from mswb.ui.widgets.counters import counters_text
from tests.ui import machines as made
from tests.ui.scenes.stage import Scene, Stage

ONE = made.machine(made.gpu(0))
EIGHT = made.machine(*(made.gpu(number) for number in range(8)))
LOST = made.machine(made.gpu(0), made.lost(1))
NPU = made.machine(
    *(
        replace(made.gpu(number), kind="npu", label=f"NPU{number}", name="Ascend 910B2", ecc_enabled=None)
        for number in (0, 1)
    )
)
UNKNOWN = made.machine(
    replace(
        made.gpu(0), utilization_percent=None, memory_used_bytes=None, temperature_c=None, power_w=None, clock_mhz=None
    )
)
NONE = made.machine(host=made.LIMITED)
BARE = made.machine(notes=("no NVIDIA driver here: libnvidia-ml.so.1 was not found", "no npu-smi on PATH"))


def header(sample: Sample) -> Scene:
    """The top row with these counters."""

    async def play(stage: Stage) -> None:
        history = made.history(*[sample] * 5)
        stage.header(counters_text(sample, history, stage.app.size.width // 2))

    return Scene(play, anew=True)


def screen(sample: Sample | None, *keys: str, **named: object) -> Scene:
    """The devices screen on this machine."""

    async def play(stage: Stage) -> None:
        history = made.history(*[sample] * 5) if sample is not None else None
        await stage.app.push_screen(DevicesScreen(stage.app.context, sample, history))
        await stage.settled()
        await stage.press(*keys)

    return Scene(play, **named)  # type: ignore[arg-type]


SCENES = {
    "header_none": header(NONE),
    "header_one": header(ONE),
    "header_eight": header(EIGHT),
    "header_lost": header(LOST),
    "header_unknown": header(UNKNOWN),
    "waiting": screen(None),
    "none": screen(NONE),
    "bare": screen(BARE),
    "one": screen(ONE),
    "eight": screen(EIGHT),
    "eight_details": screen(EIGHT, "d"),
    "counters_alone": screen(EIGHT, "v"),
    "processes_alone": screen(EIGHT, "v", "v"),
    "lost": screen(LOST),
    "npu": screen(NPU),
    "unknown": screen(UNKNOWN),
    "other_namespace": screen(made.strangers(EIGHT)),
    "chinese": screen(EIGHT, config='lang = "zh"\n'),
    "ascii": screen(EIGHT, options={"ascii": True}),
}
"""Every kind of machine."""
