"""The main job from the workbench on real MindSpore, by keys alone: a failure, a hang that is stopped, a good run.

The other ways a run ends are in test_workbench_runs.py, on plain Python and recorded logs; test_launch.py has all of
them on real MindSpore, from the command line.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.e2e.desk import ALL_FLAGS, ENTER, LONG, START, Desk
from tests.e2e.harness import Workspace, free_port, marked_processes
from tests.waiting import wait_until

pytestmark = pytest.mark.mindspore
SILENCE_S = 10


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def numbers() -> str:
    return f"--worker_num 2 --local_worker_num 2 --master_port {free_port()}"


def test_a_failure_is_found_from_the_fields_of_the_form_to_the_line(workspace: Workspace) -> None:
    with Desk(workspace) as desk:
        desk.type("n", "New launch in")
        desk.type(workspace.script("one_rank.py") + ENTER)
        desk.type(f"exception{ENTER}2{ENTER}2{ALL_FLAGS}master_port{ENTER}{free_port()}", "Checks")
        desk.see(" ready: 2 workers here, msrun")
        desk.type(START)
        desk.see_row("✖ rank 1 failed first: the training script raised KeyError: 1")
        desk.see_row(" 1 ", "✖ failed ◆1st", " 1 ")
        desk.type("o")
        desk.see(lambda text: any(line.startswith("◆r1") and "KeyError: 1" in line for line in text.split("\n")))
        assert "return parts[number]" in desk.text
        desk.type("d", "Why")
        desk.see_row("✖ ERROR", "the training script raised KeyError: 1")
        desk.see_row("→ rank 1  worker_1.log:")
        wait_until(lambda: marked_processes(workspace.folder) == [])


@pytest.mark.parametrize("hand", ["keys", "mouse"])
def test_a_hang_is_stopped_and_located(workspace: Workspace, hand: str) -> None:
    workspace.env["MSWB_SILENCE_S"] = str(SILENCE_S)
    with Desk(workspace) as desk:
        line = f"{numbers()} {workspace.script('one_rank.py')} hang"
        _ = desk.start(line) if hand == "keys" else desk.start_by_mouse(line)
        wait_until(lambda: "rank id: 1" in workspace.text_of("worker_1.log"), LONG)
        log = workspace.log_dir() / "latest" / "worker_1.log"
        wait_until(lambda: time.time() - log.stat().st_mtime > SILENCE_S, LONG)  # no pause, but a hang
        desk.see_row("▲ no progress any more: rank 1")
        desk.see("o To the line")  # the keys at the bottom move when that is found
        _ = desk.type("x") if hand == "keys" else desk.click("x Stop")
        desk.see("n, Esc: no")
        assert "with its 3 processes?" in desk.text
        desk.see_row("pid ", "  rank 1  python")
        _ = desk.type("x") if hand == "keys" else desk.click("x, y, Enter: stop")
        desk.see_row("■ stopped", "took")
        desk.see_row("✖", "no progress any more: rank 1 at wait_for_lock")
        _ = desk.type("o") if hand == "keys" else desk.click("no progress any more: rank 1 at")
        desk.see(lambda text: any(line.startswith("◆r1") and "Current thread" in line for line in text.split("\n")))
        wait_until(lambda: marked_processes(workspace.folder) == [])


def test_a_good_run_goes_on_without_its_terminal(workspace: Workspace) -> None:
    with Desk(workspace) as desk:
        desk.start(
            f"--worker_num 2 --local_worker_num 2 --master_port {free_port()} {workspace.script('until_told.py')}"
        )
        desk.see_row("r0", "step 2 loss 0.5")
        desk.terminal.close()
        assert desk.terminal.process.wait(30) == 0
    assert any("until_told.py" in command for command in marked_processes(workspace.folder))

    with Desk(workspace, size=(160, 45)) as desk:
        desk.see_row("▶ running", "until_told.py", "step")
        desk.see_row("r1", "step 5 loss 0.2")
        (workspace.folder / "enough").touch()
        desk.see_row("✓ succeeded", "until_told.py  step")
        desk.see_row("✓ SUCCEEDED  2 ranks")
        desk.see_row("r1", "all done")
        wait_until(lambda: marked_processes(workspace.folder) == [])
