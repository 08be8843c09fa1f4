"""What NVML answers, as data, and what must be seen of it: one list for the shim library and for the fake module.

A world maps ``DEVICE.WHAT`` to the answer as text; ``!CODE`` is an NVML error, and a key that is missing is "not
supported". A MIG instance is ``DEVICE/INSTANCE.WHAT``. Each scenario is a row of worlds, one reading of each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mswb.env.devices.nvml import RETRY_S, Nvml
from mswb.env.devices.sample import DeviceCounters, DeviceProcess, HostCounters, Reading, Sample
from mswb.env.devices.sampler import Sampler

World = Mapping[str, str]
Check = Callable[[list[Sample]], None]
GIB = 1 << 30
OURS = os.getpid()
FOREIGN = (1 << 22) + 7
"""More than any pid_max allows, so nobody has it."""


@dataclass(frozen=True)
class Scenario:
    """``seconds``: on the steady clock at each reading. ``old``: a driver without the newer symbols."""

    name: str
    worlds: tuple[World, ...]
    check: Check
    old: bool = False
    seconds: tuple[float, ...] = field(default=(0.0, 1.0, 2.0, 3.0))


def gpu(number: int, **changes: str | None) -> dict[str, str]:
    """The answers of one healthy GPU; None takes one away."""
    answers: dict[str, str | None] = {
        "name": "NVIDIA H100 80GB HBM3",
        "uuid": f"GPU-0000000{number}-aaaa",
        "bus": f"00000000:{number + 16:02X}:00.0",
        "rates": f"{40 + number} 20",
        "memory": f"{12 * GIB} {80 * GIB} {1 * GIB}",
        "temperature": str(60 + number),
        "power": "210500",
        "limit": "700000",
        "clock.1": "1755",
        "clock.2": "2619",
        "maxclock.1": "1980",
        "pstate": "0",
        "ecc": "1",
        "eccerrors": "0",
        "mig": "0",
        **changes,
    }
    return {f"{number}.{name}": value for name, value in answers.items() if value is not None}


def host(*gpus: Mapping[str, str], count: int | None = None, **extra: str) -> World:
    """A host with these GPUs."""
    world = {"count": str(len(gpus) if count is None else count), **extra}
    for one in gpus:
        world |= one
    return world


class NoHost:
    """Counters of a host that tells nothing."""

    def read(self) -> HostCounters:
        return HostCounters()


class NoDevices:
    """No npu-smi."""

    def read(self) -> Reading:
        return Reading()


def play(scenario: Scenario, load: Callable[[], Any] | None, show: Callable[[World], None]) -> list[Sample]:
    """One sample of each world; ``show`` makes the next one real."""
    now = [0.0]
    nvml = Nvml(load, nodes=lambda: (0,), clock=lambda: now[0])
    sampler = Sampler(host=NoHost(), nvml=nvml, npu=NoDevices(), is_here=lambda pid: pid == OURS)
    samples = []
    for world, now[0] in zip(scenario.worlds, scenario.seconds, strict=False):
        show(world)
        samples.append(sampler.sample(patience_s=60.0))
    sampler.close()
    return samples


# -- what must be seen


def eight(samples: list[Sample]) -> None:
    (sample,) = samples
    assert [one.label for one in sample.devices] == [f"GPU{number}" for number in range(8)]
    assert sample.devices[3] == DeviceCounters(
        key="GPU-00000003-aaaa",
        kind="gpu",
        label="GPU3",
        number=3,
        name="NVIDIA H100 80GB HBM3",
        uuid="GPU-00000003-aaaa",
        bus_id="00000000:13:00.0",
        utilization_percent=43.0,
        memory_busy_percent=20.0,
        memory_used_bytes=12 * GIB,
        memory_total_bytes=80 * GIB,
        temperature_c=63.0,
        power_w=210.5,
        power_limit_w=700.0,
        clock_mhz=1755,
        clock_max_mhz=1980,
        memory_clock_mhz=2619,
        performance_state=0,
        ecc_enabled=True,
        ecc_errors=0,
        mig=False,
    )
    assert sample.notes == () and sample.processes == ()


def fields_unknown(samples: list[Sample]) -> None:
    (device,) = samples[0].devices
    assert device == DeviceCounters(
        key="GPU-00000000-aaaa", kind="gpu", label="GPU0", number=0, name="NVIDIA H100 80GB HBM3",
        uuid="GPU-00000000-aaaa", bus_id="00000000:10:00.0", clock_max_mhz=1980,
    )  # fmt: skip


def nonsense(samples: list[Sample]) -> None:
    (device,) = samples[0].devices
    assert device.utilization_percent is None and device.power_w is None and device.temperature_c is None
    assert device.memory_total_bytes is None and device.performance_state is None


def no_rights(samples: list[Sample]) -> None:
    (sample,) = samples
    assert sample.devices[0].utilization_percent == 40.0 and sample.devices[0].power_w is None
    assert sample.notes == ("some GPU counters need more rights than this user has",)


def refused(samples: list[Sample]) -> None:
    assert [one.label for one in samples[0].devices] == ["GPU0"]
    assert "the NVIDIA driver gives no access to GPU1" in samples[0].notes


def instances(samples: list[Sample]) -> None:
    whole, first, third = samples[0].devices
    assert (whole.mig, whole.utilization_percent, whole.parent) == (True, None, None)
    assert [(one.kind, one.label, one.parent, one.number) for one in (first, third)] == [
        ("mig", "GPU0.0", whole.key, None),
        ("mig", "GPU0.2", whole.key, None),
    ]
    assert third.uuid == third.key == "MIG-2" and third.name == "NVIDIA H100 MIG 3g.40gb"
    assert (third.memory_used_bytes, third.memory_total_bytes) == (3 * GIB, 40 * GIB)
    assert third.utilization_percent is None and third.power_w is None
    assert [(one.device, one.pid) for one in samples[0].processes] == [("MIG-2", OURS)]


def lost_midway(samples: list[Sample]) -> None:
    healthy, lost, later, back = (sample.devices[1] for sample in samples)
    assert healthy.state == "ok" and healthy.utilization_percent == 41.0
    for one in (lost, later):
        assert (one.key, one.name, one.bus_id) == (healthy.key, healthy.name, healthy.bus_id)
        assert one.state == "lost" and one.utilization_percent is None and one.memory_total_bytes is None
        assert one.note.startswith("GPU1 is lost")
    assert all(sample.devices[0].utilization_percent == 40.0 for sample in samples)
    assert back == healthy


def lost_from_start(samples: list[Sample]) -> None:
    first, second = samples
    assert [one.state for one in first.devices] == ["ok", "lost"]
    assert [(one.key, one.state) for one in second.devices] == [
        ("GPU-00000000-aaaa", "ok"),
        ("GPU-00000001-aaaa", "ok"),
    ]


def lost_then_gone(samples: list[Sample]) -> None:
    for sample in samples[1:4]:
        assert [(one.label, one.state) for one in sample.devices] == [("GPU0", "ok"), ("GPU1", "lost")]
    assert samples[4].devices == samples[0].devices


def note_only(note: str) -> Check:
    def check(samples: list[Sample]) -> None:
        assert samples[0].devices == () and samples[0].notes == (note,)

    return check


def driver_comes(samples: list[Sample]) -> None:
    assert [len(sample.devices) for sample in samples] == [0, 0, 1]
    assert [len(sample.notes) for sample in samples] == [1, 1, 0]


def driver_goes(samples: list[Sample]) -> None:
    assert samples[0].devices[0].state == "ok"
    assert [one.state for one in samples[-1].devices] == ["lost"]
    assert samples[-1].notes == ("no NVIDIA driver: it is not loaded",)


def old_driver(samples: list[Sample]) -> None:
    (sample,) = samples
    # The old form counts the driver's own part as used.
    assert sample.devices[0].memory_used_bytes == 13 * GIB
    assert [(one.pid, one.device_memory_bytes) for one in sample.processes] == [(OURS, 2 * GIB)]
    assert sample.notes == ()


def processes(samples: list[Sample]) -> None:
    ours, stranger = samples[0].processes
    assert (ours.pid, ours.kind, ours.device_memory_bytes) == (OURS, "compute+graphics", None)
    assert ours.utilization_percent == 37.0 and not ours.foreign
    assert ours.user is not None and ours.rss_bytes and ours.command and "python" in ours.command
    assert stranger == DeviceProcess(
        "GPU-00000000-aaaa", FOREIGN, foreign=True, device_memory_bytes=5 * GIB, utilization_percent=9.0
    )
    assert any("another pid namespace" in note for note in samples[0].notes)
    # No new samples in the second: what a process does now is not known, and not 0.
    assert [one.utilization_percent for one in samples[1].processes] == [None, None]


_BUSY = {
    "compute": f"{OURS}:{2**64 - 1} {FOREIGN}:{5 * GIB}",
    "graphics": f"{OURS}:{2**64 - 1}",
    "shares": f"{OURS}:100:11 {FOREIGN}:110:9 {OURS}:120:37",
}
_CUT = {
    **gpu(0, rates=None, mig="1", migcount="4"),
    "0/0.name": "NVIDIA H100 MIG 3g.40gb", "0/0.uuid": "MIG-0", "0/0.memory": f"{GIB} {40 * GIB} 0", "0/0.handle": "1",
    "0/2.name": "NVIDIA H100 MIG 3g.40gb", "0/2.uuid": "MIG-2", "0/2.memory": f"{3 * GIB} {40 * GIB} 0",
    "0/2.handle": "1", "0/2.compute": f"{OURS}:{GIB}", "0/1.handle": "!6", "0/3.handle": "!6",
}  # fmt: skip
_BARE = gpu(0, rates=None, memory=None, temperature=None, power=None, limit=None, pstate=None, ecc=None, eccerrors=None,
            mig=None, **{"clock.1": None, "clock.2": None})  # fmt: skip
_NONSENSE = {"rates": "4294967295 300", "power": "4294967295", "temperature": "4294967295", "memory": "0 0 0"}

SCENARIOS = (
    Scenario("eight", (host(*(gpu(number) for number in range(8))),), eight),
    Scenario("none of the counters", (host(_BARE),), fields_unknown),
    Scenario("numbers that mean unknown", (host(gpu(0, pstate="32", **_NONSENSE)),), nonsense),
    Scenario("no permission", (host(gpu(0, power="!4", limit="!4")),), no_rights),
    Scenario("no access to one", (host(gpu(0), gpu(1, handle="!4")),), refused),
    Scenario("instances with holes", (host(_CUT),), instances),
    Scenario(
        "lost midway",
        (host(gpu(0), gpu(1)),) + (host(gpu(0), gpu(1, lost="1")),) * 2 + (host(gpu(0), gpu(1)),),
        lost_midway,
        seconds=(0.0, 1.0, 2.0, RETRY_S + 3),
    ),
    Scenario(
        "lost from the start",
        (host(gpu(0), gpu(1, lost="1")), host(gpu(0), gpu(1))),
        lost_from_start,
        seconds=(0.0, RETRY_S + 1),
    ),
    Scenario(
        "lost, then no longer counted",
        (host(gpu(0), gpu(1)), host(gpu(0), gpu(1, lost="1")), host(gpu(0)), host(gpu(0)), host(gpu(0), gpu(1))),
        lost_then_gone,
        seconds=(0.0, 1.0, RETRY_S + 1, 2 * RETRY_S + 1, 3 * RETRY_S + 1),
    ),
    Scenario(
        "versions differ",
        ({"init": "!18"},),
        note_only(
            "NVIDIA driver and library versions differ: restart the host, or reload the driver's modules",
        ),
    ),
    Scenario("driver not loaded", ({"init": "!9"},), note_only("no NVIDIA driver: it is not loaded")),
    Scenario("driver not allowed", ({"init": "!4"},), note_only("this user may not ask the NVIDIA driver")),
    Scenario(
        "driver comes",
        ({"init": "!9"}, {"init": "!9"}, host(gpu(0))),
        driver_comes,
        seconds=(0.0, 1.0, RETRY_S + 1),
    ),
    Scenario(
        "driver goes",
        (host(gpu(0)), host(gpu(0, lost="1")), {"init": "!9"}),
        driver_goes,
        seconds=(0.0, 1.0, RETRY_S + 1),
    ),
    Scenario("old driver", (host(gpu(0, compute=f"{OURS}:{2 * GIB}")),), old_driver, old=True),
    Scenario("processes", (host(gpu(0, **_BUSY)),) * 2, processes),
)
