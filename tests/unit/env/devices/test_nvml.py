"""Every absence NVML has, seen through a C library where there is a compiler, and through a module everywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mswb.env.devices.nvml import Nvml
from tests.unit.env.devices.fake_nvml import FakeNvml
from tests.unit.env.devices.worlds import SCENARIOS, Scenario, gpu, host, play

ROOT = Path(__file__).parents[4]
SHIM = ROOT / "tests/fixtures/nvml/shim.c"
COMPILER = shutil.which("cc")


def on_module(scenario: Scenario, folder: Path) -> None:
    fake = FakeNvml(old=scenario.old)
    scenario.check(play(scenario, lambda: fake, fake.show))
    assert fake.opened == 0  # every nvmlInit had its nvmlShutdown


def on_library(scenario: Scenario, folder: Path) -> None:
    flags = ["-DOLD_DRIVER"] if scenario.old else []
    library = str(folder / "libnvidia-ml.so.1")
    subprocess.run([str(COMPILER), "-shared", "-fPIC", *flags, "-o", library, str(SHIM)], check=True)
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "MSWB_NVML_WORLD": str(folder / "world")}
    command = [sys.executable, "-m", "tests.unit.env.devices.on_shim", scenario.name]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.stdout == f"passed: {scenario.name}\n", done.stderr


# Without a compiler the module alone tells the same stories; CI installs one.
CARRIERS: list[Callable[[Scenario, Path], None]] = [on_module] + [on_library] * (COMPILER is not None)


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: carrier.__name__)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name.replace(" ", "-"))
def test_scenario(scenario: Scenario, carrier: Callable[[Scenario, Path], None], tmp_path: Path) -> None:
    carrier(scenario, tmp_path)


def test_names_as_bytes() -> None:
    fake = FakeNvml(as_bytes=True)
    fake.show(host(gpu(0)))
    (device,) = Nvml(lambda: fake, nodes=tuple).read().devices
    assert (device.name, device.key) == ("NVIDIA H100 80GB HBM3", "GPU-00000000-aaaa")


def test_no_module() -> None:
    def load() -> None:
        raise ImportError("No module named 'pynvml'")

    reading = Nvml(load, nodes=tuple).read()
    assert reading.notes == ("no NVIDIA counters: the Python module pynvml is missing (package nvidia-ml-py)",)


def test_a_broken_library() -> None:
    def load() -> None:
        raise OSError("file too short")

    assert Nvml(load, nodes=tuple).read().notes == ("the NVIDIA driver does not answer: file too short",)


def test_no_library_is_said_once_and_cheaply() -> None:
    tried = []

    def load() -> None:
        tried.append(1)
        raise OSError("gone")

    nvml = Nvml(load, nodes=tuple, clock=lambda: 5.0)
    assert nvml.read() == nvml.read() == nvml.read()
    assert len(tried) == 1


def test_a_device_appears_and_goes_with_its_node() -> None:
    fake, nodes = FakeNvml(), [0]
    nvml = Nvml(lambda: fake, nodes=lambda: tuple(nodes), clock=lambda: 0.0)
    fake.show(host(gpu(0)))
    assert len(nvml.read().devices) == 1
    fake.show(host(gpu(0), gpu(1)))
    assert len(nvml.read().devices) == 1  # NVML counts them when it is initialised
    nodes.append(1)
    assert [one.label for one in nvml.read().devices] == ["GPU0", "GPU1"]
    nodes.pop()
    fake.show(host(gpu(0)))
    assert [one.state for one in nvml.read().devices] == ["ok"]  # taken away, not lost


def test_an_older_module_without_some_functions() -> None:
    class Older(FakeNvml):
        def __getattribute__(self, name: str) -> object:
            if name in ("nvmlDeviceGetMigMode", "nvmlMemory_v2", "nvmlDeviceGetProcessUtilization"):
                raise AttributeError(name)
            return super().__getattribute__(name)

    fake = Older()
    fake.show(host(gpu(0)))
    (device,) = Nvml(lambda: fake, nodes=tuple).read().devices
    assert device.utilization_percent == 40.0 and device.memory_used_bytes == 13 << 30
