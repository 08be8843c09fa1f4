"""``mswb cache undo``: one command is one operation, and nothing is put over what has changed since."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mswb.cache.trash.store import NAME, items
from mswb.cli import plans
from mswb.cli.app import run
from mswb.inside.store import Column, Manifest, StoreWriter, write_manifest

FIXTURES = Path(__file__).parents[2] / "fixtures"
GOOD = FIXTURES / "inventory/data/mindrecord/good/good.mindrecord"
COLUMNS = (Column("label", "<i8", ()),)

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("MSWB_CONFIG", "MSWB_STATE_DIR", "MSWB_CACHE_ROOT"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MSWB_LANG", "en")
    monkeypatch.setenv("COLUMNS", "400")
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def cache(root: Path, name: str, samples: int) -> Path:
    folder = root / name / ("0" * 16)
    folder.mkdir(parents=True, exist_ok=True)
    with StoreWriter(str(folder), COLUMNS, "0" * 64) as writer:
        for number in range(samples):
            writer.append(number, [np.array(number)])
        writer.seal()
    write_manifest(str(folder), Manifest(name, "0" * 64, schema=COLUMNS, num_samples=samples, created=1.7e9))
    return folder


def tfrecord(work: Path, name: str = "flip_data.tfrecord") -> Path:
    return Path(shutil.copy(FIXTURES / "cache/tfrecord" / name, work))


def mindrecord(work: Path, name: str, index: bool = True) -> Path:
    shutil.copy(GOOD, work / name)
    if index:
        shutil.copy(f"{GOOD}.db", work / f"{name}.db")
    return work / name


def picture(work: Path) -> dict[str, bytes]:
    """All files but those in a trash."""
    files = (path for path in work.rglob("*") if path.is_file() and NAME not in str(path))
    return {str(path.relative_to(work)): path.read_bytes() for path in files}


def done(capsys: Output, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert run(["cache", *arguments, "--force", "--format", "json"]) == code
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def test_a_repair_that_only_made_a_file_is_the_last_operation(work: Path, tmp_path: Path, capsys: Output) -> None:
    root = tmp_path / "mswb_cache_root"
    old = cache(root, "train", 3)
    done(capsys, "clean", "--all")
    damaged = tfrecord(work)
    before = picture(work)
    done(capsys, "repair", str(damaged))
    assert Path(f"{damaged}.repaired").exists()
    (action,) = done(capsys, "undo")["actions"]
    assert (action["kind"], action["target"], action["done"]) == ("trash", f"{damaged}.repaired", True)
    assert picture(work) == before and not old.exists()
    assert [one["target"] for one in done(capsys, "undo")["actions"]] == [str(old)] and old.exists()
    assert done(capsys, "undo")["actions"] == []


def test_it_asks_as_a_clean_does(work: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    done(capsys, "repair", str(tfrecord(work)))
    made = work / "flip_data.tfrecord.repaired"
    assert run(["cache", "undo"]) == 0 and made.exists()
    shown = capsys.readouterr()
    assert f"to the trash  {made}" in shown.out and "mswb cache repair" in shown.out
    assert "nothing was changed" in shown.err
    monkeypatch.setattr(plans, "agreed", lambda: True)
    assert run(["cache", "undo"]) == 0 and not made.exists()


def test_nothing_goes_over_what_has_changed_since(tmp_path: Path, capsys: Output) -> None:
    root = tmp_path / "mswb_cache_root"
    folder = cache(root, "train", 3)
    shard = folder / "0000.shard"
    whole = picture(folder)
    shard.chmod(0o644)
    data = bytearray(shard.read_bytes())
    data[-20] ^= 1
    shard.write_bytes(data)
    damaged = picture(folder)
    done(capsys, "repair", str(folder))
    (item,) = items()
    (folder / "0001.shard").write_bytes(b"refilled")
    filled = picture(folder)
    assert done(capsys, "undo", code=2)["findings"][0]["code"] == "undo-changed"
    assert run(["cache", "undo", item.operation]) == 2
    assert picture(folder) == filled not in (whole, damaged)
    assert all(one["done"] for one in done(capsys, "undo", item.operation)["actions"])
    assert picture(folder) == damaged
    (displaced,) = items()
    done(capsys, "undo", displaced.id)
    assert picture(folder) == filled


def test_a_file_that_was_made_and_then_changed_stays(work: Path, capsys: Output) -> None:
    done(capsys, "repair", str(tfrecord(work)))
    made = work / "flip_data.tfrecord.repaired"
    made.write_bytes(made.read_bytes() + b"more")
    assert done(capsys, "undo", code=2)["findings"][0]["code"] == "undo-changed"
    assert made.read_bytes().endswith(b"more")


def test_one_command_over_several_files_is_one_operation(work: Path, capsys: Output) -> None:
    for name in ("a.mindrecord", "b.mindrecord"):
        mindrecord(work, name)
    mindrecord(work, "c.mindrecord", index=False)
    before = picture(work)
    tfrecord(work)
    done(capsys, "clean", "--path", "flip_data.tfrecord")
    done(capsys, "repair", ".")
    assert len(picture(work)) == len(before) + 1
    assert len(done(capsys, "undo")["actions"]) == 6
    assert picture(work) == before
    done(capsys, "undo")
    assert set(picture(work)) == {*before, "flip_data.tfrecord"}


def test_undo_by_id_takes_a_made_index_away(work: Path, capsys: Output) -> None:
    path = mindrecord(work, "other.mindrecord", index=False)
    before = picture(work)
    done(capsys, "repair", str(path))
    assert Path(f"{path}.db").exists()
    (item,) = items()
    done(capsys, "undo", item.operation)
    assert picture(work) == before


def test_what_was_deleted_for_good_is_said(work: Path, tmp_path: Path, capsys: Output) -> None:
    done(capsys, "repair", str(tfrecord(work)))
    folder = cache(tmp_path / "mswb_cache_root", "train", 3)
    done(capsys, "clean", "--all", "--purge")
    assert not folder.exists()
    assert done(capsys, "undo", code=2)["findings"][0]["code"] == "undo-gone"
    assert (work / "flip_data.tfrecord.repaired").exists()
