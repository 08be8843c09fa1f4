"""The rings of the last samples."""

from __future__ import annotations

from mswb.env.devices.history import HOST, History
from mswb.env.devices.sample import DeviceCounters, HostCounters, Sample


def sample(share: float | None = None, cpu: float | None = None, *, present: bool = True) -> Sample:
    device = DeviceCounters("k", "gpu", "GPU0", utilization_percent=share)
    return Sample(0.0, HostCounters(cpu_percent=cpu), (device,) if present else ())


def test_it_keeps_the_newest_and_their_gaps() -> None:
    history = History(size=3)
    for share in (1.0, None, 3.0, 4.0):
        history.add(sample(share))
    assert history.values("k", "utilization_percent") == (None, 3.0, 4.0)
    assert history.values("k", "utilization_percent", 2) == (3.0, 4.0)
    assert history.values("k", "utilization_percent", 9) == (None, 3.0, 4.0)
    assert history.values("other", "utilization_percent") == ()


def test_a_device_that_goes_fades_out() -> None:
    history = History(size=3)
    history.add(sample(5.0, 50.0))
    history.add(sample(None, 60.0, present=False))
    assert history.values("k", "utilization_percent") == (5.0, None)
    history.add(sample(None, 70.0, present=False))
    history.add(sample(None, 80.0, present=False))
    assert history.values("k", "utilization_percent") == ()
    assert history.values(HOST, "cpu_used_percent") == (60.0, 70.0, 80.0)
