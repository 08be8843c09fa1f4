"""What a check says of a folder of graphs, in each state that it can be in; and what a repair moves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mswb.cache.check import Checked, Watch, findings_of
from mswb.cache.compile import key as keys
from mswb.cache.compile.info import info
from mswb.cache.compile.key import Key
from mswb.cache.compile.seal import seal_all
from mswb.cache.compile.verify import Here, check_with, plan
from mswb.plan import apply
from tests.unit.cache.compile.projects import GRAPH, PLAIN, cache, write

NEWER = 4_000_000_000.0


def check(folder: Path, version: str = "2.10.0") -> Checked:
    found = check_with(str(folder), Watch(), Here(version))
    for finding in findings_of(str(folder), "Compile cache", found):
        assert finding.title and "?" not in finding.title and finding.advice
    return found


def simple(tmp_path: Path, text: str = PLAIN) -> Path:
    return write(tmp_path, {"train.py": text, "helper.py": "K = 1\n"})


def sealed(project: Path, **parts: object) -> Path:
    """A folder of graphs as a run under mswb leaves it."""
    code = {name: keys.fingerprint(str(project / name)) for name in ("train.py", "helper.py")}
    script = str(project / "train.py")
    wanted = {"cwd": str(project), "script": script, "words": ("train.py",), "code": code, **parts}
    key = keys.keyed(Key(**wanted))  # type: ignore[arg-type]
    cache(project)
    home = project / "cache" / key.key[: keys.SHORT]
    home.mkdir()
    (project / "cache" / "rank_0").rename(home / "rank_0")
    keys.write_key(str(home), key)
    seal_all(str(home), "run", 0.0)
    return home / "rank_0" / "graph_cache"


def test_fresh_and_nothing_else_that_it_depends_on(tmp_path: Path) -> None:
    found = check(cache(simple(tmp_path)))
    assert (found.status, found.records, found.intact_records) == ("ok", 1, 1)
    assert found.more["script"] == str(tmp_path / "train.py")
    assert "nothing seals it" in found.faults[0].reason


def test_a_changed_script_or_module_is_stale(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path))
    (tmp_path / "helper.py").write_text("K = 2\n")
    found = check(folder)
    assert found.status == "stale-source" and "train.py" in found.faults[0].reason


def test_arguments_are_outside_of_the_hash(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path, f"{PLAIN}import sys\norder = sys.argv[1]\n"))
    found = check(folder)
    assert found.status == "unverified" and "sys.argv (train.py, line 5)" in found.faults[0].reason


def test_a_data_file_that_is_newer_than_the_graphs_is_a_changed_source(tmp_path: Path) -> None:
    folder = cache(write(simple(tmp_path, f"{PLAIN}K = open('net.json').read()\n"), {"net.json": "{}"}))
    assert check(folder).status == "unverified"
    os.utime(tmp_path / "net.json", (NEWER, NEWER))
    found = check(folder)
    assert found.status == "stale-source" and found.faults[0].values["changed"] == ["~net.json"]


def test_modules_that_pythonpath_hides_from_mindspore(tmp_path: Path) -> None:
    project = simple(tmp_path)
    folder = cache(project)
    from mswb.cache.compile.dependency import combine, dependency

    own = dependency(str(project / "train.py"), ()).files
    (folder / "compile_dependency.hash").write_text(combine(own))
    found = check(folder)
    assert found.status == "unverified" and "the modules helper.py" in found.faults[0].reason
    os.utime(project / "helper.py", (NEWER, NEWER))
    assert check(folder).status == "stale-source"


def test_without_its_script_it_is_unverified(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path))
    (tmp_path / "train.py").unlink()
    assert check(folder).status == "unverified"


def test_a_copy_of_the_graphs_alone_is_not_judged_by_scripts_above_it(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path))
    (tmp_path / "helper.py").write_text("K = 2\n")
    copy = tmp_path / "copy"
    folder.rename(copy)
    assert check(copy).status == "unverified"
    (tmp_path / "train.py").rename(copy / "train.py")
    assert check(copy).status == "stale-source"


def test_a_search_path_that_changes_is_no_proof_of_staleness(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path, f"import sys\nsys.path.append('x')\n{PLAIN}"))
    (tmp_path / "helper.py").write_text("K = 2\n")
    found = check(folder)
    assert found.status == "unverified" and "changes sys.path" in found.faults[0].reason


@pytest.mark.parametrize("text", ["", "xyz", "0" * 63, "G" * 64, "0" * 65 + "1"])
def test_a_hash_that_is_none(tmp_path: Path, text: str) -> None:
    folder = cache(simple(tmp_path))
    (folder / "compile_dependency.hash").write_text(text)
    found = check(folder)
    assert found.status == "corrupted" and found.faults[0].offset == 0
    assert found.faults[0].file == str(folder / "compile_dependency.hash")


def test_no_hash_and_no_graph_are_interrupted(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path))
    (folder / "compile_dependency.hash").unlink()
    assert check(folder).status == "interrupted"
    (folder / "compile_dependency.hash").write_text("0" * 64)
    (folder / "compile_cache_0.mindir").unlink()
    assert check(folder).status == "interrupted"


def test_a_cut_graph_is_named_with_its_byte(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path), graphs=3)
    path = folder / "compile_cache_2.mindir"
    path.write_bytes(GRAPH.read_bytes()[:700])
    found = check(folder)
    assert (found.status, found.records, found.intact_records) == ("corrupted", 3, 2)
    assert found.faults[0].file == str(path) and found.faults[0].offset is not None


def test_another_version(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path))
    assert check(folder, "2.9.0").status == "version-mismatch"
    assert check(folder, "").status == "ok"
    (folder / "compile_cache_0.mindir").write_bytes(GRAPH.read_bytes().replace(b"2.10.0", b"2.09.0"))
    assert check(folder).status == "version-mismatch"


def test_sealed_graphs_are_ok_until_a_bit_flips(tmp_path: Path) -> None:
    folder = sealed(simple(tmp_path))
    found = check(folder)
    assert (found.status, found.faults) == ("ok", ())
    path = folder / "compile_cache_0.mindir"
    data = path.read_bytes()
    at = data.index(b"\x00\x00\xe8\x40")  # 7.25 as float32, the constant of the network
    path.write_bytes(data[: at + 2] + b"\xf0" + data[at + 3 :])
    found = check(folder)
    assert found.status == "corrupted" and found.faults[0].file == str(path) and "SHA-256" in found.faults[0].reason


def test_a_sealed_cache_whose_source_changed_names_the_files(tmp_path: Path) -> None:
    folder = sealed(simple(tmp_path))
    (tmp_path / "helper.py").write_text("K = 2\n")
    (tmp_path / "train.py").unlink()
    found = check(folder)
    assert found.status == "stale-source" and found.faults[0].values["changed"] == ["-train.py", "~helper.py"]


def test_another_program_in_a_sealed_folder(tmp_path: Path) -> None:
    folder = sealed(simple(tmp_path))
    (folder / "compile_dependency.hash").write_text("1" * 64)
    assert check(folder).status == "key-mismatch"


def test_a_renamed_folder_and_an_edited_key(tmp_path: Path) -> None:
    folder = sealed(simple(tmp_path))
    home = folder.parents[1]
    other = home.with_name("0" * 16)
    home.rename(other)
    folder = other / "rank_0" / "graph_cache"
    assert check(folder).status == "key-mismatch"
    other.rename(home)
    path = home / keys.KEY_FILE
    path.write_text(path.read_text().replace('"train.py"', '"other.py"', 1))
    assert check(home / "rank_0" / "graph_cache").status == "key-mismatch"


def test_graphs_that_no_run_has_vouched_for(tmp_path: Path) -> None:
    folder = sealed(simple(tmp_path))
    (folder / "compile_cache_1.mindir").write_bytes(GRAPH.read_bytes())
    found = check(folder)
    assert found.status == "unverified" and "compile_cache_1.mindir" in found.faults[0].reason
    (folder / keys.SEAL_FILE).unlink()
    assert check(folder).status == "unverified"
    (folder / keys.SEAL_FILE).write_text("{")
    assert check(folder).status == "key-mismatch"


def test_a_repair_moves_all_that_a_run_would_use_and_nothing_else(tmp_path: Path) -> None:
    project = simple(tmp_path)
    folder = cache(project, graphs=2)
    (folder / "notes.txt").write_text("mine")
    (folder / "compile_cache_9.mindir").symlink_to(project / "train.py")
    (project / "helper.py").write_text("K = 2\n")
    repair = plan(str(folder), check(folder), None)
    assert {os.path.basename(action.target) for action in repair.plan.actions} == {
        "compile_dependency.hash",
        "compile_cache_0.mindir",
        "compile_cache_1.mindir",
    }
    assert len(list(folder.iterdir())) == 5, "planning changes nothing"
    assert all(outcome.done for outcome in apply(repair.plan, repair.kinds))
    left = {path.name for path in folder.iterdir()} - {".mswb-trash"}
    assert left == {"compile_cache_9.mindir", "notes.txt"}
    assert (project / "train.py").exists()


def test_a_folder_with_nothing_else_goes_as_a_whole(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path), graphs=2)
    (folder / "compile_cache_1.mindir").write_bytes(b"")
    repair = plan(str(folder), check(folder), None)
    assert [action.target for action in repair.plan.actions] == [str(folder)]
    assert all(outcome.done for outcome in apply(repair.plan, repair.kinds)) and not folder.exists()


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    import subprocess
    import sys

    folder = cache(simple(tmp_path))
    (folder / "compile_cache_0.mindir").write_bytes(b"")
    code = "import sys; print(1, flush=True); sys.stdin.read()"
    env = {**os.environ, "MS_COMPILER_CACHE_PATH": str(tmp_path / "cache")}
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None and other.stdout.readline()
        repair = plan(str(folder), check(folder), None)
        other.communicate()
    assert not repair.plan.actions and str(other.pid) in repair.plan.warnings[0]


def test_what_is_fine_needs_no_repair(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path))
    assert not plan(str(folder), check(folder), None).plan.actions


def test_each_role_has_a_hash_of_its_own(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path))
    digest = (folder / "compile_dependency.hash").read_text()
    (folder / "MS_WORKERcompile_dependency.hash").write_text(digest)
    (folder / "MS_WORKERcompile_cache_0.mindir").write_bytes(GRAPH.read_bytes())
    assert (check(folder).status, check(folder).records) == ("ok", 2)
    (folder / "MS_WORKERcompile_dependency.hash").write_text("1" * 64)
    assert check(folder).status == "stale-source"


def test_a_graph_that_is_missing_between_others_is_named(tmp_path: Path) -> None:
    folder = cache(simple(tmp_path), graphs=4)
    (folder / "compile_cache_1.mindir").unlink()
    found = check(folder)
    assert found.status == "unverified" and "compile_cache_1.mindir is missing" in found.faults[0].reason


def test_a_quick_check_compares_the_seals_alone(tmp_path: Path) -> None:
    folder = sealed(simple(tmp_path))
    assert check_with(str(folder), Watch(), Here(), deep=False).status == "ok"
    (folder / "compile_cache_0.mindir").write_bytes(b"x")
    assert check_with(str(folder), Watch(), Here(), deep=False).status == "corrupted"
    (folder / keys.SEAL_FILE).unlink()
    assert check_with(str(folder), Watch(), Here(), deep=False).status == "unverified"


def test_a_damaged_file_is_told_once(tmp_path: Path) -> None:
    folder = sealed(simple(tmp_path))
    (folder / "compile_cache_0.mindir").write_bytes(b"x")
    assert [fault.code for fault in check(folder).faults] == ["corrupted"]


def test_what_is_known_of_a_folder(tmp_path: Path) -> None:
    folder = sealed(simple(tmp_path))
    found = info(str(folder))
    assert found["command"] == "train.py" and found["sealed"] is True and found["run"] == "run"
    assert found["graphs"] == {"compile_cache_0.mindir": GRAPH.stat().st_size}
    (folder / keys.SEAL_FILE).write_text("{")
    assert "mswb-seal.json" in info(str(folder))["problem"]
    assert info(str(cache(simple(tmp_path / "other")))) == {"graphs": found["graphs"], "sealed": False}


def test_a_graph_that_cannot_be_read_is_not_vouched_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sealed(simple(tmp_path))

    def refuse(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(keys, "file_hash", refuse)
    assert check_with(str(folder), Watch(), Here(), deep=False).status == "unverified"
