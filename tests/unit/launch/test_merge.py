"""Many ranks as one stream: order, filters, clocks, and bounded memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mswb.launch.merge as merging
from mswb.findings import MswbError
from mswb.launch.clocks import clock_offsets, measure_clocks, name_nodes
from mswb.launch.discover import LogFile, discover
from mswb.launch.merge import MergedLine, Selection, compile_pattern, merge
from mswb.launch.mixed import mixed_blocks
from mswb.launch.records import iso, parse_iso
from tests.unit.launch.samples import LAUNCH, rank_log

START = parse_iso("2026-11-30T04:00:00")


def cpp(micros: int, text: str = "text", level: str = "WARNING", pid: int = 1, module: str = "ME") -> str:
    day, clock = iso(START + micros).split("T")
    seconds, fraction = clock.split(".")
    return f"[{level}] {module}({pid},7f,python):{day}-{seconds}.{fraction[:3]}.{fraction[3:]} [a.cc:4] Run] {text}\n"


def python(micros: int, text: str) -> str:
    day, clock = iso(START + micros).split("T")
    digits = str(micros % 1_000_000)
    return f"[INFO] ME(9:140,MainProcess):{day}-{clock[:8]}.{digits[:3]}.{digits[3:]} [mindspore/a.py:4] {text}\n"


def write(folder: Path, **logs: str) -> tuple[LogFile, ...]:
    for name, text in logs.items():
        (folder / f"{name}.log").write_text(text, encoding="utf-8")
    return discover(folder).files


def texts(lines: list[MergedLine]) -> list[str]:
    return [line.text.rpartition("] ")[2] for line in lines]


def test_lines_come_in_the_order_of_time_and_prints_follow_their_record(tmp_path: Path) -> None:
    files = write(
        tmp_path,
        worker_0="early print\n" + cpp(10, "a") + "print of a\n" + cpp(40, "d"),
        worker_1=cpp(20, "b") + "print of b\n" + cpp(30, "c"),
    )
    found = list(merge(files))
    assert texts(found) == ["early print", "a", "print of a", "b", "print of b", "c", "d"]
    assert [line.rank for line in found] == [0, 0, 0, 1, 1, 1, 0]
    assert [line.line for line in found] == [1, 2, 3, 1, 2, 3, 4]
    assert [line.time for line in found][:3] == [None, START + 10, START + 10]


def test_pythons_cut_fraction_does_not_jump_the_queue(tmp_path: Path) -> None:
    files = write(
        tmp_path,
        worker_0=python(72_000, "python at 72 ms"),
        worker_1=cpp(71_000, "c++ at 71 ms") + cpp(73_000, "c++ at 73 ms") + cpp(720_000, "c++ at 720 ms"),
    )
    assert texts(list(merge(files))) == ["c++ at 71 ms", "python at 72 ms", "c++ at 73 ms", "c++ at 720 ms"]


def test_order_within_a_file_never_changes(tmp_path: Path) -> None:
    files = write(
        tmp_path, worker_0=cpp(50, "late") + cpp(10, "stepped back") + cpp(60, "on"), worker_1=cpp(55, "other")
    )
    assert texts(list(merge(files))) == ["late", "stepped back", "other", "on"]


def test_interleaved_blocks_keep_the_order_of_the_file(tmp_path: Path) -> None:
    trace = 'Traceback (most recent call last):\n  File "/a/t.py", line 3, in f\n'
    text = (
        cpp(1, "x") + trace + cpp(2, "y", pid=2) + "    g()\n" + cpp(3, "z", pid=2) + "ValueError: v\n" + cpp(4, "end")
    )
    found = list(merge(write(tmp_path, worker_0=text)))
    assert [line.line for line in found] == list(range(1, 9))
    assert [line.level for line in found] == [
        "WARNING",
        "ERROR",
        "ERROR",
        "WARNING",
        "ERROR",
        "WARNING",
        "ERROR",
        "WARNING",
    ]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.integers(0, 50) | st.none(), max_size=12), min_size=1, max_size=4))
def test_merge_is_complete_and_keeps_each_file(tmp_path: Path, ranks: list[list[int | None]]) -> None:
    for old in tmp_path.glob("*.log"):
        old.unlink()
    logs = {
        f"worker_{rank}": "".join(
            f"print {at}\n" if time is None else cpp(time, f"record {at}") for at, time in enumerate(times)
        )
        for rank, times in enumerate(ranks)
    }
    found = list(merge(write(tmp_path, **logs)))
    for rank, times in enumerate(ranks):
        assert [line.line for line in found if line.rank == rank] == list(range(1, len(times) + 1))
    if all(
        sorted(known) == known for times in ranks if (known := [time for time in times if time is not None]) or True
    ):
        keys = [line.time or 0 for line in found]
        assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(ranks=frozenset({1})), ["b", "ValueError: v"]),
        (Selection(roles=frozenset({"scheduler"})), ["s"]),
        (Selection(levels=frozenset({"ERROR"})), ["a", "more of a", "ValueError: v"]),
        (Selection(levels=frozenset({"WARNING"})), ["b", "s"]),
        (Selection(modules=frozenset({"PARSER"})), ["b"]),
        (Selection(pids=frozenset({5})), ["a", "more of a", "hello"]),
        (Selection(pattern=re.compile("hello|more")), ["more of a", "hello"]),
        (Selection(since=START + 15), ["b", "ValueError: v", "s"]),
        (Selection(until=START + 15), ["a", "more of a", "hello"]),
        (Selection(since=START + 15, until=START + 25), ["b", "ValueError: v"]),
    ],
)
def test_filters(tmp_path: Path, selection: Selection, expected: list[str]) -> None:
    files = write(
        tmp_path,
        worker_0=cpp(10, "a", level="ERROR", pid=5) + "  more of a\n" + "\n" + "hello\n",
        worker_1=cpp(20, "b", module="PARSER")
        + 'Traceback (most recent call last):\n  File "/a/t.py", line 3, in f\nValueError: v\n',
        scheduler=cpp(30, "s"),
    )
    shown = [text.strip() for text in texts(list(merge(files, selection)))]
    assert [text for text in shown if text and not text.startswith(("Traceback", "File "))] == expected


def test_patterns_are_of_re2_and_cannot_hang(tmp_path: Path) -> None:
    files = write(tmp_path, worker_0="a" * 5000 + "b\n" + cpp(1, "失败"))
    assert len(list(merge(files, Selection(pattern=compile_pattern("(a*)*c|失败"))))) == 1
    with pytest.raises(MswbError) as caught:
        compile_pattern(r"(?=x)")
    assert caught.value.finding.code == "usage"


def test_the_merged_log_alone_is_read_by_its_prefixes(tmp_path: Path) -> None:
    text = (
        f"[worker_1] {cpp(10, 'a')}[worker_0] {cpp(20, 'b', level='ERROR')}[worker_1] print\n[scheduler] {cpp(30, 's')}"
    )
    (tmp_path / "msrun_20261130_040000_9.log").write_text(text, encoding="utf-8")
    files = discover(tmp_path).files
    found = list(merge(files))
    assert [(line.role, line.rank, line.time) for line in found] == [
        ("worker", 1, START + 10),
        ("worker", 0, START + 20),
        ("worker", 1, START + 10),
        ("scheduler", None, START + 30),
    ]
    assert texts(found) == ["a", "b", "print", "s"]
    assert texts(list(merge(files, Selection(ranks=frozenset({0}))))) == ["b"]
    assert texts(list(merge(files, Selection(levels=frozenset({"ERROR"}))))) == ["b"]


def test_a_real_run_is_merged_whole() -> None:
    files = [file for file in discover(LAUNCH / "ok").files if file.role != "launcher"]
    found = list(merge(files))
    assert len(found) == sum(len(Path(file.path).read_bytes().splitlines()) for file in files)
    times = [line.time for line in found if line.time is not None]
    assert times == sorted(times)


def test_a_file_that_vanished_is_left_out(tmp_path: Path) -> None:
    files = write(tmp_path, worker_0=cpp(1, "a"), worker_1=cpp(2, "b"))
    (tmp_path / "worker_0.log").unlink()
    assert texts(list(merge(files))) == ["b"]


def test_only_a_block_of_each_file_is_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = 50
    text = "".join(cpp(at * 1000, "x" * 100) for at in range(1000))
    files = write(tmp_path, **{f"worker_{rank}": text for rank in range(many)})
    taken = []
    read = merging._read
    monkeypatch.setattr(merging, "_read", lambda path, offset: taken.append(path) or read(path, offset))
    stream = merge(files)
    first = [next(stream) for _ in range(many * 10)]
    assert {line.rank for line in first} == set(range(many))
    assert len(taken) == many
    assert sum(1 for _ in stream) == many * 990
    assert len(taken) == many * (-(-len(text) // merging.CHUNK) + 1)


def skewed_run(folder: Path, ahead_us: int, *, with_scheduler: bool = True) -> tuple[LogFile, ...]:
    """A real run whose rank 1 lies on another node with its clock ahead."""
    for name in ("scheduler.log", "worker_0.log", "worker_1.log"):
        node = "node-1" if name == "worker_1.log" else "node-0"
        text = rank_log("ok", name).read_text(encoding="utf-8")
        target = folder / node / name
        target.parent.mkdir(exist_ok=True)
        if with_scheduler or name != "scheduler.log":
            target.write_text(shifted(text, ahead_us if node == "node-1" else 0), encoding="utf-8")
    return discover(folder).files


def shifted(text: str, by_us: int) -> str:
    """The log as a clock that is ahead would have written it."""

    def move(match: re.Match[str]) -> str:
        moment = parse_iso(f"{match.group(1)}T{match.group(2)}.{match.group(3)}{match.group(4)}")
        moved = iso(moment + by_us)
        return f"{moved[:10]}-{moved[11:19]}.{moved[20:23]}.{moved[23:]}"

    return re.sub(r"(2026-11-30)-([\d:]{8})\.(\d{3})\.(\d{3})", move, text)


@pytest.mark.parametrize("ahead_us", [7_300_000, -2_500_000, 3_600_000_000])
def test_a_clock_that_is_off_is_measured_and_corrected(tmp_path: Path, ahead_us: int) -> None:
    files = skewed_run(tmp_path, ahead_us)
    here, there = measure_clocks(files)
    assert (here.node, here.skewed, there.node, there.skewed) == ("node-0", False, "node-1", True)
    assert abs(there.offset_us - ahead_us) < 50_000
    offsets = clock_offsets(files)
    assert list(offsets) == ["node-1"]
    corrected = list(merge(files, offsets=offsets))
    ready = [line for line in corrected if "This node" in line.text]
    true_gap = abs((ready[0].time or 0) - (ready[1].time or 0))
    assert true_gap < 5_000_000


def test_equal_clocks_are_no_finding(tmp_path: Path) -> None:
    files = skewed_run(tmp_path, 0)
    assert clock_offsets(files) == {}
    assert [clock.skewed for clock in measure_clocks(files)] == [False, False]


def test_without_a_scheduler_only_a_large_difference_is_certain(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").mkdir()
    far = clock_offsets(skewed_run(tmp_path / "far", 60_000_000, with_scheduler=False))
    assert abs(far["node-1"] - 60_000_000) < 5_000_000
    assert clock_offsets(skewed_run(tmp_path / "near", 2_000_000, with_scheduler=False)) == {}


@pytest.mark.parametrize("case", sorted(path.parent.name for path in LAUNCH.glob("*/msrun_log")))
def test_no_real_run_on_one_host_looks_skewed(case: str) -> None:
    assert clock_offsets(discover(LAUNCH / case).files) == {}


def test_nodes_take_the_names_that_the_scheduler_knows() -> None:
    named = name_nodes(discover(LAUNCH / "ok").files)
    assert {file.node_hint for file in named if file.role == "worker"} == {"node-0"}


def test_the_merged_log_gives_each_owner_its_blocks(tmp_path: Path) -> None:
    trace = ["Traceback (most recent call last):\n", '  File "/a/t.py", line 3, in f\n', "ValueError: v\n"]
    text = "".join(f"[worker_0] {line}[worker_1] {cpp(at)}" for at, line in enumerate(trace)) + "unmarked\n"
    found = list(mixed_blocks(text.encode().splitlines(keepends=True)))
    ((owner, block),) = [(owner, block) for owner, block in found if block.kind == "traceback"]
    assert (owner, block.message, [line.number for line in block.lines]) == (("worker", 0), "ValueError: v", [1, 3, 5])
    assert {owner for owner, _ in found} == {("worker", 0), ("worker", 1), ("unknown", None)}
    assert text.encode()[block.offset :].startswith(b"Traceback")
