"""Servers, sockets and shared memory as the kernel shows them; what dead servers leave; why one does not answer."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mswb.cache.server import answers, explain, history, leftovers, removal, running
from mswb.cache.server.running import Host, Segment, Server, Socket
from mswb.plan import Plan, apply
from mswb.signals import ProcessId

SHM = """ key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap
1627431478 0 600 4294967296 31354 31354 0 0 0 0 0 1796070911 1796070928 1796070892 65536 0
 7 1 600 1024 1 1 0 0 0 0 0 0 0 0 0 0
"""
UNIX = """Num       RefCount Protocol Flags    Type St Inode Path
0000000006e0509b: 00000002 00000000 00010000 0001 01 912378 ///tmp/mindspore/cache_server_p50177
000000006082e5e1: 00000003 00000000 00000000 0001 03   129
0000000006e0509c: 00000003 00000000 00000000 0001 03 912379 /tmp/mindspore/cache_server_p50178
"""
ME = os.getuid()
SERVER = Server(ProcessId(4242, 1), ME, 50177, 2, None, 4, 1, 0.8, "/x/dataset-cache-server", 1000.0)


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder with a name short enough for a socket."""
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp", prefix="ms") as folder:
        yield Path(folder)


def make_socket(folder: Path, port: int) -> Path:
    path = folder / f"cache_server_p{port}"
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))
    return path


def of(path: Path, port: int, *, uid: int = ME, listening: bool = False) -> Socket:
    about = path.stat()
    return Socket(str(path), port, uid, about.st_dev, about.st_ino, about.st_mtime, listening)


def segment(key: int, *, attached: int = 0, maker: int = 99999999, uid: int = ME) -> Segment:
    return Segment(5, key, 0o600, 4 << 30, 65536, maker, attached, uid, 0.0)


def test_a_server_is_read_from_its_arguments() -> None:
    words = ("/x/bin/dataset-cache-server", "/data/spill", "2", "50177", "4", "1", "true", "0.800000")
    found = running.parse_arguments(ProcessId(os.getpid(), 5), ME, words)
    assert found is not None
    assert (found.port, found.spill, found.workers, found.shm_gib, found.log_level) == (50177, "/data/spill", 2, 4, 1)
    bare = running.parse_arguments(ProcessId(os.getpid(), 5), ME, (words[0], "", "-1", *words[3:]))
    assert bare is not None and bare.spill is None and bare.workers == -1
    near = running.parse_arguments(ProcessId(os.getpid(), 5), ME, (words[0], "spill", *words[2:]))
    assert near is not None and near.spill == os.path.join(os.getcwd(), "spill")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("dataset-cache-server",),
        ("dataset-cache", "a", "2", "50177", "4", "1", "true", "0.8"),
        ("dataset-cache-server", "a", "2", "port", "4", "1", "true", "0.8"),
    ],
)
def test_other_processes_are_no_servers(words: tuple[str, ...]) -> None:
    assert running.parse_arguments(ProcessId(1, 1), ME, words) is None


def test_a_process_that_only_has_the_name_is_no_server(tmp_path: Path) -> None:
    fake = tmp_path / "dataset-cache-server"
    fake.symlink_to(sys.executable)
    child = subprocess.Popen([str(fake), "-c", "print(1, flush=True); input()"], stdin=-1, stdout=-1)
    try:
        assert child.stdout is not None and child.stdout.readline()
        assert child.pid not in {one.process.pid for one in running.servers()}
    finally:
        child.communicate(b"\n")


def test_shared_memory_is_read_from_the_table_of_the_kernel() -> None:
    first, second = running.segments(SHM)
    assert (first.id, first.key, first.maker, first.attached, first.size_bytes) == (0, 0x6100A236, 31354, 0, 4 << 30)
    assert first.of_server and not second.of_server
    assert running.segments("") == ()


