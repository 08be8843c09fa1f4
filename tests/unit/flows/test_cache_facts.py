"""What is told of entries beside a glance: file caches read as a list reads them, leftovers that are alike."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mswb.cache.entries import Entry
from mswb.cache.holders import Snapshot
from mswb.files.items import Item
from mswb.flows import cache_facts
from mswb.flows.cache_facts import beside, gathered, stores, to_item
from mswb.flows.cache_live import relook
from mswb.flows.inventory import scan
from tests.unit.inside.store.common import make


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(cache_facts, "snapshot", lambda cancelled: Snapshot())


def listed(root: Path) -> list[Item]:
    return [item for batch in scan(root, ["cache"]) for item in batch.items]


def loose(folder: Path, name: str, status: str = "orphan", size: int = 32) -> Entry:
    path = folder / name
    path.write_bytes(bytes(size))
    return Entry(str(path), "shared-memory", status=status, size_bytes=size, disk_bytes=4096, modified=5.0, detail="d")


def test_alike_leftovers_are_one_entry_with_all_their_files(tmp_path: Path) -> None:
    other = Entry("/x/spill", "cache-spill", status="orphan", size_bytes=7)
    names = [f"sem.mp-{number}" for number in range(30)]
    entries = [loose(tmp_path, name) for name in names]
    used, buffer = loose(tmp_path, "sem.mp-used", "ok"), loose(tmp_path, "psm_1")
    group, *rest = gathered([*entries, used, buffer, other])
    assert rest == [used, buffer, other]
    assert (group.name, group.status, group.size_bytes) == ("sem.mp-* (30)", "orphan", 30 * 32)
    assert [os.path.basename(path) for path in group.files] == names
    assert to_item(group).files == 30


def test_a_leftover_stays_listed_while_its_folder_changes(tmp_path: Path) -> None:
    item = to_item(loose(tmp_path, "sem.mp-1"))
    assert relook([item], [str(tmp_path)], [], lambda: False) == [item]
    os.unlink(item.path)
    assert relook([item], [str(tmp_path)], [], lambda: False) == []


def damage(folder: Path) -> None:
    shard = next(folder.glob("*.shard"))
    raw = bytearray(shard.read_bytes())
    raw[4096 + 70] ^= 1
    shard.write_bytes(raw)


def test_damaged_file_caches_are_told_at_once_and_read_again_only_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(make(tmp_path / "store"))
    damage(folder)
    (item,) = listed(tmp_path / "store")
    told = beside([item], ())
    assert told[item.path].status == "corrupted" and told[item.path].findings and told[item.path].name == "images"
    read: list[str] = []

    def noted(entries: list[Entry]) -> list[Entry]:
        read.extend(entry.path for entry in entries)
        return entries

    monkeypatch.setattr(cache_facts, "verified_small", noted)
    assert stores([item], told) == told and not read
    (folder / "stats.json").write_text("{}")
    (item,) = listed(tmp_path / "store")
    stores([item], told)
    assert read == [item.path]
