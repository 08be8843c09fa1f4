"""Runs from the workbench on plain Python and on recorded logs: how they end, how they are stopped, who sees them."""

from __future__ import annotations

import json
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.desk import CLEAR, ENTER, ESCAPE, START, Desk
from tests.e2e.harness import Workspace, free_port, marked_processes
from tests.waiting import wait_until

LOGS = Path(__file__).resolve().parents[1] / "fixtures" / "launch"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def line(workspace: Workspace, script: str, *arguments: str, port: int | None = None) -> str:
    """The command line of a run of two plain processes."""
    numbers = f"--worker_num 2 --local_worker_num 2 --master_port {port or free_port()} --backend direct"
    return " ".join((numbers, workspace.script(script), *arguments))


def replay(workspace: Workspace, capture: str, *processes: str) -> str:
    """The command line of a run whose processes say what those of a real one said; the first one fails."""
    return line(workspace, "replay.py", str(LOGS / capture / "msrun_log"), *processes)


def pids(workspace: Workspace, role: str = "worker") -> list[int]:
    """The processes of the only run."""
    status = next((workspace.folder / "state" / "runs").glob("*/status.json"))
    return [one["pid"] for one in json.loads(status.read_text())["processes"] if one["role"] == role]


@dataclass(frozen=True)
class Case:
    """A run that ends by itself: how it is started, what the banner says, and the log line that ``o`` goes to."""

    script: tuple[str, ...]
    banner: str
    who: str
    statement: str


CASES = {
    "sigkill": Case(("one_of_two.py", "sigkill"), "rank 1 failed first: rank 1 was ended by SIGKILL", "r1", "step 3"),
    "segfault": Case(("one_of_two.py", "segfault"), "rank 1 failed first: rank 1 was ended by SIGSEGV", "r1",
                     "Segmentation fault"),
    "graph": Case(("shape_graph", "worker_0"), "rank 0 failed first: the shapes given to MatMulExt do not fit", "r0",
                  "MatMulExt"),
    "data": Case(("ds_tfrecord_corrupt", "worker_0"),
                 "rank 0 failed first: the file /home/user/project/data/bad.tfrecord", "r0", "Invalid file"),
    "too few": Case(("wrong_count", "scheduler", "worker_0", "worker_1"),
                    "the numbers of workers do not agree: 2 instead of 3", "sched",
                    "ProcessRegister"),
    "absent": Case(("absent_peer", "worker_0", "worker_1"),
                   "rank 1 failed first: a collective operation timed out: rank 1", "r1",
                   "Current thread"),
}  # fmt: skip


@pytest.mark.parametrize("hand", ["keys", "mouse"])
@pytest.mark.parametrize("name", CASES)
def test_the_first_failure_is_on_the_screen(workspace: Workspace, name: str, hand: str) -> None:
    case = CASES[name]
    with Desk(workspace) as desk:
        recorded = not case.script[0].endswith(".py")
        wanted = replay(workspace, *case.script) if recorded else line(workspace, *case.script)
        if hand == "keys":
            desk.start(wanted)
        else:
            desk.start_by_mouse(wanted)
        desk.see_row("✖", case.banner)
        desk.see_row("✖ failed", "took")
        desk.see_row("◆1st")
        if hand == "keys":
            desk.type("o")
        else:
            desk.click(case.banner[:40])
        desk.see(
            lambda text: any(row.startswith(f"◆{case.who} ") and case.statement in row for row in text.split("\n"))
        )
        wait_until(lambda: marked_processes(workspace.folder) == [])


@pytest.mark.parametrize("hand", ["keys", "mouse"])
def test_a_port_in_use_is_told_before_anything_starts(workspace: Workspace, hand: str) -> None:
    with socket.socket() as taken, Desk(workspace) as desk:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        desk.fill(line(workspace, "one_of_two.py", port=port))
        desk.see_row("✖ 1 error in the way: ", f"port {port} on the master node")
        _ = desk.type(START) if hand == "keys" else desk.click("▶ Start")
        desk.see("This launch cannot start")
        row = desk.see_row("✖ ERROR", f"port {port} on the master node is already in use")
        _ = desk.type(ENTER) if hand == "keys" else desk.click(row.strip()[:20], times=2)
        desk.see("What to do")
        desk.see("choose another --master_port")
    assert not (workspace.folder / "ms_run_log").exists()


def test_a_run_is_stopped_restarted_and_killed(workspace: Workspace) -> None:
    with Desk(workspace) as desk:
        desk.start(line(workspace, "one_of_two.py", "deaf"))
        desk.see_row("▶ running  one_of_two.py  step")
        desk.type("x", lambda text: all(f"pid {pid}  rank" in text for pid in pids(workspace)))
        assert "Stop run " in desk.text
        desk.type("n")
        desk.gone("Stop run ")
        desk.type("X", "kill at once")
        desk.type("X")
        desk.see_row("■ stopped  one_of_two.py", "took")
        wait_until(lambda: marked_processes(workspace.folder) == [])

        desk.type("r", "New launch in")
        desk.see_row("its arguments", "deaf")
        desk.see(" ready: ")
        desk.type(START)
        desk.see_row("▶ running  one_of_two.py  step")
        desk.type("x", "Stop run ")
        desk.type(ENTER)
        desk.see_row("■ stopped  one_of_two.py", "took")
        wait_until(lambda: marked_processes(workspace.folder) == [])
        desk.type(ESCAPE, lambda text: text.count("■ stopped") == 2)


