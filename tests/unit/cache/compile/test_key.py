"""Keys and seals: what changes them, and that damaged ones are told."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.cache.compile import key as keys
from mswb.cache.compile.key import Key, Seal
from mswb.cache.compile.seal import main, seal_all
from tests.unit.cache.compile.projects import GRAPH, sha, write

KEY = keys.keyed(Key(cwd="/p", script="/p/t.py", words=("t.py", "A"), code={"t.py": "aa"}, versions={"numpy": "1"}))
_texts = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)


def changed(**parts: object) -> Key:
    return keys.keyed(msgspec.structs.replace(KEY, **parts))


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"words": ("t.py", "B")}, ("arguments",)),
        ({"code": {"t.py": "bb"}}, ("file t.py",)),
        ({"inputs": {"c.json": "cc"}}, ("file c.json",)),
        ({"environment": {"MS_X": "1"}}, ("variable MS_X",)),
        ({"versions": {"numpy": "2"}}, ("version of numpy",)),
        ({"world": {"workers": "8"}}, ("workers",)),
    ],
)
def test_each_part_changes_the_key_and_is_told(parts: dict[str, object], told: tuple[str, ...]) -> None:
    other = changed(**parts)
    assert other.key != KEY.key
    assert keys.differences(other, KEY) == told


def test_what_is_only_told_does_not_change_it() -> None:
    assert changed(git="abc", run="r", created=5.0, cwd="/q").key == KEY.key
    assert keys.differences(KEY, KEY) == ()


@given(_texts, _texts)
def test_keys_differ_when_the_parts_do(one: dict[str, str], two: dict[str, str]) -> None:
    assert (changed(code=one).key == changed(code=two).key) == (one == two)
    assert changed(code=one, inputs=two).key != changed(code=two, inputs=one).key or one == two


def test_a_key_is_found_from_the_graphs(tmp_path: Path) -> None:
    inner = tmp_path / "rank_0" / "graph_cache"
    inner.mkdir(parents=True)
    keys.write_key(str(tmp_path), KEY)
    assert keys.read_key(str(inner)) == KEY
    assert keys.key_folder(str(inner)) == str(tmp_path)
    assert keys.read_seal(str(inner)) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"schema":"other/9","cwd":"","script":null,"words":[]}', "\xff"]
)
def test_a_damaged_key_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / keys.KEY_FILE).write_text(text, "latin-1")
    with pytest.raises(ValueError, match="mswb-key"):
        keys.read_key(str(tmp_path))


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"n\xff.json")
    (tmp_path / name).write_text("{}")
    key = changed(cwd=str(tmp_path), words=(f"t.py {name}",), inputs={name: sha("{}")}, code={})
    assert key.key != changed(cwd=str(tmp_path), words=("t.py",), inputs={}, code={}).key
    keys.write_key(str(tmp_path), key)
    assert keys.read_key(str(tmp_path)) == key and key.digest() == key.key
    assert keys.changed_files(key) == []


def test_changed_and_lost_files(tmp_path: Path) -> None:
    write(tmp_path, {"t.py": "x", "gone.py": "y", "c.json": "{}"})
    code = {name: keys.fingerprint(str(tmp_path / name)) for name in ("t.py", "gone.py")}
    key = changed(cwd=str(tmp_path), code=code, inputs={"c.json": keys.fingerprint(str(tmp_path / "c.json"))})
    assert keys.changed_files(key) == []
    (tmp_path / "gone.py").unlink()
    (tmp_path / "c.json").write_text('{"k": 2}')
    assert keys.changed_files(key) == ["-gone.py", "~c.json"]


def test_large_files_are_named_by_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "WHOLE_BYTES", 4)
    path = write(tmp_path, {"w.bin": "12345"}) / "w.bin"
    os.utime(path, ns=(7, 7))
    assert keys.fingerprint(str(path)) == "5:7"
    assert keys.fingerprint(str(tmp_path)) == "absent"


def test_files_in_arguments(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": "", "b.json": ""})
    words = ("t.py", "a.yaml", "--config=b.json", "--lr=0.1", "absent", "")
    assert keys.data_arguments(words, str(tmp_path)) == [str(tmp_path / "a.yaml"), str(tmp_path / "b.json")]


def test_the_version_of_cann(tmp_path: Path) -> None:
    write(tmp_path, {"compiler/version.info": "Version=8.0.RC3\ntimestamp=1\n"})
    assert keys.cann_version({"ASCEND_HOME_PATH": str(tmp_path)}) == "8.0.RC3"
    assert keys.cann_version({}) == ""


def graphs(folder: Path) -> Path:
    inner = folder / "rank_0" / "graph_cache"
    inner.mkdir(parents=True)
    (inner / "compile_cache_0.mindir").write_bytes(GRAPH.read_bytes())
    (inner / "compile_dependency.hash").write_text("0" * 64)
    keys.write_key(str(folder), KEY)
    return inner


def test_sealing_hashes_each_file(tmp_path: Path) -> None:
    inner = graphs(tmp_path)
    assert seal_all(str(tmp_path), "run1", 0.0) == 1
    seal = keys.read_seal(str(inner))
    assert seal is not None and (seal.key, seal.run) == (KEY.key, "run1")
    assert seal.files == {
        "compile_cache_0.mindir": sha(GRAPH.read_bytes()),
        "compile_dependency.hash": sha("0" * 64),
    }


def test_a_later_run_does_not_seal_what_it_has_not_written(tmp_path: Path) -> None:
    inner = graphs(tmp_path)
    seal_all(str(tmp_path), "run1", 0.0)
    before = keys.read_seal(str(inner))
    path = inner / "compile_cache_0.mindir"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    os.utime(path, (1000, 1000))  # damaged long before the second run began
    seal_all(str(tmp_path), "run2", 2000.0)
    assert keys.read_seal(str(inner)) == before
    os.utime(path, (2500, 2500))  # compiled anew by it
    seal_all(str(tmp_path), "run2", 2000.0)
    after = keys.read_seal(str(inner))
    assert after is not None and after.run == "run2" and after != before


def test_sealing_follows_no_link_and_says_what_it_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = graphs(tmp_path / "one")
    (tmp_path / "two" / "rank_0").mkdir(parents=True)
    (tmp_path / "two" / "rank_0" / "graph_cache").symlink_to(inner)
    keys.write_key(str(tmp_path / "two"), KEY)
    assert seal_all(str(tmp_path / "two"), "r", 0.0) == 0
    assert main([str(tmp_path), "r", "0.0"]) == 1
    assert "was not sealed" in capsys.readouterr().err
    assert main([str(tmp_path / "one"), "r", "0.0"]) == 0


def test_a_seal_of_another_key_does_not_count(tmp_path: Path) -> None:
    inner = graphs(tmp_path)
    keys.write_seal(str(inner), Seal(key="other", run="r", begun=0, ended=1, files={"compile_cache_0.mindir": "00"}))
    seal_all(str(tmp_path), "r", 9e12)
    seal = keys.read_seal(str(inner))
    assert seal is not None and seal.files["compile_cache_0.mindir"] == sha(GRAPH.read_bytes())
