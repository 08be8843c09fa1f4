"""NVIDIA GPUs through NVML (the module ``pynvml``), with every absence as a None or a sentence.

The library is loaded and initialised once, by the first reading, and stays so until ``close``. Codes that are met:
https://docs.nvidia.com/deploy/nvml-api, nvmlReturn_t.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mswb.env.devices.sample import DeviceCounters, DeviceProcess, Reading, as_lost

NO_PERMISSION, FUNCTION_NOT_FOUND, GPU_IS_LOST, RESET_REQUIRED = 4, 13, 15, 16
UNKNOWN_NUMBERS = (2**32 - 1, 2**64 - 1)
"""NVML_VALUE_NOT_AVAILABLE, unsigned, 32 and 64 bits."""
RETRY_S = 30.0
"""Seconds between two attempts to initialise after a failure or the loss of a GPU."""
_REASONS = {
    3: "the driver does not support it",
    4: "this user may not ask the NVIDIA driver",
    9: "no NVIDIA driver: it is not loaded",
    12: "no NVIDIA driver: libnvidia-ml.so.1 not found",
    13: "the NVIDIA driver is too old to be asked",
    17: "the operating system has blocked the NVIDIA driver",
    18: "NVIDIA driver and library versions differ: restart the host, or reload the driver's modules",
}
_KINDS = (("Compute", "compute"), ("Graphics", "graphics"))
_CLOCK_SM, _CLOCK_MEMORY, _TEMPERATURE_GPU = 1, 2, 0
_ECC_UNCORRECTED, _ECC_VOLATILE = 1, 0


class _Lost(Exception):
    """The GPU that was asked has fallen off its bus."""


@dataclass(slots=True)
class _Gpu:
    """An initialised GPU: its handle and what does not change; ``seen_us`` is the newest process sample read."""

    number: int
    handle: Any
    identity: DeviceCounters
    seen_us: dict[str, int] = field(default_factory=dict)
    lost: bool = False


class Nvml:
    """The GPUs of this host. Not for two threads at once.

    Args:
        load: gives the module ``pynvml``.
        nodes: numbers of the device nodes that are there now; when they change, NVML is initialised again.
    """

    def __init__(
        self,
        load: Callable[[], Any] | None = None,
        nodes: Callable[[], tuple[int, ...]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load, self._nodes, self._clock = load or _pynvml, nodes or _device_nodes, clock
        self._api: Any = None
        self._gpus: list[_Gpu] = []
        self._gone: dict[str, DeviceCounters] = {}
        self._problem = ""
        self._refused = ""
        self._tried: float | None = None
        self._present: tuple[int, ...] = ()
        self._notes: dict[str, None] = {}

    def read(self) -> Reading:
        """One reading of all GPUs; tries to initialise when that is due."""
        self._notes = {}
        if self._must_initialise():
            self._initialise()
        devices: list[DeviceCounters] = []
        processes: list[DeviceProcess] = []
        for gpu in self._gpus:
            for device, of_device in self._read_gpu(gpu):
                devices.append(device)
                processes += of_device
        known = {device.key for device in devices}
        devices += [_lost(one) for key, one in self._gone.items() if key not in known]
        devices.sort(key=lambda one: one.number if one.number is not None else _number_of(one, devices))
        notes = [note for note in (self._problem, self._refused, *self._notes) if note]
        return Reading(tuple(devices), tuple(processes), tuple(notes))

    def close(self) -> None:
        """Give the driver back; a later ``read`` would initialise again."""
        if self._api is not None:
            _quietly(self._api.nvmlShutdown)
            self._api = None
        self._gpus = []

    def _must_initialise(self) -> bool:
        if self._tried is None or self._present != self._nodes():
            return True
        ailing = self._api is None or bool(self._gone) or any(gpu.lost for gpu in self._gpus)
        return ailing and self._clock() - self._tried >= RETRY_S

    def _initialise(self) -> None:
        """Open the driver and its GPUs. What is not there any more though it was not taken away, is lost."""
        self._tried = self._clock()
        before = self._gone | {gpu.identity.key: gpu.identity for gpu in self._gpus}
        missed = set(self._gone) | {gpu.identity.key for gpu in self._gpus if gpu.lost}
        self.close()
        try:
            self._open_all(before)
            self._problem = ""
        except Exception as problem:  # the module is missing, the library is broken, the driver says no
            self._problem, self._refused, missed = _reason(problem), "", set(before)
        self._present = self._nodes()  # afterwards: the driver itself makes the nodes that it misses
        back = {gpu.identity.key for gpu in self._gpus} | {f"gpu:{gpu.number}" for gpu in self._gpus}
        self._gone = {key: one for key, one in before.items() if key in missed and key not in back}

    def _open_all(self, before: Mapping[str, DeviceCounters]) -> None:
        api = self._load()
        api.nvmlInit()
        self._api = api
        numbers = range(int(api.nvmlDeviceGetCount()))
        opened = [self._open(number, before) for number in numbers]
        self._gpus = [gpu for gpu in opened if gpu is not None]
        refused = [f"GPU{number}" for number in numbers if opened[number] is None]
        self._refused = f"the NVIDIA driver gives no access to {', '.join(refused)}" if refused else ""

    def _open(self, number: int, before: Mapping[str, DeviceCounters]) -> _Gpu | None:
        """The GPU of this number, or None when the driver refuses it to us (a batch job may have others only).

        A lost one gets the identity it had at that number, if it had one.
        """
        try:
            handle = self._strict("nvmlDeviceGetHandleByIndex", number)
            return None if handle is None else _Gpu(number, handle, self._identity(handle, number))
        except _Lost:
            pass
        old = next((one for one in before.values() if one.number == number), None)
        fallback = DeviceCounters(f"gpu:{number}", "gpu", f"GPU{number}", number)
        return _Gpu(number, None, old or fallback, lost=True)

    def _identity(self, handle: Any, number: int) -> DeviceCounters:
        uuid, bus = _text(self._strict("nvmlDeviceGetUUID", handle)), self._bus(handle)
        return DeviceCounters(
            key=uuid or bus or f"gpu:{number}",
            kind="gpu",
            label=f"GPU{number}",
            number=number,
            name=_text(self._strict("nvmlDeviceGetName", handle)),
            uuid=uuid,
            bus_id=bus,
            clock_max_mhz=_whole(self._strict("nvmlDeviceGetMaxClockInfo", handle, _CLOCK_SM)),
        )

    def _bus(self, handle: Any) -> str | None:
        return _text(getattr(self._strict("nvmlDeviceGetPciInfo", handle), "busId", None))

    def _read_gpu(self, gpu: _Gpu) -> Iterator[tuple[DeviceCounters, list[DeviceProcess]]]:
        """The GPU and, in MIG mode, its instances."""
        if not gpu.lost:
            try:
                yield from list(self._ask_gpu(gpu))
                return
            except _Lost:
                gpu.lost = True
        yield _lost(gpu.identity), []

    def _ask_gpu(self, gpu: _Gpu) -> Iterator[tuple[DeviceCounters, list[DeviceProcess]]]:
        mode = self._strict("nvmlDeviceGetMigMode", gpu.handle)
        mig = None if mode is None else mode[0] == 1
        device = replace(self._counters(gpu.handle, gpu.identity), mig=mig)
        instances = list(self._instances(gpu)) if mig else []
        yield device, self._processes(gpu, gpu.handle, device.key) if not instances else []
        for handle, identity in instances:
            used, total = self._memory(handle)
            instance = replace(identity, memory_used_bytes=used, memory_total_bytes=total)
            yield instance, self._processes(gpu, handle, identity.key)

    def _instances(self, gpu: _Gpu) -> Iterator[tuple[Any, DeviceCounters]]:
        """The MIG instances; the numbers of a GPU may have holes."""
        for number in range(_whole(self._strict("nvmlDeviceGetMaxMigDeviceCount", gpu.handle)) or 0):
            handle = self._strict("nvmlDeviceGetMigDeviceHandleByIndex", gpu.handle, number)
            if handle is None:
                continue
            uuid = _text(self._strict("nvmlDeviceGetUUID", handle))
            identity = DeviceCounters(
                key=uuid or f"{gpu.identity.key}/{number}",
                kind="mig",
                label=f"{gpu.identity.label}.{number}",
                name=_text(self._strict("nvmlDeviceGetName", handle)),
                uuid=uuid,
                bus_id=gpu.identity.bus_id,
                parent=gpu.identity.key,
            )
            yield handle, identity

    def _counters(self, handle: Any, identity: DeviceCounters) -> DeviceCounters:
        ask = self._strict
        rates = ask("nvmlDeviceGetUtilizationRates", handle)
        used, total = self._memory(handle)
        ecc = ask("nvmlDeviceGetEccMode", handle)
        state = _whole(ask("nvmlDeviceGetPerformanceState", handle))
        return replace(
            identity,
            utilization_percent=_share(getattr(rates, "gpu", None)),
            memory_busy_percent=_share(getattr(rates, "memory", None)),
            memory_used_bytes=used,
            memory_total_bytes=total,
            temperature_c=_number(ask("nvmlDeviceGetTemperature", handle, _TEMPERATURE_GPU)),
            fan_percent=_number(ask("nvmlDeviceGetFanSpeed", handle)),
            power_w=_thousandth(ask("nvmlDeviceGetPowerUsage", handle)),
            power_limit_w=_thousandth(ask("nvmlDeviceGetEnforcedPowerLimit", handle)),
            clock_mhz=_whole(ask("nvmlDeviceGetClockInfo", handle, _CLOCK_SM)),
            memory_clock_mhz=_whole(ask("nvmlDeviceGetClockInfo", handle, _CLOCK_MEMORY)),
            performance_state=state if state is not None and 0 <= state <= 15 else None,
            ecc_enabled=None if ecc is None else ecc[0] == 1,
            ecc_errors=self._ecc_errors(handle) if ecc is not None and ecc[0] == 1 else None,
        )

    def _ecc_errors(self, handle: Any) -> int | None:
        return _whole(self._strict("nvmlDeviceGetTotalEccErrors", handle, _ECC_UNCORRECTED, _ECC_VOLATILE))

    def _memory(self, handle: Any) -> tuple[int | None, int | None]:
        """Used and total bytes. Drivers before 510 know only the form whose "used" holds the driver's own part."""
        version = getattr(self._api, "nvmlMemory_v2", None)
        info = None
        if version is not None:
            info = self._strict("nvmlDeviceGetMemoryInfo", handle, version, older_is_fine=True)
        info = info or self._strict("nvmlDeviceGetMemoryInfo", handle)
        total = _whole(getattr(info, "total", None))
        return (_whole(getattr(info, "used", None)), total) if total else (None, None)

    def _processes(self, gpu: _Gpu, handle: Any, key: str) -> list[DeviceProcess]:
        found: dict[int, DeviceProcess] = {}
        for name, kind in _KINDS:
            for raw in self._running(name, handle):
                one = DeviceProcess(key, raw.pid, kind, device_memory_bytes=_whole(raw.usedGpuMemory))
                old = found.get(one.pid)
                found[one.pid] = one if old is None else _both(old, one)
        busy = self._process_shares(gpu, handle, key) if found else {}
        return [replace(one, utilization_percent=busy.get(one.pid)) for one in found.values()]

    def _running(self, kind: str, handle: Any) -> list[Any]:
        """Processes by the newest call that both the driver and the module know."""
        name = f"nvmlDeviceGet{kind}RunningProcesses"
        found = self._strict(f"{name}_v3", handle, older_is_fine=True)
        return list(self._strict(f"{name}_v2", handle) or ()) if found is None else list(found)

    def _process_shares(self, gpu: _Gpu, handle: Any, key: str) -> Mapping[int, float | None]:
        """The newest share of each process; the driver keeps some seconds of samples, and none for an idle process."""
        samples = self._strict("nvmlDeviceGetProcessUtilization", handle, gpu.seen_us.get(key, 0)) or ()
        newest: dict[int, Any] = {}
        for one in sorted(samples, key=lambda sample: sample.timeStamp):
            newest[one.pid] = one
            gpu.seen_us[key] = max(gpu.seen_us.get(key, 0), one.timeStamp)
        return {pid: _share(one.smUtil) for pid, one in newest.items()}

    def _strict(self, name: str, *arguments: Any, older_is_fine: bool = False) -> Any:
        """One call of the driver: its answer, or None when it has none.

        Raises:
            _Lost: the GPU is gone.
        """
        function = getattr(self._api, name, None)
        if function is None:  # an older module
            return None
        try:
            return function(*arguments)
        except Exception as problem:
            code = getattr(problem, "value", None)
            if code in (GPU_IS_LOST, RESET_REQUIRED):
                raise _Lost from None
            if code == NO_PERMISSION:
                self._notes["some GPU counters need more rights than this user has"] = None
            if code == FUNCTION_NOT_FOUND and not older_is_fine:
                self._notes["the NVIDIA driver is old: some counters are not known to it"] = None
            return None


