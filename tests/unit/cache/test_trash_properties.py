"""Random trees with links, loops, hard links and read-only folders, changed between the plan and its application.

Whatever happens in between, nothing outside the folder changes, nothing is lost, and undo brings back every byte.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.cache.trash import moves as trash
from mswb.cache.trash import store as trashes
from mswb.plan import Plan, apply

NODES = st.sampled_from(["file", "folder", "read-only", "link-out", "loop", "hard-out", "pipe", "broken"])
TREES = st.lists(st.tuples(NODES, st.integers(0, 5)), min_size=1, max_size=10)
CHANGES = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["link", "file", "gone", "parent-link", "folder"])))


def build(root: Path, outside: Path, nodes: list[tuple[str, int]]) -> list[Path]:
    """A tree of these nodes, each in one of the folders made before it."""
    folders = [root]
    paths = []
    for number, (kind, place) in enumerate(nodes):
        path = folders[place % len(folders)] / f"n{number}"
        if kind == "file":
            path.write_bytes(bytes([number]) * (number * 700))
        elif kind in ("folder", "read-only"):
            path.mkdir()
            folders.append(path)
        elif kind == "link-out":
            path.symlink_to(outside)
        elif kind == "loop":
            path.symlink_to(root)
        elif kind == "hard-out":
            os.link(outside / "file", path)
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("nowhere")
        paths.append(path)
    for path, (kind, _) in zip(paths, nodes, strict=True):
        if kind == "read-only":
            path.chmod(0o555)
    return paths


def picture(folder: Path) -> dict[str, tuple[object, ...]]:
    found = {}
    for base, folders, files in os.walk(folder):
        if os.path.basename(base).startswith(trashes.NAME):
            folders.clear()
            continue
        for name in (*folders, *files):
            path = Path(base, name)
            about = path.lstat()
            content: object = os.readlink(path) if path.is_symlink() else ""
            if stat.S_ISREG(about.st_mode):
                content = path.read_bytes()
            found[str(path.relative_to(folder))] = (about.st_mode, about.st_ino, content)
    return {path: value for path, value in found.items() if not path.startswith(trashes.NAME)}


def inodes(folder: Path) -> set[int]:
    return {os.lstat(os.path.join(base, name)).st_ino for base, one, two in os.walk(folder) for name in one + two}


def change(path: Path, how: str, root: Path, outside: Path, attic: Path) -> None:
    """What another process may do between the plan and its application: nothing of it is deleted here."""
    if how == "parent-link":
        path = path.parent
    if path == root or not os.path.lexists(path):
        return
    path.rename(attic / f"{len(os.listdir(attic))}")
    if how in ("link", "parent-link"):
        path.symlink_to(outside)
    elif how == "file":
        path.write_text("came since")
    elif how == "folder":
        path.mkdir()
        (path / "inner").write_text("came since")


@settings(max_examples=60, deadline=None)
@given(TREES, st.lists(st.integers(0, 9), min_size=1, max_size=6), CHANGES, st.lists(st.integers(0, 9)), st.booleans())
def test_nothing_outside_changes_and_nothing_is_lost(
    nodes: list[tuple[str, int]],
    targets: list[int],
    changes: list[tuple[int, str]],
    after: list[int],
    purge: bool,
) -> None:
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="mswb-trash-test-")))
    old = {name: os.environ.get(name) for name in ("MSWB_STATE_DIR", "MSWB_CACHE_ROOT", "MSWB_CONFIG")}
    os.environ.update(
        MSWB_STATE_DIR=str(base / "state"), MSWB_CACHE_ROOT=str(base / "root"), MSWB_CONFIG=str(base / "none.toml")
    )
    try:
        _story(base, nodes, targets, changes, after, purge)
    finally:
        for name, value in old.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        for folder, _, _ in os.walk(base):
            os.chmod(folder, 0o700)
        shutil.rmtree(base)


def _story(
    base: Path,
    nodes: list[tuple[str, int]],
    targets: list[int],
    changes: list[tuple[int, str]],
    after: list[int],
    purge: bool,
) -> None:
    root, outside, attic = base / "root", base / "outside", base / "attic"
    for folder in (root, outside, attic):
        folder.mkdir()
    (outside / "file").write_text("outside")
    (outside / "n1").write_text("outside, with a name of the tree")
    paths = build(root, outside, nodes)
    chosen = sorted({paths[number % len(paths)] for number in targets})
    chosen = [path for path in chosen if not any(other in path.parents for other in chosen)]
    plan = Plan(tuple(trash.trash_action(path) for path in chosen))
    for number, how in changes:
        change(paths[number % len(paths)], how, root, outside, attic)
    before, beyond, kept, all_of_it = picture(root), picture(outside), picture(attic), inodes(base)

    outcomes = apply(plan, trash.doers("test"))
    assert picture(outside) == beyond and picture(attic) == kept
    assert inodes(base) >= all_of_it
    gone = {outcome.action.target for outcome in outcomes if outcome.done}
    for path, facts in before.items():
        is_moved = any(str(root / path) == one or str(root / path).startswith(one + "/") for one in gone)
        assert (path in picture(root)) != is_moved, (path, facts)

    items = trashes.items()
    if purge:
        for item in items:
            trash.empty(item)
        assert picture(outside) == beyond and picture(attic) == kept
        return
    taken = {str(root / path) for path in _occupy(root, [paths[number % len(paths)] for number in after])}
    back = apply(Plan(tuple(trash.restore_action(item) for item in items)), trash.doers(known_items=items))
    assert picture(outside) == beyond and picture(attic) == kept and inodes(base) >= all_of_it
    assert {one.action.target for one in back if not one.done} == gone & taken
    if not taken:
        assert picture(root) == before


def _occupy(root: Path, wanted: list[Path]) -> list[Path]:
    """Put something where something was, and tell where."""
    made = []
    for path in wanted:
        if path.parent == root and not os.path.lexists(path):
            path.write_text("came since")
            made.append(path)
    return made