def test_a_good_run_by_mouse(workspace: Workspace) -> None:
    with Desk(workspace) as desk:
        desk.start_by_mouse(line(workspace, "one_of_two.py"))
        desk.see_row("▶ running  one_of_two.py  step")
        (workspace.folder / "enough").touch()
        desk.see_row("✓ succeeded  one_of_two.py", "took")
        desk.click("d Details")
        desk.see_row("✓ SUCCEEDED  2 ranks")
        desk.quit_by_mouse()


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_a_run_outlives_the_workbench(workspace: Workspace, end: str) -> None:
    with Desk(workspace) as desk:
        desk.start(line(workspace, "one_of_two.py"))
        desk.see_row("▶ running  one_of_two.py  step")
        if end == "closed":
            desk.terminal.close()
            assert desk.terminal.process.wait(30) == 0
        else:
            desk.terminal.process.send_signal(signal.SIGKILL)
            desk.terminal.process.wait(30)
    assert len(marked_processes(workspace.folder)) >= 2
    with Desk(workspace) as desk:
        desk.see_row("▶ running  one_of_two.py  step")
        desk.see_row("r1", "step ")
        desk.see("▶ following")
        (workspace.folder / "enough").touch()
        desk.see_row("✓ succeeded  one_of_two.py", "took")
        wait_until(lambda: marked_processes(workspace.folder) == [])


def test_two_workbenches_show_one_run(workspace: Workspace) -> None:
    with Desk(workspace) as here, Desk(workspace, size=(160, 45)) as there:
        here.start(line(workspace, "one_of_two.py"))
        there.see_row("▶ running", "one_of_two")
        there.type(ENTER)
        for desk in (here, there):
            desk.see_row("▶ running  one_of_two.py  step")
            desk.see_row("r0 ", "step ")
        there.type("x", lambda text: all(f"pid {pid}  rank" in text for pid in pids(workspace)))
        there.type("y")
        for desk in (here, there):
            desk.see_row("■ stopped  one_of_two.py", "took")
        wait_until(lambda: marked_processes(workspace.folder) == [])

        here.type("r", "New launch in")
        here.see(" ready: ")
        here.type(START)
        here.see_row("▶ running  one_of_two.py  step")
        there.see_row("▶ running", "one_of")
        (workspace.folder / "enough").touch()
        here.see_row("✓ succeeded  one_of_two.py", "took")
        there.see_row("✓ succeeded", "one_of")
        wait_until(lambda: marked_processes(workspace.folder) == [])


def test_everything_by_mouse(workspace: Workspace) -> None:
    with Desk(workspace, size=(100, 24)) as desk:
        start_by_mouse(desk, workspace.script("one_of_two.py"), "exception")
        desk.see_row("✖ rank 1 failed first: the training script raised KeyError")
        desk.click("✖ rank 1 failed first")
        desk.see(lambda text: any(row.startswith("◆r1") and "KeyError" in row for row in text.split("\n")))

        at = desk.row_of("◆r1")
        desk.wheel("◆r1", down=False, times=2)
        desk.see(lambda text: "◆r1" in text and desk.row_of("◆r1") > at)
        desk.see(" killed")
        desk.click(" 0 ", row=desk.row_of(" killed"), times=2)
        desk.see_row(" rank 0  line ")
        desk.click(" sched ")  # the keys of the grid are offered again
        desk.click("d Details")
        desk.see("What to do")
        desk.click("2 Cache")
        desk.see("❯ 2 Cache")
        desk.click("1 Launch")
        desk.see("❯ 1 Launch")
        desk.see("What to do")
        desk.click("d Details")
        desk.see("◆1st")
        desk.type(ESCAPE, "What happened")
        desk.click("Script")
        desk.see("Script▲")
        desk.click("one_of_two.py", times=2)
        desk.see_row("✖ failed  one_of_two.py", "took")
        desk.quit_by_mouse()


def start_by_mouse(desk: Desk, script: str, argument: str) -> None:
    """Fill the form with a click on each field, and press its button."""
    desk.click("n New run")
    desk.see("New launch in")
    for label, text in ((" script ", script), (" its arguments ", argument), (" worker_num ", "2")):
        desk.click(label)
        desk.type(text)
        desk.see_row(label, text[-20:])
    desk.click("more flags")
    desk.type("master_port")
    desk.see_row(" master_port ", "8118")
    desk.see(lambda text: in_a_row(text, (" its arguments ", "more flags", "▸ Workers", " master_port ")))
    desk.click("8118", row=desk.row_of("8118"))
    port = str(free_port())
    desk.type(port)
    desk.see_row(" master_port ", port)
    desk.click("more flags")
    desk.type(CLEAR + "backend")
    desk.see(lambda text: in_a_row(text, (" its arguments ", " backend ", "more flags")))
    desk.click("< msrun >")
    desk.see_row(" backend ", "direct >")
    desk.see(" ready: 2 workers here, direct")
    desk.click("▶ Start")


def in_a_row(text: str, words: tuple[str, ...]) -> bool:
    """Whether rows with these words follow one upon the other: they stand where they stay, a click will meet them."""
    rows = [*text.split("\n"), *[""] * len(words)]
    at = next((number for number, row in enumerate(rows) if words[0] in row), 0)
    return all(word in row for word, row in zip(words, rows[at:], strict=False))
