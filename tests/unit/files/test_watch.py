"""Being woken by changes: states of a folder, threads, lost events, kinds of file systems."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

import pytest

from mswb.files import mounts, watch
from mswb.files.mounts import filesystem_type, is_network, type_in_table
from mswb.files.watch import Waker
from tests.waiting import wait_until

TABLE = r"""
22 27 0:21 / /proc rw,nosuid shared:12 - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 27 0:40 / /home rw shared:2 master:1 - nfs4 filer:/home rw,vers=4.2
31 27 0:41 / /home/user/local\040disk rw - xfs /dev/sdb rw
32 27 0:42 / /data rw - fuse.juicefs JuiceFS:x rw
33 27 0:43 / /win rw - fuseblk /dev/sdc rw
34 27 0:44 / /over rw - ext4 /dev/sdd rw
35 27 0:45 / /over rw - lustre mgs:/fs rw
bad line
""".strip()


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/", "ext4", False),
        ("/etc/hosts", "ext4", False),
        ("/home", "nfs4", True),
        ("/home/user/run", "nfs4", True),
        ("/homes/user", "ext4", False),
        ("/home/user/local disk/x", "xfs", False),
        ("/data/set", "fuse.juicefs", True),
        ("/win/x", "fuseblk", False),
        ("/over/x", "lustre", True),
    ],
)
def test_kind_of_file_system(path: str, kind: str, network: bool) -> None:
    assert type_in_table(TABLE, path) == kind
    assert is_network(kind) is network


def test_kind_of_the_real_one(tmp_path: Path) -> None:
    assert filesystem_type("/proc/self") == "proc"
    assert filesystem_type(tmp_path, mountinfo=str(tmp_path / "missing")) == ""
    assert os.path.exists(mounts.MOUNTINFO)


def test_an_event_names_the_path_and_close_ends_the_threads(tmp_path: Path) -> None:
    before = {thread.name for thread in threading.enumerate()}
    waker = Waker()
    waker.watch(str(tmp_path))
    assert waker.state(str(tmp_path)) == "events"
    assert waker.wait(0.0).folders == {str(tmp_path)}
    path = str(tmp_path / "new.log")
    Path(path).write_bytes(b"x")
    wait_until(lambda: path in waker.wait(1.0).paths)
    waker.close()
    shared = {thread.name for thread in threading.enumerate()} - before
    # Watchdog 7 keeps one reader of its own for the rest of the process; observer and emitters must be gone.
    assert not any("Observer" in name or "Emitter" in name for name in shared)
    assert watch._SHARED._observer is None


def test_wakers_share_one_observer(tmp_path: Path) -> None:
    first, second = Waker(), Waker()
    first.watch(str(tmp_path))
    second.watch(str(tmp_path))
    observer = watch._SHARED._observer
    assert observer is not None
    first.close()
    assert watch._SHARED._observer is observer
    second.wait(0.0)
    path = str(tmp_path / "a")
    Path(path).write_bytes(b"x")
    wait_until(lambda: path in second.wait(1.0).paths)
    second.close()


def test_a_folder_that_appears_later_gets_its_events(tmp_path: Path) -> None:
    folder = str(tmp_path / "later")
    waker = Waker()
    waker.watch(folder)
    assert waker.state(folder) == "missing"
    os.mkdir(folder)
    wait_until(lambda: folder in waker.wait(1.0).folders and waker.state(folder) == "events")
    waker.close()


def test_a_flood_makes_a_folder_busy_and_quiet_gives_its_events_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_BUSY_EVENTS", 0)
    monkeypatch.setattr(watch, "_QUIET_S", 0.05)
    folder = str(tmp_path)
    waker = Waker()
    waker.watch(folder)
    waker.wait(0.0)
    (tmp_path / "a").write_bytes(b"x")
    wait_until(lambda: waker.wait(1.0) and waker.state(folder) == "busy")
    monkeypatch.setattr(watch, "_BUSY_EVENTS", 1000)

    def quiet() -> bool:
        waker.wait(1.0)
        waker.looked(folder, news=False, files=1)
        return waker.state(folder) == "events"

    wait_until(quiet)
    (tmp_path / "b").write_bytes(b"x")
    wait_until(lambda: str(tmp_path / "b") in waker.wait(1.0).paths)
    waker.close()


def test_lost_events_mean_look_at_everything_and_print_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    waker = Waker()
    waker.watch(str(tmp_path))
    waker.wait(0.0)
    logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed; filesystem events were lost")
    assert waker.wait(5.0).folders == {str(tmp_path)}
    waker.close()
    assert capfd.readouterr() == ("", "")


def test_a_network_file_system_is_polled_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "filesystem_type", lambda path: "nfs4")
    waker = Waker()
    waker.watch(str(tmp_path))
    assert waker.state(str(tmp_path)) == "polled"
    assert "nfs4" in waker.notes[0]
    waker.wait(0.0)
    assert waker.wait(5.0).folders == {str(tmp_path)}
    waker.close()
