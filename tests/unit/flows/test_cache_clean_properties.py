"""Cleaning random folders of caches, data, links and loops that change meanwhile: only caches in them ever move."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.cache import clean
from mswb.cache.clean import Selection
from mswb.cache.holders import Snapshot
from mswb.cache.trash import moves as trash
from mswb.cache.trash import store as trashes
from mswb.flows import cache_clean
from mswb.plan import Plan, apply
from tests.unit.cache.test_trash_properties import change, inodes, picture

NODES = st.sampled_from(["folder", "kernels", "linked-kernels", "shared-kernels", "graphs", "sealed", "data", "loop"])
TREES = st.lists(st.tuples(NODES, st.integers(0, 5)), min_size=1, max_size=9)
CHANGES = st.lists(st.tuples(st.integers(0, 8), st.sampled_from(["link", "file", "gone", "parent-link", "folder"])))
CACHES = frozenset({"kernels", "shared-kernels", "graphs", "sealed"})
NAMES = {
    "kernels": "kernel_meta",
    "linked-kernels": "kernel_meta",
    "shared-kernels": "kernel_meta",
    "sealed": "kernel_meta",
}


def build(root: Path, outside: Path, nodes: list[tuple[str, int]]) -> list[Path]:
    folders, made = [root], []
    for number, (kind, place) in enumerate(nodes):
        path = folders[place % len(folders)] / f"n{number}"
        path.mkdir()
        made.append(path)
        inner = path / NAMES.get(kind, "graph_cache")
        if kind == "folder":
            folders.append(path)
        elif kind == "loop":
            (path / "up").symlink_to(root)
        elif kind == "data":
            shutil.copy(outside / "a.tfrecord", path / "a.tfrecord")
        elif kind == "linked-kernels":
            inner.symlink_to(outside / "kernel_meta")
        else:
            inner.mkdir()
            (inner / "link.o").symlink_to(outside / "kernel_meta" / "op.o")
            if inner.name == "graph_cache":
                (inner / "compile_cache_0.mindir").write_bytes(b"graph")
            if kind == "shared-kernels":
                os.link(outside / "kernel_meta" / "op.o", inner / "op.o")
            if kind == "sealed":
                (inner / "op.o").write_bytes(b"x" * 999)
                inner.chmod(0o555)
    return made


@settings(max_examples=50, deadline=None)
@given(TREES, CHANGES, st.booleans())
def test_a_clean_moves_caches_of_the_folder_and_nothing_else(
    nodes: list[tuple[str, int]], changes: list[tuple[int, str]], purge: bool
) -> None:
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="mswb-clean-test-")))
    wanted = {"MSWB_STATE_DIR": "state", "MSWB_CACHE_ROOT": "elsewhere", "MSWB_CONFIG": "none.toml"}
    old = {name: os.environ.get(name) for name in wanted}
    looks = cache_clean.snapshot, clean.snapshot
    os.environ.update({name: str(base / value) for name, value in wanted.items()})
    cache_clean.snapshot = clean.snapshot = lambda cancelled=None: Snapshot()
    try:
        _story(base, nodes, changes, purge)
    finally:
        cache_clean.snapshot, clean.snapshot = looks
        for name, value in old.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        for folder, _, _ in os.walk(base):
            os.chmod(folder, 0o700)
        shutil.rmtree(base)


def _story(base: Path, nodes: list[tuple[str, int]], changes: list[tuple[int, str]], purge: bool) -> None:
    root, outside, attic = base / "root", base / "outside", base / "attic"
    for folder in (root, outside / "kernel_meta", attic):
        folder.mkdir(parents=True)
    (outside / "kernel_meta" / "op.o").write_bytes(b"another project's")
    fixture = Path(__file__).parents[2] / "fixtures" / "inventory" / "data" / "good.tfrecord"
    shutil.copy(fixture, outside / "a.tfrecord")
    made = build(root, outside, nodes)
    ready = cache_clean.prepare(Selection(path=str(root)), os.environ, for_good=purge)
    expected = {str(path) for path, (kind, _) in zip(made, nodes, strict=True) if kind in CACHES}
    assert {os.path.dirname(action.target) for action in ready.plan.actions} == expected
    for number, how in changes:
        change(made[number % len(made)], how, root, outside, attic)
    before, beyond, kept, all_of_it = picture(root), picture(outside), picture(attic), inodes(base)

    outcomes = ready.apply()
    assert picture(outside) == beyond and picture(attic) == kept
    gone = {outcome.action.target for outcome in outcomes if outcome.done}
    left = {path: facts for path, facts in before.items() if not _is_in(str(root / path), gone)}
    assert picture(root) == left
    if purge:
        assert trashes.items() == []
        return
    assert inodes(base) >= all_of_it
    items = trashes.items()
    assert {item.path for item in items} == gone
    back = Plan(tuple(trash.restore_action(item) for item in items))
    assert all(outcome.done for outcome in apply(back, trash.doers(known_items=items)))
    assert picture(root) == before and picture(outside) == beyond


def _is_in(path: str, folders: set[str]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)
