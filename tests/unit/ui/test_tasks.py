"""Tasks: results, failures, groups, cancellation, values on the way; with a loop of the test's own."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import pytest

from mswb.findings import Finding, stop
from mswb.ui.tasks import KEPT, Tasks, Ticket


class Loop:
    """Stands for the event loop: calls what is delivered, in the test's thread."""

    def __init__(self) -> None:
        self.calls: queue.Queue[Callable[[], None]] = queue.Queue()
        self.unheard: list[Finding] = []
        self.told = 0
        self.tasks = Tasks(self.calls.put, self._tell, self.unheard.append)

    def _tell(self) -> None:
        self.told += 1

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.calls.get(timeout=20)()


@pytest.fixture
def loop() -> Loop:
    return Loop()


def test_the_result_reaches_the_one_who_asked(loop: Loop) -> None:
    got: list[int] = []
    task = loop.tasks.start("Sum", lambda ticket: 1 + 1, got.append)
    loop.turn()
    assert got == [2] and task.state == "done" and loop.tasks.running == 0 and loop.told == 2


def test_values_on_the_way_come_in_order(loop: Loop) -> None:
    got: list[Any] = []

    def work(ticket: Ticket) -> str:
        ticket.send(1)
        ticket.send(2)
        return "end"

    loop.tasks.start("Count", work, got.append, received=got.append)
    loop.turn(3)
    assert got == [1, 2, "end"]


def test_a_failure_goes_to_its_handler_else_to_everyone(loop: Loop) -> None:
    def broken(ticket: Ticket) -> None:
        raise stop("path-missing", values={"path": "/x"})

    heard: list[Finding] = []
    loop.tasks.start("A", broken, lambda done: None, failed=heard.append)
    loop.turn()
    loop.tasks.start("B", broken, lambda done: None)
    loop.turn()
    assert [one.code for one in heard + loop.unheard] == ["path-missing", "path-missing"]


def test_a_defect_in_the_work_or_in_the_drawing_is_a_finding(loop: Loop) -> None:
    def broken(value: Any) -> None:
        raise ZeroDivisionError("seven")

    loop.tasks.start("Work", broken, lambda done: None)
    loop.turn()
    loop.tasks.start("Draw", lambda ticket: 1, broken)
    loop.turn()
    assert [one.code for one in loop.unheard] == ["workbench-defect"] * 2
    assert all("seven" in one.title and "test_tasks" in one.evidence for one in loop.unheard)


def test_a_new_task_of_the_group_cancels_the_old_one(loop: Loop) -> None:
    got: list[str] = []

    def first(ticket: Ticket) -> str:
        assert ticket.wait(20)
        return "first"

    old = loop.tasks.start("One", first, got.append, group="g")
    loop.tasks.start("Two", lambda ticket: "second", got.append, group="g")
    loop.turn(2)
    assert got == ["second"] and old.state == "cancelled"


def test_quiet_tasks_are_not_listed_and_old_ones_forgotten(loop: Loop) -> None:
    for number in range(KEPT + 10):
        loop.tasks.start(f"Task {number}", lambda ticket: None, lambda done: None, quiet=number % 2 == 0)
        loop.turn()
    assert len(loop.tasks.listed) == (KEPT + 10) // 2
    for _ in range(KEPT + 10):
        loop.tasks.start("More", lambda ticket: None, lambda done: None)
        loop.turn()
    assert len(loop.tasks.listed) <= KEPT + 1


def test_cancelling_all_drops_every_result(loop: Loop) -> None:
    got: list[bool] = []
    task = loop.tasks.start("Wait", lambda ticket: ticket.wait(20), got.append)
    loop.tasks.cancel_all()
    loop.turn()
    assert task.state == "cancelled" and got == []


def test_a_cancelled_task_is_told_of_when_its_work_has_ended(loop: Loop) -> None:
    task = loop.tasks.start("Wait", lambda ticket: ticket.wait(20), lambda result: None)
    before = loop.told
    task.cancel()
    loop.turn()
    assert loop.told == before + 1 and task.state == "cancelled"
