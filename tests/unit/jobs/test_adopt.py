"""Adopting trainings that run already: what is seen, what is left alone, what is refused."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from mswb.findings import MswbError
from mswb.flows import adopt as flow
from mswb.flows.run import LogLine, follow
from mswb.jobs import adopt as adoption
from mswb.jobs import control, orphans, procs, runs, watch
from mswb.jobs.runs import Run
from mswb.jobs.spec import JobSpec, RunStatus, write_record
from mswb.jobs.watch import Watch
from mswb.launch.diagnose import diagnose
from mswb.launch.discover import discover
from mswb.settings import Settings
from mswb.signals import ProcessId, identify, is_alive, open_pidfd, reaped_code
from tests.unit.jobs.conftest import CHILDREN, Lab
from tests.unit.launch.yard import Yard, cluster, trainee
from tests.waiting import wait_until


class Site(Yard):
    """A yard whose trainings are adopted; its supervisors are killed with the rest."""

    settings: Settings
    adopted: list[Run]

    def adopt(self, pid: int, *, end_peers: bool = False) -> Run:
        run = flow.adopt(pid, self.settings, end_peers=end_peers)
        self.adopted.append(run)
        return run

    def msrun(
        self, *words: str, env: dict[str, str] | None = None, out: str = "console.txt"
    ) -> subprocess.Popen[bytes]:
        """A fake msrun with a rank for each of ``words``, started by hand."""
        program = self.script("msrun", (CHILDREN / "msrun.py").read_text())
        ranks = [str(CHILDREN / "rank.py"), "wait:all_done", *words]
        argv = [sys.executable, program, str(self.folder), str(len(words)), "0.3", *ranks]
        return self.start(argv, {**cluster("", 8118), "MS_ROLE": "", **(env or {})}, out=out)

    def status(self, run: Run) -> RunStatus:
        return runs.read_status(run)

    def ended(self, run: Run, timeout: float = 30.0) -> RunStatus:
        """Wait for the end of the supervision; every process that was started here is reaped as it ends."""

        def over() -> bool:
            for child in self.started:
                child.poll()
            return self.status(run).state == "ended"

        wait_until(over, timeout)
        return self.status(run)

    def close(self) -> None:
        super().close()
        for run in self.adopted:
            wait_until(lambda run=run: not runs.is_live(run.reload()))


@pytest.fixture
def site(tmp_path: Path, settings: Settings) -> Iterator[Site]:
    folder = tmp_path.resolve() / "site"
    folder.mkdir()
    site = Site(folder)
    site.settings, site.adopted = settings, []
    yield site
    site.close()


def two_ranks(site: Site, first: str = "load", second: str = "load") -> list[int]:
    """The pids of two ranks of a cluster without a launcher, whose codes nobody but the supervisor asks for."""
    pids = []
    for node, words in enumerate((first, second)):
        env = cluster("MS_WORKER", 9301, MS_NODE_ID=str(node))
        argv = trainee(site.folder, f"{words}+ready:up{node}+wait:end{node}+say:last words of {node}+exit:{node}")
        pids.append(site.start(argv, env, out=f"worker_{node}.log").pid)
    site.until("up0", "up1")
    return pids


def codes(status: RunStatus) -> dict[tuple[str, int | None], int | None]:
    return {(one.role, one.rank): one.exit_code for one in status.processes}


# What is seen


def test_a_rank_of_msrun_fails(site: Site) -> None:
    """Named at once although msrun kills the other rank and waits for the scheduler."""
    site.msrun("wait:go+fail", "forever")
    site.until("ready_worker_1")
    run = site.adopt(site.pid("ready_worker_1"))
    assert [(one.role, one.rank) for one in site.status(run).processes] == [
        ("launcher", None), ("scheduler", None), ("worker", 0), ("worker", 1),
    ]  # fmt: skip
    before = sorted(os.listdir(site.folder))
    site.touch("go")
    first = wait_until(lambda: site.status(run).first_failure)
    assert (first.role, first.rank, first.exit_code) == ("worker", 0, 3)
    assert runs.run_state(run.reload()) == "running"  # the scheduler still waits, as it would without us
    site.touch("all_done")
    status = site.ended(run)
    assert (status.exit_code, status.stopped_by, runs.run_state(run.reload())) == (3, None, "failed")
    assert codes(status) == {("launcher", None): 1, ("scheduler", None): 0, ("worker", 0): 3, ("worker", 1): -9}
    assert [one.ended_by_us for one in status.processes if one.rank == 1] == [True]
    # Nothing of ours is in a folder that is not ours.
    assert set(os.listdir(site.folder)) - set(before) <= {"go", "all_done", "died_worker_0"}
    diagnosis = diagnose(run.folder)
    assert diagnosis.verdict == "failed" and diagnosis.root is not None
    assert diagnosis.findings[diagnosis.root].where.rank == 0


def test_a_good_end(site: Site) -> None:
    launcher = site.msrun("wait:go+ok", "wait:go+ready+ok")
    wait_until(lambda: len(site.found()) == 1 and len(site.found()[0].workers) == 2)
    run = site.adopt(launcher.pid)
    for name in ("go", "all_done"):
        site.touch(name)
    status = site.ended(run)
    assert (status.exit_code, status.first_failure, runs.run_state(run.reload())) == (0, None, "succeeded")


def test_ranks_that_msrun_starts_later_are_found(site: Site) -> None:
    launcher = site.msrun("forever", "forever", env={"FAKE_IMPORT": str(site.folder / "imported")})
    wait_until(site.found)
    run = site.adopt(launcher.pid)
    assert [one.role for one in site.status(run).processes] == ["launcher"]
    site.touch("imported")
    wait_until(lambda: sorted(one.rank for one in site.status(run).processes if one.role == "worker") == [0, 1])


def test_the_others_go_on_when_one_fails(site: Site) -> None:
    pids = two_ranks(site)
    run = site.adopt(pids[0])
    site.touch("end1")
    first = wait_until(lambda: site.status(run).first_failure)
    assert (first.rank, first.exit_code, first.pid) == (1, 1, pids[1])
    assert os.kill(pids[0], 0) is None and site.status(run).state == "running"
    site.touch("end0")
    status = site.ended(run)
    assert (status.exit_code, codes(status)) == (1, {("worker", 0): 0, ("worker", 1): 1})


def test_the_others_are_ended_when_that_was_asked(site: Site) -> None:
    pids = two_ranks(site)
    run = site.adopt(pids[1], end_peers=True)
    site.touch("end1")
    status = site.ended(run)
    assert (status.stopped_by, status.exit_code) == ("failure", 1)
    assert codes(status)["worker", 0] in (-signal.SIGTERM, -signal.SIGKILL)
    assert [one.ended_by_us for one in status.processes] == [True, False]


def test_a_single_process(site: Site) -> None:
    child = site.start(trainee(site.folder, "load+ready:up+wait:go+exit:5"), out="train.txt")
    site.until("up")
    run = site.adopt(child.pid)
    site.touch("go")
    status = site.ended(run)
    assert (codes(status), status.exit_code) == ({("command", None): 5}, 5)
    diagnosis = diagnose(run.folder)
    assert diagnosis.verdict == "failed"


def test_a_rank_that_writes_to_no_file_is_diagnosed_by_its_end(site: Site) -> None:
    """Its output went to a terminal: the exit code is all there is."""
    ranks = []
    for node in "01":
        words = f"load+ready:t{node}+forever"
        ranks.append(site.start(trainee(site.folder, words), cluster("MS_WORKER", 9302, MS_NODE_ID=node)))
    site.until("t0", "t1")
    run = site.adopt(ranks[0].pid)
    ranks[1].send_signal(signal.SIGKILL)
    wait_until(lambda: site.status(run).first_failure)
    diagnosis = diagnose(run.folder)
    assert diagnosis.root is not None
    root = diagnosis.findings[diagnosis.root]
    assert (root.code, root.where.rank) == ("killed-by-signal", 1)


def test_an_exit_code_that_nobody_saw_is_unknown(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parent reaps it before we look, on a kernel that tells nothing afterwards."""
    child = site.start(trainee(site.folder, "load+ready:up+wait:go+exit:5"), out="train.txt")
    site.until("up")
    spec = flow._spec("blind", flow.choose(child.pid, site.settings), (), False, site.settings)
    process = identify(child.pid)
    assert process is not None
    one = adoption.AdoptedProcess(role="command", pid=process.pid, start_time=process.start_time)
    folder = site.settings.runs_dir / "blind"
    folder.mkdir(parents=True)
    write_record(folder / "spec.json", msgspec.structs.replace(spec, adopted=(one,)))
    code = (
        "import sys; from mswb.jobs import procs, shim, watch\n"
        "watch.procs.zombie_code = lambda process: None\n"
        "watch.reaped_code = lambda pidfd: None\n"
        "sys.exit(shim.main(sys.argv[1:]))"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    wait_until(lambda: (folder / "status.json").exists())
    run = runs.load_run(folder)
    site.adopted.append(run)
    site.touch("go")
    status = site.ended(run)
    assert (status.exit_code, status.first_failure, codes(status)) == (None, None, {("command", None): None})
    assert runs.run_state(run.reload()) == "ended"
    assert diagnose(run.folder).verdict == "unknown"


def test_ctrl_c_in_the_terminal_of_msrun_is_no_failure_of_a_rank(site: Site) -> None:
    """msrun kills its workers and ends with 0; its console is the terminal, so nothing is told."""
    launcher = site.msrun("forever", "forever", out="/dev/null")
    site.until("ready_worker_0", "ready_worker_1")
    run = site.adopt(launcher.pid)
    launcher.send_signal(signal.SIGINT)
    status = site.ended(run)
    assert (status.stopped_by, status.first_failure, runs.run_state(run.reload())) == ("user", None, "stopped")


def test_an_interrupted_msrun_that_is_slow_to_end(site: Site) -> None:
    """A failure was named meanwhile; its end shows that there was none."""
    launcher = site.msrun("forever", "forever", out="/dev/null")
    site.until("ready_worker_0", "ready_worker_1")
    run = site.adopt(launcher.pid)
    workers = [one.pid for one in site.status(run).processes if one.role == "worker"]
    launcher.send_signal(signal.SIGSTOP)
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: site.status(run).first_failure)
    launcher.send_signal(signal.SIGINT)
    launcher.send_signal(signal.SIGCONT)
    status = site.ended(run)
    assert (status.stopped_by, status.first_failure, runs.run_state(run.reload())) == ("user", None, "stopped")


