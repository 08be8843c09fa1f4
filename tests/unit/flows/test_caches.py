"""Places outside the project, totals by place, and what is told of shared memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from mswb.cache import shm
from mswb.cache.entries import Entry
from mswb.cache.holders import Holder, Snapshot
from mswb.cache.server import leftovers
from mswb.flows import cache_clean, caches
from mswb.flows.caches import Total, everywhere, totals, usual_paths
from mswb.signals import ProcessId


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    monkeypatch.setattr(leftovers, "leftovers", lambda: [])
    monkeypatch.setattr(shm, "leftovers", lambda seen: [])
    monkeypatch.setattr(cache_clean, "snapshot", lambda cancelled: Snapshot())
    environ = {
        "HOME": str(tmp_path),
        "MSWB_STATE_DIR": str(tmp_path / "state"),
        "MSWB_CONFIG": str(tmp_path / "config.toml"),
        "MSWB_PYTHON": str(tmp_path / "env" / "bin" / "python"),
        "MSWB_CACHE_ROOT": "",
        "MSWB_LANG": "en",
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return environ


def put(path: Path, size: int = 100) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def outside(tmp_path: Path) -> dict[str, str]:
    """Kinds by path of a home folder in which every framework has left something."""
    put(tmp_path / ".mindspore" / "resnet50.ckpt", 700)
    put(tmp_path / ".mindspore" / "cache" / "one" / "file", 5000)
    put(tmp_path / "atc_data" / "kernel_cache" / "op.o")
    put(tmp_path / "atc_data" / "aoe_data" / "best")
    package = tmp_path / "env" / "lib" / "python3.11" / "site-packages" / "mindspore" / "cache"
    put(package / "left")
    return {
        str(tmp_path / ".mindspore"): "download",
        str(tmp_path / "atc_data" / "kernel_cache"): "kernel-cache",
        str(tmp_path / "atc_data" / "aoe_data"): "tuning-base",
        str(package): "package-cache",
    }


def in_home(entries: list[Entry], tmp_path: Path) -> dict[str, Entry]:
    return {entry.path: entry for entry in entries if entry.path.startswith(str(tmp_path))}


def test_places_outside_without_the_cache_root(tmp_path: Path, environ: Mapping[str, str]) -> None:
    expected = outside(tmp_path)
    found = in_home(everywhere(environ, Snapshot())[0], tmp_path)
    assert {path: entry.form for path, entry in found.items()} == expected
    assert found[str(tmp_path / ".mindspore")].size_bytes == 700
    (tmp_path / ".mindspore" / "resnet50.ckpt").unlink()
    assert str(tmp_path / ".mindspore") not in in_home(everywhere(environ, Snapshot())[0], tmp_path)


def test_a_clean_of_the_system_takes_what_is_made_again(tmp_path: Path, environ: Mapping[str, str]) -> None:
    kinds = outside(tmp_path)
    ready = cache_clean.prepare(cache_clean.Selection(system=True), environ)
    taken = {action.target for action in ready.plan.actions if action.target.startswith(str(tmp_path))}
    assert taken == {path for path, kind in kinds.items() if kind in ("kernel-cache", "package-cache")}
    assert any("left alone unless --path names it" in warning for warning in ready.plan.warnings)


def test_totals_by_place(tmp_path: Path) -> None:
    root, project = tmp_path / "root", tmp_path / "project"
    entries = [
        Entry(str(root / "a" / "1"), "file-cache", size_bytes=10, disk_bytes=12),
        Entry(str(root / "b" / "1"), "file-cache", size_bytes=1, disk_bytes=2),
        Entry(str(project / "x.tfrecord"), "tfrecord", size_bytes=5, disk_bytes=6),
        Entry(str(tmp_path / "project2" / "y"), "kernel-cache", size_bytes=7, disk_bytes=7),
        Entry("shm:7", "shared-memory", size_bytes=4, disk_bytes=0),
    ]
    assert totals(entries, {"MSWB_CACHE_ROOT": str(root)}, [str(project)]) == [
        Total("root", "file-cache", 2, 11, 14),
        Total("system", "kernel-cache", 1, 7, 7),
        Total("folder", "tfrecord", 1, 5, 6),
        Total("server", "shared-memory", 1, 4, 0),
    ]


def test_where_a_list_looks(tmp_path: Path) -> None:
    assert usual_paths({"MSWB_CACHE_ROOT": str(tmp_path / "none")}, ".") == ["."]
    assert usual_paths({"MSWB_CACHE_ROOT": str(tmp_path)}, ".") == [str(tmp_path), "."]
    assert caches.cache_root({"HOME": "/h"}) == "/h/.mindspore/cache"


def test_shared_memory_that_nobody_has_open_and_that_rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("psm_old", "psm_young", "sem.mp-held", "other"):
        put(tmp_path / name)
    for name in ("psm_old", "sem.mp-held"):
        os.utime(tmp_path / name, (0, 1e9))
    moment = os.stat(tmp_path / "psm_young").st_mtime + 1
    user = Holder(ProcessId(7, 1), "python", "mapped", str(tmp_path / "sem.mp-held"))
    found = shm.leftovers(Snapshot((user,), 0, [user.path]), str(tmp_path), moment)
    assert {os.path.basename(entry.path): entry.status for entry in found} == {
        "psm_old": "orphan",
        "psm_young": "ok",
        "sem.mp-held": "ok",
    }
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    found = shm.leftovers(Snapshot((user,), 0, [user.path]), str(tmp_path), moment)
    assert {entry.status for entry in found} == {"foreign", "ok"}


def test_a_file_that_is_named_through_links(tmp_path: Path, environ: Mapping[str, str]) -> None:
    real = tmp_path / "real" / "a.tfrecord"
    real.parent.mkdir()
    shutil.copy(Path(__file__).parents[2] / "fixtures" / "inventory" / "data" / "good.tfrecord", real)
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "b.tfrecord").symlink_to(real)
    for path in (tmp_path / "folder" / "a.tfrecord", tmp_path / "b.tfrecord"):
        (entry,), _ = caches.collect([str(path)])
        assert (entry.path, entry.form) == (str(real), "tfrecord")
    by_link = cache_clean.prepare(cache_clean.Selection(path=str(tmp_path / "b.tfrecord")), environ)
    assert by_link.plan.actions == ()
    by_folder = cache_clean.prepare(cache_clean.Selection(path=str(tmp_path / "folder" / "a.tfrecord")), environ)
    assert [action.target for action in by_folder.plan.actions] == [str(real)]
