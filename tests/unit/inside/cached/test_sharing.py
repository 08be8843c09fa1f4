"""Several processes and one cache: one writes, the others read; a second writer; one that was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mswb.inside.cached.filler import close_all
from mswb.inside.cached.times import flush_all, read_stats
from mswb.inside.store import StoreReader

SCRIPT = """
import json, os, sys, types
package, dataset = types.ModuleType("mindspore"), types.ModuleType("mindspore.dataset")
class GeneratorDataset:
    def __init__(self, source, column_names, **options):
        self.source = source
dataset.GeneratorDataset = GeneratorDataset
package.dataset = dataset
sys.modules.update({"mindspore": package, "mindspore.dataset": dataset})
import numpy as np
from mswb.cache import cached
from mswb.inside.cached import opening, serve
opening.WAIT_STEP_S = serve.REFRESH_S = 0.01
class Source:
    def __len__(self):
        return 200
    def __getitem__(self, number):
        return np.full(50, number), np.int64(number)
"""
READER = (
    SCRIPT
    + """
data = cached(Source(), "train", **json.loads(sys.argv[1])).source
wrong = 0
for epoch in range(2):
    for number in range(200):
        row = data[number * 7 % 200]
        wrong += int(row[1]) != number * 7 % 200 or int(row[0].sum()) != 50 * (number * 7 % 200)
print(json.dumps({"wrong": wrong, "wrote": data.filler is not None or os.path.exists(data.reader.folder + "/LOCK")}))
"""
)
WRITER = (
    SCRIPT
    + """
data = cached(Source(), "train").source
for number in range(150):
    data[number]
data.filler.sync()
print("synced", flush=True)
sys.stdin.read()
"""
)


def start(script: str, root: Path, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, json.dumps(options)],
        env={**os.environ, "MSWB_CACHE_ROOT": str(root)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    told: dict[str, Any] = json.loads(out)
    return {**told, "errors": errors}


@pytest.mark.parametrize(("count", "eager"), [(9, False), (3, True)])
def test_several_readers_of_which_one_writes(tmp_path: Path, count: int, eager: bool) -> None:
    outcomes = [finish(one) for one in [start(READER, tmp_path, eager=eager) for _ in range(count)]]
    assert [outcome["wrong"] for outcome in outcomes] == [0] * count
    (folder,) = (tmp_path / "train").iterdir()
    with StoreReader(str(folder)) as reader:
        assert reader.ids().tolist() == list(range(200))
        assert reader.is_sealed
    stats = read_stats(str(folder))
    assert stats["loads"] == count * 400 + (200 if eager else 0)
    assert len(stats["readers"]) == count
    if eager:
        assert stats["misses"] == 200
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) == [
        "0000.idx",
        "0000.shard",
        "manifest.json",
        "source.list",
        "stats.json",
    ]


def test_a_second_job_reads_while_the_first_writes_and_the_next_continues_what_a_killed_one_left(
    tmp_path: Path,
) -> None:
    writer = start(WRITER, tmp_path)
    try:
        assert writer.stdout is not None and writer.stdout.readline() == "synced\n"
        (folder,) = (tmp_path / "train").iterdir()
        before = json.loads((folder / "LOCK").read_text())
        second = finish(start(READER, tmp_path))
        assert second["wrong"] == 0
        assert json.loads((folder / "LOCK").read_text()) == before, "the lease is the first one's"
        with StoreReader(str(folder)) as reader:
            assert len(reader) == 150
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        third = finish(start(READER, tmp_path))
        assert third["wrong"] == 0
        with StoreReader(str(folder)) as reader:
            assert len(reader) == 200 and reader.is_sealed
        assert not (folder / "LOCK").exists()
    finally:
        writer.kill()
        writer.communicate()


def test_a_lease_of_another_host_leaves_the_cache_to_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mswb.cache import cached

    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path))
    data = cached([1.0, 2.0, 3.0], "train").source
    data[0], data[1]
    close_all()
    (folder,) = (tmp_path / "train").iterdir()
    from mswb.inside.cached.lease import myself

    (folder / "LOCK").write_text(json.dumps(myself()._replace(host="other")._asdict()))
    again = cached([1.0, 2.0, 3.0], "train").source
    assert again.filler is None
    assert [float(again[number][0]) for number in range(3)] == [1, 2, 3]
    flush_all()
    assert read_stats(str(folder))["hits"] == 2
    forced = cached([1.0, 2.0, 3.0], "train", force=True).source
    assert forced.filler is not None
    forced[2]
    close_all()
    assert len(StoreReader(str(folder))) == 3


def test_where_locks_do_not_work_it_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mswb.cache import cached
    from mswb.inside.cached import lease

    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path))
    monkeypatch.setattr(lease, "_tested", {})
    monkeypatch.setattr(lease, "child_gets_lock", lambda path: True)
    data = cached([1.0, 2.0], "train").source
    assert [float(data[number][0]) for number in range(2)] == [1, 2]
    flush_all()
    (folder,) = (tmp_path / "train").iterdir()
    assert "lock-unsafe" in read_stats(str(folder))["notes"]
    assert len(StoreReader(str(folder))) == 2
