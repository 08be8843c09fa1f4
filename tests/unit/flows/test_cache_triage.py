"""From words, logs and runs to the guilty file and record."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mswb.cli.app import run
from mswb.findings import MswbError
from mswb.flows.cache_evidence import Evidence, Text, gather
from mswb.flows.cache_triage import triage
from mswb.settings import load_settings

SCHEMA = json.loads((Path(__file__).parents[2] / "fixtures" / "report.schema.json").read_text())
DATA = Path(__file__).parents[2] / "fixtures" / "inventory" / "data"
SERVER = Path(__file__).parents[2] / "fixtures" / "cache" / "server"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path / "caches"))
    monkeypatch.setenv("MSWB_LANG", "en")
    monkeypatch.setenv("COLUMNS", "80")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def damaged(path: Path) -> Path:
    """A TFRecord whose record 10 has a changed byte; records of 169 bytes."""
    content = bytearray((DATA / "good.tfrecord").read_bytes())
    content[1690 + 60] ^= 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def asked(*words: str, data: Sequence[str] = (), stdin: bytes = b"") -> Evidence:
    return gather(words, data, load_settings(), lambda: stdin)


def report(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = run(["cache", "triage", *words, "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return code, found


def test_the_file_that_a_text_names_is_verified(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged(home / "data" / "x.tfrecord")
    shutil.copy(DATA / "good.tfrecord", home / "data" / "other.tfrecord")
    code, found = report(capsys, "The corresponding data file is: data/x.tfrecord. Failed to parse example bytes: z")
    assert code == 1
    assert [row["path"] for row in found["entries"]] == [str(home / "data" / "x.tfrecord")]
    root = found["findings"][found["root"]]
    assert (root["code"], root["where"]["offset"], root["values"]["record"]) == ("corrupted", 1690, 10)
    assert [one["code"] for one in found["symptoms"]] == ["triage-parse"]


def test_without_a_name_the_folder_is_searched_for_files_of_that_kind(home: Path) -> None:
    damaged(home / "deep" / "er" / "x.tfrecord")
    shutil.copytree(DATA / "mindrecord", home / "m")
    found = triage(asked("RuntimeError: std::bad_alloc"))
    assert [entry.form for entry in found.entries] == ["tfrecord"]
    assert [finding.code for finding in found.findings] == ["corrupted", "triage-length"]


def test_whole_files_are_said_to_be_whole(home: Path) -> None:
    shutil.copy(DATA / "good.tfrecord", home / "x.tfrecord")
    found = triage(asked("basic_string::resize"))
    assert [finding.code for finding in found.findings] == ["triage-length", "triage-whole"]


def test_a_crash_is_told_only_with_damaged_data(home: Path) -> None:
    assert [one.code for one in triage(asked("Fatal error: Segmentation fault")).findings] == ["triage-unknown"]
    shutil.copytree(DATA / "mindrecord", home / "m")
    data = next((home / "m").rglob("*.mindrecord"))
    content = bytearray(data.read_bytes())
    content[48] ^= 0xFF
    data.write_bytes(content)
    found = triage(asked("Fatal error: Segmentation fault"))
    assert found.findings[0].where.file == str(data)
    assert found.findings[-1].code == "triage-crash"


def test_standard_input_logs_and_unknown_words(home: Path) -> None:
    text = (SERVER / "17_destroy_midrun_client.txt").read_bytes()
    (found,) = triage(asked("-", stdin=text)).findings
    assert (found.code, found.values["session"]) == ("cache-id-lost", 4066335210)
    (home / "worker_0.log").write_bytes((SERVER / "10a_generator_not_supported.txt").read_bytes())
    (found,) = triage(asked("worker_0.log")).findings
    assert found.code == "triage-cache-refused" and found.where.line and found.where.file
    assert [one.code for one in triage(asked("hello", "world")).findings] == ["triage-unknown"]


def test_a_word_is_a_run_unless_it_is_a_symptom() -> None:
    assert asked("ConvertLabelToJson").texts
    assert asked("显存持续增长").texts
    with pytest.raises(MswbError):
        asked("no_such_run")
    with pytest.raises(MswbError):
        asked("std::bad_alloc", data=["nowhere"])


def test_the_three_symptoms_of_the_article(home: Path) -> None:
    codes = [
        [one.code for one in triage(asked(text)).findings]
        for text in (
            "ValueError: Invalid cache file format",
            "IndexError: list index out of range in create_tuple_iterator()",
            "GPU 显存占用异常高，且nvidia-smi显示compute进程显存持续增长",
        )
    ]
    assert [one[0] for one in codes] == ["triage-cache-format", "triage-count", "triage-device-memory"]


def test_data_that_a_person_names_is_verified_whatever_the_text_says(home: Path) -> None:
    path = damaged(home / "x.tfrecord")
    found = triage(asked("nothing known", data=[str(path)]))
    assert found.findings[0].code == "corrupted"
    assert triage(asked(str(path))).findings[0].code == "corrupted"


def test_a_slow_cache_on_the_root_is_found(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mswb.cache.entries import Entry
    from mswb.flows import cache_triage

    folder = tmp_path / "caches" / "train" / "0123456789abcdef"
    folder.mkdir(parents=True)
    times = {"load_ms": {"mean": 180.0, "count": 500}, "source_ms": {"mean": 12.0, "count": 500}}
    (folder / "stats.json").write_text(json.dumps(times))
    monkeypatch.setattr(cache_triage, "_file_caches", lambda case: [Entry(str(folder), "file-cache", "train")])
    found = triage(Evidence((Text(("the cache is slower than reading the images",)),)))
    assert "cache-slower" in [one.code for one in found.findings]


def test_full_disks_and_shared_memory_are_measured() -> None:
    (shm,) = triage(asked("RuntimeError: row size is larger than allocated shared memory")).findings
    assert shm.code == "triage-shm" and isinstance(shm.values["free_mib"], int)
    (disk,) = triage(asked("OSError: [Errno 28] No space left on device: '/tmp/some/file'")).findings
    assert disk.code == "triage-disk-full" and isinstance(disk.values["free_mib"], int)


def test_a_log_folder_leads_to_what_its_script_reads(home: Path) -> None:
    from mswb.flows.cache_evidence import _hints, _Known

    damaged(home / "elsewhere" / "x.tfrecord")
    script = home / "train.py"
    script.write_text("import os\nF = os.path.join('elsewhere', 'y')\nG = 'elsewhere/*.tfrecord'\nH = '/'\n")
    found = list(_hints(_Known(str(home), str(script), ("python", "train.py", "--data=elsewhere"))))
    assert found == [str(home / "elsewhere"), str(home / "elsewhere" / "x.tfrecord")]
    script.write_text("not python (")
    assert list(_hints(_Known(str(home), str(script)))) == []


def test_the_text_for_people(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged(home / "x.tfrecord")
    assert run(["cache", "triage", "RuntimeError: basic_string::resize"]) == 1
    out = capsys.readouterr().out
    assert "to blame: x.tfrecord" in out and "at byte 1690" in out
    wide = [line for line in out.splitlines() if len(line) > 80]
    assert all(str(home) in line and line.startswith("            ") for line in wide)  # a path is never cut
    assert run(["cache", "triage", "nothing", "of", "the", "kind"]) == 0
    assert "nothing to blame" in capsys.readouterr().out
    assert os.listdir(home) == ["x.tfrecord"]


def test_of_a_long_log_both_ends_are_read(home: Path) -> None:
    filler = b"a quiet line of a log\n" * 100_000
    first = b"mswb: stale-source: session 7 on port 50177 serves old rows: files +0 -0 ~1 (9.png)\n"
    (home / "worker_0.log").write_bytes(first + filler + b"RuntimeError: basic_string::resize\n")
    found = triage(asked("worker_0.log"))
    assert [one.code for one in found.findings[:2]] == ["triage-stale", "triage-length"]
    where = found.findings[0].where
    assert (where.file, where.line) == (str(home / "worker_0.log"), None)


def failed_run(home: Path, tmp_path: Path) -> str:
    """A run whose training died of a damaged file that only the script names."""
    from mswb.jobs.spec import JobSpec, ProcessStatus, RunStatus, write_record

    damaged(home / "data" / "x.tfrecord")
    shutil.copy(DATA / "good.tfrecord", home / "y.tfrecord")
    script = home / "train.py"
    script.write_text("import mindspore.dataset as ds\nds.TFRecordDataset(['data/x.tfrecord'])\n")
    logs = home / "ms_run_log" / "r1"
    logs.mkdir(parents=True)
    (logs / "worker_0.log").write_text("step 1\nRuntimeError: basic_string::resize\n")
    folder = tmp_path / "state" / "runs" / "20261130_101010_7"
    folder.mkdir(parents=True)
    spec = JobSpec(
        id=folder.name,
        kind="launch",
        title="train",
        cwd=str(home),
        env={},
        processes=(),
        script=str(script),
        log_dir=str(logs),
        command_line=("mswb", "run", "train.py"),
    )
    worker = ProcessStatus(role="worker", pid=7, start_time=1, rank=0, state="ended", exit_code=1)
    status = RunStatus(
        id=folder.name,
        kind="launch",
        backend="direct",
        title="train",
        cwd=str(home),
        host="h",
        boot_id="b",
        pid=6,
        start_time=1,
        state="ended",
        created=1.0,
        heartbeat=1.0,
        exit_code=1,
        processes=[worker],
        script=str(script),
        log_dir=str(logs),
    )
    write_record(folder / "spec.json", spec)
    for path in (folder / "status.json", logs / "run.json"):
        write_record(path, status)
    return str(logs)


def test_a_failed_run_leads_to_the_file_that_its_script_reads(home: Path, tmp_path: Path) -> None:
    logs = failed_run(home, tmp_path)
    for words in ((), ("20261130",), (logs,)):
        found = triage(asked(*words))
        assert [entry.path for entry in found.entries] == [str(home / "data" / "x.tfrecord")]
        assert [one.code for one in found.findings] == ["corrupted", "triage-length"]
        where = found.findings[1].where
        assert (where.file, where.line) == (os.path.join(logs, "worker_0.log"), 2)


DECODE = (
    "[ERROR] map operation: [Decode] failed. The corresponding data file is: imgs/dog/5.jpg. Error raised by libjpeg: "
    "Empty input file Dump the abnormal image to [./abnormal_image.jpg]. You can check this image first."
)
REMADE = (
    "mswb cache: train: made again, since stale-source: +0 -0 ~1 (5.jpg) (the old one is /c/train/3df41bee9277d90a)"
)


@pytest.mark.parametrize(
    ("content", "codes"),
    [
        (b"", ["image-damaged", "triage-data-file"]),
        (b"\xff\xd8\xff\xda\0\x02abc\xff\xd9", ["triage-data-file", "triage-image-whole"]),
        (b"version https://git-lfs.github.com/spec/v1\n", ["lfs-pointer", "triage-data-file"]),
        (None, ["triage-data-file", "triage-file-gone"]),
    ],
)
def test_a_file_that_any_operation_names_is_to_blame(
    home: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, codes: list[str]
) -> None:
    path = home / "imgs" / "dog" / "5.jpg"
    path.parent.mkdir(parents=True)
    if content is not None:
        path.write_bytes(content)
    code, found = report(capsys, DECODE)
    assert (code, [one["code"] for one in found["findings"]]) == (1, codes)
    (told,) = (one for one in found["findings"] if one["code"] == "triage-data-file")
    assert told["title"] == "map operation: [Decode] failed on the file imgs/dog/5.jpg"
    assert run(["cache", "triage", DECODE]) == 1
    assert "to blame: imgs/dog/5.jpg" in capsys.readouterr().out


def test_a_data_file_of_another_operation_is_verified(home: Path) -> None:
    path = damaged(home / "x.tfrecord")
    found = triage(asked("batch operation: [Cut] failed. The corresponding data file is: x.tfrecord. No row"))
    assert [one.code for one in found.findings] == ["corrupted", "triage-data-file"]
    assert found.entries[0].path == str(path)


def test_of_a_run_only_notes_on_what_is_to_blame_are_told(home: Path, tmp_path: Path) -> None:
    logs = Path(failed_run(home, tmp_path))
    (logs / "worker_0.log").write_text(f"{REMADE}\n{DECODE}\n")
    codes = [one.code for one in triage(asked(str(logs))).findings]
    assert "triage-remade" not in codes and codes[0] == "triage-data-file"
    assert [one.code for one in triage(asked(REMADE)).findings] == ["triage-remade"]


def test_the_run_that_was_looked_at_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed_run(home, tmp_path)
    assert run(["cache", "triage"]) == 1
    out = capsys.readouterr().out
    assert "run 20261130_101010_7, started in" in out and "no run was started" not in out
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    code, found = report(capsys)
    assert (code, found["run"], found["findings"][-1]["code"]) == (1, "20261130_101010_7", "triage-elsewhere")
    assert str(tmp_path / "other") in found["findings"][-1]["title"]


GONE = (
    "ValueError: Invalid cache file format: /data/gone/0000.shard at byte 4096: bad magic",
    "RuntimeError: Invalid file, mindrecord file: /data/gone/x.mindrecord can not be found. Please check whether the"
    " mindrecord file exists and do not rename the mindrecord file.",
    "Invalid file. The following files either cannot be opened, or are not valid TFRecordDataset files: /data/gone/x",
    "RuntimeError: The input: /data/gone/train.mindrecord.db is not exists.",
)


@pytest.mark.parametrize("text", GONE)
def test_a_file_that_is_gone_is_said_to_be_and_bystanders_are_left_alone(home: Path, text: str) -> None:
    damaged(home / "near.tfrecord")
    shutil.copy(DATA / "mindrecord" / "good" / "good.mindrecord", home / "other.mindrecord")
    notes = home / "notes"
    notes.mkdir()
    (notes / "0000.shard").write_bytes(b"MSWCSHD1" + bytes(99))
    found = triage(asked(text))
    assert found.entries == () and len(found.findings) == 2
    assert [one.code for one in found.findings][1] == "triage-file-gone"
    assert "/data/gone/" in found.findings[1].title


def test_a_file_that_is_no_data_is_said_to_be_none(home: Path) -> None:
    damaged(home / "near.tfrecord")
    (home / "notes").mkdir()
    (home / "notes" / "0000.shard").write_bytes(b"MSWCSHD1" + bytes(99))
    found = triage(asked("Invalid cache file format: /etc/passwd at byte 12: bad magic"))
    assert found.entries == () and [one.code for one in found.findings] == ["triage-cache-format", "triage-no-data"]
    assert found.findings[1].title.startswith("/etc/passwd is there")


def test_a_renamed_mindrecord_is_found_in_the_folder_of_its_old_name(home: Path) -> None:
    shutil.copy(DATA / "mindrecord" / "good" / "good.mindrecord", home / "new.mindrecord")
    shutil.copy(DATA / "mindrecord" / "good" / "good.mindrecord.db", home / "new.mindrecord.db")
    damaged(home / "near.tfrecord")
    found = triage(asked(f"RuntimeError: mindrecord file: {home}/good.mindrecord can not be found. Please check"))
    assert [entry.path for entry in found.entries] == [str(home / "new.mindrecord")]
    assert found.root == 0 and found.findings[0].where.file == str(home / "new.mindrecord")


def test_a_shard_that_is_gone_leads_to_its_cache(home: Path) -> None:
    cache = home / "cats" / "363ae1d5ca463f4c"
    cache.mkdir(parents=True)
    (cache / "manifest.json").write_text("{}")
    (home / "dogs").mkdir()
    (home / "dogs" / "0000.shard").write_bytes(b"MSWCSHD1" + bytes(99))
    found = triage(asked(f"ValueError: Invalid cache file format: {cache}/0001.shard at byte 0: it is cut"))
    assert [entry.path for entry in found.entries] == [str(cache)]