def test_only_listening_sockets_count() -> None:
    assert running.listeners(UNIX) == {"/tmp/mindspore/cache_server_p50177"}


def test_the_key_of_shared_memory_is_that_of_the_socket() -> None:
    real = Socket("/tmp/mindspore/cache_server_p50177", 50177, ME, 65024, 2728502, 0.0, False)
    assert real.shm_key == 1627431478


def test_looking_finds_sockets_of_all_users_and_names_closed_folders(base: Path) -> None:
    make_socket(base, 50177)
    (base / "anna").mkdir()
    make_socket(base / "anna", 50178)
    (base / "cache_server_p50179").write_text("no socket")
    (base / "cache").mkdir()
    table = base / "unix"
    table.write_text(UNIX.replace("///tmp/mindspore", str(base)))
    found = running.look(str(base), "/nonexistent", str(table))
    assert [(one.port, one.listening) for one in found.sockets] == [(50177, True), (50178, False)]
    if ME:
        (base / "anna").chmod(0)
        assert running.look(str(base)).closed == (str(base / "anna"),)


def test_what_a_dead_server_left_is_an_orphan_and_can_go(base: Path) -> None:
    path = make_socket(base, 50177)
    one = of(path, 50177)
    host = Host((), (one,), (segment(one.shm_key), segment(0x61BBBBBB), segment(0x12)))
    found = leftovers.leftovers(host, base=str(base))
    assert [(entry.form, entry.status) for entry in found] == [
        ("dataset-cache", "orphan"),
        ("shared-memory", "orphan"),
        ("shared-memory", "orphan"),
    ]
    assert [entry.more["known"] for entry in found[1:]] == [True, False]
    assert all(entry.findings[0].code == "orphan" for entry in found)
    plan = removal.plan(found)
    assert [action.kind for action in plan.actions] == ["remove-socket"]  # no segment 5 of that key exists here
    assert "ipcrm" in plan.warnings[0]
    assert [outcome.reason for outcome in apply(plan, removal.doers())] == [""]
    assert not path.exists()


def test_a_socket_that_was_replaced_is_left_alone(base: Path) -> None:
    path = make_socket(base, 50177)
    plan = removal.plan(leftovers.leftovers(Host((), (of(path, 50177),)), base=str(base)))
    path.rename(base / "old")
    make_socket(base, 50177)
    assert [outcome.done for outcome in apply(plan, removal.doers())] == [False]
    assert path.exists()


def test_a_socket_that_somebody_listens_on_is_left_alone(base: Path) -> None:
    path = base / "cache_server_p50177"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        plan = removal.plan(leftovers.leftovers(Host((), (of(path, 50177),)), base=str(base)))
        assert [outcome.reason for outcome in apply(plan, removal.doers())] == ["a server uses it now"]


def test_what_a_live_server_holds_is_ok_and_what_is_of_others_foreign(base: Path) -> None:
    one = of(make_socket(base, 50177), 50177)
    live = leftovers.leftovers(Host((SERVER,), (one,), (segment(one.shm_key, maker=4242),)), base=str(base))
    assert [entry.status for entry in live] == ["ok", "ok"]
    assert removal.plan(live) == Plan(())
    assert len(leftovers.of_port(live, 50177)) == 2 and leftovers.of_port(live, 1) == []
    theirs = leftovers.leftovers(
        Host((), (replace(one, uid=ME + 1),), (segment(one.shm_key, uid=ME + 1),)), base=str(base)
    )
    assert [entry.status for entry in theirs] == ["foreign", "foreign"]
    assert removal.plan(theirs).actions == ()


