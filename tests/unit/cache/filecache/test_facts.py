"""Finding caches, what a list says of them, and all that is known of one."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from mswb.cache import filecache
from mswb.cache.check import Options, Watch
from mswb.cache.entries import from_item
from mswb.cache.filecache.facts import summary
from mswb.cache.filecache.folders import full_words, fullness, sniff_folder
from mswb.cli.app import run
from mswb.flows.caches import at_file, collect
from mswb.inside.cached import lease
from mswb.inside.store.manifest import read_manifest, write_manifest
from tests.unit.inside.store.common import KEY, make

TIMES = {"mean": 12.5, "p50": 11.0, "p95": 20.0, "p99": 30.0, "max": 31.0, "count": 90}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))


def test_caches_are_found_among_foreign_folders(tmp_path: Path) -> None:
    folder = make(tmp_path, 5)
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "manifest.json").write_text("{}")
    (tmp_path / "link").symlink_to(folder)
    assert [entry.path for entry in collect([str(tmp_path)])[0]] == [folder]
    assert sniff_folder(str(tmp_path / "downloads"), ["manifest.json"]) is None


def test_one_entry_a_cache(tmp_path: Path) -> None:
    folder = make(tmp_path, 20)
    Path(folder, "stats.json").write_text(json.dumps({"hits": 90, "misses": 10, "load_ms": TIMES, "last_used": 5.0}))
    (entry,), notes = collect([str(tmp_path)])
    assert not notes
    assert (entry.path, entry.form, entry.name, entry.status, entry.records) == (
        folder,
        "file-cache",
        "images",
        "unverified",
        20,
    )
    assert entry.more["avg_load_time_ms"] == 12.5 and entry.more["hit_rate"] == 0.9
    assert entry.more["key"] == KEY and entry.more["num_samples"] == 20
    assert at_file(f"{folder}/0001.shard").path == folder


@pytest.mark.parametrize(
    ("seal", "held", "status"), [(True, False, ""), (False, False, "interrupted"), (False, True, "building")]
)
def test_the_status_by_a_glance(tmp_path: Path, seal: bool, held: bool, status: str) -> None:
    folder = make(tmp_path, 5, seal=seal)
    taken = lease.take(folder) if held else None
    guess = sniff_folder(folder, os.listdir(folder))
    assert guess is not None and guess.status == status
    if taken:
        taken.release()


def test_a_cache_without_samples_is_empty(tmp_path: Path) -> None:
    folder = make(tmp_path, 0)
    guess = sniff_folder(folder, os.listdir(folder))
    assert guess is not None and guess.status == "empty"
    found = filecache.check(folder, Options(), Watch())
    assert (found.status, found.records) == ("empty", 0)
    assert filecache.info(folder)["num_samples"] == 0


def test_all_that_is_known_of_one(tmp_path: Path) -> None:
    folder = make(tmp_path, 20)
    facts = filecache.info(folder)
    assert (facts["name"], facts["key"], facts["num_samples"], facts["source_samples"]) == ("images", KEY, 20, 20)
    assert facts["schema"] == ["x: <f4 [3, 5]", "y: <i8 []"]
    assert facts["hits"] is None and facts["load_ms"] is None and facts["verified"] is None
    sample = facts["sample_ms"]
    assert sample["count"] == 200 and 0 < sample["p50"] <= sample["p95"] <= sample["p99"] <= sample["max"]
    assert facts["avg_load_time_ms"] == sample["mean"] and facts["cold_read_ms"] > 0
    assert facts["file_system"]["type"] and facts["file_system"]["read_with"] in ("mmap", "pread")
    assert (facts["shards"], facts["unfinished_shards"]) == (3, 0)
    json.dumps(facts)


def test_what_training_counted_comes_first(tmp_path: Path) -> None:
    folder = make(tmp_path, 20)
    stats = {
        "hits": 90,
        "misses": 10,
        "load_ms": TIMES,
        "source_ms": {"mean": 180.0, "count": 10},
        "readers": [{"pid": 7}],
    }
    Path(folder, "stats.json").write_text(json.dumps(stats))
    facts = filecache.info(folder)
    assert facts["avg_load_time_ms"] == 12.5 and facts["load_ms"] == TIMES
    assert (facts["hits"], facts["misses"], facts["source_ms"]["mean"]) == (90, 10, 180.0)
    assert facts["readers"] == [{"pid": 7}]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"hits": "many", "load_ms": 3, "readers": 5, "last_used": []}', "{" * 9000]
)
def test_counts_that_are_damaged_are_unknown(tmp_path: Path, content: str) -> None:
    folder = make(tmp_path, 5)
    Path(folder, "stats.json").write_text(content)
    facts = filecache.info(folder)
    assert facts["hits"] is None and facts["load_ms"] is None and facts["num_samples"] == 5


def test_the_last_verification_is_remembered_until_the_cache_changes(tmp_path: Path) -> None:
    folder = make(tmp_path, 20)
    filecache.remember(folder, filecache.check(folder, Options(), Watch()))
    known = filecache.info(folder)["verified"]
    assert (known["status"], known["records"], known["intact_records"], known["changed_since"]) == ("ok", 20, 20, False)
    Path(folder, "stats.json").write_text("{}")
    os.utime(f"{folder}/stats.json", (4e9, 4e9))
    assert filecache.info(folder)["verified"]["changed_since"]


def test_damaged_samples_are_counted_and_a_damaged_shard_is_named(tmp_path: Path) -> None:
    folder = make(tmp_path, 1)
    shard = Path(folder, "0000.shard")
    raw = bytearray(shard.read_bytes())
    shard.chmod(0o600)
    raw[4096 + 70] ^= 1
    shard.write_bytes(raw)
    facts = filecache.info(folder)
    assert facts["damaged_in_sample"] == 200 and facts["sample_ms"] is None
    shard.write_bytes(raw[:100])
    assert "0000.shard at byte 100" in filecache.info(folder)["unreadable"]


def test_percentiles() -> None:
    assert summary([]) is None
    found = summary([float(number) for number in range(100, 0, -1)])
    assert found == {"mean": 50.5, "p50": 51.0, "p95": 96.0, "p99": 100.0, "max": 100.0, "count": 100}


def test_entries_of_other_kinds_have_no_name(tmp_path: Path) -> None:
    from mswb.files.items import Item

    assert from_item(Item("tfrecord", str(tmp_path / "x"), 1, 1, 0.0, "")).name is None


def test_a_full_cache_says_so_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make(tmp_path, 20)
    manifest = read_manifest(folder)
    full = {"source": {"full_at": 4 << 20}, "key_parts": {"count": 300}, "num_samples": None}
    write_manifest(folder, replace(manifest, **full))
    words = "full at its limit of 4 MiB: 20 of 300 samples of its source"
    (entry,), _ = collect([str(tmp_path)])
    assert entry.detail.endswith(words) and entry.more["full_at_bytes"] == 4 << 20
    found = filecache.check(folder, Options(), Watch())
    assert found.status == "ok" and found.detail.endswith(words) and found.more["source_samples"] == 300
    facts = filecache.info(folder)
    assert (facts["source_samples"], facts["full_at_bytes"]) == (300, 4 << 20)
    assert run(["cache", "list", "--path", str(tmp_path)]) == 0
    assert "full at 4.0 MiB: 20 of 300 in its source" in capsys.readouterr().out


@pytest.mark.parametrize("source", [None, [], {"full_at": None}, {"full_at": True}, {"full_at": "4"}])
def test_one_that_is_not_full_says_nothing(source: object) -> None:
    assert fullness(source, {"count": 3}) == {} and full_words(3, fullness(source, None)) == ""
    assert full_words(None, fullness({"full_at": 1 << 20}, [])) == "full at its limit of 1 MiB"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"misses": -5}, "misses is -5"),
        ({"hits": "many"}, "hits is 'many'"),
        ({"last_used": float("nan")}, "last_used is nan"),
        ({"load_ms": {"mean": -1.0, "count": 3}}, "mean of load_ms is -1.0"),
        ({"load_ms": "fast"}, "load_ms is 'fast'"),
        ({"hits": True}, "hits is True"),
        ({"loads": 1 << 70}, "loads is"),
    ],
)
def test_nonsense_in_the_counts_is_ignored_with_a_note(tmp_path: Path, wrong: dict[str, object], words: str) -> None:
    folder = make(tmp_path, 5)
    sane = {"hits": 90, "misses": 10, "load_ms": TIMES, "last_used": 5.0}
    Path(folder, "stats.json").write_text(json.dumps({**sane, **wrong}))
    (entry,), _ = collect([str(tmp_path)])
    assert words in entry.detail and "stats.json is ignored" in entry.detail
    assert entry.more["avg_load_time_ms"] is entry.more["hit_rate"] is entry.more["last_used"] is None
    facts = filecache.info(folder)
    assert words in facts["stats_problem"]
    assert facts["hits"] is facts["misses"] is facts["load_ms"] is None