def test_only_the_files_of_its_processes_are_its_logs(site: Site) -> None:
    """msrun's default log folder is where the user works."""
    (site.folder / "worker_7.log").write_text("Traceback (most recent call last):\nValueError: of last week\n")
    (site.folder / "train.py").touch()
    pids = two_ranks(site, "load+say:hello of 0", "load+say:hello of 1")
    run = site.adopt(pids[0])
    assert [(file.name, file.role, file.rank_hint) for file in discover(run.folder).files] == [
        ("worker_0.log", "worker", 0), ("worker_1.log", "worker", 1),
    ]  # fmt: skip
    for node in "01":
        site.touch(f"end{node}")
    site.ended(run)
    lines = [item for item in follow(run, lambda: False) if isinstance(item, LogLine)]
    texts = [f"hello of {node}" for node in "01"] + [f"last words of {node}" for node in "01"]
    assert sorted((line.rank, line.text) for line in lines) == sorted((int(text[-1]), text) for text in texts)


# What is left alone


def test_a_stop_reaches_its_processes_and_no_others(site: Site) -> None:
    """A bystander has the same parent, the same program and the same variables, but another scheduler."""
    other = site.start(trainee(site.folder, "load+forever"), cluster("MS_WORKER", 9399))
    loader = "load+spawn:ready:loader,forever+wait:loader"
    pids = two_ranks(site, loader)
    wait_until(lambda: len(site.found()) == 2)
    run = site.adopt(pids[1])
    members = {process.pid for process in control.members(run)}
    assert members == {*pids, site.pid("loader")}
    assert control.request_stop(run)
    status = site.ended(run)
    assert (status.stopped_by, runs.run_state(run.reload())) == ("user", "stopped")
    assert other.poll() is None
    wait_until(lambda: set(site.pids()) == {other.pid})


