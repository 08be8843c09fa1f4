"""Starting, stopping and asking, with a program that answers like the real one."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mswb.cache.server import admin, manage, sources
from mswb.cache.server.admin import Admin
from mswb.cache.server.running import Server
from mswb.cli.app import run
from mswb.env.interpreter import Interpreter
from mswb.findings import MswbError
from mswb.settings import load_settings
from mswb.signals import ProcessId

SCHEMA = json.loads((Path(__file__).parents[3] / "fixtures" / "report.schema.json").read_text())
SAMPLES = Path(__file__).parents[3] / "fixtures" / "cache" / "server"
PORT = "61152"

PROGRAM = """#!/bin/sh
case "$*" in
  *--list_sessions*61152*) cat {samples}/14b_list.txt ;;
  *--generate_session*61152*) cat {samples}/06_generate.txt ;;
  "--destroy_session 5 -p 61152") cat {samples}/17c_destroy_again.txt; exit 1 ;;
  *--destroy_session*61152*) cat {samples}/17b_destroy.txt ;;
  *--start*/nope*) cat {samples}/04a_start_spilldir_missing.txt; exit 1 ;;
  *--start*) echo odd; exit 1 ;;
  *--hang*) exec sleep 60 ;;
  *) cat {samples}/09_wrongport.txt; exit 1 ;;
esac
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("MSWB_LANG", "en")
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Interpreter:
    """One whose MindSpore holds the stand-in, which can't be started as it lies."""
    package = tmp_path / "mindspore"
    (package / "utils" / "bin").mkdir(parents=True)
    for name in (admin.CLIENT, admin.SERVER):
        (package / "utils" / "bin" / name).write_text(PROGRAM.format(samples=SAMPLES))
    found = Interpreter("/py", "3.11.0", "/usr", "/site", "2.10.0", str(package), "1.26", "test")
    monkeypatch.setattr("mswb.env.interpreter.find_interpreter", lambda option, settings, environ: found)
    return found


@pytest.fixture
def program(interpreter: Interpreter) -> Admin:
    return admin.find(interpreter, load_settings())


def code_of(error: pytest.ExceptionInfo[MswbError]) -> str:
    return error.value.finding.code


def test_programs_that_may_not_be_started_are_copied_once(program: Admin, interpreter: Interpreter, home: Path) -> None:
    assert program.program.startswith(str(home / "state")) and os.access(program.program, os.X_OK)
    before = os.stat(program.program).st_ino
    again = admin.find(interpreter, load_settings())
    assert (again.program, os.stat(again.program).st_ino) == (program.program, before)
    package = str(interpreter.mindspore_path)
    assert program.environ["LD_LIBRARY_PATH"].split(":")[:2] == [package, f"{package}/lib"]
    assert "LD_PRELOAD" not in program.environ and "GLOG_v" not in program.environ
    os.chmod(f"{package}/utils/bin/dataset-cache", 0o755)
    os.chmod(f"{package}/utils/bin/dataset-cache-server", 0o755)
    assert admin.find(interpreter, load_settings()).program == f"{package}/utils/bin/dataset-cache"


def test_a_mindspore_without_the_server_is_told(interpreter: Interpreter) -> None:
    os.unlink(f"{interpreter.mindspore_path}/utils/bin/dataset-cache-server")
    with pytest.raises(MswbError) as error:
        admin.find(interpreter, load_settings())
    assert code_of(error) == "cache-server-unsupported"


def test_sessions_are_made_listed_and_destroyed(program: Admin) -> None:
    assert manage.create(program, 61152) == 2411647281
    assert len(manage.rows(program, 61152)) == 5
    manage.destroy(program, 61152, 4066335210)
    with pytest.raises(MswbError) as error:
        manage.destroy(program, 61152, 5)
    assert code_of(error) == "cache-session-unknown"
    assert "212186783, 2411647281, 3161375982" in error.value.finding.title


def test_a_server_that_does_not_answer_is_explained(program: Admin) -> None:
    for ask in (manage.create, manage.rows, manage.stop_server):
        with pytest.raises(MswbError) as error:
            ask(program, 61153)  # type: ignore[operator]
        assert code_of(error) in ("cache-server-absent", "cache-server-wrong-port", "cache-server-closed")
        assert error.value.exit_code == 1