def test_spilled_rows_are_an_orphan_unless_a_live_server_may_own_them(tmp_path: Path) -> None:
    folder = tmp_path / "spill" / ("a" * 36)
    folder.mkdir(parents=True)
    (folder / "IMG00000.LB").write_bytes(b"x" * 5000)
    (tmp_path / "spill" / ("b" * 36)).mkdir()
    (tmp_path / "spill" / ("b" * 36) / "precious.txt").write_text("not spilled")
    spills = [str(tmp_path / "spill")]
    (found,) = leftovers.leftovers(Host(), spills, str(tmp_path))
    assert (found.path, found.status, found.size_bytes) == (str(folder), "orphan", 5000)
    now = folder.stat().st_mtime
    before = replace(SERVER, spill=spills[0], started=now - 100)
    after = replace(before, started=now + 100)
    assert [one.status for one in leftovers.leftovers(Host((before,)), base=str(tmp_path))] == ["ok"]
    assert [one.status for one in leftovers.leftovers(Host((after,)), base=str(tmp_path))] == ["orphan"]


def test_spilled_rows_go_to_the_trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSWB_CACHE_ROOT", str(tmp_path / "root"))
    folder = tmp_path / "spill" / ("a" * 36)
    folder.mkdir(parents=True)
    (folder / "IMG00000.LB").write_bytes(b"x" * 5000)
    plan = removal.plan(leftovers.leftovers(Host(), [str(tmp_path / "spill")], str(tmp_path)))
    assert [outcome.reason for outcome in apply(plan, removal.doers())] == [""]
    assert not folder.exists()
    assert [path.name for path in tmp_path.rglob("*.LB")] == ["IMG00000.LB"]


def test_logs_of_dead_servers_prove_a_key_and_name_a_spill_folder(tmp_path: Path) -> None:
    logs = tmp_path / "cache" / "log"
    logs.mkdir(parents=True)
    sample = Path(__file__).parents[3] / "fixtures" / "cache" / "server" / "server_log_INFO_start_stop.txt"
    (logs / "mindspore.HOST.user.log.INFO.20261130-040918.13269").write_text(sample.read_text())
    (logs / "mindspore.INFO").symlink_to("mindspore.HOST.user.log.INFO.20261130-040918.13269")
    assert leftovers.recall(Host(), str(tmp_path)).keys == {1627439725: 50152}
    assert leftovers.recall(Host(), str(tmp_path)).spills == {"/home/user/project/spill": 50152}
    assert history.of(13269, str(tmp_path)).port == 50152
    assert history.of(1326, str(tmp_path)) == history.History()


@pytest.mark.parametrize(
    ("host", "code"),
    [
        (Host(), "cache-server-absent"),
        (Host((replace(SERVER, port=50200),)), "cache-server-wrong-port"),
        (Host((replace(SERVER, uid=ME + 1),)), "cache-server-foreign"),
        (Host((), (Socket("/s", 50177, ME, 1, 1, 0.0, False),)), "cache-server-dead"),
        (Host((), (Socket("/s", 50177, ME + 1, 1, 1, 0.0, False),)), "cache-server-foreign-socket"),
        (Host((), closed=("/tmp",)), "cache-server-closed"),
        (Host((SERVER,)), "cache-server-elsewhere"),
        (Host((SERVER,), (Socket("/s", 50177, ME, 1, 1, 0.0, True),)), "cache-server-deaf"),
    ],
)
def test_why_a_server_does_not_answer(host: Host, code: str) -> None:
    found = explain.unreachable(50177, host, ME)
    assert found.code == code
    assert "?" not in found.title + "".join(found.advice)


def test_empty_numbers_are_explained() -> None:
    rows = [answers.Cached(1, None), answers.Cached(2, 7), answers.Cached(3, 8, 5, 0, 100)]
    found = explain.of_sessions(rows, 50177, None)
    assert [one.code for one in found] == ["cache-session-unused", "cache-nothing-cached"]
    assert explain.lost_cache(3, 9, rows).code == "cache-id-other"
    assert explain.lost_cache(4, 9, rows).code == explain.lost_cache(4, 9, None).code == "cache-id-lost"
    assert str(4 << 32 | 9) in explain.lost_cache(4, 9, None).cause