def test_a_child_that_lost_its_parent_is_still_of_the_run(site: Site) -> None:
    pids = two_ranks(site, "load+spawn:ready:loader,forever+wait:loader")
    run = site.adopt(pids[0])
    loader = site.pid("loader")
    wait_until(lambda: any(pid == loader for pid, _ in site.status(run).family))
    site.touch("end0")
    wait_until(lambda: codes(site.status(run))["worker", 0] == 0)
    assert {process.pid for process in control.members(run.reload())} == {pids[1], loader}
    control.request_stop(run)
    site.ended(run)
    wait_until(lambda: not site.pids())


def test_a_dead_supervisor_ends_nothing(site: Site) -> None:
    pids = two_ranks(site)
    run = site.adopt(pids[0])
    os.kill(site.status(run).pid, signal.SIGKILL)
    wait_until(lambda: runs.is_lost(run.reload()))
    assert [reaped.ended for reaped in control.reap_lost(site.settings)] == [()]
    assert all(os.kill(pid, 0) is None for pid in pids)
    assert runs.run_state(run.reload()) == "ended"
    assert "left alone" in site.status(run).message
    assert not (site.folder / "run.json").exists()
    again = site.adopt(pids[0])
    assert len(site.status(again).processes) == 2


def test_a_failing_supervisor_ends_nothing(site: Site) -> None:
    pids = two_ranks(site)
    found = flow.choose(pids[0], site.settings)
    adopted = tuple(flow._adopted(one) for one in found.processes)
    folder = site.settings.runs_dir / "broken"
    folder.mkdir(parents=True)
    write_record(folder / "spec.json", flow._spec("broken", found, adopted, False, site.settings))
    code = (
        "import sys; from mswb.jobs import shim, watchover\n"
        "def broken(self): raise RuntimeError('a defect')\n"
        "watchover.Keeper._judge = broken\n"
        "sys.exit(shim.main(sys.argv[1:]))"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, stderr=subprocess.DEVNULL)
    status = wait_until(lambda: (one := runs.load_run(folder).status) and one.state == "ended" and one)
    assert "left the run" in status.message
    assert all(os.kill(pid, 0) is None for pid in pids)


