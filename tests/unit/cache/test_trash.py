"""Into the trash and back: byte by byte, over nothing, and never through a link."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from mswb.cache.trash import intake as trash_intake
from mswb.cache.trash import moves as trash
from mswb.cache.trash import store as trashes
from mswb.cache.trash.moves import Refused
from mswb.plan import Plan, apply, path_identity


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path / "root"))
    (tmp_path / "work").mkdir()
    return tmp_path


@pytest.fixture
def work(home: Path) -> Path:
    return home / "work"


def tree(folder: Path) -> Path:
    (folder / "inner").mkdir(parents=True)
    (folder / "data").write_bytes(os.urandom(5000))
    os.link(folder / "data", folder / "inner" / "same")
    (folder / "loop").symlink_to(folder)
    (folder / "inner").chmod(0o500)
    (folder / "data").chmod(0o444)
    return folder


def picture(folder: Path) -> dict[str, object]:
    """Everything that undo must bring back: names, modes, times, contents, links."""
    found: dict[str, object] = {}
    for path in sorted([folder, *folder.rglob("*")]):
        about = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        modified = about.st_mtime_ns if path != folder else 0
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_ino, about.st_nlink, modified, content)
    return found


def test_a_folder_goes_and_comes_back(work: Path) -> None:
    folder = tree(work / "cache")
    before = picture(folder)
    item = trash.move(folder, why="a test")
    assert not folder.exists() and os.listdir(work) == [trashes.NAME]
    assert (item.path, item.files, item.size_bytes) == (str(folder), 1, 5000)
    assert trashes.items() == [item]
    assert trash.restore(item) == str(folder)
    assert picture(folder) == before
    assert trashes.items() == []


def test_what_has_come_since_stays(work: Path) -> None:
    file = work / "a"
    file.write_text("old")
    item = trash.move(file)
    file.write_text("new")
    with pytest.raises(Refused, match="something else has come"):
        trash.restore(item)
    assert file.read_text() == "new" and Path(item.data).read_text() == "old"


def test_missing_folders_are_made_again_but_never_through_a_link(home: Path, work: Path) -> None:
    (work / "one" / "two").mkdir(parents=True)
    (work / "one" / "two" / "file").write_text("x")
    item = trash.move(work / "one" / "two" / "file", str(work))
    (work / "one" / "two").rmdir()
    (work / "one").rmdir()
    (home / "outside").mkdir()
    (work / "one").symlink_to(home / "outside")
    with pytest.raises(OSError):
        trash.restore(item)
    assert os.listdir(home / "outside") == []
    (work / "one").unlink()
    trash.restore(item)
    assert (work / "one" / "two" / "file").read_text() == "x"


def test_the_root_may_be_renamed_in_between(home: Path, work: Path) -> None:
    (work / "file").write_text("x")
    trash.move(work / "file", str(work))
    work.rename(home / "moved")
    (item,) = trashes.items([str(home / "moved" / trashes.NAME)])
    trash.restore(item)
    assert (home / "moved" / "file").read_text() == "x"


def test_things_of_the_cache_root_go_to_its_trash(home: Path) -> None:
    deep = home / "root" / "name" / "key"
    deep.mkdir(parents=True)
    item = trash.move(deep)
    assert item.root == str(home / "root") and item.relative == "name/key"
    assert not (home / "state").exists()


def test_a_replacement_changes_places_and_undo_changes_them_back(work: Path) -> None:
    (work / "file").write_text("old")
    (work / "new").write_text("new")
    item = trash.put_in_place(work / "new", work / "file", why="a repair")
    assert (work / "file").read_text() == "new" and not (work / "new").exists()
    trash.restore(item)
    assert (work / "file").read_text() == "old"
    (other,) = trashes.items()
    assert Path(other.data).read_text() == "new"
    trash.restore(other)
    assert (work / "file").read_text() == "new"


def test_a_replacement_that_was_changed_since_stays(work: Path) -> None:
    (work / "file").write_text("old")
    (work / "new").write_text("new")
    item = trash.put_in_place(work / "new", work / "file")
    (work / "third").write_text("third")
    os.replace(work / "third", work / "file")
    with pytest.raises(Refused, match="something else"):
        trash.restore(item)
    assert (work / "file").read_text() == "third" and Path(item.data).read_text() == "old"


def test_without_exchange_a_replacement_goes_in_two_steps(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trash_intake, "exchange", lambda *_: False)
    (work / "file").write_text("old")
    (work / "new").write_text("new")
    item = trash.put_in_place(work / "new", work / "file")
    assert (work / "file").read_text() == "new" and Path(item.data).read_text() == "old"


def test_another_thing_in_its_place_stays(work: Path) -> None:
    (work / "a").write_text("1")
    (work / "b").write_text("2")
    identity = path_identity(work / "a")
    os.replace(work / "b", work / "a")
    with pytest.raises(Refused, match="another thing"):
        trash.move(work / "a", identity=identity)
    assert (work / "a").read_text() == "2" and os.listdir(work) == ["a"]


def test_a_swap_between_check_and_rename_is_undone(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "a").write_text("meant")
    (work / "b").write_text("other")
    real = trash_intake.rename_new

    def swapped(source: int, name: str, target: int, new: str) -> None:
        monkeypatch.setattr(trash_intake, "rename_new", real)
        os.replace(work / "b", work / "a")
        real(source, name, target, new)

    monkeypatch.setattr(trash_intake, "rename_new", swapped)
    with pytest.raises(Refused, match="another thing"):
        trash.move(work / "a")
    assert (work / "a").read_text() == "other" and os.listdir(work) == ["a"]


def test_a_folder_on_the_way_that_became_a_link_is_refused(home: Path, work: Path) -> None:
    (work / "sub").mkdir()
    (work / "sub" / "file").write_text("meant")
    (home / "outside").mkdir()
    (home / "outside" / "file").write_text("other")
    action = trash.trash_action(work / "sub" / "file")
    (work / "sub").rename(work / "gone")
    (work / "sub").symlink_to(home / "outside")
    (outcome,) = apply(Plan((action,)), trash.TRASH_KINDS)
    assert not outcome.done
    assert (home / "outside" / "file").read_text() == "other" and (work / "gone" / "file").read_text() == "meant"


def test_a_link_goes_as_a_link(home: Path, work: Path) -> None:
    (home / "target").write_text("x")
    (work / "link").symlink_to(home / "target")
    item = trash.move(work / "link")
    assert (home / "target").read_text() == "x" and not os.path.lexists(work / "link")
    trash.empty(item)
    assert (home / "target").read_text() == "x"


def test_emptying_deletes_read_only_and_deep_trees_and_no_target_of_a_link(home: Path, work: Path) -> None:
    (home / "outside").mkdir()
    (home / "outside" / "file").write_text("x")
    folder = tree(work / "cache")
    (folder / "out").symlink_to(home / "outside")
    deepest = folder
    for _ in range(60):
        deepest = deepest / ("d" * 60)
        deepest.mkdir()
    deepest.chmod(0)
    trash.empty(trash.move(folder))
    for place in trashes.known():
        trash.sweep(place)
    assert os.listdir(work) == [] and (home / "outside" / "file").read_text() == "x"


def test_an_interrupted_emptying_is_finished_by_the_next(work: Path) -> None:
    item = trash.move(tree(work / "cache"))
    asked = iter([False, True])
    trash.empty(item, lambda: next(asked, True))
    assert trashes.items() == []
    trash.sweep(os.path.join(item.root, item.trash))
    assert os.listdir(work) == []


def test_what_a_killed_move_left_goes_after_some_minutes_and_nothing_else(work: Path) -> None:
    (work / "a").write_text("x")
    item = trash.move(work / "a")
    place = Path(item.root, item.trash)
    for name in ("killed", "young", "foreign"):
        (place / name).mkdir()
        (place / name / trashes.RECORD).write_text("{}")
    (place / "foreign" / "diary").write_text("mine")
    (place / "bare").mkdir()
    for name in ("killed", "foreign", "bare", item.id):
        os.utime(place / name, (1, 1))
    trash.sweep(str(place))
    assert sorted(os.listdir(place)) == sorted(["foreign", "young", item.id])
    assert trashes.items() == [item]


def test_one_operation_comes_back_with_one_undo(work: Path) -> None:
    for name in "abc":
        (work / name).write_text(name)
    plan = Plan(tuple(trash.trash_action(work / name) for name in "ab"))
    assert all(outcome.done for outcome in apply(plan, trash.doers("two")))
    trash.move(work / "c", operation="other")
    found = trashes.items()
    assert [item.relative for item in trashes.last_operation(found)] == ["c"]
    earlier = trashes.last_operation(found, found[-1].operation)
    assert {item.relative for item in earlier} == {"a", "b"}
    back = Plan(tuple(trash.restore_action(item) for item in earlier))
    assert all(outcome.done for outcome in apply(back, trash.doers(known_items=earlier)))
    assert sorted(os.listdir(work)) == [trashes.NAME, "a", "b"]


def test_a_trash_that_another_process_takes_away_is_made_again(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "a").write_text("x")
    real, rest = os.mkdir, [work / trashes.NAME]

    def racing(path: str, mode: int = 0o777, **more: int) -> None:
        if rest and os.path.dirname(path) == str(rest[0]):
            rest.pop().rmdir()
        real(path, mode, **more)

    monkeypatch.setattr(trash_intake.os, "mkdir", racing)
    item = trash.move(work / "a")
    assert rest == [] and trashes.items() == [item]


def test_roots_without_a_trash_are_forgotten(home: Path, work: Path) -> None:
    (work / "a").write_text("x")
    trash.restore(trash.move(work / "a"))
    register = home / "state" / "trashes"
    trashes.forget_empty()
    assert len(os.listdir(register)) == 1
    for place in trashes.known():
        trash.sweep(place)
    work.rename(home / "away")
    trashes.forget_empty()
    assert len(os.listdir(register)) == 1
    (home / "away").rename(work)
    trashes.forget_empty()
    assert os.listdir(register) == []


def test_a_record_that_points_outside_or_is_damaged_is_no_item(work: Path) -> None:
    (work / "a").write_text("x")
    item = trash.move(work / "a")
    record = Path(item.folder) / trashes.RECORD
    good = json.loads(record.read_text())
    for relative in ("../a", "/etc/passwd", "a/../../b", "", "a//b"):
        record.write_text(json.dumps({**good, "relative": relative}))
        assert trashes.items() == []
    for text in ("", "[]", "{}", json.dumps({**good, "moved": "now"}), "[" * 100_000):
        record.write_text(text)
        assert trashes.items() == []


def test_a_trash_that_others_can_write_into_is_not_used(work: Path) -> None:
    (work / trashes.NAME).mkdir(mode=0o777)
    (work / trashes.NAME).chmod(0o777)
    (work / "a").write_text("x")
    item = trash.move(work / "a")
    assert item.trash == f"{trashes.NAME}-{os.geteuid()}"
    assert trashes.items() == [item]


def test_the_trash_itself_and_what_holds_it_stay(home: Path) -> None:
    root = home / "root"
    (root / "a").mkdir(parents=True)
    trash.move(root / "a")
    with pytest.raises(Refused, match="the trash lies in it"):
        trash.move(root / trashes.NAME, str(root))


@pytest.mark.parametrize("code", [28, 122])
def test_purging_works_on_a_full_disk(work: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def full(item: trashes.TrashItem) -> None:
        raise OSError(code, os.strerror(code))

    folder = tree(work / "cache")
    monkeypatch.setattr(trash_intake, "write", full)
    (outcome,) = apply(Plan((trash.trash_action(folder),)), trash.TRASH_KINDS)
    assert not outcome.done and "--purge" in outcome.reason
    assert folder.exists() and os.listdir(work) == ["cache"]
    trash.purge(folder, identity=path_identity(folder))
    assert os.listdir(work) == []


def test_the_week_is_over(work: Path) -> None:
    (work / "a").write_text("x")
    item = trash.move(work / "a")
    assert trashes.expired([item], now=item.moved + 6.9 * trashes.DAY_S) == []
    assert trashes.expired([item], now=item.moved + 7.1 * trashes.DAY_S) == [item]


@pytest.fixture
def as_nobody(work: Path, home: Path) -> Iterator[None]:
    """What follows is done without root's rights, where the tests have them."""
    if os.geteuid():
        yield
        return
    for path in (home, *home.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    above = list(home.parents)
    modes = {path: path.stat().st_mode for path in above if not path.stat().st_mode & 1}
    for path in modes:
        path.chmod(modes[path] | 0o011)
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        for path, mode in modes.items():
            path.chmod(stat.S_IMODE(mode))


def test_a_read_only_folder_moves_and_keeps_its_mode(work: Path, as_nobody: None) -> None:
    folder = work / "sealed"
    folder.mkdir()
    (folder / "file").write_text("x")
    folder.chmod(0o555)
    item = trash.move(folder)
    assert stat.S_IMODE(os.lstat(item.data).st_mode) == 0o555
    trash.restore(item)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o555
    trash.empty(trash.move(folder))
    assert not folder.exists()


def test_nothing_moves_out_of_a_folder_that_forbids_it(work: Path, as_nobody: None) -> None:
    (work / "sub").mkdir()
    (work / "sub" / "file").write_text("x")
    (work / "sub").chmod(0o555)
    (outcome,) = apply(Plan((trash.trash_action(work / "sub" / "file"),)), trash.TRASH_KINDS)
    assert not outcome.done and "Permission denied" in outcome.reason
    assert os.listdir(work / "sub") == ["file"]
    (work / "sub").chmod(0o755)
