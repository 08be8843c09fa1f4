"""The inventory of a folder: complete, in pieces, within limits, and harmless."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from mswb.cache.locate import Place, places
from mswb.flows import inventory
from mswb.flows.inventory import EVERY, Batch, domain_of, kind_of_file, kind_words, scan
from mswb.settings import load_settings
from tests.unit.inventories import DATA, MODELS, SAMPLES, items_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one of each."""
    root = tmp_path / "project"
    shutil.copytree(DATA, root / "data")
    shutil.copytree(MODELS, root / "models")
    shutil.copytree(SAMPLES / "profile", root / "prof")
    shutil.copytree(SAMPLES / "compile", root / "rank_0" / "graph_cache")
    (root / "train.py").write_text("print()")
    (root / "README.md").write_text("text")
    return root


def test_each_thing_is_listed_once_and_in_its_tab(project: Path) -> None:
    every = items_of(project)
    domains = {name: domain_of(item.kind) for name, item in every.items()}
    assert domains["data/good.tfrecord"] == domains["data/mindrecord/good/good.mindrecord"] == "cache"
    assert domains["models/net.ckpt"] == domains["rank_0/graph_cache"] == "cache"
    assert domains["models/net.onnx"] == domains["models/net.mindir"] == "model"
    assert domains["prof/graph_3step/node1_6906_20261130040509433_ascend_ms"] == "profile"
    assert "train.py" not in every and "README.md" not in every
    alone = {name: item for kind in EVERY for name, item in items_of(project, [kind]).items()}
    assert alone == every


def test_sizes_ages_and_words(project: Path) -> None:
    os.utime(project / "data" / "good.tfrecord", (1e9, 1e9))
    item = items_of(project)["data/good.tfrecord"]
    assert (item.size_bytes, item.modified) == (8450, 1e9)
    assert item.disk_bytes >= 8192 or item.disk_bytes % 512 == 0
    assert kind_words(item.kind) == "TFRecord"
    with pytest.raises(KeyError):
        domain_of("nothing")


def test_tables_of_a_profiler_are_not_data(tmp_path: Path) -> None:
    (tmp_path / "step_trace_time.csv").write_text("Step,Computing,Free\n1,2,3\n")
    (tmp_path / "mine.csv").write_text("a,b,c\n1,2,3\n")
    assert set(items_of(tmp_path, ["cache"])) == {"mine.csv"}
    assert set(items_of(tmp_path, ["profile"])) == {"step_trace_time.csv"}


def test_content_wins_over_the_name(tmp_path: Path) -> None:
    shutil.copy(MODELS / "net.onnx", tmp_path / "weights.ckpt")
    assert items_of(tmp_path)["weights.ckpt"].kind == "onnx"
    assert items_of(tmp_path, ["cache"]) == {}


def _last(batches: list[Batch]) -> Batch:
    assert [batch.finished for batch in batches] == [False] * (len(batches) - 1) + [True]
    return batches[-1]


def _notes(batches: list[Batch]) -> list[str]:
    _last(batches)
    return [note.code for batch in batches for note in batch.notes]


def test_pieces_come_while_it_goes_on(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "PIECE_S", 0.0)
    told: list[str] = []
    batches = list(scan(project, progress=lambda done, whole, unit, text: told.append(text)))
    assert len(batches) > 5 and told and told[0] == str(project.resolve())
    assert _last(batches).folders == sum(1 for _ in os.walk(project)) - _whole_folders(project)
    assert [batch.files for batch in batches] == sorted(batch.files for batch in batches)


def _whole_folders(project: Path) -> int:
    """Folders below those that are one entry."""
    wholes = [*project.glob("prof/*/*_ascend_ms"), *project.glob("rank_0/graph_cache")]
    return sum(sum(1 for _ in os.walk(whole)) - 1 for whole in wholes)


def test_cancelled(project: Path) -> None:
    assert not any(batch.finished for batch in scan(project, cancelled=lambda: True))


def test_other_peoples_folders_are_left_out(tmp_path: Path) -> None:
    for folder in (".git", "node_modules", "lib/site-packages", "venv", "conda", "mine"):
        (tmp_path / folder).mkdir(parents=True)
        shutil.copy(MODELS / "net.onnx", tmp_path / folder / "net.onnx")
    (tmp_path / "venv" / "pyvenv.cfg").write_text("home = /usr")
    (tmp_path / "conda" / "conda-meta").mkdir()
    assert set(items_of(tmp_path)) == {"mine/net.onnx"}
    assert _last(list(scan(tmp_path))).skipped == 5


def test_links_are_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "in", tmp_path / "out"
    root.mkdir()
    shutil.copytree(MODELS, outside)
    (root / "folder").symlink_to(outside)
    (root / "file.onnx").symlink_to(outside / "net.onnx")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.tfrecord")
    assert items_of(root) == {}