def test_a_start_that_fails_says_why(program: Admin, home: Path) -> None:
    with pytest.raises(MswbError) as error:
        manage.start(program, admin.Start(61152, spill=str(home / "nope")))
    assert code_of(error) == "cache-server-spill" and "No such file" in error.value.finding.title
    with pytest.raises(MswbError) as error:
        manage.start(program, admin.Start(61152))
    assert code_of(error) == "cache-server-refused" and "odd" in error.value.finding.title
    (home / "file").touch()
    with pytest.raises(MswbError) as error:
        manage.start(program, admin.Start(61152, spill=str(home / "file" / "x")))
    assert code_of(error) == "cache-server-spill"


def test_a_program_that_hangs_is_ended(program: Admin) -> None:
    with pytest.raises(MswbError) as error:
        admin.call(program, "--hang", timeout_s=0.2)
    assert code_of(error) == "cache-server-refused"


def test_one_port_takes_one_server(program: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Server(ProcessId(1, 1), os.getuid(), 61152, 1, None, 4, 1, 0.8, "x", time.time())
    monkeypatch.setattr(manage, "_mine", lambda port: running)
    with pytest.raises(MswbError) as error:
        manage.start(program, admin.Start(61152))
    assert code_of(error) == "cache-server-running"


def test_files_written_after_a_session_was_made_are_found(home: Path) -> None:
    folder = home / "img"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "1.png").touch()
    (folder / "a" / "2.png").touch()
    old = time.time() - 1000
    for path in (folder / "a" / "1.png", folder / "a" / "2.png", folder / "a", folder):
        os.utime(path, (old, old))
    now = time.time()
    assert not sources.since([str(folder)], now + 5)
    (folder / "a" / "2.png").unlink()
    found = sources.since([str(folder)], now - 500)
    # The change of an inode can't be set back, so the first file counts as touched.
    assert [Path(path).name for path in found.changed] == ["1.png"]
    os.utime(folder / "a", (old, old))
    assert not sources.since([str(folder)], now - 500).removed
    assert "a/" in str(sources.Changes(removed=(str(folder / "a" / sources.GONE),)))


def test_a_session_older_than_its_data_may_serve_old_rows(home: Path) -> None:
    from mswb.cache.server.answers import Cached

    (home / "img").mkdir()
    (home / "img" / "1.png").touch()
    empty = manage.Session(7, 61152, (Cached(7, None),), time.time() - 100)
    full = manage.Session(7, 61152, (Cached(7, 8, 20, 0, 100),), time.time() - 100)
    assert manage.compared(empty, [str(home / "img")])[0].status == "ok"
    session, (finding,) = manage.compared(full, [str(home / "img")])
    assert (session.status, finding.code) == ("stale-source", "stale-source")
    assert "may serve old rows" in finding.title and "1.png" in finding.title
    assert "mswb cache clean" not in " ".join(finding.advice)
    with pytest.raises(MswbError):
        manage.compared(full, [str(home / "none")])


def report(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = run(["cache", "server", *words, "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return code, found


def test_the_command_line(interpreter: Interpreter, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = report(capsys, "stats", "-p", PORT)
    assert code == 0 and found["schema"] == "mswb.cache_server/1"
    assert [one["session"] for one in found["sessions"]] == [212186783, 2411647281, 3161375982]
    assert [one["code"] for one in found["findings"]] == ["cache-nothing-cached"]
    assert found["sessions"][0]["caches"][0]["size_bytes"] == 89 * 786587
    assert report(capsys, "session", "create", "-p", PORT)[1]["session"] == 2411647281
    assert report(capsys, "stats", "1", "-p", PORT)[0] == 1
    code, found = report(capsys, "sessions", "-p", "61153")
    assert code == 1 and found["findings"][0]["code"].startswith("cache-server-")


def test_the_text_for_people(interpreter: Interpreter, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["sessions"], ["stats"], ["session", "create"], ["session", "destroy", "4066335210"], ["check"]):
        assert run(["cache", "server", *words, "-p", PORT]) == 0
    out = capsys.readouterr().out
    assert "cache=ds.DatasetCache(session_id=2411647281, port=61152)" in out
    assert "name its data" in out and "nothing has changed" not in out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert run(["cache", "server", "status"]) == 0
