"""Whatever foreign file lies in a cache, a clean leaves the whole in place unless the very path is named."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.cache import clean
from mswb.cache.clean import Selection
from mswb.cache.holders import Snapshot
from mswb.cache.strangers import stranger
from mswb.findings import choose_language
from mswb.flows import cache_clean, caches

FIXTURES = Path(__file__).parents[2] / "fixtures" / "inventory" / "data"
KEY = "363ae1d5ca463f4c"
SHARD = b"MSWCSHD1" + bytes(56)


@dataclass(frozen=True)
class Kind:
    folder: str
    form: str
    files: tuple[str, ...]


KINDS = (
    Kind(f"cats/{KEY}", "file-cache", ("0000.shard", "0000.idx", "manifest.json", "stats.json", ".stats.lock", "LOCK")),
    Kind(
        "copied",
        "file-cache",
        ("0000.shard", ".manifest.json.x1_y.tmp", "source.list", ".stats.json.77.1", ".LOCK.test.0a1b"),
    ),
    Kind("rank_0/graph_cache", "compile-cache", ("compile_cache_0.mindir", "compile_dependency.hash")),
    Kind("graphs", "compile-cache", ("backend_compile_cache_1.mindir", "MS_WORKERcompile_cache_0.mindir")),
    Kind("kernel_meta", "kernel-cache", ("a.o", "a.json", "kernel_meta_temp_17/task_pid_1_2.txt", "buildPidInfo.json")),
    Kind("kernel_meta_12", "kernel-cache", ("a_mix_aic.o", "a.json", "a.h", "kernel_meta/b.o")),
    Kind("akg_kernel_meta", "kernel-cache", ("Fused_Add_12.info", "Fused_Add_12.json")),
    Kind("kernel_cache", "kernel-cache", ("Ascend910B/te_add.o", "Ascend910B/te_add.json", "op_cache.ini")),
    Kind("somas_meta", "memory-plan", ("somas_graph_1_77.json",)),
    Kind("rank_3/om", "dump", ("analyze_fail.ir", "0.npy")),
    Kind("rank_3/rdr", "dump", ("SESSION.graph_build.16.ir",)),
    Kind("rank_3/ir", "dump", ("00_parse_0000.ir", "graph.dot")),
    Kind("graph_kernel_dump", "dump", ("a.txt",)),
    Kind(".decrypt_mindrecord", "plain-copy", ("a.mindrecord", "a.mindrecord.db", "b.mindrecord0")),
)
FOREIGN = [
    *["thesis.tex", "diary.txt.bak", "a.py", "main.c", "config.json", "0001.png", "my_backinfo.json", "README", ".env"],
    *["weights.ckpt", "x.tfrecord", "notes.md", "a.o.orig", "0000.shard.bak", "日记.docx", "new\nline", "kernel.zip"],
    *["sub/thesis.tex", "kernel_meta_1/thesis.tex", "a/b/c/d.csv"],
]
SELECTIONS = ("folder", "above", "all", "size", "dataset", "system", "state")


def build(root: Path, kind: Kind) -> Path:
    folder = root / kind.folder
    for name in kind.files:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(SHARD if ".shard" in name else b"" if name == "LOCK" else b"{}")
    (folder / "LOCK").unlink(missing_ok=True)
    return folder


def selection(how: str, root: Path, folder: Path) -> Selection:
    return {
        "folder": Selection(path=str(root)),
        "above": Selection(path=str(folder.parent)),
        "all": Selection(everything=True),
        "size": Selection(path=str(root), size_mib=0),
        "dataset": Selection(path=str(root), dataset="cats"),
        "system": Selection(path=str(root), system=True),
        "state": Selection(),
    }[how]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MSWB_LANG": "en", "MSWB_CONFIG": "/nonexistent/config.toml", "HOME": "/nonexistent"}.items():
        monkeypatch.setenv(name, value)
    choose_language("")
    monkeypatch.setattr(cache_clean, "snapshot", lambda cancelled=None: Snapshot())
    monkeypatch.setattr(clean, "snapshot", lambda: Snapshot())
    monkeypatch.setattr(cache_clean, "verified", lambda entries, cancelled, told: entries)
    monkeypatch.setattr(caches, "everywhere", lambda environ, seen, cancelled: ([], []))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return at(tmp_path / "root", monkeypatch)


def at(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSWB_CACHE_ROOT", str(root))
    monkeypatch.setenv("MSWB_STATE_DIR", str(root.parent / "state"))
    root.mkdir()
    return root


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.folder)
def test_each_kind_goes_when_nothing_else_lies_in_it(root: Path, kind: Kind) -> None:
    folder = build(root, kind)
    assert stranger(str(folder), kind.form) is None
    ready = cache_clean.prepare(Selection(path=str(root)), os.environ)
    assert [action.target for action in ready.plan.actions] == [str(folder)]
    assert all(outcome.done for outcome in ready.apply()) and not folder.exists()


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(KINDS), st.sampled_from(FOREIGN), st.sampled_from(SELECTIONS), st.booleans())
def test_a_foreign_file_keeps_any_cache_in_its_place(kind: Kind, name: str, how: str, later: bool) -> None:
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="mswb-strangers-")))
    with pytest.MonkeyPatch.context() as monkeypatch:
        root = at(base / "root", monkeypatch)
        folder = build(root, kind)
        foreign = folder / name
        foreign.parent.mkdir(parents=True, exist_ok=True)
        if not later:
            foreign.write_text("mine")
        wanted = selection(how, root, folder)
        if folder.parent == root and how == "above":
            wanted = Selection(path=str(root))
        ready = cache_clean.prepare(wanted, os.environ)
        foreign.write_text("mine")
        ready.apply()
        assert foreign.read_text() == "mine"
    shutil.rmtree(base)


def test_the_very_path_takes_all_of_it(root: Path) -> None:
    folder = build(root, KINDS[0])
    (folder / "notes.txt").write_text("mine")
    over = cache_clean.prepare(Selection(path=str(root)), os.environ)
    assert over.plan.actions == ()
    assert over.plan.warnings[0] == (
        f"left alone: {folder} also holds what is no part of it: notes.txt; only this takes all of it:"
        f" mswb cache clean --path {folder}"
    )
    exact = cache_clean.prepare(Selection(path=str(folder)), os.environ)
    assert [action.target for action in exact.plan.actions] == [str(folder)]
    assert all(outcome.done for outcome in exact.apply()) and not folder.exists()


def test_links_pipes_and_closed_folders_are_strangers(root: Path) -> None:
    folder = build(root, KINDS[0])
    os.mkfifo(folder / "pipe")
    assert stranger(str(folder), "file-cache") == "pipe"
    (folder / "pipe").unlink()
    (folder / "elsewhere").symlink_to(FIXTURES)
    assert stranger(str(folder), "file-cache") == "elsewhere"
    assert stranger(str(folder / "elsewhere"), "file-cache") is None
    assert stranger(str(folder / "manifest.json"), "file-cache") is None
