"""What is known of a cache's age without MindSpore."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mswb.cache.entries import Entry
from mswb.cache.staleness import current, look
from mswb.inside.cached.files import list_files, render


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache folder made from two files; it is looked at before anything has changed."""
    data = tmp_path / "data"
    data.mkdir()
    for name in ("1.jpg", "2.jpg"):
        (data / name).write_text(name)
    folder = tmp_path / "root/train/0123456789abcdef"
    folder.mkdir(parents=True)
    (folder / "source.list").write_bytes(render(list_files([str(data)])))
    assert look(str(folder)) is None
    return folder


def test_files_that_were_added_removed_and_changed_are_named(cache: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "1.jpg").unlink()
    (data / "2.jpg").write_text("other")
    (data / "3\x1b[31m.jpg").write_text("new")
    found = look(str(cache))
    assert found is not None and found.status == "stale-source"
    assert found.reason == "+1 -1 ~1 (2.jpg, 1.jpg, 3\\x1b[31m.jpg)"
    assert (found.removed, found.changed) == ((str(data / "1.jpg"),), (str(data / "2.jpg"),))
    entry = current(Entry(str(cache), "file-cache"))
    assert (entry.status, entry.detail) == ("stale-source", found.reason)


def test_a_large_source_is_left_to_verify(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "data/1.jpg").unlink()
    assert look(str(cache), most_files=1) is None


@pytest.mark.parametrize(
    ("stats", "status"),
    [
        ('{"notes": {"stale-code": "resize changed"}}', "stale-code"),
        ('{"notes": {"lock-unsafe": "nfs"}}', None),
        ('{"notes": ["stale-code"]}', None),
        ("[]", None),
        ("[" * 100_000, None),
    ],
)
def test_notes_of_a_training_count(cache: Path, stats: str, status: str | None) -> None:
    (cache / "stats.json").write_text(stats)
    found = look(str(cache))
    assert (found.status if found else None) == status


def test_what_has_a_verdict_keeps_it(cache: Path) -> None:
    (cache / "stats.json").write_text(json.dumps({"notes": {"stale-code": "resize changed"}}))
    for entry in (Entry(str(cache), "file-cache", status="corrupted"), Entry(str(cache), "tfrecord")):
        assert current(entry) is entry
    assert current(Entry(str(cache), "file-cache", status="ok")).status == "stale-code"
