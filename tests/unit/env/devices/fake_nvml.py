"""A stand-in for the module ``pynvml`` that answers from a world of :mod:`tests.unit.env.devices.worlds`."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tests.unit.env.devices.worlds import World

NOT_SUPPORTED, NOT_FOUND, FUNCTION_NOT_FOUND, LOST = 3, 6, 13, 15
_NEW = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3")
_NUMBERS = {
    "nvmlDeviceGetTemperature": "temperature",
    "nvmlDeviceGetFanSpeed": "fan",
    "nvmlDeviceGetPowerUsage": "power",
    "nvmlDeviceGetEnforcedPowerLimit": "limit",
    "nvmlDeviceGetPerformanceState": "pstate",
    "nvmlDeviceGetTotalEccErrors": "eccerrors",
    "nvmlDeviceGetMaxMigDeviceCount": "migcount",
}
_BY_KIND = {"nvmlDeviceGetClockInfo": "clock", "nvmlDeviceGetMaxClockInfo": "maxclock"}
_MODES = {"nvmlDeviceGetEccMode": "ecc", "nvmlDeviceGetMigMode": "mig"}
_LISTS = {
    "nvmlDeviceGetComputeRunningProcesses_v3": "compute",
    "nvmlDeviceGetComputeRunningProcesses_v2": "compute",
    "nvmlDeviceGetGraphicsRunningProcesses_v3": "graphics",
    "nvmlDeviceGetGraphicsRunningProcesses_v2": "graphics",
}


class Problem(Exception):
    """What the module raises: an error with its code."""

    def __init__(self, value: int) -> None:
        super().__init__(f"code {value}")
        self.value = value


class FakeNvml:
    """The functions that mswb calls. ``as_bytes``: names as bytes, as older modules give them."""

    nvmlMemory_v2 = 2

    def __init__(self, *, old: bool = False, as_bytes: bool = False) -> None:
        self.world: World = {}
        self.opened = 0
        self._old, self._as_bytes = old, as_bytes

    def show(self, world: World) -> None:
        self.world = world

    def nvmlInit(self) -> None:
        value = self.world.get("init", "0")
        if value.startswith("!"):
            raise Problem(int(value[1:]))
        self.opened += 1

    def nvmlShutdown(self) -> None:
        self.opened -= 1

    def nvmlDeviceGetCount(self) -> int:
        return int(self.world["count"])

    def nvmlDeviceGetHandleByIndex(self, number: int) -> str:
        self._ask(str(number), "handle", "1")
        return str(number)

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: str, number: int) -> str:
        if f"{handle}/{number}.handle" not in self.world:
            raise Problem(NOT_FOUND)
        self._ask(f"{handle}/{number}", "handle")
        return f"{handle}/{number}"

    def nvmlDeviceGetName(self, handle: str) -> str | bytes:
        return self._text(handle, "name")

    def nvmlDeviceGetUUID(self, handle: str) -> str | bytes:
        return self._text(handle, "uuid")

    def nvmlDeviceGetPciInfo(self, handle: str) -> Any:
        return SimpleNamespace(busId=self._text(handle, "bus"))

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
        busy, memory = map(int, self._ask(handle, "rates").split())
        return SimpleNamespace(gpu=busy, memory=memory)

    def nvmlDeviceGetMemoryInfo(self, handle: str, version: int | None = None) -> Any:
        if version is not None and self._old:
            raise Problem(FUNCTION_NOT_FOUND)
        used, total, reserved = map(int, self._ask(handle, "memory").split())
        return SimpleNamespace(used=used if version else used + reserved, total=total)

    def nvmlDeviceGetProcessUtilization(self, handle: str, seen: int) -> list[Any]:
        samples = [tuple(map(int, word.split(":"))) for word in self._ask(handle, "shares").split()]
        found = [SimpleNamespace(pid=pid, timeStamp=time, smUtil=sm) for pid, time, sm in samples if time > seen]
        if not found:
            raise Problem(NOT_FOUND)
        return found

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in _NUMBERS:
            return lambda handle, *kinds: int(self._ask(handle, _NUMBERS[name]))
        if name in _BY_KIND:
            return lambda handle, kind: int(self._ask(handle, f"{_BY_KIND[name]}.{kind}"))
        if name in _MODES:
            return lambda handle: [int(self._ask(handle, _MODES[name])), 0]
        if name in _LISTS:
            return lambda handle: self._list(name, handle)
        raise AttributeError(name)

    def _list(self, name: str, handle: str) -> list[Any]:
        if self._old and name in _NEW:
            raise Problem(FUNCTION_NOT_FOUND)
        pairs = (word.split(":") for word in self._ask(handle, _LISTS[name]).split())
        return [SimpleNamespace(pid=int(pid), usedGpuMemory=int(memory)) for pid, memory in pairs]

    def _text(self, handle: str, name: str) -> str | bytes:
        text = self._ask(handle, name)
        return text.encode() if self._as_bytes else text

    def _ask(self, handle: str, name: str, default: str | None = None) -> str:
        if f"{handle.split('/')[0]}.lost" in self.world:
            raise Problem(LOST)
        value = self.world.get(f"{handle}.{name}", default)
        if value is None or value.startswith("!"):
            raise Problem(NOT_SUPPORTED if value is None else int(value[1:]))
        return value
