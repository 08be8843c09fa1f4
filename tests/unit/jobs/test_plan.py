"""A plan does what was shown, to what it was shown for, and nothing else."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mswb import plan
from mswb.plan import Action, Plan
from mswb.signals import ProcessId, end, identify, is_alive, send
from tests.waiting import wait_until

IGNORES = (
    "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
)


@pytest.fixture
def child() -> Iterator[ProcessId]:
    with subprocess.Popen([sys.executable, "-c", IGNORES], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        identity = identify(process.pid)
        assert identity is not None
        yield identity
        process.kill()


def folder_with(path: Path, *names: str) -> Path:
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("x" * 5000)
    return path


def test_deletes_the_folder_and_spares_what_its_links_name(tmp_path: Path) -> None:
    kept = folder_with(tmp_path / "kept", "data")
    doomed = folder_with(tmp_path / "doomed", "a", "b/c")
    (doomed / "link").symlink_to(kept)
    action = plan.delete_folder(doomed, detail="old")
    assert action.bytes >= 10000
    outcomes = plan.apply(Plan((action,)))
    assert [(one.done, one.reason) for one in outcomes] == [(True, "")]
    assert (kept / "data").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept"]


def replaced_by_folder(path: Path) -> None:
    path.rename(path.with_name("moved"))
    folder_with(path, "precious")


def replaced_by_link(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))


def gone(path: Path) -> None:
    path.rename(path.with_name("moved"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (replaced_by_folder, "another folder has taken its place"),
        (replaced_by_link, "it is not a folder any more"),
        (gone, "it is gone already"),
    ],
)
def test_refuses_what_changed_since(tmp_path: Path, change, reason: str) -> None:
    doomed = folder_with(tmp_path / "doomed", "a")
    made = Plan((plan.delete_folder(doomed),))
    change(doomed)
    before = sorted(path for path in tmp_path.rglob("*"))
    assert [(one.done, one.reason) for one in plan.apply(made)] == [(False, reason)]
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_one_refusal_does_not_stop_the_rest(tmp_path: Path) -> None:
    first, second = folder_with(tmp_path / "1", "a"), folder_with(tmp_path / "2", "a")
    made = Plan((plan.delete_folder(first), plan.delete_folder(second)))
    gone(first)
    assert [one.done for one in plan.apply(made)] == [False, True]


def test_ends_a_process_that_ignores_sigterm(child: ProcessId, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "END_LADDER", ((signal.SIGTERM, 0.2), (signal.SIGKILL, 5.0)))
    assert [one.done for one in plan.apply(Plan((plan.end_process(child, "python"),)))] == [True]
    assert not is_alive(child)


def test_ends_a_stopped_process(child: ProcessId) -> None:
    send(child, signal.SIGSTOP)
    assert end([child], ((signal.SIGUSR1, 10.0),)) == []


def test_a_reused_pid_is_left_alone(child: ProcessId) -> None:
    other = ProcessId(child.pid, child.start_time - 1)
    outcomes = plan.apply(Plan((plan.end_process(other, "python"),)))
    assert [one.done for one in outcomes] == [False]
    assert "another process" in outcomes[0].reason
    assert not send(other, signal.SIGKILL)
    assert is_alive(child)


def test_a_zombie_is_not_alive() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        identity = identify(process.pid)
        assert identity is not None
        wait_until(lambda: not is_alive(identity))
        assert identify(process.pid) == identity


def test_later_parts_add_kinds(tmp_path: Path) -> None:
    done: list[str] = []

    def note(action: Action) -> str:
        done.append(action.target)
        return "" if action.target == "a" else "no"

    made = Plan((Action("note", "a", ""), Action("note", "b", "")), ("careful",))
    outcomes = plan.apply(made, {"note": note})
    assert (done, [one.reason for one in outcomes]) == (["a", "b"], ["", "no"])
    report = plan.to_report(made, outcomes)
    assert [(row["done"], row["reason"]) for row in report["actions"]] == [(True, ""), (False, "no")]
    assert (report["warnings"], report["applied"]) == (["careful"], True)
    assert "done" not in plan.to_report(made)["actions"][0]
