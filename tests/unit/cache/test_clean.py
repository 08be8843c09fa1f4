"""What a clean takes and what it leaves: by selection, kind, owner, use and lease."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from mswb.cache import clean
from mswb.cache.clean import Guard, Selection, plan_clean, select
from mswb.cache.entries import Entry
from mswb.cache.holders import Holder, Snapshot
from mswb.cache.trash import store as trashes
from mswb.findings import choose_language
from mswb.inside.cached import lease
from mswb.plan import apply
from mswb.signals import ProcessId


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("MSWB_LANG", "en")
    choose_language("")


MIB = 1 << 20
GOOD = Entry("/r/good/1", "file-cache", "good", "ok", 2 * MIB)
BAD = Entry("/r/bad/1", "file-cache", "bad", "corrupted", MIB)
STALE = Entry("/r/stale/1", "file-cache", "stale", "stale-source", 10)
UNSEEN = Entry("/r/unseen/1", "file-cache", "unseen", "unverified", MIB + 1)
COMPILED = Entry("/r/rank_0/graph_cache", "compile-cache", status="corrupted", size_bytes=3 * MIB)
DATA = Entry("/r/x.tfrecord", "tfrecord", status="corrupted", size_bytes=5 * MIB)
TUNED = Entry("/r/aoe_data", "tuning-base", size_bytes=9 * MIB)
SPILLED = Entry("/s/spill", "cache-spill", status="orphan")
IN_USE = Entry("/s/spill2", "cache-spill", status="ok")
HERE = [GOOD, BAD, STALE, UNSEEN, COMPILED, DATA, TUNED]


@pytest.mark.parametrize(
    ("wanted", "chosen", "spared"),
    [
        (Selection(), [BAD, STALE], 0),
        (Selection(everything=True), [BAD, GOOD, COMPILED, STALE, UNSEEN], 2),
        (Selection(dataset="good"), [GOOD], 0),
        (Selection(dataset="goo"), [], 0),
        (Selection(dataset="graph_cache"), [], 0),
        (Selection(size_mib=1), [GOOD, COMPILED, UNSEEN], 2),
        (Selection(size_mib=2), [COMPILED], 2),
        (Selection(path="/r"), [BAD, GOOD, COMPILED, STALE, UNSEEN], 2),
        (Selection(path="/r", dataset="bad"), [BAD], 0),
        (Selection(path="/r/x.tfrecord"), [BAD, GOOD, COMPILED, STALE, UNSEEN, DATA], 1),
        (Selection(system=True), [BAD, STALE, SPILLED], 1),
        (Selection(system=True, dataset="bad"), [BAD], 0),
    ],
)
def test_selection(wanted: Selection, chosen: list[Entry], spared: int) -> None:
    outside = [SPILLED, IN_USE] if wanted.system else []
    assert select([*HERE, *outside], wanted, {entry.path for entry in outside}) == (chosen, spared)


def test_what_lies_in_another_goes_with_it() -> None:
    inner = replace(COMPILED, path="/r/rank_0/graph_cache/kernel_meta", form="kernel-cache")
    beside = replace(COMPILED, path="/r/rank_0/graph_cache2")
    assert select([inner, COMPILED, beside], Selection(everything=True))[0] == [COMPILED, beside]


def cache(folder: Path, size: int = 5000) -> Entry:
    folder.mkdir(parents=True)
    (folder / "0000.shard").write_bytes(os.urandom(size))
    return Entry(str(folder), "file-cache", folder.parent.name, "corrupted", size)


def test_exact_bytes_before_and_after(tmp_path: Path) -> None:
    one, two = cache(tmp_path / "root" / "one" / "k"), cache(tmp_path / "root" / "two" / "k", 100_000)
    os.link(f"{one.path}/0000.shard", f"{one.path}/0001.shard")
    os.link(f"{two.path}/0000.shard", tmp_path / "kept")
    with open(f"{two.path}/0002.shard", "wb") as file:
        file.truncate(1 << 30)
    cleaning = plan_clean([one, two], Selection(everything=True), Snapshot())
    held = os.stat(f"{one.path}/0000.shard").st_blocks * 512
    assert [action.bytes for action in cleaning.plan.actions] == [held, 0]
    assert [action.detail for action in cleaning.plan.actions] == [
        "File cache one, corrupted",
        "File cache two, corrupted",
    ]
    assert any("freed when the trash is emptied" in warning for warning in cleaning.plan.warnings)
    outcomes = apply(cleaning.plan, cleaning.kinds("mswb cache clean"))
    assert [outcome.done for outcome in outcomes] == [True, True]
    assert {item.path for item in trashes.items()} == {one.path, two.path}
    assert {item.root for item in trashes.items()} == {str(tmp_path / "root")}


def test_what_a_process_uses_stays_and_the_process_is_named(tmp_path: Path) -> None:
    entry = cache(tmp_path / "root" / "one" / "k")
    user = Holder(ProcessId(77, 1), "python", "mapped", f"{entry.path}/0000.shard")
    cleaning = plan_clean([entry], Selection(everything=True), Snapshot((user,), 0, [user.path]))
    assert cleaning.plan.actions == ()
    assert cleaning.plan.warnings == (f"left alone, in use: {entry.path}: process 77 (python): has it mapped",)


def test_what_came_into_use_after_the_plan_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = cache(tmp_path / "root" / "one" / "k")
    cleaning = plan_clean([entry], Selection(everything=True), Snapshot())
    user = Holder(ProcessId(77, 1), "python", "cwd", entry.path)
    monkeypatch.setattr(clean, "snapshot", lambda: Snapshot((user,), 0, [user.path]))
    (outcome,) = apply(cleaning.plan, cleaning.kinds("x"))
    assert (outcome.done, outcome.reason) == (False, "process 77 (python): works in it")


def test_a_folder_above_that_a_new_process_compiles_into_is_a_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = replace(cache(tmp_path / "compiled" / "graph_cache"), form="compile-cache")
    os.rename(f"{graphs.path}/0000.shard", f"{graphs.path}/compile_cache_0.mindir")
    other = cache(tmp_path / "compiled" / "one" / "k")
    cleaning = plan_clean([graphs, other], Selection(everything=True), Snapshot())
    user = Holder(ProcessId(77, 1), "python", "MS_COMPILER_CACHE_PATH", str(tmp_path / "compiled"))
    seen = Snapshot((user,), 0, [user.path])
    assert [action.target for action in plan_clean([graphs, other], Selection(), seen).plan.actions] == [other.path]
    monkeypatch.setattr(clean, "snapshot", lambda: seen)
    outcomes = apply(cleaning.plan, cleaning.kinds("x"))
    assert [(outcome.action.target, outcome.done) for outcome in outcomes] == [(graphs.path, False), (other.path, True)]


def test_the_lease_of_a_living_writer_holds_and_that_of_a_dead_one_does_not(tmp_path: Path) -> None:
    entry = cache(tmp_path / "root" / "one" / "k")
    held = lease.take(entry.path)
    cleaning = plan_clean([entry], Selection(everything=True), Snapshot())
    assert cleaning.plan.actions == () and "being written" in cleaning.plan.warnings[0]
    assert f"process {os.getpid()}" in Guard()(entry.path)
    held.release()

    owner = lease.myself()._asdict()
    lock = Path(entry.path, lease.LOCK)
    lock.write_text(json.dumps({**owner, "start_time": owner["start_time"] - 1}))
    cleaning = plan_clean([entry], Selection(everything=True), Snapshot())
    assert len(cleaning.plan.actions) == 1 and "its writer is dead" in cleaning.plan.warnings[0]
    assert Guard()(entry.path) == ""

    lock.write_text(json.dumps({**owner, "host": f"not-{socket.gethostname()}"}))
    os.utime(lock, (1, 1))
    cleaning = plan_clean([entry], Selection(everything=True), Snapshot())
    assert cleaning.plan.actions == () and f"delete {lock}" in cleaning.plan.warnings[0]


def test_what_others_own_stays_but_for_root_that_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = cache(tmp_path / "root" / "one" / "k")
    mine = os.stat(entry.path).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert plan_clean([entry], Selection(everything=True, system=True), Snapshot()).plan.actions == ()
    monkeypatch.setattr(clean, "_owner", lambda path: 4242)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert plan_clean([entry], Selection(everything=True), Snapshot()).plan.actions == ()
    assert len(plan_clean([entry], Selection(everything=True, system=True), Snapshot()).plan.actions) == 1


def test_a_data_file_goes_with_its_index(tmp_path: Path) -> None:
    for name in ("a.mindrecord", "a.mindrecord.db"):
        (tmp_path / name).write_bytes(b"x")
    entry = Entry(str(tmp_path / "a.mindrecord"), "mindrecord", size_bytes=1)
    (chosen,), _ = select([entry], Selection(path=entry.path))
    plan = plan_clean([chosen], Selection(path=entry.path), Snapshot()).plan
    assert [os.path.basename(action.target) for action in plan.actions] == ["a.mindrecord", "a.mindrecord.db"]


def test_unseen_processes_and_spared_files_are_told() -> None:
    warnings = plan_clean([], Selection(), Snapshot(unseen=3), spared=2).plan.warnings
    assert warnings[0].endswith("2 data files, or caches that cost much to make again")
    assert warnings[1].startswith("3 processes of other users")
