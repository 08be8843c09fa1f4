"""The command table: errors become one line and an exit code, and help loads no command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mswb import __version__
from mswb.cli import output
from mswb.cli.app import COMMANDS, run
from mswb.findings import make
from mswb.jobs.spec import RunStatus, write_record

HEAVY = ("textual", "numpy", "onnx", "onnxruntime", "mindspore", "watchdog", "re2", "psutil")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("MSWB_LANG", "en")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines_of(text: str) -> list[str]:
    return text.strip().splitlines()


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)
    assert max(map(len, lines_of(shown))) <= 80


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"mswb {__version__}"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dignose", "x"], "did you mean 'diagnose'?"),
        (["prof", "--model", "train.py"], "does not start profiled runs yet"),
        (["diagnose", "no/such/place"], "no such file or folder: no/such/place"),
        (["diagnose", "--no-such-flag"], "no such option"),
        (["jobs", "show", "nothing"], "nothing"),
        (["explain", "zzzz"], "zzzz"),
        (["logs"], "there are no runs yet"),
        (["jobs", "attach"], "there are no runs yet"),
        (["diagnose", "latest"], "there are no runs yet"),
        (["logs", ".", "--grep", "("], "not a regular expression"),
        (["logs", ".", "--level", "LOUD"], "--level LOUD"),
        (["logs", ".", "--since", "yesterday"], "--since yesterday"),
        (["run", "--worker_nun", "2", "a.py"], "worker_num"),
        (["run", "--worker_num", "2", "no_such.py"], "no_such.py"),
        (["run", "--log_level", "loud", "a.py"], "loud"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(lines_of(captured.err)) == 1
    assert captured.err.startswith("mswb: ")
    assert said.lower() in captured.err.lower()


def test_an_error_in_json_is_an_object_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "nowhere", "--format", "json"]) == 2
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert report["schema"] == "mswb.diagnose/1"
    assert report["findings"][report["root"]]["code"] == "path-missing"
    assert report["ranks"] == [] and report["verdict"] == "unknown"
    assert "nowhere" in captured.err


def test_a_bad_configuration_names_its_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "config.toml").write_text("stop_grace_s = -3\n")
    assert run(["jobs", "list"]) == 2
    assert str(home / "config.toml") in capsys.readouterr().err


def test_the_language_of_the_configuration_is_spoken(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MSWB_LANG")
    monkeypatch.setenv("LC_ALL", "C")
    (home / "config.toml").write_text('lang = "zh"\n', encoding="utf-8")
    assert run(["explain", "killed-by-signal"]) == 0
    assert "rank" in (shown := capsys.readouterr().out) and any(ord(char) > 0x4E00 for char in shown)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["jobs", "list"], ["explain", "hang"]])
def test_light_commands_load_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
from mswb.cli.app import run
run({arguments!r})
loaded = [name for name in {HEAVY!r} if name in sys.modules]
sys.exit(f"loaded: {{loaded}}" if loaded else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_run_whose_record_is_broken_is_not_called_ended(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = home / "state" / "runs" / "20260101_000000_1"
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text("{}")
    (folder / "status.json").write_text("{")
    assert run(["jobs", "stop", "latest"]) == 2
    assert str(folder) in capsys.readouterr().err


def test_numbers_that_are_not_finite_become_null_with_a_count() -> None:
    plain = output.to_plain({"loss": float("nan"), "best": float("inf"), "step": 3, "deep": [{"x": float("nan")}]})
    assert plain == {"loss": None, "best": None, "step": 3, "non_finite": 2, "deep": [{"x": None, "non_finite": 1}]}


def test_findings_fit_the_width_and_carry_no_escape(capsys: pytest.CaptureFixture[str]) -> None:
    evidence = "x\x1b]52;c;aGk=\x07" + "损失" * 80
    root = make("script-exception", evidence=evidence, values={"exception": "E" * 90, "message": "m " * 60}, lang="en")
    output.show_findings([root, make("hang", evidence=evidence, lang="zh")], 0)
    shown = capsys.readouterr().out
    assert "\x1b]" not in shown and "\x07" not in shown
    from rich.cells import cell_len

    assert max(cell_len(line) for line in shown.splitlines()) <= 80


def test_consequences_follow_their_root(capsys: pytest.CaptureFixture[str]) -> None:
    from mswb.findings import as_consequence

    root = make("script-exception", values={"exception": "KeyError", "message": "1"}, lang="en")
    follower = as_consequence(make("cluster-timeout", lang="en"), 0)
    output.show_findings([root, follower], 0)
    shown = capsys.readouterr().out
    assert shown.index("KeyError") < shown.index("then")
    assert "cluster-timeout" not in shown.split("then")[0]


def test_shims_are_written_and_foreign_files_left_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["shims", "install", "bin"]) == 0
    text = (home / "bin" / "msrun").read_text()
    assert "-m mswb run" in text and (home / "bin" / "msrun").stat().st_mode & 0o111
    (home / "bin" / "msrun").write_text("theirs")
    assert run(["shims", "install", "bin"]) == 2
    assert (home / "bin" / "msrun").read_text() == "theirs"
    assert run(["shims", "install", "bin", "--force"]) == 0
    assert "-m mswb run" in (home / "bin" / "msrun").read_text()


def test_explain_finds_words_of_both_languages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "内存", "--format", "json"]) == 0
    codes = {entry["code"] for entry in json.loads(capsys.readouterr().out)["entries"]}
    assert "host-out-of-memory" in codes
    assert run(["explain", "hang", "--format", "json"]) == 0
    assert [entry["code"] for entry in json.loads(capsys.readouterr().out)["entries"]] == ["hang"]


def test_check_starts_nothing_and_lists_origins(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "train.py").write_text("print(1)\n")
    code = run(["check", "--format", "json", "--backend", "direct", "--worker_num", "2", "train.py"])
    report = json.loads(capsys.readouterr().out)
    assert code in (0, 1) and report["schema"] == "mswb.check/1"
    origins = {one["name"]: one["origin"] for one in report["environment"]}
    assert origins["HCCL_WHITELIST_DISABLE"] == "article" and origins["PYTHONPATH"] == "mswb"
    assert not (home / "ms_run_log").exists()


@pytest.mark.parametrize("arguments", [["--help"], ["explain", "hang"], ["explain", "hang", "--format", "json"]])
@pytest.mark.parametrize(("stdout", "code"), [("/dev/full", 2), (None, 0)])
def test_a_stdout_that_is_full_or_closed(arguments: list[str], stdout: str | None, code: int) -> None:
    redirection = ">&-" if stdout is None else f">{stdout}"
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "mswb", *arguments]
    done = subprocess.run(command, env=_environment(), stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == code
    assert len(lines_of(done.stderr)) == (1 if stdout else 0)


@pytest.mark.parametrize("name", ["a" * 5000, "a" * 5000 + "/b", "~nobody-of-this-name/x"])
@pytest.mark.parametrize("command", [["diagnose"], ["jobs", "show"]])
def test_a_name_that_no_file_can_have(command: list[str], name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, name]) == 2
    assert len(lines_of(capsys.readouterr().err)) == 1


def test_a_record_with_impossible_times_is_listed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = home / "state" / "runs" / "20260101_000000_1"
    folder.mkdir(parents=True)
    status = RunStatus(
        id="20260101_000000_1", kind="launch", backend="direct", title="a.py", cwd="/", host="h", boot_id="b", pid=1,
        start_time=1, state="ended", created=-1e300, heartbeat=1e300, ended=1e300, exit_code=0,
    )  # fmt: skip
    write_record(folder / "status.json", status)
    assert run(["jobs", "list"]) == 0
    assert "succeeded" in capsys.readouterr().out


def test_a_list_shows_a_command_as_one_short_line(capsys: pytest.CaptureFixture[str]) -> None:
    program = "python -c import os\nwhile True:\n" + "    work()\n" * 40
    assert output.short_title("train.py --lr 0.1") == "train.py --lr 0.1"
    short = output.short_title(program)
    assert len(short) == 60 and short.startswith("python -c import os while True: work()") and short.endswith("…")


def test_a_run_that_has_not_ended_has_no_exit_code(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = home / "state" / "runs" / "20260101_000000_1"
    folder.mkdir(parents=True)
    status = RunStatus(
        id=folder.name, kind="launch", backend="direct", title="python -c " + "x\n" * 99, cwd="/w", host="elsewhere",
        boot_id="b", pid=1, start_time=1, state="running", created=1.8e9, heartbeat=4e9,
    )  # fmt: skip
    write_record(folder / "status.json", status)
    assert run(["jobs", "show", folder.name]) == 0
    assert "exit code" not in capsys.readouterr().out
    assert run(["jobs", "list"]) == 0
    assert len(capsys.readouterr().out.split("not started by mswb")[0].splitlines()) <= 6


def test_json_carries_nothing_that_a_terminal_acts_on(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\x1b]0;x\x07 \x9b2J \u202eevil\u2066 标签"
    output.emit_object({"text": text})
    shown = capsys.readouterr().out
    assert not any(char in shown for char in "\x1b\x07\x9b\u202e\u2066")
    assert "标签" in shown
    assert json.loads(shown) == {"text": text}


def _environment() -> dict[str, str]:
    import mswb

    return {**os.environ, "PYTHONPATH": str(Path(mswb.__file__).parent.parent)}
