"""``mswb cache list`` and ``info``: what is asked for by path or name, one line an entry, and what verify has found."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from mswb.cache.entries import Entry
from mswb.cli import plans
from mswb.cli.app import run
from mswb.cli.cache_rows import show_entries
from mswb.findings import choose_language
from mswb.inside.store import Column, Manifest, StoreWriter, write_manifest
from mswb.plan import Action, Plan

FIXTURES = Path(__file__).parents[2] / "fixtures"
SCHEMA = json.loads((FIXTURES / "report.schema.json").read_text(encoding="utf-8"))
COLUMNS = (Column("label", "<i8", ()),)

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short path, so that the lines do not depend on where tests lie."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="m", dir="/tmp") as name:
        home = Path(name)
        for variable in ("MSWB_CONFIG", "MSWB_STATE_DIR"):
            monkeypatch.setenv(variable, str(home / variable.lower()))
        monkeypatch.setenv("HOME", name)
        monkeypatch.delenv("MSWB_CACHE_ROOT", raising=False)
        monkeypatch.setenv("MSWB_LANG", "en")
        monkeypatch.setenv("COLUMNS", "80")
        (home / "p" / "data").mkdir(parents=True)
        monkeypatch.chdir(home / "p")
        yield home / "p"
        choose_language("")


def cache(project: Path, name: str) -> Path:
    key = f"{len(name):016x}" * 4
    folder = project.parent / ".mindspore" / "cache" / name / key[:16]
    folder.mkdir(parents=True)
    with StoreWriter(str(folder), COLUMNS, key) as writer:
        writer.append(0, [np.array(0)])
        writer.seal()
    write_manifest(str(folder), Manifest(name, key, schema=COLUMNS, num_samples=1, created=1.7e9))
    (folder / "stats.json").write_text('{"hits": 93, "misses": 7}')
    return folder


def sample(name: str, target: str) -> str:
    shutil.copy(FIXTURES / "cache" / "tfrecord" / name, target)
    return target


def report(capsys: Output, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert run(["cache", *arguments, "--format", "json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return found


def names(found: dict[str, Any]) -> list[str]:
    return sorted(row["name"] for row in found["entries"])


def test_what_is_named_may_be_paths_or_caches(project: Path, capsys: Output) -> None:
    cache(project, "imagenet_train")
    cache(project, "val")
    sample("good.tfrecord", "data/a.tfrecord")
    sample("good.tfrecord", "b.tfrecord")
    for command in ("list", "info"):
        assert names(report(capsys, command, "data")) == ["a.tfrecord"]
        assert names(report(capsys, command, "data", "b.tfrecord")) == ["a.tfrecord", "b.tfrecord"]
        assert names(report(capsys, command, "--path", "data", "--path", "b.tfrecord")) == ["a.tfrecord", "b.tfrecord"]
        assert names(report(capsys, command, "imagenet_train")) == ["imagenet_train"]
        assert names(report(capsys, command, "val", "data")) == ["a.tfrecord", "val"]
        found = report(capsys, command, "imagenet", code=2)
        assert (found["findings"][0]["code"], found["entries"]) == ("path-missing", [])


def test_info_of_a_name_that_no_cache_has(project: Path, capsys: Output) -> None:
    cache(project, "val")
    assert report(capsys, "info", "--dataset", "nix", code=1)["findings"][0]["code"] == "cache-unknown-name"
    assert run(["cache", "info", "--dataset", "nix"]) == 1
    assert "nothing of that name" in capsys.readouterr().out
    assert run(["cache", "info", "val"]) == 0
    assert "num_samples: 1" in capsys.readouterr().out


def test_info_of_many_is_a_line_each(capsys: Output) -> None:
    for number in range(6):
        sample("good.tfrecord", f"data/{number}.tfrecord")
    assert run(["cache", "info"]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == 8 and "6 entries: 'mswb cache info PATH'" in shown
    assert run(["cache", "info", "data"]) == 0
    assert capsys.readouterr().out.count("size_bytes") == 6


def test_a_line_an_entry_with_status_size_and_hits(project: Path, capsys: Output) -> None:
    cache(project, "val")
    path = sample("good.tfrecord", "a.tfrecord")
    assert run(["cache", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    size = os.path.getsize(path)
    (data,) = (line for line in lines if "a.tfrecord" in line)
    assert re.fullmatch(rf"  status: unverified +size: {size} \(8\.\d KiB\) +a\.tfrecord", data)
    at = next(number for number, line in enumerate(lines) if "93%" in line)
    assert "status: ok" in lines[at]
    assert lines[at + 1].strip() == str(project.parent / ".mindspore/cache/val" / f"{3:016x}")
    assert all(len(line) <= 80 or " " not in line.strip() for line in lines)


def test_a_long_path_is_not_cut(project: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    folder = "data/" + "a_name_as_long_as_a_line_of_a_narrow_terminal_can_hold_and_some_more"
    os.mkdir(folder)
    path = sample("flip_data.tfrecord", f"{folder}/a.tfrecord")
    for command in ("list", "verify", "repair --dry-run", "clean --path"):
        run(["cache", *command.split(), path])
        lines = capsys.readouterr().out.splitlines()
        assert any(path in line for line in lines), command
        assert all(len(line) <= 60 or "/" in line.split()[-1] for line in lines)


def test_what_verify_found_is_told_while_the_file_is_the_same(project: Path, capsys: Output) -> None:
    good, bad = sample("good.tfrecord", "a.tfrecord"), sample("flip_data.tfrecord", "b.tfrecord")
    assert run(["cache", "verify"]) == 1
    capsys.readouterr()
    assert run(["cache", "list"]) == 1
    shown = capsys.readouterr().out
    assert re.search(r"  status: ok \((verified )?[\d-]+\) .* 50 +a\.tfrecord", shown)
    assert re.search(r"status: corrupted .* 49/50 +b\.tfrecord", shown)
    rows = {row["name"]: row for row in report(capsys, "list", code=1)["entries"]}
    assert rows["a.tfrecord"]["status"] == "ok" and rows["a.tfrecord"]["verified_at"] > 1e9
    (action,) = report(capsys, "clean", "--path", "b.tfrecord", "--dry-run")["actions"]
    assert action["detail"] == "TFRecord, corrupted"
    shutil.copy(good, bad)
    assert {row["status"] for row in report(capsys, "list")["entries"]} == {"ok", "unverified"}
    assert "verified_at" not in report(capsys, "verify", "a.tfrecord")["entries"][0]


def test_the_whole_date_where_it_fits(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    show_entries([Entry("/data/a.tfrecord", "tfrecord", status="ok", more={"verified_at": 1.7e9})], together=True)
    assert "status: ok (verified 2023-11-1" in capsys.readouterr().out


def test_leftovers_alike_are_one_line(capsys: Output) -> None:
    entries = [
        Entry(f"/dev/shm/sem.mp-{letter}1", "shared-memory", status=status, size_bytes=32, disk_bytes=4096)
        for letter, status in (*((one, "orphan") for one in "abcdefghijkl"), ("x", "ok"))
    ]
    show_entries(entries, together=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[1].endswith("size: 384  /dev/shm/sem.mp-* (12)")
    show_entries(entries, together=False)
    assert len(capsys.readouterr().out.splitlines()) == 14
    actions = [Action("trash", entry.path, "1:1", 4096, f"Shared memory, {entry.status}") for entry in entries]
    caches = [Action("trash", f"/c/{name}", "1:1", 1, "File cache a, ok") for name in "abc"]
    plans.show_plan(Plan((*actions, *caches)), "nothing")
    shown = capsys.readouterr().out
    assert "to the trash  /dev/shm/sem.mp-* (12)\n    Shared memory, orphan, 49152 bytes (48.0 KiB) on disk\n" in shown
    assert shown.count("to the trash") == 5 and "16 actions, 53251 bytes (52.0 KiB) on disk" in shown
