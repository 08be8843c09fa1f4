"""Names of entries: as short as they can be, and never two alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.files.items import Item
from mswb.ui.panes.inventory.names import distinct
from mswb.ui.panes.inventory.rows import names_of
from mswb.ui.widgets.table.text import fit


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/x.npy", "b/y.npy"], ["x.npy", "y.npy"]),
        (["x.npy", "a/x.npy"], ["x.npy", "a/x.npy"]),
        (["bad/train.mindrecord", "demo/bad/train.mindrecord"], ["bad/train.mindrecord", "demo/bad/train.mindrecord"]),
        (["p/q/x.npy", "p/r/x.npy", "/o/r/x.npy"], ["q/x.npy", "p/r/x.npy", "o/r/x.npy"]),
        (
            ["runs/2026-11-29/cache/good.mindrecord", "runs/2026-11-30/cache/good.mindrecord"],
            ["…-29/…/good.mindrecord", "…-30/…/good.mindrecord"],
        ),
    ],
)
def test_a_name_is_as_much_of_the_path_as_it_needs(paths: list[str], names: list[str]) -> None:
    assert distinct(paths, 22) == names


FOLDERS = st.lists(st.sampled_from(["a", "b", "long-folder-name"]), max_size=4)


@given(st.lists(FOLDERS, min_size=1, max_size=12, unique_by=tuple))
def test_no_two_names_are_the_same(folders: list[list[str]]) -> None:
    names = distinct(["/".join([*one, "x.npy"]) for one in folders], 22)
    assert len(set(names)) == len(names)


def test_a_cut_path_keeps_its_end_and_a_cut_name_its_beginning() -> None:
    assert fit("demo/bad/train.mindrecord", 22, cut="path") == "…" + "demo/bad/train.mindrecord"[-21:]
    assert fit("a-very-long-name.mindrecord", 10, cut="path") == "a-very-lo…"


def test_caches_of_one_name_are_told_apart_by_their_keys() -> None:
    items = [Item("file-cache", f"/store/train/{key}", 1, 1, 0.0, "") for key in ("0f3c", "77aa")]
    assert names_of(items, "/p", ["train", "train"]) == ["0f3c/train", "77aa/train"]
    assert names_of(items, "/p", ["train", "val"]) == ["train", "val"]
