"""What the texts say to type exists, what they name is named in words, and nothing is wider than a terminal."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from mswb.cli import output, report
from mswb.cli.app import ALIASES, COMMANDS, mswb, run
from mswb.findings import Where, as_consequence, load_catalogue, make
from mswb.launch.diagnose import Diagnosis, RankState
from mswb.launch.flags import FLAGS

COMMAND = re.compile(r"(?<![\w/~.])mswb ([a-z]+)((?: [a-z]+| --?[\w-]+)*)")
NAMES = {*COMMANDS, *ALIASES}
"""Any other word behind mswb is prose, as in: mswb ended."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MSWB_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("MSWB_LANG", "en")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _texts() -> list[str]:
    both = [words for entry in load_catalogue().values() for words in (entry.en, entry.zh)]
    return [text for words in both for text in (words.title, words.cause, *words.advice)]


def _is_known(name: str, rest: list[str]) -> bool:
    command = mswb.get_command(click.Context(mswb), name)
    if command is None:
        return False
    if isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        return rest[0] in command.list_commands(click.Context(command))
    flags = [word.lstrip("-").replace("-", "_") for word in rest if word.startswith("--")]
    known = {option.lstrip("-").replace("-", "_") for one in command.params for option in one.opts}
    return all(flag in (FLAGS if name in ("run", "check") else known) for flag in flags)


def test_every_command_that_the_catalogue_names_exists() -> None:
    found = [(match[1], match[2].split(), text) for text in _texts() for match in COMMAND.finditer(text)]
    assert found
    unknown = [text for name, rest, text in found if name in NAMES and not _is_known(name, rest)]
    assert unknown == []


def test_explain_shows_no_braces_and_finds_all_of_several_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain"]) == 0
    assert "{" not in capsys.readouterr().out
    assert run(["explain", "killed-by-signal"]) == 0
    assert "WHO was ended by SIGNAL" in capsys.readouterr().out
    assert run(["explain", "memory", "rank"]) == 0
    assert "host-out-of-memory" in capsys.readouterr().out


def test_places_are_short_and_consequences_are_whole(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = home / "ms_run_log" / "20261130_082909_9695"
    base.mkdir(parents=True)
    root = make("script-exception", where=Where(rank=1, file=str(base / "worker_1.log"), line=10), lang="en",
                values={"exception": "KeyError", "message": "4"})  # fmt: skip
    then = make(
        "cluster-peer-lost", where=Where(file=str(base / "scheduler.log"), line=75), lang="en", values={"node": "1"}
    )
    diagnosis = Diagnosis("failed", 0, (), (root, as_consequence(then, 0)), str(base))
    report.show(diagnosis)
    shown = capsys.readouterr().out
    assert "rank 1 ms_run_log/20261130_082909_9695/worker_1.log:10\n" in shown
    assert "the scheduler lost contact with worker 1  (scheduler.log:75)\n" in shown


def test_a_run_that_its_user_stopped_is_stopped(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ranks = (RankState(0, None, "worker", None, "killed", -2, None, None, {}),)
    report.show(Diagnosis("unknown", 0, ranks, (make("stopped-by-user", lang="en"),), str(home)))
    assert capsys.readouterr().out.startswith("STOPPED  1 rank: ")
    report.show(Diagnosis("unknown", None, ranks, (), str(home)))
    assert "the end of this run is not in them" in " ".join(capsys.readouterr().out.split())


def test_the_evidence_shows_the_message_of_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "[WARNING] DISTRIBUTED(8465,7f7d0a872e40,python):2026-11-30-04:06:17.765.148 "
        "[mindspore/ccsrc/cluster/rpc/tcp/tcp_socket.cc:179] Listen] Failed to call bind, url: 127.0.0.1:28130"
    )
    output.show_findings([make("port-in-use", lang="en", values={"port": 28130}, evidence=text)], 0)
    shown = " ".join(capsys.readouterr().out.split())
    assert "evidence | 04:06:17 WARNING DISTRIBUTED Listen: Failed to call bind, url: 127.0.0.1:28130" in shown


def test_long_evidence_keeps_the_line_that_states_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    message = "For primitive[Gather], the axis must be in [-2,2], but got 7. " + "more of it " * 5
    rows = [f"  row {number}" for number in range(40)]
    rows[20] = f"ValueError: {message}"
    values = {"op": "Gather", "message": message}
    output.show_findings([make("operator-parameter", lang="en", values=values, evidence="\n".join(rows))], 0)
    shown = capsys.readouterr().out
    assert " ".join(f"| ValueError: {message}".split()) in " ".join(shown.split())
    assert "… 15 lines …" in shown and "… 12 lines …" in shown
    assert "row 4\n" in shown and "row 5\n" not in shown and "row 32\n" not in shown and "row 39\n" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_lone_process_is_no_missing_rank_and_its_traceback_is_an_error(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rank = RankState(None, None, "unknown", None, "killed", -11, None, None, {"ERROR": 2}, tracebacks=1)
    report.show(Diagnosis("failed", None, (rank,), (), str(home)))
    first, _, row = capsys.readouterr().out.splitlines()[:3]
    assert first == "FAILED  1 process"
    assert row.split() == ["process", "killed", "-11", "3"]


def test_orphans_of_nobody(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mswb.jobs.orphans.find_foreign_orphans", list)
    monkeypatch.setattr("mswb.jobs.orphans.find_own_orphans", lambda settings: [])
    assert run(["jobs", "orphans"]) == 0
    assert capsys.readouterr().out == "no process of an earlier run is left\n"


@pytest.mark.parametrize("arguments", [[], ["jobs"], ["shims"]])
def test_no_summary_of_a_command_is_cut(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run([*arguments, "--help"])
    assert "...\n" not in capsys.readouterr().out.replace("[ARGS]...\n", "")
    assert set(ALIASES.values()) <= set(COMMANDS)


def test_short_path(home: Path) -> None:
    assert output.short_path(home / "a" / "b") == "a/b"
    assert output.short_path("/elsewhere/b") == "/elsewhere/b"


def test_a_reader_that_leaves_is_not_a_failed_job(home: Path) -> None:
    code = "import sys; from mswb.cli.app import run; sys.exit(run(['explain']))"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None and child.stderr is not None
    child.stdout.close()
    with child.stderr:
        assert child.stderr.read() == b""
    assert child.wait() == 141
