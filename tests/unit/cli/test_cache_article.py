"""The cache commands of the article, as they are written there with ``mswb`` in front, on real file caches."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from mswb.cli import plans
from mswb.cli.app import run
from mswb.findings import choose_language
from mswb.inside.store import Column, Manifest, StoreWriter, write_manifest

SCHEMA = json.loads((Path(__file__).parents[2] / "fixtures" / "report.schema.json").read_text(encoding="utf-8"))
COLUMNS = (Column("image", "|u1", (1000,)), Column("label", "<i8", ()))
MIB = 1 << 20

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The article's project folder, the current one; the file-cache root lies outside it."""
    for name in ("MSWB_CONFIG", "MSWB_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MSWB_CACHE_ROOT", raising=False)
    monkeypatch.setenv("MSWB_LANG", "en")
    monkeypatch.setenv("COLUMNS", "400")
    folder = tmp_path / "home" / "user" / "project"
    (folder / "dataset" / "train").mkdir(parents=True)
    (folder / "dataset" / "train" / "img_001.jpg").write_bytes(b"\xff\xd8 no cache")
    monkeypatch.chdir(folder)
    yield folder
    choose_language("")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".mindspore" / "cache"


def make(root: Path, name: str, samples: int = 8) -> Path:
    key = f"{abs(hash(name)):016x}"[:16] * 4
    folder = root / name / key[:16]
    folder.mkdir(parents=True)
    with StoreWriter(str(folder), COLUMNS, key) as writer:
        for number in range(samples):
            writer.append(number, [np.full(1000, number, "u1"), np.array(number)])
        writer.seal()
    write_manifest(str(folder), Manifest(name, key, schema=COLUMNS, num_samples=samples, created=1.7e9))
    return folder


def damage(folder: Path) -> None:
    shard = folder / "0000.shard"
    shard.chmod(0o644)
    content = bytearray(shard.read_bytes())
    content[-100] ^= 1
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)


def report(capsys: Output) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return found


def assert_narrow(shown: str, width: int) -> None:
    """No line is wider, but for one that holds nothing but a path, which is not cut."""
    assert [line for line in shown.splitlines() if len(line) > width and " " in line.strip()] == []


def test_list_shows_corrupted_and_the_size_in_bytes(root: Path, capsys: Output) -> None:
    damage(make(root, "imagenet_train"))
    make(root, "val")
    assert run(["mscache", "list"]) == 1
    shown = capsys.readouterr().out
    size = sum(path.stat().st_size for path in (root / "imagenet_train").rglob("*") if path.is_file())
    block = shown.split("\n/")[0]
    assert "status: corrupted" in block and f"size: {size} (" in block
    assert run(["cache", "list", "--format", "json"]) == 1
    found = report(capsys)
    assert found["schema"] == "mswb.cache/1"
    rows = [(row["name"], row["kind"], row["status"], row["size_bytes"]) for row in found["entries"]]
    assert rows == [("imagenet_train", "file-cache", "corrupted", size), ("val", "file-cache", "ok", rows[1][3])]
    (total,) = found["totals"]
    assert (total["place"], total["kind"], total["count"], total["bytes"]) == (
        "root",
        "file-cache",
        2,
        size + rows[1][3],
    )


def test_list_by_name_size_and_place(root: Path, project: Path, capsys: Output) -> None:
    make(root, "small")
    make(project / "cache", "large", 1100)
    names = []
    for more in (["--dataset", "small"], ["--dataset", "smal"], ["--size", "1"], ["--path", "cache"], []):
        assert run(["cache", "list", "--format", "json", *more]) == 0
        names.append(sorted(row["name"] for row in report(capsys)["entries"]))
    assert names == [["small"], [], ["large"], ["large"], ["large", "small"]]


def test_clean_path_takes_the_caches_there_and_no_data(root: Path, project: Path, capsys: Output) -> None:
    kept, gone = make(root, "other_project"), make(project / "cache", "imagenet_train")
    (project / "cache" / "graph.tfrecord").write_bytes(b"")
    assert run(["cache", "clean", "--path", str(project / "cache"), "--force"]) == 0
    shown = capsys.readouterr().out
    assert f"to the trash  {gone}" in shown and "left alone unless --path names it: 1 data files" in shown
    assert kept.exists() and not gone.exists() and (project / "cache" / "graph.tfrecord").exists()
    assert (project / "cache" / ".mswb-trash").is_dir() and (project / "dataset" / "train" / "img_001.jpg").exists()


@pytest.mark.parametrize("amount", ["nan", "inf", "-inf", "-1", "1e999", "NaN"])
@pytest.mark.parametrize("command", ["clean --force --size", "list --size", "trash empty --force --older-than"])
def test_an_amount_that_is_none_is_refused(root: Path, capsys: Output, command: str, amount: str) -> None:
    folder = make(root, "imagenet_train")
    assert run(["cache", *command.split(), amount]) == 2
    assert folder.is_dir() and amount in capsys.readouterr().err


