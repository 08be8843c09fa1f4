"""``mswb cache verify``, ``repair``, ``baseline``: reports by the schema, exit codes, what lies on the disk after."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mswb.cli.app import run

FIXTURES = Path(__file__).parents[2] / "fixtures"
DATA = FIXTURES / "cache"
GOOD = FIXTURES / "inventory/data/mindrecord/good"
SCHEMA = json.loads((FIXTURES / "report.schema.json").read_text())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("MSWB_LANG", "en")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sample(home: Path, name: str) -> Path:
    """A copy of a TFRecord sample that a test may change."""
    target = home / "work" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / "tfrecord" / name, target)
    return target


def mindrecord(home: Path, *, flip: int | None = None, cut: int | None = None, index: bool = True) -> Path:
    """A folder with the MindRecord sample, with one bit flipped, cut, or without its index."""
    folder = home / "work/mindrecord"
    folder.mkdir(parents=True, exist_ok=True)
    data = bytearray((GOOD / "good.mindrecord").read_bytes())
    if flip is not None:
        data[flip] ^= 0x10
    (folder / "good.mindrecord").write_bytes(data[:cut])
    if index:
        shutil.copy(GOOD / "good.mindrecord.db", folder)
    return folder


def report(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> dict[str, Any]:
    assert run(["cache", *map(str, arguments), "--format", "json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return found


def test_a_folder_of_files_worst_first(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("good.tfrecord", "flip_data.tfrecord"):
        sample(home, name)
    mindrecord(home, flip=49492)
    found = report(capsys, "verify", home / "work", code=1)
    rows = [(Path(row["path"]).name, row["kind"], row["status"], row["records"]) for row in found["entries"]]
    assert sorted(rows[:2]) == [
        ("flip_data.tfrecord", "tfrecord", "corrupted", 50),
        ("good.mindrecord", "mindrecord", "corrupted", 60),
    ]
    assert [row[2] for row in rows[2:]] == ["ok"]
    places = {(Path(one["where"]["file"]).name, one["where"]["offset"]) for one in found["findings"]}
    assert places == {("flip_data.tfrecord", 1690), ("good.mindrecord", 49492)}


def test_text_fits_a_terminal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mindrecord(home, cut=50052)
    assert run(["cache", "verify", "work"]) == 1
    text = capsys.readouterr().out
    assert "truncated" in text and "26/60" in text and "byte 50036" in text
    assert [line for line in text.split("\n") if len(line) > 80 and " " in line.strip()] == []


def test_a_record_count_shows_a_cut_at_a_boundary(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = sample(home, "trunc_at_boundary.tfrecord")
    assert report(capsys, "verify", cut)["entries"][0]["status"] == "ok"
    found = report(capsys, "verify", cut, "--records", 50, code=1)
    assert found["entries"][0]["status"] == "count-mismatch" == found["findings"][0]["code"]
    sample(home, "good.tfrecord")
    assert run(["cache", "verify", str(cut.parent), "--records", "50"]) == 2


@pytest.mark.parametrize(
    ("name", "left"),
    [("flip_data.tfrecord", 49), ("trunc_in_data.tfrecord", 30), ("concatenated_partial_middle.tfrecord", None)],
)
def test_repair_writes_what_is_whole_beside(
    home: Path, capsys: pytest.CaptureFixture[str], name: str, left: int | None
) -> None:
    damaged = sample(home, name)
    before = damaged.read_bytes()
    plan = report(capsys, "repair", damaged, "--dry-run")
    assert plan["schema"] == "mswb.plan/1" and plan["actions"] and not plan["applied"]
    assert [path.name for path in damaged.parent.iterdir()] == [name]
    assert all(action["done"] for action in report(capsys, "repair", damaged, "--force")["actions"])
    (repaired,) = (path for path in damaged.parent.iterdir() if path != damaged)
    assert damaged.read_bytes() == before
    (entry,) = report(capsys, "verify", repaired)["entries"]
    assert entry["status"] == "ok" and entry["records"] == entry["intact_records"]
    assert left is None or entry["records"] == left


def test_repair_to_a_place_of_ones_own(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged, target = sample(home, "flip_data.tfrecord"), home / "mended.tfrecord"
    report(capsys, "repair", damaged, "--output", target, "--force")
    assert report(capsys, "verify", target)["entries"][0]["records"] == 49


def test_a_lost_index_is_made_again(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = mindrecord(home, index=False)
    assert report(capsys, "verify", folder, code=1)["entries"][0]["status"] == "index-missing"
    report(capsys, "repair", folder, "--force")
    (entry,) = report(capsys, "verify", folder)["entries"]
    assert (entry["status"], entry["records"]) == ("ok", 60)


def test_what_is_fine_or_hopeless_changes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, garbage = sample(home, "good.tfrecord"), sample(home, "garbage.tfrecord")
    assert report(capsys, "repair", good, "--force")["actions"] == []
    found = report(capsys, "repair", garbage, "--force", code=1)
    assert found["actions"] == [] and found["warnings"]
    assert sorted(path.name for path in good.parent.iterdir()) == ["garbage.tfrecord", "good.tfrecord"]


def test_a_baseline_shows_what_the_format_cannot(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = mindrecord(home)
    shutil.copy(DATA / "tfrecord/good.tfrecord", folder)
    found = report(capsys, "baseline", folder)
    assert {(Path(row["path"]).name, row["records"]) for row in found["baselines"]} == {
        ("good.mindrecord", 60),
        ("good.tfrecord", 50),
    }
    assert report(capsys, "verify", folder)["findings"] == []
    mindrecord(home, flip=18524)
    shutil.copy(DATA / "tfrecord/trunc_at_boundary.tfrecord", folder / "good.tfrecord")
    found = report(capsys, "verify", folder, code=1)
    status = {Path(row["path"]).name: row["status"] for row in found["entries"]}
    assert status == {"good.mindrecord": "payload-changed", "good.tfrecord": "count-mismatch"}
    assert 18464 in [one["where"]["offset"] for one in found["findings"]]
    assert report(capsys, "verify", folder, "--no-baseline")["findings"] == []
    (folder / "good.tfrecord").unlink()
    assert "file-missing" in [one["code"] for one in report(capsys, "verify", folder, code=1)["findings"]]


def test_a_baseline_is_not_replaced_without_a_word(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = mindrecord(home)
    for name in ("good.tfrecord", "trunc_at_boundary.tfrecord"):
        shutil.copy(DATA / "tfrecord" / name, folder)
    report(capsys, "baseline", folder)
    kept = {path: path.read_bytes() for path in folder.rglob("*mswb*.json")}
    assert len(kept) == 4
    assert len(report(capsys, "baseline", folder)["baselines"]) == 3
    mindrecord(home, flip=18524)
    shutil.copy(folder / "trunc_at_boundary.tfrecord", folder / "good.tfrecord")
    (folder / "trunc_at_boundary.tfrecord").unlink()
    wanted = {"payload-changed", "count-mismatch", "file-missing"}
    found = report(capsys, "baseline", folder, code=1)
    assert wanted <= {one["code"] for one in found["findings"]} and found["baselines"] == []
    assert {path: path.read_bytes() for path in kept} == kept
    assert run(["cache", "baseline", str(folder)]) == 1 and "--replace makes the baseline" in capsys.readouterr().out
    found = report(capsys, "baseline", folder, "--replace")
    told = {Path(row["path"]).name: row["replaced"] for row in found["baselines"]}
    assert told["good.tfrecord"].endswith("the baseline has 50") and "is not what it was" in told["good.mindrecord"]
    assert [Path(path).name for path in found["forgotten"]] == ["trunc_at_boundary.tfrecord"]
    assert report(capsys, "verify", folder)["findings"] == []


def test_damaged_files_get_no_baseline(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = sample(home, "flip_data.tfrecord")
    found = report(capsys, "baseline", damaged, code=1)
    assert found["baselines"] == [] and found["findings"][0]["code"] == "corrupted"
    assert [path.name for path in damaged.parent.iterdir()] == ["flip_data.tfrecord"]


def test_what_mindspore_cannot_read_is_an_error(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = mindrecord(home)
    packed, renamed, never = home / "packed", home / "renamed", home / "never"
    for place in (packed, renamed, never):
        place.mkdir()
    (packed / "good.mindrecord").write_bytes(gzip.compress((folder / "good.mindrecord").read_bytes()))
    for ending in ("", ".db"):
        shutil.copy(folder / f"good.mindrecord{ending}", renamed / f"new.mindrecord{ending}")
    (never / "a.mindrecord").write_bytes(bytes(70000))
    for place, status in ((packed, "compressed"), (renamed, "renamed"), (never, "interrupted")):
        for command in (["verify", str(place)], ["list", "--path", str(place)]):
            found = report(capsys, *command, code=1)
            assert [(one["code"], one["severity"]) for one in found["findings"]] == [(status, "error")]
    (packed / "good.mindrecord").unlink()
    shutil.copy(DATA / "tfrecord/good.tfrecord.gz", packed)
    assert [one["severity"] for one in report(capsys, "verify", packed)["findings"]] == ["note"]


def test_a_glance_says_first_what_is_wrong(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mindrecord(home, cut=50052)
    (finding,) = report(capsys, "list", "--path", "work", code=1)["findings"]
    assert finding["title"].startswith("the MindRecord is cut off: its pages need ")


def test_one_unknown_path_does_not_hide_the_others(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, damaged, odd = sample(home, "good.tfrecord"), sample(home, "flip_data.tfrecord"), home / "work/rand.bin"
    odd.write_bytes(b"\x01\x02nothing that is known" * 9)
    found = report(capsys, "verify", good, damaged, odd, code=1)
    rows = {Path(row["path"]).name: (row["kind"], row["status"]) for row in found["entries"]}
    assert rows == {
        "good.tfrecord": ("tfrecord", "ok"),
        "flip_data.tfrecord": ("tfrecord", "corrupted"),
        "rand.bin": ("unknown", "not-a-record-file"),
    }
    assert {(one["code"], one["severity"]) for one in found["findings"]} == {
        ("corrupted", "error"),
        ("not-a-record-file", "error"),
    }
    assert run(["cache", "verify", str(good), str(odd)]) == 1
    assert "not-a-record-file" in capsys.readouterr().out
    assert len(report(capsys, "verify", home / "work", code=1)["entries"]) == 2
    found = report(capsys, "verify", good, home / "none", odd, code=2)
    assert len(found["entries"]) == 2 and "path-missing" in {one["code"] for one in found["findings"]}
    assert run(["cache", "verify", str(good), str(home / "none")]) == 2
    shown = capsys.readouterr().out
    assert "path-missing" in shown and "good.tfrecord" in shown


def test_no_such_path_and_no_such_kind(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "verify", home / "none", code=2)
    assert found["entries"] == [] and found["findings"][0]["code"] == "path-missing"
    (home / "notes.txt").write_text("hello\n")
    assert report(capsys, "verify", home / "notes.txt", code=2)["findings"][0]["code"] == "not-a-record-file"
    assert report(capsys, "repair", home / "none", code=2)["actions"] == []


def test_a_packed_file_and_its_plain_twin_go_to_two_files(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = sample(home, "flip_data.tfrecord")
    packed = Path(f"{plain}.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    actions = report(capsys, "repair", plain.parent, "--force")["actions"]
    assert {action["target"]: action["done"] for action in actions} == {
        f"{plain}.repaired": True,
        f"{packed}.repaired": True,
    }
    assert [action["detail"].endswith("saved unpacked") for action in actions] == [False, True]
    assert Path(f"{packed}.repaired").read_bytes() == Path(f"{plain}.repaired").read_bytes()


def test_a_repair_writes_no_packed_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "repair", sample(home, "flip_data.tfrecord"), "--output", home / "new.GZ", "--force", code=2)
    assert found["findings"][0]["code"] == "repair-output-packed"


def test_why_nothing_is_repaired(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, code, said in (
        ("good.tfrecord", 0, "nothing to repair: no damage was found"),
        ("garbage.tfrecord", 1, "nothing was repaired: 1 damaged, of which nothing can be saved here"),
        ("flip_data.tfrecord", 1, "nothing was repaired: work/flip_data.tfrecord.repaired is there already"),
    ):
        path = sample(home, name)
        Path("work/flip_data.tfrecord.repaired").touch()
        assert run(["cache", "repair", str(path)]) == code
        assert said in capsys.readouterr().out.replace("\n    ", " ")


def test_what_is_cut_off_is_told_that_it_can_be_repaired(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (sample(home, "trunc_in_data.tfrecord"), mindrecord(home, cut=50036) / "good.mindrecord"):
        found = report(capsys, "verify", path, code=1)
        (cut,) = (one for one in found["findings"] if one["code"] == "truncated")
        assert cut["advice"][0] == f"mswb cache repair {path}: saves the whole records into a new file"
        assert len(cut["advice"]) == 2
