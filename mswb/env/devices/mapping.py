"""Which device a rank uses: by the driver's process table, else by the variables that choose devices for a process.

Sources: CUDA C++ programming guide, "CUDA environment variables" (CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER); CANN's
ASCEND_RT_VISIBLE_DEVICES; msrun 2.10, which gives each worker its local index as DEVICE_ID.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mswb.env.devices.procs import Trainer
from mswb.env.devices.sample import DeviceCounters, DeviceProcess, RankLink

CUDA, ASCEND = "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"
Devices = Sequence[DeviceCounters]


def links(trainers: Iterable[Trainer], devices: Devices, processes: Iterable[DeviceProcess]) -> tuple[RankLink, ...]:
    """One link for each rank and device, by rank; the driver's word comes before that of the environment."""
    found = [
        RankLink(one.pid, one.rank, one.role, one.run, one.device, "process")
        for one in processes
        if one.role is not None and not one.foreign
    ]
    told = {link.pid for link in found} | {(link.run, link.rank) for link in found if link.run}
    for one in trainers:
        if one.pid not in told and (one.run, one.rank) not in told:
            device = device_of(one.variables, devices)
            key = device.key if device else None
            found.append(RankLink(one.pid, one.rank, one.role, one.run, key, "environment"))
    return tuple(sorted(found, key=lambda link: (link.rank is None, link.rank or 0, link.pid)))


def device_of(variables: Mapping[str, str], devices: Devices) -> DeviceCounters | None:
    """The device that a worker with these variables trains on; None when they do not tell."""
    seen = visible(variables, devices)
    chosen = _number(variables.get("DEVICE_ID", ""))
    if chosen is None:
        return seen[0] if len(seen) == 1 else None
    return seen[chosen] if chosen < len(seen) else None


def visible(variables: Mapping[str, str], devices: Devices) -> tuple[DeviceCounters, ...]:
    """The devices that a process with these variables can use, in the order in which it counts them."""
    npus = sorted((one for one in devices if one.kind == "npu"), key=lambda one: one.number or 0)
    if npus:
        return _visible_npus(variables.get(ASCEND), npus)
    return _visible_gpus(variables.get(CUDA), devices, variables.get("CUDA_DEVICE_ORDER", ""))


def _visible_npus(text: str | None, npus: Devices) -> tuple[DeviceCounters, ...]:
    if text is None:
        return tuple(npus)
    by_number = {one.number: one for one in npus}
    found: list[DeviceCounters] = []
    for word in _words(text):
        device = by_number.get(_number(word))
        if device is None:  # the runtime uses what stands before the first wrong entry
            break
        found.append(device)
    return tuple(found)


def _visible_gpus(text: str | None, devices: Devices, order: str) -> tuple[DeviceCounters, ...]:
    gpus = sorted((one for one in devices if one.kind == "gpu"), key=lambda one: one.number or 0)
    # Unless told otherwise CUDA counts the fastest first: where the models differ, a number does not tell the device.
    counted = gpus if order == "PCI_BUS_ID" or len({one.name for one in gpus}) <= 1 else []
    if text is None:
        return tuple(_computing(one, devices) for one in counted)
    found: list[DeviceCounters] = []
    for word in _words(text):
        device = _gpu(word, counted, devices)
        if device is None:
            break
        found.append(device)
    return tuple(found)


def _gpu(word: str, counted: Devices, devices: Devices) -> DeviceCounters | None:
    number = _number(word)
    if number is not None:
        return _computing(counted[number], devices) if number < len(counted) else None
    if word.startswith("MIG-GPU-"):  # the form before driver 470: MIG-GPU-UUID/instance/compute instance
        return _single(one for one in devices if one.kind == "mig" and one.uuid == word)
    # A UUID may be cut short as long as it names one device.
    return _single(
        one for one in devices if one.uuid and word.startswith(("GPU-", "MIG-")) and one.uuid.startswith(word)
    )


def _computing(gpu: DeviceCounters, devices: Devices) -> DeviceCounters:
    """What computes: the GPU, or its first instance when it is cut into instances."""
    return next((one for one in devices if one.parent == gpu.key), gpu)


def _single(found: Iterable[DeviceCounters]) -> DeviceCounters | None:
    some = list(found)
    return some[0] if len(some) == 1 else None


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")] if text.strip() else []


def _number(word: str) -> int | None:
    word = word.strip()
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 8 else None