def test_an_adopted_run_is_no_orphan(site: Site) -> None:
    """Its msrun is gone, and it is watched all the same."""
    launcher = site.msrun("forever", "forever")
    site.until("ready_worker_0", "ready_worker_1")
    run = site.adopt(launcher.pid)
    launcher.kill()
    launcher.wait()
    mine = {one.pid for one in site.status(run).processes}
    found = {one.process.pid for one in orphans.find_foreign_orphans()}
    assert found & mine == mine - {launcher.pid}
    watched = adoption.adopted_by(site.settings)
    assert not {one.process.pid for one in orphans.find_foreign_orphans(watched)} & mine


# What is refused


def refused(site: Site, pid: int) -> str:
    with pytest.raises(MswbError) as caught:
        site.adopt(pid)
    text = str(caught.value)
    assert str(pid) in text and "\n" not in text
    return caught.value.finding.code


def test_no_such_process(site: Site) -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    assert refused(site, child.pid) == "adopt-no-process"


def test_no_training(site: Site) -> None:
    child = site.start(["sleep", "600"])
    assert refused(site, child.pid) == "adopt-no-training"


def test_the_shell_above_a_training_is_told_where_it_is(site: Site) -> None:
    command = " ".join(trainee(site.folder, "load+ready:up+forever"))
    shell = site.start(["/bin/sh", "-c", f"{command}; true"])
    with pytest.raises(MswbError, match=str(site.pid("up"))) as caught:
        site.adopt(shell.pid)
    assert caught.value.finding.code == "adopt-no-training"


def test_already_adopted(site: Site) -> None:
    pids = two_ranks(site)
    run = site.adopt(pids[0])
    assert refused(site, pids[1]) == "adopt-already"
    assert [one.id for one in runs.list_runs(site.settings)] == [run.id]
    assert all(run.cwd != str(site.folder) for run in flow.foreign_runs(site.settings))


def test_a_run_of_ours(site: Site, lab: Lab) -> None:
    run = lab.start(lab.spec(["forever"]))
    lab.until_found(run, 1)
    worker = next(one for one in site.status(run).processes if one.role == "worker")
    assert refused(site, worker.pid) == "adopt-own-run"
    assert not [one for one in flow.foreign_runs(lab.settings) if worker.pid in [each.pid for each in one.processes]]


