"""Listing the files of a source, and what has changed between two lists."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.inside.cached.digest import Digester
from mswb.inside.cached.files import Listed, compare, digest, list_files, parse, render, source_changes
from mswb.inside.cached.roots import images_of_manifest, paths_among, paths_in


def tree(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def test_changes_are_told_by_path(tmp_path: Path) -> None:
    data = tmp_path / "data"
    tree(data, "a/1.jpg", "a/2.jpg", "b/3.jpg")
    before = list_files([str(data)])
    (data / "a/1.jpg").unlink()
    (data / "b/3.jpg").write_text("more")
    tree(data, "b/4.jpg")
    changes = compare(before, list_files([str(data)]))
    assert changes.added == (str(data / "b/4.jpg"),)
    assert changes.removed == (str(data / "a/1.jpg"),)
    assert changes.changed == (str(data / "b/3.jpg"),)
    assert str(changes) == "+1 -1 ~1 (3.jpg, 1.jpg, 4.jpg)"


def test_a_change_that_keeps_size_and_time_shows_only_by_content(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    loose, strict = list_files([str(file)]), list_files([str(file)], strict=True)
    times = os.stat(file)
    file.write_text("two")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not compare(loose, list_files([str(file)]))
    assert compare(strict, list_files([str(file)], strict=True)).changed == (str(file),)
    os.utime(file, ns=(1, 1))
    file.write_text("one")
    assert not compare(strict, list_files([str(file)], strict=True))
    assert digest(strict, True) == digest(list_files([str(file)], strict=True), True)


def test_links_to_data_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    tree(tmp_path / "real", "x/1.jpg")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/link").symlink_to(tmp_path / "real")
    (tmp_path / "real/x/up").symlink_to(tmp_path / "real")
    (tmp_path / "data/broken").symlink_to(tmp_path / "nowhere")
    found = list_files([str(tmp_path / "data")])
    assert list(found[str(tmp_path / "data")]) == ["link/x/1.jpg"]


def test_the_caches_own_folder_and_roots_within_roots_are_left_out(tmp_path: Path) -> None:
    tree(tmp_path, "data/1.jpg", "cache/name/key/0000.shard")
    found = list_files([str(tmp_path), str(tmp_path / "data")], without=[str(tmp_path / "cache")])
    assert {root: list(files) for root, files in found.items()} == {str(tmp_path): ["data/1.jpg"]}


def test_paths_are_found_in_attributes(tmp_path: Path, monkeypatch: object) -> None:
    tree(
        tmp_path,
        "train/1.jpg",
        "labels.txt",
        "set.mindrecord0",
        "set.mindrecord0.db",
        "set.mindrecord1",
        "set.mindrecord1.db",
    )
    train, labels, record = (str(tmp_path / name) for name in ("train", "labels.txt", "set.mindrecord0"))
    attributes = {
        "root": train,
        "names": [f"{train}/1.jpg", "no/such/file"],
        "labels": tmp_path / "labels.txt",
        "separator": "/",
        "mode": "train",
        "records": {"a": [record]},
    }
    expected = {train, labels, record}
    assert set(paths_in(attributes)) >= expected
    assert {os.path.basename(path) for path in set(paths_in(attributes)) - expected} == {
        "set.mindrecord0.db",
        "set.mindrecord1",
        "set.mindrecord1.db",
    }
    assert paths_in({"data_dir": "."}) == ["."]


def test_a_cache_folder_says_what_has_changed(tmp_path: Path) -> None:
    cache = tmp_path / "root/name/key"
    tree(tmp_path, "data/1.jpg")
    cache.mkdir(parents=True)
    assert source_changes(str(cache)) is None
    (cache / "source.list").write_bytes(render(list_files([str(tmp_path / "data")])))
    assert not source_changes(str(cache))
    tree(tmp_path, "data/2.jpg")
    changes = source_changes(str(cache))
    assert changes is not None and changes.added == (str(tmp_path / "data/2.jpg"),)
    (cache / "source.list").write_text("rubbish")
    assert source_changes(str(cache)) is None


listed = st.builds(Listed, st.integers(0), st.integers(0), st.sampled_from(["-", "ab" * 32]))
names = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=8)


@given(st.dictionaries(names, st.dictionaries(names, listed, max_size=3), max_size=3))
def test_a_list_is_read_as_it_was_written(files: dict[str, dict[str, Listed]]) -> None:
    assert parse(render(files).decode("ascii")) == files


ROOT = ""


class Folder:
    """Reads files of a folder that its attribute names."""

    def __init__(self, root: str) -> None:
        self.where = root

    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> int:
        return os.stat(os.path.join(self.where, "1.jpg")).st_size


class Wrapped:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> Any:
        return self.inner[number]


def reads_global() -> Any:
    yield os.stat(os.path.join(ROOT, "1.jpg")).st_size


def closure(root: str) -> Any:
    return lambda x: (root, x)


def of_class(root: str) -> Any:
    return type("Named", (Wrapped,), {"root": root})(None)


def of_code(root: str) -> Any:
    space = {"__name__": __name__}
    exec(f"def read(x):\n    return open({root + '/%d.jpg'!r} % x)\n", space)
    return space["read"]


@pytest.mark.parametrize(
    "made",
    [
        lambda root: Wrapped(Folder(root)),
        lambda root: Wrapped({"inner": [Folder(root)]}),
        lambda root: reads_global,
        closure,
        of_class,
        of_code,
        lambda root: functools.partial(reads_global, Path(root)),
    ],
    ids=["nested", "nested deeply", "global", "closure", "class", "pattern in code", "partial"],
)
def test_paths_are_found_wherever_code_takes_them_from(
    tmp_path: Path, made: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    tree(tmp_path, "data/1.jpg")
    root = str(tmp_path / "data")
    monkeypatch.setitem(globals(), "ROOT", root)
    digester = Digester()
    digester.digest(made(root), "the source")
    assert paths_among(digester.texts) == ([root], [])


def test_a_path_that_leaves_a_known_folder_is_none_of_it(tmp_path: Path) -> None:
    tree(tmp_path, "data/1.jpg", "labels.npy")
    root = str(tmp_path / "data")
    found = paths_in({"root": root, "labels": os.path.join(root, "..", "labels.npy"), "first": root + "/1.jpg"})
    assert found == [root, str(tmp_path / "labels.npy")]


def test_the_folder_of_the_training_is_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project/logs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    texts = [("HERE", str(tmp_path / "project")), ("ABOVE", str(tmp_path)), ("none", "/proc/self/stat")]
    assert paths_among([*texts, ("x", "logs"), ("", "/")]) == (["logs"], [text for _, text in texts[:2]])


def test_the_images_that_a_manifest_names(tmp_path: Path) -> None:
    tree(tmp_path, "1.jpg", "2.jpg")
    lines = [json.dumps({"source": str(tmp_path / name)}) for name in ("1.jpg", "2.jpg", "gone.jpg")]
    (tmp_path / "all.manifest").write_text("\n".join([*lines, "no json", "[1]", '{"source": 1}']))
    found = images_of_manifest(str(tmp_path / "all.manifest"))
    assert found == [str(tmp_path / "1.jpg"), str(tmp_path / "2.jpg")]
    assert images_of_manifest(str(tmp_path / "gone")) == []