def test_limits_are_told(tmp_path: Path) -> None:
    deep = tmp_path / "/".join("abcdefgh")
    deep.mkdir(parents=True)
    shutil.copy(MODELS / "net.onnx", deep / "net.onnx")
    batches = list(scan(tmp_path, depth=3))
    assert _notes(batches) == ["inventory-deep"] and not any(batch.items for batch in batches)
    for number in range(200):
        (tmp_path / f"{number}.bin").write_bytes(b"x")
    batches = list(scan(tmp_path, limit=100))
    assert _last(batches).cut and _notes(batches) == ["inventory-cut"]


def test_folders_that_cannot_be_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (tmp_path / f"private{number}").mkdir()
    shutil.copy(MODELS / "net.onnx", tmp_path / "net.onnx")
    real = os.scandir

    def refuse(path: str) -> object:
        if "private" in path:
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    batches = list(scan(tmp_path))
    notes = [note for batch in batches for note in batch.notes]
    assert len(notes) == inventory.MAX_NOTES + 1
    assert {note.code for note in notes} == {"inventory-unreadable", "inventory-more"}
    assert "private0" in notes[0].title and notes[-1].values["count"] == 10
    assert [item.kind for batch in batches for item in batch.items] == ["onnx"]


def test_files_that_cannot_be_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.bin").write_bytes(b"x")
    monkeypatch.setattr(os, "open", lambda *arguments: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    batches = list(scan(tmp_path))
    assert _notes(batches) == ["inventory-unreadable"] and "a.bin" in str(batches)


def test_an_absent_folder_is_told() -> None:
    assert _notes(list(scan("/nonexistent/folder"))) == ["inventory-unreadable"]


def test_hostile_names(tmp_path: Path) -> None:
    names = [b"\x1b[31m.onnx", b"\xff\xfe.onnx", b"new\nline.onnx", "模型.onnx".encode(), b"[bold].onnx"]
    for name in names:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write((MODELS / "net.onnx").read_bytes())
    items = items_of(tmp_path)
    assert {os.fsencode(name) for name in items} == set(names)
    assert {item.kind for item in items.values()} == {"onnx"}


def test_kind_of_one_file(tmp_path: Path) -> None:
    answer = kind_of_file(MODELS / "net.onnx")
    assert answer is not None and answer[0] == "model"
    assert kind_of_file(tmp_path) is None and kind_of_file(tmp_path / "absent") is None
    link = tmp_path / "link"
    link.symlink_to(MODELS / "net.onnx")
    assert kind_of_file(link) == answer  # named by a person, so followed


def _environ(home: Path, **more: str) -> Mapping[str, str]:
    return {"HOME": str(home), **more}


def test_places(tmp_path: Path) -> None:
    for folder in (".mindspore/a", "atc_data/kernel_cache", "ascend/log", ".cache/huggingface", "moved/kernel_cache"):
        (tmp_path / folder).mkdir(parents=True)
    site = tmp_path / "env" / "lib" / "python3.11" / "site-packages" / "mindspore" / "cache"
    site.mkdir(parents=True)
    found = {place.path: place for place in places(_environ(tmp_path), [str(tmp_path / "env"), "/nonexistent"])}
    mine = {str(Path(path).relative_to(tmp_path)) for path in found if path.startswith(str(tmp_path))}
    assert mine == {
        ".mindspore",
        "atc_data/kernel_cache",
        "ascend/log",
        ".cache/huggingface",
        str(site.relative_to(tmp_path)),
    }
    moved = {place.path for place in places(_environ(tmp_path, ASCEND_CACHE_PATH=str(tmp_path / "moved")))}
    assert str(tmp_path / "moved" / "kernel_cache") in moved
    assert str(tmp_path / "atc_data" / "kernel_cache") not in moved


def test_places_are_summed(tmp_path: Path) -> None:
    root, other = tmp_path / "in", tmp_path / "out"
    (root / "near").mkdir(parents=True)
    (root / "near" / "x").write_bytes(b"1")
    (other / "deep").mkdir(parents=True)
    (other / "deep" / "a").write_bytes(bytes(100))
    elsewhere = [
        Place("download", str(other), "models", "you no longer need them"),
        Place("download", str(root / "near"), "listed by the walk already", "never"),
        Place("download", str(tmp_path / "absent"), "nothing", "never"),
    ]
    items = [item for batch in scan(root, ["cache"], elsewhere=elsewhere) for item in batch.items]
    assert [(item.path, item.size_bytes, item.files) for item in items] == [(str(other), 100, 1)]
    assert "may go when you no longer need them" in items[0].detail
    assert [item for batch in scan(root, ["model"], elsewhere=elsewhere) for item in batch.items] == []


def test_places_of_the_chosen_python(tmp_path: Path) -> None:
    cache = tmp_path / "env" / "lib" / "python3.11" / "site-packages" / "mindspore" / "cache"
    cache.mkdir(parents=True)
    settings = load_settings({"HOME": str(tmp_path), "MSWB_PYTHON": str(tmp_path / "env" / "bin" / "python")})
    assert str(cache) in {place.path for place in inventory.places_of(settings, _environ(tmp_path))}
