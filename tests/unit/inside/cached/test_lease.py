"""The lease: one holder, the dead replaced, the unprovable left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mswb.inside.cached import lease
from mswb.inside.cached.lease import LeaseHeld, holder, locks_work, myself, provably_dead, take

HOLD = """
import sys
from mswb.inside.cached.lease import take
held = take(sys.argv[1])
print(held.owner.pid, flush=True)
sys.stdin.read()
"""


def hold_elsewhere(folder: Path) -> subprocess.Popen[bytes]:
    """Another process that has the lease."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert int(process.stdout.readline()) == process.pid
    return process


def write_lease(folder: Path, **changes: Any) -> None:
    (folder / "LOCK").write_text(json.dumps({**myself()._asdict(), **changes}))


def test_one_process_has_it_and_gives_it_back(tmp_path: Path) -> None:
    held = take(str(tmp_path))
    assert held.valid()
    with pytest.raises(LeaseHeld, match=f"process {os.getpid()} on "):
        take(str(tmp_path))
    found = holder(str(tmp_path))
    assert found is not None and found.fresh and found.owner == held.owner
    held.release()
    held.release()
    assert os.listdir(tmp_path) == []
    assert holder(str(tmp_path)) is None
    take(str(tmp_path)).release()


def test_a_killed_holder_is_replaced_and_a_living_one_is_not(tmp_path: Path) -> None:
    process = hold_elsewhere(tmp_path)
    try:
        with pytest.raises(LeaseHeld) as caught:
            take(str(tmp_path))
        assert caught.value.owner is not None and caught.value.owner.pid == process.pid
        process.send_signal(signal.SIGKILL)
        process.wait()
        held = take(str(tmp_path))
        assert held.valid() and os.listdir(tmp_path) == ["LOCK"]
        held.release()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("changes", "remote", "dead"),
    [
        ({}, False, False),
        ({"start_time": 1}, False, True),
        ({"start_time": 1}, True, True),
        ({"host": "other", "start_time": 1}, False, False),
        ({"host": "other", "start_time": 1}, True, False),
        ({"boot_id": "before"}, False, True),
        ({"boot_id": "before"}, True, False),
        ({"space": "pid:[1]", "start_time": 1}, False, False),
    ],
    ids=[
        "alive",
        "gone",
        "gone, on NFS",
        "other host",
        "other host, on NFS",
        "rebooted",
        "host of that name",
        "container",
    ],
)
def test_death_is_proved_or_not(changes: dict[str, Any], remote: bool, dead: bool) -> None:
    assert provably_dead(myself()._replace(**changes), remote) is dead


def test_another_host_is_replaced_only_by_force(tmp_path: Path) -> None:
    write_lease(tmp_path, host="other", start_time=1)
    with pytest.raises(LeaseHeld, match="on other"):
        take(str(tmp_path))
    os.utime(tmp_path / "LOCK", (0, 0))
    with pytest.raises(LeaseHeld) as caught:
        take(str(tmp_path))
    assert not caught.value.fresh
    held = take(str(tmp_path), force=True)
    assert held.valid()
    held.release()


@pytest.mark.parametrize("content", [b"", b"[1]", b"{}", b'{"pid": "x"}', b"\xff\xfe"])
def test_a_lease_that_can_not_be_read_is_held(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "LOCK").write_bytes(content)
    with pytest.raises(LeaseHeld):
        take(str(tmp_path))
    assert os.listdir(tmp_path) == ["LOCK"]


def test_a_forced_lease_is_no_longer_valid_and_stays_with_the_new_holder(tmp_path: Path) -> None:
    first = take(str(tmp_path), locks=False)
    second = take(str(tmp_path), force=True, locks=False)
    assert not first.valid() and second.valid()
    first.release()
    assert second.valid()
    second.release()


def test_without_locks_nobody_is_replaced(tmp_path: Path) -> None:
    write_lease(tmp_path, start_time=1)
    with pytest.raises(LeaseHeld):
        take(str(tmp_path), locks=False)
    take(str(tmp_path)).release()


def test_a_forked_child_does_not_have_it(tmp_path: Path) -> None:
    held = take(str(tmp_path))
    pid = os.fork()
    if pid == 0:
        os._exit(1 if held.valid() else 0)
    assert os.waitpid(pid, 0)[1] == 0
    assert held.valid()
    held.release()


def test_locks_are_tried_by_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_tested", {})
    assert locks_work(str(tmp_path))
    monkeypatch.setattr(lease, "_tested", {})
    monkeypatch.setattr(lease, "child_gets_lock", lambda path: True)
    assert not locks_work(str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_a_file_system_without_links_works_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    held = take(str(tmp_path))
    assert held.valid()
    with pytest.raises(LeaseHeld):
        take(str(tmp_path))
    held.release()