@pytest.mark.parametrize("command", ["trash", "trash list", "trash list --format json", "clean"])
def test_what_a_killed_clean_left_in_the_trash_is_swept(root: Path, command: str) -> None:
    left = root / ".mswb-trash" / "20261130T213700-abcdef"
    left.mkdir(parents=True)
    (root / ".mswb-trash").chmod(0o700)
    (left / "item.json").write_text("{}")
    os.utime(left, (1, 1))
    assert run(["cache", *command.split()]) == 0
    assert not (root / ".mswb-trash").exists()


def test_clean_dataset_takes_exactly_this_name(root: Path, project: Path) -> None:
    a, b, c = make(root, "model_a_train"), make(root, "model_b_train"), make(root, "model_a_train2")
    far = make(project / "cache", "model_a_train")
    assert run(["cache", "clean", "--dataset", "model_a_train", "--force"]) == 0
    assert [path.exists() for path in (a, b, c, far)] == [False, True, True, True]
    assert run(["cache", "clean", "--path", str(project / "cache"), "--dataset", "model_b_train", "--force"]) == 0
    assert far.exists() and b.exists()
    assert run(["cache", "clean", "--path", str(project / "cache"), "--dataset", "model_a_train", "--force"]) == 0
    assert not far.exists()


def test_clean_without_selection_takes_what_is_broken(root: Path, project: Path, capsys: Output) -> None:
    good, bad, far = make(root, "good"), make(root, "bad"), make(project / "cache", "far")
    damage(bad)
    damage(far)
    assert run(["mscache", "clean", "--force", "--format", "json"]) == 0
    plan = report(capsys)
    (action,) = plan["actions"]
    assert plan["schema"] == "mswb.plan/1" and plan["applied"] and action["done"]
    assert (action["kind"], action["target"]) == ("trash", str(bad))
    assert good.exists() and far.exists() and not bad.exists()
    assert run(["cache", "clean", "--force"]) == 0
    assert "is broken or stale" in capsys.readouterr().out


def test_clean_all_takes_the_root_and_undo_brings_it_back(root: Path, project: Path, capsys: Output) -> None:
    first, second, far = make(root, "one"), make(root, "two"), make(project / "cache", "far")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    (root / "foreign.txt").write_text("somebody's")
    assert run(["cache", "clean", "--all", "--force"]) == 0
    assert not first.exists() and not second.exists() and far.exists() and (root / "foreign.txt").exists()
    assert run(["cache", "trash"]) == 0
    assert "mswb cache clean --all" in capsys.readouterr().out
    assert run(["cache", "undo", "--force"]) == 0
    assert {path: path.read_bytes() for path in root.rglob("*") if path in before} == before
    assert "done: 2 of 2" in capsys.readouterr().out


@pytest.mark.parametrize(("mib", "is_taken"), [("0.9", True), ("1", False), ("1024", False)])
def test_size_is_in_mib_and_strictly_larger(root: Path, mib: str, is_taken: bool) -> None:
    folder = make(root, "padded")
    held = sum(path.stat().st_size for path in folder.iterdir())
    with open(folder / "0001.shard.part", "wb") as file:
        file.truncate(MIB - held)
    assert run(["cache", "clean", "--size", mib, "--force"]) == 0
    assert folder.exists() is not is_taken


