"""Who plays which part and which parts make a run, from what /proc shows, as data."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.jobs.procs import Process
from mswb.launch.foreign.command import is_msrun, script_started
from mswb.launch.foreign.files import OpenLogs
from mswb.launch.foreign.find import ranks_told
from mswb.launch.foreign.group import address_of, job_of, runs_of
from mswb.launch.foreign.parts import Part, cast
from mswb.launch.foreign.sight import Sight
from mswb.signals import ProcessId

ME, OTHER = 1000, 1001
MSRUN = ("python", "-m", "mindspore.parallel.cluster.run", "--worker_num", "2", "train.py")


def sight(
    pid: int, parent: int = 1, env: dict[str, str] | None = None, *, command: tuple[str, ...] = ("python", "train.py"),
    mapped: bool = True, uid: int = ME, session: int | None = None, name: str = "python",
) -> Sight:  # fmt: skip
    process = Process(ProcessId(pid, pid), parent, pid, session or pid, name, over=False)
    return Sight(process, uid, env or {}, command, True, mapped and uid == ME, readable=uid == ME)


def parts(*sights: Sight) -> list[tuple[int, str]]:
    return [(part.sight.pid, part.role) for part in _cast(*sights)]


def _cast(*sights: Sight) -> list[Part]:
    return cast({one.pid: one for one in sights}, {one.pid: one.process for one in sights})


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (MSRUN, True),
        (("/venv/bin/python3.11", "/venv/bin/msrun", "train.py"), True),
        (("msrun", "train.py"), True),
        (("python", "-u", "-m", "mindspore.parallel.cluster.run"), True),
        (("python", "train.py", "--launcher", "msrun"), False),
        (("grep", "mindspore.parallel.cluster.run"), False),
        ((), False),
    ],
)
def test_is_msrun(command: tuple[str, ...], expected: bool) -> None:
    assert is_msrun(command) is expected


@pytest.mark.parametrize(
    ("command", "script"),
    [
        (("python", "train.py", "--x"), "train.py"),
        (("python", "-u", "-X", "dev", "-W", "error", "a/b.py"), "a/b.py"),
        (("python", "-m", "trainer"), None),
        (("python", "-c", "import mindspore"), None),
        (("python",), None),
        ((), None),
        (MSRUN, "train.py"),
        (("python", "/bin/msrun", "--join=True", "--log_dir", "x", "t.py", "u.py"), "t.py"),
        (("python", "/bin/msrun", "--worker_num"), None),
    ],
)
def test_script(command: tuple[str, ...], script: str | None) -> None:
    assert script_started(command) == script


def test_another_users_msrun_shows_its_ranks_by_descent_only() -> None:
    launcher = sight(10, command=MSRUN, uid=OTHER)
    ranks = [sight(11, 10, uid=OTHER, session=10), sight(12, 10, uid=OTHER), sight(13, 10, uid=OTHER)]
    loader = sight(14, 12, uid=OTHER, session=12)
    assert parts(launcher, *ranks, loader) == [(10, "launcher"), (11, "scheduler"), (12, "worker"), (13, "worker")]
    run = runs_of(_cast(launcher, *ranks, loader))
    assert [[part.sight.pid for part in one] for one in run] == [[10, 11, 12, 13]]


def test_another_users_python_alone_is_nothing() -> None:
    assert parts(sight(10, uid=OTHER)) == []


def test_a_scheduler_that_starts_workers_is_no_launcher() -> None:
    scheduler = sight(10, env={"MS_ROLE": "MS_SCHED", "MS_SCHED_PORT": "1"})
    worker = sight(11, 10, {"MS_ROLE": "MS_WORKER", "MS_SCHED_PORT": "1"})
    assert parts(scheduler, worker) == [(10, "scheduler"), (11, "worker")]


def test_a_batch_job_of_slurm() -> None:
    step = sight(10, name="slurmstepd", command=(), mapped=False)
    ranks = [sight(11 + n, 10, {"SLURM_PROCID": str(n), "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}) for n in range(3)]
    found = runs_of(_cast(step, *ranks))
    assert [[(part.role, part.kind) for part in run] for run in found] == [[("worker", "slurm")] * 3]
    assert job_of(found[0][0]) == "7.0"


def test_two_msruns_of_one_cluster_on_one_host_are_one_run() -> None:
    sights = [sight(1000 * node, command=MSRUN) for node in (1, 2)]
    for node in (1, 2):
        env = {"MS_ROLE": "MS_WORKER", "MS_SCHED_PORT": "8118", "MS_NODE_ID": str(node)}
        sights.append(sight(1000 * node + 1, 1000 * node, env))
    assert [len(run) for run in runs_of(_cast(*sights))] == [4]


def test_a_rank_that_stands_twice_shows_two_runs() -> None:
    """An msrun was killed, its ranks go on, and another was started with the same port."""
    env = {"MS_ROLE": "MS_WORKER", "MS_SCHED_PORT": "8118", "MS_NODE_ID": "0"}
    left, launcher, fresh = sight(10, 1, env), sight(20, command=MSRUN), sight(21, 20, env)
    assert [[part.sight.pid for part in run] for run in runs_of(_cast(left, launcher, fresh))] == [[10], [20, 21]]


def test_containers_with_the_same_address_are_two_runs() -> None:
    env = {"MS_ROLE": "MS_WORKER", "MS_SCHED_PORT": "8118"}
    inside = [Part(Sight(sight(n, 1, env).process, ME, env, space=(f"pid:{n}", f"net:{n}")), "worker") for n in (5, 6)]
    assert len(runs_of(inside)) == 2


@pytest.mark.parametrize(
    ("env", "log", "ranks"),
    [
        ({"MS_NODE_ID": "3", "RANK_ID": "0"}, None, [3, 0]),
        ({"RANK_ID": "0"}, "/x/worker_5.log", [5, 0]),
        ({"RANK_ID": "2"}, "/x/10.0.0.1_worker_7.log", [7, 2]),
        ({"OMPI_COMM_WORLD_RANK": "1", "SLURM_PROCID": "0"}, "/x/train.log", [1, 0]),
        ({"MS_ROLE": "MS_WORKER", "DEVICE_ID": "4", "MS_NODE_ID": "c0ffee"}, None, [4]),
        ({"DEVICE_ID": "4"}, None, []),
        ({"RANK_ID": "99999999999"}, None, []),
    ],
)
def test_ranks_told(env: dict[str, str], log: str | None, ranks: list[int]) -> None:
    assert list(ranks_told(sight(1, env=env), OpenLogs(log, ()))) == ranks


@pytest.mark.parametrize(
    ("env", "address"),
    [
        ({"MS_SCHED_HOST": "10.0.0.1", "MS_SCHED_PORT": "1"}, "10.0.0.1:1"),
        ({"MS_SCHED_HOST": "fe80::1", "MS_SCHED_PORT": "1"}, "[fe80::1]:1"),
        ({"MS_SCHED_PORT": "1"}, "127.0.0.1:1"),
        ({"MS_SCHED_HOST": "10.0.0.1"}, None),
    ],
)
def test_address(env: dict[str, str], address: str | None) -> None:
    assert address_of(Part(sight(1, env=env), "worker")) == address


def test_the_first_of_several_mpi_processes_is_the_launcher() -> None:
    chain = [sight(10, name="mpirun"), sight(11, 10, name="prted"), sight(12, 11, {"PMIX_RANK": "0"})]
    assert [part.sight.pid for part in _cast(*chain) if part.role == "launcher"] == [10]
    assert _cast(*chain)[-1].kind == "mpirun"


def test_a_ring_of_parents_ends() -> None:
    """The table is read process by process, while pids are given away again."""
    assert _cast(sight(10, 11, name="mpirun"), sight(11, 10, name="mpirun"), sight(12, 11, {"PMIX_RANK": "0"}))


words = st.sampled_from(["MS_WORKER", "MS_SCHED", "0", "1", "x", "", "8118"])
names = st.sampled_from(
    ["MS_ROLE", "MS_SCHED_PORT", "MS_NODE_ID", "RANK_ID", "SLURM_PROCID", "SLURM_JOB_ID", "PMIX_RANK"]
)
commands = st.sampled_from([("python", "t.py"), MSRUN, ("python",), ()])


@st.composite
def tables(draw: st.DrawFn) -> list[Sight]:
    count = draw(st.integers(0, 12))
    return [
        sight(
            pid, draw(st.integers(1, count + 2)), draw(st.dictionaries(names, words, max_size=4)),
            command=draw(commands), mapped=draw(st.booleans()), uid=draw(st.sampled_from([ME, ME, OTHER])),
            session=draw(st.integers(1, 4)),
            name=draw(st.sampled_from(["python", "mpirun", "slurmstepd", string.printable[:9]])),
        )
        for pid in range(2, count + 2)
    ]  # fmt: skip


@given(tables())
def test_every_part_is_in_one_run_and_no_launcher_is_lost(sights: list[Sight]) -> None:
    """Also where the table is torn: parents that are gone, or that form a ring."""
    found = _cast(*sights)
    members = [part.sight.pid for run in runs_of(found) for part in run if part.role != "launcher"]
    assert sorted(members) == sorted(part.sight.pid for part in found if part.role != "launcher")
    launchers = {part.sight.pid for part in found if part.role == "launcher"}
    assert launchers == {part.sight.pid for run in runs_of(found) for part in run if part.role == "launcher"}
    assert not launchers & set(members)
