"""Which device a rank uses, by its variables and by the driver's processes."""

from __future__ import annotations

import pytest

from mswb.env.devices.mapping import device_of, links, visible
from mswb.env.devices.procs import Trainer
from mswb.env.devices.sample import DeviceCounters, DeviceProcess


def gpu(number: int, name: str = "H100") -> DeviceCounters:
    return DeviceCounters(
        f"GPU-{number}{number}-ab", "gpu", f"GPU{number}", number, name, uuid=f"GPU-{number}{number}-ab"
    )


def npu(number: int) -> DeviceCounters:
    return DeviceCounters(f"npu:{number}.0", "npu", f"NPU{number}", number)


def part(number: int, parent: DeviceCounters) -> DeviceCounters:
    return DeviceCounters(f"MIG-{number}", "mig", f"{parent.label}.{number}", uuid=f"MIG-{number}", parent=parent.key)


GPUS = tuple(gpu(number) for number in range(4))
CUT = (GPUS[0], part(0, GPUS[0]), part(1, GPUS[0]), GPUS[1])
OLD_PART = DeviceCounters("MIG-GPU-00-ab/3/0", "mig", "GPU0.0", uuid="MIG-GPU-00-ab/3/0", parent="GPU-00-ab")
MIXED = (gpu(0, "T4"), gpu(1, "H100"))


@pytest.mark.parametrize(
    ("text", "devices", "labels"),
    [
        (None, GPUS, ["GPU0", "GPU1", "GPU2", "GPU3"]),
        ("2,0", GPUS, ["GPU2", "GPU0"]),
        (" 3 , 1 ", GPUS, ["GPU3", "GPU1"]),
        ("", GPUS, []),
        ("-1", GPUS, []),
        ("1,9,2", GPUS, ["GPU1"]),
        ("NoDevFiles", GPUS, []),
        ("GPU-22-ab", GPUS, ["GPU2"]),
        ("GPU-3", GPUS, ["GPU3"]),
        ("GPU-", GPUS, []),
        ("MIG-1", CUT, ["GPU0.1"]),
        ("0,1", CUT, ["GPU0.0", "GPU1"]),
        ("MIG-GPU-00-ab/3/0", (GPUS[0], OLD_PART), ["GPU0.0"]),
        ("0", MIXED, []),
        ("GPU-11-ab", MIXED, ["GPU1"]),
    ],
)
def test_visible_gpus(text: str | None, devices: tuple[DeviceCounters, ...], labels: list[str]) -> None:
    variables = {} if text is None else {"CUDA_VISIBLE_DEVICES": text}
    assert [one.label for one in visible(variables, devices)] == labels


def test_numbers_count_by_bus_when_asked() -> None:
    variables = {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert [one.label for one in visible(variables, MIXED)] == ["GPU1"]


@pytest.mark.parametrize(
    ("text", "labels"),
    [(None, ["NPU0", "NPU4", "NPU5"]), ("4,5", ["NPU4", "NPU5"]), ("5,1,4", ["NPU5"]), ("a", []), ("", [])],
)
def test_visible_npus(text: str | None, labels: list[str]) -> None:
    devices = (npu(5), npu(0), npu(4))
    variables = {} if text is None else {"ASCEND_RT_VISIBLE_DEVICES": text, "CUDA_VISIBLE_DEVICES": "0"}
    assert [one.label for one in visible(variables, devices)] == labels


@pytest.mark.parametrize(
    ("variables", "label"),
    [
        ({"DEVICE_ID": "1", "ASCEND_RT_VISIBLE_DEVICES": "2,3"}, "NPU3"),
        ({"DEVICE_ID": "2", "ASCEND_RT_VISIBLE_DEVICES": "2,3"}, None),
        ({"DEVICE_ID": "3"}, "NPU3"),
        ({"ASCEND_RT_VISIBLE_DEVICES": "2"}, "NPU2"),
        ({}, None),
        ({"DEVICE_ID": "x"}, None),
    ],
)
def test_device_of_a_worker(variables: dict[str, str], label: str | None) -> None:
    found = device_of(variables, tuple(npu(number) for number in range(4)))
    assert (found.label if found else None) == label


def worker(pid: int, rank: int, run: str | None = None, **variables: str) -> Trainer:
    return Trainer(pid, "worker", rank, run, variables)


def test_links() -> None:
    devices = (npu(0), npu(1), npu(2))
    processes = (
        DeviceProcess("npu:1.0", 500, rank=0, role="worker", run="r"),
        DeviceProcess("npu:2.0", 900, foreign=True),
        DeviceProcess("npu:2.0", 901),
    )
    trainers = (
        worker(500, 0, "r", DEVICE_ID="0"),  # the driver says otherwise
        worker(501, 0, "r", DEVICE_ID="0"),  # its parent, which does not hold the device itself
        worker(502, 1, "r", DEVICE_ID="2"),
        worker(503, 2),
    )
    found = [(one.rank, one.pid, one.device, one.source) for one in links(trainers, devices, processes)]
    assert found == [
        (0, 500, "npu:1.0", "process"),
        (1, 502, "npu:2.0", "environment"),
        (2, 503, None, "environment"),
    ]
    on_the_host = [(one.rank, one.pid, one.device, one.source) for one in links(trainers[2:], (), ())]
    assert on_the_host == [(1, 502, None, "environment"), (2, 503, None, "environment")]
