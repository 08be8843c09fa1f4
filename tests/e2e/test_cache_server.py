"""The real dataset cache server: its whole life, the rows that it serves from files that are gone, what it leaves."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mswb.cache.server.running import servers
from mswb.files.safety import write_atomic
from tests.e2e.harness import Outcome, Workspace, free_port

pytestmark = pytest.mark.mindspore


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def port() -> Iterator[int]:
    """A port whose server is ended whatever happens."""
    number = free_port()
    yield number
    for server in servers():
        if server.port == number:
            os.kill(server.process.pid, signal.SIGKILL)


def server(workspace: Workspace, *words: str) -> Outcome:
    return workspace.mswb("cache", "server", *words, "--format", "json")


def picture(path: Path, value: int) -> None:
    """A picture of one grey, 32 x 32."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, b"P6 32 32 255\n" + bytes([value]) * (32 * 32 * 3))


def train(workspace: Workspace, session: int, port: int, spill: str = "") -> tuple[float, Outcome]:
    """A training under ``mswb run``: the mean of all rows in its last epoch, and the report."""
    script = workspace.script("cached_pipeline.py")
    words = ("--backend", "direct", "--worker_num", "1", "--local_worker_num", "1")
    found = workspace.mswb("run", *words, "--format", "json", script, str(session), str(port), "img", spill)
    means = re.findall(r"rows \d+ ([\d.]+)", workspace.text_of("worker_0.log"))
    assert means, workspace.text_of("worker_0.log")
    return float(means[-1]), found


def codes(report: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in report["findings"]]


def test_the_life_of_a_server_and_the_rows_it_serves(workspace: Workspace, port: int) -> None:
    folder = workspace.folder
    for number in range(6):
        picture(folder / "img" / "cls" / f"{number}.ppm", 10)
    at = ("-p", str(port))

    started = server(workspace, "start", *at, "-w", "2", "-s", str(folder / "spill"))
    assert started.code == 0, started.stderr
    (row,) = started.report["servers"]
    assert (row["port"], row["spill"], row["workers"]) == (port, str(folder / "spill"), 2)
    again = server(workspace, "start", *at)
    assert (again.code, codes(again.report)) == (1, ["cache-server-running"])
    session = server(workspace, "session", "create", *at).report["session"]
    assert codes(server(workspace, "stats", *at).report) == ["cache-session-unused"]

    mean, good = train(workspace, session, port, "spill")
    assert (mean, good.code) == (pytest.approx(20.0), 0), good.report
    (known,) = server(workspace, "stats", *at).report["sessions"]
    assert (known["session"], known["status"]) == (session, "ok")
    assert known["created"] > row["started"] - 1
    assert sum(cache["rows"] for cache in known["caches"]) >= 6
    assert known["sources"] == [str(folder / "img")]

    # MindSpore goes on serving the old rows, and says nothing.
    picture(folder / "img" / "cls" / "3.ppm", 250)
    (folder / "img" / "cls" / "5.ppm").unlink()
    mean, stale = train(workspace, session, port)
    truth = 2 * (4 * 10 + 250) / 5
    assert mean < truth - 1
    assert stale.code == 1 and stale.root["code"] == "triage-stale"
    assert "-1 ~1" in stale.root["values"]["reason"]
    record = workspace.mswb("jobs", "list", "--format", "json").report["runs"][0]
    assert (record["display_state"], record["exit_code"]) == ("failed", 1) and "old rows" in record["message"]
    checked = server(workspace, "check", *at, "--session", str(session))
    (finding,) = checked.report["findings"]
    assert (checked.code, finding["code"]) == (1, "stale-source")
    assert finding["values"]["changed"] == [str(folder / "img" / "cls" / "3.ppm")]
    assert finding["values"]["removed"] == [str(folder / "img" / "cls" / "5.ppm")]
    by_time = server(workspace, "check", *at, "--source", "img")
    assert (by_time.code, codes(by_time.report)) == (1, ["stale-source"])

    other = server(workspace, "session", "create", *at).report["session"]
    assert server(workspace, "session", "destroy", str(other), *at).code == 0
    lost = server(workspace, "session", "destroy", str(other), *at)
    assert (lost.code, codes(lost.report)) == (1, ["cache-session-unknown"])

    live = leftovers(workspace, at)
    assert {(entry["form"], entry["status"]) for entry in live} == {
        ("dataset-cache", "ok"),
        ("shared-memory", "ok"),
        ("cache-spill", "ok"),
    }
    os.kill(row["pid"], signal.SIGKILL)
    killed_server_is_told_and_cleaned(workspace, at, row["pid"])


def killed_server_is_told_and_cleaned(workspace: Workspace, at: tuple[str, str], pid: int) -> None:
    while any(one.process.pid == pid for one in servers()):
        pass
    assert codes(server(workspace, "sessions", *at).report) == ["cache-server-dead"]
    left = leftovers(workspace, at)
    assert {entry["form"] for entry in left} == {"dataset-cache", "shared-memory", "cache-spill"}
    assert {entry["status"] for entry in left} == {"orphan"}
    paths = {entry["path"] for entry in left}
    planned = server(workspace, "clean", *at, "--dry-run").report
    assert {action["target"] for action in planned["actions"]} == paths
    assert not planned["applied"] and leftovers(workspace, at) == left
    workspace.env["MSWB_CACHE_ROOT"] = str(workspace.folder / "root")
    cleaned = server(workspace, "clean", *at, "--force").report
    assert {action["target"] for action in cleaned["actions"] if action["done"]} == paths
    assert leftovers(workspace, at) == []


def leftovers(workspace: Workspace, at: tuple[str, str]) -> list[dict[str, Any]]:
    """What is there of this test's server."""
    found: list[dict[str, Any]] = server(workspace, "status", *at).report["entries"]
    return found
