"""The list that follows the disk: what is new, changed, gone; and what is left alone."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mswb.files.items import Item
from mswb.flows.cache_live import MAX_FOLDERS, Live, follow, relook
from mswb.flows.inventory import scan
from tests.unit.inventories import DATA
from tests.waiting import wait_until

GOOD = DATA / "good.tfrecord"


def never() -> bool:
    return False


def looked(root: Path) -> list[Item]:
    return [item for batch in scan(root, ["cache"]) for item in batch.items]


def names(items: list[Item]) -> list[str]:
    return sorted(os.path.basename(item.path) for item in items)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "data").mkdir(parents=True)
    (root / "logs").mkdir()
    shutil.copy(GOOD, root / "data" / "a.tfrecord")
    return root


@pytest.fixture
def live(project: Path) -> Iterator[Live]:
    made = Live(str(project), looked(project))
    yield made
    made.close()


def seen(live: Live) -> bool:
    """Wait for something and look at it."""
    wait_until(lambda: live.wait(0.05), 20)
    return live.look(never)


def test_a_new_file_is_listed(live: Live, project: Path) -> None:
    shutil.copy(GOOD, project / "data" / "b.tfrecord")
    wait_until(lambda: seen(live) or "b.tfrecord" in names(live.items), 20)
    assert names(live.items) == ["a.tfrecord", "b.tfrecord"]


def test_a_file_that_went_is_not(live: Live, project: Path) -> None:
    os.unlink(project / "data" / "a.tfrecord")
    assert seen(live) and live.items == []


def test_a_new_folder_is_looked_through_and_watched(live: Live, project: Path) -> None:
    (project / "data" / "later" / "deep").mkdir(parents=True)
    shutil.copy(GOOD, project / "data" / "later" / "deep" / "c.tfrecord")
    wait_until(lambda: seen(live) or len(live.items) == 2, 20)
    assert names(live.items) == ["a.tfrecord", "c.tfrecord"]
    shutil.copy(GOOD, project / "data" / "later" / "deep" / "d.tfrecord")
    wait_until(lambda: seen(live) or len(live.items) == 3, 20)


def test_a_file_that_grows_has_its_new_size(live: Live, project: Path) -> None:
    with (project / "data" / "a.tfrecord").open("ab") as file:
        file.write(GOOD.read_bytes())
    assert seen(live)
    assert live.items[0].size_bytes == 2 * GOOD.stat().st_size


def test_what_is_not_listed_changes_nothing(live: Live, project: Path) -> None:
    (project / "logs" / "worker_0.log").write_text("step 1\n")
    assert not seen(live) and names(live.items) == ["a.tfrecord"]


def test_many_folders_are_not_all_watched(tmp_path: Path) -> None:
    for number in range(MAX_FOLDERS + 20):
        (tmp_path / f"f{number}").mkdir()
    live = Live(str(tmp_path), [])
    assert len(live.watched) == MAX_FOLDERS and live.watched[0] == str(tmp_path)
    live.close()


def test_links_are_not_followed(tmp_path: Path, project: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", project / "link")
    live = Live(str(project), looked(project))
    assert not any(folder.endswith("link") for folder in live.watched)
    live.close()


def test_a_folder_that_is_one_entry_stays_when_its_neighbours_change(project: Path) -> None:
    kernels = project / "kernel_meta"
    kernels.mkdir()
    (kernels / "add.o").write_bytes(b"x")
    items = looked(project)
    assert names(relook(items, [str(project)], [], never)) == ["a.tfrecord", "kernel_meta"]
    (kernels / "mul.o").write_bytes(b"xy")
    again = relook(items, [str(kernels)], [], never)
    assert next(item.size_bytes for item in again if item.path == str(kernels)) == 3
    shutil.rmtree(kernels)
    assert names(relook(items, [str(project)], [], never)) == ["a.tfrecord"]


def test_follow_gives_each_list_and_ends(project: Path) -> None:
    since, ended = time.time(), list[bool]()
    lists = follow(str(project), looked(project), lambda seconds: bool(ended), since)
    shutil.copy(GOOD, project / "data" / "b.tfrecord")
    for listed in lists:
        if "b.tfrecord" in names(listed):
            break
    else:
        raise AssertionError("the new file was never listed")
    ended.append(True)
    assert list(lists) == []


def test_a_segment_of_shared_memory_has_no_path(project: Path) -> None:
    segment = Item("shared-memory", "shm:17", 4, 4, 0.0, "")
    assert segment in relook([segment], [str(project)], [], never)
