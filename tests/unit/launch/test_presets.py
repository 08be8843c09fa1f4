"""History and presets: kept, found again, without secrets, whatever the files hold."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.findings import MswbError
from mswb.launch import presets
from mswb.launch.presets import HISTORY_LIMIT, RECORD_LIMIT, Launch, Record

LINE = ["--worker_num", "2", "train.py", "--lr", "0.1"]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def record_file(state: Path) -> Path:
    (file,) = (state / "launches").glob("*.json")
    return file


def test_a_folder_without_launches_has_none(state: Path, folder: Path) -> None:
    assert presets.load(state, folder) == presets.Launches()


def test_launches_come_back_the_newest_first_and_each_once(state: Path, folder: Path) -> None:
    for when, line in enumerate((LINE, ["other.py"], LINE)):
        presets.remember(state, folder, line, float(when))
    history = presets.load(state, folder).history
    assert [(one.arguments, one.time) for one in history] == [(tuple(LINE), 2.0), (("other.py",), 1.0)]


def test_folders_do_not_mix_and_links_are_the_same_folder(state: Path, folder: Path, tmp_path: Path) -> None:
    presets.remember(state, folder, LINE, 1.0)
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert presets.load(state, link).history
    assert not presets.load(state, tmp_path).history


def test_the_history_is_bounded(state: Path) -> None:
    record = Record()
    for number in range(HISTORY_LIMIT + 5):
        record = presets.with_launch(record, Launch((f"{number}.py",)))
    assert len(record.history) == HISTORY_LIMIT
    assert record.history[0].arguments == (f"{HISTORY_LIMIT + 4}.py",)


def test_a_file_stays_small_however_long_the_lines_are() -> None:
    record = Record(tuple(Launch((f"{number}", "x" * 30_000)) for number in range(HISTORY_LIMIT)))
    data = presets.encode(record, "/p")
    assert len(data) <= RECORD_LIMIT
    kept = presets.decode(data).history
    assert 10 < len(kept) < HISTORY_LIMIT and kept[0].arguments[0] == "0"


def test_the_file_is_private_and_whole(state: Path, folder: Path) -> None:
    presets.remember(state, folder, LINE, 1.0)
    assert stat.S_IMODE(record_file(state).stat().st_mode) == 0o600
    assert stat.S_IMODE((state / "launches").stat().st_mode) == 0o700
    assert json.loads(record_file(state).read_bytes())["folder"] == os.path.realpath(folder)


def test_secrets_are_never_written(state: Path, folder: Path) -> None:
    line = ["--env", "HF_TOKEN=hunter2", "--env", "LEVEL=3", "--env=db_password=s3cret", "train.py"]
    presets.remember(state, folder, line, 1.0)
    presets.save_preset(state, folder, "mine", line)
    text = record_file(state).read_text()
    assert "hunter2" not in text and "s3cret" not in text
    (launch,) = presets.load(state, folder).history
    assert launch.arguments == ("--env", "LEVEL=3", "train.py")
    assert launch.withheld == ("HF_TOKEN", "db_password")


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "api_key", "WANDB_API_KEY", "DB_PASSWORD", "GithubToken"])
def test_names_of_secrets(name: str) -> None:
    assert presets.is_secret(name)
    assert not presets.is_secret("GLOG_v")


def test_presets_are_saved_replaced_and_deleted(state: Path, folder: Path) -> None:
    presets.remember(state, folder, LINE, 1.0)
    presets.save_preset(state, folder, "two ranks", ["--worker_num", "4", "train.py"])
    presets.save_preset(state, folder, " two ranks ", LINE)
    presets.save_preset(state, folder, "八卡", ["--worker_num", "8"])
    names = {one.name: one.launch.arguments for one in presets.load(state, folder).presets}
    assert names == {"two ranks": tuple(LINE), "八卡": ("--worker_num", "8")}
    presets.delete_preset(state, folder, "two ranks")
    found = presets.load(state, folder)
    assert [one.name for one in found.presets] == ["八卡"]
    assert found.history


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\x1b[31m", "two\nlines"])
def test_a_bad_name_is_refused(name: str, state: Path, folder: Path) -> None:
    with pytest.raises(MswbError) as caught:
        presets.save_preset(state, folder, name, LINE)
    assert caught.value.finding.code == "preset-name"


def test_deleting_what_is_not_there_is_said(state: Path, folder: Path) -> None:
    with pytest.raises(MswbError) as caught:
        presets.delete_preset(state, folder, "gone")
    assert caught.value.finding.code == "preset-unknown"


def test_a_line_that_is_none_is_not_kept(state: Path, folder: Path) -> None:
    with pytest.raises(MswbError) as caught:
        presets.save_preset(state, folder, "bad", ["--no_such_flag", "1"])
    assert caught.value.finding.code == "usage"
    assert not presets.load(state, folder).presets


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b'{"schema": "other"}', b"\xff\xfe\x00", b"[" * 200_000, b" " * (RECORD_LIMIT + 10)],
)
def test_a_broken_file_is_said_and_set_aside(data: bytes, state: Path, folder: Path) -> None:
    presets.remember(state, folder, LINE, 1.0)
    file = record_file(state)
    file.write_bytes(data)
    broken = presets.load(state, folder)
    assert [one.code for one in broken.findings] == ["launches-unreadable"] and not broken.history
    presets.remember(state, folder, LINE, 2.0)
    assert Path(f"{file}.broken").read_bytes() == data
    assert presets.load(state, folder).history and not presets.load(state, folder).findings


def test_entries_that_are_none_are_passed_over() -> None:
    good = {"arguments": ["t.py"], "withheld": [], "time": 3}
    odd = [None, 3, {}, {"arguments": "t.py"}, {"arguments": [1]}, {**good, "time": "now"}, {**good, "withheld": 1}]
    table = {"schema": presets.SCHEMA, "history": [*odd, good], "presets": {"a": good, "b": None}}
    record = presets.decode(json.dumps(table).encode())
    assert record == Record((Launch(("t.py",), (), 3.0),), {"a": Launch(("t.py",), (), 3.0)})
    assert presets.decode(json.dumps({"schema": presets.SCHEMA, "history": 1, "presets": []}).encode()) == Record()


LAUNCHES = st.builds(
    Launch,
    st.lists(st.text(), max_size=5).map(tuple),
    st.lists(st.text(), max_size=2).map(tuple),
    st.floats(0, 2e9),
)


@given(st.lists(LAUNCHES, max_size=5), st.dictionaries(st.text(), LAUNCHES, max_size=3))
def test_a_record_comes_back_from_its_file(history: list[Launch], named: dict[str, Launch]) -> None:
    record = Record(tuple(history), named)
    assert presets.decode(presets.encode(record, "/p")) == record


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_a_value_error(data: bytes) -> None:
    try:
        presets.decode(data)
    except ValueError:
        pass


def test_two_writers_lose_nothing(state: Path, folder: Path) -> None:
    def write(name: str) -> None:
        for number in range(5):
            presets.remember(state, folder, [f"{name}{number}.py"], float(number))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(presets.load(state, folder).history) == 15


def test_presets_of_the_project_are_read(state: Path, folder: Path) -> None:
    (folder / "mswb.toml").write_text(
        '[presets.eight]\nargs = ["--worker_num", "8", "train.py"]\n[presets.line]\nargs = "--env \'A=x y\' t.py"\n'
    )
    presets.save_preset(state, folder, "own", LINE)
    found = presets.load(state, folder)
    assert [(one.name, one.origin) for one in found.presets] == [
        ("own", "user"),
        ("eight", "project"),
        ("line", "project"),
    ]
    assert found.presets[2].launch.arguments == ("--env", "A=x y", "t.py")
    assert found.findings == ()


@pytest.mark.parametrize(
    "text, reason",
    [
        ("presets = 3", "presets is not a table"),
        ("[presets.a]\nargs = 3", "presets.a: args is not a list of texts"),
        ("[presets]\na = 1", "presets.a: args is not a list of texts"),
        ("[presets.a]\nargs = ['--nope', '1']", "presets.a: there is no flag --nope"),
        ('[presets.a]\nargs = "\'"', "presets.a: No closing quotation"),
        ("[presets", "line 1"),
    ],
)
def test_a_wrong_project_file_is_said_once(text: str, reason: str, folder: Path) -> None:
    (folder / "mswb.toml").write_text(text + "\n")
    found, (wrong,) = presets.read_project(folder / "mswb.toml")
    assert found == ()
    assert wrong.code == "project-file-invalid" and reason in wrong.title
    assert wrong.where.file == str(folder / "mswb.toml")


def test_one_wrong_preset_leaves_the_others(folder: Path) -> None:
    (folder / "mswb.toml").write_text("[presets.a]\nargs = 1\n[presets.b]\nargs = ['t.py']\n")
    found, wrong = presets.read_project(folder / "mswb.toml")
    assert [one.name for one in found] == ["b"] and len(wrong) == 1


def test_a_project_file_that_is_a_pipe_does_not_hang(folder: Path) -> None:
    os.mkfifo(folder / "mswb.toml")
    found, (wrong,) = presets.read_project(folder / "mswb.toml")
    assert found == () and wrong.code == "path-unreadable"


def test_the_project_is_never_changed(state: Path, folder: Path) -> None:
    text = "[presets.eight]\nargs = ['t.py']\n"
    (folder / "mswb.toml").write_text(text)
    for change in (
        lambda: presets.save_preset(state, folder, "eight", LINE),
        lambda: presets.delete_preset(state, folder, "eight"),
    ):
        with pytest.raises(MswbError) as caught:
            change()
        assert caught.value.finding.code == "preset-of-the-project"
    assert (folder / "mswb.toml").read_text() == text


def test_a_state_folder_that_cannot_be_written_is_said(state: Path, folder: Path) -> None:
    state.write_text("a file")
    with pytest.raises(MswbError) as caught:
        presets.remember(state, folder, LINE, 1.0)
    assert caught.value.finding.code == "path-unwritable"