def test_nothing_changes_without_consent(root: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(root, "one")
    freed = sum(path.stat().st_blocks * 512 for path in folder.iterdir())
    assert run(["cache", "clean", "--all"]) == 0
    shown = capsys.readouterr()
    assert f"1 action, {freed} bytes (" in shown.out and "nothing was changed" in shown.err
    assert run(["cache", "clean", "--all", "--dry-run", "--force", "--format", "json"]) == 0
    plan = report(capsys)
    assert (plan["bytes"], plan["applied"]) == (freed, False)
    assert folder.exists()
    answers = iter([False, True])
    monkeypatch.setattr(plans, "agreed", lambda: next(answers))
    assert run(["cache", "clean", "--all"]) == 0 and folder.exists()
    assert run(["cache", "clean", "--all"]) == 0 and not folder.exists()


def test_a_data_file_goes_only_by_its_very_path(project: Path, capsys: Output) -> None:
    data = Path(__file__).parents[2] / "fixtures" / "inventory" / "data" / "good.tfrecord"
    (project / "a.tfrecord").write_bytes(data.read_bytes())
    assert run(["cache", "clean", "--path", ".", "--force"]) == 0
    assert (project / "a.tfrecord").exists()
    assert run(["cache", "clean", "--path", "a.tfrecord", "--force"]) == 0
    assert not (project / "a.tfrecord").exists()
    assert run(["cache", "undo", "--force"]) == 0
    assert (project / "a.tfrecord").read_bytes() == data.read_bytes()


def test_undo_overwrites_nothing_and_says_so(root: Path, capsys: Output) -> None:
    folder = make(root, "one")
    assert run(["cache", "clean", "--all", "--force"]) == 0
    make(root, "one", 3)
    assert run(["cache", "undo", "--force"]) == 2
    assert f"not taken back: {folder} has changed since" in capsys.readouterr().err
    assert run(["cache", "undo", "no-such-id"]) == 2
    assert "nothing in the trash has the id no-such-id" in capsys.readouterr().err


def test_the_trash_is_listed_and_emptied(root: Path, capsys: Output) -> None:
    folder = make(root, "one")
    assert run(["cache", "clean", "--all", "--force"]) == 0
    assert run(["cache", "trash", "list", "--format", "json"]) == 0
    (item,) = json.loads(capsys.readouterr().out.splitlines()[-1])["items"]
    assert item["path"] == str(folder) and item["disk_bytes"] > 0
    assert run(["cache", "list"]) == 0
    assert f"in the trash: 1, {item['disk_bytes']} bytes (" in capsys.readouterr().out
    assert run(["cache", "trash", "empty", "--older-than", "1", "--force"]) == 0
    assert (root / ".mswb-trash").exists()
    assert run(["cache", "trash", "empty", item["id"], "--force"]) == 0
    assert not (root / ".mswb-trash").exists()
    assert run(["cache", "undo"]) == 0
    assert "nothing to bring back" in capsys.readouterr().out


def test_purge_frees_at_once(root: Path, capsys: Output) -> None:
    folder = make(root, "one")
    assert run(["cache", "clean", "--all", "--purge", "--force"]) == 0
    assert not folder.exists() and not (root / ".mswb-trash").exists()
    assert "freed when" not in capsys.readouterr().out


def test_after_a_week_a_clean_empties_the_trash(root: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(root, "one")
    assert run(["cache", "clean", "--all", "--force"]) == 0
    (record,) = root.glob(".mswb-trash/*/item.json")
    content = json.loads(record.read_text())
    record.write_text(json.dumps({**content, "moved": content["moved"] - 8 * 86400}))
    capsys.readouterr()
    assert run(["cache", "clean", "--force"]) == 0
    assert f"delete from the trash  {record.parent}" in capsys.readouterr().out
    assert not (root / ".mswb-trash").exists() and not folder.exists()


def test_a_cache_in_use_stays_and_its_user_is_named(root: Path, capsys: Output) -> None:
    folder = make(root, "one")
    with open(folder / "0000.shard", "rb") as shard:
        user = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stderr=shard)
    try:
        assert run(["cache", "clean", "--all", "--force"]) == 0
    finally:
        user.communicate()
    assert f"left alone, in use: {folder}: process {user.pid} (cat): has it open" in capsys.readouterr().out
    assert folder.exists()
    assert run(["cache", "clean", "--all", "--force"]) == 0 and not folder.exists()


def test_chinese(root: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSWB_LANG", "zh")
    damage(make(root, "one"))
    assert run(["cache", "list"]) == 1
    shown = capsys.readouterr().out
    assert "status: corrupted" in shown and "缓存根目录" in shown
    assert run(["cache", "clean", "--force"]) == 0
    assert "移入回收区" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["list --system", "info", "clean --all", "clean --all --force", "trash", "undo"])
def test_no_line_is_wider_than_the_terminal(
    root: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    make(root, "a_name_that_is_as_long_as_a_line_of_this_narrow_terminal_can_hold")
    if command in ("trash", "undo"):
        assert run(["cache", "clean", "--all", "--force"]) == 0
    run(["cache", *command.split()])
    assert_narrow(capsys.readouterr().out, 60)


def test_info_tells_three_things_first(root: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folder = make(root, "imagenet_train")
    assert run(["cache", "info", "--path", str(root), "--dataset", "imagenet_train"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "".join(lines[:4]).replace(" ", "").startswith(str(folder))
    facts = [line.strip().partition(":")[0] for line in lines if line.startswith("  ") and ":" in line]
    start = facts.index("size_bytes")
    assert facts[start : start + 3] == ["size_bytes", "num_samples", "avg_load_time_ms"]
    assert_narrow("\n".join(lines), 80)
    assert run(["cache", "info", "--path", str(folder), "--format", "json"]) == 0
    (row,) = report(capsys)["entries"]
    assert row["num_samples"] == 8 and row["avg_load_time_ms"] > 0 and row["holders"] == []
