"""Which files are logs and whose, over the layouts of real msrun, of ours, of glog, and of people."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mswb.findings import MswbError
from mswb.launch.discover import LogSet, discover, rank_from_text, rank_of, role_from_text
from tests.unit.launch.samples import LAUNCH, rank_log

RECORD = "[WARNING] ME(1,7f,python):2026-11-30-04:06:28.118.654 [a.cc:4] Run] text\n"


def make(root: Path, *names: str, text: str = RECORD) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def shown(found: LogSet) -> list[tuple[str, str, int | None]]:
    return [(file.name, file.role, file.rank_hint) for file in found.files]


def test_a_capture_folder() -> None:
    found = discover(LAUNCH / "exc_one_rank")
    assert shown(found) == [
        ("console.txt", "launcher", None),
        ("msrun_log/scheduler.log", "scheduler", None),
        ("msrun_log/worker_0.log", "worker", 0),
        ("msrun_log/worker_1.log", "worker", 1),
    ]
    assert found.evidence == {"rc.txt": str(LAUNCH / "exc_one_rank" / "rc.txt")}
    assert found.status_path is None


def test_every_capture_has_its_logs_and_no_scripts() -> None:
    for folder in sorted(path.parent for path in LAUNCH.glob("*/console.txt")):
        names = [file.name for file in discover(folder).files]
        expected = [f"msrun_log/{path.name}" for path in sorted((folder / "msrun_log").glob("*.log"))]
        assert names == ["console.txt", *expected]
    assert discover(LAUNCH / "scripts").files == ()


def test_one_file_is_taken_whatever_its_name(tmp_path: Path) -> None:
    make(tmp_path, "something", "worker_7.log")
    assert shown(discover(tmp_path / "something")) == [("something", "unknown", None)]
    assert shown(discover(tmp_path / "worker_7.log")) == [("worker_7.log", "worker", 7)]


def test_rank_by_the_words_beats_the_name() -> None:
    (worker,) = [file for file in discover(LAUNCH / "sim1").files if file.role == "worker"]
    assert (worker.rank_hint, rank_of(worker)) == (0, 3)


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("worker_3.log", 3),
        ("worker_12.log.1", 12),
        ("rank_3.log", 3),
        ("rank-3.log", 3),
        ("rank_3/train.log", 3),
        ("rank_3/logs/mindspore.log.1234", 3),
        ("device5/log.txt", 5),
        ("w_127.0.0.1_node-0_x_4.log", 4),
        ("10.0.0.7_2.log", 2),
        ("train_3.log", 3),
        ("3.log", 3),
        ("train.3.out", 3),
        ("train_20261130.log", None),
        ("train.log", None),
    ],
)
def test_rank_by_the_name(tmp_path: Path, name: str, rank: int | None) -> None:
    make(tmp_path, name)
    (file,) = discover(tmp_path).files
    assert file.rank_hint == rank


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("scheduler.log", "scheduler"),
        ("sched.log", "scheduler"),
        ("console.txt", "launcher"),
        ("launcher.log", "launcher"),
        ("msrun.log", "launcher"),
        ("nohup.out", "launcher"),
        ("worker_0.log", "worker"),
        ("mine.log", "unknown"),
    ],
)
def test_role_by_the_name(tmp_path: Path, name: str, role: str) -> None:
    make(tmp_path, name)
    (file,) = discover(tmp_path).files
    assert file.role == role


@pytest.mark.parametrize(("source", "role"), [("scheduler.log", "scheduler"), ("worker_1.log", "worker")])
def test_role_by_the_words_when_the_name_says_nothing(tmp_path: Path, source: str, role: str) -> None:
    (tmp_path / "a.log").write_bytes(rank_log("ok", source).read_bytes())
    (file,) = discover(tmp_path).files
    assert file.role == role
    assert rank_of(file) == (1 if role == "worker" else None)


def test_console_words_are_the_launcher() -> None:
    assert role_from_text((LAUNCH / "ok" / "console.txt").read_bytes()) == "launcher"


def test_our_own_folder_means_its_newest_run(tmp_path: Path) -> None:
    logs = tmp_path / "ms_run_log"
    old, new = "20261130_040000_900", "20261130_050000_80"
    make(logs, f"{old}/worker_0.log", f"{new}/worker_0.log", f"{new}/worker_1.log", f"{new}/launcher.log")
    make(logs, f"msrun_{old}.log", f"msrun_{new}.log", "worker_5.log")
    make(logs, f"{new}/run.json", text="{}")
    (logs / "latest").symlink_to(new)
    found = discover(logs)
    assert shown(found) == [
        (f"{new}/launcher.log", "launcher", None),
        (f"{new}/worker_0.log", "worker", 0),
        (f"{new}/worker_1.log", "worker", 1),
    ]
    assert found.status_path == str(logs / new / "run.json")
    assert [os.path.basename(file.path) for file in discover(logs / "latest").files] == [
        "launcher.log",
        "worker_0.log",
        "worker_1.log",
    ]
    assert len(discover(tmp_path).files) == 3


def test_of_two_runs_in_the_same_second_the_younger_folder_is_meant(tmp_path: Path) -> None:
    make(tmp_path, "20261130_040000_9/worker_0.log", "20261130_040000_10/worker_0.log")
    os.utime(tmp_path / "20261130_040000_9", (1, 1))
    (file,) = discover(tmp_path).files
    assert file.name == "20261130_040000_10/worker_0.log"


def test_the_merged_log_is_read_only_when_alone(tmp_path: Path) -> None:
    make(tmp_path, "msrun_20261130_040000_9.log")
    assert shown(discover(tmp_path)) == [("msrun_20261130_040000_9.log", "merged", None)]
    make(tmp_path, "worker_0.log")
    assert shown(discover(tmp_path)) == [("worker_0.log", "worker", 0)]


def test_run_folder_leads_to_its_logs(tmp_path: Path) -> None:
    make(tmp_path, "logs/worker_0.log", "run/output.log")
    make(tmp_path, "run/spec.json", "run/status.json", text="{}")
    (tmp_path / "run" / "log").symlink_to(tmp_path / "logs")
    found = discover(tmp_path / "run")
    assert shown(found) == [("worker_0.log", "worker", 0)]
    assert found.status_path == str(tmp_path / "run" / "status.json")
    (tmp_path / "run" / "log").unlink()
    without_logs = discover(tmp_path / "run")
    assert shown(without_logs) == [("output.log", "launcher", None)]
    assert without_logs.status_path == found.status_path


def test_glog_layout_keeps_the_finest_level_of_each_process(tmp_path: Path) -> None:
    logs = tmp_path / "rank_1" / "logs"
    make(
        logs,
        "mindspore.host.me.log.INFO.20261130-041635.19475",
        "mindspore.host.me.log.WARNING.20261130-041640.19475",
        "mindspore.host.me.log.WARNING.20261130-041640.19476",
        "mindspore.log.19475",
    )
    (logs / "mindspore.INFO").symlink_to("mindspore.host.me.log.INFO.20261130-041635.19475")
    assert [(name.split("/")[-1], rank) for name, _, rank in shown(discover(tmp_path))] == [
        ("mindspore.host.me.log.INFO.20261130-041635.19475", 1),
        ("mindspore.host.me.log.WARNING.20261130-041640.19476", 1),
        ("mindspore.log.19475", 1),
    ]


def test_node_folders_are_hints(tmp_path: Path) -> None:
    make(tmp_path, "node-0/scheduler.log", "node-0/log/worker_0.log", "node-1/log/worker_0.log")
    assert [file.node_hint for file in discover(tmp_path).files] == ["node-0", "node-0", "node-1"]


def test_host_folders_are_hints_when_there_are_several(tmp_path: Path) -> None:
    make(tmp_path, "alpha/worker_0.log", "beta/worker_1.log")
    assert [file.node_hint for file in discover(tmp_path).files] == ["alpha", "beta"]
    make(tmp_path / "alpha2", "msrun_log/worker_0.log")
    assert [file.node_hint for file in discover(tmp_path / "alpha2").files] == [None]


def test_rank_folders_are_no_nodes(tmp_path: Path) -> None:
    make(tmp_path, "rank_0/a.log", "rank_1/a.log")
    assert [file.node_hint for file in discover(tmp_path).files] == [None, None]


def test_two_schedulers_are_two_runs_and_the_newer_is_meant(tmp_path: Path) -> None:
    make(tmp_path, "first/scheduler.log", "first/worker_0.log", "second/scheduler.log", "second/worker_0.log")
    os.utime(tmp_path / "second" / "scheduler.log", (5, 5))
    assert [file.name for file in discover(tmp_path).files] == ["first/scheduler.log", "first/worker_0.log"]


def test_four_levels_and_no_more(tmp_path: Path) -> None:
    make(tmp_path, "a/b/c/d/worker_0.log", "a/b/c/d/e/worker_1.log")
    assert [file.name for file in discover(tmp_path).files] == ["a/b/c/d/worker_0.log"]


def test_evidence_is_no_log(tmp_path: Path) -> None:
    make(tmp_path, "rc.txt", "exit_code_1", "env.txt", "limits.txt", "df.txt", "dmesg.txt", "node-1/dmesg.txt")
    make(tmp_path, "run.json", text="{}")
    make(tmp_path, "worker_0.log")
    found = discover(tmp_path)
    assert [file.name for file in found.files] == ["worker_0.log"]
    assert sorted(found.evidence) == [
        "df.txt",
        "dmesg.txt",
        "env.txt",
        "exit_code_1",
        "limits.txt",
        "node-1/dmesg.txt",
        "rc.txt",
        "run.json",
    ]
    assert found.evidence["dmesg.txt"] == str(tmp_path / "dmesg.txt")


def test_what_is_not_a_log(tmp_path: Path) -> None:
    make(tmp_path, "README", "README.md", "command.txt", "train.py", "config.yaml", "status.json", "net.ckpt", "run.sh")
    make(tmp_path, "notes.txt", "ps.txt", text="nothing of a training\n")
    (tmp_path / "packed.log").write_bytes(b"\x1f\x8b\x08\0" + bytes(200))
    (tmp_path / "blob.log").write_bytes(bytes(range(32)) * 40)
    os.mkfifo(tmp_path / "pipe.log")
    assert discover(tmp_path).files == ()


def test_text_without_a_log_name_counts_when_it_reads_like_one(tmp_path: Path) -> None:
    make(tmp_path, "rank3.txt", "trainlog", "silent_worker_1.log")
    make(tmp_path, "worker_2.log", text="")
    make(tmp_path, "empty.txt", text="")
    assert [name for name, _, _ in shown(discover(tmp_path))] == [
        "rank3.txt",
        "silent_worker_1.log",
        "trainlog",
        "worker_2.log",
    ]


def test_links_are_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "outside/worker_9.log", "inside/worker_0.log")
    (tmp_path / "inside" / "worker_1.log").symlink_to(tmp_path / "outside" / "worker_9.log")
    (tmp_path / "inside" / "more").symlink_to(tmp_path / "outside")
    (tmp_path / "inside" / "self").symlink_to(tmp_path / "inside")
    assert [file.name for file in discover(tmp_path / "inside").files] == ["worker_0.log"]


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + "/日志_rank_2.log".encode("gbk")
    with open(name, "w", encoding="utf-8") as file:
        file.write(RECORD)
    (found,) = discover(tmp_path).files
    assert found.rank_hint == 2
    assert rank_of(found) == 2


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MswbError) as caught:
        discover(tmp_path / "absent")
    assert caught.value.finding.code == "path-missing"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MswbError) as caught:
        discover(tmp_path / "pipe")
    assert caught.value.finding.code == "path-unreadable"


def test_an_empty_folder_is_an_empty_set(tmp_path: Path) -> None:
    assert discover(tmp_path).files == ()


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("x] PostProcess] This node 5 rank id: 3\n", 3),
        ("x] PostProcess] This node 275a9642-3c1e rank id: 12\nrank id: 0\n", 12),
        ("Global rank id: 4, global rank size: 8\n", 4),
        ("rank id: 2 of 8\n", 2),
        ("RANK_ID = 6\n", 6),
        ("Environment variable [RANK_ID=0] is exported.\n", None),
        ("The new node: 1(role: MS_WORKER), rank id: 1, device id: 1\n", None),
        ("This node 0 rank id: 0\nThis node 1 rank id: 1\n", None),
        ("", None),
    ],
)
def test_rank_by_the_words(text: str, rank: int | None) -> None:
    assert rank_from_text(text.encode()) == rank


def test_two_thousand_ranks(tmp_path: Path) -> None:
    make(tmp_path, *(f"rank_{rank}/worker_{rank}.log" for rank in range(2000)))
    found = discover(tmp_path)
    assert {file.rank_hint for file in found.files} == set(range(2000))