def _pynvml() -> Any:
    import pynvml

    return pynvml


def _device_nodes() -> tuple[int, ...]:
    """Numbers of /dev/nvidiaN: they appear and go with the devices."""
    try:
        names = os.listdir("/dev")
    except OSError:
        return ()
    return tuple(sorted(int(name[6:]) for name in names if name.startswith("nvidia") and name[6:].isdecimal()))


def _reason(problem: Exception) -> str:
    if isinstance(problem, ImportError):
        return "no NVIDIA counters: the Python module pynvml is missing (package nvidia-ml-py)"
    reason = _REASONS.get(getattr(problem, "value", 0))
    return reason or f"the NVIDIA driver does not answer: {problem}"


def _quietly(function: Callable[[], object]) -> None:
    try:
        function()
    except Exception:  # whatever the driver has against it, we are done with it
        pass


def _lost(identity: DeviceCounters) -> DeviceCounters:
    return as_lost(identity, f"{identity.label} is lost: it no longer answers the driver; the host may need a restart")


def _number_of(device: DeviceCounters, devices: list[DeviceCounters]) -> int:
    """Where an instance stands: behind its GPU (the sort is stable)."""
    return next((one.number or 0 for one in devices if one.key == device.parent), 0)


def _both(one: DeviceProcess, two: DeviceProcess) -> DeviceProcess:
    kind = one.kind if one.kind == two.kind else "compute+graphics"
    known = [item.device_memory_bytes for item in (one, two) if item.device_memory_bytes is not None]
    return replace(one, kind=kind, device_memory_bytes=max(known, default=None))


def _text(value: Any) -> str | None:
    """A name; older modules give bytes."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return text if isinstance(text, str) and text else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value in UNKNOWN_NUMBERS:
        return None
    return float(value)


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(value)


def _share(value: Any) -> float | None:
    """A percentage; drivers have been seen to answer nonsense beyond 100."""
    number = _number(value)
    return number if number is not None and 0 <= number <= 100 else None


def _thousandth(value: Any) -> float | None:
    number = _number(value)
    return None if number is None else number / 1000
