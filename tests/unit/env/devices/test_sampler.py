"""All counters in one call: slow devices, failures, processes, ranks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from mswb.env.devices.sample import DeviceCounters, DeviceProcess, Reading
from mswb.env.devices.sampler import Sampler
from tests.unit.env.devices.test_procs import child
from tests.unit.env.devices.worlds import NoDevices, NoHost
from tests.waiting import wait_until

NPU = DeviceCounters("npu:0.0", "npu", "NPU0", 0, utilization_percent=50.0)


class Origin:
    """Devices that answer what ``read`` gives."""

    def __init__(self, read: Callable[[], Reading]) -> None:
        self.read = read
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def sampler(npu: Origin | NoDevices | None = None, nvml: Origin | NoDevices | None = None, **more: object) -> Sampler:
    return Sampler(host=NoHost(), nvml=nvml or NoDevices(), npu=npu or NoDevices(), **more)  # type: ignore[arg-type]


def test_a_slow_tool_is_shown_with_its_age() -> None:
    now, gate, count = [0.0], threading.Event(), [0]

    def read() -> Reading:
        count[0] += 1
        if count[0] > 1:
            gate.wait(60)
        return Reading((NPU,))

    made = sampler(Origin(read), clock=lambda: now[0])
    assert made.sample(patience_s=60.0).devices == (NPU,)
    now[0] = 1.5
    made.sample(patience_s=0.0)  # its own cadence: not asked yet
    assert count[0] == 1
    now[0] = 7.0
    late = made.sample(patience_s=0.0)
    wait_until(lambda: count[0] == 2)
    assert [(one.age_s, one.utilization_percent) for one in late.devices] == [(7.0, 50.0)]
    gate.set()
    wait_until(lambda: made.sample(patience_s=0.01).devices[0].age_s == 0.0)


def test_the_first_reading_is_awaited_in_words() -> None:
    gate = threading.Event()
    made = sampler(Origin(lambda: Reading((NPU,)) if gate.wait(60) else Reading()))
    assert made.sample(patience_s=0.0).notes == ("the first reading of a device is under way for 0 s",)
    gate.set()
    wait_until(lambda: made.sample(patience_s=0.01).devices)


def test_what_nobody_expects_is_a_note() -> None:
    def read() -> Reading:
        raise KeyError("brand new")

    found = sampler(nvml=Origin(read)).sample(patience_s=60.0)
    assert found.notes == ("device counters cannot be read: KeyError: 'brand new'",)


def test_processes_are_described_and_strangers_are_not() -> None:
    held = (
        DeviceProcess(NPU.key, os.getpid(), device_memory_bytes=5),
        DeviceProcess(NPU.key, 4242, command="python", device_memory_bytes=7),
    )
    made = sampler(Origin(lambda: Reading((NPU,), held)), is_here=lambda pid: pid == os.getpid())
    ours, stranger = made.sample(patience_s=60.0).processes
    assert ours.rss_bytes and ours.cpu_percent is None and not ours.foreign
    assert stranger == DeviceProcess(NPU.key, 4242, command="python", device_memory_bytes=7, foreign=True)
    again = made.sample(patience_s=60.0)
    assert again.processes[0].cpu_percent is not None
    assert again.device_memory_of(os.getpid()) == 5 and again.device_memory_of(4242) is None
    assert again.notes == (
        "1 device process belongs to another pid namespace (another container, or the host): "
        "only pid and device memory are known",
    )


def test_a_process_that_has_gone() -> None:
    held = (DeviceProcess(NPU.key, 1 << 23),)
    (gone,) = sampler(Origin(lambda: Reading((NPU,), held)), is_here=lambda pid: True).sample(patience_s=60.0).processes
    assert gone.foreign and gone.rss_bytes is None


def test_processes_that_were_asked_for() -> None:
    made = sampler()
    made.sample([os.getpid()])
    one, two = made.sample([os.getpid(), 1 << 23]).watched
    assert one.pid == os.getpid() and one.rss_bytes and one.cpu_percent is not None and one.processes >= 1
    assert (two.rss_bytes, two.cpu_percent, two.processes) == (None, None, 0)


def test_ranks_without_any_device_are_found_and_measured() -> None:
    with child("pass", MS_ROLE="MS_WORKER", RANK_ID="7", MSWB_RUN_ID="r1") as process:
        now = [0.0]
        made = sampler(clock=lambda: now[0])
        first = made.sample(patience_s=60.0)
        now[0] = 1.0
        found = made.sample(patience_s=60.0)
        assert (7, "r1", None) in {(one.rank, one.run, one.device) for one in found.links if one.pid == process.pid}
        (before,) = (one for one in first.ranks if one.pid == process.pid)
        (mine,) = (one for one in found.ranks if one.pid == process.pid)
        assert before.cpu_percent is None and mine.cpu_percent is not None and mine.rss_bytes
    now[0] = 2.0
    assert process.pid not in {one.pid for one in made.sample(patience_s=60.0).ranks}


def test_a_second_thread_gets_the_sample_before() -> None:
    gate, entered = threading.Event(), threading.Event()
    first = [True]

    class Host(NoHost):
        def read(self):  # type: ignore[no-untyped-def]
            if not first:
                entered.set()
                gate.wait(60)
            first.clear()
            return super().read()

    made = Sampler(host=Host(), nvml=NoDevices(), npu=NoDevices())
    before = made.sample()
    thread = threading.Thread(target=made.sample)
    thread.start()
    entered.wait(60)
    assert made.sample() is before
    gate.set()
    thread.join()


def test_the_driver_is_given_back() -> None:
    nvml = Origin(Reading)
    made = sampler(nvml=nvml)
    made.sample(patience_s=60.0)
    made.close()
    assert nvml.closed == 1
