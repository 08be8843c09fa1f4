"""The fast pass agrees with a slow and simple one, whatever the bytes and wherever blocks are cut."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.files.safety import decode
from mswb.findings import MswbError
from mswb.launch import scan
from mswb.launch.records import level_of, parse_record
from mswb.launch.scan import FIRST_KEPT, HITS_KEPT, LAST_KEPT, FileScan, reported, scan_file, scan_files
from mswb.launch.signatures import load_signatures, match_line

FIXTURES = Path(__file__).parents[2] / "fixtures" / "launch"
RECORD = (
    b"[%s] DISTRIBUTED(8465,7f7d0a872e40,python):2026-11-30-04:06:17.765.%03d [mindspore/ccsrc/cluster/x.cc:12] Run] "
)
LINES = st.sampled_from(
    [
        RECORD % (b"WARNING", 1) + b"Topology build timed out., retry(1/20).",
        RECORD % (b"ERROR", 2) + b"Failed to call socket listen, url: 127.0.0.1:8118",
        RECORD % (b"INFO", 3) + b"err info: ee key too small",
        RECORD % (b"DEBUG", 4) + b"text",
        RECORD % (b"CRITICAL", 5) + b"Verify Cert Time failed.",
        b"[V12902] RUNTIME(1,7f,python):2026-11-30-04:06:17.765.9 [a.cc:1] F] begin",
        b"[ERROR] Invalid file. The following files are not valid TFRecordDataset files:",
        b"[WARN] mine",
        b"[",
        b"",
        b"Traceback (most recent call last):",
        b"Traceback",
        b"Fatal Python error: Segmentation fault",
        b"Current thread 0x00007f (most recent call first):",
        b"Thread 0x1",
        b"Killed",
        b"  Killed",
        "路径 /数据/图.jpg decode failed, the image is broken or permission denied".encode("gbk"),
        "KeyError: '没有'".encode(),
        b"\0\0\0",
        b"ModuleNotFoundError: No module named 'x'" + b" " * 90,
        b'    raise ValueError("MemoryError std::bad_alloc")',
        b"epoch: 1 step: 2, loss is nan",
        b"x" * 300,
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n"])


def naive(path: Path) -> FileScan:
    """The same by a plain loop over the lines."""
    data = path.read_bytes()
    levels: dict[str, int] = {}
    times: list[int] = []
    hits: list[tuple[str, int, int]] = []
    counts: dict[str, int] = {}
    places: dict[str, list[tuple[int, int]]] = {"tracebacks": [], "fatal": [], "stacks": [], "error_records": []}
    offset = 0
    rows = data.split(b"\n")
    rows = rows[:-1] if rows[-1] == b"" else rows
    for number, raw in enumerate(rows, 1):
        place = (number, offset)
        level = level_of(raw)
        if level is not None:
            shown = "V" if level[0] == "V" else level
            levels[shown] = levels.get(shown, 0) + 1
            record = parse_record(raw.decode("utf-8", "replace"))
            times += [record.time] if record else []
        if level in ("ERROR", "CRITICAL"):
            places["error_records"].append(place)
        if raw.startswith(b"Traceback (most recent call last)"):
            places["tracebacks"].append(place)
        if raw.startswith(b"Fatal Python error"):
            places["fatal"].append(place)
        if raw.startswith((b"Thread 0x", b"Current thread 0x")):
            places["stacks"].append(place)
        if level not in ("INFO", "DEBUG") and not (level or "").startswith("V"):
            for match in reported(match_line(decode(raw.rstrip(b"\r\n")))):
                counts[match.signature.id] = counts.get(match.signature.id, 0) + 1
                if counts[match.signature.id] <= HITS_KEPT:
                    hits.append((match.signature.id, *place))
        offset += len(raw) + 1
    kept = {name: tuple(found[:FIRST_KEPT] + found[FIRST_KEPT:][-LAST_KEPT:]) for name, found in places.items()}
    return FileScan(
        str(path), len(data), len(rows), levels, times[0] if times else None, times[-1] if times else None,
        tuple(hits), counts, **kept,
    )  # type: ignore[arg-type]  # fmt: skip


def plain(result: FileScan) -> dict[str, object]:
    fields = {name: getattr(result, name) for name in FileScan.__slots__}
    fields["hits"] = tuple(
        hit if isinstance(hit, tuple) else (hit.signature.id, hit.line, hit.offset) for hit in result.hits
    )
    return fields


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(LINES, ENDS), max_size=40),
    last=st.one_of(st.just(b""), LINES),
    block=st.sampled_from([400, 512, 1000, 1 << 20]),
)
def test_it_agrees_with_a_plain_loop(rows: list[tuple[bytes, bytes]], last: bytes, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "worker_0.log"
        path.write_bytes(b"".join(text + end for text, end in rows) + last)
        assert plain(scan_file(path, block=block)) == plain(naive(path))


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=600), block=st.sampled_from([1, 7, 64, 4096]))
def test_any_bytes_give_exact_counts_of_lines(data: bytes, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.log"
        path.write_bytes(data)
        found = scan_file(path, block=block)
        assert found.size == len(data)
        assert found.lines == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/msrun_log/*.log")), ids=lambda path: "/".join(path.parts[-3:]))
def test_real_logs_agree_with_a_plain_loop(path: Path) -> None:
    assert plain(scan_file(path)) == plain(naive(path))


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "w.log").touch()
    found = scan_file(tmp_path / "w.log")
    assert (found.lines, found.size, found.hits, found.first_time_us) == (0, 0, (), None)


def test_a_line_longer_than_a_block_keeps_its_place(tmp_path: Path) -> None:
    path = tmp_path / "w.log"
    text = b"MemoryError"
    path.write_bytes(b"first\n" + b"y" * 5000 + b" Bus error " + b"z" * 5000 + b"\n" + text + b"\n")
    found = scan_file(path, block=4096)
    assert [(hit.signature.id, hit.line, hit.offset) for hit in found.hits] == [
        ("S07b", 2, 6),
        ("S04", 3, 6 + 10011 + 1),
    ]
    assert found.lines == 3


def test_hits_are_capped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "w.log"
    path.write_bytes(b"MemoryError\n" * 500 + b"Traceback (most recent call last):\n" * 500 + b"Bus error\n")
    found = scan_file(path)
    assert found.hit_counts == {"S04": 500, "S07b": 1}
    assert len(found.hits) == HITS_KEPT + 1
    assert len(found.tracebacks) == FIRST_KEPT + LAST_KEPT
    assert found.tracebacks[-1][0] == 1000


def test_long_text_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "w.log"
    path.write_bytes(b"Bus error " + b"a" * 200_000 + b"\n")
    assert len(scan_file(path).hits[0].text) == scan.MAX_SHOWN


def test_chinese_text_in_gbk_is_read(tmp_path: Path) -> None:
    path = tmp_path / "w.log"
    path.write_bytes("/数据/图.jpg decode failed, the image is broken or permission denied\n".encode("gbk"))
    assert scan_file(path).hits[0].values == {"path": "/数据/图.jpg"}


def test_words_of_an_info_record_are_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "w.log"
    path.write_bytes(RECORD % (b"INFO", 1) + b"Out of Memory! std::bad_alloc\n")
    assert scan_file(path).hits == ()


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "there.log").write_text("a line\n")
    gone, there = scan_files([tmp_path / "gone.log", tmp_path / "there.log"])
    assert (gone.lines, there.lines, there.problem) == (0, 1, "")
    assert "no such file" in gone.problem
    with pytest.raises(MswbError, match="no such file"):
        scan_file(tmp_path / "gone.log")


def make_logs(folder: Path, count: int) -> list[Path]:
    paths = [folder / f"worker_{rank}.log" for rank in range(count)]
    for rank, path in enumerate(paths):
        path.write_bytes(RECORD % (b"WARNING", rank) + b"x\nMemoryError\n" * (rank + 1))
    return paths


def test_several_processes_give_the_same_in_the_same_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = make_logs(tmp_path, 9)
    alone = scan_files(paths)
    monkeypatch.setattr(scan, "_workers", lambda names: 2)
    told: list[tuple[int, int]] = []
    assert scan_files(paths, progress=lambda done, all_of: told.append((done, all_of))) == alone
    assert [Path(one.path) for one in alone] == paths
    assert told[-1] == (9, 9)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_scan_can_be_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    paths = make_logs(tmp_path, 9)
    monkeypatch.setattr(scan, "_workers", lambda names: workers)
    found = scan_files(paths, cancelled=lambda: True)
    assert 0 < len(found) < 9


def test_small_amounts_need_no_processes(tmp_path: Path) -> None:
    assert scan._workers([str(path) for path in make_logs(tmp_path, 3)]) < 2


def test_a_signature_travels_by_its_id() -> None:
    for signature in load_signatures():
        assert pickle.loads(pickle.dumps(signature)) is signature
