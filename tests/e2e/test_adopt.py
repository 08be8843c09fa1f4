"""A real msrun that was started by hand: found while it runs, adopted, and diagnosed as if it were ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mswb.jobs import procs
from tests.e2e.harness import Workspace, free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.mindspore


class ByHand(Workspace):
    """A folder in which a person typed msrun's own command."""

    launcher: subprocess.Popen[bytes]

    def launch(self) -> None:
        words = ("--worker_num", "2", "--local_worker_num", "2", "--master_port", str(free_port()), "--join", "True")
        argv = [sys.executable, "-m", "mindspore.parallel.cluster.run", *words, self.script("until_told.py")]
        path = os.pathsep.join((os.path.dirname(sys.executable), self.env["PATH"]))  # msrun starts plain "python"
        with open(self.folder / "console.txt", "wb") as console:
            self.launcher = subprocess.Popen(
                argv, cwd=self.folder, env={**self.env, "PATH": path}, stdout=console, stderr=console,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def found(self) -> dict[str, Any] | None:
        """What ``jobs list`` says of it, once both ranks train."""
        if any("step" not in self.log(rank) for rank in range(2)):
            return None
        listed = self.mswb("jobs", "list", "--format", "json").report["foreign"]
        return next((one for one in listed if one["cwd"] == str(self.folder)), None)

    def log(self, rank: int) -> str:
        try:
            return (self.folder / f"worker_{rank}.log").read_text(errors="replace")
        except OSError:
            return ""

    def run(self) -> dict[str, Any]:
        """The adopted run as ``jobs show`` has it."""
        self.launcher.poll()
        shown: dict[str, Any] = self.mswb("jobs", "show", "--format", "json").report["runs"][0]
        return shown

    def close(self) -> None:
        table = procs.scan()
        for pid in {self.launcher.pid, *procs.descendants(table, [self.launcher.pid])}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.launcher.wait()


@pytest.fixture
def by_hand(tmp_path: Path) -> Iterator[ByHand]:
    workspace = ByHand(tmp_path.resolve())
    workspace.launch()
    yield workspace
    workspace.close()


def test_a_killed_rank_of_an_adopted_msrun_is_named(by_hand: ByHand) -> None:
    found = wait_until(by_hand.found, timeout=120, step=0.5)
    assert (found["launcher"], found["title"], found["expected_workers"]) == ("msrun", "until_told.py", 2)
    assert [(one["role"], one["rank"]) for one in found["processes"]] == [
        ("launcher", None), ("scheduler", None), ("worker", 0), ("worker", 1),
    ]  # fmt: skip
    before = {*os.listdir(by_hand.folder), "state"}  # the state folder of the test itself
    pid = found["processes"][3]["pid"]
    assert by_hand.mswb("jobs", "adopt", str(pid)).code == 0
    os.kill(pid, signal.SIGKILL)
    first = wait_until(lambda: by_hand.run()["first_failure"], timeout=30, step=0.3)
    assert (first["rank"], first["exit_code"]) == (1, -9)
    ended = wait_until(lambda: (run := by_hand.run())["state"] == "ended" and run, timeout=120, step=0.5)
    assert (ended["display_state"], ended["stopped_by"], ended["exit_code"]) == ("failed", None, -9)
    done = by_hand.mswb("diagnose", "latest", "--format", "json")
    assert (done.code, done.report["verdict"], done.root["code"]) == (1, "failed", "killed-by-signal")
    assert (done.root["where"]["rank"], os.path.basename(done.root["where"]["file"])) == (1, "worker_1.log")
    assert {one["rank"]: one["exit_code"] for one in done.report["ranks"] if one["role"] == "worker"} == {0: -9, 1: -9}
    assert set(os.listdir(by_hand.folder)) == before


def test_an_adopted_msrun_that_ends_well(by_hand: ByHand) -> None:
    found = wait_until(by_hand.found, timeout=120, step=0.5)
    assert by_hand.mswb("jobs", "adopt", str(found["processes"][0]["pid"])).code == 0
    follower = by_hand.begin("jobs", "attach", "--format", "json")
    (by_hand.folder / "enough").touch()
    ended = wait_until(lambda: (run := by_hand.run())["state"] == "ended" and run, timeout=120, step=0.5)
    assert (ended["display_state"], ended["exit_code"], ended["first_failure"]) == ("succeeded", 0, None)
    said, _ = follower.communicate(timeout=60)
    assert follower.returncode == 0
    assert said.count('"text": "all done"') == 2
    assert '"verdict": "succeeded"' in said.splitlines()[-1]