def test_another_users(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = two_ranks(site)
    monkeypatch.setattr(procs, "owner", lambda pid: os.geteuid() + 1)
    assert refused(site, pids[0]) == "adopt-other-user"


def test_a_pid_that_was_given_away_again(site: Site) -> None:
    """The run was shown, ended, and another process has its pid now."""
    pids = two_ranks(site)
    found = flow.choose(pids[0], site.settings)
    stale = tuple(replace(one, id=ProcessId(one.pid, one.id.start_time - 1)) for one in found.processes)
    with pytest.raises(MswbError) as caught:
        flow.adopt_run(replace(found, processes=stale), site.settings)
    assert caught.value.finding.code == "adopt-no-process"
    assert runs.list_runs(site.settings) == []


# Exit codes


def test_the_code_of_a_process_that_was_reaped() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "import sys; sys.stdin.read(); sys.exit(7)"], stdin=-1) as child:
        process = identify(child.pid)
        assert process is not None
        pidfd = open_pidfd(process)
        assert pidfd is not None and reaped_code(pidfd) is None
        child.communicate()
        major, minor = (int(part) for part in platform.release().split(".")[:2])
        assert reaped_code(pidfd) == (7 if (major, minor) >= (6, 15) else None)
        os.close(pidfd)


def test_the_watch_asks_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = {number: signal.getsignal(number) for number in watch.HANDLED}
    try:
        code = "import os, signal, sys; sys.stdin.read(); os.kill(os.getpid(), signal.SIGKILL)"
        with subprocess.Popen([sys.executable, "-S", "-c", code], stdin=subprocess.PIPE) as child:
            process = identify(child.pid)
            assert process is not None
            watched = Watch()
            watched.add(process)
            child.communicate()
            monkeypatch.setattr(watch, "reaped_code", lambda pidfd: -9)
            ended, _ = watched.wait(5)
            assert [(one.process, one.code) for one in ended] == [(process, -9)]
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)


# The command line


def mswb(site: Site, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "MSWB_STATE_DIR": str(site.settings.state_dir), "MSWB_LANG": "en", "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "mswb", "jobs", *arguments], env=env, capture_output=True, text=True, timeout=60
    )


def test_the_command_line(site: Site) -> None:
    pids = two_ranks(site)
    listed = json.loads(mswb(site, "list", "--format", "json").stdout)
    mine = [one for one in listed["foreign"] if one["cwd"] == str(site.folder)]
    assert listed["runs"] == [] and len(mine) == 1
    assert [(one["role"], one["rank"], one["pid"]) for one in mine[0]["processes"]] == [
        ("worker", 0, pids[0]), ("worker", 1, pids[1]),
    ]  # fmt: skip
    text = mswb(site, "list").stdout
    assert "not started by mswb" in text and str(pids[0]) in text and str(site.folder) in text

    done = mswb(site, "adopt", str(pids[0]))
    assert done.returncode == 0, done.stderr
    run = runs.find_run(site.settings, "latest")
    site.adopted.append(run)
    assert run.id in done.stdout and f"{site.folder}/worker_1.log" in done.stdout
    listed = json.loads(mswb(site, "list", "--format", "json").stdout)
    assert [one["id"] for one in listed["runs"]] == [run.id]
    assert not [one for one in listed["foreign"] if one["cwd"] == str(site.folder)]

    again = mswb(site, "adopt", str(pids[1]), "--format", "json")
    assert again.returncode == 2
    assert json.loads(again.stdout)["findings"][0]["code"] == "adopt-already"
    assert again.stderr.count("\n") == 1

    stopped = mswb(site, "stop", "--format", "json")
    assert {one["pid"] for one in json.loads(stopped.stdout)["stopped"]} == set(pids)
    assert not any(is_alive(ProcessId(pid, 0)) for pid in pids)
    assert site.status(run).stopped_by == "user"


def test_a_word_is_no_pid(site: Site) -> None:
    done = mswb(site, "adopt", "train.py")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_old_records_can_still_be_read(tmp_path: Path) -> None:
    """Runs that were started before there were adopted ones."""
    path = tmp_path / "spec.json"
    path.write_text('{"id": "x", "kind": "launch", "title": "t", "cwd": "/", "env": {}, "processes": []}')
    assert runs.read_record(path, JobSpec).adopted == ()
